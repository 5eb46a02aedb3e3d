package sandbox

import (
	"context"
	"errors"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/koan-go/koan/codemode/worker"
)

var errClosed = errors.New("sandbox: closed")

const (
	// calm is how long no job may have found the last ready worker, or none, before the
	// pool keeps one less.
	calm = 30 * time.Second
	// poolGrowth is how many ready workers per core the pool keeps at most, unless
	// Options.PoolSize is more.
	poolGrowth = 4
)

// pool keeps workers that are ready. What becomes ready goes first to the jobs
// that wait. It keeps more of them ready when jobs find none, and fewer again
// after a while; it never starts more than a few at once, since each needs a core.
// A modest job gets a worker of its own that yields from its start on, since most of
// what a short job costs is that start, and nobody else takes that one.
type pool struct {
	opts    Options
	program program
	layers  []string
	spawn   chan spawnRequest
	done    chan struct{}
	likely  atomic.Pointer[[]byte] // the bindings of the last job: most jobs of an app have the same

	mu       sync.Mutex
	closed   bool
	idle     []*process
	target   int // how many are to be idle
	shrink   *time.Timer
	waiters  []*waiter // jobs without a worker, in the order in which they came
	starting starting
	leaving  int       // workers that had their job and are not reaped yet
	fresh    int       // workers whose job, not a modest one, has just begun
	held     time.Time // since when starts wait for those; zero: none does
	all      map[*process]bool
	changed  chan struct{} // closed and replaced when idle grows, a start fails or a worker is reaped
	failed   error         // of the last start
	starts   sync.WaitGroup
}

// waiter is a job without a worker.
type waiter struct {
	got    chan spawned // has room for one
	modest bool
}

type spawnRequest struct {
	start
	reply chan spawned
}

type spawned struct {
	p   *process
	err error
}

// openPool makes a pool and its first worker, which is not in it yet.
func openPool(opts Options, program program, layers []string) (*pool, *process, error) {
	p := &pool{
		opts: opts, program: program, layers: layers, spawn: make(chan spawnRequest), done: make(chan struct{}),
		all: map[*process]bool{}, changed: make(chan struct{}), target: opts.PoolSize,
	}
	prepared := make(chan error)
	go p.spawner(prepared)
	if err := <-prepared; err != nil {
		return nil, nil, err
	}
	first, err := p.start(start{})
	if err != nil {
		p.close()
		return nil, nil, err
	}
	return p, first, nil
}

// spawner starts all workers from one thread that lives as long as the pool: a
// worker dies with the thread that started it, and is confined as that one is.
func (p *pool) spawner(prepared chan<- error) {
	runtime.LockOSThread() // for good: the thread ends with the goroutine
	ground, err := prepare(p.program, p.layers)
	prepared <- err
	if err != nil {
		return
	}
	defer ground.close()
	for {
		select {
		case r := <-p.spawn:
			r.reply <- p.launch(r.start, ground)
		case <-p.done:
			return // every worker is dead by now
		}
	}
}

// launch starts a worker on the spawner's thread.
func (p *pool) launch(how start, on *ground) (s spawned) {
	if !how.modest {
		s.p, s.err = launch(p.program, p.layers, how.hurried, on)
		return s
	}
	leavingCore(func() { s.p, s.err = launch(p.program, p.layers, how.hurried, on) })
	if s.err == nil {
		s.p.yield()
	}
	return s
}

// offer puts a ready worker into the pool, and fills it.
func (p *pool) offer(w *process) {
	p.mu.Lock()
	p.idle = append(p.idle, w)
	p.mu.Unlock()
	p.refill()
}

// start gives a worker that is ready.
func (p *pool) start(how start) (*process, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, errClosed
	}
	p.starts.Add(1) // close waits for it
	p.mu.Unlock()
	defer p.starts.Done()
	r := spawnRequest{how, make(chan spawned, 1)}
	p.spawn <- r
	s := <-r.reply
	if s.err != nil {
		return nil, s.err
	}
	p.mu.Lock()
	closed := p.closed
	p.all[s.p] = true
	p.mu.Unlock()
	if closed {
		s.p.end(killedClose)
		return nil, errClosed
	}
	var likely []byte
	if last := p.likely.Load(); last != nil {
		likely = *last
	}
	limit := p.opts.StartTimeout
	if how.modest {
		limit *= worker.Starved
	}
	if err := s.p.await(limit, likely); err != nil {
		p.forget(s.p)
		return nil, err
	}
	return s.p, nil
}

// take gives a worker for one job; the caller ends it with discard. That of a modest
// job yields.
func (p *pool) take(ctx context.Context, modest bool) (*process, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, errClosed
	}
	w := &waiter{got: make(chan spawned, 1), modest: modest}
	p.waiters = append(p.waiters, w)
	p.handOut()
	if !modest {
		p.shortage()
	}
	p.mu.Unlock()
	p.refillIfShort()
	select {
	case s := <-w.got:
		return s.p, s.err
	case <-ctx.Done():
	}
	p.mu.Lock()
	if i := slices.Index(p.waiters, w); i >= 0 {
		p.waiters = slices.Delete(p.waiters, i, i+1)
	}
	p.mu.Unlock()
	select {
	case s := <-w.got:
		if s.p != nil {
			p.discard(s.p)
		}
	default:
	}
	return nil, ctx.Err()
}

// takeIdle gives a worker that is ready now, nil if there is none or somebody waits
// for such a one; the caller ends it with discard.
func (p *pool) takeIdle() *process {
	p.mu.Lock()
	var w *process
	if !p.closed && p.waiting(false) < 0 {
		if w = p.next(); w != nil {
			p.begins(w)
			p.shortage()
		}
	}
	p.mu.Unlock()
	p.refillIfShort()
	return w
}

// begins notes that an idle worker gets a job.
func (p *pool) begins(w *process) {
	w.fresh = true
	p.fresh++
}

// settled notes that a worker's job goes on for long, and replaces the worker.
func (p *pool) settled(w *process) {
	p.mu.Lock()
	p.unfresh(w)
	p.mu.Unlock()
	p.refill()
}

func (p *pool) unfresh(w *process) {
	if w.fresh {
		w.fresh = false
		p.fresh--
	}
}

// next takes the idle worker that became ready first, nil if there is none.
func (p *pool) next() *process {
	for len(p.idle) > 0 {
		w := p.idle[0]
		p.idle = p.idle[1:]
		if !w.gone() {
			return w
		}
		delete(p.all, w)
		w.release()
	}
	return nil
}

// handOut gives idle workers to the jobs that wait.
func (p *pool) handOut() {
	for len(p.waiters) > 0 {
		first := p.waiting(false)
		if first < 0 {
			return
		}
		w := p.next()
		if w == nil {
			return
		}
		p.begins(w)
		p.answer(first, spawned{w, nil})
	}
}

// waiting gives the place of the first job that waits for such a worker, less than 0 if
// there is none.
func (p *pool) waiting(modest bool) int {
	return slices.IndexFunc(p.waiters, func(w *waiter) bool { return w.modest == modest })
}

func (p *pool) answer(i int, s spawned) {
	p.waiters[i].got <- s
	p.waiters = slices.Delete(p.waiters, i, i+1)
}

// shortage makes the pool larger where a job has found no worker, or the next one would.
func (p *pool) shortage() {
	if len(p.idle) > 0 {
		return
	}
	p.target = min(p.target+1, max(p.opts.PoolSize, poolGrowth*runtime.NumCPU()))
	if p.shrink != nil {
		p.shrink.Stop()
	}
	p.shrink = time.AfterFunc(calm, p.calmDown)
}

// calmDown makes the pool smaller, one worker at a time.
func (p *pool) calmDown() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.target <= p.opts.PoolSize {
		return
	}
	p.target--
	p.shrink = time.AfterFunc(calm, p.calmDown)
	p.trim()
}

// trim ends idle workers that are more than the pool is to keep: they were started
// for jobs that did not wait until they were ready.
func (p *pool) trim() {
	for len(p.idle) > p.target {
		w := p.idle[0]
		p.idle = p.idle[1:]
		p.dismiss(w)
	}
}

// discard ends a worker that had its job, and sees to the next. Neither the kill,
// which takes a while, nor the start keeps the run from its end.
func (p *pool) discard(w *process) {
	p.mu.Lock()
	p.dismiss(w)
	p.mu.Unlock()
	p.refillIfShort()
}

// dismiss, whose caller holds the lock, ends a worker, and when it is reaped, sees to the next; close waits for it.
func (p *pool) dismiss(w *process) {
	p.unfresh(w)
	p.leaving++
	go func() {
		w.end(killedDone)
		p.mu.Lock()
		delete(p.all, w)
		p.leaving--
		p.tell()
		p.mu.Unlock()
		p.refill()
	}()
}

// tell wakes who waits for the pool to change.
func (p *pool) tell() {
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *pool) forget(w *process) {
	p.mu.Lock()
	delete(p.all, w)
	p.mu.Unlock()
}

// warm waits until the pool is full and those that had their job are reaped.
func (p *pool) warm(ctx context.Context) error {
	p.refill()
	for {
		p.mu.Lock()
		full, changed, failed, closed := len(p.idle) >= p.opts.PoolSize && p.leaving == 0, p.changed, p.failed, p.closed
		p.mu.Unlock()
		switch {
		case full:
			return nil
		case closed:
			return errClosed
		case failed != nil:
			return failed
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// close kills every worker and waits until all are reaped.
func (p *pool) close() {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	p.closed = true
	p.idle = nil
	for len(p.waiters) > 0 {
		p.answer(0, spawned{nil, errClosed})
	}
	if p.shrink != nil {
		p.shrink.Stop()
	}
	p.tell()
	for w := range p.all {
		w.kill(killedClose)
	}
	p.mu.Unlock()
	p.starts.Wait()
	p.mu.Lock()
	all := slices.Collect(maps.Keys(p.all))
	p.mu.Unlock()
	for _, w := range all {
		select {
		case <-w.exited:
			w.release()
		case <-time.After(10 * time.Second): // a process in an uninterruptible sleep
		}
	}
	close(p.done)
}
