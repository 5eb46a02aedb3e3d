package sandbox

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
)

// line enters jobs, and tells in which order they got their places.
type line struct {
	q     *queue
	mu    sync.Mutex
	order []string
	held  map[string][]*ticket
}

func newLine(places, length int) *line {
	return &line{q: newQueue(places, length), held: map[string][]*ticket{}}
}

func (l *line) enter(ctx context.Context, caller string) {
	go func() {
		t, err := l.q.enter(ctx, caller, nil)
		l.mu.Lock()
		defer l.mu.Unlock()
		if err != nil {
			l.order = append(l.order, caller+": "+string(fault.CodeOf(err)))
			return
		}
		l.order = append(l.order, caller)
		l.held[caller] = append(l.held[caller], t)
	}()
	synctest.Wait()
}

func (l *line) leave(caller string) {
	l.mu.Lock()
	first := l.held[caller][0]
	l.held[caller] = l.held[caller][1:]
	l.mu.Unlock()
	l.q.leave(first)
	synctest.Wait()
}

func TestTheQueueIsFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(2, 100)
		for range 50 {
			l.enter(t.Context(), "flood")
		}
		require.Equal(t, []string{"flood", "flood"}, l.order, "alone, a caller may have all places")
		for range 2 {
			l.enter(t.Context(), "a")
		}
		l.enter(t.Context(), "b")
		l.order = nil
		for range 2 {
			l.leave("flood")
		}
		require.Equal(t, []string{"a", "b"}, l.order, "who has nothing running is next")
		l.order = nil
		l.leave("a")
		require.Equal(t, []string{"flood"}, l.order, "of those with nothing running, whose last turn is longest ago")
		l.leave("b")
		require.Equal(t, []string{"flood", "a"}, l.order)
		require.True(t, l.q.rivals("flood"))
		for len(l.held) > 0 {
			for caller, held := range l.held {
				if len(held) > 0 {
					l.leave(caller)
				} else {
					delete(l.held, caller)
				}
			}
		}
		require.Zero(t, l.q.running)
		require.Empty(t, l.q.waiting)
		time.Sleep(rivalry + time.Second)
		require.False(t, l.q.rivals("flood"), "everybody has been away")
		require.Empty(t, l.q.known)
	})
}

func TestWhoHasMoreThanAFairPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cores := runtime.NumCPU()
		l := newLine(8*cores, 100)
		for range cores + 2 {
			l.enter(t.Context(), "flood")
		}
		require.False(t, l.q.excess("flood"), "alone, a caller may have all")
		l.enter(t.Context(), "other")
		require.True(t, l.q.excess("flood"))
		require.False(t, l.q.excess("other"))
		require.False(t, l.q.excess("unknown"))
		for range cores {
			l.enter(t.Context(), "other")
		}
		require.False(t, l.q.excess("other"), "somebody has more")
		l.leave("flood")
		require.True(t, l.q.excess("flood"))
		require.True(t, l.q.excess("other"), "nobody has more")
		l.leave("flood")
		require.False(t, l.q.excess("flood"), "a core for each")
	})
}

func TestTheLastPlacesAreForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(16, 64)
		for range 30 {
			l.enter(t.Context(), "flood")
		}
		require.Len(t, l.order, 14)
		l.order = nil
		l.enter(t.Context(), "other")
		require.Equal(t, []string{"other"}, l.order, "at once")
	})
}

func TestTheQueueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(1, 3)
		ctx, cancel := context.WithCancel(t.Context())
		for range 4 {
			l.enter(ctx, "flood")
		}
		l.order = nil
		l.enter(ctx, "flood")
		require.Equal(t, []string{"flood: queue_overloaded"}, l.order)
		l.enter(t.Context(), "other")
		l.order = nil
		cancel()
		synctest.Wait()
		require.Equal(t, []string{"flood: cancelled", "flood: cancelled", "flood: cancelled"}, l.order)
		l.leave("flood")
		require.Equal(t, "other", l.order[3])
		require.Empty(t, l.q.waiting)
	})
}
