package approve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	"github.com/koan-go/koan/framework/run/store"
)

// planOperation is what the keys of runs stand under that have a plan and no
// idempotency key. No catalog ID is like it.
const planOperation = "plan"

// form is what a person answers with, where the approval is for this time alone.
var form = json.RawMessage(`{"type":"object","properties":{"approve":{"type":"boolean","title":"Approve","description":"Yes commits these changes, no discards them.","default":false}},"required":["approve"]}`)

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
		ID: run.NoRun().Run, Run: r.ID, State: PlanWaiting, Created: now, Expires: now.Add(c.guard.settings.Load().Life),
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

// plansTimeout bounds what a run asks of the plans when its own time is over.
const plansTimeout = 10 * time.Second

func isFault(err error) bool {
	var f *fault.Fault
	return errors.As(err, &f)
}

// plansFault is the fault of plans that cannot be kept or read.
func plansFault(err error) error {
	if errors.Is(err, ErrManyPlans) {
		return fault.Newf(fault.RateLimited, "%d plans of this caller are already waiting", MaxWaiting).WithHint("Have them approved or denied first.")
	}
	if err == nil || isFault(err) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fault.New(fault.ServiceUnavailable, "the plans cannot be read or written").Because(err)
}

// questionKey is that of the question about a plan, which never changes.
func questionKey(plan string) string { return planOperation + ":" + plan }

// PlanAsked returns the id of the plan that a question is about, and whether it is about
// one.
func PlanAsked(q ask.Question) (id string, ok bool) { return strings.CutPrefix(q.Key, questionKey("")) }

// question is what is asked about a plan.
func (c *consent) question(p *Plan, form json.RawMessage) ask.Question {
	q := ask.FormQuestion(questionKey(p.ID), c.seen(p).CallerText(c.run.Redact), form)
	q.Life = c.guard.settings.Load().Life // a late answer is heard, and is no yes any more
	q.Status = "waiting for a person to decide about plan " + p.ID
	return q
}

// late reports whether a person took too long for the answer that a client calls again
// with. One that is asked while its call waits is never late: the wait ends.
func (c *consent) late(ctx context.Context, p *Plan, q ask.Question) bool {
	return slices.Contains(ask.Answered(ctx), q.Key) && time.Since(p.Created) > c.guard.settings.Load().Wait
}

// ask asks whoever made the call, and does what the answer says. Where there is none,
// or nobody is left to hear it, the plan waits for somebody else.
func (c *consent) ask(ctx context.Context, p *Plan) error {
	form := c.guard.formFor(c.terms(ctx, p))
	q, wait := c.question(p, form), c.guard.settings.Load().Wait
	waiting, cancel := context.WithTimeoutCause(ctx, wait, errNoAnswer)
	defer cancel()
	answers, err := ask.All(waiting, q)
	switch {
	case err == nil:
	case ask.Waits(err) != nil:
		c.run.NoteApproval(journal.Approval{State: journal.Required, Plan: p.ID})
		return err
	case errors.Is(context.Cause(waiting), errNoAnswer):
		return c.undecided(p, fmt.Sprintf("nobody answered within %d ms", wait.Milliseconds()))
	case ctx.Err() != nil: // the call is over
		c.run.NoteApproval(journal.Approval{State: journal.Required, Plan: p.ID})
		return ctx.Err()
	default:
		return c.leaveUndecided(ctx, p, err)
	}
	f, err := ask.DecodeForm(answers[0], form)
	if err != nil {
		return c.leaveUndecided(ctx, p, err)
	}
	switch {
	case !isApproval(f):
		return c.deny(ctx, p, "")
	case c.late(ctx, p, q):
		return c.undecided(p, fmt.Sprintf("the approval took longer than %d ms", wait.Milliseconds()))
	}
	if err := c.agree(ctx, p, c.approver().Subject); err != nil {
		return err
	}
	return c.grant(ctx, p, lastsOf(f))
}

// undecided ends a run that nobody agreed to in time. Its plan goes on waiting.
func (c *consent) undecided(p *Plan, why string) error {
	c.run.NoteApproval(journal.Approval{State: journal.Required, Plan: p.ID})
	return c.required(p, why)
}

// isApproval reports whether an answer agrees: by the one member that was asked for, not
// by one that is like it.
func isApproval(f ask.Form) bool {
	given, err := exact.Members(f.Content)
	return f.Action == ask.Accept && err == nil && string(given["approve"]) == "true"
}

// lastsOf returns for how long an answer agrees, "" where it does not say.
func lastsOf(f ask.Form) (lasts Lasts) {
	given, err := exact.Members(f.Content)
	if err != nil || json.Unmarshal(given["lasts"], &lasts) != nil {
		return ""
	}
	return lasts
}

// leaveUndecided ends a run whose client cannot be asked, or returned an error or an
// invalid answer: the plan waits for somebody else.
func (c *consent) leaveUndecided(ctx context.Context, p *Plan, err error) error {
	c.run.NoteApproval(journal.Approval{State: journal.Required, Plan: p.ID})
	_, unable := ask.IsUnable(err)
	switch fault.CodeOf(err) {
	case fault.UpstreamError, fault.ServiceUnavailable, fault.QueueOverloaded:
		c.guard.opts.Log.WarnContext(ctx, "the client could not be asked about a plan", "plan", p.ID, "error", err)
	default:
		if !unable {
			return err
		}
	}
	return c.required(p, "")
}

var errNoAnswer = errors.New("approve: nobody answered")

// approver is who decides about the run's plan: who makes the call, unless somebody else
// applies the plan.
func (c *consent) approver() auth.Principal {
	if c.applied != nil {
		return c.applied.by
	}
	return c.run.Principal()
}

// seen is a plan as its approver reads it.
func (c *consent) seen(p *Plan) *Plan {
	by := c.approver()
	return p.SeenBy(by, c.run.Request().View.Snapshot().View(by, p.Request.Mode, p.Request.Negotiated))
}

// agree notes that somebody agreed to what a plan has: from now on the run has to hold a key,
// so that nobody else applies the plan too.
func (c *consent) agree(ctx context.Context, p *Plan, by string) error {
	by, moved, err := c.move(ctx, p, PlanApproved, by)
	if err != nil {
		return err
	}
	c.noted = moved
	c.agreed, c.end = p.Shape, p.Call == nil
	if p.Call != nil {
		c.calls = append(c.calls, *p.Call)
	}
	c.run.NoteApproval(journal.Approval{State: journal.Approved, Plan: p.ID, By: by})
	c.run.RequireClaim(run.Key{Operation: planOperation, Name: c.run.ID, Busy: applying()})
	return nil
}

// applying is the fault of a plan that somebody else is applying.
func applying() *fault.Fault {
	return fault.New(fault.InProgress, "somebody else is applying this plan").WithHint("Wait, then ask again with the same planId.").WithPath("/planId")
}

// deny refuses the plan. Somebody said no, or nobody said anything.
func (c *consent) deny(ctx context.Context, p *Plan, why string) error {
	by := c.approver().Subject
	if _, _, err := c.move(ctx, p, PlanDenied, by); err != nil {
		return err
	}
	c.run.NoteApproval(journal.Approval{State: journal.Denied, Plan: p.ID, By: by})
	return denied(p, why)
}

// move decides about a plan, unless somebody else was faster and decided otherwise.
// moved is false where somebody else decided the same; decided is who it was.
func (c *consent) move(ctx context.Context, p *Plan, to PlanState, by string) (decided string, moved bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), plansTimeout)
	defer cancel()
	moved, err = c.guard.plans.MovePlan(ctx, p.ID, PlanWaiting, to, by)
	if err != nil || moved {
		return by, moved, plansFault(err)
	}
	is, err := c.admitYes(ctx, p.ID)
	if err == nil && to == PlanDenied {
		err = fault.New(fault.Conflict, "somebody else has already approved this plan").WithDetails(map[string]any{"planId": p.ID})
	}
	if err != nil {
		return "", false, err
	}
	return cmp.Or(is.By, by), false, nil // what was agreed to: its key says who applies it
}

// admitYes returns a plan as it is kept now. The error says why a yes to it is no longer
// valid; nil where the plan waits, or somebody has agreed to it.
func (c *consent) admitYes(ctx context.Context, id string) (*Plan, error) {
	p, err := c.guard.plan(ctx, id)
	if err != nil {
		return nil, err
	}
	return p, c.guard.admitYes(ctx, p, c.approver())
}

// required is the fault of a run that somebody has to agree to and whose client
// cannot be asked. why says why the client's own person did not decide, "" for nothing.
func (c *consent) required(p *Plan, why string) *fault.Fault {
	return c.guard.required(c.seen(p), why, c.run.Request().View.Listed(executeCode))
}

// executeCode is the operation that applies a plan beside the app's command line.
var executeCode = catalog.CodeID("koan", "execute")

// required is the fault of a plan that waits. listed says that the caller's tools
// include koan.code.execute.
func (g *Guard) required(p *Plan, why string, listed bool) *fault.Fault {
	details := map[string]any{"planId": p.ID, "changeCounts": p.Counts(), "expiresAt": p.Expires.Format(time.RFC3339)}
	message := "a person must approve what this run changes; nothing has been committed yet"
	if p.Call != nil {
		call := map[string]any{"operation": p.Call.Operation}
		if !p.Call.App {
			call["input"] = p.Call.Input
		}
		details["call"] = call
		message = "a person must approve the call of " + p.Call.Tool + p.Call.effect() + p.Call.tainted() + "; nothing has been committed yet"
		if from := p.Call.sources(); len(from) > 0 {
			details["tainted"] = from
		}
	}
	if p.Replaces != "" {
		details["replaces"] = p.Replaces
		message = "plan " + p.Replaces + " was approved, and this plan replaces it: " + message
	}
	if len(p.Differs) > 0 {
		details["differs"] = p.Differs[:min(len(p.Differs), dialogBounds.differs)]
		message = "the data has changed since plan " + p.Replaces + " was made, and its run would now do something else; this plan replaces it, and nothing has been committed yet"
	}
	if why != "" {
		message += " (" + why + ")"
	}
	hint := "Have somebody run `" + g.command(p.ID) + "`"
	if listed {
		hint += ", or call koan.code.execute with this planId as a principal who may approve. koan.code.status {\"runId\": \"" + p.Run + "\"} says what came of it"
	}
	return fault.New(fault.ApprovalRequired, message).WithHint("%s.", hint).WithDetails(details)
}

func denied(p *Plan, why string) *fault.Fault {
	message := "the changes were not approved; nothing has been committed"
	if why != "" {
		message += ": " + why
	}
	return fault.New(fault.ApprovalDenied, message).WithDetails(map[string]any{"planId": p.ID})
}

func noPlan(id string) *fault.Fault {
	return fault.Newf(fault.NotFound, "plan %q does not exist, or is no longer kept", clipped(plain(id), 64)).
		WithHint("Plans are kept for approval.planHours; make the plan again.").WithPath("/planId")
}
