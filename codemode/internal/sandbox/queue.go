package sandbox

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/koan-go/koan/framework/fault"
)

// queue decides whose job runs next when there are more jobs than may run at once: callers
// (Job.Principal) take turns, and the jobs of one caller run in order of arrival. One caller
// never gets all slots if there are eight or more.
//
// A job gives its slot back while it waits for something outside, such as a person, and takes it again without waiting
// for others: it may hold what they wait for, as a lock of the database.
//
// Most jobs compute for a moment only, and that moment is the shorter the fewer compete for the cores: 16
// scripts of 100 calls at once take twice the computing time of 16 in a row. So no more jobs begin at once
// than there are cores, but for callers of whom none runs. A job counts for that until it has had its head
// start, waits for something outside, or ends; after that it shares the cores with all others.
type queue struct {
	abreast        int // jobs in their head starts, at most, and at most twice as many with those of other callers
	slots          int // jobs that may run at once
	slotsPerCaller int // slots that one caller may hold
	most           int // jobs that may have begun and not ended, waiting for something outside or not
	mostPerCaller  int // those of one caller
	maxPerCaller   int // waiting jobs of one caller, at most
	maxTotal       int // waiting jobs of all callers, at most

	mu       sync.Mutex
	running  int // jobs that have a slot
	begun    int // jobs that have begun and not ended
	waiting  int
	byCaller map[string]*callerQueue // callers with running or waiting jobs
	turns    []*callerQueue          // callers with waiting jobs, the next one first
	starting []*ticket               // jobs in their head starts, the first one first
	timer    *time.Timer             // grants slots when the first head start is over; nil while nobody waits for that
}

// headStart is for how long nobody else begins on a job's core.
const headStart = 20 * time.Millisecond

// callerQueue holds the jobs of one caller.
type callerQueue struct {
	name    string
	slots   int // held by running jobs
	begun   int
	waiting []*ticket // the first is next
}

// ticket is one job's request for a slot.
type ticket struct {
	caller  *callerQueue
	ready   chan struct{} // closed when the slot is granted
	granted time.Time
	active  int // parts of the job that compute: the script, and actions that it has started; the slot is theirs
}

// fullCallers is how many callers can fill their queues before the jobs of every caller
// are rejected.
const fullCallers = 64

// leastOutside is how many jobs may wait for something outside at the same time, at least.
const leastOutside = 32

func newQueue(slots, perCaller, abreast int) *queue {
	most := slots + max(leastOutside, 4*slots)
	return &queue{
		abreast: abreast, slots: slots, slotsPerCaller: slots - slots/8, most: most, mostPerCaller: most - most/8,
		maxPerCaller: perCaller, maxTotal: fullCallers * perCaller, byCaller: map[string]*callerQueue{},
	}
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

// leave ends a job, with its slot if it has one.
func (q *queue) leave(t *ticket) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.returnSlot(t)
}

func (q *queue) returnSlot(t *ticket) {
	if t.active > 0 {
		q.giveBack(t)
	}
	t.active = 0
	q.begun--
	t.caller.begun--
	q.grant()
	q.dropIfEmpty(t.caller)
}

func (q *queue) giveBack(t *ticket) {
	q.running--
	t.caller.slots--
	if i := slices.Index(q.starting, t); i >= 0 {
		q.starting = slices.Delete(q.starting, i, i+1)
	}
}

// rest says that a part of a job waits for something outside; the last one gives the slot back.
func (q *queue) rest(t *ticket) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if t.active--; t.active == 0 {
		q.giveBack(t)
		q.grant()
	}
}

// resume says that a part of a job computes, again or from now on; the first one takes the slot.
func (q *queue) resume(t *ticket) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if t.active++; t.active == 1 {
		q.running++
		t.caller.slots++
	}
}

// dropIfEmpty removes a caller without jobs.
func (q *queue) dropIfEmpty(c *callerQueue) {
	if c.begun+len(c.waiting) == 0 {
		delete(q.byCaller, c.name)
	}
}

// grant assigns free slots to callers in turn.
func (q *queue) grant() {
	if q.waiting == 0 {
		return
	}
	now := time.Now()
	q.starting = slices.DeleteFunc(q.starting, func(t *ticket) bool { return now.Sub(t.granted) >= headStart })
	for q.running < q.slots && q.begun < q.most {
		i := slices.IndexFunc(q.turns, q.mayBegin)
		if i < 0 {
			break
		}
		c := q.turns[i]
		q.turns = slices.Delete(q.turns, i, i+1)
		t := c.waiting[0]
		if c.waiting = c.waiting[1:]; len(c.waiting) > 0 {
			q.turns = append(q.turns, c)
		}
		q.waiting--
		q.running++
		q.begun++
		c.slots++
		c.begun++
		t.granted, t.active = now, 1
		q.starting = append(q.starting, t)
		close(t.ready)
	}
	if q.waiting > 0 && q.running < q.slots && q.begun < q.most && len(q.starting) > 0 && q.timer == nil {
		q.timer = time.AfterFunc(headStart-now.Sub(q.starting[0].granted), func() {
			q.mu.Lock()
			defer q.mu.Unlock()
			q.timer = nil
			q.grant()
		})
	}
}

// mayBegin reports whether a caller's next job may begin.
func (q *queue) mayBegin(c *callerQueue) bool {
	n := len(q.starting)
	return c.slots < q.slotsPerCaller && c.begun < q.mostPerCaller && (n < q.abreast || c.slots == 0 && n < 2*q.abreast)
}
