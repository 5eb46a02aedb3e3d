package run

import (
	"context"
	"slices"

	"github.com/koan-go/koan/framework/auth"
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
	return !slices.ContainsFunc(sets, unnamed) && !slices.ContainsFunc(p.Changes, func(c Change) bool { return unnamed(c.Set) })
}

// scope is every set that the run's calls have named or used so far, and its own set,
// in which its calls are that name none, unless its caller may not name it: then no
// call is.
func (r *Run) scope() []string {
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

// enterSet notes that a call names or uses a set, before it reads anything there. A plan
// that is being applied has the set from then on, however the run ends; an approver who
// may not name it sees nothing of the set: the run ends as if there were no such plan.
func (a *Attempt) enterSet(ctx context.Context, set string) error {
	r := a.run
	r.mu.Lock()
	known := slices.Contains(r.sets, set)
	if !known {
		r.sets = append(r.sets, set)
	}
	r.mu.Unlock()
	if !r.agreed() {
		return nil
	}
	if !known {
		if err := r.widenPlan(ctx); err != nil {
			return a.finish(err)
		}
	}
	if err := r.admitReader([]string{set}); err != nil {
		return a.finish(err)
	}
	return nil
}

// admitReader refuses an approver who may not name one of the sets that what the run
// returns may come from. Who made the plan may: the run is made with its rights.
func (r *Run) admitReader(sets []string) error {
	p := r.request.plan
	if p == nil || p.isOwnedBy(r.request.approver) || !slices.ContainsFunc(sets, func(set string) bool { return !r.request.approver.MayName(set) }) {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.guard.hidden = true
	return noPlan(p.ID)
}

// hiddenFromApprover reports whether the run was stopped since its approver may not see what it has
// come to.
func (r *Run) hiddenFromApprover() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.guard != nil && r.guard.hidden
}

// widenPlan has the ledger keep the sets that the run has entered with its plan.
func (r *Run) widenPlan(ctx context.Context) error {
	g := r.guard
	g.widen.Lock()
	defer g.widen.Unlock()
	wider := *g.kept
	wider.Request.Sets = r.scope()
	ctx, cancel := context.WithTimeout(ctx, keyTimeout)
	defer cancel()
	ok, err := r.engine.plans.WidenPlan(ctx, &wider)
	switch {
	case err != nil:
		return plansFault(err)
	case !ok:
		return noPlan(wider.ID)
	}
	g.kept = &wider
	return nil
}
