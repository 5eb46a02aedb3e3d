package rules

import (
	"context"
	"fmt"
	"time"

	"github.com/koan-go/koan/sample-pantrypal/ent"
	"github.com/koan-go/koan/sample-pantrypal/ent/hook"
	"github.com/koan-go/koan/sample-pantrypal/ent/mealplan"
	"github.com/koan-go/koan/sample-pantrypal/ent/plannedmeal"
	"github.com/koan-go/koan/sample-pantrypal/ent/planrule"
	"github.com/koan-go/koan/sample-pantrypal/ent/recipe"
)

// planDays refuses a plan that ends before it starts.
func planDays(next ent.Mutator) ent.Mutator {
	return hook.MealPlanFunc(func(ctx context.Context, m *ent.MealPlanMutation) (ent.Value, error) {
		start, hasStart := m.Start()
		end, hasEnd := m.End()
		switch {
		case hasStart && hasEnd:
			if err := ordered(start, end); err != nil {
				return nil, err
			}
		case hasStart || hasEnd:
			ids, err := m.IDs(ctx)
			if err != nil {
				return nil, err
			}
			plans, err := m.Client().MealPlan.Query().Where(mealplan.IDIn(ids...)).All(ctx)
			if err != nil {
				return nil, err
			}
			for _, p := range plans {
				from, to := p.Start, p.End
				if hasStart {
					from = start
				}
				if hasEnd {
					to = end
				}
				if err := ordered(from, to); err != nil {
					return nil, err
				}
				if err := coversMeals(ctx, m.Client(), p.ID, from, to); err != nil {
					return nil, err
				}
			}
		}
		return next.Mutate(ctx, m)
	})
}

func ordered(start, end time.Time) error {
	if end.Before(start) {
		return fmt.Errorf("the plan ends on %s, before it starts on %s", end.Format(time.DateOnly), start.Format(time.DateOnly))
	}
	return nil
}

// coversMeals refuses to leave planned meals of a plan outside of its days.
func coversMeals(ctx context.Context, c *ent.Client, plan string, start, end time.Time) error {
	outside, err := c.PlannedMeal.Query().Where(plannedmeal.PlanID(plan), plannedmeal.StatusEQ(plannedmeal.StatusPlanned),
		plannedmeal.Or(plannedmeal.DateLT(start), plannedmeal.DateGT(end))).First(ctx)
	switch {
	case ent.IsNotFound(err):
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("the plan has a meal on %s (%s), outside of %s to %s; move that meal first", outside.Date.Format(time.DateOnly), outside.ID, start.Format(time.DateOnly), end.Format(time.DateOnly))
}

// mealInPlan refuses a meal that is planned for a day outside of its plan. One that was cooked was
// cooked when it was.
func mealInPlan(next ent.Mutator) ent.Mutator {
	return hook.PlannedMealFunc(func(ctx context.Context, m *ent.PlannedMealMutation) (ent.Value, error) {
		if !m.Op().Is(ent.OpCreate | ent.OpUpdateOne) {
			return next.Mutate(ctx, m)
		}
		meal, err := plannedFor(ctx, m)
		if err != nil {
			return nil, err
		}
		if meal == nil {
			return next.Mutate(ctx, m)
		}
		plan, err := m.Client().MealPlan.Get(ctx, *meal.PlanID)
		switch {
		case ent.IsNotFound(err): // the database says so
		case err != nil:
			return nil, err
		case meal.Date.Before(plan.Start) || meal.Date.After(plan.End):
			return nil, fmt.Errorf("the meal is on %s, and its plan %s goes from %s to %s; send a day of the plan, change the plan's days, or leave planId out",
				meal.Date.Format(time.DateOnly), plan.Name, plan.Start.Format(time.DateOnly), plan.End.Format(time.DateOnly))
		}
		return next.Mutate(ctx, m)
	})
}

// plannedFor is the meal as a change leaves it, nil where it has no plan, is not to be cooked, or
// the change is about something else.
func plannedFor(ctx context.Context, m *ent.PlannedMealMutation) (*ent.PlannedMeal, error) {
	date, dated := m.Date()
	plan, joined := m.PlanID()
	status, decided := m.Status()
	meal := &ent.PlannedMeal{Status: plannedmeal.StatusPlanned}
	if !m.Op().Is(ent.OpCreate) {
		if !dated && !joined && !decided {
			return nil, nil
		}
		id, _ := m.ID()
		var err error
		if meal, err = m.Client().PlannedMeal.Get(ctx, id); err != nil {
			return nil, err
		}
	}
	if dated {
		meal.Date = date
	}
	if decided {
		meal.Status = status
	}
	if joined {
		meal.PlanID = &plan
	}
	if m.PlanIDCleared() || meal.PlanID == nil || meal.Status != plannedmeal.StatusPlanned {
		return nil, nil
	}
	return meal, nil
}

// countCooked counts a recipe as cooked once more when a meal of it becomes cooked, and
// once less when it turns out not to have been.
func countCooked(next ent.Mutator) ent.Mutator {
	return hook.PlannedMealFunc(func(ctx context.Context, m *ent.PlannedMealMutation) (ent.Value, error) {
		status, ok := m.Status()
		if !ok || m.Op().Is(ent.OpDelete|ent.OpDeleteOne) {
			return next.Mutate(ctx, m)
		}
		var before []*ent.PlannedMeal
		if !m.Op().Is(ent.OpCreate) {
			ids, err := m.IDs(ctx)
			if err != nil {
				return nil, err
			}
			if before, err = m.Client().PlannedMeal.Query().Where(plannedmeal.IDIn(ids...)).All(ctx); err != nil {
				return nil, err
			}
		}
		value, err := next.Mutate(ctx, m)
		if err != nil {
			return value, err
		}
		change := map[string]int{} // by recipe
		if created, ok := value.(*ent.PlannedMeal); ok && m.Op().Is(ent.OpCreate) && created.RecipeID != nil && status == plannedmeal.StatusCooked {
			change[*created.RecipeID]++
		}
		for _, meal := range before {
			switch was := meal.Status == plannedmeal.StatusCooked; {
			case meal.RecipeID == nil:
			case !was && status == plannedmeal.StatusCooked:
				change[*meal.RecipeID]++
			case was && status != plannedmeal.StatusCooked:
				change[*meal.RecipeID]--
			}
		}
		for id, n := range change {
			u := m.Client().Recipe.Update().Where(recipe.ID(id)).AddTimesCooked(n)
			if n < 0 {
				u.Where(recipe.TimesCookedGTE(-n))
			}
			if err := u.Exec(ctx); err != nil {
				return nil, fmt.Errorf("counting how often the recipe was cooked: %w", err)
			}
		}
		return value, nil
	})
}

// wholeRules refuses a rule that does not say what it is about, and would keep nothing.
func wholeRules(next ent.Mutator) ent.Mutator {
	return hook.PlanRuleFunc(func(ctx context.Context, m *ent.PlanRuleMutation) (ent.Value, error) {
		if m.Op().Is(ent.OpDelete | ent.OpDeleteOne) {
			return next.Mutate(ctx, m)
		}
		var ids []string
		if !m.Op().Is(ent.OpCreate) {
			var err error
			if ids, err = m.IDs(ctx); err != nil {
				return nil, err
			}
		}
		value, err := next.Mutate(ctx, m)
		if err != nil {
			return value, err
		}
		rows, err := m.Client().PlanRule.Query().Where(planrule.IDIn(ids...)).All(ctx)
		if made, ok := value.(*ent.PlanRule); ok {
			rows = append(rows, made)
		}
		for _, r := range rows {
			switch {
			case (r.Kind == planrule.KindWant || r.Kind == planrule.KindAvoid) && r.What == "":
				return nil, fmt.Errorf("a rule of kind %s needs what: a food, an aisle, a cuisine or a tag", r.Kind)
			case r.Kind == planrule.KindNoRepeat && r.Days == nil:
				return nil, fmt.Errorf("a rule of kind %s needs days", r.Kind)
			case r.Kind == planrule.KindMaxMinutes && r.Minutes == nil:
				return nil, fmt.Errorf("a rule of kind %s needs minutes", r.Kind)
			}
		}
		return value, err
	})
}
