package rules

import (
	"context"
	"fmt"

	"entgo.io/ent/dialect/sql"
	"entgo.io/ent/dialect/sql/sqljson"

	"github.com/koan-go/koan/sample-pantrypal/ent"
	"github.com/koan-go/koan/sample-pantrypal/ent/detection"
	"github.com/koan-go/koan/sample-pantrypal/ent/hook"
	"github.com/koan-go/koan/sample-pantrypal/ent/product"
	"github.com/koan-go/koan/sample-pantrypal/ent/recipe"
	"github.com/koan-go/koan/sample-pantrypal/ent/recipeingredient"
	"github.com/koan-go/koan/sample-pantrypal/ent/schema"
)

// ownBarcodes refuses a code that another product has, and one with a wrong digit, unless a photo
// shows that very code: a warehouse may print as many digits as a shop does, and mean another thing.
func ownBarcodes(next ent.Mutator) ent.Mutator {
	return hook.ProductFunc(func(ctx context.Context, m *ent.ProductMutation) (ent.Value, error) {
		codes, _ := m.Barcodes()
		added, _ := m.AppendedBarcodes()
		if ofCatalogue(ctx) || m.Op().Is(ent.OpDelete|ent.OpDeleteOne) {
			return next.Mutate(ctx, m)
		}
		var own []string
		if !m.Op().Is(ent.OpCreate) && len(codes)+len(added) > 0 {
			var err error
			if own, err = m.IDs(ctx); err != nil {
				return nil, err
			}
		}
		for _, code := range append(append([]string{}, codes...), added...) {
			if err := readable(ctx, m.Client(), code); err != nil {
				return nil, err
			}
			other, err := m.Client().Product.Query().Where(product.IDNotIn(own...), func(s *sql.Selector) {
				s.Where(sqljson.ValueContains(product.FieldBarcodes, code))
			}).First(ctx)
			switch {
			case err == nil:
				return nil, fmt.Errorf("the barcode %s belongs to %s already (product %s)", code, other.Name, other.ID)
			case !ent.IsNotFound(err):
				return nil, err
			}
		}
		return next.Mutate(ctx, m)
	})
}

// readable refuses a code that no reader returns.
func readable(ctx context.Context, c *ent.Client, code string) error {
	wrong := schema.CheckGTIN(code)
	if wrong == nil {
		return nil
	}
	seen, err := c.Detection.Query().Where(detection.Value(code)).Exist(ctx)
	if err != nil || seen {
		return err
	}
	return wrong
}

// ownFields are the fields of a recipe of the catalogue that are the household's, and the count of its
// changes, which these are.
var ownFields = map[string]bool{recipe.FieldRating: true, recipe.FieldFavourite: true, recipe.FieldTimesCooked: true, recipe.FieldPhoto: true, recipe.FieldVersion: true}

// sharedRecipes leaves recipes of the catalogue as every set has them.
func sharedRecipes(next ent.Mutator) ent.Mutator {
	return hook.RecipeFunc(func(ctx context.Context, m *ent.RecipeMutation) (ent.Value, error) {
		if ofCatalogue(ctx) || m.Op().Is(ent.OpCreate) {
			return next.Mutate(ctx, m)
		}
		foreign := m.Op().Is(ent.OpDelete | ent.OpDeleteOne)
		for _, f := range append(m.Fields(), append(m.ClearedFields(), m.AddedFields()...)...) {
			foreign = foreign || !ownFields[f]
		}
		foreign = foreign || len(m.AddedEdges())+len(m.RemovedEdges()) > 0
		if !foreign {
			return next.Mutate(ctx, m)
		}
		ids, err := m.IDs(ctx)
		if err != nil {
			return nil, err
		}
		shared, err := m.Client().Recipe.Query().Where(recipe.IDIn(ids...), recipe.OriginEQ(recipe.OriginCatalogue)).First(ctx)
		switch {
		case err == nil:
			return nil, fmt.Errorf("%s is a recipe of the catalogue: only its rating, favourite, photo and timesCooked can be changed. Make a recipe of your own of it", shared.Name)
		case !ent.IsNotFound(err):
			return nil, err
		}
		return next.Mutate(ctx, m)
	})
}

// sharedIngredients does the same for their lines.
func sharedIngredients(next ent.Mutator) ent.Mutator {
	return hook.RecipeIngredientFunc(func(ctx context.Context, m *ent.RecipeIngredientMutation) (ent.Value, error) {
		if ofCatalogue(ctx) {
			return next.Mutate(ctx, m)
		}
		query := m.Client().Recipe.Query().Where(recipe.OriginEQ(recipe.OriginCatalogue))
		if m.Op().Is(ent.OpCreate) {
			id, _ := m.RecipeID()
			query.Where(recipe.ID(id))
		} else {
			ids, err := m.IDs(ctx)
			if err != nil {
				return nil, err
			}
			query.Where(recipe.HasIngredientsWith(recipeingredient.IDIn(ids...)))
		}
		shared, err := query.First(ctx)
		switch {
		case err == nil:
			return nil, fmt.Errorf("%s is a recipe of the catalogue, and its ingredients cannot be changed. Make a recipe of your own of it", shared.Name)
		case !ent.IsNotFound(err):
			return nil, err
		}
		return next.Mutate(ctx, m)
	})
}
