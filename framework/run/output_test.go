package run_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/store"
)

var (
	lie    = catalog.PluginID("world", "lie")
	proven = catalog.PluginID("world", "proven")
	spoil  = catalog.EntityID("Counter", "spoil")
)

// lyingHouse is a house with operations whose outputs do not match their schemas: lie has an effect
// outside, proven is not checked, spoil writes.
func lyingHouse(t *testing.T, log *bytes.Buffer, out string, calls *int) *house {
	t.Helper()
	h := newHouse(t, run.Options{Log: slog.New(slog.NewTextHandler(log, nil))})
	object := json.RawMessage(`{"type":"object"}`)
	numbers := json.RawMessage(`{"type":"object","required":["n"],"properties":{"n":{"type":"integer"},"m":{"type":"integer"}}}`)
	answer := func(context.Context, catalog.Call) (json.RawMessage, error) {
		*calls++
		return json.RawMessage(out), nil
	}
	ops := append([]*catalog.Operation{
		{ID: lie, Contract: catalog.Contract{Input: object, Output: numbers, Effects: catalog.Effects{Outside: true}}, Listing: catalog.Listing{Reach: catalog.Everywhere}, Work: catalog.Work{Handler: answer}},
		{ID: proven, Contract: catalog.Contract{Input: object, Output: numbers, Effects: catalog.Effects{ReadOnly: true}, Proven: true}, Listing: catalog.Listing{Reach: catalog.Everywhere}, Work: catalog.Work{Handler: answer}},
		{
			ID:       spoil,
			Contract: catalog.Contract{Input: object, Output: numbers},
			Listing:  catalog.Listing{Reach: catalog.Everywhere},
			Work: catalog.Work{
				Serial: true, Handler: func(ctx context.Context, c catalog.Call) (json.RawMessage, error) {
					*calls++
					err := run.Within(ctx, h.store, "default", true, func(_ context.Context, tx store.Tx) error {
						tx.(*counterTx).value += 100
						return nil
					})
					return json.RawMessage(out), err
				},
			},
		},
	}, h.view.Snapshot().Operations()...)
	s, err := catalog.NewSnapshot(catalog.Offer{Operations: ops})
	require.NoError(t, err)
	h.view = s.View(auth.Local(), exposure.Full, false)
	return h
}

func TestInvalidOutputIsAFault(t *testing.T) {
	for name, c := range map[string]struct {
		out   string
		paths []string
	}{
		"wrong type":    {`{"n":"x"}`, []string{"/n"}},
		"missing":       {`{}`, []string{"/n"}},
		"several":       {`{"n":"x","m":null}`, []string{"/m", "/n"}},
		"nothing":       {``, []string{"/n"}},
		"another kind":  {`[1]`, []string{""}},
		"not JSON":      {`{"n":`, []string{""}},
		"not UTF-8":     {"{\"n\":1,\"x\":\"\xff\"}", []string{""}},
		"a huge number": {`{"n":1e999999999}`, []string{"/n"}},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			calls := 0
			h := lyingHouse(t, &log, c.out, &calls)
			for range 3 {
				_, o, err := h.engine.Invoke(t.Context(), run.Request{View: h.view, Principal: auth.Local(), ID: lie})
				f := fault.From(err)
				require.Equal(t, fault.ExecutionError, f.Code)
				require.Contains(t, f.Message, "world.lie was called")
				require.Contains(t, f.Hint, "world.lie")
				require.Contains(t, f.Hint, "may have happened")
				require.Equal(t, fault.Never, f.Retry, "it was called: nobody is to call again just so")
				var paths []string
				for _, d := range f.Details.([]fault.Detail) {
					paths = append(paths, d.Path)
				}
				require.ElementsMatch(t, c.paths, paths)
				require.Len(t, o.OutsideEffects, 1)
				require.False(t, o.OutsideEffects[0].OK)
			}
			require.Equal(t, 3, calls)
			require.Equal(t, 1, strings.Count(log.String(), "level=ERROR"), log.String())
			require.Contains(t, log.String(), "plugin::world.lie")
		})
	}
}

func TestProvenOutputIsNotChecked(t *testing.T) {
	calls := 0
	h := lyingHouse(t, &bytes.Buffer{}, `{"n":"x"}`, &calls)
	out, _, err := h.engine.Invoke(t.Context(), run.Request{View: h.view, Principal: auth.Local(), ID: proven})
	require.NoError(t, err)
	require.JSONEq(t, `{"n":"x"}`, string(out))
}

// TestInvalidOutputIsOnTheTape checks that the next attempt gets the same fault without a second call.
func TestInvalidOutputIsOnTheTape(t *testing.T) {
	calls := 0
	h := lyingHouse(t, &bytes.Buffer{}, `{"n":"x"}`, &calls)
	o, err := h.script(t.Context(), func(ctx context.Context, a *run.Attempt) (run.Return, error) {
		_, err := call(ctx, a, read, `{}`)
		require.NoError(t, err)
		_, err = call(ctx, a, lie, `{}`)
		require.Equal(t, fault.ExecutionError, fault.CodeOf(err), "a script can catch it")
		if a.Number() == 1 {
			h.store.mu.Lock()
			h.store.version["default"]++ // somebody else is faster
			h.store.mu.Unlock()
		}
		_, err = call(ctx, a, add, `{"by":1}`)
		return run.Return{}, err
	})
	require.NoError(t, err)
	require.Equal(t, 2, o.Attempts)
	require.Equal(t, 1, calls)
	require.Len(t, o.OutsideEffects, 1)
	require.True(t, o.Committed)
}

// TestInvalidOutputOfWriteEndsAttempt checks that a write is not kept by a script that catches its
// fault.
func TestInvalidOutputOfWriteEndsAttempt(t *testing.T) {
	calls := 0
	h := lyingHouse(t, &bytes.Buffer{}, `{"n":"x"}`, &calls)
	o, err := h.script(t.Context(), func(ctx context.Context, a *run.Attempt) (run.Return, error) {
		_, _ = call(ctx, a, spoil, `{}`)
		_, _ = call(ctx, a, add, `{"by":1}`)
		return run.Return{}, nil
	})
	require.Equal(t, fault.ExecutionError, fault.CodeOf(err))
	require.False(t, o.Committed)
	require.Zero(t, h.store.value["default"])
}

func TestCheckSchemasNamesEveryOperation(t *testing.T) {
	h := newHouse(t, run.Options{})
	op := func(name, in, out string) *catalog.Operation {
		return &catalog.Operation{
			ID:       catalog.PluginID("world", name),
			Contract: catalog.Contract{Input: json.RawMessage(in), Output: json.RawMessage(out)},
			Listing:  catalog.Listing{Reach: catalog.Everywhere},
			Work: catalog.Work{
				Handler: func(context.Context, catalog.Call) (json.RawMessage, error) { return nil, nil },
			},
		}
	}
	s, err := catalog.NewSnapshot(catalog.Offer{Operations: []*catalog.Operation{
		op("fine", `{"type":"object"}`, `true`), op("typo", `{"type":"objekt"}`, `true`), op("gone", `true`, `{"$ref":"#/$defs/none"}`), op("remote", `true`, `{"$ref":"https://example.org/schema"}`),
	}})
	require.NoError(t, err)
	err = h.engine.CheckSchemas(s)
	for _, want := range []string{"the input schema of plugin::world.typo", "the output schema of plugin::world.gone", "the output schema of plugin::world.remote"} {
		require.ErrorContains(t, err, want)
	}
	require.NotContains(t, err.Error(), "fine")
	require.NoError(t, h.engine.CheckSchemas(h.view.Snapshot()))
}
