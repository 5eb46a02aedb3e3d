package kitchen

import (
	"cmp"
	"context"
	"slices"
	"strings"

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

	listed stock // what is to be bought anyway
}

// onList is what somebody has put on the list.
type onList struct {
	FoodID *string `json:"foodId" jsonschema:"nullable"`
	Name   string  `json:"name"`
	Amount float64 `json:"amount"`
	Unit   string  `json:"unit"`
}

// list takes note of what is to be bought anyway: meals take from it as from the stock.
func (b *basket) list(lines []onList) {
	b.listed.lots = map[string][]lot{}
	for _, l := range lines {
		id := unknown(l.Name)
		if l.FoodID != nil {
			id = *l.FoodID
		}
		b.listed.lots[id] = append(b.listed.lots[id], lot{Name: l.Name, Unit: l.Unit, left: decimal.NewFromFloat(l.Amount)})
	}
}

// unknown stands for the id of what no food is known of: all that is called the same, case and
// number apart, is the same.
func unknown(name string) string { return "?" + strings.Join(quantity.Words(name), " ") }

// known is the id of a food, empty for what unknown stands for.
func known(id string) string {
	if strings.HasPrefix(id, "?") {
		return ""
	}
	return id
}

// onTop is what of a need is not on the list; false if all of it is. Of what has no amount,
// any line is enough.
func (b *basket) onTop(id string, n need) (need, bool) {
	if n.amount.Unit == "" {
		return n, !b.listed.has(id, "")
	}
	_, rest, problem := b.listed.take(n.food, n.amount, b.h.system(), "")
	n.Problem = cmp.Or(problem, n.Problem)
	if rest.Value.LessThan(n.amount.Value) {
		n.set(rest, b.h.system())
	}
	return n, rest.Value.IsPositive()
}

func (b *basket) add(key string, lacks []need) {
	if b.needs == nil {
		b.needs, b.keys = map[string][]need{}, map[string][]string{}
	}
	for _, n := range lacks {
		id := n.food.ID
		if id == "" {
			id = unknown(n.Name)
		}
		n, missing := b.onTop(id, n)
		if !missing {
			continue
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

// offers are what there is to buy of each food, and its prices with the newest first.
type offers struct {
	products map[string][]product
	prices   map[string][]priceRow // that have a price per unit
}

// readOffers reads the products and prices of foods. It ignores names that begin with "?",
// which stand for what is not a food.
func readOffers(ctx context.Context, call framework.Call, names []string) (offers, error) {
	o := offers{map[string][]product{}, map[string][]priceRow{}}
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
	products, err := all[product](ctx, call, "Product", map[string]any{"filter": map[string]any{"$and": []any{of, map[string]any{"state": "confirmed"}}}, "sort": "name"})
	if err != nil {
		return o, err
	}
	for _, p := range products {
		if p.FoodID != nil && p.PackageAmount != nil && p.PackageUnit != nil {
			o.products[*p.FoodID] = append(o.products[*p.FoodID], p)
		}
	}
	prices, err := all[priceRow](ctx, call, "Price", map[string]any{"filter": map[string]any{"$and": []any{of, map[string]any{"perUnit": map[string]any{"$null": false}}}}, "sort": "-on,id", "fields": "foodId,productId,storeId,perUnit,unit,on"})
	for _, p := range prices {
		o.prices[p.FoodID] = append(o.prices[p.FoodID], p)
	}
	return o, err
}

// of returns the products and prices of a food, those of the wanted store first.
func (o offers) of(food string, store *string) ([]product, []priceRow) {
	prices := slices.Clone(o.prices[food])
	slices.SortStableFunc(prices, func(a, c priceRow) int { return cmp.Compare(elsewhere(a, store), elsewhere(c, store)) })
	return o.products[food], prices
}

// fill sums what is missing by food, rounds it up to packages and says what it costs.
func (b *basket) fill(o offers, store *string) []toBuy {
	out := []toBuy{}
	for _, id := range b.foods {
		products, prices := o.of(id, store)
		out = append(out, b.lines(id, products, prices)...)
	}
	slices.SortStableFunc(out, func(a, b toBuy) int { return cmp.Or(cmp.Compare(a.Aisle, b.Aisle), cmp.Compare(a.Name, b.Name)) })
	return out
}

// lines are what to buy of one food: one line a unit, where amounts stay apart.
func (b *basket) lines(id string, products []product, prices []priceRow) []toBuy {
	needs := b.needs[id]
	first := toBuy{Name: needs[0].Name, Aisle: "other", Problem: needs[0].Problem, Needs: b.meals(id, func(need) bool { return true })}
	var amounts []quantity.Amount
	for _, n := range needs {
		if n.amount.Unit != "" {
			amounts = append(amounts, n.amount)
		}
	}
	f := needs[0].food
	if id[0] != '?' {
		first.FoodID, first.Name, first.Aisle, first.Staple = &f.ID, f.Name, f.Aisle, f.Staple
	}
	sums, apart := f.Facts().Sum(b.h.system(), amounts...)
	for _, why := range apart {
		first.Problem = why.Error()
	}
	if len(sums) == 0 { // nobody says how much: one package, if there is a product
		first.Text = first.Name
		if len(products) > 0 {
			one := amountOf(*products[0].PackageAmount, *products[0].PackageUnit)
			b.pack(&first, f, one, []quantity.Amount{one}, products[:1], prices)
		}
		return []toBuy{first}
	}
	var out []toBuy
	for _, sum := range sums {
		l, parts := first, amounts
		if len(sums) > 1 {
			parts = []quantity.Amount{sum}
			l.Needs = b.meals(id, func(n need) bool { return n.within(sums, b.h.system()) == sum.Unit })
		}
		b.pack(&l, f, sum, parts, products, prices)
		out = append(out, l)
	}
	return out
}

// meals are the meals with those needs of a food that fit.
func (b *basket) meals(id string, fits func(need) bool) []forMeal {
	out := []forMeal{}
	for i, n := range b.needs[id] {
		if fits(n) {
			out = append(out, forMeal{b.keys[id][i], n.Amount, n.Unit})
		}
	}
	return out
}

// within is the unit of the sum that a need is part of: its own, if amounts in it stayed apart, else
// what all others were summed in. What has no amount goes with the first.
func (n need) within(sums []quantity.Amount, sys quantity.System) quantity.Unit {
	own := n.amount.Canonical(sys).Unit
	if slices.ContainsFunc(sums, func(s quantity.Amount) bool { return s.Unit == own }) {
		return own
	}
	if n.amount.Unit != "" {
		return quantity.Gram
	}
	return sums[0].Unit
}

// pack chooses a product and a price for a sum. parts are its amounts as they are needed: a sum
// counts a large onion as a piece, and a package weighs it.
func (b *basket) pack(l *toBuy, f foods.Food, sum quantity.Amount, parts []quantity.Amount, products []product, prices []priceRow) {
	buy := sum
	if p, count, packs := choose(f, parts, products, prices, b.h.system()); p != nil {
		l.ProductID, l.Product, l.Packages, buy = &p.ID, p.Name, &count, packs
		parts = []quantity.Amount{packs}
	}
	if buy.Unit == quantity.Piece {
		buy.Value = buy.Value.Ceil()
	}
	v, u := float(buy.Value), string(buy.Unit)
	l.Amount, l.Unit, l.Text = &v, &u, buy.String()
	for _, p := range prices {
		if cost, err := costs(f, parts, p, b.h.system()); err == nil {
			cost := cost.Round(2).InexactFloat64()
			l.Cost, l.StoreID = &cost, p.StoreID
			return
		}
	}
}

// costs is what amounts cost together by a price.
func costs(f foods.Food, parts []quantity.Amount, p priceRow, sys quantity.System) (decimal.Decimal, error) {
	in, err := total(f, parts, quantity.Unit(p.Unit).Large(), sys)
	return in.Value.Mul(decimal.NewFromFloat(*p.PerUnit)), err
}

// total is what amounts are together in a unit.
func total(f foods.Food, parts []quantity.Amount, unit quantity.Unit, sys quantity.System) (quantity.Amount, error) {
	sum := quantity.Of(decimal.Zero, unit)
	for _, part := range parts {
		in, err := f.Convert(part, unit, sys)
		if err != nil {
			return sum, err
		}
		sum.Value = sum.Value.Add(in.Value)
	}
	return sum, nil
}

func elsewhere(p priceRow, store *string) int {
	if store == nil || p.StoreID != nil && *p.StoreID == *store {
		return 0
	}
	return 1
}

// choose returns the product to buy: the one that was bought last, else the one that
// leaves the least over.
func choose(f foods.Food, parts []quantity.Amount, products []product, prices []priceRow, sys quantity.System) (best *product, count int64, packs quantity.Amount) {
	fill := func(p *product) (n int64, over decimal.Decimal, pack quantity.Amount, err error) {
		pack = amountOf(*p.PackageAmount, *p.PackageUnit)
		own := f.Packed(pack, sys)
		sum, err := total(own, parts, pack.Unit, sys)
		if err != nil {
			return 0, over, pack, err
		}
		n, left, err := own.Facts().Packages(sum, pack, sys)
		if err == nil {
			left, err = own.Convert(left, parts[0].Unit, sys)
		}
		return n, left.Value, pack, err
	}
	if last := boughtLast(products, prices); last != nil {
		if n, _, pack, err := fill(last); err == nil {
			return last, n, pack.Scale(decimal.NewFromInt(n))
		}
	}
	var least decimal.Decimal
	for i := range products {
		n, over, pack, err := fill(&products[i])
		if err == nil && (best == nil || over.LessThan(least)) {
			best, count, packs, least = &products[i], n, pack.Scale(decimal.NewFromInt(n)), over
		}
	}
	return best, count, packs
}

// boughtLast is the product that the newest price is of, nil if there is none.
func boughtLast(products []product, prices []priceRow) *product {
	if len(prices) == 0 || prices[0].ProductID == nil {
		return nil
	}
	at := slices.IndexFunc(products, func(p product) bool { return p.ID == *prices[0].ProductID })
	if at < 0 {
		return nil
	}
	return &products[at]
}
