package run

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/koan-go/koan/framework/auth"
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
	return &call{engine: a.run.engine, request: &a.run.request, callInput: callInput{input: input}, attempt: a, position: at, surface: surface}
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

// invoke carries out a call in an attempt. It can reach what its caller sees on the surface.
func (e *Engine) invoke(ctx context.Context, c *call, id catalog.ID) (json.RawMessage, error) {
	a, at := c.attempt, c.position
	if len(c.input) == 0 {
		c.input = json.RawMessage("{}")
	}
	start := time.Now()
	c.called, c.input = c.request.View.Snapshot().StandIn(id, c.input)
	if tool, ok := c.called.NamedTool(c.input); ok {
		id = tool
	}
	ctx, over := e.observer.Call(ctx, c.called, at) // scripts can make up names of tools
	out, err := e.admitAndCall(ctx, c, c.called)
	if c.through != nil {
		id = c.op.ID
	}
	if err != nil && !course.Ends(err) {
		err = e.report(ctx, callfault.From(ctx, c.nameOf(id), err), "run", a.run.ID, "operation", id.String())
	}
	over(err)
	e.budget.NoteGarbage(len(c.input) + len(out))
	if !c.nest.byApp() {
		a.course.Add(course.Record(c.trace(id, start, err)))
	}
	end := CallEnd{
		Attempt: a, Position: at, ID: id, Operation: c.op, Target: c.decoded.Target, Input: c.input,
		Started: start, OutputBytes: len(out), Code: course.CodeOf(err), App: c.nest.byApp(),
	}
	notify(a.run.parts, func(p AfterCaller) { p.AfterCall(end) })
	return out, err
}

// admitAndCall authorises, validates and makes the call. A panic of what decodes its input, or of
// anything else that is the app's or a provider's, becomes a fault.
func (e *Engine) admitAndCall(ctx context.Context, c *call, id catalog.ID) (_ json.RawMessage, err error) {
	defer fault.Recover(&err)
	size, err := e.admit(ctx, c, id)
	defer c.attempt.Release(size)
	if err != nil {
		return nil, err
	}
	ctx = context.WithValue(ctx, callKey{}, c)
	switch {
	case c.op.Nested:
		return e.callNested(ctx, c)
	case c.op.Converses:
		return (&conversation{engine: e, call: c}).run(ctx)
	case c.op.Serial:
		return e.callSerially(c.withClient(ctx), c)
	}
	return e.callOutside(c.withClient(ctx), c)
}

// callOutside makes a call that no transaction covers, unless its result is on the tape.
func (e *Engine) callOutside(ctx context.Context, c *call) (json.RawMessage, error) {
	r := c.attempt.run
	o := newOutsideCall(ctx, c)
	if out, err, ok := r.tape.Outside(c.position, o.Digest); ok {
		notify(r.parts, func(p Witness) { p.Recorded(o) })
		return out, err
	}
	if err := o.permit(ctx); err != nil {
		return nil, err
	}
	return c.attempt.awaitOutside(ctx, c.occurrence == 0, func(ctx context.Context) (json.RawMessage, error) {
		start := time.Now()
		out, err := e.handle(ctx, o.current, c)
		if err == nil {
			out = e.schemas.WholeIntegers(c.op, out)
			err = e.checkOutput(ctx, c, out)
		}
		if err != nil && !course.Ends(err) {
			out, err = nil, callfault.From(ctx, c.nameOf(c.op.ID), err)
		}
		if o.Effect && !catalog.HadNoEffect(err) {
			r.NoteOutsideEffect(c.trace(c.op.ID, start, err))
		}
		kept := r.tape.RecordOutside(c.position, o.Digest, out, err)
		notify(r.parts, func(p Witness) { p.AfterOutside(ctx, o, out, err) })
		if kept != nil {
			return nil, c.attempt.course.End(kept)
		}
		return out, err
	})
}

// newOutsideCall returns a call as one that no transaction covers.
func newOutsideCall(ctx context.Context, c *call) *OutsideCall {
	kind := c.op.ID.String()
	if catalog.WantsWholeResult(ctx) { // another output than that of the same call
		kind += " whole"
	}
	digest := tape.Digest(kind, c.input)
	c.occurrence = c.attempt.run.tape.Occurrence(c.position, digest)
	return &OutsideCall{
		Attempt: c.attempt, Position: c.position, Operation: c.op, Input: c.input, Expanded: c.expanded,
		Digest: digest, Effect: c.op.Effects.ActsOutside(), App: c.nest.byApp(), request: c.request, current: c.op,
	}
}

// permit asks those who take part in the run whether the call may be made. An error refuses it.
func (o *OutsideCall) permit(ctx context.Context) error {
	parts := o.Attempt.run.parts
	if err := consult(parts, func(p Gate) error { return p.Outside(ctx, o) }); course.IsPause(err) {
		return o.Attempt.course.End(err)
	} else if err != nil {
		return err
	}
	return consult(parts, func(p Witness) error { return p.BeforeOutside(ctx, o) })
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
	out, err := e.handle(ctx, c.op, c)
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

// callNested makes a call of a nested operation.
func (e *Engine) callNested(ctx context.Context, c *call) (out json.RawMessage, err error) {
	ctx, done, err := c.takeTurn(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if c.inner, err = e.newNest(c); err != nil {
		return nil, err
	}
	a := c.attempt
	notify(a.run.parts, func(p Gate) { p.Inside(a, c.op) })
	ctx = context.WithValue(auth.With(ctx, c.inner.request.Principal), turnKey{a}, turn{queue: &c.inner.queue})
	err = a.txs.together(ctx, func() error {
		out, err = e.handle(ctx, c.op, c)
		c.inner.ended.Store(true)
		if err == nil && !c.op.Proven { // a script returns what it read, strings beyond 2^53
			out, err = e.schemas.Integers(c.op.Output, out)
		}
		if err == nil {
			err = e.checkOutput(ctx, c, out)
		}
		if ended := a.course.Ended(); ended != nil && !course.Ends(err) {
			err = ended // even if the handler ignored it
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// turn is a place in the queue of serial and nested calls: those of an attempt, or of a nested call,
// run one at a time, except for calls that they make themselves.
type turn struct {
	queue *sync.Mutex
	taken bool
}

type turnKey struct{ a *Attempt }

// takeTurn waits until the call may run. done lets the next one run.
func (c *call) takeTurn(ctx context.Context) (taken context.Context, done func(), err error) {
	key := turnKey{c.attempt}
	t, ok := ctx.Value(key).(turn)
	switch {
	case !ok:
		t.queue = &c.attempt.serial
	case t.taken:
		return ctx, func() {}, nil
	}
	t.queue.Lock()
	if err := c.attempt.course.Closed(); err != nil {
		t.queue.Unlock()
		return nil, nil, err
	}
	return context.WithValue(ctx, key, turn{t.queue, true}), t.queue.Unlock, nil
}

// handle calls the provider's handler and turns its panics into faults.
func (e *Engine) handle(ctx context.Context, op *catalog.Operation, c *call) (out json.RawMessage, err error) {
	if c.attempt == nil { // what a call in a run ends in is reported with the call
		defer e.recover(ctx, &err, "operation", c.op.ID.String())
	} else {
		defer fault.Recover(&err)
	}
	return op.Handler(ctx, c)
}

// checkOutput returns a fault if the output of a call does not match its operation's schema.
func (e *Engine) checkOutput(ctx context.Context, c *call, out json.RawMessage) error {
	if c.op.Proven || c.op.ID.Kind == catalog.KindUpstream && catalog.WantsWholeResult(ctx) { // the server's provider has checked what is in it
		return nil
	}
	if c.attempt != nil { // it is decoded to be checked
		n := int(budget.Weight(out))
		if err := c.attempt.Hold(n); err != nil {
			return err
		}
		defer c.attempt.Release(n)
	}
	outside := c.op.Effects.ActsOutside()
	if c.op.Nested { // what it wrote itself is rolled back; what it called outside is not
		outside = outside && len(c.attempt.run.OutsideEffects()) > 0
	}
	return e.schemas.Output(ctx, c.op, c.nameOf(c.op.ID), c.Run(), outside, out)
}
