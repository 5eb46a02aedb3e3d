package main

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
)

// A lot that is measured in another unit is the same food: what went of it, its price and how much it
// was at first follow.
func TestAnotherUnitOfALotIsTheSameFood(t *testing.T) {
	t.Parallel()
	k := open(t)
	const lot = `const I = SDK.Entities.PantryItem, last = (id) => SDK.Entities.PantryEvent.all({filter: {itemId: id}, sort: "-id"}).map(e => [e.kind, e.reason, e.amount, e.unit, e.cost])[0],
		is = (x) => [x.amount, x.unit, x.initialAmount, x.unitPrice, last(x.id)], of = (model) => I.upsert({unit: "g", ...model}).id;`
	for name, c := range map[string]struct {
		code string
		want []any
	}{
		"less, in kilograms": {
			`is(I.patch(of({name: "Cheddar", initialAmount: 300, amount: 220, unitPrice: 0.01263}), {amount: 0.1, unit: "kg", reason: "wasted"}))`,
			[]any{0.1, "kg", 0.3, 12.63, []any{"went", "wasted", 120.0, "g", 1.52}},
		},
		"more, in kilograms": {
			`is(I.patch(of({name: "Potatoes", amount: 500, unitPrice: 0.002}), {amount: 2, unit: "kg"}))`,
			[]any{2.0, "kg", 2.0, 2.0, []any{"came", "corrected", 1.5, "kg", 3.0}},
		},
		"the unit alone": {
			`is(I.patch(of({name: "Milk", initialAmount: 1, amount: 0.75, unit: "l", unitPrice: 1.19}), {unit: "ml"}))`,
			[]any{750.0, "ml", 1000.0, 0.00119, []any{"changed", "corrected", 0.0, "ml", nil}},
		},
		"by a portion of the food": {
			`const f = SDK.Entities.FoodPortion.all({filter: {foodId: "lemons", unit: "piece"}})[0].grams; const x = I.patch(of({name: "Lemons", amount: 4, unit: "piece", unitPrice: 0.4}), {amount: 2 * f, unit: "g", reason: "eaten"}); [x.amount === 2 * f, x.initialAmount === 4 * f, last(x.id)]`,
			[]any{true, true, []any{"went", "eaten", 2.0, "piece", 0.8}},
		},
		"measured again": {
			`is(I.patch(of({name: "Stardust", amount: 2, unit: "pack", unitPrice: 3}), {amount: 900, unit: "g"}))`,
			[]any{900.0, "g", 900.0, 0.00666667, []any{"changed", "corrected", 0.0, "g", nil}},
		},
	} {
		require.Equal(t, c.want, value[[]any](k, lot+c.code), name)
	}
	for _, change := range []string{`{amount: 0.1, unit: "kg", reason: "wasted"}`, `{unit: "kg"}`} {
		r := k.Try(lot+`I.patch(of({name: "Stardust", unit: "pack"}), `+change+`)`, koantest.Input{})
		require.Equal(t, fault.InvalidPayload, r.Error.Code, "%v", r.Error)
		require.Contains(t, r.Error.Path, "/unit")
		require.Equal(t, "Stardust: cannot convert pack to kg without the weight of one pack", r.Error.Message)
		require.Contains(t, r.Error.Hint, "Send the amount in pack")
	}
}

// What one unit cost has no more digits than anybody paid.
func TestUnitPricesHaveNoNoise(t *testing.T) {
	t.Parallel()
	k := open(t)
	require.Equal(t, []any{0.299, 0.00358, 0.333333, 0.00370833}, value[[]any](k, `
		const listId = SDK.Entities.ShoppingList.upsert({name: "x"}).id, buy = (name, amount, price) => {
			SDK.Entities.ShoppingItem.upsert({listId, name, amount, unit: "g"});
			return SDK.Entities.PantryItem.getById(SDK.Actions.checkOff({listId, items: [{item: name, price}]}).bought[0].lotId).unitPrice;
		};
		[buy("eggs", 10, 2.9900000000000002), buy("flour", 500, 1.79), buy("tea", 3, 1), buy("oats", 240, 0.89)]`))
	k.sample("haul.png")
	for _, price := range value[[]float64](k, `SDK.Actions.haul({photo: "haul.png"}); SDK.Entities.PantryItem.all({filter: {unitPrice: {$gt: 0}}}).map(i => i.unitPrice)`) {
		six, err := strconv.ParseFloat(strconv.FormatFloat(price, 'g', 6, 64), 64)
		require.NoError(t, err)
		require.Equal(t, six, price) //nolint:testifylint // the same number, not one that is close
	}
}
