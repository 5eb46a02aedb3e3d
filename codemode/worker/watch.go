package worker

import (
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/koan-go/koan/framework/fault"
)

// tick is the interval at which a running script is checked.
const tick = 5 * time.Millisecond

// Stopwatch measures how long a script itself runs, without the time in which it waits for the
// host. One goroutine calls Pause and Resume alternately; any may call Active and Paused.
type Stopwatch struct {
	start  time.Time
	waited atomic.Int64 // nanoseconds of completed waits
	since  atomic.Int64 // nanoseconds from start to the beginning of the current wait; 0: none
}

// Start starts the measurement.
func (w *Stopwatch) Start() { w.start = time.Now() }

// Pause marks the beginning of a wait for the host.
func (w *Stopwatch) Pause() { w.since.Store(max(int64(time.Since(w.start)), 1)) }

// Resume marks the end of a wait.
func (w *Stopwatch) Resume() { w.waited.Add(int64(time.Since(w.start)) - w.since.Swap(0)) }

// Paused reports whether the script is waiting for the host.
func (w *Stopwatch) Paused() bool { return w.since.Load() > 0 }

// Active returns how long the script itself has run.
func (w *Stopwatch) Active() time.Duration {
	now := int64(time.Since(w.start))
	if since := w.since.Load(); since > 0 {
		now = since
	}
	return time.Duration(now - w.waited.Load())
}

// Starved times the CPU limit is how long a script may run in wall time, without waits for the
// host: it ends even on a machine that gives it no CPU.
const Starved = 4

// Gauges measure what a job has used since its start. If Full is nil, memory is not watched. If
// CPU is nil, the time of Stopwatch.Active counts as CPU time.
type Gauges struct {
	Full func() bool // reports whether the job holds more memory than its limit
	CPU  func() time.Duration
}

// watch interrupts a script that exceeds a limit. A language may not be able to stop in the
// middle of a function of its own; then the host kills the worker.
type watch struct {
	Stopwatch
	gauges    Gauges
	interrupt func(*fault.Fault)
	done      chan struct{}
}

// newWatch starts a watch. wall is the time until the run's deadline, 0 for none. Waits for the
// host do not count, since the host may stop the run's clock during them.
func newWatch(interrupt func(*fault.Fault), cpu, wall time.Duration, memoryLimit int64, gauges Gauges) *watch {
	w := &watch{gauges: gauges, interrupt: interrupt, done: make(chan struct{})}
	w.Start()
	go w.run(cpu, wall, memoryLimit)
	return w
}

// used returns the CPU time that the script has used.
func (w *watch) used() time.Duration {
	if w.gauges.CPU == nil {
		return w.Active()
	}
	return w.gauges.CPU()
}

func (w *watch) run(cpu, wall time.Duration, memoryLimit int64) {
	timer := time.NewTimer(min(tick, cpu))
	defer timer.Stop()
	for {
		select {
		case <-w.done:
			return
		case <-timer.C:
		}
		used := w.used()
		left := min(cpu-used, Starved*cpu-w.Active())
		switch {
		case left <= 0:
			w.interrupt(Overdue(cpu, used))
			return
		case w.full():
			w.interrupt(MemoryExceeded(memoryLimit))
			return
		case wall > 0 && w.Active() >= wall:
			w.interrupt(wallExceeded())
			return
		}
		if wall > 0 {
			left = min(left, max(wall-w.Active(), time.Millisecond))
		}
		timer.Reset(min(tick, left))
	}
}

// full reports whether the script holds more memory than its limit. On a busy machine the
// collector falls behind, so garbage is freed before the script is stopped.
func (w *watch) full() bool {
	if w.gauges.Full == nil || !w.gauges.Full() {
		return false
	}
	debug.FreeOSMemory()
	return w.gauges.Full()
}

func (w *watch) stop() { close(w.done) }

// CPUExceeded returns the fault of a script that exceeded its CPU limit.
func CPUExceeded(limit time.Duration) *fault.Fault {
	return fault.Newf(fault.Timeout, "the script used more than %d ms of CPU time, calls not counted (sandbox.cpuMs)", limit.Milliseconds()).
		WithDetails(map[string]any{"limit": "cpu", "limitMs": limit.Milliseconds()})
}

// wallExceeded returns the fault of a script that computed beyond the run's deadline. If the
// script cannot be interrupted, the host kills the worker soon after.
func wallExceeded() *fault.Fault {
	return fault.New(fault.Timeout, "the run took longer than its limit of wall-clock time").WithDetails(map[string]any{"limit": "wall"})
}

// Overdue returns the fault of a script that was stopped for its CPU limit: because it used
// that much, or because the machine did not give it the CPU time for too long. Only in the
// second case, and if it used less than half of the limit, is the same script safe to run
// again; another one would probably exceed the limit next time.
func Overdue(limit, used time.Duration) *fault.Fault {
	f := CPUExceeded(limit)
	if used >= limit {
		return f
	}
	f.Message = fmt.Sprintf("the machine is too busy: of the %d ms of CPU time that it may use (sandbox.cpuMs) the script got %d ms", limit.Milliseconds(), used.Milliseconds())
	if used >= limit/2 {
		return f
	}
	return f.WithRetry(fault.Safe).WithHint("Run it again when less is running; if that does not help, do less in one run.")
}

// MemoryExceeded returns the fault of a script that exceeded its memory limit, in bytes.
func MemoryExceeded(limit int64) *fault.Fault {
	return fault.Newf(fault.MemoryExceeded, "the script used more than %s of memory (sandbox.memoryMb, limits.maxMemoryBytes)", size(limit)).
		WithDetails(map[string]any{"limitBytes": limit})
}

// size formats a number of bytes in the largest unit that is exact.
func size(n int64) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}
