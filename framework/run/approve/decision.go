package approve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/koan-go/koan/framework/ask"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exact"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run"
)

// planOperation is what the keys of runs stand under that have a plan and no
// idempotency key. No catalog ID is like it.
const planOperation = "plan"

// form is what a person answers with, where the approval is for this time alone.
var form = json.RawMessage(`{"type":"object","properties":{"approve":{"type":"boolean","title":"Approve","description":"Yes commits these changes, no discards them.","default":false}},"required":["approve"]}`)

// decision has people decide about the plans of a run, and knows what they agreed to.
type decision struct {
	guard   *Guard
	run     *run.Run
	subject string
	applied *application // nil where no plan is applied
	agreement
	noting sync.Mutex // held while a call that a grant covers is noted
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
func (d *decision) question(p *Plan, form json.RawMessage) ask.Question {
	q := ask.FormQuestion(questionKey(p.ID), d.seen(p).CallerText(d.run.Redact), form)
	q.Life = d.guard.settings.Load().Life // a late answer is heard, and is no yes any more
	q.Status = "waiting for a person to decide about plan " + p.ID
	return q
}

// late reports whether a person took too long for the answer that a client calls again
// with. One that is asked while its call waits is never late: the wait ends.
func (d *decision) late(ctx context.Context, p *Plan, q ask.Question) bool {
	return slices.Contains(ask.Answered(ctx), q.Key) && time.Since(p.Created) > d.guard.settings.Load().Wait
}

// ask asks whoever made the call, and does what the answer says. Where there is none,
// or nobody is left to hear it, the plan waits for somebody else.
func (d *decision) ask(ctx context.Context, p *Plan) error {
	form := d.guard.formFor(d.terms(ctx, p))
	q, wait := d.question(p, form), d.guard.settings.Load().Wait
	waiting, cancel := context.WithTimeoutCause(ctx, wait, errNoAnswer)
	defer cancel()
	answers, err := ask.All(waiting, q)
	switch {
	case err == nil:
	case ask.Waits(err) != nil:
		d.run.NoteApproval(journal.Approval{State: journal.Required, Plan: p.ID})
		return err
	case errors.Is(context.Cause(waiting), errNoAnswer):
		return d.undecided(p, fmt.Sprintf("nobody answered within %d ms", wait.Milliseconds()))
	case ctx.Err() != nil: // the call is over
		d.run.NoteApproval(journal.Approval{State: journal.Required, Plan: p.ID})
		return ctx.Err()
	default:
		return d.leaveUndecided(ctx, p, err)
	}
	f, err := ask.DecodeForm(answers[0], form)
	if err != nil {
		return d.leaveUndecided(ctx, p, err)
	}
	switch {
	case !isApproval(f):
		return d.deny(ctx, p, "")
	case d.late(ctx, p, q):
		return d.undecided(p, fmt.Sprintf("the approval took longer than %d ms", wait.Milliseconds()))
	}
	if err := d.agree(ctx, p, d.approver().Subject); err != nil {
		return err
	}
	return d.grant(ctx, p, lastsOf(f))
}

// undecided ends a run that nobody agreed to in time. Its plan goes on waiting.
func (d *decision) undecided(p *Plan, why string) error {
	d.run.NoteApproval(journal.Approval{State: journal.Required, Plan: p.ID})
	return d.required(p, why)
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
func (d *decision) leaveUndecided(ctx context.Context, p *Plan, err error) error {
	d.run.NoteApproval(journal.Approval{State: journal.Required, Plan: p.ID})
	_, unable := ask.IsUnable(err)
	switch fault.CodeOf(err) {
	case fault.UpstreamError, fault.ServiceUnavailable, fault.QueueOverloaded:
		d.guard.opts.Log.WarnContext(ctx, "the client could not be asked about a plan", "plan", p.ID, "error", err)
	default:
		if !unable {
			return err
		}
	}
	return d.required(p, "")
}

var errNoAnswer = errors.New("approve: nobody answered")

// approver is who decides about the run's plan: who makes the call, unless somebody else
// applies the plan.
func (d *decision) approver() auth.Principal {
	if d.applied != nil {
		return d.applied.by
	}
	return d.run.Principal()
}

// seen is a plan as its approver reads it.
func (d *decision) seen(p *Plan) *Plan {
	by := d.approver()
	return p.SeenBy(by, d.run.Request().View.Snapshot().View(by, p.Request.Mode, p.Request.Negotiated))
}

// agree notes that somebody agreed to what a plan has: from now on the run has to hold a key,
// so that nobody else applies the plan too.
func (d *decision) agree(ctx context.Context, p *Plan, by string) error {
	by, moved, err := d.move(ctx, p, PlanApproved, by)
	if err != nil {
		return err
	}
	d.noted = moved
	d.agreed, d.end = p.Shape, p.Call == nil
	if p.Call != nil {
		d.calls = append(d.calls, *p.Call)
	}
	d.run.NoteApproval(journal.Approval{State: journal.Approved, Plan: p.ID, By: by})
	d.run.RequireClaim(run.Key{Operation: planOperation, Name: d.run.ID, Busy: applying()})
	return nil
}

// applying is the fault of a plan that somebody else is applying.
func applying() *fault.Fault {
	return fault.New(fault.InProgress, "somebody else is applying this plan").WithHint("Wait, then ask again with the same planId.").WithPath("/planId")
}

// deny refuses the plan. Somebody said no, or nobody said anything.
func (d *decision) deny(ctx context.Context, p *Plan, why string) error {
	by := d.approver().Subject
	if _, _, err := d.move(ctx, p, PlanDenied, by); err != nil {
		return err
	}
	d.run.NoteApproval(journal.Approval{State: journal.Denied, Plan: p.ID, By: by})
	return denied(p, why)
}

// move decides about a plan, unless somebody else was faster and decided otherwise.
// moved is false where somebody else decided the same; decided is who it was.
func (d *decision) move(ctx context.Context, p *Plan, to PlanState, by string) (decided string, moved bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), plansTimeout)
	defer cancel()
	moved, err = d.guard.plans.MovePlan(ctx, p.ID, PlanWaiting, to, by)
	if err != nil || moved {
		return by, moved, plansFault(err)
	}
	is, err := d.admitYes(ctx, p.ID)
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
func (d *decision) admitYes(ctx context.Context, id string) (*Plan, error) {
	p, err := d.guard.plan(ctx, id)
	if err != nil {
		return nil, err
	}
	return p, d.guard.admitYes(ctx, p, d.approver())
}

// required is the fault of a run that somebody has to agree to and whose client
// cannot be asked. why says why the client's own person did not decide, "" for nothing.
func (d *decision) required(p *Plan, why string) *fault.Fault {
	return d.guard.required(d.seen(p), why, d.approver(), d.run.Request().View.Listed(executeCode))
}

// executeCode is the operation that applies a plan beside the app's command line.
var executeCode = catalog.CodeID("koan", "execute")

// required is the fault of a plan that waits, for its reader. listed says that the reader's tools
// include koan.code.execute.
func (g *Guard) required(p *Plan, why string, reader auth.Principal, listed bool) *fault.Fault {
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
	hint := "Ask somebody to run `" + g.command(p.ID, reader) + "`"
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
		WithHint("The command `approve --list` shows the plans that wait. They are kept for approval.planHours; after that, run the script again.").WithPath("/planId")
}

// noteGranted notes who approved a call before it was made, where nothing else is noted of
// the run.
func (d *decision) noteGranted(by string) {
	d.noting.Lock()
	defer d.noting.Unlock()
	if d.run.Approval().State == "" {
		d.run.NoteApproval(journal.Approval{State: journal.Approved, By: by})
	}
}
