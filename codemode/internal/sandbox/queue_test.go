package sandbox

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
)

// queueTest enters jobs into a queue and records the order in which they get their slots.
type queueTest struct {
	q     *queue
	mu    sync.Mutex
	order []string
	held  map[string][]*ticket
}

func newQueueTest(places, length int) *queueTest {
	return &queueTest{q: newQueue(places, length), held: map[string][]*ticket{}}
}

func (l *queueTest) enter(ctx context.Context, caller string) {
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

func (l *queueTest) leave(caller string) {
	l.mu.Lock()
	first := l.held[caller][0]
	l.held[caller] = l.held[caller][1:]
	l.mu.Unlock()
	l.q.leave(first)
	synctest.Wait()
}

func TestQueueServesCallersInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newQueueTest(2, 100)
		for range 50 {
			l.enter(t.Context(), "flood")
		}
		require.Equal(t, []string{"flood", "flood"}, l.order, "a single caller may take all slots")
		for range 2 {
			l.enter(t.Context(), "a")
		}
		l.enter(t.Context(), "b")
		l.order = nil
		for range 2 {
			l.leave("flood")
		}
		require.Equal(t, []string{"flood", "a"}, l.order)
		l.leave("a")
		l.leave("flood")
		require.Equal(t, []string{"flood", "a", "b", "flood"}, l.order)
		l.leave("b")
		l.leave("flood")
		require.Equal(t, []string{"flood", "a", "b", "flood", "a", "flood"}, l.order, "a caller waits for one job of each other caller at most")
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
		require.Zero(t, l.q.waiting)
		require.Empty(t, l.q.byCaller)
		require.Empty(t, l.q.turns)
	})
}

func TestQueueKeepsOrderOfOneCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(1, 100)
		first, err := q.enter(t.Context(), "a", nil)
		require.NoError(t, err)
		var mu sync.Mutex
		var order []int
		for i := range 5 {
			go func() {
				own, err := q.enter(t.Context(), "a", nil)
				if err == nil {
					mu.Lock()
					order = append(order, i)
					mu.Unlock()
					q.leave(own)
				}
			}()
			synctest.Wait()
		}
		q.leave(first)
		synctest.Wait()
		require.Equal(t, []int{0, 1, 2, 3, 4}, order)
	})
}

func TestOneCallerCannotTakeAllSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newQueueTest(16, 64)
		for range 30 {
			l.enter(t.Context(), "flood")
		}
		require.Len(t, l.order, 14)
		l.order = nil
		l.enter(t.Context(), "other")
		require.Equal(t, []string{"other"}, l.order, "at once")
	})
}

func TestQueueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newQueueTest(1, 3)
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
		require.Zero(t, l.q.waiting)
	})
}
