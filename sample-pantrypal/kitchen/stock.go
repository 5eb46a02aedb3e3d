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

// lot is what the actions need of a PantryItem.
type lot struct {
	ID         string  `json:"id"`
	Name       string  `json:"name"`
	FoodID     *string `json:"foodId"`
	Amount     float64 `json:"amount"`
	Unit       string  `json:"unit"`
	BestBefore *string `json:"bestBefore"`
	OpenedAt   *string `json:"openedAt"`
	AddedAt    string  `json:"addedAt"`
	Product    *struct {
		PackageAmount *float64 `json:"packageAmount"`
		PackageUnit   *string  `json:"packageUnit"`
	} `json:"product"`

	left decimal.Decimal
	came string // the day on which it came, where the household is
}

// food is the food of a lot as its packages hold it.
func (l lot) food(f foods.Food, sys quantity.System) foods.Food {
	if l.Product == nil || l.Product.PackageAmount == nil || l.Product.PackageUnit == nil {
		return f
	}
	return f.Packed(amountOf(*l.Product.PackageAmount, *l.Product.PackageUnit), sys)
}

// stock is what is in the house, by food and with the oldest first.
type stock struct{ lots map[string][]lot }

// readStock reads the lots that could be eaten on a day or later, and the names of those past their
// date today.
func readStock(ctx context.Context, call framework.Call, h household, from string) (*stock, []string, error) {
	rows, err := all[lot](ctx, call, "PantryItem", map[string]any{
		"filter": map[string]any{"status": "available", "amount": map[string]any{"$gt": 0}},
		"fields": "id,name,foodId,amount,unit,bestBefore,openedAt,addedAt",
		"with":   map[string]any{"product": map[string]any{"fields": "packageAmount,packageUnit"}},
	})
	if err != nil {
		return nil, nil, err
	}
	s, past, today := &stock{map[string][]lot{}}, []string{}, h.day(0)
	for _, l := range rows {
		if l.BestBefore != nil && *l.BestBefore < today {
			past = append(past, l.Name)
		}
		if !l.keeps(from) {
			continue
		}
		l.left = decimal.NewFromFloat(l.Amount)
		if l.came, err = h.dayOf(l.AddedAt); err != nil {
			return nil, nil, err
		}
		l.came = min(l.came, today) // what is here is here, whatever the clock says that noted it
		id := h.lotFood(l)
		s.lots[id] = append(s.lots[id], l)
	}
	for _, lots := range s.lots {
		slices.SortFunc(lots, oldestFirst)
	}
	return s, past, nil
}

// lotFood is the id of the food of a lot: of what has none, the one of that name, or the name itself.
func (h household) lotFood(l lot) string {
	if l.FoodID != nil {
		return *l.FoodID
	}
	if id := h.book.Find(l.Name).ID; id != "" {
		return id
	}
	return unknown(l.Name)
}

// oldestFirst orders by date; what keeps comes last. Of the same day, what is open already, then what
// came first.
func oldestFirst(a, b lot) int {
	until := func(l lot) string {
		if l.BestBefore == nil {
			return "9999-99-99"
		}
		return *l.BestBefore
	}
	closed := func(l lot) int {
		if l.OpenedAt == nil {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(until(a), until(b)), cmp.Compare(closed(a), closed(b)), cmp.Compare(a.AddedAt, b.AddedAt), cmp.Compare(a.ID, b.ID))
}

func (s *stock) clone() *stock {
	c := &stock{make(map[string][]lot, len(s.lots))}
	for id, lots := range s.lots {
		c.lots[id] = slices.Clone(lots)
	}
	return c
}

// has reports whether there is some of a food that is good on a day.
func (s *stock) has(food, day string) bool {
	return slices.ContainsFunc(s.lots[food], func(l lot) bool { return l.left.IsPositive() && l.good(day) })
}

// keeps reports whether a lot is not past its date on a day.
func (l lot) keeps(day string) bool { return l.BestBefore == nil || *l.BestBefore >= day }

// good reports whether a lot could be eaten on a day: it had come by then, and was not past its date.
func (l lot) good(day string) bool { return l.came <= day && l.keeps(day) }

// later reports whether there is some of a food that came only after a day.
func (s *stock) later(food, day string) bool {
	return slices.ContainsFunc(s.lots[food], func(l lot) bool { return l.left.IsPositive() && l.came > day })
}

// openKeeps is how many days in the fridge food keeps at most that has to be used once it is open.
const openKeeps = 21

// take takes an amount of a food for a day. rest is what is not there; problem says why some of
// what is there could not be compared with what is wanted.
func (s *stock) take(f foods.Food, wanted quantity.Amount, sys quantity.System, day string) (uses []use, rest quantity.Amount, problem string) {
	rest = wanted
	lots := s.lots[f.ID]
	for i := range lots {
		l := &lots[i]
		if !rest.Value.IsPositive() {
			break
		}
		if !l.left.IsPositive() || !l.good(day) {
			continue
		}
		own := l.food(f, sys)
		there, err := own.Convert(quantity.Of(l.left, quantity.Unit(l.Unit)), rest.Unit, sys)
		if err != nil {
			problem = err.Error()
			continue
		}
		taken := l.left
		if there.Value.GreaterThan(rest.Value) {
			part, err := own.Convert(rest, quantity.Unit(l.Unit), sys)
			if err != nil {
				problem = err.Error()
				continue
			}
			taken = decimal.Min(part.Value.Round(3), l.left)
			rest.Value = decimal.Zero
		} else {
			rest.Value = rest.Value.Sub(there.Value)
		}
		if !taken.IsPositive() {
			continue // a crumb, which rounding leaves out
		}
		l.left = l.left.Sub(taken)
		a := quantity.Of(taken, quantity.Unit(l.Unit))
		uses = append(uses, use{
			LotID: l.ID, FoodID: known(f.ID), Name: l.Name, Amount: float(taken), Unit: l.Unit, Text: a.String(), BestBefore: l.BestBefore, OpenJar: l.OpenedAt != nil && f.Shelf.Fridge > 0 && f.Shelf.Fridge <= openKeeps, Left: float(l.left),
		})
	}
	// Conversions round: less than a thousandth of a unit is not missing.
	if rest.Value.LessThan(decimal.New(1, -3)) {
		rest.Value = decimal.Zero
	}
	return uses, rest, problem
}
