package sqlite

import (
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/koan-go/koan/framework/fault"
)

// queue is a lock whose waiters are served in the order of their arrival, with a
// bound on their number and on their patience.
type queue struct {
	max      int           // waiters
	patience time.Duration // of one waiter

	mu      sync.Mutex
	held    bool
	waiters list.List // of chan struct{}
}

// try takes the lock if nobody holds it or waits for it.
func (q *queue) try() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.held {
		return false
	}
	q.held = true
	return true
}

// lock waits for its turn. It ends in set_busy where too many wait or it takes
// too long, and with the context.
func (q *queue) lock(ctx context.Context, set string) error {
	q.mu.Lock()
	if !q.held {
		q.held = true
		q.mu.Unlock()
		return nil
	}
	if q.waiters.Len() >= q.max {
		q.mu.Unlock()
		return fault.Newf(fault.SetBusy, "%d writers are already waiting for the set %q", q.max, set)
	}
	turn := make(chan struct{})
	e := q.waiters.PushBack(turn)
	q.mu.Unlock()
	timer := time.NewTimer(q.patience)
	defer timer.Stop()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		return q.leave(e, ctx.Err())
	case <-timer.C:
		return q.leave(e, fault.Newf(fault.SetBusy, "the set %q was not free for writing within %s", set, q.patience))
	}
}

// leave gives up a place in the queue, or the turn that came in that moment.
func (q *queue) leave(e *list.Element, err error) error {
	q.mu.Lock()
	select {
	case <-e.Value.(chan struct{}):
		q.mu.Unlock()
		q.unlock()
	default:
		q.waiters.Remove(e)
		q.mu.Unlock()
	}
	return err
}

// unlock hands the lock to the next in line.
func (q *queue) unlock() {
	q.mu.Lock()
	defer q.mu.Unlock()
	next := q.waiters.Front()
	if next == nil {
		q.held = false
		return
	}
	q.waiters.Remove(next)
	close(next.Value.(chan struct{}))
}
