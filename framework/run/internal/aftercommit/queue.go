// Package aftercommit calls the functions that runs leave for the time after their commit.
//
// What belongs here: their queue, its bounds, and what happens to those that fail. Not here:
// which functions a run has, or anything that its outcome depends on.
package aftercommit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"
)

// Options configure a Queue.
type Options struct {
	Each       time.Duration // when the context of a function ends; 0 is 30 s
	Concurrent int           // runs whose functions are called at the same time; 0 is 16
	Waiting    int           // runs whose functions may wait; 0 is 1,024
	Log        *slog.Logger
	// Count is notified of each function that was called, or dropped, with its outcome.
	Count func(ctx context.Context, outcome string)
}

// The outcomes of a function.
const (
	OK       = "ok"
	Failed   = "error"
	Panicked = "panic"
	Dropped  = "dropped" // it was not called
)

// Func is one function; its error is logged.
type Func func(context.Context) error

// Queue calls functions after commits: those of one run in their order, those of several
// runs side by side. Each is called at most once. It is safe for concurrent use.
type Queue struct {
	opts Options
	ctx  context.Context // of all functions, ended by Stop
	end  context.CancelFunc

	mu      sync.Mutex
	waiting []job
	working int
	stopped bool
	idle    chan struct{} // closed when nothing waits and nothing works; nil if nobody waits for that
}

type job struct {
	ctx context.Context
	run string
	fns []Func
}

// New returns a queue, which needs no goroutine while it is empty.
func New(o Options) *Queue {
	if o.Each == 0 {
		o.Each = 30 * time.Second
	}
	if o.Concurrent == 0 {
		o.Concurrent = 16
	}
	if o.Waiting == 0 {
		o.Waiting = 1024
	}
	q := &Queue{opts: o}
	q.ctx, q.end = context.WithCancel(context.Background())
	return q
}

// Add queues the functions of a run. It never waits: if there is no room, or the queue was
// stopped, they are dropped, logged and counted. The functions get the values of ctx.
func (q *Queue) Add(ctx context.Context, run string, fns []Func) {
	if len(fns) == 0 {
		return
	}
	j := job{context.WithoutCancel(ctx), run, fns}
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.stopped:
		go q.drop(j, "the app is stopping")
	case q.working < q.opts.Concurrent:
		q.working++
		go q.work(j)
	case len(q.waiting) < q.opts.Waiting:
		q.waiting = append(q.waiting, j)
	default:
		go q.drop(j, "too many are waiting")
	}
}

// work calls the functions of runs until none are left.
func (q *Queue) work(j job) {
	defer q.leave() // also where a function ends its goroutine
	for more := true; more; j, more = q.next() {
		for _, fn := range j.fns {
			q.call(j, fn)
		}
	}
}

func (q *Queue) next() (j job, more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		return job{}, false
	}
	j, q.waiting = q.waiting[0], q.waiting[1:]
	return j, true
}

// leave ends a worker, and starts another one for what was added meanwhile.
func (q *Queue) leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) > 0 {
		j := q.waiting[0]
		q.waiting = q.waiting[1:]
		go q.work(j)
		return
	}
	if q.working--; q.working == 0 && q.idle != nil {
		close(q.idle)
		q.idle = nil
	}
}

func (q *Queue) call(j job, fn Func) {
	ctx, cancel := context.WithTimeout(j.ctx, q.opts.Each)
	defer cancel()
	defer context.AfterFunc(q.ctx, cancel)()
	outcome, err := Panicked, errors.New("it ended its goroutine")
	var stack string
	defer func() {
		if p := recover(); p != nil {
			err, stack = fmt.Errorf("panic: %v", p), string(debug.Stack())
		}
		q.opts.Count(j.ctx, outcome)
		if outcome != OK {
			q.opts.Log.ErrorContext(j.ctx, "a function after a commit failed; the run stays committed", "run", j.run, "outcome", outcome, "error", err, "stack", stack)
		}
	}()
	if err = fn(ctx); err != nil {
		outcome = Failed
		return
	}
	outcome = OK
}

func (q *Queue) drop(j job, why string) {
	q.opts.Log.ErrorContext(j.ctx, "functions after a commit were not called: "+why, "run", j.run, "functions", len(j.fns))
	for range j.fns {
		q.opts.Count(j.ctx, Dropped)
	}
}

// Wait waits until all functions that were added have returned, or ctx is over.
func (q *Queue) Wait(ctx context.Context) error {
	q.mu.Lock()
	if q.working == 0 {
		q.mu.Unlock()
		return nil
	}
	if q.idle == nil {
		q.idle = make(chan struct{})
	}
	idle := q.idle
	q.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Stop accepts no more functions and waits for those that were added, until ctx is over. Then it
// ends the contexts of those that still work, and drops those that wait.
func (q *Queue) Stop(ctx context.Context) {
	q.mu.Lock()
	q.stopped = true
	q.mu.Unlock()
	if q.Wait(ctx) == nil {
		q.end()
		return
	}
	q.mu.Lock()
	left := q.waiting
	q.waiting = nil
	q.mu.Unlock()
	q.end()
	for _, j := range left {
		q.drop(j, "the app is stopping")
	}
}
