package seed

import (
	"context"
	"fmt"
	"slices"

	"github.com/koan-go/koan/sample-pantrypal/ent"
	"github.com/koan-go/koan/sample-pantrypal/ent/food"
	"github.com/koan-go/koan/sample-pantrypal/ent/foodportion"
	"github.com/koan-go/koan/sample-pantrypal/ent/household"
	"github.com/koan-go/koan/sample-pantrypal/ent/pantryitem"
	"github.com/koan-go/koan/sample-pantrypal/ent/price"
	"github.com/koan-go/koan/sample-pantrypal/ent/product"
	"github.com/koan-go/koan/sample-pantrypal/ent/recipe"
	"github.com/koan-go/koan/sample-pantrypal/ent/recipeingredient"
	"github.com/koan-go/koan/sample-pantrypal/ent/shoppingitem"
	"github.com/koan-go/koan/sample-pantrypal/foods"
	"github.com/koan-go/koan/sample-pantrypal/quantity"
	"github.com/koan-go/koan/sample-pantrypal/seed/catalogue"
)

// catalogue brings a set to the catalogue. The ids are made of names and codes, so they are
// the same everywhere. Foods, their portions and the catalogue's recipes become what they
// are now; products and stores, which a household may change, are only added, save those that it has deleted. Of a recipe,
// rating, favourite, photo and timesCooked are the household's. What a release has no more stays with what
// belongs to it: it may be in the house, or planned.
func (w *writer) catalogue(ctx context.Context) error {
	for _, step := range []func(context.Context) error{w.foods, w.portions, w.stores, w.products, w.recipes} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) foods(ctx context.Context) error {
	if err := w.giveWay(ctx); err != nil {
		return err
	}
	there, err := known(w.Food.Query().IDs(ctx))
	if err != nil {
		return err
	}
	var rows []*ent.FoodCreate
	for _, f := range w.data.Foods {
		id := foods.Slug(f.Name)
		if !there[id] {
			row := w.Food.Create().SetID(id)
			setFood(row.Mutation(), f)
			rows = append(rows, row)
			continue
		}
		row := w.Food.Update().Where(food.ID(id))
		setFood(row.Mutation(), f)
		if err := row.Exec(ctx); err != nil {
			return err
		}
	}
	if err := w.Food.CreateBulk(rows...).Exec(ctx); err != nil {
		return err
	}
	return w.followNames(ctx)
}

// giveWay frees the names of foods that a household has made and the catalogue has now.
func (w *writer) giveWay(ctx context.Context) error {
	own, err := w.Food.Query().Where(food.OriginEQ(food.OriginHousehold)).All(ctx)
	if err != nil {
		return err
	}
	var shared *foods.Book
	for _, f := range own {
		if now, there := shared.Named(f.Name); there && now.ID != f.ID {
			// Its last name is the one by which followNames finds what it is now.
			if err := f.Update().SetName(f.ID).SetAliases([]string{f.Name}).Exec(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// followNames moves what the household has of a food to the food's present name, where an earlier
// release had it under another one that is now an alias, or the household had made it itself. What no
// release knows any more stays as it is, and so does the diary, which says what was.
func (w *writer) followNames(ctx context.Context) error {
	stored, err := w.Food.Query().All(ctx)
	if err != nil {
		return err
	}
	var shared *foods.Book
	for _, old := range stored {
		if _, ours := shared.Of(old.ID); ours {
			continue
		}
		now := shared.Find(old.Name).ID
		if old.Origin == food.OriginHousehold {
			if now = ""; old.Name == old.ID && len(old.Aliases) == 1 {
				f, _ := shared.Named(old.Aliases[0])
				now = f.ID
			}
		}
		if now == "" {
			continue
		}
		for _, move := range []func(context.Context) error{
			w.PantryItem.Update().Where(pantryitem.FoodID(old.ID)).SetFoodID(now).Exec,
			w.Product.Update().Where(product.FoodID(old.ID)).SetFoodID(now).Exec,
			w.Price.Update().Where(price.FoodID(old.ID)).SetFoodID(now).Exec,
			w.ShoppingItem.Update().Where(shoppingitem.FoodID(old.ID)).SetFoodID(now).Exec,
			w.RecipeIngredient.Update().Where(recipeingredient.FoodID(old.ID)).SetFoodID(now).Exec,
		} {
			if err := move(ctx); err != nil {
				return fmt.Errorf("%s is now %s: %w", old.Name, now, err)
			}
		}
	}
	return nil
}

// setFood sets every field that the catalogue knows, and clears those that it does not.
func setFood(m *ent.FoodMutation, f catalogue.Food) {
	m.SetName(f.Name)
	m.SetOrigin(food.OriginCatalogue)
	m.SetThing(f.Thing)
	m.ClearGuessed()
	m.ClearLike()
	m.SetAliases(list(f.Aliases))
	m.SetAisle(f.Aisle)
	m.SetAllergens(list(f.Allergens))
	m.SetDiets(list(f.Diets))
	setNutrition(m, f)
	m.SetStaple(f.Staple)
	m.SetSource(f.Source())
	if f.Density.IsPositive() {
		m.SetDensity(float(f.Density))
	} else {
		m.ClearDensity()
	}
	for _, shelf := range []struct {
		days  int
		set   func(int)
		clear func()
	}{
		{f.Shelf.Pantry, m.SetShelfLifePantry, m.ClearShelfLifePantry},
		{f.Shelf.Fridge, m.SetShelfLifeFridge, m.ClearShelfLifeFridge},
		{f.Shelf.Freezer, m.SetShelfLifeFreezer, m.ClearShelfLifeFreezer},
	} {
		if shelf.days > 0 {
			shelf.set(shelf.days)
		} else {
			shelf.clear()
		}
	}
}

// setNutrition does so for the figures, of which a food has all or none.
func setNutrition(m *ent.FoodMutation, f catalogue.Food) {
	if f.NDB == "" {
		m.ClearEnergyKcal()
		m.ClearProteinG()
		m.ClearCarbohydrateG()
		m.ClearFatG()
		m.ClearFibreG()
		return
	}
	n := f.Nutrition
	m.SetEnergyKcal(float(n.EnergyKcal))
	m.SetProteinG(float(n.Protein))
	m.SetCarbohydrateG(float(n.Carbohydrate))
	m.SetFatG(float(n.Fat))
	m.SetFibreG(float(n.Fibre))
}

func (w *writer) portions(ctx context.Context) error {
	ids := make([]string, len(w.data.Foods))
	for i, f := range w.data.Foods {
		ids[i] = foods.Slug(f.Name)
	}
	gone, err := known(w.FoodPortion.Query().Where(foodportion.FoodIDIn(ids...)).IDs(ctx))
	if err != nil {
		return err
	}
	var rows []*ent.FoodPortionCreate
	for _, f := range w.data.Foods {
		for _, p := range f.Portions {
			id := foods.Slug(f.Name) + "-" + string(p.Unit)
			if !gone[id] {
				rows = append(rows, w.FoodPortion.Create().SetID(id).SetFoodID(foods.Slug(f.Name)).SetUnit(string(p.Unit)).SetGrams(float(p.Grams)))
				continue
			}
			delete(gone, id)
			if err := w.FoodPortion.Update().Where(foodportion.ID(id)).SetGrams(float(p.Grams)).Exec(ctx); err != nil {
				return err
			}
		}
	}
	for id := range gone {
		if err := w.FoodPortion.DeleteOneID(id).Exec(ctx); err != nil {
			return err
		}
	}
	return w.FoodPortion.CreateBulk(rows...).Exec(ctx)
}

func (w *writer) stores(ctx context.Context) error {
	there, err := known(w.Store.Query().IDs(ctx))
	if err == nil {
		err = w.addRemoved(ctx, there)
	}
	if err != nil {
		return err
	}
	var rows []*ent.StoreCreate
	for _, s := range w.data.Stores {
		if id := foods.Slug(s.Name); !there[id] {
			rows = append(rows, w.Store.Create().SetID(id).SetName(s.Name).SetAisles(list(s.Aisles)))
		}
	}
	return w.Store.CreateBulk(rows...).Exec(ctx)
}

// products leaves out those with a code that the household has given to a product of its own.
func (w *writer) products(ctx context.Context) error {
	stored, err := w.Product.Query().All(ctx)
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, p := range stored {
		there[p.ID] = true
		for _, code := range p.Barcodes {
			there[catalogue.ProductID(code)] = true
		}
	}
	if err := w.addRemoved(ctx, there); err != nil {
		return err
	}
	var rows []*ent.ProductCreate
	for _, p := range w.data.Products {
		if id := catalogue.ProductID(p.Code); !there[id] {
			rows = append(rows, w.Product.Create().SetID(id).SetName(p.Name).SetBrand(p.Brand).SetBarcodes([]string{catalogue.Barcode(p.Code)}).
				SetFoodID(foods.Slug(p.Food)).SetPackageAmount(float(p.Package.Value)).SetPackageUnit(string(p.Package.Unit)).SetState(product.StateConfirmed))
		}
	}
	return w.Product.CreateBulk(rows...).Exec(ctx)
}

// recipes leaves out those whose name or id a recipe of the household has.
func (w *writer) recipes(ctx context.Context) error {
	stored, err := w.Recipe.Query().All(ctx)
	if err != nil {
		return err
	}
	shared, taken := map[string]bool{}, map[string]bool{}
	for _, r := range stored {
		if r.Origin == recipe.OriginCatalogue {
			shared[r.ID] = true
		} else {
			taken[r.ID], taken[foods.Slug(r.Name)] = true, true
		}
	}
	ids := make([]string, len(w.data.Recipes))
	for i, r := range w.data.Recipes {
		ids[i] = foods.Slug(r.Name)
	}
	gone, err := known(w.RecipeIngredient.Query().Where(recipeingredient.HasRecipeWith(recipe.OriginEQ(recipe.OriginCatalogue), recipe.IDIn(ids...))).IDs(ctx))
	if err != nil {
		return err
	}
	var rows []*ent.RecipeCreate
	var lines []*ent.RecipeIngredientCreate
	for _, r := range w.data.Recipes {
		id := foods.Slug(r.Name)
		switch {
		case taken[id]:
			continue
		case shared[id]:
			row := w.Recipe.Update().Where(recipe.ID(id))
			setRecipe(row.Mutation(), r)
			if err := row.Exec(ctx); err != nil {
				return err
			}
		default:
			row := w.Recipe.Create().SetID(id).SetOrigin(recipe.OriginCatalogue)
			setRecipe(row.Mutation(), r)
			rows = append(rows, row)
		}
		for i, ing := range r.Ingredients {
			at := ingredientID(id, i)
			if !gone[at] {
				line := w.RecipeIngredient.Create().SetID(at).SetRecipeID(id)
				setIngredient(line.Mutation(), i, ing)
				lines = append(lines, line)
				continue
			}
			delete(gone, at)
			line := w.RecipeIngredient.Update().Where(recipeingredient.ID(at))
			setIngredient(line.Mutation(), i, ing)
			if err := line.Exec(ctx); err != nil {
				return err
			}
		}
	}
	for id := range gone {
		if err := w.RecipeIngredient.DeleteOneID(id).Exec(ctx); err != nil {
			return err
		}
	}
	if err := w.Recipe.CreateBulk(rows...).Exec(ctx); err != nil {
		return err
	}
	return w.RecipeIngredient.CreateBulk(lines...).Exec(ctx)
}

func setRecipe(m *ent.RecipeMutation, r catalogue.Recipe) {
	m.SetName(r.Name)
	m.SetDescription(r.Description)
	m.SetSteps(list(r.Steps))
	m.SetCuisine(r.Cuisine)
	m.SetMealTypes(list(r.Meals))
	m.SetDietaryTags(dietary(r.Diets, r.Allergens))
	m.SetTags(list(r.Tags))
	m.SetPrepMinutes(r.PrepMinutes)
	m.SetCookMinutes(r.CookMinutes)
	m.SetDifficulty(recipe.Difficulty(r.Difficulty))
	m.SetServings(r.Servings)
	m.SetEquipment(list(r.Equipment))
}

func setIngredient(m *ent.RecipeIngredientMutation, at int, ing catalogue.Ingredient) {
	m.SetPosition(at)
	m.SetName(ing.Name)
	m.SetFoodID(foods.Slug(ing.Food))
	m.SetPreparation(ing.Preparation)
	m.SetOptional(ing.Optional)
	m.SetText(ing.Text)
	// One or the other: PostgreSQL takes no statement that clears a column and sets it.
	if ing.Amount.Valid {
		m.SetAmount(float(ing.Amount.Decimal))
	} else {
		m.ClearAmount()
	}
	if ing.Amount.Valid && ing.Unit != "" {
		m.SetUnit(string(ing.Unit))
	} else {
		m.ClearUnit()
	}
	if ing.AmountMax.Valid {
		m.SetAmountMax(float(ing.AmountMax.Decimal))
	} else {
		m.ClearAmountMax()
	}
}

// addRemoved adds what the household has deleted to what need not be added.
func (w *writer) addRemoved(ctx context.Context, there map[string]bool) error {
	homes, err := w.Household.Query().All(ctx)
	for _, h := range homes {
		for _, id := range h.Removed {
			there[id] = true
		}
	}
	return err
}

// known is a set of ids.
func known(ids []string, err error) (map[string]bool, error) {
	there := make(map[string]bool, len(ids))
	for _, id := range ids {
		there[id] = true
	}
	return there, err
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

func units(s quantity.System) household.Units {
	if s == quantity.US {
		return household.UnitsUs
	}
	return household.UnitsMetric
}
