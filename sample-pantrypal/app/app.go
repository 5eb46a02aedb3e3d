// Package app is PantryPal put together.
//
// What belongs here: the app's parts. Not here: anything that a part does.
package app

import (
	"context"
	"time"

	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/sample-pantrypal/actions"
	"github.com/koan-go/koan/sample-pantrypal/diary"
	"github.com/koan-go/koan/sample-pantrypal/earlier"
	"github.com/koan-go/koan/sample-pantrypal/ent"
	"github.com/koan-go/koan/sample-pantrypal/kitchen"
	"github.com/koan-go/koan/sample-pantrypal/rules"
	"github.com/koan-go/koan/sample-pantrypal/seed"
	"github.com/koan-go/koan/sample-pantrypal/seed/catalogue"
	"github.com/koan-go/koan/sample-pantrypal/web"
)

// New returns the app.
func New() framework.App { return At(time.Now) }

// At returns the app at another time than now: for tests and demonstrations.
func At(clock func() time.Time) framework.App {
	return framework.App{
		Clock: clock,
		Name:  "pantrypal",
		Description: "The food in the house, what can be cooked from it, and what is missing. " +
			"Whole jobs are actions, in scripts SDK.Actions: haul (photo to pantry), learn-product, tonight, week-plan, meal-prep, shop, check-off, cooked, replan, import-recipe, edit-recipe, waste, prices, nutrition, reminders, open-too-long, merge-foods, move. " +
			"Days are the household's; find-food joins a name to its food.",
		// Somebody in the household agrees before rows are deleted, lots are changed by a filter, more
		// lots are changed in one run than a meal takes (so that nobody throws the pantry away), or two
		// foods become one. A single lot is noted as thrown away without a question: an undo takes that
		// back. A line of a shopping list or of a recipe of the household's own is nobody's loss; what a list
		// needs for which meal is made anew with the list.
		Defaults: map[string]string{
			"approval.mode": "destructive",
			// Whole jobs are actions: the line of each entity tells a model enough, at a third of the tokens.
			"codeMode.inlineTypesBytes": "8000",
			"approval.rules": `[{"entity": "ShoppingNeed", "mode": "never"}, {"entity": "ShoppingItem", "mode": "never"}, {"entity": "RecipeIngredient", "mode": "never"}, {"operation": "action::merge-foods", "mode": "destructive"},` +
				` {"operation": "koan::PantryItem.update-by-query", "mode": "always"}, {"entity": "PantryItem", "operation": "update", "rows": 20, "mode": "writes"}]`,
		},
		Entities:  entities(clock),
		Actions:   actions.Files,
		GoActions: kitchen.Actions(),
		Pages:     web.Pages,
	}
}

// entities returns the entities with what keeps them together. A build with another catalogue
// brings it into every set that there is.
func entities(clock func() time.Time) *framework.Entities {
	e := ent.Entities(ent.OnClient(rules.Keep), ent.OnClient(diary.Keep), ent.OnCreateSet(seed.Fill(clock)), ent.OnUpgradeSet(earlier.SetAside, upgrade))
	e.DataVersion = catalogue.Version()
	return e
}

func upgrade(ctx context.Context, set string, drv dialect.Driver, c *ent.Client) error {
	if err := seed.Catalogue(ctx, c); err != nil {
		return err
	}
	return earlier.TakeOver(ctx, set, drv, c)
}
