package run

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// parts are who takes part in a run, in the order in which they are asked.
type parts []Part

// PartOf returns the part of a run that is of a type; ok is false where none is.
func PartOf[P Part](r *Run) (part P, ok bool) {
	for _, p := range r.parts {
		if p, ok := p.(P); ok {
			return p, true
		}
	}
	return part, false
}

// consult asks all that implement a phase, until one objects.
func consult[Phase any](all parts, question func(Phase) error) error {
	for _, p := range all {
		if p, ok := p.(Phase); ok {
			if err := question(p); err != nil {
				return err
			}
		}
	}
	return nil
}

// notify lets all that implement a phase know something.
func notify[Phase any](all parts, message func(Phase)) {
	for _, p := range all {
		if p, ok := p.(Phase); ok {
			message(p)
		}
	}
}

// resume asks where the run goes on from.
func (all parts) resume(ctx context.Context) error {
	return consult(all, func(p Resumer) error { return p.Resume(ctx) })
}

// claim has the run claimed. over reports that nothing is left to run.
func (all parts) claim(ctx context.Context, out *Outcome) (over bool, err error) {
	var takers parts
	err = consult(all, func(p Claimer) error {
		claim, err := p.Claim(ctx, out)
		switch {
		case err == nil && claim == Taken:
			takers = append(takers, p)
		case err == nil && claim == Over:
			return errOver
		}
		return err
	})
	if err != nil {
		slices.Reverse(takers)
		notify(takers, func(p Unclaimer) { p.Unclaim(ctx) })
	}
	switch {
	case errors.Is(err, errOver):
		return true, nil
	case err == nil && len(takers) == 0:
		err = fault.New(fault.Internal, "").Because(errors.New("run: nobody can claim a run that has a key"))
	}
	return err != nil, err
}

// errOver ends asking who claims a run of which nothing is left to run.
var errOver = errors.New("run: it is over")

// begin lets them know that attempts are going to be made.
func (all parts) begin(ctx context.Context) {
	notify(all, func(p Beginner) { p.Begin(ctx) })
}

func (all parts) enterSet(ctx context.Context) error {
	return consult(all, func(p Audience) error { return p.EnterSet(ctx) })
}

func (all parts) admitReader(sets []string) error {
	return consult(all, func(p Audience) error { return p.AdmitReader(sets) })
}

func (all parts) foreign() (is bool) {
	notify(all, func(p Audience) { is = is || p.Foreign() })
	return is
}

// inside lets them know of a call that transactions cover.
func (all parts) inside(a *Attempt, op *catalog.Operation) {
	notify(all, func(p Gate) { p.Inside(a, op) })
}

// outside asks whether a call may be made that no transaction covers.
func (all parts) outside(ctx context.Context, c *OutsideCall) error {
	return consult(all, func(p Gate) error { return p.Outside(ctx, c) })
}

func (all parts) recorded(c *OutsideCall) {
	notify(all, func(p Witness) { p.Recorded(c) })
}

func (all parts) beforeOutside(ctx context.Context, c *OutsideCall) error {
	return consult(all, func(p Witness) error { return p.BeforeOutside(ctx, c) })
}

func (all parts) afterOutside(ctx context.Context, c *OutsideCall, out json.RawMessage, err error) {
	notify(all, func(p Witness) { p.AfterOutside(ctx, c, out, err) })
}

func (all parts) afterCall(c CallEnd) {
	notify(all, func(p AfterCaller) { p.AfterCall(c) })
}

func (all parts) beforeWrite(s Store) error {
	return consult(all, func(p Writer) error { return p.BeforeWrite(s) })
}

// judge asks whether effects may be committed.
func (all parts) judge(ctx context.Context, a *Attempt, e Effects) error {
	return consult(all, func(p Judge) error { return p.Judge(ctx, a, e) })
}

func (all parts) beforeCommit(ctx context.Context, sets []string) error {
	return consult(all, func(p Committer) error { return p.BeforeCommit(ctx, sets) })
}

// recover asks what the error of a run means to its caller.
func (all parts) recover(ctx context.Context, out *Outcome, err error) error {
	notify(all, func(p Recoverer) {
		if err != nil {
			err = p.Recover(ctx, out, err)
		}
	})
	return err
}

// release lets them give up what they hold of the run, in the reverse order. The error is one
// that its caller has to know.
func (all parts) release(ctx context.Context, c *Conclusion) (last error) {
	backward := slices.Clone(all)
	slices.Reverse(backward)
	notify(backward, func(p Releaser) {
		if err := p.Release(ctx, c); err != nil {
			last = err
		}
	})
	return last
}

// end lets them know how the run ended.
func (all parts) end(ctx context.Context, c *Conclusion) {
	notify(all, func(p Ender) { p.End(ctx, c) })
}
