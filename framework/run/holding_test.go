package run_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
)

// limitOf returns the limit that a memory_exceeded names.
func limitOf(t *testing.T, err error) any {
	t.Helper()
	f := fault.From(err)
	require.Equal(t, fault.MemoryExceeded, f.Code, "%v", err)
	return f.Details.(map[string]any)["limit"]
}

func TestHoldEndsTheRun(t *testing.T) {
	h := newHouse(t, run.Options{MaxBytes: 1 << 20})
	o, err := h.script(t.Context(), func(ctx context.Context, a *run.Attempt) (run.Return, error) {
		_, err := call(ctx, a, add, `{"by":1}`)
		require.NoError(t, err)
		require.NoError(t, a.Hold(900<<10))
		require.Error(t, a.Hold(200<<10))
		_, err = call(ctx, a, add, `{"by":1}`) // whoever catches it gets no further
		require.True(t, run.Ends(err))
		return run.Return{}, nil
	})
	require.Equal(t, "host", limitOf(t, err))
	require.Equal(t, fault.Fix, fault.From(err).Retry)
	require.False(t, o.Committed)
	require.Zero(t, h.store.value["default"])
}

func TestReleaseMakesRoom(t *testing.T) {
	h := newHouse(t, run.Options{MaxBytes: 1 << 20})
	_, err := h.script(t.Context(), func(_ context.Context, a *run.Attempt) (run.Return, error) {
		for range 10 {
			room := a.Room()
			require.NoError(t, a.Hold(900<<10))
			require.Equal(t, room-900<<10, a.Room())
			a.Release(900 << 10)
		}
		return run.Return{}, nil
	})
	require.NoError(t, err)
}

// TestHeldBytesAreReleasedAfterAttempt also checks that the bytes of a run are released for others.
func TestHeldBytesAreReleasedAfterAttempt(t *testing.T) {
	h := newHouse(t, run.Options{MaxBytes: 1 << 20, MaxTotalBytes: 1 << 20})
	for range 3 {
		attempts := 0
		_, err := h.script(t.Context(), func(ctx context.Context, a *run.Attempt) (run.Return, error) {
			if attempts++; attempts == 1 { // somebody else is faster
				_, err := call(ctx, a, read, `{}`)
				require.NoError(t, err)
				h.store.version["default"]++
			}
			require.NoError(t, a.Hold(900<<10))
			_, err := call(ctx, a, add, `{"by":1}`)
			return run.Return{}, err
		})
		require.NoError(t, err)
		require.Equal(t, 2, attempts)
	}
}

func TestAllRunsShareOneBudget(t *testing.T) {
	h := newHouse(t, run.Options{MaxBytes: 1 << 20, MaxTotalBytes: 3 << 19})
	holds, release := make(chan struct{}), make(chan struct{})
	hold := func(wait bool) run.Body {
		return func(_ context.Context, a *run.Attempt) (run.Return, error) {
			if err := a.Hold(900 << 10); err != nil {
				return run.Return{}, err
			}
			if wait {
				close(holds)
				<-release
			}
			return run.Return{}, nil
		}
	}
	ended := make(chan error, 1)
	go func() {
		_, err := h.script(t.Context(), hold(true))
		ended <- err
	}()
	<-holds
	_, err := h.script(t.Context(), hold(false))
	require.Equal(t, "server", limitOf(t, err))
	require.Equal(t, fault.Safe, fault.From(err).Retry, "it is not the run's own doing")
	close(release)
	require.NoError(t, <-ended)
	_, err = h.script(t.Context(), hold(false))
	require.NoError(t, err)
}

func TestResultsOnTheTapeAreCounted(t *testing.T) {
	h := newHouse(t, run.Options{MaxBytes: 1 << 20})
	o, err := h.script(t.Context(), func(ctx context.Context, a *run.Attempt) (run.Return, error) {
		for {
			if _, err := call(ctx, a, fetch, `{"size":200000}`); err != nil {
				return run.Return{}, err
			}
		}
	})
	require.Equal(t, "host", limitOf(t, err))
	require.EqualValues(t, 6, h.slowN.Load())
	require.Len(t, o.OutsideEffects, 6, "what left the house is listed, kept or not")
}

// TestUnkeepableResultEndsLaterAttempts checks that no later attempt repeats a call whose effect has
// happened but whose result was too large to be kept.
func TestUnkeepableResultEndsLaterAttempts(t *testing.T) {
	h := newHouse(t, run.Options{MaxBytes: 1 << 20, Lock: time.Millisecond})
	_, err := h.script(t.Context(), func(ctx context.Context, a *run.Attempt) (run.Return, error) {
		if _, err := call(ctx, a, add, `{"by":1}`); err != nil {
			return run.Return{}, err
		}
		_, err := call(ctx, a, fetch, `{"size":2000000}`)
		return run.Return{}, err
	})
	require.Equal(t, "host", limitOf(t, err))
	require.EqualValues(t, 1, h.slowN.Load())
	require.Zero(t, h.store.value["default"])
}

// TestOutputsAreCountedBeforeTheyAreChecked has an output that takes more memory when it is decoded
// for its check than on the tape.
func TestOutputsAreCountedBeforeTheyAreChecked(t *testing.T) {
	h := newHouse(t, run.Options{MaxBytes: 1 << 20})
	for lists, fits := range map[int]bool{2_000: true, 100_000: false} {
		_, err := h.script(t.Context(), func(ctx context.Context, a *run.Attempt) (run.Return, error) {
			for range 3 { // nothing of it stays counted
				if _, err := call(ctx, a, fetch, fmt.Sprintf(`{"lists":%d}`, lists)); err != nil {
					return run.Return{}, err
				}
			}
			return run.Return{}, nil
		})
		if fits {
			require.NoError(t, err)
			continue
		}
		require.Equal(t, "host", limitOf(t, err))
	}
}

func TestInputsAreCounted(t *testing.T) {
	h := newHouse(t, run.Options{MaxBytes: 1 << 20})
	for name, c := range map[string]struct {
		input   string
		refused bool
	}{
		"long text":          {`{"by":1,"text":"` + strings.Repeat("a,[{", 150_000) + `"}`, false},
		"too long":           {`{"by":1,"text":"` + strings.Repeat("a", 900_000) + `"}`, true},
		"many lists":         {`{"by":1,"list":[` + strings.Repeat("[],", 20_000) + `0]}`, true},
		"many objects":       {`{"by":1,"list":[` + strings.Repeat("{},", 5_000) + `0]}`, true},
		"some objects":       {`{"by":1,"list":[` + strings.Repeat("{},", 1_000) + `0]}`, false},
		"quotes and slashes": {`{"by":1,"text":"` + strings.Repeat(`\\\",[{`, 50_000) + `"}`, false},
	} {
		_, err := h.script(t.Context(), func(ctx context.Context, a *run.Attempt) (run.Return, error) {
			_, err := call(ctx, a, fetch, c.input)
			require.False(t, run.Ends(err), "%s: a script may catch it", name)
			return run.Return{}, err
		})
		require.Equal(t, c.refused, fault.CodeOf(err) == fault.CallTooLarge, "%s: %v", name, err)
		_, _, err = h.engine.Invoke(t.Context(), run.Request{View: h.view, Principal: h.principal(), ID: fetch, Input: json.RawMessage(c.input)})
		require.Equal(t, c.refused, fault.CodeOf(err) == fault.CallTooLarge, "%s, by itself: %v", name, err)
	}
}
