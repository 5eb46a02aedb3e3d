package codemode_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/record"
	"github.com/koan-go/koan/framework/run/store"
	jsonschema "github.com/koan-go/koan/framework/schema"
)

// note is the one entity of the house.
type note struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// shelf is a store of notes per set, with snapshots and first committer wins.
type shelf struct {
	mu       sync.Mutex
	notes    map[string]map[string]note
	version  map[string]int
	receipts []store.Receipt
	locks    bool // a writing transaction holds a lock
}

type shelfTx struct {
	shelf   *shelf
	set     string
	version int
	notes   map[string]note
	changes []store.Change
	writing bool
}

func (s *shelf) Begin(_ context.Context, _ store.Attempt, set string) (store.Tx, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tx := &shelfTx{shelf: s, set: set, version: s.version[set], notes: map[string]note{}}
	for id, n := range s.notes[set] {
		tx.notes[id] = n
	}
	return tx, nil
}

func (t *shelfTx) Write(context.Context) error {
	t.shelf.mu.Lock()
	defer t.shelf.mu.Unlock()
	if t.shelf.version[t.set] != t.version {
		return store.ErrStale
	}
	t.writing = true
	return nil
}

func (t *shelfTx) Savepoint(context.Context, bool) (func(bool) error, error) {
	return func(bool) error { return nil }, nil
}

func (t *shelfTx) State() (locked, wrote bool) {
	return t.shelf.locks && t.writing, len(t.changes) > 0
}

func (t *shelfTx) Changes(context.Context) ([]store.Change, error) { return t.changes, nil }

func (t *shelfTx) Commit(_ context.Context, r store.Receipt) error {
	t.shelf.mu.Lock()
	defer t.shelf.mu.Unlock()
	if len(t.changes) == 0 {
		return nil
	}
	if t.shelf.version[t.set] != t.version {
		return store.ErrStale
	}
	t.shelf.notes[t.set] = t.notes
	t.shelf.version[t.set]++
	t.shelf.receipts = append(t.shelf.receipts, r)
	return nil
}

func (t *shelfTx) Rollback(context.Context) error { return nil }

// library provides the entity Note, and a plugin whose function reaches outside.
type library struct {
	shelf *shelf
	calls func(op string) // looks at each call
}

func schema(properties string) json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{` + properties + `},"additionalProperties":false}`)
}

func (l *library) operation(op, properties string, write bool, fn func(tx *shelfTx, in input) (any, error)) *catalog.Operation {
	return &catalog.Operation{
		ID: catalog.EntityID("Note", op), Resource: "Note",
		Contract: catalog.Contract{
			Input: schema(properties + `,"set":{"type":"string"}`), Output: json.RawMessage(`{}`), Effects: catalog.Effects{ReadOnly: !write},
		},
		Listing: catalog.Listing{Summary: "Does " + op + " of notes.", Reach: catalog.Everywhere},
		Work: catalog.Work{
			Serial: true,
			Decode: func(given catalog.Input) (catalog.Decoded, error) {
				if err := jsonschema.Check(schema(properties+`,"set":{"type":"string"}`), given.JSON); err != nil {
					return catalog.Decoded{}, err
				}
				in := input{Set: given.Set}
				err := json.Unmarshal(given.JSON, &in)
				return catalog.Decoded{Target: catalog.Target{Entity: "Note", Set: in.Set}}, err
			},
			Handler: func(ctx context.Context, c catalog.Call) (json.RawMessage, error) {
				if l.calls != nil {
					l.calls(op)
				}
				var in input
				if err := json.Unmarshal(c.Input(), &in); err != nil {
					return nil, err
				}
				var out json.RawMessage
				err := run.Within(ctx, l.shelf, c.Target().Set, write, func(_ context.Context, tx store.Tx) error {
					v, err := fn(tx.(*shelfTx), in)
					if err == nil {
						out, err = json.Marshal(v)
					}
					return err
				})
				return out, err
			},
		},
	}
}

type input struct {
	ID     string
	Set    string
	Filter map[string]any
	Model  note
}

func (l *library) offer() catalog.Offer {
	outside := &catalog.Operation{
		ID: catalog.PluginID("mail", "send"),
		Contract: catalog.Contract{
			Effects: catalog.Effects{Outside: true},
			Input:   schema(`"to":{"type":"string"}`), Output: json.RawMessage(`{"type":"object","properties":{"sent":{"type":"boolean"}}}`),
		},
		Listing: catalog.Listing{Summary: "Sends a letter.", Reach: catalog.Everywhere},
		Work: catalog.Work{
			Handler: func(context.Context, catalog.Call) (json.RawMessage, error) {
				return json.RawMessage(`{"sent":true}`), nil
			},
		},
	}
	slow := &catalog.Operation{
		ID:       catalog.PluginID("mail", "wait"),
		Contract: catalog.Contract{Input: schema(""), Output: json.RawMessage(`{}`)},
		Listing:  catalog.Listing{Summary: "Waits.", Reach: catalog.Everywhere},
		Work: catalog.Work{
			Handler: func(ctx context.Context, _ catalog.Call) (json.RawMessage, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			},
		},
	}
	ops := []string{"collection", "get-by-id", "upsert"}
	return catalog.Offer{
		Resources: []*catalog.Resource{{
			Name: "Note", Description: "A note on the shelf.", Key: catalog.Field{Name: "id", Type: catalog.TypeID},
			Fields: []catalog.Field{{Name: "text", Type: catalog.TypeText}}, Sets: []string{"default", "attic"}, Operations: ops,
		}},
		Operations: []*catalog.Operation{
			outside, slow,
			l.operation("collection", `"filter":{},"sort":{},"page":{},"pageSize":{},"count":{}`, false, func(tx *shelfTx, _ input) (any, error) {
				items := []note{}
				for _, n := range tx.notes {
					items = append(items, n)
				}
				slices.SortFunc(items, func(a, b note) int { return strings.Compare(a.ID, b.ID) })
				return map[string]any{"items": items, "page": 1, "pageSize": 50, "totalCount": len(items), "truncated": false}, nil
			}),
			l.operation("get-by-id", `"id":{"type":"string"}`, false, func(tx *shelfTx, in input) (any, error) {
				n, ok := tx.notes[in.ID]
				if !ok {
					return nil, fault.Newf(fault.NotFound, "there is no note %q", in.ID)
				}
				return n, nil
			}),
			l.operation("upsert", `"model":{"type":"object"}`, true, func(tx *shelfTx, in input) (any, error) {
				action := store.Create
				if _, ok := tx.notes[in.Model.ID]; ok {
					action = store.Update
				}
				tx.notes[in.Model.ID] = in.Model
				after, _ := json.Marshal(in.Model)
				tx.changes = append(tx.changes, store.Change{Entity: "Note", Set: tx.set, ID: in.Model.ID, Action: action, After: after})
				if in.Model.Text == "audited" { // which the app notes where the caller does not look
					tx.changes = append(tx.changes, store.Change{Entity: "Ledger", Set: tx.set, Action: store.Create, Hidden: true})
				}
				return in.Model, nil
			}),
		},
	}
}

// values are settings with their defaults, and some changed.
type values struct {
	defaults map[string]any
}

func (v values) get(key string) any {
	x, ok := v.defaults[key]
	if !ok {
		panic("undeclared key " + key)
	}
	return x
}

func (v values) Bool(key string) bool        { return v.get(key).(bool) }
func (v values) Int(key string) int          { return v.get(key).(int) }
func (v values) String(key string) string    { return v.get(key).(string) }
func (v values) Strings(key string) []string { return v.get(key).([]string) }
func (v values) Duration(key string) time.Duration {
	return time.Duration(v.Int(key)) * time.Millisecond
}
func (v values) Under(string) map[string]string { return nil }
func (v values) IsSet(string) bool              { return false }

// app is what a provider is started with.
type app struct {
	values
	confined bool // scripts run in worker processes
}

func (a app) App() string                 { return "house" }
func (a app) Version() string             { return "test" }
func (a app) Command() string             { return "app" }
func (a app) Settings() catalog.Values    { return a.values }
func (a app) Snapshot() *catalog.Snapshot { return nil }
func (a app) Changed()                    {}
func (a app) Log() *slog.Logger           { return slog.Default() }
func (app) ConfigFile() string            { return "" }
func (a app) Testing() bool               { return !a.confined }
func (a app) OneShot() bool               { return false }

// start starts code mode with some settings changed.
func start(t testing.TB, changed map[string]any) (catalog.Provider, error) {
	p := codemode.Provide(codemode.Options{})
	v := values{map[string]any{}}
	for _, s := range p.(catalog.Configurable).Settings() {
		v.defaults[s.Key] = s.Default
	}
	confined := changed["confined"] == true
	for key, x := range changed {
		if key == "confined" {
			continue
		}
		v.get(key)
		v.defaults[key] = x
	}
	err := p.Start(context.Background(), app{v, confined})
	if err == nil {
		t.Cleanup(func() { require.NoError(t, p.Stop(context.Background())) })
	}
	return p, err
}

// house is a running app: one entity, one plugin, code mode.
type house struct {
	t        testing.TB
	provider catalog.Provider
	shelf    *shelf
	library  *library
	engine   *run.Engine
	view     *catalog.View
	records  *records
	steps    func(done, total float64, message string) // the progress of scripts; nil is nobody
	parts    func(index int, value json.RawMessage)
	hears    func(slog.Level, string) // what scripts log while they run; nil is nobody
}

type records struct {
	mu  sync.Mutex
	all []journal.Record
}

func (r *records) Begin(context.Context, journal.Record) {}

func (r *records) Append(_ context.Context, rec journal.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, rec)
}

func newHouse(t testing.TB, changed map[string]any) *house {
	t.Helper()
	p, err := start(t, changed)
	require.NoError(t, err)
	s := &shelf{notes: map[string]map[string]note{"default": {"1": {"1", "first"}}}, version: map[string]int{}}
	h := &house{t: t, provider: p, shelf: s, library: &library{shelf: s}, records: &records{}}
	h.engine = run.NewEngine(run.Options{})
	h.engine.Join(record.New(record.Options{}).Add(h.records))
	snapshot, err := catalog.NewSnapshot(h.library.offer(), p.Offer())
	require.NoError(t, err)
	h.view = snapshot.View(auth.Local(), exposure.Full, false)
	return h
}

// reply is what a code tool returned, success or failure.
type reply struct {
	Success        bool
	Answer, Result json.RawMessage
	Logs           []struct {
		Level, Message string
		TimeMs         *int64
	}
	ChangeCounts   []store.ChangeCount
	Changes        []store.Change
	Calls          []run.CallRecord
	Error          *fault.Fault
	Committed      *bool
	OutsideEffects []run.CallRecord

	Valid       *bool
	Diagnostics []struct {
		Code, Message string
		Line, Column  int
	}

	raw     map[string]json.RawMessage
	outcome *run.Outcome
	err     error
}

// call calls a code tool as a surface does.
func (h *house) call(ctx context.Context, op string, in any) *reply {
	h.t.Helper()
	raw, ok := in.(string)
	if !ok {
		b, err := json.Marshal(in)
		require.NoError(h.t, err)
		raw = string(b)
	}
	out, outcome, err := h.engine.Invoke(ctx, run.Request{
		View: h.view, Principal: auth.Local(), ID: catalog.CodeID("koan", op), Input: json.RawMessage(raw), Surface: "test", Via: catalog.SurfaceTools, Reports: run.Reports{Notify: h.hears, Progress: h.steps, Emit: h.parts},
	})
	r := &reply{outcome: outcome, err: err}
	if out != nil && op == "execute" {
		require.NoError(h.t, json.Unmarshal(out, r), string(out))
	}
	if out != nil {
		require.NoError(h.t, json.Unmarshal(out, &r.raw), string(out))
	}
	return r
}

type in map[string]any

func (h *house) run(code string, more ...in) *reply {
	h.t.Helper()
	all := in{"code": code}
	for _, m := range more {
		for k, v := range m {
			all[k] = v
		}
	}
	return h.call(context.Background(), "execute", all)
}

// fails wants a failure with a code, whose body and error agree.
func (r *reply) fails(t testing.TB, code fault.Code) *fault.Fault {
	t.Helper()
	var f *fault.Fault
	require.True(t, errors.As(r.err, &f), "%v", r.err)
	require.Equal(t, code, f.Code, f.Message)
	if r.raw != nil {
		require.False(t, r.Success)
		require.Equal(t, code, r.Error.Code)
		require.NotEmpty(t, r.Error.Hint)
		for _, key := range []string{"success", "error", "committed", "calls", "logs", "outsideEffects"} {
			require.Contains(t, r.raw, key)
			require.NotEqual(t, "null", string(r.raw[key]), key)
		}
	}
	return f
}

func (h *house) text(id string) string { return h.shelf.notes["default"][id].Text }
