package main

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/koantest"
)

// A data folder that the first model's binary has written: seeds, a haul, and rows that
// this model would not take. All of it is taken over, at the first use of the set.
func TestFirstModelIsTakenOver(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "default.db"), unpacked(t, "earlier/testdata/default.db.gz"), 0o600))
	takeOver(t, koantest.Setting{Key: "database", Value: "sqlite://" + dir})
}

func unpacked(t *testing.T, file string) []byte {
	t.Helper()
	packed, err := os.Open(file)
	require.NoError(t, err)
	defer packed.Close()
	plain, err := gzip.NewReader(packed)
	require.NoError(t, err)
	raw, err := io.ReadAll(plain)
	require.NoError(t, err)
	return raw
}

// takeOver opens the data of the first model and looks for what became of it.
func takeOver(t *testing.T, database koantest.Setting) {
	t.Helper()
	k := openAt(t, monday, database)
	require.Equal(t, map[string]int{"lots": 22, "events": 25, "photos": 1, "detections": 6, "plans": 1, "meals": 3, "lists": 1, "items": 2, "households": 1}, value[map[string]int](k, `
		const E = SDK.Entities;
		({lots: E.PantryItem.count(), events: E.PantryEvent.count(), photos: E.PantryPhoto.count(), detections: E.Detection.count(), plans: E.MealPlan.count(), meals: E.PlannedMeal.count(),
			lists: E.ShoppingList.count(), items: E.ShoppingItem.count(), households: E.Household.count()})`))
	got := value[map[string]any](k, `
		const E = SDK.Entities, lot = (name) => E.PantryItem.all({filter: {name}, with: "food"})[0];
		({feta: [lot("Feta").food.id, lot("Feta").amount, lot("Feta").bestBefore.length],
			odd: (l => [l.name, l.amount, l.unit, l.foodId, l.unitPrice])(lot("Unobtainium (handful)")),
			item: E.ShoppingItem.all({sort: "name"}).map(i => [i.name, i.unit, i.foodId, i.bought]),
			members: E.Household.getById("household").members.map(m => m.allergies),
			open: E.Detection.all({filter: {status: "open"}}).map(d => d.value),
			cooked: E.PlannedMeal.all({filter: {status: "cooked"}, with: "recipe"}).map(m => [m.recipe.origin, m.rating]),
			stew: E.Recipe.all({filter: {origin: "household", name: "Our own stew"}, with: "ingredients"}).map(r => [r.name, r.ingredients[0].foodId]),
			past: E.MealPlan.all()[0].start.length})`)
	require.Equal(t, []any{"feta", 150.0, 10.0}, got["feta"])
	require.Equal(t, []any{"Unobtainium (handful)", 1.0, "piece", nil, 1.5}, got["odd"], "what it had cost was for all of it")
	require.Equal(t, []any{[]any{"Bananas", "piece", "bananas", false}, []any{"Large onions (furlong)", "piece", nil, true}}, got["item"])
	require.Equal(t, []any{[]any{"nuts", "peanuts"}, []any{"nuts", "peanuts"}, []any{"nuts", "peanuts"}}, got["members"], "of two profiles")
	require.Equal(t, []any{"2000000000992"}, got["open"])
	require.Equal(t, []any{[]any{"catalogue", 4.0}}, got["cooked"])
	require.Equal(t, []any{[]any{"Our own stew", "carrots"}}, got["stew"])
	require.NotEmpty(t, value[[]any](k, `SDK.Actions.tonight({}).suggestions`), "and it can be cooked from")
	require.NoError(t, k.Instance().Stop(t.Context()))

	again := openAt(t, monday, database)
	require.Equal(t, 22, value[int](again, `SDK.Entities.PantryItem.count()`), "it is taken over once")
}
