package sandbox

import (
	"context"
	"slices"
	"sync"

	"github.com/koan-go/koan/framework/fault"
)

// queue decides whose job runs next when more come than may run at once: callers
// (Job.Principal) take turns, and the jobs of one caller run in the order in which
// they came. The last places are never all one caller's.
type queue struct {
	places  int // jobs that run at once
	each    int // places that one caller may have
	length  int // jobs of one caller that may wait
	crowded int // jobs that may wait, of all callers

	mu      sync.Mutex
	running int
	waiting int
	lines   map[string]*line // of the callers with a job that runs or waits
	turns   []*line          // those with a job that waits, the next one first
}

// line is one caller's jobs.
type line struct {
	caller  string
	held    int       // places
	waiting []*ticket // the first is next
}

// ticket is one job's claim to a place.
type ticket struct {
	line  *line
	ready chan struct{} // closed with the place granted
}

// callers is how many callers may have filled their part of the queue before
// everybody is turned away.
const callers = 64

func newQueue(places, length int) *queue {
	return &queue{places: places, each: places - places/8, length: length, crowded: callers * length, lines: map[string]*line{}}
}

// enter waits for a place, which is given back with leave. Where too many wait it
// fails at once with queue_overloaded; else with what ended ctx, or with errClosing.
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

// join puts a job at the end of its caller's line.
func (q *queue) join(caller string) (*ticket, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lines[caller]
	if l == nil {
		l = &line{caller: caller}
	}
	if n := len(l.waiting); n >= q.length || q.waiting >= q.crowded {
		return nil, fault.Newf(fault.QueueOverloaded, "%d scripts of this caller wait for a worker, at most %d may (sandbox.queueMax)", n, q.length).
			WithDetails(map[string]any{"queue": map[string]any{"max": q.length, "size": n}})
	}
	q.lines[caller] = l
	t := &ticket{line: l, ready: make(chan struct{})}
	if l.waiting = append(l.waiting, t); len(l.waiting) == 1 {
		q.turns = append(q.turns, l)
	}
	q.waiting++
	q.grant()
	return t, nil
}

// withdraw takes back the claim of a job whose caller has gone.
func (q *queue) withdraw(t *ticket) {
	i := slices.Index(t.line.waiting, t)
	if i < 0 { // it got its place meanwhile
		q.free(t)
		return
	}
	q.waiting--
	if t.line.waiting = slices.Delete(t.line.waiting, i, i+1); len(t.line.waiting) == 0 {
		q.turns = slices.DeleteFunc(q.turns, func(l *line) bool { return l == t.line })
	}
	q.forget(t.line)
}

// leave returns a place to the queue.
func (q *queue) leave(t *ticket) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.free(t)
}

func (q *queue) free(t *ticket) {
	q.running--
	t.line.held--
	q.grant()
	q.forget(t.line)
}

// forget drops the line of a caller without jobs.
func (q *queue) forget(l *line) {
	if l.held+len(l.waiting) == 0 {
		delete(q.lines, l.caller)
	}
}

// grant assigns the free places to callers in turn.
func (q *queue) grant() {
	for q.running < q.places {
		i := slices.IndexFunc(q.turns, func(l *line) bool { return l.held < q.each })
		if i < 0 {
			return
		}
		l := q.turns[i]
		q.turns = slices.Delete(q.turns, i, i+1)
		t := l.waiting[0]
		if l.waiting = l.waiting[1:]; len(l.waiting) > 0 {
			q.turns = append(q.turns, l)
		}
		q.waiting--
		q.running++
		l.held++
		close(t.ready)
	}
}
