package sandbox

import (
	"context"
	"slices"
	"sync"

	"github.com/koan-go/koan/framework/fault"
)

// queue decides whose job runs next when there are more jobs than may run at once: callers
// (Job.Principal) take turns, and the jobs of one caller run in order of arrival. One caller
// never gets all slots if there are eight or more.
type queue struct {
	slots          int // jobs that may run at once
	slotsPerCaller int // slots that one caller may hold
	maxPerCaller   int // waiting jobs of one caller, at most
	maxTotal       int // waiting jobs of all callers, at most

	mu       sync.Mutex
	running  int
	waiting  int
	byCaller map[string]*callerQueue // callers with running or waiting jobs
	turns    []*callerQueue          // callers with waiting jobs, the next one first
}

// callerQueue holds the jobs of one caller.
type callerQueue struct {
	name    string
	slots   int       // held by running jobs
	waiting []*ticket // the first is next
}

// ticket is one job's request for a slot.
type ticket struct {
	caller *callerQueue
	ready  chan struct{} // closed when the slot is granted
}

// fullCallers is how many callers can fill their queues before the jobs of every caller
// are rejected.
const fullCallers = 64

func newQueue(slots, perCaller int) *queue {
	return &queue{slots: slots, slotsPerCaller: slots - slots/8, maxPerCaller: perCaller, maxTotal: fullCallers * perCaller, byCaller: map[string]*callerQueue{}}
}

// enter waits for a slot; the caller returns it with leave. If too many jobs wait already,
// enter returns queue_overloaded at once. If ctx ends first it returns ctx.Err(), and if
// closing is closed first, errClosing.
func (q *queue) enter(ctx context.Context, caller string, closing <-chan struct{}) (*ticket, error) {
	t, err := q.join(caller)
	if err != nil {
		return nil, err
	}
	err = errClosing
	select {
	case <-t.ready:
		return t, nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-closing:
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.withdraw(t)
	return nil, err
}

// join appends a job to its caller's queue.
func (q *queue) join(caller string) (*ticket, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	c := q.byCaller[caller]
	if c == nil {
		c = &callerQueue{name: caller}
	}
	if n := len(c.waiting); n >= q.maxPerCaller || q.waiting >= q.maxTotal {
		return nil, fault.Newf(fault.QueueOverloaded, "%d scripts of this caller wait for a worker, at most %d may (sandbox.queueMax)", n, q.maxPerCaller).
			WithDetails(map[string]any{"queue": map[string]any{"max": q.maxPerCaller, "size": n}})
	}
	q.byCaller[caller] = c
	t := &ticket{caller: c, ready: make(chan struct{})}
	if c.waiting = append(c.waiting, t); len(c.waiting) == 1 {
		q.turns = append(q.turns, c)
	}
	q.waiting++
	q.grant()
	return t, nil
}

// withdraw removes a job that no longer waits. The caller holds the lock.
func (q *queue) withdraw(t *ticket) {
	i := slices.Index(t.caller.waiting, t)
	if i < 0 { // it got its slot meanwhile
		q.returnSlot(t)
		return
	}
	q.waiting--
	if t.caller.waiting = slices.Delete(t.caller.waiting, i, i+1); len(t.caller.waiting) == 0 {
		q.turns = slices.DeleteFunc(q.turns, func(c *callerQueue) bool { return c == t.caller })
	}
	q.dropIfEmpty(t.caller)
}

// leave returns a job's slot.
func (q *queue) leave(t *ticket) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.returnSlot(t)
}

func (q *queue) returnSlot(t *ticket) {
	q.running--
	t.caller.slots--
	q.grant()
	q.dropIfEmpty(t.caller)
}

// dropIfEmpty removes a caller without jobs.
func (q *queue) dropIfEmpty(c *callerQueue) {
	if c.slots+len(c.waiting) == 0 {
		delete(q.byCaller, c.name)
	}
}

// grant assigns free slots to callers in turn.
func (q *queue) grant() {
	for q.running < q.slots {
		i := slices.IndexFunc(q.turns, func(c *callerQueue) bool { return c.slots < q.slotsPerCaller })
		if i < 0 {
			return
		}
		c := q.turns[i]
		q.turns = slices.Delete(q.turns, i, i+1)
		t := c.waiting[0]
		if c.waiting = c.waiting[1:]; len(c.waiting) > 0 {
			q.turns = append(q.turns, c)
		}
		q.waiting--
		q.running++
		c.slots++
		close(t.ready)
	}
}
