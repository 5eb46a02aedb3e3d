package sandbox

import (
	"context"
	"slices"
	"sync"
)

// underway is what a pool waits for before it is closed.
type underway struct {
	starts  sync.WaitGroup // of workers that are being started, and of those in leaving
	leaving []*leaver
}

// leaver is a worker that has given its script's answer, while the process of that script ends. The caller has the
// answer by then; whether the worker may run another script is known later.
type leaver struct {
	*process
	taker chan *process // buffered; nil until a job of its owner waits for the worker
}

// leave takes a worker back when the process of its last script has ended. The caller holds the lock.
func (p *pool) leave(w *process) {
	l := &leaver{process: w}
	p.leaving = append(p.leaving, l)
	p.starts.Go(func() {
		reusable := w.checkReuse()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.leaving = slices.DeleteFunc(p.leaving, func(o *leaver) bool { return o == l })
		switch {
		case l.taker == nil:
			p.keep(w, reusable)
		case reusable && !p.closed:
			l.taker <- w
		default:
			p.keep(w, false)
			l.taker <- nil
		}
	})
}

// takeLeaving waits for a worker of the owner that leaves a script, and returns it; nil if there is none, or none that
// may run another script. The caller holds the lock, which is given back while it waits.
func (p *pool) takeLeaving(ctx context.Context, of owner) (*process, error) {
	i := slices.IndexFunc(p.leaving, func(l *leaver) bool { return l.taker == nil && l.owner == of })
	if i < 0 {
		return nil, nil
	}
	l := p.leaving[i]
	l.taker = make(chan *process, 1)
	p.mu.Unlock()
	defer p.mu.Lock()
	select {
	case w := <-l.taker:
		return w, nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case w := <-l.taker: // it was delivered meanwhile
		if w != nil {
			p.keep(w, true)
		}
	default:
		l.taker = nil
	}
	return nil, ctx.Err()
}
