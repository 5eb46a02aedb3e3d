package books

import (
	"context"
	"time"

	"github.com/koan-go/koan/framework/ledger"
	"github.com/koan-go/koan/framework/run/approve"
)

// plans keeps plans beside the keys of runs: a plan that is applied holds one.
type plans struct{ keys *Keys }

var _ approve.Plans = plans{}

// Plans returns what keeps plans.
func (k *Keys) Plans() approve.Plans { return plans{k} }

// KeepPlan implements approve.Plans.
func (p plans) KeepPlan(ctx context.Context, plan *approve.Plan, life time.Duration) error {
	return p.keys.with(ctx, func(l *ledger.Keys) error { return l.Plans().KeepPlan(ctx, plan, life) })
}

// Plan implements approve.Plans.
func (p plans) Plan(ctx context.Context, id string) (found *approve.Plan, err error) {
	err = p.keys.with(ctx, func(l *ledger.Keys) error {
		if found, err = l.Plans().Plan(ctx, id); err != nil || found.State != approve.PlanApplied {
			return err
		}
		lost, err := p.keys.reopenLostPlan(ctx, l, ledger.AppliedPlan{ID: found.ID, Run: found.Run})
		if err == nil && lost {
			found, err = l.Plans().Plan(ctx, id)
		}
		return err
	})
	return found, err
}

// reopenLostPlan has a plan wait again where the data has lost what it applied.
func (k *Keys) reopenLostPlan(ctx context.Context, l *ledger.Keys, p ledger.AppliedPlan) (lost bool, err error) {
	sets, receipts, err := l.Ended(ctx, p.Run)
	if err != nil {
		return false, err
	}
	if lost, err = k.reopenLost(ctx, l, p.Run, sets, receipts); err != nil || !lost {
		return false, err
	}
	return l.Plans().MovePlan(ctx, p.ID, approve.PlanApplied, approve.PlanWaiting, "")
}

// reopenLostPlans does that with all plans that were applied.
func (k *Keys) reopenLostPlans(ctx context.Context) error {
	return k.with(ctx, func(l *ledger.Keys) error {
		applied, err := l.Plans().AppliedPlans(ctx)
		if err != nil {
			return err
		}
		for _, p := range applied {
			if _, err := k.reopenLostPlan(ctx, l, p); err != nil {
				return err
			}
		}
		return nil
	})
}

// WaitingPlans implements approve.Plans.
func (p plans) WaitingPlans(ctx context.Context, most int, list func(*approve.Plan) bool) (waiting []*approve.Plan, err error) {
	err = p.keys.with(ctx, func(l *ledger.Keys) error {
		waiting, err = l.Plans().WaitingPlans(ctx, most, list)
		return err
	})
	return waiting, err
}

// WidenPlan implements approve.Plans.
func (p plans) WidenPlan(ctx context.Context, plan *approve.Plan) (widened bool, err error) {
	err = p.keys.with(ctx, func(l *ledger.Keys) error {
		widened, err = l.Plans().WidenPlan(ctx, plan)
		return err
	})
	return widened, err
}

// MovePlan implements approve.Plans.
func (p plans) MovePlan(ctx context.Context, id string, from, to approve.PlanState, by string) (moved bool, err error) {
	err = p.keys.with(ctx, func(l *ledger.Keys) error {
		moved, err = l.Plans().MovePlan(ctx, id, from, to, by)
		return err
	})
	return moved, err
}
