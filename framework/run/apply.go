package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/koan-go/koan/framework/ask"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// ScopeApprove is what a principal must hold by this very name to decide about
// plans: auth.All does not grant it, since agents have that, and whoever asks must
// not be the one who agrees.
const ScopeApprove = "koan:approve"

// mayApprove tells whether a principal may decide about plans.
func mayApprove(p auth.Principal) bool { return slices.Contains(p.Scopes, ScopeApprove) }

// KeepPlans gives the engine what keeps plans, before the first call.
func (e *Engine) KeepPlans(p Plans) { e.plans = p }

// KeepsPlans tells whether runs can be approved here.
func (e *Engine) KeepsPlans() bool { return e.plans != nil && e.ledger != nil }

// FindPlan gives a plan to somebody who may decide about it, and to who made it. For
// others there is none.
func (e *Engine) FindPlan(ctx context.Context, id string, by auth.Principal) (*Plan, error) {
	if !e.KeepsPlans() {
		return nil, noPlan(id)
	}
	p, err := e.plans.Plan(ctx, id)
	switch {
	case errors.Is(err, ErrNoPlan):
		return nil, noPlan(id)
	case err != nil:
		return nil, unplanned(err)
	case mayApprove(by) && p.visible(by), p.own(by):
		return p, nil
	}
	return nil, noPlan(id)
}

// WaitingPlans gives the plans that a principal may decide about, the oldest first,
// without their tapes.
func (e *Engine) WaitingPlans(ctx context.Context, by auth.Principal) ([]*Plan, error) {
	if !mayApprove(by) {
		return nil, forbidden(ScopeApprove)
	}
	if !e.KeepsPlans() {
		return nil, nil
	}
	const most = 1000
	found, err := e.plans.WaitingPlans(ctx, most)
	if err != nil {
		return nil, unplanned(err)
	}
	return slices.DeleteFunc(found, func(p *Plan) bool { return !p.visible(by) }), nil
}

// Verdict is a decision about a plan.
type Verdict struct {
	Plan    *Plan // as FindPlan gave it: what was agreed to
	By      auth.Principal
	Surface string
	// Snapshot is the catalog now. A plan of another one is plan_stale.
	Snapshot *catalog.Snapshot
}

// Approve applies a plan: the next attempt of its run, on its tape, with the rights
// of who made it. It commits if its changes are those of the plan; else whoever
// approves is asked again, through the client in ctx. A plan applies once: later
// calls give what the first one gave. Who made the plan and may not approve it is told
// that it waits (approval_required), and gets its result once somebody has.
func (e *Engine) Approve(ctx context.Context, v Verdict) (json.RawMessage, *Outcome, error) {
	p := v.Plan
	id, err := catalog.ParseID(p.Request.Operation)
	switch {
	case err != nil:
		return nil, nil, fault.New(fault.Internal, "").Because(err)
	case p.State == PlanDenied:
		return nil, nil, denied(p, "somebody refused it before")
	case p.State == PlanWaiting && !mayApprove(v.By):
		return nil, nil, required(p, "", true) // who asks has called koan.code.execute
	case p.Request.CatalogVersion != v.Snapshot.Version() && p.State != PlanApplied:
		return nil, nil, stale(p)
	}
	return e.Invoke(ctx, Request{
		View: v.Snapshot.View(p.Request.Principal, p.Request.Mode, p.Request.Negotiated), Principal: p.Request.Principal,
		ID: id, Input: p.Request.Input, Set: p.Request.Set, Surface: v.Surface, Listed: p.Request.Listed, plan: p, approver: v.By,
	})
}

// Deny refuses a plan. It returns the trace under which the journal has who did.
func (e *Engine) Deny(ctx context.Context, v Verdict) (trace string, err error) {
	ok, err := e.plans.MovePlan(ctx, v.Plan, []PlanState{PlanWaiting}, PlanDenied, v.By.Subject)
	if err != nil {
		return "", unplanned(err)
	}
	if !ok {
		return "", fault.New(fault.Conflict, "this plan does not wait for an answer any more").
			WithDetails(map[string]any{"planId": v.Plan.ID, "state": v.Plan.State})
	}
	return e.recordDenied(ctx, v), nil
}

// adopt makes the run go on where a plan stands: one that is applied, or one about
// which the client of this call was asked in the call before.
func (r *Run) adopt(ctx context.Context, out *Outcome) error {
	p := r.request.plan
	if p == nil {
		var err error
		if p, err = r.resumed(ctx); p == nil {
			return err
		}
	}
	r.ID, out.Run = p.ID, p.ID
	r.guard.kept, r.guard.calls, r.guard.last = p, p.Agreed, r.shape(p.Changes)
	tape, err := Thaw(p.Tape)
	if err != nil {
		return fault.New(fault.Internal, "").Because(err)
	}
	r.use(tape)
	r.outside, r.sets = p.Made, slices.Clone(p.Request.Sets)
	asked := slices.Contains(ask.Answered(ctx), r.question(p).Key)
	if p.State == PlanWaiting && (asked || r.request.plan == nil) {
		err = r.ask(ctx, p)
	} else { // whoever applies a plan agrees to it as it stands
		err = r.agree(ctx, p, r.approver())
	}
	if !errors.Is(err, errAgreed) {
		return err
	}
	return nil
}

// resumed gives the plan that the client of this call brings an answer for, nil for
// none. The surface vouches that the client was asked, and for the same call; whose
// the plan is, and of what, is looked at nevertheless.
func (r *Run) resumed(ctx context.Context) (*Plan, error) {
	if r.guard == nil {
		return nil, nil
	}
	for _, key := range ask.Answered(ctx) {
		word, rest, _ := strings.Cut(key, ":")
		id, _, plan := strings.Cut(rest, ":")
		if word != planOperation || !plan {
			continue
		}
		p, err := r.engine.plans.Plan(ctx, id)
		switch {
		case errors.Is(err, ErrNoPlan):
			return nil, noPlan(id)
		case err != nil:
			return nil, unplanned(err)
		case !p.own(r.principal) || p.Request.Operation != r.op.ID.String() || !sameJSON(p.Request.Input, r.request.Input):
			return nil, noPlan(id)
		case p.State == PlanDenied:
			return nil, denied(p, "it was refused before")
		case p.Request.CatalogVersion != r.request.View.Snapshot().Version() && p.State != PlanApplied:
			return nil, stale(p)
		}
		return p, nil
	}
	return nil, nil
}

func stale(p *Plan) error {
	return fault.New(fault.PlanStale, "the plan was made for another catalog: by another version of the app, or under other settings of what it offers").
		WithDetails(map[string]any{"planId": p.ID})
}

// sameJSON tells whether two texts are the same JSON, however they are written.
func sameJSON(a, b json.RawMessage) bool {
	var names names
	return bytes.Equal(names.value(a, "", ""), names.value(b, "", ""))
}

// FindPlan gives a plan to the caller of the code operation that ctx belongs to.
// See Engine.FindPlan.
func FindPlan(ctx context.Context, id string) (*Plan, error) {
	c := currentCall(ctx)
	if c == nil {
		return nil, noPlan(id)
	}
	return c.engine.FindPlan(ctx, id, c.request.Principal)
}

// PlanText is Plan.Text for the caller of the code operation that ctx belongs to,
// without secrets.
func PlanText(ctx context.Context, p *Plan) string {
	c := currentCall(ctx)
	if c == nil {
		return ""
	}
	return c.engine.PlanText(p)
}

// PlanText is what a person reads of a plan in a dialog, without secrets.
func (e *Engine) PlanText(p *Plan) string { return p.Text(e.redactText) }

// WholePlanText is PlanText with every row.
func (e *Engine) WholePlanText(p *Plan) string { return p.WholeText(e.redactText) }

func (e *Engine) redactText(text string) string {
	text, _ = e.opts.Redactor.Text(text)
	return text
}

// ApprovePlan applies a plan that FindPlan gave, in place of a run of the code
// operation that ctx belongs to. See Engine.Approve.
func ApprovePlan(ctx context.Context, p *Plan) (json.RawMessage, *Outcome, error) {
	c := currentCall(ctx)
	if c == nil || c.attempt != nil || c.opened != nil {
		return nil, nil, fault.New(fault.Internal, "only a code operation applies a plan, and no run of its own")
	}
	out, outcome, err := c.engine.Approve(ctx, Verdict{Plan: p, By: c.request.Principal, Surface: c.request.Surface, Snapshot: c.request.View.Snapshot()})
	c.applied = outcome
	return out, outcome, err
}
