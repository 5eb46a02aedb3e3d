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
	waiters list.List // of waiter
}

// waiter waits for the lock.
type waiter struct {
	turn  chan *group // gets what the lock comes with
	short bool        // it may join a group
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

// lock waits for its turn, which may come with a group for who is short. It ends in set_busy where too
// many wait or it takes too long, and with the context.
func (q *queue) lock(ctx context.Context, set string, short bool) (*group, error) {
	q.mu.Lock()
	if !q.held {
		q.held = true
		q.mu.Unlock()
		return nil, nil
	}
	if q.waiters.Len() >= q.max {
		q.mu.Unlock()
		return nil, fault.Newf(fault.SetBusy, "%d writers are already waiting for the set %q", q.max, set)
	}
	w := waiter{make(chan *group, 1), short}
	e := q.waiters.PushBack(w)
	q.mu.Unlock()
	timer := time.NewTimer(q.patience)
	defer timer.Stop()
	var err error
	select {
	case g := <-w.turn:
		return g, nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-timer.C:
		err = fault.Newf(fault.SetBusy, "the set %q was not free for writing within %s", set, q.patience)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case g := <-w.turn: // it came in that moment
		return g, nil
	default:
		q.waiters.Remove(e)
		return nil, err
	}
}

// pass hands the lock to the next in line with a group. It returns false where nobody waits who may join
// one.
func (q *queue) pass(g *group) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	next := q.waiters.Front()
	if next == nil || !next.Value.(waiter).short {
		return false
	}
	q.waiters.Remove(next)
	next.Value.(waiter).turn <- g
	return true
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
	next.Value.(waiter).turn <- nil
}
