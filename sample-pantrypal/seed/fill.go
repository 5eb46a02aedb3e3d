package seed

import (
	"context"
	"fmt"
	"time"

	"github.com/koan-go/koan/sample-pantrypal/ent"
	"github.com/koan-go/koan/sample-pantrypal/ent/householdprofile"
	"github.com/koan-go/koan/sample-pantrypal/ent/pantryitem"
	"github.com/koan-go/koan/sample-pantrypal/ent/product"
	"github.com/koan-go/koan/sample-pantrypal/ent/recipe"
)

// Set is the only set that gets seeds.
const Set = "default"

// Fill writes the seeds into a set that was just created; sets other than Set
// stay empty. It fits ent.OnCreateSet.
func Fill(ctx context.Context, set string, c *ent.Client) error {
	if set != Set {
		return nil
	}
	d, err := Load()
	if err != nil {
		return err
	}
	w := writer{Client: c, now: time.Now().UTC()}
	for _, step := range []struct {
		what string
		do   func(context.Context, *Data) error
	}{{"products", w.products}, {"recipes", w.recipes}, {"household", w.household}} {
		if err := step.do(ctx, d); err != nil {
			return fmt.Errorf("seed: %s: %w", step.what, err)
		}
	}
	return nil
}

type writer struct {
	*ent.Client
	now time.Time
	ids map[int]string // of products, by number
}

func (w *writer) products(ctx context.Context, d *Data) error {
	rows := make([]*ent.ProductCreate, len(d.Products))
	for i, p := range d.Products {
		rows[i] = w.Product.Create().SetGtin(GTIN(p.N)).SetName(p.Name).SetBrand(p.Brand).SetCategory(product.Category(p.Category)).
			SetDefaultQuantity(p.Quantity).SetDefaultUnit(p.Unit).SetAllergens(list(p.Allergens))
		if p.ShelfLifeDays > 0 {
			rows[i].SetShelfLifeDays(p.ShelfLifeDays)
		}
	}
	stored, err := w.Product.CreateBulk(rows...).Save(ctx)
	if err != nil {
		return err
	}
	w.ids = make(map[int]string, len(stored))
	for i, p := range stored {
		w.ids[d.Products[i].N] = p.ID
	}
	return nil
}

func (w *writer) recipes(ctx context.Context, d *Data) error {
	rows := make([]*ent.RecipeCreate, len(d.Recipes))
	for i, r := range d.Recipes {
		rows[i] = w.Recipe.Create().SetName(r.Name).SetDescription(r.Description).SetCuisine(r.Cuisine).
			SetMealTypes(list(r.MealTypes)).SetDietaryTags(list(r.DietaryTags)).SetPrepMinutes(r.PrepMinutes).SetCookMinutes(r.CookMinutes).
			SetDifficulty(recipe.Difficulty(r.Difficulty)).SetServings(r.Servings).SetEnergyKcal(r.PerServing.EnergyKcal).
			SetProteinG(r.PerServing.ProteinG).SetCarbohydrateG(r.PerServing.CarbohydrateG).SetFatG(r.PerServing.FatG).
			SetFibreG(r.PerServing.FibreG).SetBatchFriendly(r.BatchFriendly).SetFreezerFriendly(r.FreezerFriendly).
			SetEquipment(list(r.Equipment)).SetRating(r.Rating).SetTimesCooked(r.TimesCooked)
	}
	stored, err := w.Recipe.CreateBulk(rows...).Save(ctx)
	if err != nil {
		return err
	}
	var lines []*ent.RecipeIngredientCreate
	for i, r := range d.Recipes {
		for _, ing := range r.Ingredients {
			lines = append(lines, w.RecipeIngredient.Create().SetRecipeID(stored[i].ID).SetName(ing.Name).SetAmount(ing.Amount).
				SetUnit(ing.Unit).SetOptional(ing.Optional).SetNote(ing.Note))
		}
	}
	return w.RecipeIngredient.CreateBulk(lines...).Exec(ctx)
}

func (w *writer) household(ctx context.Context, d *Data) error {
	p := d.Household.Profile
	err := w.HouseholdProfile.Create().SetSize(p.Size).SetDiet(householdprofile.Diet(p.Diet)).SetAllergies(list(p.Allergies)).
		SetDislikes(list(p.Dislikes)).SetFavourites(list(p.Favourites)).SetEnergyTargetKcal(p.EnergyTargetKcal).
		SetWeekdayMinutes(p.WeekdayMinutes).SetWeekendMinutes(p.WeekendMinutes).SetWeeklyBudget(p.WeeklyBudget).Exec(ctx)
	if err != nil {
		return err
	}
	category := map[int]string{}
	for _, p := range d.Products {
		category[p.N] = p.Category
	}
	rows := make([]*ent.PantryItemCreate, len(d.Household.Pantry))
	for i, item := range d.Household.Pantry {
		rows[i] = w.PantryItem.Create().SetName(item.Name).SetQuantity(item.Quantity).SetUnit(item.Unit).
			SetLocation(pantryitem.Location(item.Location)).SetIsStaple(item.Staple).SetAddedAt(w.day(-item.AddedDaysAgo)).
			SetCategory(pantryitem.Category(item.Category))
		if item.Product != 0 {
			rows[i].SetProductID(w.ids[item.Product]).SetCategory(pantryitem.Category(category[item.Product]))
		}
		if item.ExpiresInDays > 0 {
			rows[i].SetExpiresAt(w.day(item.ExpiresInDays))
		}
	}
	return w.PantryItem.CreateBulk(rows...).Exec(ctx)
}

// day is midnight (UTC) some days from now.
func (w *writer) day(days int) time.Time {
	return w.now.Truncate(24*time.Hour).AddDate(0, 0, days)
}

// list keeps an empty list an empty list: null would be a third state that no
// script should have to think of.
func list(s []string) []string {
	return append([]string{}, s...)
}
