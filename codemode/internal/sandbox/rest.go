package sandbox

import (
	"runtime"
	"slices"
	"time"

	"github.com/koan-go/koan/codemode/worker"
)

const (
	// maxRest is how long a worker waits for the next script of its owner.
	maxRest = time.Minute
	// roundEvery is how often the host looks after the workers that rest.
	roundEvery = 250 * time.Millisecond
	// restCPU is what a worker may compute while it rests: it puts the last engine away
	// and makes the next one ready. A script that took it over could compute for good.
	restCPU = 100 * time.Millisecond
	// lifeCPU is what a worker may have computed on top of one script's limit when it
	// gets another one: what RLIMIT_CPU leaves (limit) must do for that.
	lifeCPU = 2 * time.Second
	// growthShare of its cap is what a worker may hold that rests. Each script may take
	// the whole cap, and must not find it taken.
	growthShare = 2
)

// maxResting is how many workers rest at most.
func maxResting() int { return 4 * runtime.NumCPU() }

// settle notes what a worker has used when its script is over, and reports whether it
// is fit for another one.
func (p *process) settle() bool {
	p.usedAtRest, _ = worker.ProcessCPU(p.proc.Pid)
	p.highest = p.meter.peak()
	if p.usedAtRest > time.Duration(p.owner.cpuMs)*time.Millisecond+lifeCPU {
		return false
	}
	return p.why() == notKilled && !p.grown()
}

// grown reports whether a worker holds too much for another script.
func (p *process) grown() bool {
	return p.base > 0 && p.meter.resident() > p.base+p.owner.memory/growthShare
}

// astir reports whether a worker does what none does that rests.
func (p *process) astir() bool {
	used, ok := worker.ProcessCPU(p.proc.Pid)
	return ok && used-p.usedAtRest > restCPU || p.grown() || p.meter.threads() > maxThreads
}

// attend, whose caller holds the lock, has those that rest looked after.
func (p *pool) attend() {
	if p.round == nil && len(p.resting) > 0 {
		p.round = time.AfterFunc(roundEvery, p.lookAfter)
	}
}

// lookAfter ends the workers that have rested for too long, or do not rest.
func (p *pool) lookAfter() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.resting = slices.DeleteFunc(p.resting, func(w *process) bool {
		over := w.gone() || time.Since(w.rests) >= maxRest || w.astir()
		if over {
			p.dismiss(w)
		}
		return over
	})
	p.round = nil
	p.attend()
}
