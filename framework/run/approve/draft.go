package approve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/store"
)

// request asks somebody about what the run did so far, and wants to do next. Nothing is
// locked or held meanwhile but the run's key, if it has one. nil lets the next attempt begin.
func (c *consent) request(ctx context.Context, call *PlannedCall, changes []store.Change) error {
	plan, is, err := c.plan(call, changes)
	if err != nil {
		return err
	}
	c.holdPlan(plan)
	if err := c.guard.keepPlan(ctx, plan); err != nil {
		if errors.Is(err, ErrPlanOver) {
			_, err := c.admitYes(ctx, plan.Replaces)
			return cmp.Or(err, error(c.run.Key().Busy))
		}
		return plansFault(err)
	}
	c.kept, c.last = plan, is
	return c.ask(ctx, plan)
}

// holdPlan counts what is kept of a plan while somebody is asked about it, in the place
// of the plan before.
func (c *consent) holdPlan(p *Plan) {
	n := int64(len(p.Tape)+len(p.Request.Input)) + 2*imageBytes(p.Changes) // and their shape
	c.run.Keep(n - c.planBytes)
	c.planBytes = n
}

// plan makes the plan of a pause, and returns its shape as it is kept. Where its changes take more bytes than
// plans may have, it has a sample of them. What is certain to be too large is refused before it is put together.
func (c *consent) plan(call *PlannedCall, changes []store.Change) (*Plan, shape, error) {
	most, fixed := c.guard.settings.Load().MaxBytes, c.fixedBytes()
	if fixed > int64(most) {
		return nil, shape{}, planTooLarge(fixed, most)
	}
	is := c.shape(changes)
	plan, err := c.planOf(call, is)
	if err != nil {
		return nil, shape{}, err
	}
	if plan.Changes = changes; fixed+imageBytes(changes) > int64(most) {
		plan.reduce(is, int64(most)-fixed)
	}
	raw, err := json.Marshal(plan)
	if err == nil && len(raw) > most && !plan.Sampled() {
		plan.reduce(is, int64(most)-fixed)
		raw, err = json.Marshal(plan)
	}
	if err != nil {
		return nil, shape{}, fault.New(fault.Internal, "").Because(err)
	}
	if len(raw) > most {
		return nil, shape{}, planTooLarge(int64(len(raw)), most)
	}
	// As it is read again: what is asked must be the same then, to the byte. Into a plan
	// of its own, since decoding writes into the bytes that are there: the request's.
	read := &Plan{}
	if err := json.Unmarshal(raw, read); err != nil {
		return nil, shape{}, fault.New(fault.Internal, "").Because(err)
	}
	if read.Sampled() {
		is = c.shapeOf(read)
	}
	return read, is, nil
}

// fixedBytes returns how many bytes a plan of the run takes at least, whatever its changes are.
func (c *consent) fixedBytes() int64 {
	return c.run.Tape().Bytes() + int64(len(c.run.Request().Input))
}

// planOf puts together what a plan has beside its changes.
func (c *consent) planOf(call *PlannedCall, is shape) (*Plan, error) {
	r, req := c.run, c.run.Request()
	frozen, err := r.Tape().Freeze()
	if err != nil {
		return nil, err
	}
	now := time.Now().UTC().Truncate(time.Millisecond)
	c.calls = c.standing(r.Tape(), call != nil && is.digest == c.agreed)
	id, snapshot := r.Operation().ID, req.View.Snapshot()
	unlisted, rest := snapshot.Unlisted(), ""
	if len(unlisted) > 0 {
		rest = snapshot.VersionWithout(unlisted)
	}
	plan := &Plan{
		ID: run.NoRun().Run, Run: r.ID, PlanStatus: PlanStatus{State: PlanWaiting, Created: now, Expires: now.Add(c.guard.settings.Load().Life)},
		Request: Planned{
			Operation: id.String(), Tool: snapshot.ToolName(id), Input: req.Input, Set: req.Set, Sets: r.Scope(), Surface: req.Surface, Via: req.Via, IdempotencyKey: req.IdempotencyKey,
			Principal: r.Principal(), Mode: req.View.Mode(), Negotiated: req.View.Negotiated(), CatalogVersion: snapshot.Version(), Unlisted: unlisted, Rest: rest,
		},
		Tape: frozen, Shape: is.digest, Call: call, Agreed: c.calls, Made: r.OutsideEffects(),
	}
	switch {
	case c.kept != nil:
		plan.Replaces = c.kept.ID
		if c.end {
			plan.Differs = c.last.differences(is)
		}
	case r.ID == r.OwnID(): // not a run that others began under its idempotency key
		plan.ID = r.ID
	}
	return plan, nil
}

func planTooLarge(n int64, most int) *fault.Fault {
	return fault.Newf(fault.ResultTooLarge, "without its changes the plan takes at least %d bytes, at most %d are kept", n, most).
		WithHint("Read less of plugins and servers in one run, send a shorter input, or raise approval.maxPlanBytes.")
}

func (g *Guard) keepPlan(ctx context.Context, p *Plan) error {
	ctx, cancel := context.WithTimeout(ctx, plansTimeout)
	defer cancel()
	return g.plans.KeepPlan(ctx, p, g.settings.Load().Life)
}
