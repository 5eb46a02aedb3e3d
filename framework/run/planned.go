package run

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
)

// errAgreed is what ends the attempts of a run that somebody has agreed to, and that
// does not hold its key yet.
var errAgreed = errors.New("run: somebody agreed")

// planOperation is what the keys of runs stand under that have a plan and no
// idempotency key. No catalog ID is like it.
const planOperation = "plan"

// form is what a person answers with.
var form = json.RawMessage(`{"type":"object","properties":{"approve":{"type":"boolean","title":"Approve","description":"Yes commits these changes, no discards them.","default":false}},"required":["approve"]}`)

// askApproval asks somebody about a pause. Nothing is locked or held meanwhile but the
// run's key, if it has one. nil lets the next attempt begin.
func (r *Run) askApproval(ctx context.Context, a *Attempt, p *pause) error {
	plan, err := r.plan(p)
	if err != nil {
		return err
	}
	a.dropShare() // what it held is in the plan
	r.holdPlan(plan)
	if err := r.engine.keepPlan(ctx, plan); err != nil {
		if errors.Is(err, ErrPlanOver) {
			_, err := r.admitYes(ctx, plan.Replaces)
			return cmp.Or(err, error(r.busy()))
		}
		return plansFault(err)
	}
	r.guard.kept, r.guard.last = plan, r.shape(p.changes)
	return r.ask(ctx, plan)
}

// holdPlan counts what is kept of a plan while somebody is asked about it, in the place
// of the plan before.
func (r *Run) holdPlan(p *Plan) {
	n := int64(len(p.Tape)+len(p.Request.Input)) + 2*changesBytes(p.Changes) // and their shape
	r.account.Add(n - r.guard.held)
	r.guard.held = n
}

// plan makes the plan of a pause. What is certain to be too large is refused before it is
// put together.
func (r *Run) plan(p *pause) (*Plan, error) {
	most := r.engine.approvals().MaxBytes
	if least := r.tape.Bytes() + int64(len(r.request.Input)) + changesBytes(p.changes); least > int64(most) {
		return nil, planTooLarge(least, most)
	}
	frozen, err := r.tape.Freeze()
	if err != nil {
		return nil, err
	}
	g, now := r.guard, time.Now().UTC().Truncate(time.Millisecond)
	is := r.shape(p.changes)
	g.calls = g.standing(r.tape, p.call != nil && is.digest == g.agreed)
	plan := &Plan{
		ID: newRunID(), Run: r.ID, State: PlanWaiting, Created: now, Expires: now.Add(r.engine.approvals().Life),
		Request: Planned{
			Operation: r.op.ID.String(), Tool: r.request.View.Snapshot().ToolName(r.op.ID), Input: r.request.Input, Set: r.request.Set, Sets: r.scope(), Surface: r.request.Surface, Listed: r.request.Listed,
			Principal: r.principal, Mode: r.request.View.Mode(), Negotiated: r.request.View.Negotiated(), CatalogVersion: r.request.View.Snapshot().Version(),
		},
		Tape: frozen, Changes: p.changes, Shape: is.digest, Call: p.call, Agreed: g.calls,
	}
	r.mu.Lock()
	plan.Made = slices.Clone(r.outside)
	r.mu.Unlock()
	switch {
	case g.kept != nil:
		plan.Replaces = g.kept.ID
		if g.end {
			plan.Differs = g.last.differences(is)
		}
	case r.ID == r.fresh: // not a run that others began under its idempotency key
		plan.ID = r.ID
	}
	raw, err := json.Marshal(plan)
	if err != nil {
		return nil, fault.New(fault.Internal, "").Because(err)
	}
	if len(raw) > most {
		return nil, planTooLarge(int64(len(raw)), most)
	}
	// As it is read again: what is asked must be the same then, to the byte. Into a plan
	// of its own, since decoding writes into the bytes that are there: the request's.
	read := &Plan{}
	if err := json.Unmarshal(raw, read); err != nil {
		return nil, fault.New(fault.Internal, "").Because(err)
	}
	return read, nil
}

func planTooLarge(n int64, most int) *fault.Fault {
	return fault.Newf(fault.ResultTooLarge, "the plan takes at least %d bytes, at most %d are kept", n, most).
		WithHint("Change less in one run, or raise approval.maxPlanBytes.")
}

func (e *Engine) keepPlan(ctx context.Context, p *Plan) error {
	ctx, cancel := context.WithTimeout(ctx, keyTimeout)
	defer cancel()
	return e.plans.KeepPlan(ctx, p, e.approvals().Life)
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
func (r *Run) question(p *Plan) ask.Question {
	q := ask.FormQuestion(questionKey(p.ID), p.Text(r.Redact), form)
	q.Life = r.engine.approvals().Life // a late answer is heard, and is no yes any more
	q.Status = "waiting for a person to decide about plan " + p.ID
	return q
}

// late reports whether a person took too long for the answer that a client calls again
// with. One that is asked while its call waits is never late: the wait ends.
func (r *Run) late(ctx context.Context, p *Plan, q ask.Question) bool {
	return slices.Contains(ask.Answered(ctx), q.Key) && time.Since(p.Created) > r.engine.approvals().Wait
}

// ask asks whoever made the call, and does what the answer says. Where there is none,
// or nobody is left to hear it, the plan waits for somebody else.
func (r *Run) ask(ctx context.Context, p *Plan) error {
	q, wait := r.question(p), r.engine.approvals().Wait
	waiting, cancel := context.WithTimeoutCause(ctx, wait, errNoAnswer)
	defer cancel()
	answers, err := ask.All(waiting, q)
	switch {
	case err == nil:
	case ask.Waits(err) != nil:
		r.NoteApproval(journal.Approval{State: journal.Required, Plan: p.ID})
		return err
	case errors.Is(context.Cause(waiting), errNoAnswer):
		return r.undecided(p, fmt.Sprintf("nobody answered within %d ms", wait.Milliseconds()))
	case ctx.Err() != nil: // the call is over
		r.NoteApproval(journal.Approval{State: journal.Required, Plan: p.ID})
		return ctx.Err()
	default:
		return r.leaveUndecided(ctx, p, err)
	}
	f, err := ask.DecodeForm(answers[0], form)
	if err != nil {
		return r.leaveUndecided(ctx, p, err)
	}
	switch {
	case !isApproval(f):
		return r.deny(ctx, p, "")
	case r.late(ctx, p, q):
		return r.undecided(p, fmt.Sprintf("the approval took longer than %d ms", wait.Milliseconds()))
	}
	return r.agree(ctx, p, r.approver().Subject)
}

// undecided ends a run that nobody agreed to in time. Its plan goes on waiting.
func (r *Run) undecided(p *Plan, why string) error {
	r.NoteApproval(journal.Approval{State: journal.Required, Plan: p.ID})
	return r.required(p, why)
}

// isApproval reports whether an answer agrees: by the one member that was asked for, not
// by one that is like it.
func isApproval(f ask.Form) bool {
	given, err := exact.Members(f.Content)
	return f.Action == ask.Accept && err == nil && string(given["approve"]) == "true"
}

// leaveUndecided ends a run whose client cannot be asked, or returned an error or an
// invalid answer: the plan waits for somebody else.
func (r *Run) leaveUndecided(ctx context.Context, p *Plan, err error) error {
	_, unable := ask.IsUnable(err)
	switch fault.CodeOf(err) {
	case fault.UpstreamError, fault.ServiceUnavailable, fault.QueueOverloaded:
		r.engine.opts.Log.WarnContext(ctx, "the client could not be asked about a plan", "plan", p.ID, "error", err)
	default:
		if !unable {
			return err
		}
	}
	r.NoteApproval(journal.Approval{State: journal.Required, Plan: p.ID})
	return r.required(p, "")
}

var errNoAnswer = errors.New("run: nobody answered")

// approver is who decides about the run's plan: who makes the call, unless somebody else
// applies the plan.
func (r *Run) approver() auth.Principal {
	if r.request.plan != nil {
		return r.request.approver
	}
	return r.principal
}

// agree notes that somebody agreed to what a plan has. errAgreed asks for the run's
// key.
func (r *Run) agree(ctx context.Context, p *Plan, by string) error {
	by, moved, err := r.move(ctx, p, PlanApproved, by)
	if err != nil {
		return err
	}
	g := r.guard
	g.noted = moved
	g.agreed, g.end = p.Shape, p.Call == nil
	if p.Call != nil {
		g.calls = append(g.calls, *p.Call)
	}
	r.NoteApproval(journal.Approval{State: journal.Approved, Plan: p.ID, By: by})
	if r.hold == nil {
		return errAgreed
	}
	return nil
}

// deny refuses the plan. Somebody said no, or nobody said anything.
func (r *Run) deny(ctx context.Context, p *Plan, why string) error {
	by := r.approver().Subject
	if _, _, err := r.move(ctx, p, PlanDenied, by); err != nil {
		return err
	}
	r.NoteApproval(journal.Approval{State: journal.Denied, Plan: p.ID, By: by})
	return denied(p, why)
}

// move decides about a plan, unless somebody else was faster and decided otherwise.
// moved is false where somebody else decided the same; decided is who it was.
func (r *Run) move(ctx context.Context, p *Plan, to PlanState, by string) (decided string, moved bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keyTimeout)
	defer cancel()
	moved, err = r.engine.plans.MovePlan(ctx, p.ID, PlanWaiting, to, by)
	if err != nil || moved {
		return by, moved, plansFault(err)
	}
	is, err := r.admitYes(ctx, p.ID)
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
func (r *Run) admitYes(ctx context.Context, id string) (*Plan, error) {
	p, err := r.engine.plan(ctx, id)
	if err != nil {
		return nil, err
	}
	return p, r.engine.admitYes(ctx, p, r.approver())
}

// confirm notes once more that the plan is applied, now that the run holds its key: since
// the yes somebody else may have tried and failed, replaced the plan, or refused it.
func (r *Run) confirm(ctx context.Context) error {
	if !r.agreed() {
		return nil
	}
	_, _, err := r.move(ctx, r.guard.kept, PlanApproved, r.approver().Subject)
	if err != nil {
		fate := Resume
		if r.hold.fresh {
			fate = Free
		}
		_ = r.hold.giveUp(ctx, Ending{Fate: fate})
		r.NoteApproval(journal.Approval{State: journal.Required, Plan: r.guard.kept.ID}) // the yes was not taken
	}
	return err
}

// recordConclusion notes in the ledger how the applying of a plan ended. A failure leaves
// it to be approved again; what has been done of it its key and its receipt know.
func (r *Run) recordConclusion(ctx context.Context, err error) {
	if !r.agreed() || r.guard.kept == nil {
		return
	}
	to := PlanApplied
	if err != nil {
		to = PlanWaiting
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keyTimeout)
	defer cancel()
	if _, err := r.engine.plans.MovePlan(ctx, r.guard.kept.ID, PlanApproved, to, r.approver().Subject); err != nil {
		r.engine.opts.Log.WarnContext(ctx, "the end of a plan could not be recorded in the ledger", "plan", r.guard.kept.ID, "error", err)
	}
}

// required is the fault of a run that somebody has to agree to and whose client
// cannot be asked. why says why the client's own person did not decide, "" for nothing.
func (r *Run) required(p *Plan, why string) *fault.Fault {
	return required(p, why, r.request.View.Listed(executeCode))
}

// executeCode is the operation that applies a plan beside the app's command line.
var executeCode = catalog.CodeID("koan", "execute")

// required is the fault of a plan that waits. listed says that the caller's tools
// include koan.code.execute.
func required(p *Plan, why string, listed bool) *fault.Fault {
	details := map[string]any{"planId": p.ID, "changeCounts": p.Counts(), "expiresAt": p.Expires.Format(time.RFC3339)}
	message := "a person must approve what this run changes; nothing has been committed yet"
	if p.Call != nil {
		details["call"] = map[string]any{"operation": p.Call.Operation, "input": p.Call.Input}
		message = "a person must approve the call of " + p.Call.Tool + p.Call.effect() + "; nothing has been committed yet"
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
	hint := "Have somebody run `approve " + p.ID + "` with the app's command line"
	if listed {
		hint += ", or call koan.code.execute with this planId as a principal who may approve"
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
