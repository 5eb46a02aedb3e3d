package history

import (
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/koan-go/koan/sample-pantrypal/quantity"
	"github.com/koan-go/koan/sample-pantrypal/seed/catalogue"
)

// basics are what a household wants to have after each weekly shopping, for two
// people: breakfast, and fruit in between.
var basics = []struct {
	food   string
	amount quantity.Amount
}{
	{"Milk", quantity.Of(decimal.NewFromInt(1500), quantity.Millilitre)},
	{"Bread", quantity.Of(decimal.NewFromInt(500), quantity.Gram)},
	{"Butter", quantity.Of(decimal.NewFromInt(150), quantity.Gram)},
	{"Eggs", quantity.Of(decimal.NewFromInt(6), quantity.Piece)},
	{"Yogurt", quantity.Of(decimal.NewFromInt(500), quantity.Gram)},
	{"Rolled oats", quantity.Of(decimal.NewFromInt(250), quantity.Gram)},
	{"Apples", quantity.Of(decimal.NewFromInt(5), quantity.Piece)},
	{"Bananas", quantity.Of(decimal.NewFromInt(5), quantity.Piece)},
	{"Jam", quantity.Of(decimal.NewFromInt(80), quantity.Gram)},
}

// freshly are the basics that are bought again in the middle of the week, and the
// fruit of the season with them.
var freshly = []string{"Milk", "Bread", "Bananas"}

// purchasable returns the products by food, in the order of the catalogue.
func purchasable(c *catalogue.Catalogue) map[string][]catalogue.Product {
	out := map[string][]catalogue.Product{}
	for _, p := range c.Products {
		out[p.Food] = append(out[p.Food], p)
	}
	return out
}

// shop buys what the planned dinners and breakfasts need and is not there.
func (s *simulation) shop(day time.Time) error {
	wanted := map[string][]quantity.Amount{}
	var order []catalogue.Food
	add := func(f catalogue.Food, a quantity.Amount) {
		if _, seen := wanted[f.Name]; !seen {
			order = append(order, f)
		}
		wanted[f.Name] = append(wanted[f.Name], a)
	}
	for i := range 7 {
		date := day.AddDate(0, 0, i)
		if r, ok := s.planned[date]; ok {
			servings, _ := s.servings(r, date)
			for _, n := range s.needs(r, servings) {
				add(n.food, n.amount)
			}
		}
	}
	for _, b := range basics {
		f, _ := s.catalogue.Food(b.food)
		add(f, b.amount.Scale(s.appetite()))
	}
	store := s.catalogue.Stores[s.random.IntN(min(2, len(s.catalogue.Stores)))]
	for _, f := range order {
		missing := f.Facts().Compare(s.household.Units, wanted[f.Name], s.have(f))
		for _, a := range append(missing.Missing, missing.Unknown...) {
			if err := s.buy(f, a, store, at(day, 10, 20)); err != nil {
				return err
			}
		}
		if missing.Absent {
			if err := s.buy(f, quantity.Of(decimal.NewFromInt(1), quantity.Gram), store, at(day, 10, 20)); err != nil {
				return err
			}
		}
	}
	return nil
}

// appetite is the household's portions against the two of the basics.
func (s *simulation) appetite() decimal.Decimal {
	_, eaten := s.servings(&catalogue.Recipe{}, time.Time{})
	days := decimal.NewFromInt(7)
	if n := len(s.household.Days); n > 0 {
		days = decimal.NewFromInt(int64(n))
	}
	return eaten.Mul(days).DivRound(decimal.NewFromInt(14), quantity.Places)
}

// topUp buys fresh basics in the middle of the week, at a market or a corner store.
func (s *simulation) topUp(day time.Time) {
	store := s.catalogue.Stores[s.random.IntN(len(s.catalogue.Stores))]
	foods := slices.Clone(freshly)
	for _, f := range s.catalogue.Foods { // what is cheap at the moment
		if month, ok := cheapest[f.Name]; ok && month == day.Month() && len(s.products[f.Name]) > 0 && s.random.IntN(3) == 0 {
			foods = append(foods, f.Name)
		}
	}
	for _, name := range foods {
		f, _ := s.catalogue.Food(name)
		if !slices.Contains(store.Aisles, f.Aisle) || anyLeft(s.have(f)) {
			continue
		}
		s.put(f, s.products[name][0], store, 1, at(day, 17, 45))
	}
}

func anyLeft(have []quantity.Amount) bool {
	return slices.ContainsFunc(have, func(a quantity.Amount) bool { return a.Value.IsPositive() })
}

// have returns what there is of a food, one amount a lot.
func (s *simulation) have(f catalogue.Food) []quantity.Amount {
	var out []quantity.Amount
	for _, i := range s.stock[f.Name] {
		out = append(out, quantity.Of(s.Lots[i].left, s.Lots[i].Unit))
	}
	return out
}

// buy buys packages that hold an amount: of the product that holds it with the
// least left over, in the store, or in one that has the aisle.
func (s *simulation) buy(f catalogue.Food, a quantity.Amount, store catalogue.Store, when time.Time) error {
	for i := 0; !slices.Contains(store.Aisles, f.Aisle); i++ {
		store = s.catalogue.Stores[i]
	}
	var best catalogue.Product
	var packages int64
	var least decimal.Decimal
	for _, p := range s.products[f.Name] {
		if f.Staple {
			best, packages = p, 1
			break
		}
		n, left, err := f.Facts().Packages(a, p.Package, s.household.Units)
		if err != nil {
			return err
		}
		if share := left.Value.DivRound(p.Package.Value, quantity.Places); packages == 0 || share.LessThan(least) {
			best, packages, least = p, n, share
		}
	}
	if packages > 0 {
		s.put(f, best, store, packages, when)
	}
	return nil
}

// put makes a lot of some packages, with its price and the event of buying.
func (s *simulation) put(f catalogue.Food, p catalogue.Product, store catalogue.Store, packages int64, when time.Time) {
	day := time.Date(when.Year(), when.Month(), when.Day(), 0, 0, 0, 0, time.UTC)
	price, offer := s.market.price(p, store, day)
	amount := p.Package.Value.Mul(decimal.NewFromInt(packages))
	place, keeps := shelf(f)
	lot := Lot{
		Food: f.Name, Product: p.Code, Store: store.Name, Initial: amount, Unit: p.Package.Unit, Place: place, Bought: when,
		UnitPrice: price.DivRound(p.Package.Value, quantity.Places), left: amount, staple: f.Staple,
	}
	if keeps > 0 && !f.Staple {
		// Packages differ in how long they were on the store's shelf.
		lot.BestBefore = day.AddDate(0, 0, max(1, keeps-s.random.IntN(1+keeps/4)))
	}
	i := len(s.Lots)
	s.Lots = append(s.Lots, lot)
	s.stock[f.Name] = append(s.stock[f.Name], i)
	slices.SortStableFunc(s.stock[f.Name], func(a, b int) int { return s.Lots[a].BestBefore.Compare(s.Lots[b].BestBefore) })
	s.Events = append(s.Events, Event{Lot: i, At: when, Reason: ReasonBought, Amount: amount, Cost: price.Mul(decimal.NewFromInt(packages)), Meal: -1})
	known := func(o Price) bool { return o.Product == p.Code && o.Store == store.Name && o.Day.Equal(day) }
	if !slices.ContainsFunc(s.Prices[max(0, len(s.Prices)-100):], known) {
		s.Prices = append(s.Prices, Price{f.Name, p.Code, store.Name, day, p.Package.Value, p.Package.Unit, price, offer})
	}
}

// shelf returns where a food is put, and how long it keeps there.
func shelf(f catalogue.Food) (place string, days int) {
	s := f.Shelf
	switch {
	case f.Aisle == "frozen" && s.Freezer > 0:
		return "freezer", s.Freezer
	case (f.Aisle == "meat" || f.Aisle == "seafood") && s.Freezer > 0 && s.Fridge < 7:
		return "freezer", s.Freezer // bought once a week for all of it
	case s.Pantry >= 14 || s.Fridge == 0:
		return "pantry", s.Pantry
	}
	return "fridge", s.Fridge
}

// labels notes what the household saw on the shelves, and never bought, so that what it may want to
// buy next has a price.
func (s *simulation) labels(first time.Time) {
	bought := map[string]bool{}
	for _, p := range s.Prices {
		bought[p.Food] = true
	}
	for _, f := range s.catalogue.Foods {
		if bought[f.Name] {
			continue
		}
		for _, p := range s.products[f.Name] {
			for _, store := range s.catalogue.Stores[:min(2, len(s.catalogue.Stores))] {
				if !slices.Contains(store.Aisles, f.Aisle) {
					continue
				}
				day := first.AddDate(0, 0, int(s.market.draw(Days, "label", p.Code, store.Name)))
				price, offer := s.market.price(p, store, day)
				s.Prices = append(s.Prices, Price{f.Name, p.Code, store.Name, day, p.Package.Value, p.Package.Unit, price, offer})
			}
		}
	}
}
