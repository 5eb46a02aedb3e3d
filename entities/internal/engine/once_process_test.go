package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/ask"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/once"
	"github.com/koan-go/koan/tests/fixture/ent"
)

// world is what is outside: it notes the key of each call that reaches it.
type world struct {
	mu    sync.Mutex
	keys  []string
	fails error
	slow  time.Duration
}

func (w *world) seen() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string{}, w.keys...)
}

func (w *world) operation(name string, effects catalog.Effects) *catalog.Operation {
	object := json.RawMessage(`{"type":"object"}`)
	return &catalog.Operation{
		ID:       catalog.PluginID("world", name),
		Contract: catalog.Contract{Input: object, Output: json.RawMessage(`true`), Effects: effects},
		Listing:  catalog.Listing{Reach: catalog.Everywhere},
		Work: catalog.Work{
			Handler: func(_ context.Context, c catalog.Call) (json.RawMessage, error) {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.keys = append(w.keys, c.Key())
				time.Sleep(w.slow)
				return json.RawMessage(fmt.Sprint(len(w.keys))), w.fails
			},
		},
	}
}

// inquiry is an operation that asks before it does anything.
func (w *world) inquiry() *catalog.Operation {
	op := w.operation("asks", catalog.Effects{Outside: true})
	does := op.Handler
	op.Handler = func(ctx context.Context, c catalog.Call) (json.RawMessage, error) {
		if _, err := ask.Text(ctx, "sure", "Sure?", 5); err != nil {
			return nil, err
		}
		return does(ctx, c)
	}
	return op
}

// frail is a ledger that a process stops talking to: it hears nothing of what it
// says, and goes on.
type frail struct {
	once.Ledger
	mu   sync.Mutex
	deaf map[string]bool // by method
}

func (f *frail) cut(methods ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.deaf = map[string]bool{}
	for _, m := range methods {
		f.deaf[m] = true
	}
}

func (f *frail) is(method string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.deaf[method]
}

var errDead = errors.New("nobody is there to say it")

func (f *frail) Renew(ctx context.Context, h once.Hold) error {
	if f.is("renew") {
		return errDead
	}
	return f.Ledger.Renew(ctx, h)
}

func (f *frail) Settle(ctx context.Context, h once.Hold, i once.Intent) error {
	if f.is("settle") {
		return errDead
	}
	return f.Ledger.Settle(ctx, h, i)
}

func (f *frail) End(ctx context.Context, h once.Hold, e once.Ending) error {
	if f.is("end") {
		return errDead
	}
	return f.Ledger.End(ctx, h, e)
}

// lease is short, and long enough for a machine that has much else to do.
const lease = time.Second

// process is one process of the app: several of them share a place.
type process struct {
	*app
	ledger *frail
	world  *world
	asked  ask.Client // who calls; nil is nobody who can be asked
}

// keysOf are keys that a ledger keeps.
func keysOf(l once.Ledger, o once.Options) *once.Keys {
	keys := once.New(o)
	keys.Use(l)
	return keys
}

func newProcess(t *testing.T, place string, w *world, o once.Options) *process {
	t.Helper()
	if o.Lease == 0 {
		o.Lease = lease
	}
	a := startIn(t, place, ent.Entities())
	p := &process{app: a, ledger: &frail{Ledger: a.provider.Books().Keys}, world: w}
	a.engine = run.NewEngine(run.Options{})
	a.engine.Join(keysOf(p.ledger, o))
	return p
}

// job is what a keyed run does: calls of the process by their ids.
type job func(call func(id, input string) (string, error), a *run.Attempt) (string, error)

// once runs a job under a key.
func (p *process) once(key string, spec run.Spec, fn job) (string, *run.Outcome, error) {
	spec.IdempotencyKey = key
	spec.Reply = func(ret run.Return, o *run.Outcome, err error) (json.RawMessage, error) {
		if err != nil {
			b, _ := json.Marshal(fault.From(err))
			return b, err
		}
		b, err := json.Marshal(map[string]any{"result": ret.Result, "attempt": o.Attempts, "made": uuid.NewString()})
		return b, err
	}
	op := &catalog.Operation{
		ID:       catalog.CodeID("test", "script"),
		Contract: catalog.Contract{Input: json.RawMessage(`{}`), Output: json.RawMessage(`{}`)},
		Work: catalog.Work{
			Handler: func(ctx context.Context, _ catalog.Call) (json.RawMessage, error) {
				r, err := run.Open(ctx, spec)
				if err != nil {
					return nil, err
				}
				o, err := r.Execute(ctx, func(ctx context.Context, a *run.Attempt) (run.Return, error) {
					out, err := fn(func(id, input string) (string, error) {
						parsed, err := catalog.ParseID(id)
						if err != nil {
							return "", err
						}
						raw, err := a.Invoke(ctx, a.Next(), parsed, json.RawMessage(input))
						return string(raw), err
					}, a)
					return run.Return{Result: json.RawMessage(`"` + out + `"`)}, err
				})
				return o.Reply, err
			},
		},
	}
	outside := catalog.Effects{Outside: true}
	again := catalog.Effects{Outside: true, Idempotent: true}
	s, err := catalog.NewSnapshot(p.provider.Offer(), catalog.Offer{Operations: []*catalog.Operation{op, p.world.operation("send", outside), p.world.operation("put", again), p.world.inquiry()}})
	require.NoError(p, err)
	out, o, err := p.engine.Invoke(ask.With(context.Background(), p.asked), run.Request{View: s.View(p.as, exposure.Full, false), Principal: p.as, ID: op.ID, Surface: "app"})
	return string(out), o, err
}

const (
	upsert = "koan::Todo.upsert"
	send   = "plugin::world.send"
	put    = "plugin::world.put"
	asks   = "plugin::world.asks"
)

// adds is a job that makes one todo.
func adds(title string) job {
	return func(call func(id, input string) (string, error), _ *run.Attempt) (string, error) {
		_, err := call(upsert, `{"model":{"title":"`+title+`"}}`)
		return title, err
	}
}

func (p *process) count(title string) int {
	p.Helper()
	return int(p.call("Todo.count", `{"filter":{"title":"`+title+`"}}`)["count"].(float64))
}
