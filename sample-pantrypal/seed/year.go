package seed

import (
	"context"
	"slices"
	"time"

	"github.com/koan-go/koan/sample-pantrypal/diary"
	"github.com/koan-go/koan/sample-pantrypal/ent"
	"github.com/koan-go/koan/sample-pantrypal/ent/leftover"
	"github.com/koan-go/koan/sample-pantrypal/ent/pantryevent"
	"github.com/koan-go/koan/sample-pantrypal/ent/pantryitem"
	"github.com/koan-go/koan/sample-pantrypal/ent/plannedmeal"
	"github.com/koan-go/koan/sample-pantrypal/ent/recipe"
	"github.com/koan-go/koan/sample-pantrypal/foods"
	"github.com/koan-go/koan/sample-pantrypal/rules"
	"github.com/koan-go/koan/sample-pantrypal/seed/catalogue"
	"github.com/koan-go/koan/sample-pantrypal/seed/catalogue/history"
)

// yearSeed makes the year of a household the same each time.
const yearSeed = 1

// batch is how many rows one statement writes: both databases bound its values.
const batch = 500

// year writes the year that a household has behind it. Its lots are used up, and its
// events are written as they were.
func (w *writer) year(ctx context.Context, h catalogue.Household) error {
	y, err := history.Generate(w.data, h, w.now, yearSeed)
	if err != nil {
		return err
	}
	ctx = diary.WithoutEntries(rules.AsCatalogue(ctx))
	meals, err := w.meals(ctx, y)
	if err != nil {
		return err
	}
	lots, err := w.pastLots(ctx, y)
	if err != nil {
		return err
	}
	if err := w.events(ctx, y, lots, meals); err != nil {
		return err
	}
	return w.prices(ctx, y)
}

func (w *writer) meals(ctx context.Context, y *history.Year) ([]*ent.PlannedMeal, error) {
	rows := make([]*ent.PlannedMealCreate, len(y.Meals))
	cooked := map[string]int{}
	for i, m := range y.Meals {
		id := foods.Slug(m.Recipe)
		cooked[id]++
		rows[i] = w.PlannedMeal.Create().SetRecipeID(id).SetDate(date(m.At)).SetServings(float(m.Servings)).SetStatus(plannedmeal.StatusCooked)
		if m.Rating > 0 {
			rows[i].SetRating(m.Rating)
		}
	}
	stored, err := inBatches(ctx, rows, func(b []*ent.PlannedMealCreate) ([]*ent.PlannedMeal, error) {
		return w.PlannedMeal.CreateBulk(b...).Save(ctx)
	})
	if err != nil {
		return nil, err
	}
	for id, n := range cooked {
		if err := w.Recipe.Update().Where(recipe.ID(id)).SetTimesCooked(n).Exec(ctx); err != nil {
			return nil, err
		}
	}
	for i, m := range y.Meals {
		if !m.Leftovers.IsPositive() || !m.EatenAt.IsZero() {
			continue
		}
		err := w.Leftover.Create().SetName(m.Recipe).SetServings(float(m.Leftovers)).SetPlace(leftover.PlaceFridge).SetCookedOn(date(m.At)).
			SetBestBefore(date(m.At).AddDate(0, 0, 3)).SetMealID(stored[i].ID).Exec(ctx)
		if err != nil {
			return nil, err
		}
	}
	return stored, nil
}

func (w *writer) pastLots(ctx context.Context, y *history.Year) ([]*ent.PantryItem, error) {
	rows := make([]*ent.PantryItemCreate, len(y.Lots))
	for i, l := range y.Lots {
		rows[i] = w.PantryItem.Create().SetName(l.Food).SetFoodID(foods.Slug(l.Food)).SetAmount(0).SetInitialAmount(float(l.Initial)).SetUnit(string(l.Unit)).
			SetPlace(pantryitem.Place(l.Place)).SetStatus(pantryitem.Status(l.Status)).SetAddedAt(l.Bought).SetUnitPrice(float(l.UnitPrice)).
			SetStoreID(foods.Slug(l.Store)).SetSource(pantryitem.SourceShopping)
		if l.Product != "" {
			rows[i].SetProductID(catalogue.ProductID(l.Product))
		}
		if !l.BestBefore.IsZero() {
			rows[i].SetBestBefore(date(l.BestBefore))
		}
		if !l.Opened.IsZero() {
			rows[i].SetOpenedAt(date(l.Opened))
		}
	}
	return inBatches(ctx, rows, func(b []*ent.PantryItemCreate) ([]*ent.PantryItem, error) {
		return w.PantryItem.CreateBulk(b...).Save(ctx)
	})
}

func (w *writer) events(ctx context.Context, y *history.Year, lots []*ent.PantryItem, meals []*ent.PlannedMeal) error {
	rows := make([]*ent.PantryEventCreate, len(y.Events))
	for i, e := range y.Events {
		lot := lots[e.Lot]
		kind := pantryevent.KindWent
		if e.Reason == history.ReasonBought {
			kind = pantryevent.KindCame
		}
		rows[i] = w.PantryEvent.Create().SetItemID(lot.ID).SetItemName(lot.Name).SetKind(kind).SetReason(pantryevent.Reason(e.Reason)).
			SetAmount(float(e.Amount)).SetUnit(lot.Unit).SetCost(float(e.Cost.Round(2))).SetAt(e.At).SetNillableFoodID(lot.FoodID)
		if e.Meal >= 0 {
			rows[i].SetMealID(meals[e.Meal].ID)
		}
	}
	_, err := inBatches(ctx, rows, func(b []*ent.PantryEventCreate) ([]*ent.PantryEvent, error) {
		return w.PantryEvent.CreateBulk(b...).Save(ctx)
	})
	return err
}

func (w *writer) prices(ctx context.Context, y *history.Year) error {
	rows := make([]*ent.PriceCreate, len(y.Prices))
	for i, p := range y.Prices {
		rows[i] = w.Price.Create().SetFoodID(foods.Slug(p.Food)).SetProductID(catalogue.ProductID(p.Product)).SetStoreID(foods.Slug(p.Store)).
			SetPrice(float(p.Price)).SetAmount(float(p.Amount)).SetUnit(string(p.Unit)).SetOn(date(p.Day))
	}
	_, err := inBatches(ctx, rows, func(b []*ent.PriceCreate) ([]*ent.Price, error) { return w.Price.CreateBulk(b...).Save(ctx) })
	return err
}

// date is the day of a time where it was.
func date(t time.Time) time.Time {
	y, m, d := t.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

func inBatches[Row, Stored any](ctx context.Context, rows []Row, store func([]Row) ([]Stored, error)) ([]Stored, error) {
	out := make([]Stored, 0, len(rows))
	for part := range slices.Chunk(rows, batch) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		stored, err := store(part)
		if err != nil {
			return nil, err
		}
		out = append(out, stored...)
	}
	return out, nil
}
