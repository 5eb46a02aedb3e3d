package approve

import (
	"context"
	"encoding/hex"
	"slices"
	"sync"

	"github.com/koan-go/koan/framework/approval"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/store"
	"github.com/koan-go/koan/framework/run/tape"
)

// consent is what is known of who has to agree to a run, and who has.
type consent struct {
	decision
	taint
	policy approval.Policy
	floor  approval.Mode

	kept      *Plan      // as it stands in the ledger; nil until the first question
	widen     sync.Mutex // held while kept gets further sets
	last      shape      // of the changes that were asked about last
	planBytes int64      // that are counted for kept
	effects   attemptEffects
}

// agreement is what people have said yes to.
type agreement struct {
	// agreed is the shape of changes that somebody agreed to, "" for none. With end it
	// is that of the whole run: anything else needs another answer.
	agreed string
	end    bool
	noted  bool          // the yes, by this call: nobody else applies the plan for it
	calls  []PlannedCall // outside, agreed to
}

var (
	_ run.Resumer  = (*consent)(nil)
	_ run.Claimer  = (*consent)(nil)
	_ run.Audience = (*consent)(nil)
	_ run.Gate     = (*consent)(nil)
	_ run.Judge    = (*consent)(nil)
	_ run.Releaser = (*consent)(nil)
	_ run.Ender    = (*consent)(nil)
)

// given reports whether somebody has agreed to anything of the run.
func (a *agreement) given() bool { return a.agreed != "" }

// attemptEffects are the calls of an attempt that a rule names.
type attemptEffects struct {
	mu      sync.Mutex
	of      *run.Attempt
	effects []approval.Effect
}

// add adds a call of an attempt. Those of an earlier attempt count no more.
func (e *attemptEffects) add(a *run.Attempt, effect approval.Effect) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.of != a {
		e.of, e.effects = a, nil
	}
	e.effects = append(e.effects, effect)
}

// in returns the calls of an attempt.
func (e *attemptEffects) in(a *run.Attempt) []approval.Effect {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.of != a {
		return nil
	}
	return e.effects
}

// Inside remembers a call that transactions cover, where a rule names it.
func (c *consent) Inside(a *run.Attempt, op *catalog.Operation) {
	if c.policy.Names(op.ID.String()) {
		c.effects.add(a, callEffect(op))
	}
}

// Outside lets a call that no transaction covers be made, or has the run wait where
// somebody has to agree to it first: to one with an effect outside or one that a rule names,
// because of the policy or because of what its input carries, unless a grant covers it.
func (c *consent) Outside(ctx context.Context, o *run.OutsideCall) error {
	if err := c.tooLargeToAsk(o.Attempt); err != nil {
		return err
	}
	op := o.Operation
	effect := callEffect(op)
	effect.Writes = o.Effect
	judged := o.Effect || !op.Effects.ReadOnly && c.policy.Names(op.ID.String())
	required := judged && slices.Contains(c.policy.NeedApproval(c.subject, c.floor, []approval.Effect{effect}), effect)
	required = required || c.policy.AlwaysByName(c.subject, op.ID.String())
	carried := c.carried(o)
	if !required && len(carried) == 0 {
		return nil
	}
	op, err := o.Current(ctx) // what was agreed to may be another tool by now
	if err != nil {
		return err
	}
	planned := PlannedCall{
		Position: o.Position, Digest: hex.EncodeToString(o.Digest[:]), Operation: op.ID.String(),
		Tool: c.run.Request().View.Snapshot().ToolName(op.ID), Input: o.Input, Declared: declared(op), Inside: !o.Effect, Carries: carried, App: o.App,
		Strict: slices.Contains(approval.Policy{}.NeedApproval(c.subject, c.floor, []approval.Effect{effect}), effect),
	}
	if slices.ContainsFunc(c.calls, planned.same) {
		return nil
	}
	if !planned.Strict {
		sources := planned.sources()
		if required {
			sources = append(sources, "")
		}
		s, err := c.guard.granted(ctx, c.subject, op, sources)
		if err != nil {
			return err
		}
		if s.covered {
			c.noteGranted(s.by)
			return nil
		}
		planned.Voided = s.voided
	}
	if !c.run.Spec().Atomic {
		return notAtomic()
	}
	return &pause{consent: c, call: &planned}
}

// tooLargeToAsk returns the fault of a plan that is too large without its changes already, once it is certain that
// the run needs one: what else the run does would be for nothing.
func (c *consent) tooLargeToAsk(a *run.Attempt) error {
	if c.given() || c.run.Spec().DryRun || !c.run.Spec().Atomic || len(c.policy.NeedApproval(c.subject, c.floor, c.effects.in(a))) == 0 {
		return nil
	}
	most := c.guard.settings.Load().MaxBytes
	if fixed := c.fixedBytes(); fixed > int64(most) {
		return planTooLarge(fixed, most)
	}
	return nil
}

// Judge looks at a clean attempt before it commits, or at a call that commits by itself. The
// error is a pause where somebody has to agree.
func (c *consent) Judge(_ context.Context, a *run.Attempt, e run.Effects) error {
	asked := func() bool {
		return len(c.policy.NeedApproval(c.subject, c.floor, append(rowEffects(e.Changes), c.effects.in(a)...))) > 0
	}
	if !e.Whole {
		if asked() {
			return notAtomic()
		}
		return nil
	}
	if c.given() && c.shape(e.Changes).digest == c.agreed {
		return nil
	}
	if !c.end && !asked() {
		return nil
	}
	return &pause{consent: c}
}

// shapeOf is the shape of what a plan asks, as far as it is kept.
func (c *consent) shapeOf(p *Plan) shape {
	if p.Sampled() {
		return shape{digest: p.Shape, counts: p.Counted, sampled: true}
	}
	return c.shape(p.Changes)
}

func (c *consent) shape(changes []store.Change) shape {
	return shapeOf(changes, c.run.Request().View.Snapshot().Resource)
}

// imageBytes is how many bytes the images of changes take.
func imageBytes(changes []store.Change) (n int64) {
	for i := range changes {
		n += int64(len(changes[i].Before) + len(changes[i].After))
	}
	return n
}

// pause ends an attempt whose effect somebody has to agree to first.
type pause struct {
	consent *consent
	call    *PlannedCall // that the attempt came to; nil at its end
}

var _ run.Pause = (*pause)(nil)

func (*pause) Error() string { return "approval is required first" } // stands among the calls of the reply

// Code implements run.Pause.
func (*pause) Code() fault.Code { return fault.ApprovalRequired }

// Wait implements run.Pause.
func (p *pause) Wait(ctx context.Context, changes []store.Change) error {
	return p.consent.request(ctx, p.call, changes)
}

// isRecorded reports whether a tape has what came of the call.
func (c PlannedCall) isRecorded(t *tape.Tape) bool {
	digest, err := tape.ParseDigest(c.Digest)
	if err != nil {
		return false
	}
	_, _, made := t.Outside(c.Position, digest)
	return made
}

// standing returns the calls outside whose approval still stands: those that were made,
// and, where nothing else has changed, those that the attempt did not come to because
// another call beside them was faster. All others are asked about again.
func (a *agreement) standing(t *tape.Tape, unchanged bool) (out []PlannedCall) {
	for _, c := range a.calls {
		if c.Pending = !c.isRecorded(t); !c.Pending || unchanged {
			out = append(out, c)
		}
	}
	return out
}

// rowEffects are changes as the policy sees them.
func rowEffects(changes []store.Change) []approval.Effect {
	out := make([]approval.Effect, len(changes))
	for i, c := range changes {
		out[i] = approval.Effect{Entity: c.Entity, Operation: string(c.Action), Writes: true, Destructive: c.Action == store.Delete}
	}
	return out
}

// callEffect is a call as the policy sees it.
func callEffect(op *catalog.Operation) approval.Effect {
	return approval.Effect{Operation: op.ID.String(), Writes: !op.Effects.ReadOnly, Destructive: op.Effects.Destructive}
}

// Claim notes once more that the plan is applied, now that the run holds its key: since
// the yes somebody else may have tried and failed, replaced the plan, or refused it.
func (c *consent) Claim(ctx context.Context, _ *run.Outcome) (run.Claim, error) {
	if !c.given() {
		return run.NotMine, nil
	}
	_, _, err := c.move(ctx, c.kept, PlanApproved, c.approver().Subject)
	if err != nil {
		c.run.NoteApproval(journal.Approval{State: journal.Required, Plan: c.kept.ID}) // the yes was not taken
	}
	return run.NotMine, err
}

// Release notes that applying the plan failed, while nobody else applies it.
func (c *consent) Release(ctx context.Context, e *run.Conclusion) error {
	if e.Err != nil && !e.Uncertain {
		c.conclude(ctx, e.Err)
	}
	return nil
}

// End notes that the plan was applied, also by somebody else.
func (c *consent) End(ctx context.Context, e *run.Conclusion) {
	switch {
	case e.Ran && e.Err == nil, !e.Ran && (e.Outcome.Repeated || c.run.Hidden()):
		c.conclude(ctx, e.Err)
	case !e.Ran && c.noted && c.run.ID != c.kept.Run && fault.CodeOf(e.Err) == fault.InProgress: // the key's run is not the plan's
		c.conclude(ctx, e.Err)
	}
	if c.kept != nil {
		if !c.kept.Sampled() {
			e.Proposed = c.kept.Changes
		}
	}
}

// conclude notes in the ledger how the applying of a plan ended. A failure leaves
// it to be approved again; what has been done of it its key and its receipt know.
func (c *consent) conclude(ctx context.Context, err error) {
	if !c.given() || c.kept == nil {
		return
	}
	to := PlanApplied
	if err != nil {
		to = PlanWaiting
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), plansTimeout)
	defer cancel()
	if _, err := c.guard.plans.MovePlan(ctx, c.kept.ID, PlanApproved, to, c.approver().Subject); err != nil {
		c.guard.opts.Log.WarnContext(ctx, "the end of a plan could not be recorded in the ledger", "plan", c.kept.ID, "error", err)
	}
}
