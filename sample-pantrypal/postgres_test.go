package main

import (
	"net/http"
	"net/url"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/pgtest"
)

// In PostgreSQL the same workflows have the same answers, and leave and undo the same; and the
// pages of another process show the same data.
func TestPostgreSQL(t *testing.T) {
	t.Parallel()
	place := pgtest.Place(t)
	k := openAt(t, monday, koantest.Setting{Key: "database", Value: place}, koantest.Setting{Key: "journal.enabled", Value: "true"})
	k.sample("haul.png")
	tried := 0
	for _, w := range workflows(t) {
		if !slices.Contains([]string{"haul", "week-plan", "shop", "cooked", "waste"}, w.Name) {
			continue
		}
		tried++
		t.Run(w.Name, func(t *testing.T) { kitchen{k.Kit, t, k.photos}.try(w) })
	}
	require.Equal(t, 5, tried)
	t.Run("pages", func(t *testing.T) {
		w := serveWeb(t, place)
		for path, want := range map[string]string{"/": "Maple Street", "/shelves": "Feta"} {
			status, _, text := w.do("GET", path, "")
			require.Equal(t, http.StatusOK, status, "%s", text)
			require.Contains(t, text, want)
		}
	})
}

// The same data as in TestFirstModelIsTakenOver, as that model's binary keeps it in PostgreSQL.
func TestFirstModelIsTakenOverInPostgreSQL(t *testing.T) {
	t.Parallel()
	pgtest.Psql(t, pgtest.Server(t), string(unpacked(t, "earlier/testdata/default.sql.gz")))
	takeOver(t, koantest.Setting{Key: "database", Value: pgtest.Server(t) + "&schema_prefix=pantrypal"})
}

// A database of the release before the newest columns gets them, and keeps what is in it.
func TestNewestColumnsComeIntoPostgreSQL(t *testing.T) {
	t.Parallel()
	database := koantest.Setting{Key: "database", Value: pgtest.Place(t)}
	const look = `[SDK.Entities.Household.getById("household").removed, SDK.Entities.PantryItem.count(), SDK.Entities.PantryEvent.count(), SDK.Entities.Food.getById("feta").energyKcal]`
	at, err := url.Parse(database.Value)
	require.NoError(t, err)
	prefix := at.Query().Get("schema_prefix")
	k := openAt(t, monday, database) // its schemas are dropped at the end of the test
	before := value[[]any](k, look)
	k.Run(`SDK.Entities.PantryItem.upsert({name: "Jam", amount: 200, unit: "g"})`, koantest.Input{})
	require.NoError(t, k.Instance().Stop(t.Context()))
	schema := `"` + prefix + `.default"`
	pgtest.Psql(t, database.Value, `UPDATE "`+prefix+`".koan_sets SET version = 0`, `ALTER TABLE `+schema+`.households DROP COLUMN removed, DROP COLUMN energy_target_kcal`,
		`UPDATE `+schema+`.foods SET energy_kcal = 1 WHERE id = 'feta'`, `UPDATE `+schema+`.koan_set SET schema_hash = 12345`, `UPDATE `+schema+`.koan_migrations SET schema_hash = 12345`)
	k = openAt(t, monday, database)
	after := value[[]any](k, look)
	require.Equal(t, []any{before[0], before[1].(float64) + 1, before[2].(float64) + 1, before[3]}, after)
	require.Equal(t, []any{[]any{"penny-barrel"}, 2100.0}, value[[]any](k, `
		SDK.Entities.Store.delete("penny-barrel");
		(h => [h.removed, h.energyTargetKcal])(SDK.Entities.Household.patch("household", {energyTargetKcal: 2100}))`))
	require.Equal(t, 2.0, value[float64](k, `
		const listId = SDK.Entities.ShoppingList.upsert({name: "x"}).id, [one, two] = [1, 2].map((i) => SDK.Entities.ShoppingItem.upsert({listId, name: "Milk " + i, foodId: "milk", amount: 100, unit: "l"}));
		Math.round(SDK.Entities.ShoppingItem.patch(one.id, {amount: 200}).estimatedCost / two.estimatedCost * 100) / 100`), "what a hook sets anew")
}
