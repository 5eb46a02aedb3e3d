package run

import (
	"context"
	"errors"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/position"
	"github.com/koan-go/koan/framework/run/internal/callfault"
	"github.com/koan-go/koan/framework/run/store"
)

// Data is what the app's own code works on in a run beside the calls that it makes: with ent's
// client, say.
type Data interface {
	// Enter returns a context in which the app's own code works on a set as a part of the run of
	// ctx. Nothing is locked, and nothing is read, before that code does something.
	Enter(ctx context.Context, set string) (context.Context, error)
}

// PositionsOf returns how far the data of an engine's app has come, nil where one server has all of it.
func PositionsOf(e *Engine) position.Source {
	if k, ok := e.data.(position.Keeper); ok {
		return k.Positions()
	}
	return nil
}

// UseData sets the data of the app's own code. It is called before the first call.
func (e *Engine) UseData(d Data) { e.data = d }

// Enter returns the context in which the handler works on a set by itself. Where there is no data
// that is ctx.
func (n *Nest) Enter(ctx context.Context, set string) (context.Context, error) {
	if n.call.engine.data == nil {
		return ctx, nil
	}
	return n.call.engine.data.Enter(ctx, set)
}

// Join returns the attempt's transaction on a set for what the app's own code does by itself in the
// call of ctx: an action, a hook. With write it may write. It is nil outside of a run, and after the
// commit of one: then that code is on its own. It opens no savepoint; what a nested call wrote is
// kept or undone with it.
func Join(ctx context.Context, s store.Store, set string, write bool) (_ store.Tx, err error) {
	c := currentCall(ctx)
	if c == nil || c.attempt == nil || c.attempt.committed.Load() {
		return nil, nil
	}
	a := c.attempt
	if err := c.over(); err != nil {
		return nil, err
	}
	if !c.op.Serial && !c.op.Nested { // its result is on the tape: another attempt would not write again
		if !write {
			return nil, nil
		}
		return nil, fault.Newf(fault.CapabilityUnsupported, "%s is a call outside of the run's transactions, and cannot write entities by itself", c.op.ID).
			WithHint("Write with Call.Invoke, or make it an action (framework.Action).")
	}
	if write {
		if err := c.mayWrite(); err != nil {
			return nil, err
		}
	}
	defer func() { err = a.stale(err) }()
	t, err := a.txs.enter(ctx, s, set, write)
	if err != nil {
		return nil, err
	}
	return t.Tx, nil
}

// over returns a fault if the call is over, or the attempt that it is a part of.
func (c *call) over() error {
	if c.inner != nil && c.inner.ended.Load() || c.attempt.course.Closed() != nil {
		return fault.New(fault.InvalidRequest, "the call that this context belongs to is over").
			WithHint("Finish all work before the action or hook returns. Put what is to happen after the commit into run.AfterCommit.")
	}
	return nil
}

// mayWrite returns a fault if the app's own code must not write in the call.
func (c *call) mayWrite() error {
	if c.inner == nil && c.op.Effects.ReadOnly {
		return fault.New(fault.InvalidRequest, "a rule of the app wrote while an entity was being read; read operations cannot write").
			WithHint("Write in a hook or in an action.")
	}
	if c.attempt.CommitsByCall() { // only the call's own transaction is committed
		return fault.New(fault.CapabilityUnsupported, "a hook cannot write to another set in a run that commits call by call").
			WithHint("Leave `atomic: false` out.")
	}
	for n := c.innermost(); n != nil; n = n.outer {
		if err := callfault.UndeclaredWrite(n.call.op); err != nil {
			return err
		}
	}
	return nil
}

// innermost returns the Nest of the call itself, else the one that it is made by.
func (c *call) innermost() *Nest {
	if c.inner != nil {
		return c.inner
	}
	return c.nest
}

// CallerOf returns whose rights the app's own code in the call of ctx has, and what they show: those of
// a nested operation's calls, else the caller's. ok is false outside of a run.
func CallerOf(ctx context.Context) (p auth.Principal, v *catalog.View, ok bool) {
	c := currentCall(ctx)
	if c == nil || c.attempt == nil {
		return p, nil, false
	}
	if c.inner != nil {
		return c.inner.Principal(), c.inner.View(), true
	}
	return c.Principal(), c.View(), true
}

// Restart converts the store's ErrStale, in an error of what the app's own code did in the call of
// ctx, into the need for another attempt. Other errors are returned unchanged.
func Restart(ctx context.Context, err error) error {
	if c := currentCall(ctx); c != nil && c.attempt != nil {
		return c.attempt.stale(err)
	}
	return err
}

// Abandon ends the attempt in whose call the app's own code left something half-done, and returns why
// it has ended.
func Abandon(ctx context.Context, err error) error {
	if c := currentCall(ctx); c != nil && c.attempt != nil {
		return c.attempt.course.End(err)
	}
	return err
}

// NoteFault notes a fault of what the app's own code did in the call of ctx, so that a nested operation
// which returns it is not taken for its author. It returns err.
func NoteFault(ctx context.Context, err error) error {
	if c := currentCall(ctx); c != nil && c.innermost() != nil {
		c.innermost().NoteFault(err)
	}
	return err
}

// NoteFault notes the fault of a call that the handler made.
func (n *Nest) NoteFault(err error) {
	if f, ok := errors.AsType[*fault.Fault](err); ok {
		n.faults.Store(f, true)
	}
}

// OfCall reports whether the handler has the fault from a call that it made, and did not make it itself.
func (n *Nest) OfCall(f *fault.Fault) bool {
	_, ok := n.faults.Load(f)
	return ok
}
