package rules

import (
	"context"

	"entgo.io/ent/dialect/sql"
	"github.com/shopspring/decimal"

	"github.com/koan-go/koan/sample-pantrypal/ent"
	"github.com/koan-go/koan/sample-pantrypal/ent/hook"
	"github.com/koan-go/koan/sample-pantrypal/ent/household"
	"github.com/koan-go/koan/sample-pantrypal/ent/price"
	"github.com/koan-go/koan/sample-pantrypal/ent/schema"
	"github.com/koan-go/koan/sample-pantrypal/foods"
	"github.com/koan-go/koan/sample-pantrypal/quantity"
)

// joinShoppingItem completes a line of a list by its food, its aisle, and what it will cost.
func joinShoppingItem(next ent.Mutator) ent.Mutator {
	return hook.ShoppingItemFunc(func(ctx context.Context, m *ent.ShoppingItemMutation) (ent.Value, error) {
		if !m.Op().Is(ent.OpCreate) {
			if err := joinAnew(ctx, m); err != nil {
				return nil, err
			}
			if err := estimateAnew(ctx, m); err != nil {
				return nil, err
			}
			return next.Mutate(ctx, m)
		}
		name, _ := m.Name()
		id, said := m.FoodID()
		if !said {
			var err error
			if id, err = foodNamed(ctx, m.Client(), name); err != nil {
				return nil, err
			}
			if id != "" {
				m.SetFoodID(id)
			}
		}
		f, ok, err := foodOf(ctx, m.Client(), id)
		if err != nil {
			return nil, err
		}
		if !ok {
			return next.Mutate(ctx, m)
		}
		if aisle, said := m.Aisle(); !said || aisle == "other" {
			m.SetAisle(f.Aisle)
		}
		if _, said := m.EstimatedCost(); !said {
			amount, _ := m.Amount()
			unit, _ := m.Unit()
			if err := estimate(ctx, m, f, amount, unit); err != nil {
				return nil, err
			}
		}
		return next.Mutate(ctx, m)
	})
}

// joinAnew finds the food of a line again when it is called something else.
func joinAnew(ctx context.Context, m *ent.ShoppingItemMutation) error {
	name, renamed := m.Name()
	_, said := m.FoodID()
	if !renamed || said || m.FoodIDCleared() || !m.Op().Is(ent.OpUpdateOne) {
		return nil
	}
	before, err := m.OldName(ctx)
	if err != nil || before == name {
		return err
	}
	id, err := foodNamed(ctx, m.Client(), name)
	if err != nil {
		return err
	}
	old, err := m.OldFoodID(ctx)
	if err != nil || old != nil && *old == id {
		return err
	}
	if _, said := m.ProductID(); !said { // a package of what it was
		m.ClearProductID()
		m.ClearPackages()
	}
	if _, said := m.EstimatedCost(); !said {
		m.ClearEstimatedCost()
	}
	if id == "" {
		m.ClearFoodID()
		return nil
	}
	m.SetFoodID(id)
	f, _, err := foodOf(ctx, m.Client(), id)
	if _, said := m.Aisle(); !said && f.Aisle != "" {
		m.SetAisle(f.Aisle)
	}
	return err
}

// estimateAnew does so when somebody wants more or less of a line.
func estimateAnew(ctx context.Context, m *ent.ShoppingItemMutation) error {
	amount, more := m.Amount()
	unit, other := m.Unit()
	if _, said := m.EstimatedCost(); said || m.EstimatedCostCleared() || !m.Op().Is(ent.OpUpdateOne) || !more && !other {
		return nil
	}
	id, err := m.OldFoodID(ctx)
	if err != nil || id == nil {
		return err
	}
	f, ok, err := foodOf(ctx, m.Client(), *id)
	if err != nil || !ok {
		return err
	}
	if !more {
		if amount, err = m.OldAmount(ctx); err != nil {
			return err
		}
	}
	if !other {
		if unit, err = m.OldUnit(ctx); err != nil {
			return err
		}
	}
	if err := estimate(ctx, m, f, amount, unit); err != nil {
		return err
	}
	if _, found := m.EstimatedCost(); !found {
		m.ClearEstimatedCost()
	}
	return nil
}

// recentPrices is how many prices estimate looks at: the newest may be by a unit that does not convert.
const recentPrices = 10

// estimate sets what a line will cost by the newest price of its food that is comparable.
func estimate(ctx context.Context, m *ent.ShoppingItemMutation, f foods.Food, amount float64, unit string) error {
	sys, err := system(ctx, m.Client())
	if err != nil {
		return err
	}
	rows, err := m.Client().Price.Query().Where(price.FoodID(f.ID), price.PerUnitNotNil()).Order(price.ByOn(sql.OrderDesc()), price.ByID()).Limit(recentPrices).All(ctx)
	if err != nil {
		return err
	}
	for _, p := range rows {
		in, err := f.Convert(quantity.Of(decimal.NewFromFloat(amount), quantity.Unit(unit)), quantity.Unit(p.Unit).Large(), sys)
		if err != nil {
			continue
		}
		m.SetEstimatedCost(in.Value.Mul(decimal.NewFromFloat(*p.PerUnit)).Round(2).InexactFloat64())
		return nil
	}
	return nil
}

// system is in which measures the household cooks.
func system(ctx context.Context, c *ent.Client) (quantity.System, error) {
	home, err := c.Household.Query().Where(household.ID(schema.HouseholdID)).Only(ctx)
	switch {
	case ent.IsNotFound(err):
		return quantity.Metric, nil
	case err != nil:
		return "", err
	case home.Units == household.UnitsUs:
		return quantity.US, nil
	}
	return quantity.SystemOf(home.Locale), nil
}
