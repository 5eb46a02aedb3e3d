// Package invoke makes one call for a client under its time limit, and says how it ended in
// the form that all protocols share.
//
// What belongs here: deadlines of calls, and the JSON of what a tool returns or fails with.
// Not here: how a protocol carries that.
package invoke

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/deadline"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/toolset"
	"github.com/koan-go/koan/framework/position"
	"github.com/koan-go/koan/framework/run"
)

// Result is what the engine returned for a call.
type Result struct {
	Output  json.RawMessage
	Outcome *run.Outcome
	Err     error
	// Position is how far the data had come that the answer is about: "" where one server has all of it.
	Position string
	// Late is why the call was cut short, where it has no fault of its own.
	Late *fault.Fault
}

// Ran reports whether a run was opened.
func (r Result) Ran() bool { return r.Outcome != nil && !r.Outcome.Refused }

// Fault returns why the call failed, nil if it did not.
func (r Result) Fault() *fault.Fault {
	if r.Late != nil {
		return r.Late
	}
	return fault.From(r.Err)
}

// errTimeUp is the cause of the end of what did not end in its time.
var errTimeUp = fmt.Errorf("the tool's time is up: %w", context.DeadlineExceeded)

// TimeUp returns errTimeUp, as the cause of a deadline.
func TimeUp() error { return errTimeUp }

// Limit is how long a call of an operation may take; standard is server.toolTimeoutMs.
func Limit(op *catalog.Operation, standard time.Duration) time.Duration {
	if op.Timeout > 0 {
		return op.Timeout
	}
	return standard
}

// WithLimit returns the context of a call, which ends at its limit.
func WithLimit(ctx context.Context, op *catalog.Operation, limit time.Duration) (context.Context, context.CancelFunc) {
	return deadline.WithTimeout(ctx, limit, func() error { return timeoutFault(op, limit) })
}

// Call makes a call in a context of WithLimit. seen is the position of what its caller has seen, "" for
// none that is known.
func Call(ctx context.Context, e *run.Engine, req run.Request, seen string) Result {
	from := run.PositionsOf(e)
	if from == nil {
		return call(ctx, e, req)
	}
	var sent *position.Position
	if seen != "" {
		p, err := position.Parse(seen)
		if err != nil {
			return Result{Err: err}
		}
		sent = &p
	}
	c := position.NewCall(sent)
	r := call(position.With(ctx, c), e, req)
	at, ok := c.Reached()
	if !ok { // what it returns may be kept of an earlier run
		var err error
		if at, err = from.Position(ctx); err != nil {
			return r
		}
	}
	r.Position = at.String()
	return r
}

func call(ctx context.Context, e *run.Engine, req run.Request) Result {
	var r Result
	r.Output, r.Outcome, r.Err = e.Invoke(ctx, req)
	if r.Err == nil || !isContextEnd(r.Err) {
		return r
	}
	if end, _ := deadline.Of(ctx); !time.Now().Before(end) {
		<-ctx.Done() // a copy of the deadline may have been faster than the deadline itself
	}
	if ctx.Err() != nil {
		r.Late = CutShort(ctx)
		if r.Outcome != nil {
			r.Late = run.Unrepeatable(r.Late, r.Outcome.OutsideEffects)
		}
	}
	return r
}

// isContextEnd reports whether a failure only says that the context has ended.
func isContextEnd(err error) bool {
	code := fault.CodeOf(err)
	return code == fault.Cancelled || code == fault.Timeout || code == fault.ToolTimeout || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// timeoutFault is the fault of a call that did not end in its time. It is the cause of the
// context's end, so that the run, its journal and its caller say the same.
func timeoutFault(op *catalog.Operation, limit time.Duration) *fault.Fault {
	ms := limit.Milliseconds()
	f := fault.Newf(fault.ToolTimeout, "the tool did not finish within %d ms", ms).WithDetails(map[string]any{"timeoutMs": ms}).Because(errTimeUp)
	if op.Effects.RepeatsOutside() {
		f.Retry = fault.Never
		f = f.WithHint("It may have taken effect: check outside before calling again.")
	}
	return f
}

// CutShort is why a call was cut short whose context has ended.
func CutShort(ctx context.Context) *fault.Fault {
	var f *fault.Fault
	if errors.As(context.Cause(ctx), &f) {
		return f
	}
	return fault.New(fault.Cancelled, "the connection ended before the call did")
}

// wrapsKey is the key by which a view memoises whether an operation's output is wrapped
// in an object, as its member "result".
type wrapsKey struct{ id catalog.ID }

// Success is what a tool returns: always an object.
func Success(v *catalog.View, op *catalog.Operation, out json.RawMessage) json.RawMessage {
	if len(out) == 0 {
		out = json.RawMessage("{}")
	}
	if out[0] != '{' || catalog.Memo(v, wrapsKey{op.ID}, func() bool { return toolset.Wraps(op) }) {
		return json.RawMessage(`{"result":` + string(out) + `}`)
	}
	return out
}
