package approve

import (
	"context"
	"slices"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/run/store"
)

// isOwnedBy reports whether a principal made the plan, with the rights that it has now.
func (p *Plan) isOwnedBy(by auth.Principal) bool {
	return p.Request.Principal.Subject == by.Subject && p.Request.Principal.Key() == by.Key()
}

// isVisibleTo reports whether a principal may name every set that the plan's run named,
// used or changed.
func (p *Plan) isVisibleTo(by auth.Principal) bool {
	sets := p.Request.Sets
	if sets == nil { // of a version that kept the call's alone
		sets = []string{p.Request.Set}
	}
	unnamed := func(set string) bool { return !by.MayName(set) }
	return !slices.ContainsFunc(sets, unnamed) && !slices.ContainsFunc(p.Changes, func(c store.Change) bool { return unnamed(c.Set) }) &&
		!slices.ContainsFunc(p.Counted, func(c Counted) bool { return unnamed(c.Set) })
}

// EnterSet has a plan that is being applied keep a set that its run comes to, however the run
// ends.
func (c *consent) EnterSet(ctx context.Context) error {
	if !c.given() {
		return nil
	}
	c.widen.Lock()
	defer c.widen.Unlock()
	wider := *c.kept
	wider.Request.Sets = c.run.Scope()
	ctx, cancel := context.WithTimeout(ctx, plansTimeout)
	defer cancel()
	ok, err := c.guard.plans.WidenPlan(ctx, &wider)
	switch {
	case err != nil:
		return plansFault(err)
	case !ok:
		return noPlan(wider.ID)
	}
	c.kept = &wider
	return nil
}

// Foreign implements run.Audience: somebody else than who made the plan applies it. Who made
// it sees all, since the run is made with its rights.
func (d *decision) Foreign() bool {
	return d.applied != nil && !d.applied.plan.isOwnedBy(d.applied.by)
}

// AdmitReader refuses an approver who may not name one of the sets that what the run
// returns may come from: for that caller the run ends as if there were no such plan.
func (d *decision) AdmitReader(sets []string) error {
	if !d.Foreign() || !slices.ContainsFunc(sets, func(set string) bool { return !d.applied.by.MayName(set) }) {
		return nil
	}
	return noPlan(d.applied.plan.ID)
}
