package run

import (
	"context"
	"errors"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/tape"
)

// contextError is why a context is over, as a fault or as an error of package context. A cause
// that is neither is somebody's own word for a cancel.
func contextError(ctx context.Context) error {
	cause := context.Cause(ctx)
	if isFault(cause) || errors.Is(cause, context.Canceled) || errors.Is(cause, context.DeadlineExceeded) {
		return cause
	}
	return ctx.Err()
}

// isContextEnd reports whether an error says only that ctx is over: what a handler
// returns then may be anything, and is not a defect of it.
func isContextEnd(ctx context.Context, err error) bool {
	if ctx.Err() == nil {
		return false
	}
	var f *fault.Fault
	if !errors.As(err, &f) {
		return true
	}
	return f.Code == fault.Cancelled || f.Code == fault.Internal && errors.Is(err, ctx.Err())
}

// contextFault is the fault of a call or a run that ended because ctx is over. It keeps the
// line that err knows.
func contextFault(ctx context.Context, err error) *fault.Fault {
	f := *fault.From(contextError(ctx)) // which others may have, too
	if at := fault.From(err); at != nil && at.Line != 0 {
		f.Line, f.Column, f.Source = at.Line, at.Column, at.Source
	}
	return f.Because(err)
}

// faultOf is the fault that a call ends in. name is that of the operation.
func faultOf(ctx context.Context, name string, err error) *fault.Fault {
	var f *fault.Fault
	switch {
	case isContextEnd(ctx, err):
		return contextFault(ctx, err)
	case errors.As(err, &f):
		return f
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		// The run goes on, so that it is neither cancelled nor late.
		return fault.Newf(fault.ExecutionError, "%s gave up: something that it waited for did not answer in time", name).Because(err)
	}
	return fault.From(err)
}

// codeOf is the code of what a call ended in, "" for success.
func codeOf(err error) fault.Code {
	if err == nil {
		return ""
	}
	if p, ok := err.(Pause); ok { //nolint:errorlint // never wrapped
		return p.Code()
	}
	if isRestart(err) {
		return fault.Conflict
	}
	return fault.CodeOf(err)
}

// nameOf is how messages name an operation.
func (c *call) nameOf(id catalog.ID) string {
	if c.op == nil {
		return id.String()
	}
	return c.request.View.Snapshot().ToolName(id)
}

// restart ends an attempt so that the next one can begin.
type restart struct {
	why       string
	uncounted bool // it does not count
}

func (e *restart) Error() string { return "run: new attempt: " + e.why }

// Is implements errors.Is: a call that ends in it has to be made again.
func (e *restart) Is(target error) bool { return target == tape.ErrUnfinished }

func isRestart(err error) bool {
	var r *restart
	return errors.As(err, &r)
}

// allowsAnotherAttempt reports whether another attempt may follow one that ended in err.
func allowsAnotherAttempt(err error) bool { return isRestart(err) || isPause(err) }

// Ends reports whether a call's error ends the attempt: a quota or limit that
// must not be caught, or the need for a new attempt. An executor stops the
// script at once and returns the error from its body.
func Ends(err error) bool {
	if err == nil {
		return false
	}
	if allowsAnotherAttempt(err) {
		return true
	}
	var f *fault.Fault
	return errors.As(err, &f) && f.EndsRun()
}
