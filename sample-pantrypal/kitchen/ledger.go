package kitchen

import (
	"math"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/koan-go/koan/sample-pantrypal/foods"
	"github.com/koan-go/koan/sample-pantrypal/quantity"
)

// ledgerFood is a food as a ledger counts it, in one unit.
type ledgerFood struct {
	price float64 // of one unit; 0 is unknown
	pack  float64 // what a package holds, 0 where amounts are not rounded up
	lots  []ledgerLot
}

type ledgerLot struct {
	left float64
	last int // the last of the days on which it is good, -1 for none
}

// demand is what a meal takes of a food.
type demand struct {
	food   int
	amount float64
	any    bool // some is enough, however little is there
}

// count returns what a meal takes of the foods that the ledger can count.
func (s *search) count(index map[string]int, r recipe, servings float64) []demand {
	var out []demand
	factor := decimal.NewFromFloat(servings).Div(decimal.NewFromFloat(max(r.Servings, 1)))
	for _, l := range r.Ingredients {
		f, known := s.h.book.Of(l.FoodID)
		if l.Optional || !known {
			continue
		}
		at, ok := index[f.ID]
		if !ok {
			at = s.enter(f)
			index[f.ID] = at
		}
		if at < 0 {
			continue
		}
		d := demand{food: at, any: true}
		if !f.Staple && l.Amount != nil && l.Unit != nil {
			wanted := amountOf(*l.Amount, *l.Unit).Scale(factor)
			a, err := f.Convert(wanted, s.unit(f), s.h.system())
			if err != nil {
				continue
			}
			d.amount, d.any = a.Value.InexactFloat64(), false
			// A large one is a piece where pieces are counted, and weighs more where they are weighed.
			if piece, err := f.Convert(wanted.Canonical(s.h.system()), s.unit(f), s.h.system()); err == nil {
				d.amount = min(d.amount, piece.Value.InexactFloat64())
			}
			// So does a can: the smallest that there is to buy, or was bought, will do.
			for _, p := range s.offers.products[f.ID] {
				if can, err := f.Packed(amountOf(*p.PackageAmount, *p.PackageUnit), s.h.system()).Convert(wanted, s.unit(f), s.h.system()); err == nil {
					d.amount = min(d.amount, can.Value.InexactFloat64())
				}
			}
		}
		if same := slices.IndexFunc(out, func(o demand) bool { return o.food == at }); same >= 0 {
			out[same].amount, out[same].any = out[same].amount+d.amount, out[same].any && d.any
			continue
		}
		out = append(out, d)
	}
	return out
}

// unit is the one in which a ledger counts a food.
func (s *search) unit(f foods.Food) quantity.Unit {
	for _, l := range s.shelf.lots[f.ID] {
		return quantity.Of(decimal.NewFromInt(1), quantity.Unit(l.Unit)).Canonical(s.h.system()).Unit
	}
	return quantity.Gram
}

// enter adds a food to the ledger; -1 is one whose lots it cannot count, and which costs nothing here.
func (s *search) enter(f foods.Food) int {
	unit, sys := s.unit(f), s.h.system()
	in := func(a quantity.Amount) (float64, bool) {
		got, err := f.Convert(a, unit, sys)
		return got.Value.InexactFloat64(), err == nil
	}
	var lf ledgerFood
	for _, l := range s.shelf.lots[f.ID] {
		left, ok := in(quantity.Of(l.left, quantity.Unit(l.Unit)))
		if !ok {
			return -1
		}
		lot := ledgerLot{left, -1}
		for i, d := range s.days {
			if l.good(d.Date) {
				lot.last = i
			}
		}
		lf.lots = append(lf.lots, lot)
	}
	products, prices := s.offers.of(f.ID, nil)
	for _, p := range prices {
		if cost, err := costs(f, []quantity.Amount{quantity.Of(decimal.NewFromInt(1), unit)}, p, sys); err == nil {
			lf.price = cost.InexactFloat64()
			break
		}
	}
	if last := boughtLast(products, prices); last != nil {
		lf.pack, _ = in(amountOf(*last.PackageAmount, *last.PackageUnit))
	}
	s.foods = append(s.foods, lf)
	return len(s.foods) - 1
}

// state is where a search is: what is left of the lots, and what has to be bought so far.
type state struct {
	left  [][]float64
	lacks []float64
	spare []float64 // of the packages that have to be bought
	cost  float64
}

func (s *search) start() state {
	st := state{lacks: make([]float64, len(s.foods)), spare: make([]float64, len(s.foods))}
	for _, f := range s.foods {
		var left []float64
		for _, l := range f.lots {
			left = append(left, l.left)
		}
		st.left = append(st.left, left)
	}
	return st
}

// after is the state behind a meal.
func (s *search) after(st state, day, at int) state {
	next := state{slices.Clone(st.left), slices.Clone(st.lacks), slices.Clone(st.spare), st.cost}
	for _, d := range s.demands[day][at] {
		f := &s.foods[d.food]
		rest := d.amount
		if d.any {
			if s.usable(next, d.food, day) > 0 || next.lacks[d.food] > 0 {
				continue
			}
			rest = 1e-6
		}
		left := slices.Clone(next.left[d.food])
		for i := range left {
			if f.lots[i].last >= day {
				taken := min(left[i], rest)
				left[i] -= taken
				rest -= taken
			}
		}
		next.left[d.food] = left
		if rest < 1e-9 || rest < 1e-3 && !d.any { // as package stock rounds
			continue
		}
		next.lacks[d.food] += rest
		next.cost += s.buyMore(&next, d.food, rest)
	}
	return next
}

// buyMore takes an amount from what is spare of the packages, and returns what more of them cost.
func (s *search) buyMore(st *state, food int, amount float64) float64 {
	f := s.foods[food]
	short := amount - st.spare[food]
	if short <= 1e-3 && st.spare[food] > 0 {
		st.spare[food] = max(0, -short)
		return 0
	}
	if f.pack <= 0 {
		return f.price * amount
	}
	packs := math.Ceil(short/f.pack - 1e-9)
	st.spare[food] = packs*f.pack - short
	return packs * f.pack * f.price
}

// usable is what is left of a food on a day.
func (s *search) usable(st state, food, day int) float64 {
	sum := 0.0
	for i, left := range st.left[food] {
		if s.foods[food].lots[i].last >= day {
			sum += left
		}
	}
	return sum
}

// shorts is what a meal takes of each food beyond what is there.
func (st state) shorts(demands []demand, there []float64) []float64 {
	out := make([]float64, len(demands))
	for i, d := range demands {
		switch rest := d.amount - there[d.food]; {
		case !d.any && rest > 1e-3:
			out[i] = rest
		case d.any && there[d.food] <= 0 && st.lacks[d.food] == 0:
			out[i] = 1e-6
		}
	}
	return out
}
