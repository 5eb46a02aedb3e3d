package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/codemode/worker"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
)

const (
	// pollEvery is how often the host looks at a running worker.
	pollEvery = 5 * time.Millisecond
	// pollClosely is how often once it holds more than half of its memory: the rest can
	// be filled within a look or two.
	pollClosely = time.Millisecond
	// rssSlack is what a worker may be resident above its base and cap, in bytes: pages of
	// the program that no script before has touched. A worker grows a little more between
	// two looks, and must not come to twice its cap.
	rssSlack = 6 << 20
	// rssJump is how far below twice its cap a worker is stopped whose program takes up
	// much of it by itself: so much it may grow between two looks, in bytes.
	rssJump = 10 << 20
	// maxThreads is how many threads a worker may have. Go starts what it needs, a dozen or
	// two on a crowded machine, and ends where the system refuses one: so they are not
	// refused but counted, and who starts more has taken the worker over.
	maxThreads = 100
	// deathTimeout bounds the wait for a worker's last words.
	deathTimeout = 2 * time.Second
)

// execution is one job in one worker. The goroutine of run reads its frames and serves
// its calls; the guard's only kills.
type execution struct {
	*process
	job   *wire.Job
	grace time.Duration

	ctx    context.Context
	host   wire.Host
	logs   wire.LogBudget
	result wire.Result
	clock  worker.Stopwatch
	begun  time.Time
	over   chan struct{} // closed when the guard is not needed any more
	left   chan struct{} // closed when the guard has gone
	// A call under way ends with the worker.
	stopping sync.Mutex
	stopped  bool
	cancel   func()
	// What the guard saw: the most resident bytes, and the CPU time in nanoseconds.
	peak     atomic.Int64
	cpuUsed  atomic.Int64
	cpuBase  time.Duration
	cpuKnown bool
	ended    error // what run.Ends said of a call
	again    bool  // the run makes another attempt: nothing is wrong with the script
	accepted bool  // the worker has the job
	last     bool  // the worker said that it should not get another script
}

// errUnaccepted says that a worker was gone before the job reached it: another
// one may have it.
var errUnaccepted = errors.New("sandbox: the worker ended before it took the job")

// run has the worker run the job, under its limits and until ctx ends.
func (e *execution) run(ctx context.Context, host wire.Host, bindings []byte) (*wire.Result, error) {
	e.ctx, e.host = ctx, host
	l := e.job.Limits
	e.r.SetMax(max(2*l.MaxResultBytes, l.MaxCallBytes, l.MaxLogBytes) + wire.FrameSlack)
	e.cpuBase, e.cpuKnown = worker.ProcessCPU(e.proc.Pid)
	e.over, e.left, e.begun = make(chan struct{}), make(chan struct{}), time.Now()
	e.clock.Start()
	go e.guard(ctx)
	err := e.send(bindings)
	if err == nil {
		err = e.serve(e.callable(ctx))
		e.cancel()
	}
	e.again = e.again && err == nil
	e.clock.Pause()
	if err != nil && !e.accepted && e.why() == notKilled && ctx.Err() == nil {
		e.leave()
		return nil, fmt.Errorf("%w: %w; it said %q", errUnaccepted, err, e.lastWords())
	}
	logs, emitted, peak := e.result.Logs, e.result.Emitted, e.mostHeld()
	if err != nil {
		e.result = wire.Result{}
		err = e.death(err)
	}
	if err == nil {
		err = e.ended // its fault is in the result, with the line
	}
	if err == nil {
		err = e.overtime()
	}
	if e.result.CPUMs == 0 {
		e.result.CPUMs = float64(max(e.seenCPU(), e.used()).Microseconds()) / 1000
	}
	e.leave()
	e.result.Logs, e.result.Emitted, e.result.PeakMemory = logs, emitted, max(peak, e.peak.Load())
	return &e.result, err
}

// leave waits until the guard has gone: it must not kill who gets the worker next.
func (e *execution) leave() {
	close(e.over)
	<-e.left
}

// mostHeld is how much the worker was resident for this job, in bytes.
func (e *execution) mostHeld() int64 {
	if time.Since(e.begun) > pollEvery { // else it had no time to give anything back
		if peak := e.meter.peak(); peak > e.highest {
			return peak
		}
	}
	return e.meter.resident()
}

// sound reports whether a worker may have another script after the one that ended so:
// not after a limit or a fault of the engine, nor where the script did not end by itself,
// unless it is for another attempt.
func (e *execution) sound(err error) bool {
	if e.last || err != nil {
		return !e.last && e.again
	}
	f := e.result.Fault
	if f == nil {
		return true
	}
	entry, known := fault.Lookup(f.Code)
	return known && !entry.EndsRun && entry.Class != fault.ClassLimit && f.Code != fault.ExecutionError && f.Code != fault.Internal
}

// stop ends the worker and the call that it waits for.
func (e *execution) stop(why cause) {
	e.kill(why)
	e.abort()
	_ = e.out.SetReadDeadline(time.Now()) // its death is not awaited: the signal is enough
}

// abort ends the call that the worker waits for.
func (e *execution) abort() {
	e.stopping.Lock()
	defer e.stopping.Unlock()
	e.stopped = true
	if e.cancel != nil {
		e.cancel()
	}
}

// callable returns the context of the worker's calls.
func (e *execution) callable(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	e.stopping.Lock()
	defer e.stopping.Unlock()
	if e.cancel = cancel; e.stopped {
		cancel()
	}
	return ctx
}

// send sends the worker its job, with its number.
func (e *execution) send(bindings []byte) error {
	if err := e.bind(bindings); err != nil {
		return err
	}
	job := *e.job
	job.Bindings = wire.Bindings{}
	job.WallMs = left(e.ctx)
	e.scripts++
	return e.w.WriteJSON(wire.KindJob, e.scripts, &job)
}

// used is the CPU time that the job has used, as the host sees it: 0 once the
// worker is gone.
func (e *execution) used() time.Duration {
	if !e.cpuKnown {
		return e.clock.Active()
	}
	now, ok := worker.ProcessCPU(e.proc.Pid)
	if !ok {
		return 0
	}
	return now - e.cpuBase
}

// seenCPU is the CPU time as the guard last saw it.
func (e *execution) seenCPU() time.Duration { return time.Duration(e.cpuUsed.Load()) }

// mostResident is how much a worker may be resident that was base without a job, in
// bytes: what the script may take, and less where that would come to twice as much, as
// long as it leaves the script half of it.
func mostResident(base, memory int64) int64 {
	most := base + memory + rssSlack
	if lower := 2*memory - rssJump; lower > base+memory/2 {
		most = min(most, lower)
	}
	return most
}

// guard kills the worker when ctx or the job's time or memory is over.
func (e *execution) guard(ctx context.Context) {
	defer close(e.left)
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	closely := false
	cpu := time.Duration(e.job.Limits.CPUMs) * time.Millisecond
	most := mostResident(e.base, e.job.Limits.MemoryBytes)
	for {
		select {
		case <-e.over:
			return
		case <-e.exited:
			e.abort()
			return
		case <-ctx.Done():
			if !e.late(ctx) {
				e.stop(killedContext)
			}
			return
		case <-ticker.C:
		}
		rss := e.meter.resident()
		e.peak.Store(max(e.peak.Load(), rss))
		if !closely && rss > e.base+e.job.Limits.MemoryBytes/2 {
			closely = true
			ticker.Reset(pollClosely)
		}
		used := max(e.seenCPU(), e.used())
		e.cpuUsed.Store(int64(used))
		switch {
		case e.base > 0 && rss > most:
			e.stop(killedMemory)
			return
		case e.meter.threads() > maxThreads:
			e.stop(killedThreads)
			return
		case used > cpu+e.grace, e.clock.Active() > worker.Starved*cpu+e.grace:
			e.stop(killedCPU)
			return
		}
	}
}

// serve reads frames until the result. Its error says that the worker is gone, or
// must be.
func (e *execution) serve(ctx context.Context) error {
	for {
		f, err := e.r.Read()
		if err != nil {
			return err
		}
		if !e.accepted && (f.Kind != wire.KindAccepted || f.ID != e.scripts) {
			return wire.ErrFrame // of an earlier script
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
			err = e.await(ctx, f)
			e.clock.Resume()
		case wire.KindLog:
			var l wire.Log
			if l, err = readLog(f.Payload); err == nil {
				e.clock.Pause()
				e.logged(l)
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
			return e.finish(f.Payload)
		default:
			err = wire.ErrFrame
		}
		if err != nil {
			return err
		}
	}
}

// logged keeps a message of the script, and lets the host say it at once.
func (e *execution) logged(l wire.Log) {
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
	if e.ended != nil || len(value) == 0 || len(e.result.Emitted) >= wire.MaxEmitted || bytes > e.job.Limits.MaxResultBytes || !wire.WellFormed(value) || !json.Valid(value) {
		return wire.ErrFrame
	}
	e.result.Emitted = append(e.result.Emitted, value)
	e.host.Emit(len(e.result.Emitted)-1, value)
	return nil
}

// call serves one call of the script.
func (e *execution) call(ctx context.Context, f wire.Frame) error {
	id, input, err := e.decodeCall(f)
	if err != nil {
		return err
	}
	out, now, err := e.host.Call(ctx, id, input)
	return e.answer(f.ID, out, now, err)
}

// start begins a call that the script does not wait for yet.
func (e *execution) start(ctx context.Context, f wire.Frame) error {
	id, input, err := e.decodeCall(f)
	if err == nil {
		e.host.Start(ctx, f.ID, id, input)
	}
	return err
}

// await answers with the end of one of the started calls.
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

// answer sends the end of a call.
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
		e.ended, e.again = err, !errors.As(err, &asFault)
		status = wire.StatusEnds
	}
	body, merr := wire.Marshal(fault.From(err).Bounded())
	if merr != nil {
		return merr
	}
	return e.w.Write(wire.KindReturn, ref, wire.EncodeReturn(status, now), body)
}

// probe asks a worker for its self-test instead of giving it a job.
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
