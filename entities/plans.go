package entities

import (
	"context"
	"time"

	"github.com/koan-go/koan/framework/run"
)

// plans keeps plans beside the keys of runs: a plan that is applied holds one.
type plans struct{ keys *keys }

var (
	_ run.Plans      = plans{}
	_ run.PlanKeeper = (*Provider)(nil)
)

// Plans implements run.PlanKeeper. An app that opens its databases itself has no
// place for what is no set's.
func (p *Provider) Plans() run.Plans {
	if p.keys == nil {
		return nil
	}
	return plans{p.keys}
}

// KeepPlan implements run.Plans.
func (p plans) KeepPlan(ctx context.Context, plan *run.Plan, life time.Duration) error {
	l, err := p.keys.open(ctx)
	if err != nil {
		return err
	}
	return l.KeepPlan(ctx, plan, life)
}

// Plan implements run.Plans.
func (p plans) Plan(ctx context.Context, id string) (*run.Plan, error) {
	l, err := p.keys.open(ctx)
	if err != nil {
		return nil, err
	}
	return l.Plan(ctx, id)
}

// WaitingPlans implements run.Plans.
func (p plans) WaitingPlans(ctx context.Context, most int) ([]*run.Plan, error) {
	l, err := p.keys.open(ctx)
	if err != nil {
		return nil, err
	}
	return l.WaitingPlans(ctx, most)
}

// MovePlan implements run.Plans.
func (p plans) MovePlan(ctx context.Context, plan *run.Plan, from []run.PlanState, to run.PlanState, by string) (bool, error) {
	l, err := p.keys.open(ctx)
	if err != nil {
		return false, err
	}
	return l.MovePlan(ctx, plan, from, to, by)
}
