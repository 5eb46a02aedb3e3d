package rules

import (
	"context"

	"github.com/koan-go/koan/sample-pantrypal/ent"
	"github.com/koan-go/koan/sample-pantrypal/ent/hook"
	"github.com/koan-go/koan/sample-pantrypal/ent/plannedmeal"
	"github.com/koan-go/koan/sample-pantrypal/ent/predicate"
	"github.com/koan-go/koan/sample-pantrypal/ent/shoppingitem"
	"github.com/koan-go/koan/sample-pantrypal/ent/shoppingneed"
)

// listFollowsMeals takes off the lists what only meals needed that are deleted. Without its needs
// such a line could not be told from one that somebody added by hand, and would stay for good.
func listFollowsMeals(next ent.Mutator) ent.Mutator {
	return hook.PlannedMealFunc(func(ctx context.Context, m *ent.PlannedMealMutation) (ent.Value, error) {
		if err := dropNeeded(ctx, m, plannedmeal.IDIn); err != nil {
			return nil, err
		}
		return next.Mutate(ctx, m)
	})
}

// listFollowsPlans does so for the meals that go with their plan.
func listFollowsPlans(next ent.Mutator) ent.Mutator {
	return hook.MealPlanFunc(func(ctx context.Context, m *ent.MealPlanMutation) (ent.Value, error) {
		if err := dropNeeded(ctx, m, plannedmeal.PlanIDIn); err != nil {
			return nil, err
		}
		return next.Mutate(ctx, m)
	})
}

// dropNeeded deletes the lines to buy that nothing needs but the meals of what is deleted.
func dropNeeded(ctx context.Context, m removal, of func(...string) predicate.PlannedMeal) error {
	if !m.Op().Is(ent.OpDelete | ent.OpDeleteOne) {
		return nil
	}
	ids, err := m.IDs(ctx)
	if err != nil || len(ids) == 0 {
		return err
	}
	going := of(ids...)
	_, err = m.Client().ShoppingItem.Delete().Where(
		shoppingitem.Bought(false),
		shoppingitem.ForStock(false),
		shoppingitem.HasNeedsWith(shoppingneed.HasMealWith(going)),
		shoppingitem.Not(shoppingitem.HasNeedsWith(shoppingneed.HasMealWith(plannedmeal.Not(going)))),
	).Exec(ctx)
	return err
}
