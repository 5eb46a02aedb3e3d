package sandbox

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/koan-go/koan/framework/fault"
)

// queue decides whose job runs next when more come than may run at once. Of the
// callers (Job.Principal) who wait, the one with the fewest jobs running is next,
// and of those the one whose last turn is longest ago; the jobs of one caller run
// in the order in which they came. The last places are never all one caller's.
type queue struct {
	places  int // jobs that run at once
	crowded int // jobs that may wait, of all callers
	each    int // places that one caller may have
	length  int // jobs of one caller that may wait

	mu      sync.Mutex
	running int
	turn    uint64
	waiting []*ticket // in the order in which they came
	known   map[string]*standing
}

// standing is what the queue knows of a caller, until it has been away for rivalry.
type standing struct {
	held, waits int
	turn        uint64 // of its last grant; 0: none yet
	seen        time.Time
}

// ticket is one job's claim to a place.
type ticket struct {
	caller string
	ready  chan struct{} // closed with the place granted
}

// callers is how many callers may have filled their part of the queue before
// everybody is turned away.
const callers = 64

// rivalry is how long a caller who was here counts as one who shares the machine,
// and is remembered.
const rivalry = 10 * time.Second

func newQueue(places, length int) *queue {
	return &queue{
		places: places, each: places - places/8, length: length, crowded: callers * length,
		known: map[string]*standing{},
	}
}

// enter waits for a place, which is given back with leave. Where too many wait it
// fails at once with queue_overloaded; else with what ended ctx, or with errClosing.
func (q *queue) enter(ctx context.Context, caller string, closing <-chan struct{}) (*ticket, error) {
	t := &ticket{caller: caller, ready: make(chan struct{})}
	q.mu.Lock()
	who := q.standing(caller)
	if n := who.waits; n >= q.length || len(q.waiting) >= q.crowded {
		q.mu.Unlock()
		return nil, fault.Newf(fault.QueueOverloaded, "%d scripts of this caller wait for a worker, at most %d may (sandbox.queueMax)", n, q.length).
			WithDetails(map[string]any{"queue": map[string]any{"max": q.length, "size": n}})
	}
	q.waiting = append(q.waiting, t)
	who.waits++
	q.grant()
	q.mu.Unlock()
	var err error = errClosing
	select {
	case <-t.ready:
		return t, nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-closing:
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(q.waiting, t); i >= 0 {
		q.drop(i)
	} else {
		q.free(t)
	}
	return nil, err
}

// enterIdle gives a place if nobody waits for one and there is a core for the job, else
// nil.
func (q *queue) enterIdle(caller string) *ticket {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) > 0 || q.running >= min(q.places, runtime.NumCPU()) {
		return nil
	}
	q.give(q.standing(caller))
	return &ticket{caller: caller}
}

// give gives a caller a place.
func (q *queue) give(who *standing) {
	q.running++
	q.turn++
	who.turn = q.turn
	who.held++
}

// leave gives a place back.
func (q *queue) leave(t *ticket) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.free(t)
}

// crowd is how many jobs run now.
func (q *queue) crowd() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.running
}

// rivals tells whether anybody but the caller has been here lately.
func (q *queue) rivals(caller string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.forget()
	_, here := q.known[caller]
	return len(q.known) > 1 || len(q.known) == 1 && !here
}

// excess tells whether a caller who is not alone has more jobs running than there are
// cores, and nobody has more.
func (q *queue) excess(caller string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	own := q.known[caller]
	if own == nil || own.held <= runtime.NumCPU() {
		return false
	}
	q.forget()
	most := 0
	for _, who := range q.known {
		most = max(most, who.held)
	}
	return len(q.known) > 1 && own.held == most
}

func (q *queue) standing(caller string) *standing {
	q.forget()
	who := q.known[caller]
	if who == nil {
		who = &standing{}
		q.known[caller] = who
	}
	who.seen = time.Now()
	return who
}

// forget drops who has been away.
func (q *queue) forget() {
	for caller, who := range q.known {
		if who.held+who.waits == 0 && time.Since(who.seen) > rivalry {
			delete(q.known, caller)
		}
	}
}

func (q *queue) free(t *ticket) {
	q.running--
	who := q.standing(t.caller)
	who.held--
	q.grant()
}

func (q *queue) drop(i int) {
	q.known[q.waiting[i].caller].waits--
	q.waiting = slices.Delete(q.waiting, i, i+1)
}

// grant gives the free places away.
func (q *queue) grant() {
	for q.running < q.places {
		next := -1
		var first *standing
		for i, t := range q.waiting {
			who := q.known[t.caller]
			if who.held < q.each && (next < 0 || who.held < first.held || who.held == first.held && who.turn < first.turn) {
				next, first = i, who
			}
		}
		if next < 0 {
			return
		}
		t := q.waiting[next]
		q.drop(next)
		q.give(first)
		close(t.ready)
	}
}
