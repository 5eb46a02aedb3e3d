// Package observe is how runs are watched as they happen: for traces and metrics.
//
// What belongs here: what an observer hears, W3C's trace context, and the ids by which runs and
// traces are known. Not here: spans, exporters, or anything that changes what happens.
package observe

import (
	"context"
	"time"

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
	// Part is a part of the work of the call of ctx that is over, as timed by what does the work.
	Part(ctx context.Context, p Part)
	// Measure is a value of a metric that is not the engine's own: what is added to it, or one of a histogram's.
	Measure(ctx context.Context, m Metric, value float64)
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

// Part is a part of a call's work.
type Part struct {
	Name       string
	Start, End time.Time
	Failed     bool
}

// Metric is something that a plugin counts or measures. It is the same one as long as all of it is.
type Metric struct {
	Plugin    string
	Name      string // snake_case
	Help      string
	Histogram bool // else its values add up
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

// Part implements Observer.
func (Nobody) Part(context.Context, Part) {}

// Measure implements Observer.
func (Nobody) Measure(context.Context, Metric, float64) {}

// Outgoing implements Observer: peers get what came with the run.
func (Nobody) Outgoing(_ context.Context, parent TraceContext) TraceContext { return parent.Bounded() }
