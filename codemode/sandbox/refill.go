package sandbox

import (
	"runtime"
	"time"
)

// holdFor is how long at most a start waits for the end of scripts that have just
// begun: the copy of this process that it begins with takes milliseconds, and the
// system does not let anybody in between.
const holdFor = 10 * time.Millisecond

// starting counts the workers that are being started.
type starting struct{ idle, modest int }

func (s *starting) of(modest bool) *int {
	if modest {
		return &s.modest
	}
	return &s.idle
}

// start is how a worker starts.
type start struct {
	hurried bool // worker.Args
	modest  bool // it yields
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
	modest := 0
	for _, w := range p.waiters {
		if w.modest {
			modest++
		}
	}
	others := len(p.waiters) - modest
	lack := min(p.target+others-len(p.idle), runtime.NumCPU()+1)
	modest = min(modest, max(runtime.NumCPU()-1, 1))
	if lack <= p.starting.idle && modest <= p.starting.modest || others == 0 && p.hold() {
		return
	}
	p.held = time.Time{}
	p.startSome(start{hurried: others > 0}, lack)
	p.startSome(start{hurried: true, modest: true}, modest)
}

// hold tells whether starts that nobody waits for but modest jobs are to wait.
func (p *pool) hold() bool {
	if p.fresh == 0 {
		return false
	}
	if p.held.IsZero() {
		p.held = time.Now()
		time.AfterFunc(holdFor, p.refill)
	}
	return time.Since(p.held) < holdFor
}

// startSome starts workers until so many are under way.
func (p *pool) startSome(how start, lack int) {
	for under := p.starting.of(how.modest); *under < lack; *under++ {
		go p.startOne(how)
	}
}

// startOne starts a worker for whoever waits, or to be idle.
func (p *pool) startOne(how start) {
	w, err := p.start(how)
	p.mu.Lock()
	*p.starting.of(how.modest)--
	if !how.modest {
		p.failed = err
	}
	first := p.waiting(how.modest)
	switch {
	case err == nil && p.closed:
		go w.end(killedClose)
	case err == nil && !how.modest:
		p.idle = append(p.idle, w)
		p.handOut()
		p.trim()
	case first >= 0:
		p.answer(first, spawned{w, err})
	case err == nil:
		p.dismiss(w) // the job has gone
	}
	p.tell()
	more := err == nil || len(p.waiters) > 0
	p.mu.Unlock()
	if more {
		p.refill()
	}
}
