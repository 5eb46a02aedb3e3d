package aftercommit_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/run/internal/aftercommit"
)

// books are what a queue has logged and counted.
type books struct {
	mu    sync.Mutex
	log   bytes.Buffer
	count map[string]int
}

func (b *books) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.log.Write(p)
}

func queue(o aftercommit.Options) (*aftercommit.Queue, *books) {
	b := &books{count: map[string]int{}}
	o.Log = slog.New(slog.NewTextHandler(b, nil))
	o.Count = func(_ context.Context, outcome string) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.count[outcome]++
	}
	return aftercommit.New(o), b
}

func TestFunctionsOfARunAreCalledInOrderWhateverBecomesOfThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, b := queue(aftercommit.Options{Concurrent: 1})
		var called []int
		q.Add(t.Context(), "r1", []aftercommit.Func{
			func(context.Context) error { called = append(called, 1); return nil },
			func(context.Context) error { called = append(called, 2); panic("no mail") },
			func(context.Context) error { called = append(called, 3); return errors.New("no server") },
			func(context.Context) error { called = append(called, 4); runtime.Goexit(); return nil },
		})
		q.Add(t.Context(), "r2", []aftercommit.Func{func(context.Context) error { called = append(called, 5); return nil }})
		require.NoError(t, q.Wait(t.Context()))
		require.Equal(t, []int{1, 2, 3, 4, 5}, called)
		require.Equal(t, map[string]int{aftercommit.OK: 2, aftercommit.Panicked: 2, aftercommit.Failed: 1}, b.count)
		require.Contains(t, b.log.String(), "no mail")
		require.Contains(t, b.log.String(), "queue_test.go", "the stack")
		require.Contains(t, b.log.String(), "no server")
		require.Contains(t, b.log.String(), "run=r1")
	})
}

func TestAddNeverWaitsAndDropsWhatHasNoRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, b := queue(aftercommit.Options{Concurrent: 2, Waiting: 3})
		release := make(chan struct{})
		for range 7 {
			q.Add(t.Context(), "r", []aftercommit.Func{func(context.Context) error { <-release; return nil }})
		}
		synctest.Wait()
		require.Equal(t, map[string]int{aftercommit.Dropped: 2}, b.count)
		close(release)
		require.NoError(t, q.Wait(t.Context()))
		require.Equal(t, map[string]int{aftercommit.Dropped: 2, aftercommit.OK: 5}, b.count)
	})
}

func TestStopWaitsUntilItsLimit(t *testing.T) {
	for name, limit := range map[string]time.Duration{"long": time.Hour, "short": time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q, b := queue(aftercommit.Options{Concurrent: 1, Each: 2 * time.Hour})
				mail := func(ctx context.Context) error {
					select {
					case <-time.After(time.Minute):
						return nil
					case <-ctx.Done():
						return ctx.Err()
					}
				}
				q.Add(t.Context(), "r1", []aftercommit.Func{mail})
				q.Add(t.Context(), "r2", []aftercommit.Func{mail})
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				q.Stop(ctx)
				synctest.Wait()
				want := map[string]int{aftercommit.OK: 2}
				if name == "short" {
					want = map[string]int{aftercommit.Failed: 1, aftercommit.Dropped: 1}
				}
				require.Equal(t, want, b.count)
				q.Add(t.Context(), "r3", []aftercommit.Func{mail})
				synctest.Wait()
				require.Equal(t, want[aftercommit.Dropped]+1, b.count[aftercommit.Dropped])
			})
		})
	}
}

func TestAFunctionHasItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, b := queue(aftercommit.Options{Each: time.Minute})
		began := time.Now()
		q.Add(t.Context(), "r", []aftercommit.Func{func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }})
		require.NoError(t, q.Wait(t.Context()))
		require.Equal(t, time.Minute, time.Since(began))
		require.Equal(t, map[string]int{aftercommit.Failed: 1}, b.count)
	})
}
