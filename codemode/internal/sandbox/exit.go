package sandbox

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"time"

	"github.com/koan-go/koan/codemode/worker"
	"github.com/koan-go/koan/framework/fault"
)

// failure sets e.result.Fault to the reason why the worker returned no result, and returns
// the error of Execute.
func (e *execution) failure(err error) error {
	if e.ended != nil {
		e.result.Fault = fault.From(e.ended)
		return e.ended
	}
	if pipeClosed(err) {
		e.awaitExit(exitTimeout / 10) // it is exiting: its status and stderr say why
	}
	why := e.why()
	if why == notKilled && !pipeClosed(err) {
		e.kill(killedDone)
		e.result.Fault = fault.New(fault.ExecutionError, "the script's process violated the protocol").Because(err)
		return nil
	}
	if why == notKilled {
		e.kill(killedDone)
		e.awaitExit(exitTimeout)
	}
	switch why {
	case killedContext:
		e.result.Fault = fault.From(e.ctx.Err())
		return e.ctx.Err()
	case killedClose:
		return fault.New(fault.Cancelled, "the sandbox was closed")
	case killedCPU:
		<-e.guardDone
		if e.stuck {
			e.result.Fault = stuckFault(e.job.Limits.CPUMs)
			return nil
		}
		e.result.Fault = worker.Overdue(time.Duration(e.job.Limits.CPUMs)*time.Millisecond, e.lastCPU())
	case killedThreads:
		e.result.Fault = fault.Newf(fault.ExecutionError, "the script's process started more than %d threads", maxThreads)
	case killedMemory:
		e.result.Fault = worker.MemoryExceeded(e.job.Limits.MemoryBytes)
	default:
		e.result.Fault = e.classify(why, err)
	}
	return nil
}

// stuckFault is the fault of a script that waited for itself for as long as a machine may be too busy for it.
func stuckFault(cpuMs int) *fault.Fault {
	return fault.Newf(fault.Timeout, "the script did not go on: it waited for more than %d ms, and not for a call", worker.Starved*cpuMs).
		WithDetails(map[string]any{"limit": "cpu", "limitMs": cpuMs}).
		WithHint("Wait for calls and for time only, with asyncio.sleep, time.sleep or setTimeout; a lock, a queue or a thread of the script itself may never come.")
}

// pipeClosed reports whether err means that the other end of a pipe is closed, which a
// running worker cannot cause.
func pipeClosed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.EPIPE)
}

// awaitExit waits until the worker is reaped, up to limit.
func (e *execution) awaitExit(limit time.Duration) {
	select {
	case <-e.exited:
	case <-time.After(limit):
	}
}

// processEnd is what ended a worker that the host did not kill.
type processEnd int

const (
	endUnknown processEnd = iota
	endCPULimit
	endKilled // by the system or another program
)

// outOfMemoryTexts are parts of what the Go runtime prints when it runs out of memory or
// stack. The collector does not check all of its own allocations, so a refused one can end
// in a segmentation violation; a script cannot cause one in any other way.
var outOfMemoryTexts = []string{
	"out of memory", "cannot allocate memory", "stack overflow", "goroutine stack exceeds", "stack exceeds",
	"failed to allocate", "failed to create new OS thread", "pthread_create failed", "cannot reserve", "segmentation violation",
}

// classify derives the fault of a worker that has exited from its stderr and its exit
// status. One that the host did not kill ran out of a resource, or was killed from outside:
// the second says nothing about the script.
func (e *execution) classify(why cause, err error) *fault.Fault {
	stderr := e.stderrText()
	for _, text := range outOfMemoryTexts {
		if strings.Contains(stderr, text) {
			return worker.MemoryExceeded(e.job.Limits.MemoryBytes).Because(errors.New(stderr))
		}
	}
	cause := fmt.Errorf("%w; %v; stderr %q", err, e.state, stderr)
	if why == notKilled && e.hasExited() {
		switch endOf(e.state) {
		case endCPULimit:
			return worker.CPUExceeded(time.Duration(e.job.Limits.CPUMs) * time.Millisecond)
		case endKilled:
			return fault.New(fault.ExecutionError, "the script's process was killed from outside, by another program or by a system that is short of memory").
				WithHint("It exceeded no limit of its own. Run it again; if that happens again, look into the system's log, and lower sandbox.maxWorkers or sandbox.memoryMb where memory is short.").Because(cause)
		}
	}
	return fault.New(fault.ExecutionError, "the script's process ended without a result").Because(cause)
}
