package sandbox

import (
	"context"
	"errors"

	"github.com/koan-go/koan/codemode/wire"
	"github.com/koan-go/koan/framework/fault"
)

// anticipated is a job whose script a worker compiles while its attempt is being
// prepared.
type anticipated struct {
	s     *Sandbox
	e     *execution
	place *ticket
}

// Anticipate implements wire.Anticipator. The job has its place in the queue and its
// worker from now on, and meets its limits.
func (s *Sandbox) Anticipate(ctx context.Context, job *wire.Job) wire.Anticipated {
	job, err := withLimits(job)
	if err != nil || s.closed() {
		return nil // Execute says so
	}
	place := s.queue.enterIdle(job.Principal)
	if place == nil {
		return nil
	}
	s.running.Add(1)
	a := &anticipated{s: s, place: place}
	p := s.pool.takeIdle()
	if p != nil {
		if a.e, err = s.begin(ctx, p, job, place, false); err != nil {
			s.pool.discard(p) // Execute tries another one
		}
	}
	if a.e == nil {
		a.leave()
		return nil
	}
	return a
}

// Execute implements wire.Anticipated.
func (a *anticipated) Execute(ctx context.Context, o wire.Occasion, host wire.Host) (*wire.Result, error) {
	if ctx.Err() != nil {
		a.Release()
		return &wire.Result{Fault: fault.From(ctx.Err())}, ctx.Err()
	}
	stop := context.AfterFunc(ctx, func() { a.e.stopFor(ctx) })
	r, err := a.e.run(ctx, host, o)
	stop()
	a.Release()
	if !errors.Is(err, errUnaccepted) {
		return r, err
	}
	job := *a.e.job
	job.Occasion = o
	return a.s.Execute(ctx, &job, host)
}

// Release implements wire.Anticipated.
func (a *anticipated) Release() {
	a.e.leave()
	a.s.pool.discard(a.e.process)
	a.leave()
}

func (a *anticipated) leave() {
	a.s.queue.leave(a.place)
	a.s.running.Done()
}
