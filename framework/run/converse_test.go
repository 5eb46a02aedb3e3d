package run_test

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/tape"
)

var talk = catalog.PluginID("world", "talk")

// talking is a house with an operation that makes calls of its own and says how often it was called.
type talking struct {
	*house
	calls atomic.Int64
	// during is called between its two calls, and after when it is about to return.
	during, after func()
}

func newTalking(t *testing.T, effects catalog.Effects) *talking {
	t.Helper()
	h := &talking{house: newHouse(t, run.Options{})}
	h.add(t, &catalog.Operation{
		ID:       talk,
		Contract: catalog.Contract{Input: json.RawMessage(`{"type":"object"}`), Output: json.RawMessage(`{"type":"array"}`), Effects: effects},
		Listing:  catalog.Listing{Reach: catalog.Everywhere},
		Work: catalog.Work{
			Converses: true, Rights: &catalog.Rights{Declared: true},
			Handler: func(ctx context.Context, c catalog.Call) (json.RawMessage, error) {
				called := h.calls.Add(1)
				n := run.NestOf(ctx)
				first, err := n.Invoke(ctx, n.Next(), add, json.RawMessage(`{"by":1}`))
				if err != nil {
					return nil, err
				}
				if h.during != nil {
					h.during()
				}
				second, err := n.Invoke(ctx, n.Next(), add, json.RawMessage(`{"by":10}`))
				if err != nil {
					return nil, err
				}
				if h.after != nil {
					h.after()
				}
				var in struct{ Fail bool }
				if err := json.Unmarshal(c.Input(), &in); err != nil || in.Fail {
					return nil, fault.New(fault.ExecutionError, "as it was told")
				}
				return json.Marshal([]any{called, first, second})
			},
		},
	})
	return h
}

// invoke makes the call as a run of its own.
func (h *talking) invoke(ctx context.Context) (string, *run.Outcome, error) {
	out, o, err := h.engine.Invoke(ctx, run.Request{View: h.view, Principal: auth.Local(), ID: talk})
	return string(out), o, err
}

func TestConversingCallIsPartOfTheRun(t *testing.T) {
	h := newTalking(t, catalog.Effects{})
	out, o, err := h.invoke(t.Context())
	require.NoError(t, err)
	require.JSONEq(t, `[1,1,11]`, out)
	require.True(t, o.Committed)
	require.Equal(t, 11, h.store.value["default"])
	require.Len(t, o.Changes, 2)
	require.Equal(t, 3, o.SDKCalls)
	require.Len(t, h.store.receipts, 1, "one transaction")
}

func TestConversingCallThatFailsLeavesNothing(t *testing.T) {
	h := newTalking(t, catalog.Effects{})
	o, err := h.script(t.Context(), func(ctx context.Context, a *run.Attempt) (run.Return, error) {
		_, err := call(ctx, a, talk, `{"fail":true}`)
		require.Equal(t, fault.ExecutionError, fault.CodeOf(err))
		_, err = call(ctx, a, add, `{"by":100}`)
		return run.Return{}, err
	})
	require.NoError(t, err)
	require.True(t, o.Committed)
	require.Equal(t, 100, h.store.value["default"])
}

// While what its calls return is the same, another attempt makes them again without calling the handler.
func TestConversingCallIsRetraced(t *testing.T) {
	for name, effects := range map[string]catalog.Effects{"inside": {}, "outside": {Outside: true}} {
		t.Run(name, func(t *testing.T) {
			h := newTalking(t, effects)
			attempts := 0
			o, err := h.script(t.Context(), func(ctx context.Context, a *run.Attempt) (run.Return, error) {
				attempts++
				out, err := call(ctx, a, talk, `{}`)
				if err != nil {
					return run.Return{}, err
				}
				require.JSONEq(t, `[1,1,11]`, string(out))
				if attempts == 1 { // somebody else commits, and has no effect on what the calls return
					h.store.version["default"]++
				}
				return run.Return{}, nil
			})
			require.NoError(t, err)
			require.True(t, o.Committed)
			require.Equal(t, 2, attempts)
			require.EqualValues(t, 1, h.calls.Load())
			require.Equal(t, 11, h.store.value["default"], "its writes are in the attempt that commits")
			require.Len(t, o.OutsideEffects, map[string]int{"inside": 0, "outside": 1}[name])
		})
	}
}

// If the data has changed by which it did what it did, it is called again, unless that repeats an effect
// outside.
func TestConversingCallWhoseDataHasChanged(t *testing.T) {
	change := func(h *talking) func() {
		return func() {
			h.after = nil
			h.store.mu.Lock()
			defer h.store.mu.Unlock()
			h.store.value["default"] += 1000
			h.store.version["default"]++
		}
	}
	t.Run("inside", func(t *testing.T) {
		h := newTalking(t, catalog.Effects{})
		h.after = change(h)
		out, o, err := h.invoke(t.Context())
		require.NoError(t, err)
		require.JSONEq(t, `[2,1001,1011]`, out)
		require.Equal(t, 2, o.Attempts)
		require.Equal(t, 1011, h.store.value["default"])
	})
	t.Run("idempotent", func(t *testing.T) {
		h := newTalking(t, catalog.Effects{Outside: true, Idempotent: true})
		h.after = change(h)
		out, _, err := h.invoke(t.Context())
		require.NoError(t, err)
		require.JSONEq(t, `[2,1001,1011]`, out)
	})
	t.Run("outside", func(t *testing.T) {
		h := newTalking(t, catalog.Effects{Outside: true})
		h.after = change(h)
		_, o, err := h.invoke(t.Context())
		require.Equal(t, fault.Conflict, fault.CodeOf(err))
		require.Equal(t, fault.Never, fault.From(err).Retry)
		require.EqualValues(t, 1, h.calls.Load())
		require.Len(t, o.OutsideEffects, 1)
		require.Equal(t, 1000, h.store.value["default"])
	})
}

// A new attempt that comes in the middle does not repeat an effect outside.
func TestConversingCallThatIsCutOff(t *testing.T) {
	for name, effects := range map[string]catalog.Effects{"inside": {}, "outside": {Outside: true}} {
		t.Run(name, func(t *testing.T) {
			h := newTalking(t, effects)
			first := true
			o, err := h.script(t.Context(), func(ctx context.Context, a *run.Attempt) (run.Return, error) {
				_, err := call(ctx, a, read, `{}`)
				require.NoError(t, err)
				if first { // what the attempt has read is over when it comes to write
					first = false
					h.store.version["default"]++
				}
				_, err = call(ctx, a, talk, `{}`)
				return run.Return{}, err
			})
			if name == "inside" {
				require.NoError(t, err)
				require.EqualValues(t, 2, h.calls.Load())
				require.Equal(t, 11, h.store.value["default"])
				return
			}
			require.Equal(t, fault.OutcomeUnknown, fault.CodeOf(err))
			require.Equal(t, fault.Never, fault.From(err).Retry)
			require.EqualValues(t, 1, h.calls.Load())
			require.Len(t, o.OutsideEffects, 1)
		})
	}
}

// What the operation declares holds for its calls, and a dry run rolls them back.
func TestConversingCallKeepsToItsEffects(t *testing.T) {
	h := newTalking(t, catalog.Effects{ReadOnly: true, Outside: true})
	_, _, err := h.invoke(t.Context())
	require.Equal(t, fault.Forbidden, fault.CodeOf(err))
	require.Contains(t, fault.From(err).Hint, "plugins.world.effects")
	require.Zero(t, h.store.value["default"])

	body := func(ctx context.Context, a *run.Attempt) (run.Return, error) {
		out, err := call(ctx, a, talk, `{}`)
		return run.Return{Result: out}, err
	}
	h = newTalking(t, catalog.Effects{})
	h.spec.DryRun = true
	o, err := h.script(t.Context(), body)
	require.NoError(t, err)
	require.False(t, o.Committed)
	require.Len(t, o.Changes, 2)
	require.Zero(t, h.store.value["default"])

	h = newTalking(t, catalog.Effects{Outside: true})
	h.spec.DryRun = true
	_, err = h.script(t.Context(), body)
	require.Equal(t, fault.DryRunBlocked, fault.CodeOf(err))
	require.Zero(t, h.calls.Load())
}

// Its calls are on the tape that leaves the process: they are made again by who continues the run.
func TestConversingCallOnAThawedTape(t *testing.T) {
	h := newTalking(t, catalog.Effects{})
	var frozen []byte
	body := func(ctx context.Context, a *run.Attempt) (run.Return, error) {
		out, err := call(ctx, a, talk, `{"text":"<&>"}`)
		if err == nil && frozen == nil {
			frozen, err = a.Tape().Freeze()
		}
		return run.Return{Result: out}, err
	}
	h.spec.DryRun = true
	_, err := h.script(t.Context(), body)
	require.NoError(t, err)
	h.spec.DryRun = false
	kept, err := tape.Thaw(frozen)
	require.NoError(t, err)
	o, err := h.script(t.Context(), func(ctx context.Context, a *run.Attempt) (run.Return, error) {
		a.Run().UseTape(kept)
		return body(ctx, a)
	})
	require.NoError(t, err)
	require.True(t, o.Committed)
	require.EqualValues(t, 1, h.calls.Load())
	require.Equal(t, 11, h.store.value["default"])
}

// An operation that calls itself comes to an end.
func TestConversingCallsAreBounded(t *testing.T) {
	h := newHouse(t, run.Options{})
	var deepest error
	calls := 0
	h.add(t, &catalog.Operation{
		ID:       talk,
		Contract: catalog.Contract{Input: json.RawMessage(`{"type":"object"}`), Output: json.RawMessage(`{}`)},
		Listing:  catalog.Listing{Reach: catalog.Everywhere},
		Work: catalog.Work{Converses: true, Handler: func(ctx context.Context, _ catalog.Call) (json.RawMessage, error) {
			calls++
			n := run.NestOf(ctx)
			if _, err := n.Invoke(ctx, n.Next(), talk, json.RawMessage(`{}`)); err != nil && deepest == nil {
				deepest = err
			}
			return json.RawMessage(`{}`), nil
		}},
	})
	_, _, err := h.engine.Invoke(t.Context(), run.Request{View: h.view, Principal: auth.Local(), ID: talk})
	require.NoError(t, err)
	require.Equal(t, fault.ExecutionError, fault.CodeOf(deepest))
	require.Equal(t, fault.Fix, fault.From(deepest).Retry)
	require.Equal(t, 8, calls)
}
