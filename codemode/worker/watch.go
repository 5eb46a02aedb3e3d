package worker

import (
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/dop251/goja"

	"github.com/koan-go/koan/framework/fault"
)

// tick is how often a running script is looked at.
const tick = 5 * time.Millisecond

// Stopwatch measures how long a script itself runs: the time in which it waits
// for the host does not count. Pause and Resume are called in turn by one
// goroutine, Active by any.
type Stopwatch struct {
	start  time.Time
	waited atomic.Int64 // nanoseconds spent in waits that have ended
	since  atomic.Int64 // nanoseconds from start to the begin of the wait under way; 0: none
}

// Start begins a measurement.
func (w *Stopwatch) Start() { w.start = time.Now() }

// Pause says that the script begins to wait for the host.
func (w *Stopwatch) Pause() { w.since.Store(max(int64(time.Since(w.start)), 1)) }

// Resume says that the script goes on.
func (w *Stopwatch) Resume() { w.waited.Add(int64(time.Since(w.start)) - w.since.Swap(0)) }

// Paused reports whether the script waits for the host.
func (w *Stopwatch) Paused() bool { return w.since.Load() > 0 }

// Active is how long the script itself has run.
func (w *Stopwatch) Active() time.Duration {
	now := int64(time.Since(w.start))
	if since := w.since.Load(); since > 0 {
		now = since
	}
	return time.Duration(now - w.waited.Load())
}

// Starved is how many times its CPU limit a script may have had the turn by the
// clock: on a machine that gives it no CPU it ends all the same.
const Starved = 4

// Gauges measure what a job uses since its start. Either may be nil: then memory
// is not watched, and the time in which the script had the turn counts as CPU.
type Gauges struct {
	Full func() bool // whether it holds more memory than it may
	CPU  func() time.Duration
}

// watch interrupts a script that passes a limit. It cannot interrupt what runs
// inside one built-in function; the host's kill is behind it.
type watch struct {
	Stopwatch
	gauges Gauges
	done   chan struct{}
}

// newWatch starts watching. wall is what the run has left by the clock, 0 for no
// bound: what the script waits for does not count here, since the host may stop the
// run's clock meanwhile.
func newWatch(vm *goja.Runtime, cpu, wall time.Duration, memoryLimit int64, gauges Gauges) *watch {
	w := &watch{gauges: gauges, done: make(chan struct{})}
	w.Start()
	go w.run(vm, cpu, wall, memoryLimit)
	return w
}

// used is the CPU time that the script has used.
func (w *watch) used() time.Duration {
	if w.gauges.CPU == nil {
		return w.Active()
	}
	return w.gauges.CPU()
}

func (w *watch) run(vm *goja.Runtime, cpu, wall time.Duration, memoryLimit int64) {
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
			vm.Interrupt(&stop{Overdue(cpu, used)})
			return
		case w.full():
			vm.Interrupt(&stop{MemoryExceeded(memoryLimit)})
			return
		case wall > 0 && w.Active() >= wall:
			vm.Interrupt(&stop{wallExceeded()})
			return
		}
		if wall > 0 {
			left = min(left, max(wall-w.Active(), time.Millisecond))
		}
		timer.Reset(min(tick, left))
	}
}

// full reports whether the script holds more memory than it may. On a busy machine the
// collector falls behind, so what it can free is freed before the script is blamed.
func (w *watch) full() bool {
	if w.gauges.Full == nil || !w.gauges.Full() {
		return false
	}
	debug.FreeOSMemory()
	return w.gauges.Full()
}

func (w *watch) stop() { close(w.done) }

// CPUExceeded is the fault of a script that ran longer than it may.
func CPUExceeded(limit time.Duration) *fault.Fault {
	return fault.Newf(fault.Timeout, "the script used more than %d ms of CPU time, calls not counted (sandbox.cpuMs)", limit.Milliseconds()).
		WithDetails(map[string]any{"limit": "cpu", "limitMs": limit.Milliseconds()})
}

// wallExceeded is the fault of a script that computed until the run's time by the
// clock was over. The host, which knows that limit, kills soon after.
func wallExceeded() *fault.Fault {
	return fault.New(fault.Timeout, "the run took longer than its limit of wall-clock time").WithDetails(map[string]any{"limit": "wall"})
}

// Overdue is the fault of a script that passed its CPU limit: by what it used, or by
// the time in which something outside kept the CPU from it. A script that used most of
// its limit all the same may not be expected to pass another time; only one that mainly
// waited for the machine is safe to run again.
func Overdue(limit, used time.Duration) *fault.Fault {
	f := CPUExceeded(limit)
	if used >= limit {
		return f
	}
	f.Message = fmt.Sprintf("the machine is busy: in the time of %d ms of CPU (sandbox.cpuMs) the script got %d ms", limit.Milliseconds(), used.Milliseconds())
	if used >= limit/2 {
		return f
	}
	return f.WithRetry(fault.Safe).WithHint("Run it again when less is running; if that does not help, do less in one run.")
}

// MemoryExceeded is the fault of a script that used more memory than it may.
func MemoryExceeded(limit int64) *fault.Fault {
	return fault.Newf(fault.MemoryExceeded, "the script used more than %s of memory (sandbox.memoryMb, limits.maxMemoryBytes)", size(limit)).
		WithDetails(map[string]any{"limitBytes": limit})
}

// size shows a number of bytes in the largest unit that is exact.
func size(n int64) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}
