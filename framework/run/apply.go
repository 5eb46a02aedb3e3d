package run

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/koan-go/koan/framework/ask"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exact"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run/tape"
)

// ScopeApprove is what a principal must hold by this very name to decide about
// plans: auth.All does not grant it, since agents have that, and whoever asks must
// not be the one who agrees.
const ScopeApprove = "koan:approve"

// mayApprove reports whether a principal may decide about plans.
func mayApprove(p auth.Principal) bool { return slices.Contains(p.Scopes, ScopeApprove) }

// KeepPlans sets the engine's keeper of plans, before the first call.
func (e *Engine) KeepPlans(p Plans) { e.plans = p }

// KeepsPlans reports whether runs can be approved here.
func (e *Engine) KeepsPlans() bool { return e.plans != nil && e.ledger != nil }

// FindPlan returns a plan to a principal who may decide on it or made it. For others
// it does not exist.
func (e *Engine) FindPlan(ctx context.Context, id string, by auth.Principal) (*Plan, error) {
	if !e.KeepsPlans() {
		return nil, noPlan(id)
	}
	p, err := e.plan(ctx, id)
	if err == nil && !p.isOwnedBy(by) && !(mayApprove(by) && p.isVisibleTo(by)) {
		return nil, noPlan(id)
	}
	return p, err
}

// plan reads a plan, whoever asks.
func (e *Engine) plan(ctx context.Context, id string) (*Plan, error) {
	p, err := e.plans.Plan(ctx, id)
	if errors.Is(err, ErrNoPlan) {
		return nil, noPlan(id)
	}
	return p, plansFault(err)
}

// WaitingPlans returns the plans that a principal may decide about, the oldest first,
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
		return nil, plansFault(err)
	}
	return slices.DeleteFunc(found, func(p *Plan) bool { return !p.isVisibleTo(by) }), nil
}

// Verdict is a decision about a plan.
type Verdict struct {
	Plan    *Plan // as FindPlan returned it
	By      auth.Principal
	Surface string
	// Snapshot is the catalog now. A plan of another one is plan_stale.
	Snapshot *catalog.Snapshot
}

// Approve applies a plan: the next attempt of its run, on its tape, with the rights
// of who made it. It commits if its changes are those of the plan; else another plan
// takes its place, about which whoever approves is asked through the client in ctx. A run
// is applied once: later calls return what the first one returned. Who made the plan and
// may not approve it gets approval_required while it waits, and its result once somebody
// has agreed to it.
func (e *Engine) Approve(ctx context.Context, v Verdict) (json.RawMessage, *Outcome, error) {
	v.Plan = e.planToApply(ctx, v)
	if err := e.Admit(ctx, v); err != nil {
		return nil, nil, err
	}
	p := v.Plan
	id, err := catalog.ParseID(p.Request.Operation)
	if err != nil {
		return nil, nil, fault.New(fault.Internal, "").Because(err)
	}
	return e.Invoke(ctx, Request{
		View: v.Snapshot.View(p.Request.Principal, p.Request.Mode, p.Request.Negotiated), Principal: p.Request.Principal,
		ID: id, Input: p.Request.Input, Set: p.Request.Set, Surface: v.Surface, Listed: p.Request.Listed, plan: p, approver: v.By,
	})
}

// Admit returns why Approve would not apply a plan, as far as that is known beforehand:
// so nobody is asked in vain.
func (e *Engine) Admit(ctx context.Context, v Verdict) error {
	p := v.Plan
	if err := e.admitYes(ctx, p, v.By); err != nil {
		return err
	}
	switch {
	case p.State == PlanWaiting && !mayApprove(v.By):
		return required(p, "", true) // who asks has called koan.code.execute
	case p.State != PlanApplied:
		return p.admitCatalog(v.Snapshot)
	}
	return nil
}

// admitYes returns why a yes to a plan stands for nothing any more.
func (e *Engine) admitYes(ctx context.Context, p *Plan, by auth.Principal) error {
	switch p.State {
	case PlanDenied:
		return denied(p, "this plan was already denied")
	case PlanReplaced:
		return e.replacedFault(ctx, p, by)
	}
	return nil
}

// replacedFault is the fault of a decision about a plan in whose place another one stands. It
// names that one to whoever may see it.
func (e *Engine) replacedFault(ctx context.Context, p *Plan, by auth.Principal) error {
	f := fault.Newf(fault.PlanStale, "plan %s is no longer valid: when it was applied, its run needed approval for something else, or for more", p.ID).
		WithHint("Make the plan again.").WithDetails(map[string]any{"replaced": p.ID})
	next, err := e.FindPlan(ctx, p.ReplacedBy, by)
	switch {
	case fault.CodeOf(err) == fault.NotFound:
		return f
	case err != nil:
		return err
	}
	return f.WithHint("Plan %s has replaced it: review that plan, and decide on it under its own id.", next.ID).
		WithDetails(map[string]any{"replaced": p.ID, "planId": next.ID, "state": next.State})
}

// planToApply is the plan of a verdict, or the one that has replaced it where the client has
// an answer about that: it was asked while it applied the first.
func (e *Engine) planToApply(ctx context.Context, v Verdict) *Plan {
	if v.Plan.State != PlanReplaced || !slices.Contains(ask.Answered(ctx), questionKey(v.Plan.ReplacedBy)) {
		return v.Plan
	}
	if next, err := e.FindPlan(ctx, v.Plan.ReplacedBy, v.By); err == nil {
		return next
	}
	return v.Plan
}

// Deny refuses a plan. It returns the trace under which the journal has who did.
func (e *Engine) Deny(ctx context.Context, v Verdict) (trace string, err error) {
	moved, err := e.plans.MovePlan(ctx, v.Plan.ID, PlanWaiting, PlanDenied, v.By.Subject)
	if err != nil {
		return "", plansFault(err)
	}
	if moved {
		return e.refuseDenied(ctx, v)
	}
	now, err := e.plan(ctx, v.Plan.ID)
	switch {
	case err != nil:
		return "", err
	case now.State == PlanReplaced:
		return "", e.replacedFault(ctx, now, v.By)
	}
	return "", fault.New(fault.Conflict, "this plan is no longer waiting for a decision").
		WithDetails(map[string]any{"planId": now.ID, "state": now.State})
}

// refuseDenied lets the participants know that somebody refused a plan outside of a call: as
// of a call that brings the answer of its client. The plan's run keeps its own record.
func (e *Engine) refuseDenied(ctx context.Context, v Verdict) (trace string, err error) {
	p := v.Plan
	id, err := catalog.ParseID(p.Request.Operation)
	if err != nil {
		return "", fault.New(fault.Internal, "").Because(err)
	}
	req := &Request{
		View: v.Snapshot.View(p.Request.Principal, p.Request.Mode, p.Request.Negotiated), Principal: p.Request.Principal,
		ID: id, Input: p.Request.Input, Set: p.Request.Set, Surface: v.Surface, Trace: newTrace(),
	}
	e.Refuse(ctx, Refusal{
		Request: req, Outcome: &Outcome{Run: newRunID(), Trace: req.Trace, Refused: true}, Started: time.Now(), Err: denied(p, ""),
		Approval: journal.Approval{State: journal.Denied, Plan: p.ID, By: v.By.Subject},
	})
	return req.Trace, nil
}

// continueFromPlan makes the run go on where a plan stands: one that is applied, or one about
// which the client of this call was asked in the call before.
func (r *Run) continueFromPlan(ctx context.Context, out *Outcome) error {
	p := r.request.plan
	if p == nil {
		var err error
		if p, err = r.resumedPlan(ctx); p == nil {
			return err
		}
	}
	r.ID, out.Run = p.Run, p.Run
	r.guard.kept, r.guard.calls, r.guard.last = p, p.Agreed, r.shape(p.Changes)
	t, err := tape.Thaw(p.Tape)
	if err != nil {
		return fault.New(fault.Internal, "").Because(err)
	}
	r.useTape(t)
	r.outside, r.sets = p.Made, slices.Clone(p.Request.Sets)
	asked := slices.Contains(ask.Answered(ctx), questionKey(p.ID))
	if p.State == PlanWaiting && (asked || r.request.plan == nil) {
		err = r.ask(ctx, p)
	} else { // whoever applies a plan agrees to it
		err = r.agree(ctx, p, r.approver().Subject)
	}
	if !errors.Is(err, errAgreed) {
		return err
	}
	return nil
}

// resumedPlan returns the plan that the client of this call brings an answer for, nil for
// none; where another plan has replaced that, the client is asked about it. The surface
// vouches that the client was asked, and for the same call; whose the plan is, and of
// what, is looked at nevertheless.
func (r *Run) resumedPlan(ctx context.Context) (*Plan, error) {
	if r.guard == nil {
		return nil, nil
	}
	for _, key := range slices.Backward(ask.Answered(ctx)) { // the last plan first
		id, ok := strings.CutPrefix(key, questionKey(""))
		if !ok {
			continue
		}
		p, err := r.engine.plan(ctx, id)
		if err == nil && p.State == PlanReplaced {
			p, err = r.engine.plan(ctx, p.ReplacedBy)
		}
		switch {
		case err != nil:
			return nil, err
		case !p.isOwnedBy(r.principal) || p.Request.Operation != r.op.ID.String() || !sameJSON(p.Request.Input, r.request.Input):
			return nil, noPlan(id)
		case p.State != PlanApplied && p.State != PlanDenied:
			err = p.admitCatalog(r.request.View.Snapshot())
		}
		return p, cmp.Or(err, r.engine.admitYes(ctx, p, r.principal))
	}
	return nil, nil
}

// admitCatalog refuses a plan that was made for another catalog.
func (p *Plan) admitCatalog(now *catalog.Snapshot) error {
	if p.Request.CatalogVersion == now.Version() {
		return nil
	}
	return fault.New(fault.PlanStale, "the plan was made for a different catalog: by another version of the app, or with different settings of what it offers").
		WithHint("Apply it with the build of the app and of its plugins that made it, and with the same codeMode.enabled, codeMode.faces, journal.expose and plugins.*; or make the plan again.").
		WithDetails(map[string]any{"planId": p.ID, "madeFor": p.Request.CatalogVersion, "catalog": now.Version()})
}

// sameJSON reports whether two texts are the same JSON, however they are written.
func sameJSON(a, b json.RawMessage) bool {
	one, err := exact.Canonical(a)
	if err != nil {
		return false
	}
	two, err := exact.Canonical(b)
	return err == nil && bytes.Equal(one, two)
}

// FindPlan returns a plan to the caller of the code operation that ctx belongs to.
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
		return nil, nil, fault.New(fault.Internal, "only a code operation that opened no run can apply a plan")
	}
	out, outcome, err := c.engine.Approve(ctx, Verdict{Plan: p, By: c.request.Principal, Surface: c.request.Surface, Snapshot: c.request.View.Snapshot()})
	c.applied = outcome
	return out, outcome, err
}
