package worker

import (
	"context"
	"time"

	"github.com/koan-go/koan/codemode/internal/language"
	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/fault"
)

// Run runs a job in this process and returns its result, which is never nil. It interrupts the
// script when ctx ends.
func Run(ctx context.Context, languages []language.Language, job *wire.Job, to language.Port, gauges Gauges) *wire.Result {
	l, ok := language.Of(languages, job.Language)
	if !ok {
		return &wire.Result{Fault: unknownLanguage(job.Language)}
	}
	l.Bind(job.Bindings)
	r, err := l.Prepare()
	if err != nil {
		return &wire.Result{Fault: fault.New(fault.ExecutionError, "").Because(err)}
	}
	stop := context.AfterFunc(ctx, func() { r.Interrupt(fault.From(ctx.Err())) })
	defer stop()
	return execute(r, job, to, gauges)
}

// execute does a job's task in a runtime, within its limits.
func execute(r language.Runtime, job *wire.Job, to language.Port, gauges Gauges) (result *wire.Result) {
	w := newWatch(r.Interrupt, time.Duration(job.Limits.CPUMs)*time.Millisecond, time.Duration(job.WallMs)*time.Millisecond, job.Limits.MemoryBytes, gauges)
	defer w.stop()
	host := &watchedHost{
		port: to, watch: w,
		logs: wire.LogBudget{MaxEntries: job.Limits.MaxLogEntries, MaxBytes: job.Limits.MaxLogBytes, MaxMessage: job.Limits.MaxLogMessageBytes},
	}
	switch job.Task {
	case wire.Validate:
		result = r.Check(job, host)
	case wire.Declare:
		result = r.Declare(job)
	default:
		result = r.Run(job, host)
	}
	result.CPUMs = float64(w.used().Microseconds()) / 1000
	return result
}

func unknownLanguage(name string) *fault.Fault {
	return fault.Newf(fault.CapabilityUnsupported, "there is no language %.40q", name)
}

// watchedHost is the language.Host of a script. The time that the host takes does not count as the script's, and logs
// beyond their limits are not sent.
type watchedHost struct {
	port  language.Port
	watch *watch
	logs  wire.LogBudget
}

var _ language.Host = (*watchedHost)(nil)

// Call implements language.Host.
func (h *watchedHost) Call(operation string, input []byte) language.Reply {
	h.watch.Pause()
	defer h.watch.Resume()
	return h.port.Call(operation, input)
}

// Start implements language.Host.
func (h *watchedHost) Start(ref uint32, operation string, input []byte) {
	h.watch.Pause()
	defer h.watch.Resume()
	h.port.Start(ref, operation, input)
}

// Await implements language.Host.
func (h *watchedHost) Await(most time.Duration) (uint32, language.Reply) {
	h.watch.Pause()
	defer h.watch.Resume()
	return h.port.Await(most)
}

// Log implements language.Host.
func (h *watchedHost) Log(l wire.Log) {
	for _, one := range h.logs.Admit(l) {
		h.watch.Pause()
		h.port.Log(one)
		h.watch.Resume()
	}
}

// LogsFull implements language.Host.
func (h *watchedHost) LogsFull() bool { return h.logs.Full() }

// Progress implements language.Host.
func (h *watchedHost) Progress(p wire.Progress) {
	h.watch.Pause()
	defer h.watch.Resume()
	h.port.Progress(p)
}

// Emit implements language.Host.
func (h *watchedHost) Emit(value []byte) {
	h.watch.Pause()
	defer h.watch.Resume()
	h.port.Emit(value)
}
