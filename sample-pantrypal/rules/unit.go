package rules

import (
	"context"
	"errors"
	"math"

	"github.com/shopspring/decimal"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/sample-pantrypal/ent"
	"github.com/koan-go/koan/sample-pantrypal/ent/hook"
	"github.com/koan-go/koan/sample-pantrypal/ent/pantryitem"
	"github.com/koan-go/koan/sample-pantrypal/foods"
	"github.com/koan-go/koan/sample-pantrypal/quantity"
)

// priceDigits is how many significant digits a unit price is stored with.
const priceDigits = 6

// many is what UnitsIn converts to learn a ratio: of a single gram too little would be left in pounds.
var many = decimal.NewFromInt(1_000_000)

// UnitsIn returns how many of a unit one unit of a lot is: 0.001 for kg, where the lot is in g. The lot
// needs its product, whose packages count as they are. The error is *quantity.Unconvertible.
func UnitsIn(ctx context.Context, c *ent.Client, lot *ent.PantryItem, unit string) (decimal.Decimal, error) {
	sys, err := system(ctx, c)
	if err != nil {
		return decimal.Zero, err
	}
	f := foods.Food{}
	f.Name = lot.Name
	if lot.FoodID != nil {
		known, ok, err := foodOf(ctx, c, *lot.FoodID)
		if err != nil {
			return decimal.Zero, err
		}
		if ok {
			f = known
		}
	}
	if p := lot.Edges.Product; p != nil && p.PackageAmount != nil && p.PackageUnit != nil {
		f = f.Packed(quantity.Of(decimal.NewFromFloat(*p.PackageAmount), quantity.Unit(*p.PackageUnit)), sys)
	}
	in, err := f.Convert(quantity.Of(many, quantity.Unit(lot.Unit)), quantity.Unit(unit), sys)
	return in.Value.Div(many), err
}

// convertLot keeps what a lot says of itself when its unit changes: what the change does not send, its
// first amount, its price and what is left, is converted.
func convertLot(next ent.Mutator) ent.Mutator {
	return hook.PantryItemFunc(func(ctx context.Context, m *ent.PantryItemMutation) (ent.Value, error) {
		unit, said := m.Unit()
		if !said || !m.Op().Is(ent.OpUpdateOne) {
			return next.Mutate(ctx, m)
		}
		id, _ := m.ID()
		lot, err := m.Client().PantryItem.Query().Where(pantryitem.ID(id)).WithProduct().Only(ctx)
		if err != nil {
			return nil, err
		}
		if lot.Unit != unit {
			if err := convert(ctx, m, lot, unit); err != nil {
				return nil, err
			}
		}
		return next.Mutate(ctx, m)
	})
}

func convert(ctx context.Context, m *ent.PantryItemMutation, lot *ent.PantryItem, unit string) error {
	_, amount := m.Amount()
	_, first := m.InitialAmount()
	_, price := m.UnitPrice()
	first, price = first || m.InitialAmountCleared(), price || m.UnitPriceCleared()
	gone := lot.Status != pantryitem.StatusAvailable || lot.Amount == 0
	if gone && amount && first && price {
		return nil // it is another lot now
	}
	units, err := UnitsIn(ctx, m.Client(), lot, unit)
	if missing := (*quantity.Unconvertible)(nil); errors.As(err, &missing) {
		var again bool
		if units, again = measuredAgain(m, lot); !again {
			return fault.New(fault.InvalidPayload, err.Error()).WithPath("/unit").WithHint("Send the amount in %s; or, where nothing was used, what is left in %s, without a reason.", lot.Unit, unit)
		}
		err = nil
	}
	if err != nil {
		return err
	}
	if !units.IsPositive() {
		return nil
	}
	if !amount {
		m.SetAmount(times(lot.Amount, units))
	}
	if !first && lot.InitialAmount != nil {
		left, _ := m.Amount()
		m.SetInitialAmount(max(left, times(*lot.InitialAmount, units))) // what is counted to be more had come
	}
	if !price && lot.UnitPrice != nil {
		m.SetUnitPrice(decimal.NewFromFloat(*lot.UnitPrice).DivRound(units, 12).InexactFloat64())
	}
	return nil
}

// measuredAgain reports whether a change corrects in what a lot is measured, and how many of the new
// units one of the old ones is then: the pack in the cupboard turns out to be 450 g.
func measuredAgain(m *ent.PantryItemMutation, lot *ent.PantryItem) (decimal.Decimal, bool) {
	amount, said := m.Amount()
	reason, why := m.Reason()
	_, left := m.Status()
	if !said || amount <= 0 || lot.Amount <= 0 || left || why && reason != pantryitem.ReasonCorrected {
		return decimal.Zero, false
	}
	return decimal.NewFromFloat(amount).DivRound(decimal.NewFromFloat(lot.Amount), 12), true
}

func times(amount float64, units decimal.Decimal) float64 {
	return decimal.NewFromFloat(amount).Mul(units).Round(quantity.Places).InexactFloat64()
}

// roundPrice leaves the noise of binary fractions out of what one unit of a lot cost.
func roundPrice(next ent.Mutator) ent.Mutator {
	return hook.PantryItemFunc(func(ctx context.Context, m *ent.PantryItemMutation) (ent.Value, error) {
		if price, said := m.UnitPrice(); said {
			m.SetUnitPrice(significant(price))
		}
		return next.Mutate(ctx, m)
	})
}

// significant rounds to priceDigits: a price of one gram is a small number.
func significant(price float64) float64 {
	if price <= 0 {
		return price
	}
	places := priceDigits - 1 - int32(math.Floor(math.Log10(price)))
	return decimal.NewFromFloat(price).Round(places).InexactFloat64()
}
