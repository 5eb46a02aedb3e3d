package seed

import (
	"context"
	"fmt"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/koan-go/koan/sample-pantrypal/ent"
	"github.com/koan-go/koan/sample-pantrypal/ent/household"
	"github.com/koan-go/koan/sample-pantrypal/ent/product"
	"github.com/koan-go/koan/sample-pantrypal/ent/recipe"
	"github.com/koan-go/koan/sample-pantrypal/foods"
	"github.com/koan-go/koan/sample-pantrypal/quantity"
)

// catalogue writes what every set has. The ids are made of names and codes, so they
// are the same everywhere.
func (w *writer) catalogue(ctx context.Context) error {
	for _, step := range []func(context.Context) error{w.foods, w.stores, w.products, w.recipes} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) foods(ctx context.Context) error {
	var rows []*ent.FoodCreate
	var portions []*ent.FoodPortionCreate
	for _, f := range w.data.Foods {
		id := foods.Slug(f.Name)
		n := f.Nutrition
		row := w.Food.Create().SetID(id).SetName(f.Name).SetAliases(list(f.Aliases)).SetAisle(f.Aisle).SetAllergens(list(f.Allergens)).SetDiets(list(f.Diets)).
			SetEnergyKcal(float(n.EnergyKcal)).SetProteinG(float(n.Protein)).SetCarbohydrateG(float(n.Carbohydrate)).SetFatG(float(n.Fat)).SetFibreG(float(n.Fibre)).
			SetStaple(f.Staple).SetSource(f.Source())
		if f.Density.IsPositive() {
			row.SetDensity(float(f.Density))
		}
		if f.Shelf.Pantry > 0 {
			row.SetShelfLifePantry(f.Shelf.Pantry)
		}
		if f.Shelf.Fridge > 0 {
			row.SetShelfLifeFridge(f.Shelf.Fridge)
		}
		if f.Shelf.Freezer > 0 {
			row.SetShelfLifeFreezer(f.Shelf.Freezer)
		}
		rows = append(rows, row)
		for _, p := range f.Portions {
			portions = append(portions, w.FoodPortion.Create().SetID(id+"-"+string(p.Unit)).SetFoodID(id).SetUnit(string(p.Unit)).SetGrams(float(p.Grams)))
		}
	}
	if err := w.Food.CreateBulk(rows...).Exec(ctx); err != nil {
		return err
	}
	return w.FoodPortion.CreateBulk(portions...).Exec(ctx)
}

func (w *writer) stores(ctx context.Context) error {
	var rows []*ent.StoreCreate
	for _, s := range w.data.Stores {
		rows = append(rows, w.Store.Create().SetID(foods.Slug(s.Name)).SetName(s.Name).SetAisles(list(s.Aisles)))
	}
	return w.Store.CreateBulk(rows...).Exec(ctx)
}

func (w *writer) products(ctx context.Context) error {
	var rows []*ent.ProductCreate
	for _, p := range w.data.Products {
		rows = append(rows, w.Product.Create().SetID(ProductID(p.Code)).SetName(p.Name).SetBrand(p.Brand).SetBarcodes([]string{Barcode(p.Code)}).
			SetFoodID(foods.Slug(p.Food)).SetPackageAmount(float(p.Package.Value)).SetPackageUnit(string(p.Package.Unit)).SetState(product.StateConfirmed))
	}
	return w.Product.CreateBulk(rows...).Exec(ctx)
}

func (w *writer) recipes(ctx context.Context) error {
	var rows []*ent.RecipeCreate
	var lines []*ent.RecipeIngredientCreate
	for _, r := range w.data.Recipes {
		id := foods.Slug(r.Name)
		rows = append(rows, w.Recipe.Create().SetID(id).SetName(r.Name).SetDescription(r.Description).SetSteps(list(r.Steps)).SetCuisine(r.Cuisine).
			SetMealTypes(list(r.Meals)).SetDietaryTags(dietary(r.Diets, r.Allergens)).SetTags(list(r.Tags)).SetPrepMinutes(r.PrepMinutes).SetCookMinutes(r.CookMinutes).
			SetDifficulty(recipe.Difficulty(r.Difficulty)).SetServings(r.Servings).SetEquipment(list(r.Equipment)).SetOrigin(recipe.OriginCatalogue))
		for i, ing := range r.Ingredients {
			line := w.RecipeIngredient.Create().SetID(ingredientID(id, i)).SetRecipeID(id).SetPosition(i).SetName(ing.Name).SetFoodID(foods.Slug(ing.Food)).
				SetPreparation(ing.Preparation).SetOptional(ing.Optional).SetText(ing.Text).
				SetNillableAmount(nullable(ing.Amount)).SetNillableAmountMax(nullable(ing.AmountMax))
			if ing.Amount.Valid && ing.Unit != "" {
				line.SetUnit(string(ing.Unit))
			}
			lines = append(lines, line)
		}
	}
	if err := w.Recipe.CreateBulk(rows...).Exec(ctx); err != nil {
		return err
	}
	return w.RecipeIngredient.CreateBulk(lines...).Exec(ctx)
}

func ingredientID(recipe string, i int) string {
	if len(recipe) > 58 {
		recipe = recipe[:58]
	}
	return fmt.Sprintf("%s-%d", recipe, i+1)
}

// dietary tags are the diets that a recipe fits, and what it is free of.
func dietary(diets, allergens []string) []string {
	out := list(diets)
	if !slices.Contains(allergens, "gluten") {
		out = append(out, "gluten-free")
	}
	if !slices.Contains(allergens, "milk") {
		out = append(out, "dairy-free")
	}
	return out
}

func nullable(d decimal.NullDecimal) *float64 {
	if !d.Valid {
		return nil
	}
	f := float(d.Decimal)
	return &f
}

func units(s quantity.System) household.Units {
	if s == quantity.US {
		return household.UnitsUs
	}
	return household.UnitsMetric
}
