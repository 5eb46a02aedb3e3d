// Package earlier brings data of PantryPal's first model along: one row per product,
// free texts for foods, times for days.
//
// What belongs here: reading those tables and writing what they mean now, in the
// transaction of a set's migration. Not here: anything that a set of the present
// model needs.
package earlier

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"

	"github.com/koan-go/koan/sample-pantrypal/diary"
	"github.com/koan-go/koan/sample-pantrypal/ent"
	"github.com/koan-go/koan/sample-pantrypal/rules"
)

// tables of the first model, those that refer to others first.
var tables = []string{
	"detections", "planned_meals", "shopping_items", "recipe_ingredients", "pantry_events", "pantry_items", "pantry_photos",
	"meal_plans", "shopping_lists", "recipes", "products", "household_profiles",
}

// aside is how a table is called while its rows are taken over.
func aside(table string) string { return "earlier_" + table }

// SetAside renames the tables of the first model, so that the migration makes those of
// this one. A set that is not of the first model stays as it is. It fits ent.OnUpgradeSet.
func SetAside(ctx context.Context, _ string, drv dialect.Driver) error {
	found, err := first(ctx, drv)
	if err != nil || !found {
		return err
	}
	for _, table := range tables {
		indexes, err := names(ctx, drv, indexesOf(drv.Dialect()), table)
		if err != nil {
			return err
		}
		statements := []string{fmt.Sprintf("ALTER TABLE %q RENAME TO %q", table, aside(table))}
		for _, i := range indexes { // the new tables have indexes of the same names
			statements = append([]string{fmt.Sprintf("DROP INDEX %q", i)}, statements...)
		}
		for _, s := range statements {
			if err := drv.Exec(ctx, s, []any{}, nil); err != nil {
				return fmt.Errorf("earlier: %s: %w", s, err)
			}
		}
	}
	return nil
}

// TakeOver writes what the renamed tables have, and drops them. The catalogue is there.
func TakeOver(ctx context.Context, _ string, drv dialect.Driver, c *ent.Client) error {
	there, err := names(ctx, drv, tableNamed(drv.Dialect()), aside("household_profiles"))
	if err != nil || len(there) == 0 {
		return err
	}
	ctx = diary.WithoutEntries(rules.AsCatalogue(ctx))
	t := taker{Client: c, drv: drv, products: map[string]string{}, recipes: map[string]string{}, came: map[string]float64{}}
	for _, step := range []struct {
		what string
		do   func(context.Context) error
	}{
		{"household", t.household},
		{"products", t.takeProducts},
		{"recipes", t.takeRecipes},
		{"plans", t.plans},
		{"photos", t.photos},
		{"lots", t.lots},
		{"detections", t.detections},
		{"events", t.events},
		{"lists", t.lists},
	} {
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("earlier: %s: %w", step.what, err)
		}
	}
	for _, s := range dropping(drv.Dialect()) {
		if err := drv.Exec(ctx, s, []any{}, nil); err != nil {
			return fmt.Errorf("earlier: %s: %w", s, err)
		}
	}
	return nil
}

// dropping are the statements that drop the renamed tables. Some refer to each other:
// PostgreSQL drops such tables only together, SQLite only one by one.
func dropping(d string) []string {
	var names []string
	for _, table := range tables {
		names = append(names, fmt.Sprintf("%q", aside(table)))
	}
	if d == dialect.Postgres {
		names = []string{strings.Join(names, ", ")}
	}
	for i := range names {
		names[i] = "DROP TABLE " + names[i]
	}
	return names
}

// first reports whether a set is of the first model: only that one had profiles.
func first(ctx context.Context, drv dialect.Driver) (bool, error) {
	there, err := names(ctx, drv, tableNamed(drv.Dialect()), "household_profiles")
	return slices.Contains(there, "household_profiles"), err
}

func tableNamed(d string) string {
	if d == dialect.Postgres {
		return "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND tablename = $1"
	}
	return "SELECT name FROM sqlite_master WHERE type = 'table' AND name = ?"
}

func indexesOf(d string) string {
	if d == dialect.Postgres { // not those of keys
		return "SELECT indexname FROM pg_indexes WHERE schemaname = current_schema() AND tablename = $1 AND indexname NOT LIKE '%_pkey'"
	}
	return "SELECT name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL AND tbl_name = ?"
}

func names(ctx context.Context, drv dialect.Driver, query, name string) ([]string, error) {
	rows := &entsql.Rows{}
	if err := drv.Query(ctx, query, []any{name}, rows); err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var n string
		if err := rows.Scan(&n); err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return out, rows.Err()
}
