package sandbox

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/codemode/worker"
	"github.com/koan-go/koan/framework/fault"
)

// Sandbox runs jobs in confined processes, each of which belongs to one caller
// (wire.Executor).
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

// New starts a sandbox with its first worker, so that what is wrong with the
// system shows now and not at the first script. Close must be called.
func New(opts Options) (*Sandbox, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Sandbox{opts: opts, queue: newQueue(opts.MaxWorkers, opts.QueueMax), closing: make(chan struct{})}
	if err := s.open(); err != nil {
		return nil, err
	}
	if err := s.required(); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// Warm waits until the pool is full and the workers that were ended are reaped.
func (s *Sandbox) Warm(ctx context.Context) error { return s.pool.warm(ctx) }

// Close implements wire.Executor: every worker is killed and reaped.
func (s *Sandbox) Close() error {
	s.closeOnce.Do(func() {
		close(s.closing)
		s.pool.close()
		s.running.Wait()
		s.program.close()
	})
	return nil
}

// Execute implements wire.Executor. When ctx ends, its error comes back and
// Result.Fault says the same: timeout with the limit "wall", or cancelled.
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
	if !job.Inner { // else it runs in the place of the job that waits for it
		place, err := s.queue.enter(ctx, job.Principal, s.closing)
		if err != nil {
			return &wire.Result{Fault: fault.From(err)}, err
		}
		defer s.queue.leave(place)
	}
	var unaccepted error
	for range handOvers {
		r, err := s.handOver(ctx, job, host)
		if s.closed() && fault.CodeOf(err) == fault.ServiceUnavailable {
			return r, errClosing
		}
		if !errors.Is(err, errUnaccepted) {
			return r, err
		}
		if s.closed() {
			return &wire.Result{}, errClosing
		}
		unaccepted = err
	}
	return &wire.Result{Fault: fault.New(fault.ExecutionError, "no worker took the script").Because(unaccepted)}, nil
}

// errClosing is what a job gets that comes while the sandbox is being closed.
var errClosing = fault.New(fault.Cancelled, "the sandbox is closed")

func (s *Sandbox) closed() bool {
	select {
	case <-s.closing:
		return true
	default:
		return false
	}
}

// handOvers is how many workers a job is given to before one has to take it: one that
// waits may have been killed by somebody else.
const handOvers = 4

func (s *Sandbox) handOver(ctx context.Context, job *wire.Job, host wire.Host) (*wire.Result, error) {
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
	sound := false
	defer func() { s.pool.release(p, sound) }()
	if p.scripts == 0 {
		if err := p.limit(job.Limits); errors.Is(err, syscall.ESRCH) {
			return nil, fmt.Errorf("%w: %w", errUnaccepted, err)
		} else if err != nil {
			return &wire.Result{}, fault.New(fault.ServiceUnavailable, "the limits of a worker cannot be set").Because(err)
		}
	}
	bindings := job.Bindings.JSON()
	e := &execution{
		process: p, job: job, grace: s.opts.KillGrace,
		logs: wire.LogBudget{MaxEntries: job.Limits.MaxLogEntries, MaxBytes: job.Limits.MaxLogBytes, MaxMessage: job.Limits.MaxLogMessageBytes},
	}
	r, err := e.run(ctx, host, bindings)
	sound = e.sound(err)
	return r, err
}

// SelfTest starts workers and has them try from inside what the confinement must
// stop: as scripts have it, and each other layer by itself, since the outermost
// hides those behind it. The error says that no worker could be had.
func (s *Sandbox) SelfTest(ctx context.Context) ([]wire.Check, error) {
	checks, err := probed(ctx, s.pool)
	if err != nil {
		return nil, err
	}
	for _, l := range s.layers {
		if l == worker.LayerSeccomp {
			continue
		}
		p, first, err := openPool(s.opts, s.program, []string{l})
		if err != nil {
			return nil, fmt.Errorf("sandbox: %w", err)
		}
		p.offer(first)
		more, err := probed(ctx, p)
		p.close()
		if err != nil {
			return nil, fmt.Errorf("sandbox: %s: %w", l, err)
		}
		checks = append(checks, more...)
	}
	return checks, nil
}

func probed(ctx context.Context, from *pool) ([]wire.Check, error) {
	p, err := from.take(ctx, owner{})
	if err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	defer from.release(p, false)
	stop := context.AfterFunc(ctx, func() { p.kill(killedContext) })
	defer stop()
	return p.probe()
}
