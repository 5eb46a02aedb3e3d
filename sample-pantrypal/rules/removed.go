package rules

import (
	"context"
	"slices"

	"github.com/koan-go/koan/sample-pantrypal/ent"
	"github.com/koan-go/koan/sample-pantrypal/ent/hook"
	"github.com/koan-go/koan/sample-pantrypal/ent/household"
	"github.com/koan-go/koan/sample-pantrypal/ent/schema"
	"github.com/koan-go/koan/sample-pantrypal/foods"
	"github.com/koan-go/koan/sample-pantrypal/seed/catalogue"
)

// rememberProducts keeps in mind which products of the catalogue a household has deleted, so that
// a new catalogue does not bring them back.
func rememberProducts(next ent.Mutator) ent.Mutator {
	return hook.ProductFunc(func(ctx context.Context, m *ent.ProductMutation) (ent.Value, error) {
		return remember(ctx, m, next, func(c *catalogue.Catalogue, id string) bool {
			return slices.ContainsFunc(c.Products, func(p catalogue.Product) bool { return catalogue.ProductID(p.Code) == id })
		})
	})
}

// rememberStores does the same for stores.
func rememberStores(next ent.Mutator) ent.Mutator {
	return hook.StoreFunc(func(ctx context.Context, m *ent.StoreMutation) (ent.Value, error) {
		return remember(ctx, m, next, func(c *catalogue.Catalogue, id string) bool {
			return slices.ContainsFunc(c.Stores, func(s catalogue.Store) bool { return foods.Slug(s.Name) == id })
		})
	})
}

// removal is what remember needs of a mutation.
type removal interface {
	ent.Mutation
	Client() *ent.Client
	IDs(context.Context) ([]string, error)
}

func remember(ctx context.Context, m removal, next ent.Mutator, shared func(*catalogue.Catalogue, string) bool) (ent.Value, error) {
	if !m.Op().Is(ent.OpDelete | ent.OpDeleteOne) {
		return next.Mutate(ctx, m)
	}
	ids, err := m.IDs(ctx)
	if err != nil {
		return nil, err
	}
	value, err := next.Mutate(ctx, m)
	if err != nil {
		return value, err
	}
	data, err := catalogue.Load()
	if err != nil {
		return nil, err
	}
	if ids = slices.DeleteFunc(ids, func(id string) bool { return !shared(data, id) }); len(ids) == 0 {
		return value, nil
	}
	home, err := m.Client().Household.Query().Where(household.ID(schema.HouseholdID)).Only(ctx)
	if ent.IsNotFound(err) { // a set without one keeps nothing in mind
		return value, nil
	}
	if err != nil {
		return nil, err
	}
	return value, home.Update().SetRemoved(append(home.Removed, ids...)).Exec(ctx)
}
