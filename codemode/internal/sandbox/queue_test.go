package sandbox

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

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
	return &queueTest{q: newQueue(places, length, places), held: map[string][]*ticket{}}
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
		q := newQueue(1, 100, 1)
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

// No more jobs begin at once than there are cores, whoever waits gets its turn when the time of those is
// over, and nobody waits for another caller's many jobs.
func TestFewBeginAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &queueTest{q: newQueue(16, 100, 2), held: map[string][]*ticket{}}
		began := func() []string {
			synctest.Wait()
			l.mu.Lock()
			defer l.mu.Unlock()
			order := l.order
			l.order = nil
			return order
		}
		for range 10 {
			l.enter(t.Context(), "a")
		}
		require.Equal(t, []string{"a", "a"}, began())
		for _, caller := range []string{"b", "c", "d"} {
			l.enter(t.Context(), caller)
		}
		require.Equal(t, []string{"b", "c"}, began(), "at once, as far as it goes")
		l.leave("b")
		require.Equal(t, []string{"d"}, began(), "it has no job yet")
		l.q.rest(l.held["c"][0])
		l.q.rest(l.held["d"][0])
		require.Empty(t, began(), "two of them still compute")
		l.q.rest(l.held["a"][0])
		require.Equal(t, []string{"a"}, began())
		l.leave("a")
		require.Empty(t, began(), "the other two compute")
		time.Sleep(headStart)
		require.Equal(t, []string{"a", "a"}, began())
		time.Sleep(headStart / 2)
		require.Empty(t, began())
		time.Sleep(headStart / 2)
		require.Equal(t, []string{"a", "a"}, began())
		for len(l.held["a"]) > 0 {
			l.leave("a")
		}
		l.leave("c")
		l.leave("d")
		require.Len(t, began(), 3)
		for len(l.held["a"]) > 0 {
			l.leave("a")
		}
		time.Sleep(time.Second)
		require.Empty(t, began())
		require.Zero(t, l.q.running)
		require.Empty(t, l.q.starting)
		require.Empty(t, l.q.byCaller)
	})
}

// A job that waits for something outside takes nobody's place, and computes again without waiting for others.
func TestPlacesAreGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newQueueTest(2, 64)
		for _, caller := range []string{"a", "b", "c", "d", "e"} {
			l.enter(t.Context(), caller)
		}
		time.Sleep(headStart)
		synctest.Wait()
		require.Equal(t, []string{"a", "b"}, l.order)
		a, b := l.held["a"][0], l.held["b"][0]
		l.q.rest(a)
		synctest.Wait()
		require.Equal(t, []string{"a", "b", "c"}, l.order)
		l.q.resume(a) // beside b and c
		require.Equal(t, 3, l.q.running)
		l.q.rest(b)
		synctest.Wait()
		require.Len(t, l.order, 3, "two compute")
		l.q.resume(a) // an action that it has started
		l.q.rest(a)
		require.Equal(t, 2, l.q.running, "the action computes in its place")
		l.q.rest(a)
		synctest.Wait()
		require.Equal(t, []string{"a", "b", "c", "d"}, l.order)
		l.leave("a")
		l.leave("b")
		require.Len(t, l.order, 4, "they had no place")
		l.leave("c")
		require.Equal(t, []string{"a", "b", "c", "d", "e"}, l.order)
		l.leave("d")
		l.leave("e")
		require.Zero(t, l.q.running+l.q.begun+len(l.q.byCaller)+len(l.q.starting))
	})
}

// So many wait for something outside, and no more: each has a process. One caller never fills them all.
func TestJobsThatWaitOutsideAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newQueueTest(1, 64)
		for range 40 {
			l.enter(t.Context(), "flood")
			for _, ticket := range l.held["flood"] {
				if ticket.active > 0 {
					l.q.rest(ticket)
				}
			}
			synctest.Wait()
		}
		require.Len(t, l.held["flood"], 1+leastOutside-(1+leastOutside)/8)
		for n := range 9 {
			l.enter(t.Context(), "other")
			if n < 4 {
				l.q.rest(l.held["other"][n])
			}
		}
		require.Len(t, l.held["other"], 4)
		l.leave("other")
		require.Equal(t, 1+leastOutside, len(l.held["flood"])+len(l.held["other"]), "the next one begins")
	})
}
