package rules

import (
	"context"
	"slices"

	"github.com/koan-go/koan/sample-pantrypal/ent"
	"github.com/koan-go/koan/sample-pantrypal/ent/food"
	"github.com/koan-go/koan/sample-pantrypal/ent/pantryitem"
	"github.com/koan-go/koan/sample-pantrypal/ent/product"
	"github.com/koan-go/koan/sample-pantrypal/ent/recipe"
	"github.com/koan-go/koan/sample-pantrypal/ent/recipeingredient"
	"github.com/koan-go/koan/sample-pantrypal/ent/shoppingitem"
	"github.com/koan-go/koan/sample-pantrypal/foods"
	"github.com/koan-go/koan/sample-pantrypal/quantity"
	"github.com/koan-go/koan/sample-pantrypal/seed/catalogue"
)

// Book returns what a household knows of foods.
func Book(ctx context.Context, c *ent.Client) (*foods.Book, error) {
	rows, err := c.Food.Query().Where(food.Or(food.OriginEQ(food.OriginHousehold), food.OwnNamesNotNil())).WithPortions().Order(food.ByID()).All(ctx)
	if err != nil {
		return nil, err
	}
	own := make([]foods.Own, len(rows))
	for i, r := range rows {
		own[i] = foods.Own{ID: r.ID, Name: r.Name, Names: r.OwnNames, Catalogue: r.Origin == food.OriginCatalogue, Guessed: r.Guessed}
		if !own[i].Catalogue {
			own[i].Names = slices.Concat(r.Aliases, r.OwnNames)
			own[i].Facts = facts(r)
		}
	}
	return foods.NewBook(own), nil
}

// facts are those of a household's own food.
func facts(r *ent.Food) catalogue.Food {
	f := catalogue.Food{
		Aisle: r.Aisle, Allergens: r.Allergens, Diets: r.Diets, Density: foods.Figures(r.Density), Staple: r.Staple, Thing: r.Thing,
		Shelf: catalogue.Shelf{Pantry: orNone(r.ShelfLifePantry), Fridge: orNone(r.ShelfLifeFridge), Freezer: orNone(r.ShelfLifeFreezer)},
	}
	for _, p := range r.Edges.Portions {
		f.Portions = append(f.Portions, catalogue.Portion{Portion: quantity.Portion{Unit: quantity.Unit(p.Unit), Grams: foods.Figures(&p.Grams)}})
	}
	return f
}

func orNone(days *int) int {
	if days == nil {
		return 0
	}
	return *days
}

// foodOf returns the food with an id. Only one that the catalogue does not have is read.
func foodOf(ctx context.Context, c *ent.Client, id string) (foods.Food, bool, error) {
	if f, known := (*foods.Book)(nil).Of(id); known || id == "" {
		return f, known, nil
	}
	book, err := Book(ctx, c)
	if err != nil {
		return foods.Food{}, false, err
	}
	f, known := book.Of(id)
	return f, known, nil
}

// foodNamed returns the id of the food that a name stands for, or an empty one.
func foodNamed(ctx context.Context, c *ent.Client, name string) (string, error) {
	book, err := Book(ctx, c)
	if err != nil {
		return "", err
	}
	return book.Find(name).ID, nil
}

// joinLoose joins what has no food and bears one of its names to a food: what is called the same is
// the same.
func joinLoose(ctx context.Context, c *ent.Client, id string, names []string) error {
	var keys [][]string
	for _, n := range names {
		keys = append(keys, quantity.Words(n))
	}
	called := func(name string) bool {
		words := quantity.Words(name)
		return slices.ContainsFunc(keys, func(k []string) bool { return slices.Equal(k, words) })
	}
	lots, err := c.PantryItem.Query().Where(pantryitem.FoodIDIsNil(), pantryitem.StatusEQ(pantryitem.StatusAvailable)).All(ctx)
	if err != nil {
		return err
	}
	for _, l := range lots {
		if called(l.Name) {
			if err := l.Update().SetFoodID(id).Exec(ctx); err != nil {
				return err
			}
		}
	}
	lines, err := c.RecipeIngredient.Query().Where(recipeingredient.FoodIDIsNil(), recipeingredient.HasRecipeWith(recipe.OriginEQ(recipe.OriginHousehold))).All(ctx)
	if err != nil {
		return err
	}
	for _, l := range lines {
		if called(l.Name) {
			if err := l.Update().SetFoodID(id).Exec(ctx); err != nil {
				return err
			}
		}
	}
	items, err := c.ShoppingItem.Query().Where(shoppingitem.FoodIDIsNil(), shoppingitem.Bought(false)).All(ctx)
	if err != nil {
		return err
	}
	for _, i := range items {
		if called(i.Name) {
			if err := i.Update().SetFoodID(id).Exec(ctx); err != nil {
				return err
			}
		}
	}
	products, err := c.Product.Query().Where(product.FoodIDIsNil()).All(ctx)
	if err != nil {
		return err
	}
	for _, p := range products {
		if called(p.Name) {
			if err := p.Update().SetFoodID(id).Exec(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}
