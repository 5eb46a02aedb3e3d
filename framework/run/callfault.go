package run

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/koan-go/koan/framework/fault"
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

func isFault(err error) bool {
	var f *fault.Fault
	return errors.As(err, &f)
}

func forbidden(scope string) error {
	return fault.Newf(fault.Forbidden, "the scope %q is missing", scope).WithDetails(map[string]any{"scope": scope})
}

func unknownSet(set string) error {
	if len(set) > 64 {
		set = set[:64] + "…"
	}
	return fault.Newf(fault.UnknownSet, "there is no set %q", strings.ToValidUTF8(set, "?")).WithPath("/set")
}

func unknownOperation(name string) error {
	return fault.Newf(fault.ToolNotFound, "there is no %s here", fmt.Sprintf("%q", name))
}
