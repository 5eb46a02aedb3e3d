package run

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/internal/budget"
	"github.com/koan-go/koan/framework/run/internal/callfault"
	"github.com/koan-go/koan/framework/run/internal/course"
	"github.com/koan-go/koan/framework/run/tape"
)

// Invoke makes a call of the script. The error is a fault, or Ends(err) is true.
func (a *Attempt) Invoke(ctx context.Context, at Position, id catalog.ID, input json.RawMessage) (json.RawMessage, error) {
	if err := a.count(); err != nil {
		return nil, err
	}
	return a.run.engine.invoke(ctx, a.call(at, input, catalog.SurfaceScript), id)
}

// call returns a call that the run makes itself.
func (a *Attempt) call(at Position, input json.RawMessage, surface catalog.Surface) *call {
	return &call{engine: a.run.engine, request: &a.run.request, input: input, attempt: a, position: at, surface: surface}
}

func (c *call) Invoke(ctx context.Context, id catalog.ID, input json.RawMessage) (json.RawMessage, error) {
	if c.attempt == nil {
		return nil, fault.New(fault.Internal, "a code operation calls through the run that it opens")
	}
	if c.inner != nil {
		return c.inner.invoke(ctx, c.next(), id, input, catalog.SurfaceApp)
	}
	if c.nest != nil {
		return c.nest.invoke(ctx, c.next(), id, input, catalog.SurfaceApp)
	}
	if err := c.attempt.count(); err != nil {
		return nil, err
	}
	return c.engine.invoke(ctx, c.attempt.call(c.next(), input, catalog.SurfaceApp), id)
}

// next returns the position of the next call that c makes.
func (c *call) next() Position {
	return c.position + "." + Position(strconv.FormatInt(c.calls.Add(1), 10))
}

// invoke carries out a call in an attempt. It can reach what its caller sees on the surface.
func (e *Engine) invoke(ctx context.Context, c *call, id catalog.ID) (json.RawMessage, error) {
	a, at := c.attempt, c.position
	if len(c.input) == 0 {
		c.input = json.RawMessage("{}")
	}
	start := time.Now()
	c.called = c.standIn(id)
	id = c.asked(id)
	ctx, over := e.observer.Call(ctx, c.called, at) // scripts can make up names of tools
	out, err := e.admitAndCall(ctx, c, c.called)
	if c.through != nil {
		id = c.op.ID
	}
	if err != nil && !course.Ends(err) {
		f := callfault.From(ctx, c.nameOf(id), err)
		e.report(ctx, f, "run", a.run.ID, "operation", id.String())
		err = f
	}
	over(err)
	e.budget.NoteGarbage(len(c.input) + len(out))
	a.course.Add(c.trace(id, start, err))
	end := CallEnd{
		Attempt: a, Position: at, ID: id, Operation: c.op, Target: c.decoded.Target, Input: c.input,
		Started: start, OutputBytes: len(out), Code: course.CodeOf(err),
	}
	notify(a.run.parts, func(p AfterCaller) { p.AfterCall(end) })
	return out, err
}

// admitAndCall authorises, validates and makes the call.
func (e *Engine) admitAndCall(ctx context.Context, c *call, id catalog.ID) (json.RawMessage, error) {
	r, view := c.attempt.run, c.request.View
	if err := e.authorize(c, id); err != nil {
		return nil, err
	}
	held, err := e.admitInput(c)
	if err != nil {
		return nil, err
	}
	defer func() { c.attempt.Release(held) }()
	if err := e.resolve(ctx, c); err != nil {
		return nil, err
	}
	if err := e.expand(ctx, c, &held); err != nil {
		return nil, err
	}
	if err := e.decode(c, catalog.Input{JSON: c.Input(), Set: c.defaultSet()}); err != nil {
		return nil, err
	}
	if set := c.decoded.Target.Set; set != "" {
		if err := r.enterSet(ctx, set); err != nil {
			return nil, c.attempt.course.End(err)
		}
	}
	if r.spec.DryRun && c.op.Effects.ActsOutside() && !c.op.Nested {
		return nil, fault.Newf(fault.DryRunBlocked, "%s has an effect outside this system", view.Snapshot().ToolName(id))
	}
	ctx = context.WithValue(ctx, callKey{}, c)
	switch {
	case c.op.Nested:
		return e.callNested(ctx, c)
	case c.op.Serial:
		return e.callSerially(c.withClient(ctx), c)
	}
	return e.callOutside(c.withClient(ctx), c)
}

// authorize sets the operation of a call as its caller sees it. An operation that is hidden on the
// caller's surface is reported as unknown; the app's own code is told the missing scope.
func (e *Engine) authorize(c *call, id catalog.ID) error {
	r, view := c.attempt.run, c.request.View
	op := view.Snapshot().Operation(id)
	if op == nil || id.Kind == catalog.KindCode || c.surface == catalog.SurfaceScript && !view.Scripted(id) {
		return callfault.UnknownOperation(id.String())
	}
	c.op = op
	if (c.nest == nil || !c.nest.app) && !r.spec.Only.Permits(id) {
		return fault.Newf(fault.ToolNotFound, "`only` excludes %s from this run", view.Snapshot().ToolName(id)).
			WithHint("Call only what `only` names, or add to it.")
	}
	if missing := c.request.Principal.Missing(op.Needs()); missing != "" {
		return callfault.MissingScope(missing)
	}
	if c.nest != nil && op.Resolve == nil {
		if err := c.nest.admits(op); err != nil {
			return err
		}
	}
	if c.op = c.Sight().Operation(id); c.op == nil {
		return callfault.UnknownOperation(id.String())
	}
	return nil
}

// callOutside makes a call that no transaction covers, unless its result is on the tape.
func (e *Engine) callOutside(ctx context.Context, c *call) (json.RawMessage, error) {
	r := c.attempt.run
	digest := tape.Digest(c.op.ID.String(), c.input)
	o := &OutsideCall{call: c, Attempt: c.attempt, Position: c.position, Operation: c.op, Input: c.input, Expanded: c.expanded, Digest: digest, Effect: c.op.Effects.ActsOutside()}
	c.occurrence = r.tape.Occurrence(c.position, digest)
	if out, err, ok := r.tape.Outside(c.position, digest); ok {
		notify(r.parts, func(p Witness) { p.Recorded(o) })
		return out, err
	}
	if err := consult(r.parts, func(p Gate) error { return p.Outside(ctx, o) }); course.IsPause(err) {
		return nil, c.attempt.course.End(err)
	} else if err != nil {
		return nil, err
	}
	if err := consult(r.parts, func(p Witness) error { return p.BeforeOutside(ctx, o) }); err != nil {
		return nil, err
	}
	return c.attempt.awaitOutside(ctx, c.occurrence == 0, func(ctx context.Context) (json.RawMessage, error) {
		start := time.Now()
		out, err := e.handle(ctx, c)
		if err == nil {
			err = e.checkOutput(ctx, c, out)
		}
		if err != nil && !course.Ends(err) {
			out, err = nil, callfault.From(ctx, c.nameOf(c.op.ID), err)
		}
		if o.Effect && fault.CodeOf(err) != fault.InputRequired { // the handler asks before any effect
			r.NoteOutsideEffect(c.trace(c.op.ID, start, err))
		}
		kept := r.tape.RecordOutside(c.position, digest, out, err)
		notify(r.parts, func(p Witness) { p.AfterOutside(ctx, o, out, err) })
		if kept != nil {
			return nil, c.attempt.course.End(kept)
		}
		return out, err
	})
}

// callSerially makes an entity call. They run one at a time in an attempt, except for calls that a
// call makes itself.
func (e *Engine) callSerially(ctx context.Context, c *call) (json.RawMessage, error) {
	ctx, done, err := c.takeTurn(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	notify(c.attempt.run.parts, func(p Gate) { p.Inside(c.attempt, c.op) })
	out, err := e.handle(ctx, c)
	if err != nil {
		return out, err
	}
	err = e.checkOutput(ctx, c, out)
	switch {
	case err == nil:
		return out, nil
	case c.op.Effects.ReadOnly:
		return nil, err
	}
	return nil, c.attempt.course.End(err) // its writes are not under a savepoint, so the script must not continue
}

// handle calls the provider's handler and turns its panics into faults.
func (e *Engine) handle(ctx context.Context, c *call) (out json.RawMessage, err error) {
	defer func() {
		if p := recover(); p != nil {
			e.opts.Log.ErrorContext(ctx, "panic in a handler", "operation", c.op.ID.String(), "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			out, err = nil, fault.New(fault.Internal, "").Because(fmt.Errorf("panic: %v", p))
		}
	}()
	if c.current != nil {
		return c.current.Handler(ctx, c)
	}
	return c.op.Handler(ctx, c)
}

// decode validates and decodes the input of a call, once: its target, and what the handler needs.
func (e *Engine) decode(c *call, in catalog.Input) (err error) {
	if c.op.Decode == nil {
		return e.schemas.Input(c.op, in.JSON)
	}
	if c.decoded, err = c.op.Decode(in); err != nil {
		return err
	}
	if set := c.decoded.Target.Set; set != "" && !c.request.Principal.MayName(set) {
		return callfault.UnknownSet(set)
	}
	if fewer := c.decoded.Effects; fewer != nil {
		op := *c.op
		op.Effects = *fewer
		c.op = &op
	}
	return nil
}

// admitInput counts the bytes of a call's input, unless it is the request's own, which is counted
// already.
func (e *Engine) admitInput(c *call) (int, error) {
	if !c.attempt.run.Scripted() && !c.position.Nested() {
		return 0, nil
	}
	n, err := e.budget.WeighInput(c.input)
	if err != nil {
		return 0, err
	}
	if err := c.attempt.Hold(int(n)); err != nil {
		return 0, err
	}
	return int(n), nil
}

// expand takes the input that the handler gets from Options.Expand, and counts its bytes.
func (e *Engine) expand(ctx context.Context, c *call, held *int) (err error) {
	if e.opts.Expand == nil {
		return nil
	}
	if c.expanded, err = e.opts.Expand(ctx, c.request.Principal, c.op.ID, c.input); err != nil || c.expanded == nil {
		return err
	}
	if err := c.attempt.Hold(len(c.expanded)); err != nil {
		return err
	}
	*held += len(c.expanded)
	return nil
}

// checkOutput returns a fault if the output of a call does not match its operation's schema.
func (e *Engine) checkOutput(ctx context.Context, c *call, out json.RawMessage) error {
	if c.op.Proven {
		return nil
	}
	if c.attempt != nil { // it is decoded to be checked
		n := int(budget.Weight(out))
		if err := c.attempt.Hold(n); err != nil {
			return err
		}
		defer c.attempt.Release(n)
	}
	return e.schemas.Output(ctx, c.op, c.nameOf(c.op.ID), c.Run(), out)
}
