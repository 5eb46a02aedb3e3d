// Package observe is how runs are watched as they happen: for traces and metrics.
//
// What belongs here: what an observer hears, W3C's trace context, and the ids by which runs and
// traces are known. Not here: spans, exporters, or anything that changes what happens.
package observe

import (
	"context"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/run/tape"
)

// Observer sees what happens, as it happens. Methods that return a function are called where something begins,
// and that function where it ends; the context it returns is that of what happens
// inside. It never changes what happens.
type Observer interface {
	Run(ctx context.Context, r Run) (context.Context, func(end RunEnd, err error))
	Attempt(ctx context.Context, number int) (context.Context, func(err error))
	Call(ctx context.Context, id catalog.ID, at tape.Position) (context.Context, func(err error))
	// Statement is one of SQL, without its values.
	Statement(ctx context.Context, text string) func(err error)
	// AfterCommit is called after each function that a run left for after its commit.
	// outcome is ok, error, panic, or dropped for one that was not called.
	AfterCommit(ctx context.Context, outcome string)
	// Outgoing returns the trace context that goes on to peers. parent is that of the run.
	Outgoing(ctx context.Context, parent TraceContext) TraceContext
}

// Run is what is known of a run when it begins.
type Run struct {
	ID        string
	Trace     string // the trace's id, 32 hexadecimal digits where it is W3C's
	Parent    TraceContext
	Surface   string
	Operation catalog.ID
	Tool      string
	DryRun    bool
}

// RunEnd is what is known of it besides when it ends.
type RunEnd struct {
	Attempts  int
	Calls     int
	Committed bool
}

// Nobody observes nothing. It is comparable.
type Nobody struct{}

// Run implements Observer.
func (Nobody) Run(ctx context.Context, _ Run) (context.Context, func(RunEnd, error)) {
	return ctx, func(RunEnd, error) {}
}

// Attempt implements Observer.
func (Nobody) Attempt(ctx context.Context, _ int) (context.Context, func(error)) {
	return ctx, func(error) {}
}

// Call implements Observer.
func (Nobody) Call(ctx context.Context, _ catalog.ID, _ tape.Position) (context.Context, func(error)) {
	return ctx, func(error) {}
}

// Statement implements Observer.
func (Nobody) Statement(context.Context, string) func(error) { return func(error) {} }

// AfterCommit implements Observer.
func (Nobody) AfterCommit(context.Context, string) {}

// Outgoing implements Observer: peers get what came with the run.
func (Nobody) Outgoing(_ context.Context, parent TraceContext) TraceContext { return parent.Bounded() }
