package run

import (
	"context"
	"encoding/json"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/internal/callfault"
)

// count counts a call against the quota. It is called before the call, which must not happen if it
// exceeds the quota.
func (a *Attempt) count() error {
	limit := a.run.spec.MaxCalls
	if err := a.course.Count(limit, func() error { return TooManyCalls(a.run.View(), limit) }); err != nil {
		return err
	}
	return a.Hold(callBytes)
}

// callBytes is how much the host keeps for a call besides its output, in bytes: its records for the
// reply and the journal, and the script's clock after it. It is a generous estimate.
const callBytes = 640

// TooManyCalls is the fault of a script that has made more calls than it may.
func TooManyCalls(v *catalog.View, limit int) *fault.Fault {
	f := fault.Newf(fault.SDKCallsExceeded, "the script made more than %d calls", limit).WithDetails(map[string]any{"limit": limit})
	if len(v.Resources()) == 0 { // the registry's hint is about entities
		return f.WithHint("Ask for more with each call, where a tool takes a list or a filter, or do the work in several runs.")
	}
	return f
}

// admit authorises a call, and validates and decodes its input. size is how many bytes of the input it
// has counted, even if it returns an error; they are released after the call.
func (a *admission) admit(ctx context.Context, c *call, id catalog.ID) (size int, err error) {
	r := c.attempt.run
	if err := a.authorize(c, id); err != nil {
		return 0, err
	}
	if size, err = a.admitInput(c); err != nil {
		return size, err
	}
	if err := a.resolve(ctx, c); err != nil {
		return size, err
	}
	if err := a.expand(ctx, c, &size); err != nil {
		return size, err
	}
	if err := a.decode(c, catalog.Input{JSON: c.Input(), Set: c.defaultSet()}); err != nil {
		return size, err
	}
	if set := c.decoded.Target.Set; set != "" {
		if err := r.enterSet(ctx, set); err != nil {
			return size, c.attempt.course.End(err)
		}
	}
	if r.spec.DryRun && c.op.Effects.ActsOutside() && !c.op.Nested {
		return size, fault.Newf(fault.DryRunBlocked, "%s has an effect outside this system", c.request.View.Snapshot().ToolName(id))
	}
	return size, nil
}

// authorize sets the operation of a call as its caller sees it. An operation that is hidden on the
// caller's surface is reported as unknown; the app's own code is told the missing scope.
func (a *admission) authorize(c *call, id catalog.ID) error {
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
	if op.Resolve == nil {
		if err := c.nest.rejectUndeclared(op, c.request.View.Snapshot()); err != nil {
			return err
		}
	}
	if c.op = c.Sight().Operation(id); c.op == nil {
		return callfault.UnknownOperation(id.String())
	}
	return nil
}

// rejectUndeclared returns a fault if a call of op contradicts the declared effects of a nested
// operation that makes it.
func (n *Nest) rejectUndeclared(op *catalog.Operation, s *catalog.Snapshot) error {
	for ; n != nil; n = n.outer {
		if err := callfault.Undeclared(n.call.op, op, s); err != nil {
			return err
		}
	}
	return nil
}

// resolve turns a call of an operation that stands for others into one of the operation that it
// is of. Nothing stays locked while it waits.
func (a *admission) resolve(ctx context.Context, c *call) error {
	if c.op.Resolve == nil {
		return nil
	}
	if err := a.decode(c, catalog.Input{JSON: c.input}); err != nil {
		return err
	}
	var op *catalog.Operation
	input, err := c.attempt.awaitOutside(ctx, true, func(ctx context.Context) (input json.RawMessage, err error) {
		op, input, err = c.op.Resolve(ctx, c)
		return input, err
	})
	if err != nil {
		return err
	}
	if missing := c.request.Principal.Missing(op.Needs()); missing != "" {
		return callfault.MissingScope(missing)
	}
	c.through, c.op, c.input = c.op, op, input
	c.decoded = catalog.Decoded{}
	return c.nest.rejectUndeclared(op, c.request.View.Snapshot())
}

// decode validates and decodes the input of a call, once: its target, and what the handler needs.
func (a *admission) decode(c *call, in catalog.Input) (err error) {
	if c.op.Decode == nil {
		return a.checkInput(c, in.JSON)
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

// checkInput checks the input of a call that has no Decode, and takes its integers as the schema has them.
func (a *admission) checkInput(c *call, input json.RawMessage) error {
	fit, err := a.schemas.Integers(c.op.Input, input)
	if err != nil {
		return err
	}
	if c.expanded != nil {
		c.expanded = fit
	} else {
		c.input = fit
	}
	return a.schemas.Input(c.op, fit)
}

// admitInput counts the bytes of a call's input, unless it is the request's own, which is counted
// already.
func (a *admission) admitInput(c *call) (int, error) {
	if !c.attempt.run.Scripted() && !c.position.Nested() {
		return 0, nil
	}
	n, err := a.budget.WeighInput(c.input)
	if err != nil {
		return 0, err
	}
	if err := c.attempt.Hold(int(n)); err != nil {
		return 0, err
	}
	return int(n), nil
}

// expand takes the input that the handler gets from Options.Expand, and counts its bytes.
func (a *admission) expand(ctx context.Context, c *call, size *int) (err error) {
	if a.opts.Expand == nil || c.op.TakesFiles() && a.schemas.Input(c.op, c.input) == nil { // it fits as it is
		return nil
	}
	if c.expanded, err = a.opts.Expand(ctx, c.request.Principal, c.op.ID, c.input); err != nil || c.expanded == nil {
		return err
	}
	if err := c.attempt.Hold(len(c.expanded)); err != nil {
		return err
	}
	*size += len(c.expanded)
	return nil
}
