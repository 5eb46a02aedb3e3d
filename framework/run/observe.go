package run

import (
	"context"
	"strings"

	"github.com/koan-go/koan/framework/catalog"
)

// Observer sees what happens, as it happens: for traces and metrics. Each method
// is called where something begins, and the function it returns where that ends; the
// context it returns is that of what happens inside. It never changes what happens. An engine without one
// spends nothing on it.
type Observer interface {
	Run(ctx context.Context, r Observed) (context.Context, func(o *Outcome, err error))
	Attempt(ctx context.Context, number int) (context.Context, func(err error))
	Call(ctx context.Context, id catalog.ID, at Position) (context.Context, func(err error))
	// Statement is one of SQL, without its values.
	Statement(ctx context.Context, text string) func(err error)
	// Outgoing returns the trace context that goes on to peers.
	Outgoing(ctx context.Context) TraceContext
}

// Observed is what is known of a run when it begins.
type Observed struct {
	ID        string
	Trace     string // the trace's id, 32 hexadecimal digits where it is W3C's
	Parent    TraceContext
	Surface   string
	Operation catalog.ID
	Tool      string
	DryRun    bool
}

// TraceContext is W3C's: the headers traceparent and tracestate. It is kept as it
// came, valid or not.
type TraceContext struct{ Parent, State string }

// maxTraceState bounds what is passed on, in bytes (W3C Trace Context section 3.3.1.5).
const maxTraceState = 512

// ID returns the trace's id, "" where the context is not valid.
func (t TraceContext) ID() string {
	if t.Parent == "" {
		return ""
	}
	parts := strings.Split(t.Parent, "-")
	if len(parts) < 4 || !hexadecimal(parts[0], 2) || parts[0] == "ff" || !hexadecimal(parts[1], 32) || !hexadecimal(parts[2], 16) || !hexadecimal(parts[3], 2) ||
		parts[0] == "00" && len(parts) > 4 || strings.Trim(parts[1], "0") == "" || strings.Trim(parts[2], "0") == "" {
		return ""
	}
	return parts[1]
}

func hexadecimal(s string, length int) bool {
	return len(s) == length && strings.Trim(s, "0123456789abcdef") == ""
}

// Bounded leaves out what is not valid, and a state that nobody has to pass on.
func (t TraceContext) Bounded() TraceContext {
	if t.ID() == "" {
		return TraceContext{}
	}
	if len(t.State) > maxTraceState {
		t.State = ""
	}
	return t
}

// watching asks an observer, if there is one.
type watching struct{ observer Observer }

func (w watching) observeRun(ctx context.Context, about Observed) (context.Context, func(*Outcome, error)) {
	if w.observer == nil {
		return ctx, func(*Outcome, error) {}
	}
	return w.observer.Run(ctx, about)
}

func (w watching) observeAttempt(ctx context.Context, number int) (context.Context, func(error)) {
	if w.observer == nil {
		return ctx, func(error) {}
	}
	return w.observer.Attempt(ctx, number)
}

func (w watching) observeCall(ctx context.Context, id catalog.ID, at Position) (context.Context, func(error)) {
	if w.observer == nil {
		return ctx, func(error) {}
	}
	return w.observer.Call(ctx, id, at)
}

func (w watching) observeStatement(ctx context.Context, text string) func(error) {
	if w.observer == nil {
		return func(error) {}
	}
	return w.observer.Statement(ctx, text)
}
