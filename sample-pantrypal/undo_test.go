package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/pgtest"
)

// A plan that was deleted by mistake comes back, with its meals and what the list needs for them.
func TestDeletedPlansComeBack(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string][]koantest.Setting{"SQLite": nil, "PostgreSQL": {{Key: "database", Value: pgtest.Place(t)}}} {
		t.Run(name, func(t *testing.T) {
			k := openAt(t, monday, append(settings, koantest.Setting{Key: "journal.enabled", Value: "true"})...)
			k.Run(`SDK.Actions.weekPlan({days: 3}); SDK.Actions.shop({})`, koantest.Input{})
			const look = `const { MealPlan, PlannedMeal, ShoppingItem, ShoppingNeed } = SDK.Entities;
[MealPlan.all(), PlannedMeal.all({sort: "date"}).map(({version, ...m}) => m), ShoppingItem.all({sort: "name"}).map((i) => [i.id, i.name]), ShoppingNeed.count()]`
			before := string(k.Run(look, koantest.Input{}).Result)
			for _, deletion := range []string{`SDK.Entities.PlannedMeal.delete(SDK.Entities.PlannedMeal.firstPage(1, {sort: "date"}).items[0].id)`, `SDK.Entities.MealPlan.delete(SDK.Entities.MealPlan.firstPage(1).items[0].id)`} {
				gone := k.Run(deletion, koantest.Input{})
				require.NotEqual(t, before, string(k.Run(look, koantest.Input{}).Result))
				k.undo(gone.RunID)
				require.JSONEq(t, before, string(k.Run(look, koantest.Input{}).Result), deletion)
			}
		})
	}
}

// An undo can be undone like any other run: what was cooked of a plan is cooked again, with all that
// refers to it.
func TestUndosAreUndone(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string][]koantest.Setting{"SQLite": nil, "PostgreSQL": {{Key: "database", Value: pgtest.Place(t)}}} {
		t.Run(name, func(t *testing.T) {
			k := openAt(t, monday, append(settings, koantest.Setting{Key: "journal.enabled", Value: "true"})...)
			const look = `const { MealPlan, PlannedMeal, PantryItem, PantryEvent, Leftover } = SDK.Entities;
const all = (entity) => entity.all({sort: "id"}).map(({version, ...row}) => row);
const recent = (entity) => entity.firstPage(60, {sort: "-id"}).items.map(({version, ...row}) => row);
[all(MealPlan), recent(PlannedMeal), PantryItem.all({sort: "id", fields: "id,amount,status"}), PantryEvent.count(), recent(PantryEvent), recent(Leftover)]`
			none := string(k.Run(look, koantest.Input{}).Result)
			evening := k.Run(`const plan = SDK.Actions.weekPlan({days: 2}); SDK.Actions.cooked({mealId: plan.meals[0].mealId})`, koantest.Input{})
			cooked := string(k.Run(look, koantest.Input{}).Result)
			undone := k.undo(evening.RunID)
			require.JSONEq(t, none, string(k.Run(look, koantest.Input{}).Result))
			k.undo(undone)
			require.JSONEq(t, cooked, string(k.Run(look, koantest.Input{}).Result))
		})
	}
}
