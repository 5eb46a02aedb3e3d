package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/codemode/worker"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exact"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
)

const (
	// pollEvery is the interval at which the host polls a running worker.
	pollEvery = 5 * time.Millisecond
	// pollClosely replaces pollEvery once the worker holds more than half of its memory:
	// it can fill the rest within one or two intervals.
	pollClosely = time.Millisecond
	// rssSlack is how far a worker's resident set may exceed its base plus its memory limit,
	// in bytes, for pages of the program that no earlier script has touched. A worker grows a
	// little between two polls, and must not reach twice its limit.
	rssSlack = 6 << 20
	// rssJump is how far below twice its limit a worker is killed whose program takes much of
	// it by itself, in bytes: what it may grow between two polls.
	rssJump = 10 << 20
	// maxThreads is how many threads a worker may have. The Go runtime starts those it needs,
	// a dozen or two on a busy machine, and crashes if the system refuses one. So threads are
	// counted instead of refused; a worker with more than this is compromised.
	maxThreads = 100
	// exitTimeout bounds the wait for the exit of a worker.
	exitTimeout = 2 * time.Second
)

// execution is one job in one worker. The goroutine of run reads frames and serves calls;
// the goroutine of guard only watches the limits and kills.
type execution struct {
	*process
	job   *wire.Job
	only  bool // the worker runs this job and no other
	grace time.Duration
	place place

	ctx    context.Context
	host   wire.Host
	logs   wire.LogBudget
	result wire.Result
	measurement
	openCalls
	ended          error // the error of a call that ends the run (run.Ends)
	anotherAttempt bool  // the run starts another attempt: the script itself did not fail
	accepted       bool  // the worker has acknowledged the job
	last           bool  // the worker asked not to be reused
}

// measurement is what a job uses, and the guard that measures it.
type measurement struct {
	clock     worker.Stopwatch
	startedAt time.Time
	guardStop chan struct{} // closed when the guard is no longer needed
	guardDone chan struct{} // closed when the guard has returned
	// The largest resident set in bytes, and the CPU time in nanoseconds.
	observedPeak atomic.Int64
	script       atomic.Pointer[forked] // the process of the script; nil where the worker itself runs it
	observedCPU  atomic.Int64
	cpuBase      time.Duration
	cpuKnown     bool
	stuck        bool // the script's process was not computing when its time was over; set before the guard has returned
}

// openCalls are the calls in flight, which are cancelled when the worker is killed.
type openCalls struct {
	callMu         sync.Mutex
	callsCancelled bool
	cancelCalls    func()
}

// errNotAccepted means that the worker exited before it received the job, so the job can
// be sent to another one.
var errNotAccepted = errors.New("sandbox: the worker ended before it took the job")

// run runs the job in the worker, under the job's limits and until ctx ends.
func (e *execution) run(ctx context.Context, host wire.Host, bindings []byte) (*wire.Result, error) {
	e.ctx, e.host = ctx, host
	l := e.job.Limits
	e.r.SetMax(max(2*l.MaxResultBytes, l.MaxCallBytes, l.MaxLogBytes) + wire.FrameSlack)
	e.cpuBase, e.cpuKnown = worker.ProcessCPU(e.proc.Pid)
	e.guardStop, e.guardDone, e.startedAt = make(chan struct{}), make(chan struct{}), time.Now()
	e.clock.Start()
	e.follow()
	go e.guard(ctx)
	err := e.send(bindings)
	if err == nil {
		err = e.serve(e.callContext(ctx))
		e.cancelCalls()
	}
	e.anotherAttempt = e.anotherAttempt && err == nil
	e.clock.Pause()
	if err != nil && !e.accepted && e.why() == notKilled && ctx.Err() == nil {
		e.stopGuard()
		return nil, fmt.Errorf("%w: %w; stderr %q", errNotAccepted, err, e.stderrText())
	}
	logs, emitted, peak := e.result.Logs, e.result.Emitted, e.peakResident()
	if err != nil {
		e.result = wire.Result{}
		err = e.failure(err)
	}
	if err == nil {
		err = e.ended // the result has its fault, with the line
	}
	if err == nil {
		err = e.deadlineError()
	}
	if e.result.CPUMs == 0 {
		e.result.CPUMs = float64(max(e.lastCPU(), e.cpuTime()).Microseconds()) / 1000
	}
	e.stopGuard()
	e.result.Logs, e.result.Emitted, e.result.PeakMemory = logs, emitted, max(peak, e.observedPeak.Load())
	return &e.result, err
}

// stopGuard ends the guard and waits for it: it must not kill the worker's next job.
func (e *execution) stopGuard() {
	close(e.guardStop)
	<-e.guardDone
	if f := e.script.Load(); f != nil {
		f.meter.close()
	}
}

// peakResident returns the largest resident set during this job as far as the kernel
// tells, else the present one, in bytes.
func (e *execution) peakResident() int64 {
	if f := e.script.Load(); f != nil {
		return f.meter.peak()
	}
	if time.Since(e.startedAt) > pollEvery { // before that, the worker cannot have released anything
		if peak := e.meter.peak(); peak > e.peakBefore {
			return peak
		}
	}
	return e.meter.resident()
}

// reusable reports whether the worker may run another script. It may not after a limit or
// an engine failure, nor if the script was stopped, unless it was stopped for another
// attempt. err is the result of run.
func (e *execution) reusable(err error) bool {
	if e.last || err != nil {
		return !e.last && e.anotherAttempt
	}
	f := e.result.Fault
	if f == nil {
		return true
	}
	entry, known := fault.Lookup(f.Code)
	return known && !entry.EndsRun && entry.Class != fault.ClassLimit && f.Code != fault.ExecutionError && f.Code != fault.Internal
}

// stop kills the worker and cancels its calls.
func (e *execution) stop(why cause) {
	e.kill(why)
	e.abortCalls()
	_ = e.out.SetReadDeadline(time.Now()) // run must not wait for the exit
}

// abortCalls cancels the worker's calls.
func (e *openCalls) abortCalls() {
	e.callMu.Lock()
	defer e.callMu.Unlock()
	e.callsCancelled = true
	if e.cancelCalls != nil {
		e.cancelCalls()
	}
}

// callContext returns the context for the worker's calls, which abortCalls cancels.
func (e *openCalls) callContext(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	e.callMu.Lock()
	defer e.callMu.Unlock()
	if e.cancelCalls = cancel; e.callsCancelled {
		cancel()
	}
	return ctx
}

// send sends the job to the worker, numbered by the worker's count of scripts.
func (e *execution) send(bindings []byte) error {
	if err := e.bind(bindings); err != nil {
		return err
	}
	job := *e.job
	job.Bindings = wire.Bindings{}
	job.WallMs = remainingWallMs(e.ctx)
	job.CollectBytes, job.Last = collectLimit(e.base, job.Limits.MemoryBytes), e.only
	e.scripts++
	return e.w.WriteJSON(wire.KindJob, e.scripts, &job)
}

// cpuTime returns the CPU time of the job as the host measures it, 0 after the worker has
// exited.
func (e *execution) cpuTime() time.Duration {
	if !e.cpuKnown {
		return e.clock.Active()
	}
	_, pid, base := e.usage()
	now, ok := worker.ProcessCPU(pid)
	if !ok {
		return 0
	}
	return now - base
}

// lastCPU returns the CPU time that the guard measured last.
func (e *execution) lastCPU() time.Duration { return time.Duration(e.observedCPU.Load()) }

// residentLimit returns the largest resident set allowed for a worker, in bytes. base is
// its resident set without a job, and memory the limit of the script. The result is their
// sum plus slack; if that comes near twice memory it is lowered, unless this would leave
// the script less than half of memory.
func residentLimit(base, memory int64) int64 {
	most := base + memory + rssSlack
	if lower := 2*memory - rssJump; lower > base+memory/2 {
		most = min(most, lower)
	}
	return most
}

// collectLimit returns how much memory a worker's collector lets the script have, in bytes: a
// little less than the script may use, and than the guard allows, so that neither stops a
// script for garbage.
func collectLimit(base, memory int64) int64 {
	if base <= 0 { // not known, so that the guard does not look at it
		return memory - memory/8
	}
	return min(memory-memory/8, residentLimit(base, memory)-base-rssSlack)
}

// guard kills the worker when ctx ends or the job exceeds its CPU time, memory or threads.
func (e *execution) guard(ctx context.Context) {
	defer close(e.guardDone)
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	closely := false
	cpu := time.Duration(e.job.Limits.CPUMs) * time.Millisecond
	most := residentLimit(e.base, e.job.Limits.MemoryBytes)
	for {
		select {
		case <-e.guardStop:
			return
		case <-e.exited:
			e.abortCalls()
			return
		case <-ctx.Done():
			if !e.awaitSelfStop(ctx) {
				e.stop(killedContext)
			}
			return
		case <-ticker.C:
		}
		meter, _, _ := e.usage()
		rss := meter.resident()
		e.observedPeak.Store(max(e.observedPeak.Load(), rss))
		if !closely && rss > e.base+e.job.Limits.MemoryBytes/2 {
			closely = true
			ticker.Reset(pollClosely)
		}
		used := max(e.lastCPU(), e.cpuTime())
		e.observedCPU.Store(int64(used))
		switch {
		case e.base > 0 && rss > most:
			e.stop(killedMemory)
			return
		case meter.threads() > maxThreads:
			e.stop(killedThreads)
			return
		case used > cpu+e.grace, e.clock.Active() > worker.Starved*cpu+e.grace:
			e.stuck = e.interpreter != nil && meter.sleeping()
			e.stop(killedCPU)
			return
		}
	}
}

// serve handles the worker's frames up to the result. After an error the worker has exited
// or must be killed.
func (e *execution) serve(ctx context.Context) error {
	for {
		f, err := e.r.Read()
		if err != nil {
			return err
		}
		if !e.accepted && (f.Kind != wire.KindAccepted || f.ID != e.scripts) {
			return wire.ErrFrame // perhaps sent for an earlier script
		}
		switch f.Kind {
		case wire.KindAccepted:
			if e.accepted {
				err = wire.ErrFrame
			}
			e.accepted = true
		case wire.KindCall:
			e.clock.Pause()
			err = e.call(ctx, f)
			e.clock.Resume()
		case wire.KindStart:
			e.clock.Pause()
			err = e.start(ctx, f)
			e.clock.Resume()
		case wire.KindAwait:
			e.clock.Pause()
			e.place.rest()
			err = e.await(ctx, f)
			e.place.resume()
			e.clock.Resume()
		case wire.KindLog:
			var l wire.Log
			if l, err = readLog(f.Payload); err == nil {
				e.clock.Pause()
				e.keepLog(l)
				e.clock.Resume()
			}
		case wire.KindProgress:
			var p wire.Progress
			if p, err = readProgress(f.Payload); err == nil {
				e.clock.Pause()
				e.host.Progress(p.Done, p.Total, p.Message)
				e.clock.Resume()
			}
		case wire.KindEmit:
			e.clock.Pause()
			err = e.emitted(f.Payload)
			e.clock.Resume()
		case wire.KindResult:
			return e.acceptResult(f.Payload)
		default:
			err = wire.ErrFrame
		}
		if err != nil {
			return err
		}
	}
}

// keepLog adds a log entry to the result and passes it to the host at once, within the
// log budget.
func (e *execution) keepLog(l wire.Log) {
	for _, l := range e.logs.Admit(l) {
		e.result.Logs = append(e.result.Logs, l)
		e.host.Log(l)
	}
}

// emitted keeps a value that the script emits, and passes it on at once.
func (e *execution) emitted(value []byte) error {
	bytes := len(value)
	for _, v := range e.result.Emitted {
		bytes += len(v)
	}
	if e.ended != nil || len(value) == 0 || len(e.result.Emitted) >= wire.MaxEmitted || bytes > e.job.Limits.MaxResultBytes || !exact.WellFormed(value) || !json.Valid(value) {
		return wire.ErrFrame
	}
	e.result.Emitted = append(e.result.Emitted, value)
	e.host.Emit(len(e.result.Emitted)-1, value)
	return nil
}

// entityCalls begins the IDs of calls that are over in a moment, actionCalls those that compute in this script's place.
const (
	entityCalls = string(catalog.KindEntity) + "::"
	actionCalls = string(catalog.KindAction) + "::"
)

// call serves one call of the script.
func (e *execution) call(ctx context.Context, f wire.Frame) error {
	id, input, err := e.decodeCall(f)
	if err != nil {
		return err
	}
	switch {
	case strings.HasPrefix(id, actionCalls):
		ctx = e.place.lend(ctx, true)
	case !strings.HasPrefix(id, entityCalls):
		e.place.rest()
		defer e.place.resume()
	}
	out, now, err := e.host.Call(ctx, id, input)
	return e.answer(f.ID, out, now, err)
}

// start starts a call without waiting for its end.
func (e *execution) start(ctx context.Context, f wire.Frame) error {
	id, input, err := e.decodeCall(f)
	if err == nil {
		e.host.Start(e.place.lend(ctx, false), f.ID, id, input)
	}
	return err
}

// await waits for the end of one of the started calls and sends it to the worker.
func (e *execution) await(ctx context.Context, f wire.Frame) error {
	most, err := wire.DecodeAwait(f.Payload)
	if err != nil {
		return err
	}
	if e.ended != nil {
		return e.ended
	}
	ref, out, now, err := e.host.Next(ctx, most)
	if ref == 0 && err != nil && !run.Ends(err) && ctx.Err() == nil {
		return err
	}
	return e.answer(ref, out, now, err)
}

// answer sends the outcome of a call to the worker.
func (e *execution) answer(ref uint32, out json.RawMessage, now int64, err error) error {
	switch {
	case e.ctx.Err() != nil:
		e.kill(killedContext)
		return e.ctx.Err()
	case err == nil && len(out) > e.job.Limits.MaxCallBytes:
		err = fault.Newf(fault.CallTooLarge, "the result of this call is larger than %d bytes", e.job.Limits.MaxCallBytes)
	case err == nil:
		return e.w.Write(wire.KindReturn, ref, wire.EncodeReturn(wire.StatusOK, now), out)
	}
	status := wire.StatusFault
	if run.Ends(err) {
		var asFault *fault.Fault
		e.ended, e.anotherAttempt = err, !errors.As(err, &asFault)
		status = wire.StatusEnds
	}
	body, merr := wire.Marshal(fault.From(err).Bounded())
	if merr != nil {
		return merr
	}
	return e.w.Write(wire.KindReturn, ref, wire.EncodeReturn(status, now), body)
}

// probe has the worker run its self-test instead of a job.
func (p *process) probe() ([]wire.Check, error) {
	if err := p.w.Write(wire.KindProbe, 0); err != nil {
		return nil, err
	}
	p.r.SetMax(readyBytes)
	f, err := p.r.Read()
	if err != nil {
		return nil, err
	}
	var checks []wire.Check
	return checks, json.Unmarshal(f.Payload, &checks)
}
