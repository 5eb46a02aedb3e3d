package kitchen

import (
	"cmp"
	"context"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/sample-pantrypal/foods"
	"github.com/koan-go/koan/sample-pantrypal/quantity"
)

type forMeal struct {
	Key    string   `json:"key"`
	Amount *float64 `json:"amount" jsonschema:"nullable"`
	Unit   *string  `json:"unit"   jsonschema:"nullable"`
}

type toBuy struct {
	FoodID    *string   `json:"foodId"    jsonschema:"nullable"`
	Name      string    `json:"name"`
	Aisle     string    `json:"aisle"`
	Amount    *float64  `json:"amount"    jsonschema:"nullable" jsonschema_description:"in whole packages where a product is known; null: nobody knows how much"`
	Unit      *string   `json:"unit"      jsonschema:"nullable"`
	Text      string    `json:"text"`
	ProductID *string   `json:"productId" jsonschema:"nullable"`
	Product   string    `json:"product"`
	Packages  *int64    `json:"packages"  jsonschema:"nullable"`
	Cost      *float64  `json:"cost"      jsonschema:"nullable" jsonschema_description:"by the latest price; null: no price is known"`
	StoreID   *string   `json:"storeId"   jsonschema:"nullable" jsonschema_description:"where that price is from"`
	Staple    bool      `json:"staple"`
	Problem   string    `json:"problem"`
	Needs     []forMeal `json:"needs"`
}

// basket collects what meals lack.
type basket struct {
	h     household
	foods []string // in the order in which they were first missed; names of what is no food
	needs map[string][]need
	keys  map[string][]string
}

func (b *basket) add(key string, lacks []need) {
	if b.needs == nil {
		b.needs, b.keys = map[string][]need{}, map[string][]string{}
	}
	for _, n := range lacks {
		id := n.food.ID
		if id == "" {
			id = "?" + n.Name
		}
		if b.needs[id] == nil {
			b.foods = append(b.foods, id)
		}
		b.needs[id] = append(b.needs[id], n)
		b.keys[id] = append(b.keys[id], key)
	}
}

type product struct {
	ID            string   `json:"id"`
	Name          string   `json:"name"`
	FoodID        *string  `json:"foodId"`
	PackageAmount *float64 `json:"packageAmount"`
	PackageUnit   *string  `json:"packageUnit"`
}

type priceRow struct {
	FoodID    string   `json:"foodId"`
	ProductID *string  `json:"productId"`
	StoreID   *string  `json:"storeId"`
	PerUnit   *float64 `json:"perUnit"`
	Unit      string   `json:"unit"`
	On        string   `json:"on"`
}

// offers are what there is to buy of some foods, and its prices with the newest first.
type offers struct {
	products []product
	prices   []priceRow
}

// readOffers reads the products and prices of foods. It ignores names that begin with "?",
// which stand for what is not a food.
func readOffers(ctx context.Context, call framework.Call, names []string) (offers, error) {
	var o offers
	var ids []string
	for _, id := range names {
		if id[0] != '?' {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return o, nil
	}
	of := map[string]any{"foodId": map[string]any{"$in": ids}}
	var err error
	if o.products, err = all[product](ctx, call, "Product", map[string]any{"filter": map[string]any{"$and": []any{of, map[string]any{"state": "confirmed"}}}, "sort": "name"}); err != nil {
		return o, err
	}
	o.prices, err = all[priceRow](ctx, call, "Price", map[string]any{"filter": of, "sort": "-on,id", "fields": "foodId,productId,storeId,perUnit,unit,on"})
	return o, err
}

// fill sums what is missing by food, rounds it up to packages and says what it costs.
func (b *basket) fill(o offers, store *string) []toBuy {
	out := []toBuy{}
	for _, id := range b.foods {
		out = append(out, b.lines(id, o.products, o.prices, store)...)
	}
	slices.SortStableFunc(out, func(a, b toBuy) int { return cmp.Or(cmp.Compare(a.Aisle, b.Aisle), cmp.Compare(a.Name, b.Name)) })
	return out
}

// lines are what to buy of one food: one line a unit, where amounts stay apart.
func (b *basket) lines(id string, products []product, prices []priceRow, store *string) []toBuy {
	needs := b.needs[id]
	first := toBuy{Name: needs[0].Name, Aisle: "other", Problem: needs[0].Problem, Needs: []forMeal{}}
	var amounts []quantity.Amount
	for i, n := range needs {
		first.Needs = append(first.Needs, forMeal{b.keys[id][i], n.Amount, n.Unit})
		if n.amount.Unit != "" {
			amounts = append(amounts, n.amount)
		}
	}
	f := needs[0].food
	if f.ID == "" {
		first.Text = first.Name
		return []toBuy{first}
	}
	first.FoodID, first.Name, first.Aisle, first.Staple = &f.ID, f.Name, f.Aisle, f.Staple
	sums, apart := f.Facts().Sum(b.h.system(), amounts...)
	for _, why := range apart {
		first.Problem = why.Error()
	}
	if len(sums) == 0 { // nobody says how much: one package, if there is a product
		first.Text = first.Name
		if i := slices.IndexFunc(products, func(p product) bool {
			return p.FoodID != nil && *p.FoodID == f.ID && p.PackageAmount != nil && p.PackageUnit != nil
		}); i >= 0 {
			b.pack(&first, f, amountOf(*products[i].PackageAmount, *products[i].PackageUnit), products[i:i+1], prices, store)
		}
		return []toBuy{first}
	}
	var out []toBuy
	for _, sum := range sums {
		l := first
		b.pack(&l, f, sum, products, prices, store)
		out = append(out, l)
		first.Needs = []forMeal{} // the meals stand with the first line
	}
	return out
}

// pack chooses a product and a price for a sum.
func (b *basket) pack(l *toBuy, f foods.Food, sum quantity.Amount, products []product, prices []priceRow, store *string) {
	mine := slices.DeleteFunc(slices.Clone(prices), func(p priceRow) bool { return p.FoodID != f.ID || p.PerUnit == nil })
	// Those of the wanted store first; each kind has the newest first.
	slices.SortStableFunc(mine, func(a, c priceRow) int { return cmp.Compare(elsewhere(a, store), elsewhere(c, store)) })
	buy := sum
	if p, count, packs := choose(f, sum, products, mine, b.h.system()); p != nil {
		l.ProductID, l.Product, l.Packages, buy = &p.ID, p.Name, &count, packs
	}
	v, u := float(buy.Value), string(buy.Unit)
	l.Amount, l.Unit, l.Text = &v, &u, buy.String()
	for _, p := range mine {
		unit := large(quantity.Unit(p.Unit))
		in, err := f.Convert(buy, unit, b.h.system())
		if err != nil {
			continue
		}
		cost := in.Value.Mul(decimal.NewFromFloat(*p.PerUnit)).Round(2).InexactFloat64()
		l.Cost, l.StoreID = &cost, p.StoreID
		return
	}
}

func elsewhere(p priceRow, store *string) int {
	if store == nil || p.StoreID != nil && *p.StoreID == *store {
		return 0
	}
	return 1
}

// large is the unit in which a price per unit is.
func large(u quantity.Unit) quantity.Unit {
	switch u.Dimension() {
	case quantity.Mass:
		return "kg"
	case quantity.Volume:
		return "l"
	}
	return u
}

// choose returns the product to buy: the one that was bought last, else the one that
// leaves the least over.
func choose(f foods.Food, sum quantity.Amount, products []product, prices []priceRow, sys quantity.System) (best *product, count int64, packs quantity.Amount) {
	var least decimal.Decimal
	for _, bought := range []bool{true, false} {
		for i := range products {
			p := &products[i]
			if p.FoodID == nil || *p.FoodID != f.ID || p.PackageAmount == nil || p.PackageUnit == nil {
				continue
			}
			if bought && !slices.ContainsFunc(prices[:min(len(prices), 1)], func(r priceRow) bool { return r.ProductID != nil && *r.ProductID == p.ID }) {
				continue
			}
			pack := amountOf(*p.PackageAmount, *p.PackageUnit)
			n, left, err := f.Facts().Packages(sum, pack, sys)
			if err != nil {
				continue
			}
			over, err := f.Convert(left, sum.Unit, sys)
			if err != nil {
				continue
			}
			if best == nil || over.Value.LessThan(least) {
				best, count, packs, least = p, n, pack.Scale(decimal.NewFromInt(n)), over.Value
			}
		}
		if best != nil {
			return best, count, packs
		}
	}
	return nil, 0, quantity.Amount{}
}
