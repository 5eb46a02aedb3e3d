package diary_test

import (
	"context"
	"errors"
	"testing"
	"time"

	_ "github.com/mattn/go-sqlite3"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/sample-pantrypal/diary"
	"github.com/koan-go/koan/sample-pantrypal/ent"
	"github.com/koan-go/koan/sample-pantrypal/ent/enttest"
	"github.com/koan-go/koan/sample-pantrypal/ent/pantryevent"
	"github.com/koan-go/koan/sample-pantrypal/ent/pantryitem"
)

func open(t *testing.T) *ent.Client {
	c := enttest.Open(t, "sqlite3", "file:"+t.TempDir()+"/pantry.db?_fk=1")
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	diary.Keep(c)
	return c
}

type line struct {
	Kind   pantryevent.Kind
	Reason pantryevent.Reason
	Amount float64
	Unit   string
}

// lines returns what the diary says since its first n lines.
func lines(t *testing.T, c *ent.Client, n int) []line {
	all, err := c.PantryEvent.Query().Order(pantryevent.ByID()).All(t.Context())
	require.NoError(t, err)
	out := []line{}
	for _, e := range all[n:] {
		out = append(out, line{e.Kind, e.Reason, e.Amount, e.Unit})
	}
	return out
}

func TestDiaryFollowsItem(t *testing.T) {
	steps := map[string]struct {
		do   func(*ent.PantryItemUpdateOne) *ent.PantryItemUpdateOne
		want []line
	}{
		"more":               {func(u *ent.PantryItemUpdateOne) *ent.PantryItemUpdateOne { return u.AddAmount(250) }, []line{{"came", "corrected", 250, "g"}}},
		"less":               {func(u *ent.PantryItemUpdateOne) *ent.PantryItemUpdateOne { return u.SetAmount(300) }, []line{{"went", "corrected", 200, "g"}}},
		"consumed":           {func(u *ent.PantryItemUpdateOne) *ent.PantryItemUpdateOne { return u.SetStatus("consumed") }, []line{{"went", "eaten", 500, "g"}}},
		"expired":            {func(u *ent.PantryItemUpdateOne) *ent.PantryItemUpdateOne { return u.SetStatus("expired") }, []line{{"went", "expired", 500, "g"}}},
		"wasted, all gone":   {func(u *ent.PantryItemUpdateOne) *ent.PantryItemUpdateOne { return u.SetStatus("wasted").SetAmount(0) }, []line{{"went", "wasted", 500, "g"}}},
		"moved":              {func(u *ent.PantryItemUpdateOne) *ent.PantryItemUpdateOne { return u.SetPlace("freezer") }, []line{{"changed", "moved", 0, "g"}}},
		"another unit":       {func(u *ent.PantryItemUpdateOne) *ent.PantryItemUpdateOne { return u.SetAmount(0.5).SetUnit("kg") }, []line{{"changed", "corrected", 0, "kg"}}},
		"used up, unit lost": {func(u *ent.PantryItemUpdateOne) *ent.PantryItemUpdateOne { return u.SetAmount(0).SetUnit("kg") }, []line{{"went", "corrected", 500, "g"}}},
		"version alone":      {func(u *ent.PantryItemUpdateOne) *ent.PantryItemUpdateOne { return u.AddVersion(1) }, []line{}},
		"the same again":     {func(u *ent.PantryItemUpdateOne) *ent.PantryItemUpdateOne { return u.SetAmount(500) }, []line{}},
	}
	for name, s := range steps {
		t.Run(name, func(t *testing.T) {
			c := open(t)
			item := c.PantryItem.Create().SetPlace("fridge").SetName("Spinach").SetAmount(500).SetUnit("g").SaveX(t.Context())
			require.NoError(t, s.do(item.Update()).Exec(t.Context()))
			require.Equal(t, s.want, lines(t, c, 1))
		})
	}
}

func TestArrivalsAndDepartures(t *testing.T) {
	c, ctx := open(t), t.Context()
	last := time.Now().UTC().AddDate(0, 0, -3).Truncate(time.Second)
	item := c.PantryItem.Create().SetPlace("fridge").SetName("Milk").SetUnit("l").SetAddedAt(last).SaveX(ctx)
	require.Equal(t, []line{{"came", "bought", 1, "l"}}, lines(t, c, 0))
	require.True(t, c.PantryEvent.Query().OnlyX(ctx).At.Equal(last), "an arrival is dated when the item came")

	c.PantryItem.Create().SetPlace("fridge").SetName("Rice").SetSource("photo").ExecX(ctx)
	c.PantryItem.Create().SetPlace("fridge").SetName("Salt").SetReason("corrected").ExecX(ctx)
	require.Equal(t, []line{{"came", "bought", 1, "piece"}, {"came", "corrected", 1, "piece"}}, lines(t, c, 1))

	item = item.Update().SetStatus("consumed").SaveX(ctx)
	item.Update().SetStatus("available").ExecX(ctx)
	c.PantryItem.DeleteOneID(item.ID).ExecX(ctx)
	require.Equal(t, []line{{"went", "eaten", 1, "l"}, {"came", "corrected", 1, "l"}, {"went", "corrected", 1, "l"}}, lines(t, c, 3))
	require.Equal(t, 4, c.PantryEvent.Query().Where(pantryevent.ItemID(item.ID)).CountX(ctx), "the diary outlives the item")
}

func TestBulkChangesHaveOneEventPerItem(t *testing.T) {
	c, ctx := open(t), t.Context()
	c.PantryItem.CreateBulk(
		c.PantryItem.Create().SetPlace("fridge").SetName("Eggs").SetAmount(6),
		c.PantryItem.Create().SetPlace("fridge").SetName("Lemons").SetAmount(2),
	).ExecX(ctx)
	require.ElementsMatch(t, []line{{"came", "bought", 6, "piece"}, {"came", "bought", 2, "piece"}}, lines(t, c, 0))
	require.Equal(t, 2, c.PantryItem.Update().SetStatus("wasted").SaveX(ctx))
	require.ElementsMatch(t, []line{{"went", "wasted", 6, "piece"}, {"went", "wasted", 2, "piece"}}, lines(t, c, 2))
	require.Equal(t, 2, c.PantryItem.Delete().ExecX(ctx))
	require.ElementsMatch(t, []line{{"changed", "corrected", 0, "piece"}, {"changed", "corrected", 0, "piece"}}, lines(t, c, 4))
	require.Zero(t, c.PantryItem.Update().Where(pantryitem.Name("Nothing")).SetAmount(3).SaveX(ctx))
	require.Len(t, lines(t, c, 0), 6)
}

func TestEventIsAtomicWithChange(t *testing.T) {
	c, ctx := open(t), t.Context()
	tx, err := c.Tx(ctx)
	require.NoError(t, err)
	tx.PantryItem.Create().SetPlace("fridge").SetName("Milk").ExecX(ctx)
	require.Equal(t, 1, tx.PantryEvent.Query().CountX(ctx))
	require.NoError(t, tx.Rollback())
	require.Zero(t, c.PantryEvent.Query().CountX(ctx))

	refused := errors.New("no pen")
	c.PantryEvent.Use(func(ent.Mutator) ent.Mutator {
		return ent.MutateFunc(func(context.Context, ent.Mutation) (ent.Value, error) { return nil, refused })
	})
	tx, err = c.Tx(ctx)
	require.NoError(t, err)
	require.ErrorIs(t, tx.PantryItem.Create().SetPlace("fridge").SetName("Milk").Exec(ctx), refused)
	require.NoError(t, tx.Rollback())
	require.Zero(t, c.PantryItem.Query().CountX(ctx))
}
