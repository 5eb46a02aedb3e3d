package sandbox

import (
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/codemode/worker"
	"github.com/koan-go/koan/framework/fault"
)

// Options configure a Sandbox. The zero value is usable.
type Options struct {
	// PoolSize is how many unassigned workers are kept started and confined, for callers
	// that have no worker yet. 0 means 2.
	PoolSize int
	// OnDemand starts no worker before a script needs it, except the first one, which shows that
	// workers can run. PoolSize is not used then.
	OnDemand bool
	// MaxWorkers bounds how many jobs run at once; others wait for their turn. 0 means
	// eight per core.
	MaxWorkers int
	// QueueMax is how many jobs of one caller may wait for their turn; one more fails
	// with queue_overloaded. 0 means 64.
	QueueMax int
	// Fresh starts a new worker for every script, so that no two scripts share a process.
	Fresh bool
	// Program is the executable of workers; every user must be able to run it. Empty means
	// the worker binary beside this executable if it is of the same build, else this
	// executable started again.
	Program string
	// Interpreter makes workers of a program of the machine instead, which forks for each script. nil means
	// workers of this build.
	Interpreter *Interpreter
	// Layers are the layers of isolation to use where they are available (worker.Layers).
	// nil means all of them.
	Layers []string
	// Require are the layers without which New fails.
	Require []string
	// Log receives warnings about a program or a launcher that cannot be used. nil discards
	// them.
	Log *slog.Logger
	// KillGrace is how long the host waits for a worker to stop a script by itself after
	// its CPU limit or deadline. 0 means 15 ms.
	KillGrace time.Duration
	// StartTimeout bounds the start of one worker. 0 means 10 s.
	StartTimeout time.Duration
}

// Interpreter is how a worker is started that becomes a program of the machine. It confines itself with all its
// layers or ends, sets the kernel's limits, and speaks the frames of a
// worker.
type Interpreter struct {
	Args   func() []string      // of the program of workers, asked for each process
	Attr   *syscall.SysProcAttr // with which it is started
	Layers []string
	// Forks says that the program runs each script in a child of its own. Else it runs one itself.
	Forks bool
}

func (o Options) withDefaults() (Options, error) {
	if o.OnDemand {
		o.PoolSize = 0
	} else if o.PoolSize == 0 {
		o.PoolSize = 2
	}
	if o.MaxWorkers == 0 {
		o.MaxWorkers = 8 * runtime.NumCPU()
	}
	if o.QueueMax == 0 {
		o.QueueMax = 64
	}
	if o.KillGrace == 0 {
		o.KillGrace = 15 * time.Millisecond
	}
	if o.StartTimeout == 0 {
		o.StartTimeout = 10 * time.Second
	}
	if o.Layers == nil {
		o.Layers = worker.Layers()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if min(o.PoolSize, o.MaxWorkers, o.QueueMax) < 0 {
		return o, fmt.Errorf("sandbox: a negative number of workers or jobs")
	}
	for _, l := range slices.Concat(o.Layers, o.Require) {
		if !slices.Contains(worker.Layers(), l) {
			return o, fault.Newf(fault.CapabilityUnsupported, "no layer of isolation is called %.40q%s", l, fault.DidYouMean(l, worker.Layers())).
				WithHint("The layers are %s.", strings.Join(worker.Layers(), ", "))
		}
	}
	return o, nil
}

// DefaultLimits returns the limits of CONTRACT section 1, which replace those of a job
// that are 0.
func DefaultLimits() wire.Limits {
	return wire.Limits{
		CPUMs: 2000, MemoryBytes: 64 << 20, MaxRecursion: 512, MaxLogEntries: 200, MaxLogBytes: 64 << 10,
		MaxLogMessageBytes: 16 << 10, MaxStackFrames: 10, MaxResultBytes: 256 << 10, MaxCallBytes: 8 << 20, MaxParallelCalls: 64,
	}
}

// withLimits returns a copy of a job whose zero limits are replaced by the defaults.
func withLimits(job *wire.Job) (*wire.Job, error) {
	j, d := *job, DefaultLimits()
	set := func(v *int, def int) {
		if *v == 0 {
			*v = def
		}
	}
	l := &j.Limits
	set(&l.CPUMs, d.CPUMs)
	set(&l.MaxRecursion, d.MaxRecursion)
	set(&l.MaxLogEntries, d.MaxLogEntries)
	set(&l.MaxLogBytes, d.MaxLogBytes)
	set(&l.MaxLogMessageBytes, d.MaxLogMessageBytes)
	set(&l.MaxStackFrames, d.MaxStackFrames)
	set(&l.MaxResultBytes, d.MaxResultBytes)
	set(&l.MaxCallBytes, d.MaxCallBytes)
	set(&l.MaxParallelCalls, d.MaxParallelCalls)
	if l.MemoryBytes == 0 {
		l.MemoryBytes = d.MemoryBytes
	}
	if min(int64(l.CPUMs), int64(l.MaxRecursion), int64(l.MaxLogEntries), int64(l.MaxLogBytes), int64(l.MaxLogMessageBytes), int64(l.MaxStackFrames), int64(l.MaxResultBytes), int64(l.MaxCallBytes), int64(l.MaxParallelCalls), l.MemoryBytes) < 0 {
		return nil, fault.Invalid(fault.Detail{Path: "/limits", Message: "a limit is negative"})
	}
	return &j, nil
}
