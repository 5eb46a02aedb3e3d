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

// owner identifies whose scripts a worker runs: those of a caller with one View of the
// catalog. The limits belong to it because the kernel's limits on a worker cannot be raised
// later.
type owner struct {
	principal string
	view      string
	memory    int64
	cpuMs     int
}

// pool holds the workers: the unassigned ones, the busy ones, and the ones that are idle
// between two scripts of their owner. A worker that has run a script of one owner never runs
// one of another.
type pool struct {
	opts Options
	spawning
	underway

	mu         sync.Mutex
	closed     bool
	unassigned []*process // ready, without an owner
	idle       []*process // the least recently used one first
	waiters    []*waiter  // jobs without a worker, in order of arrival
	starting   int
	alive      int // workers that are starting or running, without those in ending
	ending     int // workers that are being killed and not reaped yet
	all        map[*process]bool
	changed    chan struct{} // closed and replaced when a start ends or a worker is reaped (notify)
	startErr   error         // the error of the last start
	sweepTimer *time.Timer   // runs sweep; nil while no worker is idle
}

// spawning is how the pool starts workers: by one goroutine, with one program.
type spawning struct {
	program     program
	layers      []string
	spawn       chan spawnRequest
	done        chan struct{} // closed to end the spawner
	spawnerDone chan struct{} // closed when the spawner has returned
}

// waiter is a job without a worker.
type waiter struct {
	owner owner
	got   chan spawned // buffered
}

type spawnRequest struct{ reply chan spawned }

type spawned struct {
	p   *process
	err error
}

// openPool returns a pool and its first worker, which addFirst puts into it.
func openPool(opts Options, program program, layers []string) (*pool, *process, error) {
	p := &pool{
		opts: opts, spawning: spawning{program: program, layers: layers, spawn: make(chan spawnRequest), done: make(chan struct{}), spawnerDone: make(chan struct{})},
		all: map[*process]bool{}, changed: make(chan struct{}),
	}
	prepared := make(chan error)
	go p.runSpawner(prepared)
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

// runSpawner starts all workers from one thread that lives as long as the pool, because a
// worker dies with the thread that started it and inherits that thread's confinement.
func (p *pool) runSpawner(prepared chan<- error) {
	defer close(p.spawnerDone)
	runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
	spawner, err := newSpawner(p.program, p.layers, p.opts.Interpreter)
	prepared <- err
	if err != nil {
		return
	}
	defer spawner.close()
	for {
		select {
		case r := <-p.spawn:
			w, err := launch(p.program, p.layers, spawner, p.opts.Log)
			if errors.Is(err, errLauncher) {
				w, err = launch(p.program, p.layers, spawner, p.opts.Log)
			}
			r.reply <- spawned{w, err}
		case <-p.done:
			return // close has killed every worker
		}
	}
}

// start starts a worker and waits until it is ready.
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

// addFirst puts the first worker into the pool and starts the others.
func (p *pool) addFirst(w *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unassigned = append(p.unassigned, w)
	p.refill()
}

// take returns a worker for one job of an owner: an idle one of this owner, else an
// unassigned one, else a new one. The caller gives it back with release.
func (p *pool) take(ctx context.Context, of owner) (*process, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, errClosed
	}
	w, err := p.takeIdle(of), error(nil)
	if w == nil {
		w, err = p.takeLeaving(ctx, of)
	}
	if w == nil && err == nil && p.closed { // meanwhile
		err = errClosed
	}
	if w == nil && err == nil {
		w = p.takeUnassigned(of)
	}
	if w != nil || err != nil {
		p.refill()
		p.mu.Unlock()
		return w, err
	}
	own := &waiter{owner: of, got: make(chan spawned, 1)}
	p.waiters = append(p.waiters, own)
	p.refill()
	p.mu.Unlock()
	select {
	case s := <-own.got:
		return s.p, s.err
	case <-ctx.Done():
	}
	p.mu.Lock()
	p.waiters = slices.DeleteFunc(p.waiters, func(w *waiter) bool { return w == own })
	p.mu.Unlock()
	select {
	case s := <-own.got: // it was delivered meanwhile
		if s.p != nil {
			p.release(s.p, true)
		}
	default:
	}
	return nil, ctx.Err()
}

// takeIdle removes and returns the owner's most recently used idle worker, nil if there is
// none.
func (p *pool) takeIdle(of owner) *process {
	for i := len(p.idle) - 1; i >= 0; i-- {
		w := p.idle[i]
		if w.owner != of {
			continue
		}
		p.idle = slices.Delete(p.idle, i, i+1)
		if !p.discardExited(w) {
			return w
		}
	}
	return nil
}

// takeUnassigned assigns an unassigned worker to the owner and returns it, nil if there is
// none.
func (p *pool) takeUnassigned(of owner) *process {
	for len(p.unassigned) > 0 {
		w := p.unassigned[0]
		p.unassigned = p.unassigned[1:]
		if !p.discardExited(w) {
			w.owner = of
			return w
		}
	}
	return nil
}

// release takes a worker back after its job. The worker waits for the next job of its owner,
// or is discarded if it is not reusable, has run maxScripts, or holds too much memory.
func (p *pool) release(w *process, reusable bool) {
	reusable = reusable && !p.opts.Fresh && w.scripts < maxScripts
	if reusable && !w.forks() {
		reusable = w.checkReuse()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if reusable && !p.closed && w.forks() {
		p.leave(w)
		return
	}
	p.keep(w, reusable)
}

// keep hands a worker to a job of its owner that waits, or keeps it for the next one, or discards it if it is not
// reusable. The caller holds the lock.
func (p *pool) keep(w *process, reusable bool) {
	defer p.refill()
	if !reusable || p.closed {
		p.discard(w)
		return
	}
	if i := slices.IndexFunc(p.waiters, func(o *waiter) bool { return o.owner == w.owner }); i >= 0 {
		p.deliver(i, spawned{w, nil})
		return
	}
	w.idleSince = time.Now()
	p.idle = append(p.idle, w)
	if len(p.idle) > maxIdleWorkers() {
		p.evict()
	}
	p.scheduleSweep()
}

// deliver hands s to waiter i.
func (p *pool) deliver(i int, s spawned) {
	w := p.waiters[i]
	p.waiters = slices.Delete(p.waiters, i, i+1)
	w.got <- s
}

// evict discards the least recently used idle worker.
func (p *pool) evict() {
	w := p.idle[0]
	p.idle = p.idle[1:]
	p.discard(w)
}

// refill starts the workers that the pool lacks, at most one more at a time than there are
// cores, since each start keeps a core busy. The caller holds the lock.
func (p *pool) refill() {
	if p.closed {
		return
	}
	p.unassigned = slices.DeleteFunc(p.unassigned, p.discardExited)
	lack := min(p.opts.PoolSize-len(p.unassigned)+len(p.waiters), runtime.NumCPU()+1)
	for p.starting < lack {
		if len(p.idle) > 0 && p.alive >= p.opts.MaxWorkers+p.opts.PoolSize {
			p.evict() // make room
		}
		p.starting++
		p.alive++
		go p.startOne()
	}
}

// startOne starts a worker for the job that has waited longest, else as an unassigned one.
func (p *pool) startOne() {
	w, err := p.start()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.starting--
	p.startErr = err
	switch {
	case err != nil:
		p.alive--
		if len(p.waiters) > 0 {
			p.deliver(0, spawned{nil, err})
		}
	case len(p.waiters) > 0:
		w.owner = p.waiters[0].owner
		p.deliver(0, spawned{w, nil})
	case len(p.unassigned) < p.opts.PoolSize && !p.closed:
		p.unassigned = append(p.unassigned, w)
	default:
		p.discard(w)
	}
	p.notify()
	if err == nil || len(p.waiters) > 0 {
		p.refill()
	}
}

// discard kills and reaps a worker in the background, since even the kill takes a while;
// close waits for it. The caller holds the lock.
func (p *pool) discard(w *process) {
	p.alive--
	p.ending++
	go func() {
		w.end(killedDone)
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.all, w)
		p.ending--
		p.notify()
	}()
}

// discardExited discards a worker that has exited by itself or was killed from outside,
// and reports whether it did.
func (p *pool) discardExited(w *process) bool {
	if !w.hasExited() {
		return false
	}
	p.discard(w)
	return true
}

// renew discards the unassigned workers, and starts others.
func (p *pool) renew() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range p.unassigned {
		p.discard(w)
	}
	p.unassigned = nil
	p.refill()
}

// notify wakes those who wait in warm.
func (p *pool) notify() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// warm waits until there are PoolSize unassigned workers and all discarded ones are reaped.
func (p *pool) warm(ctx context.Context) error {
	for {
		p.mu.Lock()
		p.refill()
		full, changed, failed, closed := len(p.unassigned) >= p.opts.PoolSize && p.ending == 0, p.changed, p.startErr, p.closed
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

// close kills every worker and waits until all are reaped, for up to 10 s each.
func (p *pool) close() {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	p.closed = true
	p.unassigned, p.idle = nil, nil
	for len(p.waiters) > 0 {
		p.deliver(0, spawned{nil, errClosed})
	}
	if p.sweepTimer != nil {
		p.sweepTimer.Stop()
	}
	p.notify()
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
	<-p.spawnerDone
}
