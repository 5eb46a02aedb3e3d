package approve

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
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/tape"
)

// Scope is what a principal must hold by this very name to decide about
// plans: auth.All does not grant it, since agents have that, and whoever asks must
// not be the one who agrees.
const Scope = auth.Approve

// Person is the local operator, who may decide about plans.
func Person() auth.Principal {
	p := auth.Local()
	p.Scopes = append(p.Scopes, Scope)
	return p
}

// mayApprove reports whether a principal may decide about plans.
func mayApprove(p auth.Principal) bool { return p.Has(Scope) }

// FindPlan returns a plan to a principal who may decide on it or made it. For others
// it does not exist.
func (g *Guard) FindPlan(ctx context.Context, id string, by auth.Principal) (*Plan, error) {
	if !g.KeepsPlans() {
		return nil, noPlan(id)
	}
	p, err := g.plan(ctx, id)
	if err == nil && !p.isOwnedBy(by) && !(mayApprove(by) && p.isVisibleTo(by)) {
		return nil, noPlan(id)
	}
	return p, err
}

// plan reads a plan, whoever asks.
func (g *keptPlans) plan(ctx context.Context, id string) (*Plan, error) {
	p, err := g.plans.Plan(ctx, id)
	if errors.Is(err, ErrNoPlan) {
		return nil, noPlan(id)
	}
	return p, plansFault(err)
}

// WaitingPlans returns the plans that a principal may decide about, the oldest first,
// without their tapes.
func (g *Guard) WaitingPlans(ctx context.Context, by auth.Principal) ([]*Plan, error) {
	if err := g.admitReader(by); err != nil {
		return nil, err
	}
	if !g.KeepsPlans() {
		return nil, nil
	}
	found, err := g.plans.WaitingPlans(ctx, maxListed, func(p *Plan) bool { return p.isVisibleTo(by) })
	return found, plansFault(err)
}

// maxListed is how many plans a list has.
const maxListed = 1000

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
func (g *Guard) Approve(ctx context.Context, v Verdict) (json.RawMessage, *run.Outcome, error) {
	v.Plan = g.planToApply(ctx, v)
	if err := g.Admit(ctx, v); err != nil {
		return nil, nil, err
	}
	p := v.Plan
	id, err := catalog.ParseID(p.Request.Operation)
	if err != nil {
		return nil, nil, fault.New(fault.Internal, "").Because(err)
	}
	return g.engine.Invoke(ctx, run.Request{
		View: v.Snapshot.View(p.Request.Principal, p.Request.Mode, p.Request.Negotiated), Principal: p.Request.Principal,
		ID: id, Input: p.Request.Input, Set: p.Request.Set, Surface: v.Surface, Via: p.Request.Via, IdempotencyKey: p.Request.IdempotencyKey, Continues: &application{p, v.By},
	})
}

// application is the applying of a plan, as a request of Approve brings it to its run.
type application struct {
	plan *Plan
	by   auth.Principal
}

// Admit returns why Approve would not apply a plan, as far as that is known beforehand:
// so nobody is asked in vain.
func (g *Guard) Admit(ctx context.Context, v Verdict) error {
	p := v.Plan
	if err := g.admitYes(ctx, p, v.By); err != nil {
		return err
	}
	switch {
	case p.State == PlanWaiting && !mayApprove(v.By):
		return g.required(p, "", v.By, true) // who asks has called koan.code.execute
	case p.State != PlanApplied:
		return p.admitCatalog(v.Snapshot)
	}
	return nil
}

// admitYes returns why a yes to a plan stands for nothing any more.
func (g *Guard) admitYes(ctx context.Context, p *Plan, by auth.Principal) error {
	switch p.State {
	case PlanDenied:
		return denied(p, "this plan was already denied")
	case PlanReplaced:
		return g.replacedFault(ctx, p, by)
	}
	return nil
}

// replacedFault is the fault of a decision about a plan in whose place another one stands. It
// names that one to whoever may see it.
func (g *Guard) replacedFault(ctx context.Context, p *Plan, by auth.Principal) error {
	f := fault.Newf(fault.PlanStale, "plan %s is no longer valid: when it was applied, its run needed approval for something else, or for more", p.ID).
		WithHint("Make the plan again.").WithDetails(map[string]any{"replaced": p.ID})
	next, err := g.FindPlan(ctx, p.ReplacedBy, by)
	switch {
	case fault.CodeOf(err) == fault.NotFound:
		return f
	case err != nil:
		return err
	}
	f = f.WithDetails(map[string]any{"replaced": p.ID, "planId": next.ID, "state": next.State})
	if next.decided() {
		return f.WithHint("Plan %s has replaced it and is %s: there is nothing left to decide.", next.ID, next.State)
	}
	return f.WithHint("Plan %s has replaced it: review that plan, and decide on it under its own id.", next.ID)
}

// planToApply is the plan of a verdict, or the one that has replaced it where the client has
// an answer about that: it was asked while it applied the first.
func (g *Guard) planToApply(ctx context.Context, v Verdict) *Plan {
	if v.Plan.State != PlanReplaced || !slices.Contains(ask.Answered(ctx), questionKey(v.Plan.ReplacedBy)) {
		return v.Plan
	}
	if next, err := g.FindPlan(ctx, v.Plan.ReplacedBy, v.By); err == nil {
		return next
	}
	return v.Plan
}

// Deny refuses a plan. Only whoever may approve it may. It returns the trace under which the
// journal has who did.
func (g *Guard) Deny(ctx context.Context, v Verdict) (trace string, err error) {
	if err := g.admitReader(v.By); err != nil {
		return "", err
	}
	moved, err := g.plans.MovePlan(ctx, v.Plan.ID, PlanWaiting, PlanDenied, v.By.Subject)
	if err != nil {
		return "", plansFault(err)
	}
	if moved {
		return g.refuseDenied(ctx, v)
	}
	now, err := g.plan(ctx, v.Plan.ID)
	switch {
	case err != nil:
		return "", err
	case now.State == PlanReplaced:
		return "", g.replacedFault(ctx, now, v.By)
	}
	return "", fault.Newf(fault.Conflict, "this plan is no longer waiting for a decision: it is %s", now.State).
		WithRetry(fault.Never).WithHint("Ask for the plans that are waiting: `%s`.", g.command("--list", v.By)).WithDetails(map[string]any{"planId": now.ID, "state": now.State})
}

// refuseDenied lets the participants know that somebody refused a plan outside of a call: as
// of a call that brings the answer of its client. The plan's run keeps its own record.
func (g *Guard) refuseDenied(ctx context.Context, v Verdict) (trace string, err error) {
	p := v.Plan
	id, err := catalog.ParseID(p.Request.Operation)
	if err != nil {
		return "", fault.New(fault.Internal, "").Because(err)
	}
	o := run.NoRun()
	req := &run.Request{
		View: v.Snapshot.View(p.Request.Principal, p.Request.Mode, p.Request.Negotiated), Principal: p.Request.Principal,
		ID: id, Input: p.Request.Input, Set: p.Request.Set, Surface: v.Surface, Trace: o.Trace,
	}
	g.engine.Refuse(ctx, run.Refusal{
		Request: req, Outcome: o, Started: time.Now(), Err: denied(p, ""),
		Approval: journal.Approval{State: journal.Denied, Plan: p.ID, By: v.By.Subject},
	})
	return req.Trace, nil
}

// Resume makes the run go on where a plan stands: one that is applied, or one about
// which the client of this call was asked in the call before.
func (c *consent) Resume(ctx context.Context) error {
	p, stale := (*Plan)(nil), error(nil)
	if c.applied != nil {
		p = c.applied.plan
	} else if p, stale = c.resumedPlan(ctx); p == nil {
		return stale
	}
	t, err := tape.Thaw(p.Tape)
	if err != nil {
		return fault.New(fault.Internal, "").Because(err)
	}
	c.run.ContinueFrom(run.Continuation{Run: p.Run, Tape: t, Outside: p.Made, Sets: slices.Clone(p.Request.Sets)})
	c.kept, c.calls, c.last = p, p.Agreed, c.shapeOf(p)
	if stale != nil {
		return stale
	}
	asked := slices.Contains(ask.Answered(ctx), questionKey(p.ID))
	if p.State == PlanWaiting && (asked || c.applied == nil) {
		return c.ask(ctx, p)
	}
	return c.agree(ctx, p, c.approver().Subject) // whoever applies a plan agrees to it
}

// resumedPlan returns the plan that the client of this call brings an answer for, nil for
// none; where another plan has replaced that, the client is asked about it. The surface
// vouches that the client was asked, and for the same call; whose the plan is, and of
// what, is looked at nevertheless.
func (c *consent) resumedPlan(ctx context.Context) (*Plan, error) {
	for _, key := range slices.Backward(ask.Answered(ctx)) { // the last plan first
		id, ok := strings.CutPrefix(key, questionKey(""))
		if !ok {
			continue
		}
		p, err := c.guard.plan(ctx, id)
		if err == nil && p.State == PlanReplaced {
			p, err = c.guard.plan(ctx, p.ReplacedBy)
		}
		r := c.run
		switch {
		case err != nil:
			return nil, err
		case !p.isOwnedBy(r.Principal()) || p.Request.Operation != r.Operation().ID.String() || !sameJSON(p.Request.Input, r.Request().Input):
			return nil, noPlan(id)
		case p.State != PlanApplied && p.State != PlanDenied:
			err = p.admitCatalog(r.Request().View.Snapshot())
		}
		return p, cmp.Or(err, c.guard.admitYes(ctx, p, r.Principal()))
	}
	return nil, nil
}

// admitCatalog refuses a plan that was made for another catalog. Tools that have become known
// since make no other one: calls that were approved are compared by what their tools are.
func (p *Plan) admitCatalog(now *catalog.Snapshot) error {
	of := p.Request
	if of.CatalogVersion == now.Version() || len(of.Unlisted) > 0 && of.Rest == now.VersionWithout(of.Unlisted) {
		return nil
	}
	return fault.New(fault.PlanStale, "the plan was made for a different catalog: by another version of the app, or with different settings of what it offers").
		WithHint("Apply it with the build of the app and of its plugins that made it, and with the same codeMode.enabled, codeMode.faces, codeMode.languages, journal.expose and plugins.*; or make the plan again.").
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

// PlanText is what a person reads of a plan in a dialog, without secrets.
func (g *planTexts) PlanText(p *Plan) string { return p.Text(g.redact) }

// CallerText is PlanText for the caller of the plan's run.
func (g *planTexts) CallerText(p *Plan) string { return p.CallerText(g.redact) }

// WholePlanText is PlanText with every row.
func (g *planTexts) WholePlanText(p *Plan) string { return p.WholeText(g.redact) }

func (g *planTexts) redact(text string) string {
	text, _ = g.engine.Redactor().Text(text)
	return text
}

// Find returns a plan to the caller of the code operation that ctx belongs to, and the guard
// that may apply it. See Guard.FindPlan.
func Find(ctx context.Context, id string) (*Guard, *Plan, error) {
	g, ok := run.Joined[*Guard](ctx)
	if !ok {
		return nil, nil, noPlan(id)
	}
	p, err := g.FindPlan(ctx, id, run.RequestOf(ctx).Principal)
	return g, p, err
}

// Apply applies a plan in place of a run of the code operation that ctx belongs to. See
// Guard.Approve.
func (g *Guard) Apply(ctx context.Context, p *Plan) (json.RawMessage, *run.Outcome, error) {
	return run.InPlace(ctx, func(req *run.Request) (json.RawMessage, *run.Outcome, error) {
		return g.Approve(ctx, Verdict{Plan: p, By: req.Principal, Surface: req.Surface, Snapshot: req.View.Snapshot()})
	})
}
