package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/koan-go/koan/codemode/internal/language"
	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/codemode/worker"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
)

// NewInProcess returns an executor that runs scripts in this process, with the same
// bindings and results but without confinement or a memory limit. It is for authors who
// test their own scripts, and panics outside of `go test`.
func NewInProcess(languages func() []language.Language) wire.Executor {
	if !testing.Testing() {
		panic("sandbox: NewInProcess is for tests only: a hostile script would take the host down")
	}
	return &inProcess{languages: languages}
}

type inProcess struct {
	languages func() []language.Language

	mu     sync.Mutex
	closed bool
}

// Execute implements wire.Executor. A script that loops inside a built-in function
// cannot be interrupted here.
func (x *inProcess) Execute(ctx context.Context, job *wire.Job, host wire.Host) (*wire.Result, error) {
	x.mu.Lock()
	closed := x.closed
	x.mu.Unlock()
	if closed {
		return &wire.Result{}, fault.New(fault.Cancelled, "the sandbox is closed")
	}
	job, err := withLimits(job)
	if err != nil {
		return &wire.Result{}, err
	}
	p := &directPort{
		ctx: ctx, host: host, limits: job.Limits,
		budget: wire.LogBudget{MaxEntries: job.Limits.MaxLogEntries, MaxBytes: job.Limits.MaxLogBytes, MaxMessage: job.Limits.MaxLogMessageBytes},
	}
	r := worker.Run(ctx, x.languages(), job, p, worker.Gauges{})
	r.Logs, r.Emitted = p.logs, p.emitted
	switch {
	case p.ended != nil:
		return r, p.ended
	case ctx.Err() != nil:
		return &wire.Result{Fault: fault.From(ctx.Err()), Logs: p.logs, Emitted: p.emitted}, ctx.Err()
	}
	return r, nil
}

// Close implements wire.Executor.
func (x *inProcess) Close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.closed = true
	return nil
}

// directPort is a language.Port that calls the host directly instead of through a pipe.
type directPort struct {
	ctx     context.Context
	host    wire.Host
	limits  wire.Limits
	budget  wire.LogBudget
	logs    []wire.Log
	emitted []json.RawMessage
	ended   error
}

// Call implements language.Port.
func (p *directPort) Call(operation string, input []byte) language.Reply {
	in := append(json.RawMessage(nil), input...) // the script reuses its buffer
	out, now, err := p.host.Call(p.ctx, operation, in)
	return p.reply(out, now, err)
}

// Start implements language.Port.
func (p *directPort) Start(ref uint32, operation string, input []byte) {
	p.host.Start(p.ctx, ref, operation, append(json.RawMessage(nil), input...))
}

// Await implements language.Port.
func (p *directPort) Await(most time.Duration) (uint32, language.Reply) {
	ref, out, now, err := p.host.Next(p.ctx, most)
	r := p.reply(out, now, err)
	if ref == 0 && err != nil && !r.Ends {
		p.ended, r.Ends = err, true
	}
	return ref, r
}

// reply converts the outcome of a call.
func (p *directPort) reply(out json.RawMessage, now int64, err error) language.Reply {
	switch {
	case p.ctx.Err() != nil:
		return language.Reply{NowMs: now, Ends: true}
	case err == nil && len(out) > p.limits.MaxCallBytes:
		err = fault.Newf(fault.CallTooLarge, "the result of this call is larger than %d bytes", p.limits.MaxCallBytes)
	case err == nil:
		return language.Reply{Out: out, NowMs: now}
	}
	if !run.Ends(err) {
		return language.Reply{NowMs: now, Fault: fault.From(err)}
	}
	p.ended = err
	r := language.Reply{NowMs: now, Ends: true}
	var f *fault.Fault
	if errors.As(err, &f) {
		r.Fault = f
	}
	return r
}

// Log implements language.Port.
func (p *directPort) Log(l wire.Log) {
	for _, l := range p.budget.Admit(l) {
		p.logs = append(p.logs, l)
		p.host.Log(l)
	}
}

// Progress implements language.Port.
func (p *directPort) Progress(pr wire.Progress) { p.host.Progress(pr.Done, pr.Total, pr.Message) }

// Emit implements language.Port.
func (p *directPort) Emit(value []byte) {
	p.emitted = append(p.emitted, value)
	p.host.Emit(len(p.emitted)-1, value)
}

var _ language.Port = (*directPort)(nil)
