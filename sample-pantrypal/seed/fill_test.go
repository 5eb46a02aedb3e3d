package seed

import (
	"testing"
	"time"

	_ "github.com/mattn/go-sqlite3"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/sample-pantrypal/diary"
	"github.com/koan-go/koan/sample-pantrypal/ent/enttest"
	"github.com/koan-go/koan/sample-pantrypal/ent/pantryitem"
	"github.com/koan-go/koan/sample-pantrypal/ent/product"
)

func TestFillWritesDefaultSet(t *testing.T) {
	ctx := t.Context()
	c := enttest.Open(t, "sqlite3", "file:"+t.TempDir()+"/pantry.db?_fk=1")
	defer c.Close()
	diary.Keep(c)
	require.NoError(t, Fill(ctx, "lake-house", c))
	require.Zero(t, c.Product.Query().CountX(ctx))

	require.NoError(t, Fill(ctx, Set, c))
	d, err := Load()
	require.NoError(t, err)
	require.Equal(t, 60, c.Product.Query().CountX(ctx))
	require.Equal(t, len(d.Recipes), c.Recipe.Query().CountX(ctx))
	require.Equal(t, 1, c.HouseholdProfile.Query().CountX(ctx))
	require.Equal(t, len(d.Household.Pantry), c.PantryEvent.Query().CountX(ctx), "the diary knows of every item")
	for _, r := range c.Recipe.Query().WithIngredients().AllX(ctx) {
		require.NotEmpty(t, r.Edges.Ingredients, r.Name)
	}
	eggs := c.Product.Query().Where(product.Gtin("2000000000039")).WithItems().OnlyX(ctx)
	require.Equal(t, "Eggs", eggs.Name)
	require.Len(t, eggs.Edges.Items, 1)
	soon := c.PantryItem.Query().Where(pantryitem.ExpiresAtLT(time.Now().AddDate(0, 0, 7))).CountX(ctx)
	require.GreaterOrEqual(t, soon, 3, "something always expires soon")
}
