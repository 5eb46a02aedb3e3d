package sandbox

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"syscall"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/codemode/worker"
	"github.com/koan-go/koan/framework/fault"
)

// Sandbox is a wire.Executor that runs jobs in confined processes, each of which belongs to
// one caller.
type Sandbox struct {
	opts    Options
	program program
	layers  []string
	missing []Missing
	pool    *pool
	queue   *queue

	closing   chan struct{}
	closeOnce sync.Once
	running   sync.WaitGroup
}

var _ wire.Executor = (*Sandbox)(nil)

// New starts a sandbox and its first worker, so that it fails at once on a system where
// workers cannot run. The caller must call Close.
func New(opts Options) (*Sandbox, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Sandbox{opts: opts, queue: newQueue(opts.MaxWorkers, opts.QueueMax, runtime.GOMAXPROCS(0)), closing: make(chan struct{})}
	if err := s.open(); err != nil {
		return nil, err
	}
	if err := s.checkRequired(); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// Warm waits until the pool is full and all discarded workers are reaped.
func (s *Sandbox) Warm(ctx context.Context) error { return s.pool.warm(ctx) }

// Renew replaces the workers that no caller has yet by others, which are told what holds now.
func (s *Sandbox) Renew() { s.pool.renew() }

// Close implements wire.Executor. It kills and reaps every worker.
func (s *Sandbox) Close() error {
	s.closeOnce.Do(func() {
		close(s.closing)
		s.pool.close()
		s.running.Wait()
		s.program.close()
	})
	return nil
}

// Execute implements wire.Executor. If ctx ends, Execute returns its error, and Result.Fault
// is the corresponding fault: timeout with the limit "wall", or cancelled.
func (s *Sandbox) Execute(ctx context.Context, job *wire.Job, host wire.Host) (*wire.Result, error) {
	job, err := withLimits(job)
	if err != nil {
		return &wire.Result{}, err
	}
	if s.closed() {
		return &wire.Result{}, errClosing
	}
	s.running.Add(1)
	defer s.running.Done()
	var at place
	if job.Inner {
		var leave func()
		at, leave = placeOf(ctx)
		defer leave()
	} else {
		slot, err := s.queue.enter(ctx, job.Principal, s.closing)
		if err != nil {
			return &wire.Result{Fault: fault.From(err)}, err
		}
		defer s.queue.leave(slot)
		at = place{queue: s.queue, ticket: slot}
	}
	var notAccepted error
	for range maxDispatches {
		r, err := s.dispatch(ctx, job, host, at)
		if s.closed() && fault.CodeOf(err) == fault.ServiceUnavailable {
			return r, errClosing
		}
		if !errors.Is(err, errNotAccepted) {
			return r, err
		}
		if s.closed() {
			return &wire.Result{}, errClosing
		}
		notAccepted = err
	}
	return &wire.Result{Fault: fault.New(fault.ExecutionError, "no worker accepted the script").Because(notAccepted)}, nil
}

// errClosing is the fault of a job that arrives while the sandbox is being closed.
var errClosing = fault.New(fault.Cancelled, "the sandbox is closed")

func (s *Sandbox) closed() bool {
	select {
	case <-s.closing:
		return true
	default:
		return false
	}
}

// maxDispatches is how many workers a job is sent to before it fails: a worker may have
// been killed from outside while it was idle.
const maxDispatches = 4

// dispatch runs a job in one worker. The error is errNotAccepted if the worker exited before
// it received the job.
func (s *Sandbox) dispatch(ctx context.Context, job *wire.Job, host wire.Host, at place) (*wire.Result, error) {
	p, err := s.pool.take(ctx, owner{job.Principal, job.Bindings.Version, job.Limits.MemoryBytes, job.Limits.CPUMs})
	switch {
	case ctx.Err() != nil:
		if p != nil {
			s.pool.release(p, true)
		}
		return &wire.Result{Fault: fault.From(ctx.Err())}, ctx.Err()
	case err != nil:
		return &wire.Result{}, fault.New(fault.ServiceUnavailable, "no worker can be started").Because(err)
	}
	reusable := false
	defer func() { s.pool.release(p, reusable) }()
	if p.scripts == 0 {
		if err := p.limit(job.Limits); errors.Is(err, syscall.ESRCH) {
			return nil, fmt.Errorf("%w: %w", errNotAccepted, err)
		} else if err != nil {
			return &wire.Result{}, fault.New(fault.ServiceUnavailable, "the limits of a worker cannot be set").Because(err)
		}
	}
	bindings := job.Bindings.JSON()
	e := &execution{
		process: p, job: job, only: s.opts.Fresh, grace: s.opts.KillGrace, place: at,
		logs: wire.LogBudget{MaxEntries: job.Limits.MaxLogEntries, MaxBytes: job.Limits.MaxLogBytes, MaxMessage: job.Limits.MaxLogMessageBytes},
	}
	r, err := e.run(ctx, host, bindings)
	reusable = e.reusable(err)
	return r, err
}

// SelfTest has workers try from inside what the confinement must prevent: one worker with
// all layers, as scripts run, and one with each layer but seccomp alone, since the outermost
// layer hides those behind it. It returns an error if a worker cannot be started.
func (s *Sandbox) SelfTest(ctx context.Context) ([]wire.Check, error) {
	checks, err := selfTest(ctx, s.pool)
	if err != nil || s.opts.Interpreter != nil { // which has all of its layers, or none
		return checks, err
	}
	for _, l := range s.layers {
		if l == worker.LayerSeccomp {
			continue
		}
		p, first, err := openPool(s.opts, s.program, []string{l})
		if err != nil {
			return nil, fmt.Errorf("sandbox: %w", err)
		}
		p.addFirst(first)
		more, err := selfTest(ctx, p)
		p.close()
		if err != nil {
			return nil, fmt.Errorf("sandbox: %s: %w", l, err)
		}
		checks = append(checks, more...)
	}
	return checks, nil
}

// selfTest runs the self-test in a worker of a pool.
func selfTest(ctx context.Context, from *pool) ([]wire.Check, error) {
	p, err := from.take(ctx, owner{})
	if err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	defer from.release(p, false)
	stop := context.AfterFunc(ctx, func() { p.kill(killedContext) })
	defer stop()
	return p.probe()
}
