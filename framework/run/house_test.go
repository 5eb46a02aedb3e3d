package run_test

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/store"
	"github.com/koan-go/koan/framework/schema"
)

// counter is a minimal transactional store: one number per set, with snapshot isolation and
// first-committer-wins.
type counter struct {
	mu       sync.Mutex
	value    map[string]int
	version  map[string]int
	receipts []store.Receipt
	stuck    func(a store.Attempt) error // what a rollback to a savepoint ends in
}

func newCounter() *counter { return &counter{value: map[string]int{}, version: map[string]int{}} }

type counterTx struct {
	c       *counter
	a       store.Attempt
	set     string
	value   int
	version int
	writing bool
	changes []store.Change
	ended   bool
}

func (c *counter) Begin(_ context.Context, a store.Attempt, set string) (store.Tx, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return &counterTx{c: c, a: a, set: set, value: c.value[set], version: c.version[set]}, nil
}

func (t *counterTx) Write(context.Context) error {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	if t.c.version[t.set] != t.version {
		return store.ErrStale
	}
	t.writing = true
	return nil
}

func (t *counterTx) Savepoint(context.Context, bool) (func(bool) error, error) {
	value, n := t.value, len(t.changes)
	return func(ok bool) error {
		if ok {
			return nil
		}
		if t.c.stuck != nil {
			if err := t.c.stuck(t.a); err != nil {
				return err
			}
		}
		t.value, t.changes = value, t.changes[:n]
		return nil
	}, nil
}

func (t *counterTx) State() (locked, wrote bool) { return t.writing, t.writing }

func (t *counterTx) Changes(context.Context) ([]store.Change, error) { return t.changes, nil }

func (t *counterTx) Commit(_ context.Context, r store.Receipt) error {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	t.ended = true
	if !t.writing {
		return nil
	}
	if t.c.version[t.set] != t.version {
		return store.ErrStale
	}
	t.c.value[t.set] = t.value
	t.c.version[t.set]++
	t.c.receipts = append(t.c.receipts, r)
	return nil
}

func (t *counterTx) Rollback(context.Context) error { t.ended = true; return nil }

// house is a catalog over a counter: read, add, a slow outside call, one that fails, and a script
// operation with a body of the test.
type house struct {
	engine *run.Engine
	store  *counter
	view   *catalog.View
	body   func(ctx context.Context, a *run.Attempt) (run.Return, error)
	spec   run.Spec
	slow   time.Duration
	slowN  atomic.Int64
}

func newHouse(t *testing.T, o run.Options) *house {
	t.Helper()
	h := &house{engine: run.NewEngine(o), store: newCounter(), spec: run.Spec{Atomic: true}}
	object := json.RawMessage(`{"type":"object"}`)
	counting := json.RawMessage(`{"type":"object","properties":{"by":{"type":"integer"},"set":{"type":"string"}},"additionalProperties":false}`)
	decode := func(in catalog.Input) (catalog.Decoded, error) {
		if err := schema.Check(counting, in.JSON); err != nil {
			return catalog.Decoded{}, err
		}
		var v struct{ Set string }
		if err := json.Unmarshal(in.JSON, &v); err != nil {
			return catalog.Decoded{}, err
		}
		if v.Set == "" {
			v.Set = in.Set
		}
		return catalog.Decoded{Target: catalog.Target{Entity: "Counter", Set: v.Set}}, nil
	}
	serial := func(op string, write bool, fn func(tx *counterTx, in json.RawMessage) error) *catalog.Operation {
		return &catalog.Operation{
			ID: catalog.EntityID("Counter", op), Resource: "Counter",
			Contract: catalog.Contract{
				Input:  counting,
				Output: json.RawMessage(`{"type":"integer"}`), Effects: catalog.Effects{ReadOnly: !write}, Scopes: []string{"counter"},
			},
			Listing: catalog.Listing{Reach: catalog.Everywhere},
			Work: catalog.Work{
				Serial: true, Decode: decode,
				Handler: func(ctx context.Context, c catalog.Call) (json.RawMessage, error) {
					var out json.RawMessage
					err := run.Within(ctx, h.store, c.Target().Set, write, func(_ context.Context, tx store.Tx) error {
						err := fn(tx.(*counterTx), c.Input())
						out = json.RawMessage(strconv.Itoa(tx.(*counterTx).value))
						return err
					})
					return out, err
				},
			},
		}
	}
	ops := []*catalog.Operation{
		serial("read", false, func(*counterTx, json.RawMessage) error { return nil }),
		serial("add", true, func(tx *counterTx, in json.RawMessage) error {
			var v struct{ By int }
			_ = json.Unmarshal(in, &v)
			tx.value += v.By
			tx.changes = append(tx.changes, store.Change{Entity: "Counter", Set: tx.set, ID: "1", Action: store.Update})
			if v.By == 13 {
				panic("unlucky")
			}
			if v.By < 0 {
				return fault.New(fault.InvalidPayload, "only upwards")
			}
			return nil
		}),
		{
			ID:       catalog.PluginID("world", "send"),
			Contract: catalog.Contract{Input: object, Output: json.RawMessage(`{"type":"integer"}`), Effects: catalog.Effects{Outside: true}},
			Listing:  catalog.Listing{Reach: catalog.Everywhere},
			Work: catalog.Work{
				Handler: func(ctx context.Context, c catalog.Call) (json.RawMessage, error) {
					select {
					case <-time.After(h.slow):
					case <-ctx.Done():
						return nil, ctx.Err()
					}
					return json.RawMessage(strconv.FormatInt(h.slowN.Add(1), 10)), nil
				},
			},
		},
		{
			ID:       catalog.PluginID("world", "fetch"),
			Contract: catalog.Contract{Input: object, Output: json.RawMessage(`{"type":["string","array"]}`), Effects: catalog.Effects{Outside: true}},
			Listing:  catalog.Listing{Reach: catalog.Everywhere},
			Work: catalog.Work{
				Handler: func(_ context.Context, c catalog.Call) (json.RawMessage, error) {
					h.slowN.Add(1)
					var in struct{ Size, Lists int }
					_ = json.Unmarshal(c.Input(), &in)
					if in.Lists > 0 {
						return json.RawMessage("[" + strings.Repeat("[],", in.Lists) + "0]"), nil
					}
					return json.RawMessage(strconv.Quote(strings.Repeat("x", in.Size))), nil
				},
			},
		},
		{
			ID:       catalog.PluginID("world", "panic"),
			Contract: catalog.Contract{Input: object, Output: object},
			Listing:  catalog.Listing{Reach: catalog.Everywhere},
			Work: catalog.Work{
				Handler: func(context.Context, catalog.Call) (json.RawMessage, error) { panic("a secret") },
			},
		},
		{
			ID:       catalog.CodeID("koan", "execute"),
			Contract: catalog.Contract{Input: object, Output: object},
			Listing:  catalog.Listing{Reach: catalog.ReachTools},
			Work: catalog.Work{
				Handler: func(ctx context.Context, _ catalog.Call) (json.RawMessage, error) {
					r, err := run.Open(ctx, h.spec)
					if err != nil {
						return nil, err
					}
					_, err = r.Execute(ctx, h.body)
					return json.RawMessage(`{"body":true}`), err
				},
			},
		},
	}
	s, err := catalog.NewSnapshot(catalog.Offer{Operations: ops, Resources: []*catalog.Resource{{Name: "Counter", Operations: []string{"read", "add"}}}})
	require.NoError(t, err)
	h.view = s.View(auth.Local(), exposure.Full, false)
	return h
}

func (h *house) script(ctx context.Context, body run.Body) (*run.Outcome, error) {
	h.body = body
	return h.again(ctx, body)
}

// again runs a body without changing the house, so that it can be called in parallel.
func (h *house) again(ctx context.Context, _ run.Body) (*run.Outcome, error) {
	_, o, err := h.engine.Invoke(ctx, run.Request{View: h.view, Principal: auth.Local(), ID: catalog.CodeID("koan", "execute")})
	return o, err
}

func (h *house) principal() auth.Principal { return auth.Local() }

func call(ctx context.Context, a *run.Attempt, id catalog.ID, input string) (json.RawMessage, error) {
	return a.Invoke(ctx, a.Next(), id, json.RawMessage(input))
}

var (
	read = catalog.EntityID("Counter", "read")
	add  = catalog.EntityID("Counter", "add")
	send = catalog.PluginID("world", "send")
	// fetch returns as many bytes as its input says.
	fetch = catalog.PluginID("world", "fetch")
)
