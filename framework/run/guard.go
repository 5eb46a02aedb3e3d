package run

import (
	"encoding/hex"
	"slices"
	"sync"
	"time"

	"github.com/koan-go/koan/framework/approval"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/tape"
)

// Approvals say what a person has to agree to, and how long plans are kept and
// waited for. The zero value asks nobody.
type Approvals struct {
	Policy   approval.Policy
	Wait     time.Duration // for one answer; 0 is 5 minutes
	Life     time.Duration // of a plan; 0 is a day, and KeyRetention the most
	MaxBytes int           // of a plan; 0 is 4 MiB
}

func (a *Approvals) fill(keys time.Duration) {
	if a.Wait == 0 {
		a.Wait = 5 * time.Minute
	}
	if a.Life == 0 {
		a.Life = 24 * time.Hour
	}
	// A plan must be gone before the key that says whether it was applied.
	a.Life = min(a.Life, keys)
	if a.MaxBytes == 0 {
		a.MaxBytes = 4 << 20
	}
}

// guard is what a run knows of who has to agree to it, and who has. A run without
// one commits as it likes.
type guard struct {
	policy  approval.Policy
	subject string
	floor   approval.Mode

	kept  *Plan      // as it stands in the ledger; nil until the first question
	widen sync.Mutex // held while kept gets further sets
	// agreed is the shape of changes that somebody agreed to, "" for none. With end it
	// is that of the whole run: anything else needs another answer.
	agreed string
	end    bool
	noted  bool          // the yes, by this call: nobody else applies the plan for it
	hidden bool          // the approver may not see what the run has come to
	calls  []PlannedCall // outside, agreed to
	last   shape         // of the changes that were asked about last
	held   int64         // bytes that are counted for kept
}

// newGuard makes the run's guard, nil where nobody will be asked whatever it does.
func (r *Run) newGuard() *guard {
	policy := r.engine.approvals().Policy
	reads := r.op.ID.Kind != catalog.KindCode && r.op.Effects.ReadOnly
	if r.request.plan == nil && (reads || r.spec.DryRun || policy.Silent(r.principal.Subject, r.spec.Approval)) {
		return nil
	}
	return &guard{policy: policy, subject: r.principal.Subject, floor: r.spec.Approval}
}

// admitApproval refuses what cannot be approved.
func (e *Engine) admitApproval(r *Run) error {
	switch {
	case r.guard == nil:
		return nil
	case e.plans == nil || e.ledger == nil:
		return fault.New(fault.CapabilityUnsupported, "this app has nowhere to keep plans, so nothing can be approved").
			WithHint("Leave `approval` out.").WithPath("/approval")
	case !r.spec.Atomic && len(r.guard.policy.Asks(r.guard.subject, r.guard.floor, nil)) > 0:
		return notAtomic().WithPath("/atomic")
	}
	return nil
}

func notAtomic() *fault.Fault {
	return fault.New(fault.ApprovalRequired, "this run needs approval, and a run that commits call by call cannot be approved").
		WithHint("Leave `atomic: false` out.")
}

// pause ends an attempt whose effect somebody has to agree to first.
type pause struct {
	call    *PlannedCall // that the attempt came to; nil at its end
	changes []Change
}

func (*pause) Error() string { return "approval is required first" } // stands among the calls of the reply

func isPause(err error) bool {
	_, ok := err.(*pause) //nolint:errorlint // never wrapped
	return ok
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
func (g *guard) standing(t *tape.Tape, unchanged bool) (out []PlannedCall) {
	for _, c := range g.calls {
		if c.Pending = !c.isRecorded(t); !c.Pending || unchanged {
			out = append(out, c)
		}
	}
	return out
}

// allowsAnotherAttempt reports whether another attempt may follow one that ended in err.
func allowsAnotherAttempt(err error) bool { return isRestart(err) || isPause(err) }

// rowDeeds are changes as the policy sees them.
func rowDeeds(changes []Change) []approval.Deed {
	out := make([]approval.Deed, len(changes))
	for i, c := range changes {
		out[i] = approval.Deed{Entity: c.Entity, Operation: string(c.Action), Writes: true, Destructive: c.Action == Delete}
	}
	return out
}

// callDeed is a call as the policy sees it.
func callDeed(op *catalog.Operation) approval.Deed {
	return approval.Deed{Operation: op.ID.String(), Writes: !op.Effects.ReadOnly, Destructive: op.Effects.Destructive}
}

// judge looks at a clean attempt before it commits. The error is a pause where
// somebody has to agree.
func (r *Run) judge(a *Attempt, changes []Change) error {
	g := r.guard
	if g == nil {
		return nil
	}
	// No plan was larger than plans may be: nobody agreed to such changes.
	if g.agreed != "" && changesBytes(changes) <= int64(r.engine.approvals().MaxBytes) && r.shape(changes).digest == g.agreed {
		return nil
	}
	if !g.end && len(g.policy.Asks(g.subject, g.floor, append(rowDeeds(changes), a.deeds...))) == 0 {
		return nil
	}
	return &pause{changes: changes}
}

func (r *Run) shape(changes []Change) shape {
	return shapeOf(changes, r.request.View.Snapshot().Resource)
}

// judgeCall looks at the changes of a call that would commit by itself.
func (r *Run) judgeCall(a *Attempt, changes []Change) error {
	g := r.guard
	if g == nil {
		return nil
	}
	r.mu.Lock()
	all := slices.Concat(r.applied, changes)
	r.mu.Unlock()
	if len(g.policy.Asks(g.subject, g.floor, append(rowDeeds(all), a.deeds...))) == 0 {
		return nil
	}
	return notAtomic()
}

// noteDeed remembers a call that transactions cover, where a rule names it.
func (a *Attempt) noteDeed(op *catalog.Operation) {
	if g := a.run.guard; g != nil && g.policy.Names(op.ID.String()) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.deeds = append(a.deeds, callDeed(op))
	}
}

// hasRule reports whether a rule names an operation that is declared to have no effect
// outside, and not to read only either: what a rule asks about is asked before.
func (r *Run) hasRule(op *catalog.Operation) bool {
	return r.guard != nil && !op.Effects.ReadOnly && r.guard.policy.Names(op.ID.String())
}

// admitOutside lets a call that no transaction covers be made, one with an effect
// outside or one that a rule names, or ends the attempt where somebody has to agree to
// it first.
func (a *Attempt) admitOutside(c *call, digest [32]byte, effect bool) error {
	g := a.run.guard
	if g == nil {
		return nil
	}
	planned := PlannedCall{
		Position: c.position, Digest: hex.EncodeToString(digest[:]), Operation: c.op.ID.String(),
		Tool: c.request.View.Snapshot().ToolName(c.op.ID), Input: c.input, Inside: !effect,
	}
	deed := callDeed(c.op)
	deed.Writes = effect
	switch {
	case slices.ContainsFunc(g.calls, planned.same), !slices.Contains(g.policy.Asks(g.subject, g.floor, []approval.Deed{deed}), deed):
		return nil
	case !a.run.spec.Atomic:
		return notAtomic()
	}
	return a.finish(&pause{call: &planned})
}

// agreed reports whether somebody has agreed to anything of the run.
func (r *Run) agreed() bool { return r.guard != nil && r.guard.agreed != "" }
