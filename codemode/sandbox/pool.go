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
)

var errClosed = errors.New("sandbox: closed")

const (
	// calm is how long nobody may have missed a ready worker before the pool keeps one
	// less.
	calm = 30 * time.Second
	// poolGrowth is how many ready workers per core the pool keeps at most, unless
	// Options.PoolSize is more.
	poolGrowth = 4
)

// pool keeps workers that are ready. What becomes ready goes first to the jobs
// that wait. It keeps more of them ready when jobs find none, and fewer again
// after a while; it never starts more than a few at once, since each needs a core.
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
	starting int
	leaving  int // workers that had their job and are not reaped yet
	all      map[*process]bool
	changed  chan struct{} // closed and replaced when idle grows, a start fails or a worker is reaped
	failed   error         // of the last start
	starts   sync.WaitGroup
}

// waiter is a job without a worker.
type waiter struct {
	got chan spawned // has room for one
	// modest leaves the last idle worker to others.
	modest bool
}

type spawnRequest struct {
	hurried bool
	reply   chan spawned
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
	first, err := p.start(false)
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
			w, err := launch(p.program, p.layers, r.hurried, ground)
			r.reply <- spawned{w, err}
		case <-p.done:
			return // every worker is dead by now
		}
	}
}

// offer puts a ready worker into the pool, and fills it.
func (p *pool) offer(w *process) {
	p.mu.Lock()
	p.idle = append(p.idle, w)
	p.mu.Unlock()
	p.refill()
}

// start gives a worker that is ready; a hurried one is so sooner (worker.Args).
func (p *pool) start(hurried bool) (*process, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, errClosed
	}
	p.starts.Add(1) // close waits for it
	p.mu.Unlock()
	defer p.starts.Done()
	r := spawnRequest{hurried, make(chan spawned, 1)}
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
	if err := s.p.await(p.opts.StartTimeout, likely); err != nil {
		p.forget(s.p)
		return nil, err
	}
	return s.p, nil
}

// take gives a worker for one job; the caller ends it with discard. A modest job
// leaves the last idle one to others.
func (p *pool) take(ctx context.Context, modest bool) (*process, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, errClosed
	}
	w := &waiter{got: make(chan spawned, 1), modest: modest}
	p.waiters = append(p.waiters, w)
	p.handOut()
	if len(w.got) == 0 && !modest {
		p.missed()
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
// for one; the caller ends it with discard.
func (p *pool) takeIdle() *process {
	p.mu.Lock()
	var w *process
	if !p.closed && len(p.waiters) == 0 {
		w = p.next()
	}
	p.mu.Unlock()
	p.refillIfShort()
	return w
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
		first := slices.IndexFunc(p.waiters, func(w *waiter) bool { return !w.modest || len(p.idle) > 1 })
		if first < 0 {
			return
		}
		w := p.next()
		if w == nil {
			return
		}
		p.answer(first, spawned{w, nil})
	}
}

func (p *pool) answer(i int, s spawned) {
	p.waiters[i].got <- s
	p.waiters = slices.Delete(p.waiters, i, i+1)
}

// missed makes the pool larger: a job found no worker.
func (p *pool) missed() {
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

// refillIfShort is refill where somebody waits, or the next one would.
func (p *pool) refillIfShort() {
	p.mu.Lock()
	short := len(p.waiters) > 0 || len(p.idle) == 0
	p.mu.Unlock()
	if short {
		p.refill()
	}
}

// refill starts what the pool lacks and returns at once.
func (p *pool) refill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	lack := p.target + len(p.waiters) - len(p.idle) - p.starting
	for range min(lack, runtime.NumCPU()+1-p.starting) {
		p.starting++
		go p.startOne(len(p.waiters) > 0)
	}
}

// startOne starts a worker for whoever waits, or to be idle.
func (p *pool) startOne(hurried bool) {
	w, err := p.start(hurried)
	p.mu.Lock()
	p.starting--
	p.failed = err
	switch {
	case err == nil && p.closed:
		go w.end(killedClose)
	case err == nil:
		p.idle = append(p.idle, w)
		p.handOut()
		p.trim()
	case len(p.waiters) > 0:
		p.answer(0, spawned{nil, err})
	}
	p.tell()
	more := err == nil || len(p.waiters) > 0
	p.mu.Unlock()
	if more {
		p.refill()
	}
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
