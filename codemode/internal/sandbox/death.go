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

// death says what ended a job whose worker gave no result, in e.result.Fault, and
// gives the error of Execute.
func (e *execution) death(err error) error {
	if e.ended != nil {
		e.result.Fault = fault.From(e.ended)
		return e.ended
	}
	if ending(err) {
		e.settle(deathTimeout / 10) // it is dying: let it say how
	}
	why := e.why()
	if why == notKilled && !ending(err) {
		e.kill(killedDone)
		e.result.Fault = fault.New(fault.ExecutionError, "the script's process broke off the protocol").Because(err)
		return nil
	}
	if why == notKilled {
		e.kill(killedDone)
		e.settle(deathTimeout)
	}
	switch why {
	case killedContext:
		e.result.Fault = fault.From(e.ctx.Err())
		return e.ctx.Err()
	case killedClose:
		return fault.New(fault.Cancelled, "the sandbox was closed")
	case killedCPU:
		e.result.Fault = worker.Overdue(time.Duration(e.job.Limits.CPUMs)*time.Millisecond, e.seenCPU())
	case killedThreads:
		e.result.Fault = fault.Newf(fault.ExecutionError, "the script's process started more than %d threads", maxThreads)
	case killedMemory:
		e.result.Fault = worker.MemoryExceeded(e.job.Limits.MemoryBytes)
	default:
		e.result.Fault = e.classify(why, err)
	}
	return nil
}

// ending reports whether an error is that of a pipe whose other end is gone, which no
// living worker can cause.
func ending(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.EPIPE)
}

// settle waits for the worker's exit.
func (e *execution) settle(limit time.Duration) {
	select {
	case <-e.exited:
	case <-time.After(limit):
	}
}

// bySignal says what the kernel ended a worker for.
type bySignal int

const (
	byNothing bySignal = iota
	byKernelCPU
	byKernelMemory
)

// dyingOfMemory are what the Go runtime says when it has to stop for a lack of
// memory or of stack. The collector does not check all of its own allocations, so
// a refused one can show as a segmentation violation; no script can cause another.
var dyingOfMemory = []string{
	"out of memory", "cannot allocate memory", "stack overflow", "goroutine stack exceeds", "stack exceeds",
	"failed to allocate", "failed to create new OS thread", "pthread_create failed", "cannot reserve", "segmentation violation",
}

// classify reads a worker's last words: what the host did not kill died of a
// resource.
func (e *execution) classify(why cause, err error) *fault.Fault {
	words := e.lastWords()
	for _, w := range dyingOfMemory {
		if strings.Contains(words, w) {
			return worker.MemoryExceeded(e.job.Limits.MemoryBytes).Because(errors.New(words))
		}
	}
	if why == notKilled && e.gone() {
		switch signalled(e.state) {
		case byKernelCPU:
			return worker.CPUExceeded(time.Duration(e.job.Limits.CPUMs) * time.Millisecond)
		case byKernelMemory:
			return worker.MemoryExceeded(e.job.Limits.MemoryBytes)
		}
	}
	return fault.New(fault.ExecutionError, "the script's process ended without a result").
		Because(fmt.Errorf("%w; %v; it said %q", err, e.state, words))
}
