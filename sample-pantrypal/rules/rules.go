// Package rules holds PantryPal's model together: what no caller may store, and what
// follows from a change.
//
// What belongs here: ent hooks that check and complete rows in the transaction of
// their change. Not here: the pantry's diary (package diary), workflows, or a
// rule that a validator of the schema can state.
package rules

import (
	"context"

	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/sample-pantrypal/ent"
)

// Keep adds the hooks to a client.
func Keep(c *ent.Client) {
	c.Food.Use(unlessUndoing(sharedFoods), unlessUndoing(ownFoods))
	c.FoodPortion.Use(unlessUndoing(sharedPortions))
	c.Household.Use(unlessUndoing(knownMembers))
	c.MealPlan.Use(unlessUndoing(planDays), unlessUndoing(listFollowsPlans))
	c.PlanRule.Use(unlessUndoing(wholeRules))
	c.PlannedMeal.Use(unlessUndoing(wholeMeal), unlessUndoing(countCooked), unlessUndoing(mealInPlan), unlessUndoing(listFollowsMeals))
	c.Leftover.Use(unlessUndoing(dateLeftover))
	c.Product.Use(unlessUndoing(ownBarcodes), unlessUndoing(rememberProducts))
	c.Store.Use(unlessUndoing(rememberStores))
	c.Recipe.Use(unlessUndoing(sharedRecipes))
	c.RecipeIngredient.Use(unlessUndoing(sharedIngredients), unlessUndoing(joinIngredient))
	c.PantryItem.Use(unlessUndoing(joinLot), unlessUndoing(convertLot), unlessUndoing(roundPrice), unlessUndoing(wholeLot), unlessUndoing(dateMovedLot))
	c.ShoppingItem.Use(unlessUndoing(joinShoppingItem))
	c.Price.Use(unlessUndoing(comparePrices))
}

// unlessUndoing leaves rows alone that an undo restores: they are what they were.
func unlessUndoing(hook ent.Hook) ent.Hook {
	return func(next ent.Mutator) ent.Mutator {
		held := hook(next)
		return ent.MutateFunc(func(ctx context.Context, m ent.Mutation) (ent.Value, error) {
			if run.Undoing(ctx) {
				return next.Mutate(ctx, m)
			}
			return held.Mutate(ctx, m)
		})
	}
}

type keeping struct{}

// AsCatalogue returns a context in which rows of the catalogue may be written: for the
// app's own seeds.
func AsCatalogue(ctx context.Context) context.Context { return context.WithValue(ctx, keeping{}, true) }

func ofCatalogue(ctx context.Context) bool { return ctx.Value(keeping{}) != nil }
