package run

import (
	"context"
	"errors"
	"slices"

	"github.com/koan-go/koan/framework/fault"
)

// parts are the parts of a run's participants, in the order in which they are asked.
type parts []Part

// consult asks all parts that implement a phase, until one returns an error.
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

// notify calls message for all parts that implement a phase.
func notify[Phase any](all parts, message func(Phase)) {
	for _, p := range all {
		if p, ok := p.(Phase); ok {
			message(p)
		}
	}
}

// claim claims the run. over reports that nothing is left to run.
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

// errOver stops the claim of a run of which nothing is left to run.
var errOver = errors.New("run: it is over")

// begin notifies the parts before the first attempt.
func (all parts) begin(ctx context.Context) {
	notify(all, func(p Beginner) { p.Begin(ctx) })
}

// foreign reports whether someone other than the run's principal gets its result.
func (all parts) foreign() (is bool) {
	notify(all, func(p Audience) { is = is || p.Foreign() })
	return is
}

// judge asks the parts whether effects may be committed.
func (all parts) judge(ctx context.Context, a *Attempt, e Effects) error {
	return consult(all, func(p Judge) error { return p.Judge(ctx, a, e) })
}

func (all parts) beforeCommit(ctx context.Context, sets []string) error {
	return consult(all, func(p Committer) error { return p.BeforeCommit(ctx, sets) })
}

// recover asks the parts what the error of a run means to its caller.
func (all parts) recover(ctx context.Context, out *Outcome, err error) error {
	notify(all, func(p Recoverer) {
		if err != nil {
			err = p.Recover(ctx, out, err)
		}
	})
	return err
}

// release makes the parts release what they hold for the run, in reverse order. The error is one that
// the run's caller must learn.
func (all parts) release(ctx context.Context, c *Conclusion) (last error) {
	for _, p := range slices.Backward(all) {
		if p, ok := p.(Releaser); ok {
			if err := p.Release(ctx, c); err != nil {
				last = err
			}
		}
	}
	return last
}
