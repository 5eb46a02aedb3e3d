// Package callfault makes the faults that calls end in.
//
// What belongs here: what the error of a handler is to its caller, above all where its context
// is over; refusals of calls. Not here: what a run makes of a fault.
package callfault

import (
	"context"
	"errors"
	"strings"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// From returns the fault that a call ends in. name is that of the operation.
func From(ctx context.Context, name string, err error) *fault.Fault {
	var f *fault.Fault
	switch {
	case SaysContextEnded(ctx, err):
		return OfContext(ctx, err)
	case errors.As(err, &f):
		return f
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		// The run goes on, so that it is neither cancelled nor late.
		return fault.Newf(fault.ExecutionError, "%s gave up: something that it waited for did not answer in time", name).Because(err)
	}
	return fault.From(err)
}

// SaysContextEnded reports whether an error says only that ctx is over: what a handler
// returns then may be anything, and is not a defect of it.
func SaysContextEnded(ctx context.Context, err error) bool {
	if ctx.Err() == nil {
		return false
	}
	var f *fault.Fault
	if !errors.As(err, &f) {
		return true
	}
	return f.Code == fault.Cancelled || f.Code == fault.Internal && errors.Is(err, ctx.Err())
}

// OfContext returns the fault of a call or a run that ended because ctx is over. It keeps the
// line that err knows.
func OfContext(ctx context.Context, err error) *fault.Fault {
	f := *fault.From(cause(ctx)) // which others may have, too
	if at := fault.From(err); at != nil && at.Line != 0 {
		f.Line, f.Column, f.Source = at.Line, at.Column, at.Source
	}
	return f.Because(err)
}

// cause is why a context is over, as a fault or as an error of package context. A cause
// that is neither is only the name that somebody gave to a cancel.
func cause(ctx context.Context) error {
	cause := context.Cause(ctx)
	if Is(cause) || errors.Is(cause, context.Canceled) || errors.Is(cause, context.DeadlineExceeded) {
		return cause
	}
	return ctx.Err()
}

// Is reports whether an error is a fault, or wraps one.
func Is(err error) bool {
	var f *fault.Fault
	return errors.As(err, &f)
}

// MissingScope refuses a caller without a scope.
func MissingScope(scope string) *fault.Fault {
	return fault.Newf(fault.Forbidden, "the scope %q is missing", scope).WithDetails(map[string]any{"scope": scope})
}

// UnknownSet refuses a set that the caller may not name, or that is not there.
func UnknownSet(set string) *fault.Fault {
	return fault.Newf(fault.UnknownSet, "there is no set %q", fault.Clip(strings.ToValidUTF8(set, "?"), 64)).WithPath("/set")
}

// UnknownOperation refuses an operation that the caller does not see, or that is not there.
func UnknownOperation(name string) *fault.Fault {
	return fault.Newf(fault.ToolNotFound, "there is no %q here", name)
}

// Undeclared refuses a call of another operation which contradicts the effects that a nested one
// declares. It returns nil if the call does not. The calls of op are checked themselves.
func Undeclared(nested, op *catalog.Operation, names *catalog.Snapshot) error {
	if nested.Rights == nil || !nested.Rights.Declared || op.Nested {
		return nil
	}
	wrong, member := "", ""
	switch {
	case nested.Effects.ReadOnly && !op.Effects.ReadOnly:
		wrong, member = "read-only", "effects.readOnly"
	case !nested.Effects.Outside && op.Effects.ActsOutside():
		wrong, member = "without effects outside", "effects.outside"
	default:
		return nil
	}
	return fault.Newf(fault.Forbidden, "%s is declared %s, so it cannot call %s", nested.ID.Op, wrong, names.ToolName(op.ID)).
		WithHint("%s", correct(nested, member))
}

// correct says where the declaration of an operation is corrected.
func correct(op *catalog.Operation, member string) string {
	if op.ID.Kind == catalog.KindPlugin {
		return "Correct the effects that the plugin declares of this function, or those that plugins." + op.ID.Owner + ".effects has for it."
	}
	return "Correct " + member + " in the declaration of the action."
}

// UndeclaredWrite returns a fault if a nested operation that is declared read-only writes by itself.
func UndeclaredWrite(nested *catalog.Operation) error {
	if nested.Rights == nil || !nested.Rights.Declared || !nested.Effects.ReadOnly {
		return nil
	}
	return fault.Newf(fault.Forbidden, "%s is declared read-only, so it cannot write", nested.ID.Op).
		WithHint("Correct effects.readOnly in the declaration of the action.")
}
