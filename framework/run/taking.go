package run

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"

	"github.com/koan-go/koan/framework/approval"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
)

// errUnclaimed ends the attempts of a run that has to be claimed before the next one.
var errUnclaimed = errors.New("run: it has to be claimed first")

// Join adds participants, before the first call.
func (e *Engine) Join(p ...Participant) { e.participants = append(e.participants, p...) }

// Refuse lets the participants know of a call for which no run was opened.
func (e *Engine) Refuse(ctx context.Context, r Refusal) {
	for _, p := range e.participants {
		if p, ok := p.(Refuser); ok {
			p.Refused(ctx, r)
		}
	}
}

// Joined returns the participant of a type in the engine that makes the call which ctx
// belongs to; ok is false where there is none.
func Joined[P Participant](ctx context.Context) (joined P, ok bool) {
	c := currentCall(ctx)
	if c == nil {
		return joined, false
	}
	for _, p := range c.engine.participants {
		if joined, ok = p.(P); ok {
			break
		}
	}
	return joined, ok
}

// PartOf returns the part of a run that is of a type; ok is false where none is.
func PartOf[P Part](r *Run) (part P, ok bool) {
	for _, p := range r.parts {
		if part, ok = p.(P); ok {
			break
		}
	}
	return part, ok
}

// each returns the parts of a run that implement a phase.
func each[Phase any](r *Run) iter.Seq[Phase] {
	return func(yield func(Phase) bool) {
		for _, p := range r.parts {
			if phase, ok := p.(Phase); ok && !yield(phase) {
				return
			}
		}
	}
}

// open asks the participants who takes part in the run.
func (r *Run) open() error {
	for _, p := range r.engine.participants {
		part, err := p.Open(r)
		if err != nil {
			return err
		}
		if part != nil {
			r.parts = append(r.parts, part)
		}
	}
	return nil
}

// admitUnheard refuses what was asked of the run and nobody takes part for.
func (r *Run) admitUnheard() error {
	s := &r.spec
	if s.IdempotencyKey != "" && r.key == nil {
		return fault.New(fault.CapabilityUnsupported, "this app keeps no idempotency keys, so it cannot promise that a script runs once").
			WithHint("Leave `idempotencyKey` out.").WithPath("/idempotencyKey")
	}
	if s.DryRun || s.Approval == "" || s.Approval == approval.Never {
		return nil
	}
	for range each[Gate](r) {
		return nil
	}
	return fault.New(fault.CapabilityUnsupported, "nobody can be asked to approve a run here").WithHint("Leave `approval` out.").WithPath("/approval")
}

// resume asks where the run goes on from.
func (r *Run) resume(ctx context.Context, out *Outcome) error {
	var err error
	for p := range each[Resumer](r) {
		if err = p.Resume(ctx); err != nil {
			break
		}
	}
	out.Run = r.ID
	return err
}

// ContinueFrom has the run go on from somewhere, when it is resumed.
func (r *Run) ContinueFrom(c Continuation) {
	r.ID, r.outside, r.sets = c.Run, c.Outside, c.Sets
	r.useTape(c.Tape)
	r.keepsTape = true
}

// KeepsTape reports whether whoever claims the run has to leave it its tape: what the run
// did along it counts already.
func (r *Run) KeepsTape() bool { return r.keepsTape }

// RequireClaim has the run be claimed before its next attempt. The first key counts.
func (r *Run) RequireClaim(k Key) {
	if r.key == nil {
		r.key = &k
	}
}

// Key is what the run is claimed under, nil where it need not be.
func (r *Run) Key() *Key { return r.key }

// claim has the run claimed. over reports that nothing is left to run.
func (r *Run) claim(ctx context.Context, out *Outcome) (over bool, err error) {
	var takers []any
	defer func() {
		if over || err != nil {
			for _, p := range slices.Backward(takers) {
				if u, ok := p.(Unclaimer); ok {
					u.Unclaim(ctx)
				}
			}
		}
	}()
	for p := range each[Claimer](r) {
		switch claim, err := p.Claim(ctx, out); {
		case err != nil, claim == Over:
			return true, err
		case claim == Taken:
			takers = append(takers, p)
		}
	}
	if len(takers) == 0 {
		return true, fault.New(fault.Internal, "").Because(errors.New("run: nobody can claim a run that has a key"))
	}
	r.claimed = true
	return false, nil
}

// LoseClaim ends the run: somebody else has taken it over.
func (r *Run) LoseClaim() { r.lose(ErrLost) }

// MarkUncertain notes that nobody knows whether the run has committed.
func (r *Run) MarkUncertain() { r.uncertain = true }

// begin lets the parts know that attempts are going to be made.
func (r *Run) begin(ctx context.Context) {
	for p := range each[Beginner](r) {
		p.Begin(ctx)
	}
}

// wait has a pause of the run waited for.
func (r *Run) wait(ctx context.Context, p Pause, changes []Change) error {
	if err := p.Wait(ctx, changes); err != nil {
		return err
	}
	r.keepsTape = true
	if r.key != nil && !r.claimed {
		return errUnclaimed
	}
	return nil
}

func isPause(err error) bool {
	_, ok := err.(Pause) //nolint:errorlint // never wrapped
	return ok
}

// enterSet notes that a call names or uses a set, before it reads anything there. The run
// ends where whoever gets what it returns may not see that.
func (a *Attempt) enterSet(ctx context.Context, set string) error {
	r := a.run
	r.mu.Lock()
	known := slices.Contains(r.sets, set)
	if !known {
		r.sets = append(r.sets, set)
	}
	r.mu.Unlock()
	for p := range each[Audience](r) {
		if known {
			break
		}
		if err := p.EnterSet(ctx); err != nil {
			return a.finish(err)
		}
	}
	if err := r.AdmitReader([]string{set}); err != nil {
		return a.finish(err)
	}
	return nil
}

// AdmitReader refuses whoever gets what the run returns where he may not name one of the sets
// that it may come from. Then the run's end says nothing of the run: it is Hidden.
func (r *Run) AdmitReader(sets []string) error {
	for p := range each[Audience](r) {
		if err := p.AdmitReader(sets); err != nil {
			r.hidden.Store(true)
			return err
		}
	}
	return nil
}

// Hidden reports whether AdmitReader has refused anybody.
func (r *Run) Hidden() bool { return r.hidden.Load() }

// ForeignReader reports whether somebody else than the run's principal gets what it returns.
func (r *Run) ForeignReader() bool {
	for p := range each[Audience](r) {
		if p.Foreign() {
			return true
		}
	}
	return false
}

// Scope is every set that the run's calls have named or used so far, and its own set,
// in which its calls are that name none, unless its caller may not name it: then no
// call is.
func (r *Run) Scope() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	sets := slices.Clone(r.sets)
	if own := r.spec.Set; r.principal.MayName(own) && !slices.Contains(sets, own) {
		sets = append(sets, own)
	}
	if sets == nil {
		return []string{}
	}
	return sets
}

func (r *Run) recorded(c *OutsideCall) {
	for p := range each[Witness](r) {
		p.Recorded(c)
	}
}

// beforeOutside asks whether a call may be made that no transaction covers, and has it noted.
func (r *Run) beforeOutside(ctx context.Context, c *OutsideCall) error {
	for p := range each[Gate](r) {
		if err := p.Outside(c); isPause(err) {
			return c.Attempt.finish(err)
		} else if err != nil {
			return err
		}
	}
	for p := range each[Witness](r) {
		if err := p.BeforeOutside(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

func (r *Run) afterOutside(ctx context.Context, c *OutsideCall, out json.RawMessage, err error) {
	for p := range each[Witness](r) {
		p.AfterOutside(ctx, c, out, err)
	}
}

// judge asks whether effects may be committed.
func (r *Run) judge(ctx context.Context, a *Attempt, e Effects) error {
	for p := range each[Judge](r) {
		if err := p.Judge(ctx, a, e); err != nil {
			return err
		}
	}
	return nil
}

// judgeCall asks about the changes of a call that would commit by itself.
func (r *Run) judgeCall(ctx context.Context, a *Attempt, changes []Change) error {
	r.mu.Lock()
	all := slices.Concat(r.applied, changes)
	r.mu.Unlock()
	return r.judge(ctx, a, Effects{Changes: all})
}

// recover asks what the error of the run means to its caller.
func (r *Run) recover(ctx context.Context, out *Outcome, err error) error {
	for p := range each[Recoverer](r) {
		if err == nil {
			break
		}
		err = p.Recover(ctx, out, err)
	}
	return err
}

// release lets the parts give up what they hold of the run.
func (r *Run) release(ctx context.Context, c *Conclusion) {
	for _, p := range slices.Backward(r.parts) {
		if p, ok := p.(Releaser); ok {
			if err := p.Release(ctx, c); err != nil {
				c.Err = r.failed(c.Outcome, err)
			}
		}
	}
}

// end lets the parts know how the run ended.
func (r *Run) end(ctx context.Context, c *Conclusion) {
	c.Outcome.Approved = r.Approval().State == journal.Approved
	for p := range each[Ender](r) {
		p.End(ctx, c)
	}
}
