package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/store"
)

func TestCommitOrNothing(t *testing.T) {
	h := newHouse(t, run.Options{})
	o, err := h.script(t.Context(), func(ctx context.Context, a *run.Attempt) (run.Return, error) {
		for range 3 {
			if _, err := call(ctx, a, add, `{"by":1}`); err != nil {
				return run.Return{}, err
			}
		}
		return run.Return{Result: json.RawMessage(`7`)}, nil
	})
	require.NoError(t, err)
	require.True(t, o.Committed)
	require.Equal(t, []store.ChangeCount{{Entity: "Counter", Set: "default", Updated: 3}}, store.Counts(o.Changes))
	require.Equal(t, 3, h.store.value["default"])
	require.Len(t, h.store.receipts, 1)
	require.Equal(t, o.Run, h.store.receipts[0].Run)
	require.Equal(t, journal.Digest([]byte(`7`)), h.store.receipts[0].ResultDigest)

	o, err = h.script(t.Context(), func(ctx context.Context, a *run.Attempt) (run.Return, error) {
		_, err := call(ctx, a, add, `{"by":5}`)
		require.NoError(t, err)
		return run.Return{}, fault.New(fault.JavaScriptError, "thrown")
	})
	require.Equal(t, fault.JavaScriptError, fault.CodeOf(err))
	require.False(t, o.Committed)
	require.Empty(t, o.Changes)
	require.Len(t, o.Calls, 1)
	require.Equal(t, 3, h.store.value["default"])
}

func TestCaughtFaultLeavesNothingHalfDone(t *testing.T) {
	h := newHouse(t, run.Options{})
	_, err := h.script(t.Context(), func(ctx context.Context, a *run.Attempt) (run.Return, error) {
		_, err := call(ctx, a, add, `{"by":-4}`)
		require.Equal(t, fault.InvalidPayload, fault.CodeOf(err))
		require.False(t, run.Ends(err))
		_, err = call(ctx, a, add, `{"by":1}`)
		return run.Return{}, err
	})
	require.NoError(t, err)
	require.Equal(t, 1, h.store.value["default"])
}

func TestCaughtPanicLeavesNothingHalfDone(t *testing.T) {
	for _, atomic := range []bool{true, false} {
		h := newHouse(t, run.Options{})
		h.spec.Atomic = atomic
		o, err := h.script(t.Context(), func(ctx context.Context, a *run.Attempt) (run.Return, error) {
			_, err := call(ctx, a, add, `{"by":13}`)
			require.Equal(t, fault.Internal, fault.CodeOf(err))
			_, err = call(ctx, a, add, `{"by":1}`)
			return run.Return{}, err
		})
		require.NoError(t, err)
		require.Equal(t, 1, h.store.value["default"])
		require.Len(t, o.Changes, 1)
	}
	h := newHouse(t, run.Options{})
	h.store.stuck = func(store.Attempt) error { return errors.New("the connection is lost") }
	_, err := h.script(t.Context(), func(ctx context.Context, a *run.Attempt) (run.Return, error) {
		_, err := call(ctx, a, add, `{"by":13}`)
		require.Error(t, err)
		return run.Return{}, nil
	})
	require.Equal(t, fault.Internal, fault.CodeOf(err))
	require.Zero(t, h.store.value["default"])
}

// TestFailedSavepointEndsAttempt checks that a call that cannot be rolled back alone ends the attempt,
// even if its fault is caught.
func TestFailedSavepointEndsAttempt(t *testing.T) {
	caught := func(ctx context.Context, a *run.Attempt) (run.Return, error) {
		_, err := call(ctx, a, add, `{"by":-4}`)
		if run.Ends(err) {
			return run.Return{}, err
		}
		_, err = call(ctx, a, add, `{"by":1}`)
		return run.Return{}, err
	}
	h := newHouse(t, run.Options{})
	h.store.stuck = func(a store.Attempt) error {
		if a.Number() == 1 {
			return store.ErrStale
		}
		return nil
	}
	o, err := h.script(t.Context(), caught)
	require.NoError(t, err)
	require.Equal(t, 2, o.Attempts, "in the next one it can")
	require.Equal(t, 1, h.store.value["default"])

	h = newHouse(t, run.Options{})
	h.store.stuck = func(store.Attempt) error { return errors.New("the connection is lost") }
	o, err = h.script(t.Context(), caught)
	require.Equal(t, fault.InvalidPayload, fault.CodeOf(err))
	require.False(t, o.Committed)
	require.Zero(t, h.store.value["default"])
}

func TestStaleSnapshotRestartsAttempt(t *testing.T) {
	h := newHouse(t, run.Options{})
	var clocks []time.Time
	o, err := h.script(t.Context(), func(ctx context.Context, a *run.Attempt) (run.Return, error) {
		clocks = append(clocks, a.Tape().Now())
		got, err := call(ctx, a, read, `{}`)
		require.NoError(t, err)
		if a.Number() == 1 { // somebody else is faster
			h.store.mu.Lock()
			h.store.value["default"], h.store.version["default"] = 10, 1
			h.store.mu.Unlock()
		} else {
			require.Equal(t, "10", string(got))
			require.True(t, a.WriteFirst())
		}
		_, err = call(ctx, a, add, `{"by":1}`)
		if a.Number() == 1 {
			require.True(t, run.Ends(err))
			_, again := call(ctx, a, read, `{}`) // a script that catches cannot go on
			require.True(t, run.Ends(again))
			return run.Return{}, nil
		}
		return run.Return{}, err
	})
	require.NoError(t, err)
	require.Equal(t, 2, o.Attempts)
	require.Equal(t, 11, h.store.value["default"])
	require.Equal(t, clocks[0], clocks[1], "the clock is on the tape")
}

func TestAttemptsAreBounded(t *testing.T) {
	h := newHouse(t, run.Options{MaxAttempts: 3})
	o, err := h.script(t.Context(), func(ctx context.Context, a *run.Attempt) (run.Return, error) {
		_, err := call(ctx, a, read, `{}`)
		require.NoError(t, err)
		h.store.mu.Lock()
		h.store.version["default"]++
		h.store.mu.Unlock()
		_, err = call(ctx, a, add, `{"by":1}`)
		return run.Return{}, err
	})
	require.Equal(t, fault.Conflict, fault.CodeOf(err))
	require.Equal(t, 3, o.Attempts)
	require.False(t, o.Committed)
}

func TestSlowOutsideCallHoldsNoLock(t *testing.T) {
	h := newHouse(t, run.Options{Lock: 10 * time.Millisecond})
	h.slow = 600 * time.Millisecond
	o, err := h.script(t.Context(), func(ctx context.Context, a *run.Attempt) (run.Return, error) {
		if _, err := call(ctx, a, add, `{"by":1}`); err != nil {
			return run.Return{}, err
		}
		out, err := call(ctx, a, send, `{}`)
		return run.Return{Result: out}, err
	})
	require.NoError(t, err)
	require.Equal(t, 2, o.Attempts)
	require.EqualValues(t, 1, h.slowN.Load(), "the call is made once; its result is on the tape")
	require.Len(t, o.OutsideEffects, 1)
	require.Equal(t, 1, h.store.value["default"])
}

// TestSlowOutsideCallsDoNotCountAsAttempts has a script with many slow calls: each starts an attempt
// that gets further, so this is not a conflict.
func TestSlowOutsideCallsDoNotCountAsAttempts(t *testing.T) {
	const calls = 7
	h := newHouse(t, run.Options{Lock: 5 * time.Millisecond, MaxAttempts: 2})
	h.slow = 200 * time.Millisecond
	o, err := h.script(t.Context(), func(ctx context.Context, a *run.Attempt) (run.Return, error) {
		for n := range calls {
			if _, err := call(ctx, a, add, `{"by":1}`); err != nil {
				return run.Return{}, err
			}
			if _, err := call(ctx, a, send, fmt.Sprintf(`{"n":%d}`, n)); err != nil {
				return run.Return{}, err
			}
		}
		return run.Return{}, nil
	})
	require.NoError(t, err)
	require.Equal(t, calls+1, o.Attempts)
	require.EqualValues(t, calls, h.slowN.Load(), "each is made once")
	require.Equal(t, calls, h.store.value["default"])
}

// TestChangingOutsideCallsAreBounded has a script that makes another call at the same position in every
// attempt, and so makes no progress.
func TestChangingOutsideCallsAreBounded(t *testing.T) {
	h := newHouse(t, run.Options{Lock: 5 * time.Millisecond, MaxAttempts: 3})
	h.slow = 200 * time.Millisecond
	o, err := h.script(t.Context(), func(ctx context.Context, a *run.Attempt) (run.Return, error) {
		if _, err := call(ctx, a, add, `{"by":1}`); err != nil {
			return run.Return{}, err
		}
		_, err := call(ctx, a, send, fmt.Sprintf(`{"n":%d}`, a.Number()))
		return run.Return{}, err
	})
	require.Equal(t, fault.Conflict, fault.CodeOf(err))
	require.Equal(t, 4, o.Attempts, "the first made a call that no other had made there")
	require.False(t, o.Committed)
	require.Len(t, o.OutsideEffects, 4)
}

func TestOutsideEffectOfAFailedRunIsListed(t *testing.T) {
	h := newHouse(t, run.Options{})
	o, err := h.script(t.Context(), func(ctx context.Context, a *run.Attempt) (run.Return, error) {
		_, err := call(ctx, a, send, `{}`)
		require.NoError(t, err)
		return run.Return{}, errors.New("boom")
	})
	require.Equal(t, fault.Internal, fault.CodeOf(err))
	require.Len(t, o.OutsideEffects, 1)
	require.Equal(t, "world.send", o.OutsideEffects[0].ToolName)
}

func TestDryRun(t *testing.T) {
	h := newHouse(t, run.Options{})
	h.spec = run.Spec{DryRun: true}
	o, err := h.script(t.Context(), func(ctx context.Context, a *run.Attempt) (run.Return, error) {
		_, err := call(ctx, a, send, `{}`)
		require.Equal(t, fault.DryRunBlocked, fault.CodeOf(err))
		_, err = call(ctx, a, add, `{"by":1}`)
		require.NoError(t, err)
		got, err := call(ctx, a, read, `{}`)
		require.Equal(t, "1", string(got))
		return run.Return{}, err
	})
	require.NoError(t, err)
	require.False(t, o.Committed)
	require.Len(t, o.Changes, 1)
	require.Empty(t, o.OutsideEffects)
	require.Zero(t, h.store.value["default"])
}

func TestQuotaEndsTheRunEvenWhenCaught(t *testing.T) {
	h := newHouse(t, run.Options{})
	h.spec = run.Spec{Atomic: true, MaxCalls: 2}
	o, err := h.script(t.Context(), func(ctx context.Context, a *run.Attempt) (run.Return, error) {
		for n := range 5 {
			if _, err := call(ctx, a, add, `{"by":1}`); err != nil {
				require.GreaterOrEqual(t, n, 2)
				require.True(t, run.Ends(err))
			}
		}
		return run.Return{}, nil
	})
	require.Equal(t, fault.SDKCallsExceeded, fault.CodeOf(err))
	require.Zero(t, h.store.value["default"])
	require.Equal(t, 2, o.SDKCalls)
	require.Len(t, o.Calls, 2)
}

func TestNonAtomicRun(t *testing.T) {
	h := newHouse(t, run.Options{})
	h.spec = run.Spec{Atomic: false}
	o, err := h.script(t.Context(), func(ctx context.Context, a *run.Attempt) (run.Return, error) {
		_, err := call(ctx, a, add, `{"by":2}`)
		require.NoError(t, err)
		_, err = call(ctx, a, add, `{"by":-1}`)
		require.Error(t, err)
		return run.Return{}, fault.New(fault.JavaScriptError, "late")
	})
	require.Equal(t, fault.JavaScriptError, fault.CodeOf(err))
	require.True(t, o.Committed, "what was committed stays, and the outcome says so")
	require.Len(t, o.Changes, 1)
	require.Equal(t, 2, h.store.value["default"])
	require.Equal(t, 1, h.store.receipts[0].Sequence)
}

func TestCrossSet(t *testing.T) {
	h := newHouse(t, run.Options{})
	_, err := h.script(t.Context(), func(ctx context.Context, a *run.Attempt) (run.Return, error) {
		_, err := call(ctx, a, add, `{"by":1}`)
		require.NoError(t, err)
		_, err = call(ctx, a, read, `{"set":"other"}`)
		require.NoError(t, err, "reading another set is fine")
		_, err = call(ctx, a, add, `{"by":1,"set":"other"}`)
		return run.Return{}, err
	})
	require.Equal(t, fault.CrossSet, fault.CodeOf(err))
	require.Empty(t, h.store.value)
}

func TestRefusals(t *testing.T) {
	h := newHouse(t, run.Options{})
	narrow := auth.Principal{Subject: "n", Scopes: []string{"counter"}, Sets: []string{"default"}}
	none := auth.Principal{Subject: "x", Sets: []string{auth.All}}
	cases := map[string]struct {
		as    auth.Principal
		id    catalog.ID
		input string
		want  fault.Code
	}{
		"unknown operation":      {auth.Local(), catalog.EntityID("Counter", "fly"), `{}`, fault.ToolNotFound},
		"missing scope":          {none, read, `{}`, fault.Forbidden},
		"set of somebody else":   {narrow, read, `{"set":"tenant-b"}`, fault.UnknownSet},
		"wrong type":             {auth.Local(), add, `{"by":"x"}`, fault.InvalidPayload},
		"unknown field":          {auth.Local(), add, `{"bi":1}`, fault.InvalidPayload},
		"not an object":          {auth.Local(), add, `[]`, fault.InvalidPayload},
		"a number of a gigabyte": {auth.Local(), add, `{"by":1e-999999999}`, fault.InvalidPayload},
		"an endless number":      {auth.Local(), add, `{"by":` + strings.Repeat("9", 5000) + `}`, fault.InvalidPayload},
		"not JSON":               {auth.Local(), add, `{`, fault.InvalidPayload},
		"panic":                  {auth.Local(), catalog.PluginID("world", "panic"), `{}`, fault.Internal},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			view := h.view.Snapshot().View(c.as, exposure.Full, false)
			_, _, err := h.engine.Invoke(t.Context(), run.Request{View: view, Principal: c.as, ID: c.id, Input: json.RawMessage(c.input)})
			require.Equal(t, c.want, fault.CodeOf(err))
			require.NotContains(t, err.Error(), "secret")
			require.NotEmpty(t, fault.From(err).Hint)
		})
	}
	_, _, err := h.engine.Invoke(t.Context(), run.Request{View: h.view, Principal: auth.Local(), ID: add, Input: json.RawMessage(`{"by":"x","no":1}`)})
	require.Equal(t, []fault.Detail{
		{Path: "/by", Message: "must be integer, not string", Expected: "integer", Received: "string"},
		{Path: "/no", Message: `there is no "no" here`},
	}, sorted(fault.From(err).Details), "everything that is wrong, at once")
}

func sorted(details any) []fault.Detail {
	list := details.([]fault.Detail)
	slices.SortFunc(list, func(a, b fault.Detail) int { return strings.Compare(a.Path, b.Path) })
	return list
}

func TestOnlyNarrowsARun(t *testing.T) {
	h := newHouse(t, run.Options{})
	h.spec = run.Spec{Atomic: true, Only: []string{"plugin:world"}}
	_, err := h.script(t.Context(), func(ctx context.Context, a *run.Attempt) (run.Return, error) {
		_, err := call(ctx, a, send, `{}`)
		require.NoError(t, err)
		_, err = call(ctx, a, read, `{}`)
		return run.Return{}, err
	})
	require.Equal(t, fault.ToolNotFound, fault.CodeOf(err))
	require.ErrorContains(t, err, "`only` excludes")
}

func TestCancelRollsBack(t *testing.T) {
	h := newHouse(t, run.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	o, err := h.script(ctx, func(ctx context.Context, a *run.Attempt) (run.Return, error) {
		_, err := call(ctx, a, add, `{"by":1}`)
		require.NoError(t, err)
		cancel()
		return run.Return{}, nil
	})
	require.Equal(t, fault.Cancelled, fault.CodeOf(err))
	require.False(t, o.Committed)
	require.Zero(t, h.store.value["default"])
}

func TestBeforeCommit(t *testing.T) {
	h := newHouse(t, run.Options{})
	ctx := run.WithBeforeCommit(t.Context(), func(ret run.Return, o *run.Outcome) error {
		require.Equal(t, `"big"`, string(ret.Result))
		require.Len(t, o.Changes, 1)
		return fault.New(fault.ResultTooLarge, "")
	})
	o, err := h.script(ctx, func(ctx context.Context, a *run.Attempt) (run.Return, error) {
		_, err := call(ctx, a, add, `{"by":1}`)
		return run.Return{Result: json.RawMessage(`"big"`)}, err
	})
	require.Equal(t, fault.ResultTooLarge, fault.CodeOf(err))
	require.False(t, o.Committed)
	require.Empty(t, o.Changes)
	require.Zero(t, h.store.value["default"])
}

func TestNoUpdateIsLost(t *testing.T) {
	h := newHouse(t, run.Options{MaxAttempts: 1000})
	h.body = func(ctx context.Context, a *run.Attempt) (run.Return, error) {
		if _, err := call(ctx, a, read, `{}`); err != nil {
			return run.Return{}, err
		}
		_, err := call(ctx, a, add, `{"by":1}`)
		return run.Return{}, err
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 25 {
				if _, err := h.again(t.Context(), h.body); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	require.Equal(t, 200, h.store.value["default"])
}

func TestAfterCommit(t *testing.T) {
	h := newHouse(t, run.Options{})
	for _, dry := range []bool{true, false} {
		h.spec = run.Spec{Atomic: true, DryRun: dry}
		var sent int
		h.body = func(ctx context.Context, a *run.Attempt) (run.Return, error) {
			_, err := call(ctx, a, add, `{"by":1}`)
			return run.Return{}, err
		}
		inner := h.view.Snapshot().Operation(add).Handler
		op := *h.view.Snapshot().Operation(add)
		op.Handler = func(ctx context.Context, c catalog.Call) (json.RawMessage, error) {
			run.AfterCommit(ctx, func(context.Context) { sent++ })
			return inner(ctx, c)
		}
		s, err := catalog.NewSnapshot(catalog.Offer{Operations: []*catalog.Operation{&op, h.view.Snapshot().Operation(catalog.CodeID("koan", "execute"))}})
		require.NoError(t, err)
		_, _, err = h.engine.Invoke(t.Context(), run.Request{View: s.View(auth.Local(), exposure.Full, false), Principal: auth.Local(), ID: catalog.CodeID("koan", "execute")})
		require.NoError(t, err)
		require.NoError(t, h.engine.WaitAfterCommit(t.Context()))
		require.Equal(t, map[bool]int{true: 0, false: 1}[dry], sent)
	}
}

// What a call leaves for after the commit is dropped with the call; the others' functions follow their
// commit, in order, even if the script fails after its calls have committed.
func TestAfterCommitOfCalls(t *testing.T) {
	for _, test := range []struct {
		name   string
		atomic bool
		fails  bool
		want   []string
	}{
		{"atomic", true, false, []string{"first", "third"}},
		{"atomic, and the script fails", true, true, nil},
		{"by call", false, false, []string{"first", "third"}},
		{"by call, and the script fails", false, true, []string{"first", "third"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := newHouse(t, run.Options{})
			h.spec = run.Spec{Atomic: test.atomic}
			op := *h.view.Snapshot().Operation(add)
			var called []string
			op.Handler = func(ctx context.Context, c catalog.Call) (json.RawMessage, error) {
				return json.RawMessage(`1`), run.Within(ctx, h.store, "default", true, func(ctx context.Context, _ store.Tx) error {
					name := []string{"", "first", "second", "third"}[by(c)]
					run.AfterCommit(ctx, func(context.Context) { called = append(called, name) })
					if name == "second" {
						return fault.New(fault.InvalidPayload, "refused")
					}
					return nil
				})
			}
			h.body = func(ctx context.Context, a *run.Attempt) (run.Return, error) {
				for _, in := range []string{`{"by":1}`, `{"by":2}`, `{"by":3}`} {
					_, _ = call(ctx, a, add, in) // the script catches the error
				}
				if test.fails {
					return run.Return{}, fault.New(fault.ExecutionError, "the script fails")
				}
				return run.Return{}, nil
			}
			s, err := catalog.NewSnapshot(catalog.Offer{Operations: []*catalog.Operation{&op, h.view.Snapshot().Operation(catalog.CodeID("koan", "execute"))}})
			require.NoError(t, err)
			_, _, err = h.engine.Invoke(t.Context(), run.Request{View: s.View(auth.Local(), exposure.Full, false), Principal: auth.Local(), ID: catalog.CodeID("koan", "execute")})
			require.Equal(t, test.fails, err != nil)
			require.NoError(t, h.engine.WaitAfterCommit(t.Context()))
			require.Equal(t, test.want, called)
		})
	}
}

func by(c catalog.Call) int {
	var in struct{ By int }
	_ = json.Unmarshal(c.Input(), &in)
	return in.By
}
