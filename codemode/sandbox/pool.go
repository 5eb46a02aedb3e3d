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

// pool keeps workers that are ready. A job that finds none starts its own, so
// that refilling never stands in its way.
type pool struct {
	opts    Options
	program program
	layers  []string
	spawn   chan spawnRequest
	done    chan struct{}

	mu       sync.Mutex
	closed   bool
	idle     []*process
	starting int
	all      map[*process]bool
	changed  chan struct{} // closed and replaced when idle grows or a start fails
	failed   error         // of the last start
	starts   sync.WaitGroup
}

type spawnRequest struct {
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
		all: map[*process]bool{}, changed: make(chan struct{}),
	}
	prepared := make(chan error)
	go p.spawner(prepared)
	if err := <-prepared; err != nil {
		return nil, nil, err
	}
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
			w, err := launch(p.program, p.layers, ground)
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

// start gives a worker that is ready.
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
		p.forget(s.p)
		return nil, err
	}
	return s.p, nil
}

// take gives a worker for one job; the caller ends it with discard.
func (p *pool) take() (*process, error) {
	p.mu.Lock()
	for len(p.idle) > 0 {
		w := p.idle[0]
		p.idle = p.idle[1:]
		if w.gone() {
			delete(p.all, w)
			w.release()
			continue
		}
		last := len(p.idle) == 0
		p.mu.Unlock()
		if last {
			p.refill()
		}
		return w, nil
	}
	p.mu.Unlock()
	return p.start()
}

// discard ends a worker that had its job, and sees to the next.
func (p *pool) discard(w *process) {
	w.kill(killedDone)
	go func() {
		w.end(killedDone)
		p.forget(w)
	}()
	p.refill()
}

func (p *pool) forget(w *process) {
	p.mu.Lock()
	delete(p.all, w)
	p.mu.Unlock()
}

// refill starts what the pool lacks and returns at once.
func (p *pool) refill() {
	p.mu.Lock()
	lack := p.opts.PoolSize - len(p.idle) - p.starting
	if p.closed || lack <= 0 {
		p.mu.Unlock()
		return
	}
	p.starting += lack
	p.mu.Unlock()
	go func() {
		for range lack {
			w, err := p.start()
			p.mu.Lock()
			p.starting--
			p.failed = err
			if err == nil && p.closed {
				err = errClosed
				go w.end(killedClose)
			}
			if err == nil {
				p.idle = append(p.idle, w)
			}
			close(p.changed)
			p.changed = make(chan struct{})
			p.mu.Unlock()
		}
	}()
}

// warm waits until the pool is full.
func (p *pool) warm(ctx context.Context) error {
	p.refill()
	for {
		p.mu.Lock()
		full, changed, failed, closed := len(p.idle) >= p.opts.PoolSize, p.changed, p.failed, p.closed
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
	close(p.changed)
	p.changed = make(chan struct{})
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
