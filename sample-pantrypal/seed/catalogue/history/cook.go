package history

import (
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/koan-go/koan/sample-pantrypal/quantity"
	"github.com/koan-go/koan/sample-pantrypal/seed/catalogue"
)

// cook makes the dinner of a day.
func (s *simulation) cook(day time.Time) error {
	r := s.planned[day]
	delete(s.planned, day)
	if s.random.IntN(20) == 0 {
		return nil // eaten out; what was bought for it may go off
	}
	when := at(day, 18, 30+s.random.IntN(40))
	cooked, eaten := s.servings(r, day)
	meal := Meal{Recipe: r.Name, At: when, Servings: cooked, Leftovers: cooked.Sub(eaten)}
	if s.random.IntN(3) > 0 {
		meal.Rating = 3 + s.random.IntN(3)
	}
	index := len(s.Meals)
	s.Meals = append(s.Meals, meal)
	s.cooked[r.Name] = day
	if meal.Leftovers.IsPositive() {
		s.spareOf = index
	}
	for _, n := range s.needs(r, cooked) {
		s.take(n.food, n.amount, when, ReasonCooked, index)
	}
	return nil
}

// finishLeftovers eats what the last dinner left.
func (s *simulation) finishLeftovers(when time.Time) {
	if s.spareOf >= 0 {
		s.Meals[s.spareOf].EatenAt = when
		s.spareOf = -1
	}
}

// breakfast eats some of the basics.
func (s *simulation) breakfast(day time.Time) {
	weekday := day.Weekday()
	menu := []string{"Bread", "Milk"}
	switch {
	case weekday == time.Sunday:
		menu = append(menu, "Eggs", "Butter")
	case weekday%2 == 0:
		menu = append(menu, "Yogurt", "Apples", "Jam")
	default:
		menu = append(menu, "Rolled oats", "Bananas", "Butter")
	}
	share := s.appetite()
	for _, name := range menu {
		i := slices.IndexFunc(basics, func(b struct {
			food   string
			amount quantity.Amount
		},
		) bool {
			return b.food == name
		})
		f, _ := s.catalogue.Food(name)
		amount := basics[i].amount.Scale(share).Scale(decimal.New(22+int64(s.random.IntN(8)), -2))
		if amount.Unit == quantity.Piece {
			amount.Value = decimal.Max(amount.Value.Round(0), decimal.NewFromInt(1))
		}
		s.take(f, amount, at(day, 8, 10), ReasonEaten, -1)
	}
}

// take takes an amount out of the lots of a food, those first that expire first.
// What is not there is not taken: somebody went without. Of a staple nobody knows
// how much is taken; from time to time the last of it.
func (s *simulation) take(f catalogue.Food, a quantity.Amount, when time.Time, reason Reason, meal int) {
	if f.Staple {
		if lots := s.stock[f.Name]; len(lots) > 0 && s.random.IntN(14) == 0 {
			s.remove(lots[0], s.Lots[lots[0]].left, when, reason, meal)
		}
		return
	}
	for _, i := range slices.Clone(s.stock[f.Name]) {
		lot := &s.Lots[i]
		wanted, err := f.Facts().Convert(a, lot.Unit, s.household.Units)
		if err != nil || !a.Value.IsPositive() {
			return // buy has converted it before
		}
		amount := decimal.Min(wanted.Value, lot.left).Round(3)
		// The last spoonful goes with the rest.
		if lot.left.Sub(amount).LessThan(lot.Initial.Mul(decimal.New(2, -2))) {
			amount = lot.left
		}
		s.remove(i, amount, when, reason, meal)
		rest := decimal.Max(wanted.Value.Sub(amount), decimal.Zero)
		a.Value = a.Value.Mul(rest).DivRound(wanted.Value, quantity.Places)
	}
}

// remove takes an amount out of one lot, and closes the lot when nothing is left.
func (s *simulation) remove(i int, amount decimal.Decimal, when time.Time, reason Reason, meal int) {
	lot := &s.Lots[i]
	if !amount.IsPositive() {
		return
	}
	lot.left = lot.left.Sub(amount)
	if lot.Opened.IsZero() && (reason == ReasonCooked || reason == ReasonEaten) {
		lot.Opened = when
	}
	cost := amount.Mul(lot.UnitPrice).Round(2)
	s.Events = append(s.Events, Event{Lot: i, At: when, Reason: reason, Amount: amount, Cost: cost, Meal: meal})
	if lot.left.IsPositive() {
		return
	}
	switch reason {
	case ReasonWasted:
		lot.Status = Wasted
	case ReasonExpired:
		lot.Status = Expired
	default:
		lot.Status = Consumed
	}
	s.stock[lot.Food] = slices.DeleteFunc(s.stock[lot.Food], func(o int) bool { return o == i })
}

// discard throws away what is past its day. Dry food is still eaten then.
func (s *simulation) discard(when time.Time) {
	today := time.Date(when.Year(), when.Month(), when.Day(), 0, 0, 0, 0, time.UTC)
	for _, f := range s.catalogue.Foods { // in a fixed order
		for _, i := range slices.Clone(s.stock[f.Name]) {
			lot := &s.Lots[i]
			if lot.BestBefore.IsZero() || lot.Place != "fridge" || !today.After(lot.BestBefore.AddDate(0, 0, 2)) {
				continue
			}
			switch s.random.IntN(5) {
			case 0, 1:
				s.remove(i, lot.left, when, ReasonExpired, -1)
			case 2:
				s.remove(i, lot.left, when, ReasonWasted, -1)
			default:
				s.remove(i, lot.left, when, ReasonEaten, -1) // still good, and finished
			}
		}
	}
}

// takeStock closes the year: whatever the simulation thinks is left is corrected to
// what the household has, the lots of the catalogue.
func (s *simulation) takeStock(when time.Time) {
	for _, f := range s.catalogue.Foods {
		for _, i := range slices.Clone(s.stock[f.Name]) {
			s.remove(i, s.Lots[i].left, when, ReasonCorrected, -1)
		}
	}
}

// sort puts the events in the order of time.
func (s *simulation) sort() {
	slices.SortStableFunc(s.Events, func(a, b Event) int { return a.At.Compare(b.At) })
	slices.SortStableFunc(s.Prices, func(a, b Price) int { return a.Day.Compare(b.Day) })
}
