package rules

import (
	"context"
	"errors"

	"github.com/koan-go/koan/sample-pantrypal/ent"
	"github.com/koan-go/koan/sample-pantrypal/ent/hook"
)

// wholeMeal refuses a meal that says nothing of what is eaten, and one that is both cooked by a
// recipe and left of another meal. A leftover gives the meal its name, which stays when the leftover
// is deleted.
func wholeMeal(next ent.Mutator) ent.Mutator {
	return hook.PlannedMealFunc(func(ctx context.Context, m *ent.PlannedMealMutation) (ent.Value, error) {
		if !m.Op().Is(ent.OpCreate | ent.OpUpdateOne) {
			return next.Mutate(ctx, m)
		}
		meal, err := eatenAt(ctx, m)
		if err != nil {
			return nil, err
		}
		switch {
		case meal.RecipeID != nil && meal.LeftoverID != nil:
			return nil, errors.New("a meal has a recipe or a leftover, not both; send null for the other")
		case meal.LeftoverID != nil && meal.Name == "":
			row, err := m.Client().Leftover.Get(ctx, *meal.LeftoverID)
			if err == nil {
				m.SetName(row.Name)
			} else if !ent.IsNotFound(err) { // of one that is not there the database says so
				return nil, err
			}
		case meal.RecipeID == nil && meal.LeftoverID == nil && meal.Name == "":
			return nil, errors.New("the meal does not say what is eaten; send recipeId, leftoverId, or a name such as Eating out")
		}
		return next.Mutate(ctx, m)
	})
}

// eatenAt returns what a change leaves of a meal's recipe, leftover and name.
func eatenAt(ctx context.Context, m *ent.PlannedMealMutation) (ent.PlannedMeal, error) {
	var meal ent.PlannedMeal
	if id, ok := m.ID(); ok && m.Op().Is(ent.OpUpdateOne) {
		before, err := m.Client().PlannedMeal.Get(ctx, id)
		if err != nil {
			return meal, err
		}
		meal = *before
	}
	if id, ok := m.RecipeID(); ok {
		meal.RecipeID = &id
	} else if m.RecipeIDCleared() {
		meal.RecipeID = nil
	}
	if id, ok := m.LeftoverID(); ok {
		meal.LeftoverID = &id
		meal.Name = ""
	} else if m.LeftoverIDCleared() {
		meal.LeftoverID = nil
	}
	if name, ok := m.Name(); ok {
		meal.Name = name
	} else if m.NameCleared() {
		meal.Name = ""
	}
	return meal, nil
}
