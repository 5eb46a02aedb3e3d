package sandbox

import (
	"context"
	"errors"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"
)

var errClosed = errors.New("sandbox: closed")

// maxScripts is how many scripts a worker runs before it is replaced.
const maxScripts = 200

// owner is whose worker it is: a caller with one View of the catalog. The limits are
// part of it, since a worker cannot get more from the kernel than it once had.
type owner struct {
	principal string
	view      string
	memory    int64
	cpuMs     int
}

// pool has the workers: those that are ready and nobody's yet, those that run a
// script, and those that rest between two scripts of their owner. What has run a
// caller's script never comes to another caller.
type pool struct {
	opts    Options
	program program
	layers  []string
	spawn   chan spawnRequest
	done    chan struct{} // ends the spawner
	over    chan struct{} // it has ended

	mu       sync.Mutex
	closed   bool
	spare    []*process // nobody's yet
	resting  []*process // the one that has rested longest is first
	waiters  []*waiter  // jobs without a worker, in the order in which they came
	starting int
	alive    int // workers that are starting, or that nobody has begun to end
	leaving  int // workers that are being ended and not reaped yet
	all      map[*process]bool
	changed  chan struct{} // closed and replaced when spare grows, a start fails or a worker is reaped
	failed   error         // of the last start
	starts   sync.WaitGroup
	round    *time.Timer // looks after those that rest; nil while none does
}

// waiter is a job without a worker.
type waiter struct {
	owner owner
	got   chan spawned // has room for one
}

type spawnRequest struct{ reply chan spawned }

type spawned struct {
	p   *process
	err error
}

// openPool makes a pool and its first worker, which is not in it yet.
func openPool(opts Options, program program, layers []string) (*pool, *process, error) {
	p := &pool{
		opts: opts, program: program, layers: layers, spawn: make(chan spawnRequest), done: make(chan struct{}), over: make(chan struct{}),
		all: map[*process]bool{}, changed: make(chan struct{}),
	}
	prepared := make(chan error)
	go p.spawner(prepared)
	if err := <-prepared; err != nil {
		return nil, nil, err
	}
	p.alive++
	first, err := p.start()
	if err != nil {
		p.close()
		return nil, nil, err
	}
	return p, first, nil
}

// spawner starts all workers from one thread that lives as long as the pool: a
// worker dies with the thread that started it, and is confined as that one is.
func (p *pool) spawner(prepared chan<- error) {
	defer close(p.over)
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
			w, err := launch(p.program, p.layers, ground, p.opts.Log)
			if errors.Is(err, errLauncher) {
				w, err = launch(p.program, p.layers, ground, p.opts.Log)
			}
			r.reply <- spawned{w, err}
		case <-p.done:
			return // every worker is dead by now
		}
	}
}

// start returns a new worker that is ready.
func (p *pool) start() (*process, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, errClosed
	}
	p.starts.Add(1) // close waits for it
	p.mu.Unlock()
	defer p.starts.Done()
	r := spawnRequest{make(chan spawned, 1)}
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
	if err := s.p.await(p.opts.StartTimeout); err != nil {
		p.mu.Lock()
		delete(p.all, s.p)
		p.mu.Unlock()
		return nil, err
	}
	return s.p, nil
}

// offer puts the first worker into the pool, and fills it.
func (p *pool) offer(w *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spare = append(p.spare, w)
	p.refill()
}

// take returns a worker of an owner for one job: one that rests, else one that nobody
// has, else a new one. It is given back with release.
func (p *pool) take(ctx context.Context, of owner) (*process, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, errClosed
	}
	w := p.rested(of)
	if w == nil {
		w = p.unowned(of)
	}
	if w != nil {
		p.refill()
		p.mu.Unlock()
		return w, nil
	}
	waits := &waiter{owner: of, got: make(chan spawned, 1)}
	p.waiters = append(p.waiters, waits)
	p.refill()
	p.mu.Unlock()
	select {
	case s := <-waits.got:
		return s.p, s.err
	case <-ctx.Done():
	}
	p.mu.Lock()
	p.waiters = slices.DeleteFunc(p.waiters, func(w *waiter) bool { return w == waits })
	p.mu.Unlock()
	select {
	case s := <-waits.got:
		if s.p != nil {
			p.release(s.p, true)
		}
	default:
	}
	return nil, ctx.Err()
}

// rested takes the owner's worker that has rested least, nil if there is none.
func (p *pool) rested(of owner) *process {
	for i := len(p.resting) - 1; i >= 0; i-- {
		w := p.resting[i]
		if w.owner != of {
			continue
		}
		p.resting = slices.Delete(p.resting, i, i+1)
		if !p.dismissGone(w) {
			return w
		}
	}
	return nil
}

// unowned makes a worker that nobody has the owner's, nil if there is none.
func (p *pool) unowned(of owner) *process {
	for len(p.spare) > 0 {
		w := p.spare[0]
		p.spare = p.spare[1:]
		if !p.dismissGone(w) {
			w.owner = of
			return w
		}
	}
	return nil
}

// release takes a worker back whose job is over, for the next job of its owner: or ends
// it, where it is not sound, has run enough scripts, or has grown.
func (p *pool) release(w *process, sound bool) {
	sound = sound && !p.opts.Fresh && w.scripts < maxScripts && w.settle()
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.refill()
	if !sound || p.closed {
		p.dismiss(w)
		return
	}
	if i := slices.IndexFunc(p.waiters, func(o *waiter) bool { return o.owner == w.owner }); i >= 0 {
		p.answer(i, spawned{w, nil})
		return
	}
	w.rests = time.Now()
	p.resting = append(p.resting, w)
	if len(p.resting) > maxResting() {
		p.evict()
	}
	p.attend()
}

func (p *pool) answer(i int, s spawned) {
	w := p.waiters[i]
	p.waiters = slices.Delete(p.waiters, i, i+1)
	w.got <- s
}

// evict ends the worker that has rested longest.
func (p *pool) evict() {
	w := p.resting[0]
	p.resting = p.resting[1:]
	p.dismiss(w)
}

// refill, whose caller holds the lock, starts what the pool lacks. It never starts
// more than a few at once, since each needs a core.
func (p *pool) refill() {
	if p.closed {
		return
	}
	p.spare = slices.DeleteFunc(p.spare, p.dismissGone)
	lack := min(p.opts.PoolSize-len(p.spare)+len(p.waiters), runtime.NumCPU()+1)
	for p.starting < lack {
		if len(p.resting) > 0 && p.alive >= p.opts.MaxWorkers+p.opts.PoolSize {
			p.evict() // those that rest make room
		}
		p.starting++
		p.alive++
		go p.startOne()
	}
}

// startOne starts a worker for the job that waits longest, or to be nobody's yet.
func (p *pool) startOne() {
	w, err := p.start()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.starting--
	p.failed = err
	switch {
	case err != nil:
		p.alive--
		if len(p.waiters) > 0 {
			p.answer(0, spawned{nil, err})
		}
	case len(p.waiters) > 0:
		w.owner = p.waiters[0].owner
		p.answer(0, spawned{w, nil})
	case len(p.spare) < p.opts.PoolSize && !p.closed:
		p.spare = append(p.spare, w)
	default:
		p.dismiss(w)
	}
	p.tell()
	if err == nil || len(p.waiters) > 0 {
		p.refill()
	}
}

// dismiss, whose caller holds the lock, ends a worker. Neither the kill, which takes a
// while, nor the reaping keeps anybody; close waits for it.
func (p *pool) dismiss(w *process) {
	p.alive--
	p.leaving++
	go func() {
		w.end(killedDone)
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.all, w)
		p.leaving--
		p.tell()
	}()
}

// dismissGone ends a worker that somebody else has killed, and reports whether it did.
func (p *pool) dismissGone(w *process) bool {
	if !w.gone() {
		return false
	}
	p.dismiss(w)
	return true
}

// tell wakes who waits for the pool to change.
func (p *pool) tell() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// warm waits until there are enough workers that are nobody's, and those that were
// ended are reaped.
func (p *pool) warm(ctx context.Context) error {
	for {
		p.mu.Lock()
		p.refill()
		full, changed, failed, closed := len(p.spare) >= p.opts.PoolSize && p.leaving == 0, p.changed, p.failed, p.closed
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
	p.spare, p.resting = nil, nil
	for len(p.waiters) > 0 {
		p.answer(0, spawned{nil, errClosed})
	}
	if p.round != nil {
		p.round.Stop()
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
	<-p.over
}
