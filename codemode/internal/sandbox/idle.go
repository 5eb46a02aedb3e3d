package sandbox

import (
	"runtime"
	"slices"
	"time"

	"github.com/koan-go/koan/codemode/worker"
)

const (
	// maxIdleTime is how long a worker is kept for the next script of its owner.
	maxIdleTime = time.Minute
	// sweepEvery is the interval at which the host checks idle workers.
	sweepEvery = 250 * time.Millisecond
	// idleCPU is how much CPU time a worker may use while it is idle, to drop the last engine
	// and prepare the next one. A compromised worker could compute without end.
	idleCPU = 100 * time.Millisecond
	// reuseCPU is how far a worker's total CPU time may exceed one script's limit for the
	// worker to get another script. What RLIMIT_CPU leaves then (limit) must be enough for
	// that script.
	reuseCPU = 2 * time.Second
	// retainedShare is the part of the memory limit, one half, that an idle worker may
	// hold: the next script may use the whole limit.
	retainedShare = 2
)

// maxIdleWorkers returns how many idle workers are kept.
func maxIdleWorkers() int { return 4 * runtime.NumCPU() }

// checkReuse records what the worker has used so far, and reports whether it may run
// another script.
func (p *process) checkReuse() bool {
	if p.awaitNext() != nil {
		return false
	}
	p.cpuAtIdle, _ = worker.ProcessCPU(p.proc.Pid)
	p.peakBefore = p.meter.peak()
	if p.cpuAtIdle > time.Duration(p.owner.cpuMs)*time.Millisecond+reuseCPU {
		return false
	}
	return p.why() == notKilled && !p.holdsTooMuch()
}

// holdsTooMuch reports whether the worker holds too much memory for another script.
func (p *process) holdsTooMuch() bool {
	return p.base > 0 && p.meter.resident() > p.base+p.owner.memory/retainedShare
}

// exceedsIdleLimits reports whether an idle worker uses more CPU time, memory or threads
// than an idle worker needs.
func (p *process) exceedsIdleLimits() bool {
	used, ok := worker.ProcessCPU(p.proc.Pid)
	return ok && used-p.cpuAtIdle > idleCPU || p.holdsTooMuch() || p.meter.threads() > maxThreads
}

// scheduleSweep starts the timer of the next sweep if workers are idle. The caller holds the
// lock.
func (p *pool) scheduleSweep() {
	if p.sweepTimer == nil && len(p.idle) > 0 {
		p.sweepTimer = time.AfterFunc(sweepEvery, p.sweep)
	}
}

// sweep discards idle workers that have exited, were idle for maxIdleTime, or exceed the
// limits of idle workers.
func (p *pool) sweep() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.idle = slices.DeleteFunc(p.idle, func(w *process) bool {
		end := w.hasExited() || time.Since(w.idleSince) >= maxIdleTime || w.exceedsIdleLimits()
		if end {
			p.discard(w)
		}
		return end
	})
	p.sweepTimer = nil
	p.scheduleSweep()
}
