package main

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/koantest"
)

// A build whose catalogue is another brings it into the sets that there are, and leaves what the
// household has changed.
func TestNewCatalogueReachesExistingSets(t *testing.T) {
	t.Parallel()
	from, err := seeded()
	require.NoError(t, err)
	dir := t.TempDir()
	raw, err := os.ReadFile(filepath.Join(from, "default.db"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "default.db"), raw, 0o600))

	// What an earlier release had left, and what the household has done since.
	db, err := sql.Open("sqlite3", filepath.Join(dir, "default.db"))
	require.NoError(t, err)
	for _, s := range []string{
		`PRAGMA user_version = 0`, `UPDATE koan_set SET schema_hash = 12345`, `UPDATE koan_migrations SET schema_hash = 12345`,
		`UPDATE foods SET energy_kcal = 1, density = 9, aisle = 'moon' WHERE id = 'feta'`,
		`UPDATE food_portions SET grams = 1 WHERE id = 'onions-large'`,
		`INSERT INTO food_portions (id, unit, grams, food_id) VALUES ('feta-leaf', 'leaf', 7, 'feta')`,
		`DELETE FROM food_portions WHERE food_id = 'saffron'`, `DELETE FROM recipe_ingredients WHERE recipe_id = 'shakshuka' AND position > 2`,
		`UPDATE recipe_ingredients SET amount = 99, preparation = 'raw' WHERE recipe_id = 'shakshuka' AND position = 1`,
		`UPDATE recipes SET prep_minutes = 99, rating = 4.5, favourite = true, times_cooked = 77 WHERE id = 'shakshuka'`,
		`UPDATE products SET name = 'Our milk', package_amount = 900 WHERE id = 'product-2000000000015'`,
		`UPDATE stores SET note = 'closed on Mondays' WHERE id = 'penny-barrel'`,
	} {
		_, err := db.Exec(s)
		require.NoError(t, err, s)
	}
	require.NoError(t, db.Close())

	database := koantest.Setting{Key: "database", Value: "sqlite://" + dir}
	const look = `
		const E = SDK.Entities, f = E.Food.getById("feta"), s = E.Recipe.getById("shakshuka", {with: "ingredients"}), lines = s.ingredients.sort((a, b) => a.position - b.position);
		({food: [f.energyKcal, f.density, f.aisle], portions: E.FoodPortion.count(), large: E.FoodPortion.getById("onions-large").grams, lines: lines.length, line: [lines[1].amount, lines[1].preparation],
			minutes: s.prepMinutes, own: [s.rating, s.favourite, s.timesCooked], product: (p => [p.name, p.packageAmount])(E.Product.getById("product-2000000000015")),
			note: E.Store.getById("penny-barrel").note, foods: E.Food.count(), products: E.Product.count(), lots: E.PantryItem.count({status: "available"})})`
	fresh := value[map[string]any](open(t), look)
	got := value[map[string]any](openAt(t, monday, database), look)
	require.Equal(t, []any{4.5, true, 77.0}, got["own"])
	require.Equal(t, []any{"Our milk", 900.0}, got["product"])
	require.Equal(t, "closed on Mondays", got["note"])
	for _, same := range []string{"food", "portions", "large", "lines", "line", "minutes", "foods", "products", "lots"} {
		require.Equal(t, fresh[same], got[same], same)
	}
}

// What a household has deleted of the catalogue stays away, and what it takes back is there again.
func TestNewCatalogueLeavesDeletedAway(t *testing.T) {
	t.Parallel()
	from, err := seeded()
	require.NoError(t, err)
	dir := t.TempDir()
	raw, err := os.ReadFile(filepath.Join(from, "default.db"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "default.db"), raw, 0o600))
	database := koantest.Setting{Key: "database", Value: "sqlite://" + dir}
	const (
		look    = `[SDK.Entities.Product.findById("product-2000000000992"), SDK.Entities.Product.findById("product-2000000000107")?.name, SDK.Entities.Store.count(), SDK.Entities.Household.getById("household").removed]`
		cheddar = "product-2000000000107"
	)
	t.Run("before", func(t *testing.T) {
		k := open(t, database, koantest.Setting{Key: "journal.enabled", Value: "true"})
		k.Run(`SDK.Entities.Product.delete("product-2000000000107"); SDK.Entities.Store.delete("penny-barrel"); SDK.Entities.Product.delete(SDK.Entities.Product.upsert({name: "Ours"}).id)`, koantest.Input{})
		require.Equal(t, []any{nil, nil, 3.0, []any{cheddar, "penny-barrel"}}, value[[]any](k, look))
		run := k.Run(`SDK.Entities.Product.delete("product-2000000000015")`, koantest.Input{})
		k.undo(run.RunID)
		require.Equal(t, []any{cheddar, "penny-barrel"}, value[[]any](k, look)[3], "undone")
	})
	db, err := sql.Open("sqlite3", filepath.Join(dir, "default.db"))
	require.NoError(t, err)
	for _, s := range []string{
		`PRAGMA user_version = 0`, `UPDATE koan_set SET schema_hash = 12345`, `UPDATE koan_migrations SET schema_hash = 12345`,
		`DELETE FROM products WHERE id = 'product-2000000000022'`, // that the earlier release did not have
	} {
		_, err := db.Exec(s)
		require.NoError(t, err, s)
	}
	require.NoError(t, db.Close())
	k := open(t, database)
	require.Equal(t, []any{nil, nil, 3.0, []any{cheddar, "penny-barrel"}}, value[[]any](k, look))
	require.NotEmpty(t, value[string](k, `SDK.Entities.Product.getById("product-2000000000022").name`))
}

// What an earlier release had, and this one has under another name or no more, is still in the house:
// it can be planned, cooked and bought.
func TestNewCatalogueKeepsWhatItHasNoMore(t *testing.T) {
	t.Parallel()
	from, err := seeded()
	require.NoError(t, err)
	dir := t.TempDir()
	raw, err := os.ReadFile(filepath.Join(from, "default.db"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "default.db"), raw, 0o600))
	db, err := sql.Open("sqlite3", filepath.Join(dir, "default.db"))
	require.NoError(t, err)
	for _, s := range []string{
		`PRAGMA user_version = 0`, `UPDATE koan_set SET schema_hash = 12345`, `UPDATE koan_migrations SET schema_hash = 12345`,
		// Aubergines were called eggplants: their name now is an alias.
		`INSERT INTO foods (id, name, aisle, staple) VALUES ('eggplant', 'Eggplant', 'produce', false), ('stardust', 'Stardust', 'dry', false)`,
		`UPDATE products SET food_id = 'eggplant' WHERE food_id = 'aubergine'`, `UPDATE prices SET food_id = 'eggplant' WHERE food_id = 'aubergine'`,
		`UPDATE pantry_items SET food_id = 'eggplant', name = 'Eggplant' WHERE name = 'Carrots' AND status = 'available'`,
		// Stardust, and a recipe of it, were in the catalogue.
		`INSERT INTO food_portions (id, unit, grams, food_id) VALUES ('stardust-jar', 'jar', 70, 'stardust')`,
		`UPDATE pantry_items SET food_id = 'stardust', name = 'Stardust' WHERE name = 'Rice' AND status = 'available'`,
		`INSERT INTO recipes (id, name, origin, difficulty, servings, meal_types, favourite, prep_minutes, cook_minutes, times_cooked) SELECT 'moon-pie', 'Moon Pie', origin, difficulty, 2, meal_types, favourite, 5, 5, 0 FROM recipes WHERE id = 'shakshuka'`,
		`INSERT INTO recipe_ingredients (id, position, name, amount, unit, optional, food_id, recipe_id) VALUES ('moon-pie-1', 0, 'stardust', 10, 'g', false, 'stardust', 'moon-pie'), ('moon-pie-2', 1, 'eggs', 1, 'piece', false, 'eggs', 'moon-pie')`,
	} {
		_, err := db.Exec(s)
		require.NoError(t, err, s)
	}
	require.NoError(t, db.Close())
	k := openAt(t, monday, koantest.Setting{Key: "database", Value: "sqlite://" + dir})
	fresh := value[[]any](open(t), `["Product", "Price"].map(e => SDK.Entities[e].count({foodId: "aubergine"}))`)
	require.Equal(t, fresh, value[[]any](k, `["Product", "Price"].map(e => SDK.Entities[e].count({foodId: "aubergine"}))`))
	require.Equal(t, []any{"aubergine", "stardust"}, value[[]any](k, `["Eggplant", "Stardust"].map(name => SDK.Entities.PantryItem.all({filter: {name, status: "available"}})[0].foodId)`))
	require.Equal(t, []any{2.0, 70.0}, value[[]any](k, `[SDK.Entities.Recipe.getById("moon-pie", {with: "ingredients"}).ingredients.length, SDK.Entities.FoodPortion.getById("stardust-jar").grams]`))
	out := value[map[string]any](k, `
		const list = SDK.Entities.ShoppingList.upsert({name: "x"});
		SDK.Entities.ShoppingItem.upsert({listId: list.id, name: "Stardust", foodId: "stardust", unit: "jar"});
		({bought: SDK.Actions.checkOff({listId: list.id}).bought.length, cooked: SDK.Actions.cooked({recipe: "moon-pie", servings: 2}), waste: SDK.Actions.waste({}).since, due: SDK.Actions.reminders({}).today})`)
	require.Equal(t, 1.0, out["bought"])
	require.Len(t, out["cooked"].(map[string]any)["took"], 1, "the egg; of stardust it says that nobody knows it")
	require.Len(t, out["cooked"].(map[string]any)["notThere"], 1)
}
