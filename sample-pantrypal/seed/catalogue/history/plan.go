package history

import (
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/koan-go/koan/sample-pantrypal/quantity"
	"github.com/koan-go/koan/sample-pantrypal/seed/catalogue"
)

// recipes returns the dinners that everybody in the household may eat, and whose
// foods can be bought.
func (s *simulation) recipes() []*catalogue.Recipe {
	var out []*catalogue.Recipe
	for i := range s.catalogue.Recipes {
		if r := &s.catalogue.Recipes[i]; slices.Contains(r.Meals, "dinner") && s.fits(r) {
			out = append(out, r)
		}
	}
	return out
}

func (s *simulation) fits(r *catalogue.Recipe) bool {
	for _, m := range s.household.Members {
		if m.Diet != "" && !slices.Contains(r.Diets, m.Diet) {
			return false
		}
		for _, a := range m.Allergies {
			if slices.Contains(r.Allergens, a) {
				return false
			}
		}
	}
	for _, i := range r.Ingredients {
		f, _ := s.catalogue.Food(i.Food)
		if len(s.products[i.Food]) == 0 && !f.Staple {
			return false
		}
		for _, m := range s.household.Members {
			if slices.Contains(m.Dislikes, i.Food) {
				return false
			}
		}
	}
	return true
}

// plan chooses the dinners from a day to the day before the next weekly shopping.
func (s *simulation) plan(from time.Time) {
	chosen := map[string]bool{}
	for i := 0; i == 0 || i < 7 && from.AddDate(0, 0, i).Weekday() != time.Saturday; i++ {
		day := from.AddDate(0, 0, i)
		if !home(&s.household, day) {
			continue
		}
		r := s.choose(day, chosen)
		chosen[r.Name] = true
		s.planned[day] = r
	}
}

// choose picks a dinner by the household's rules, the season and chance. Where the
// rules leave nothing, they yield in their order, the last first.
func (s *simulation) choose(day time.Time, chosen map[string]bool) *catalogue.Recipe {
	wishes := []func(*catalogue.Recipe) bool{
		func(r *catalogue.Recipe) bool { return !chosen[r.Name] },
		func(r *catalogue.Recipe) bool { return r.PrepMinutes+r.CookMinutes <= minutes(&s.household, day) },
		func(r *catalogue.Recipe) bool { return inSeason(r, day.Month()) },
		func(r *catalogue.Recipe) bool { return s.rested(r, day) },
		func(r *catalogue.Recipe) bool { return wanted(&s.household, r, day) },
	}
	for len(wishes) > 0 {
		var pool []*catalogue.Recipe
		for _, r := range s.menu {
			if all(wishes, r) {
				pool = append(pool, r)
				if slices.Contains(s.household.Favourite, r.Name) {
					pool = append(pool, r, r)
				}
			}
		}
		if len(pool) > 0 {
			return pool[s.random.IntN(len(pool))]
		}
		wishes = wishes[:len(wishes)-1]
	}
	return s.menu[s.random.IntN(len(s.menu))]
}

func all(wishes []func(*catalogue.Recipe) bool, r *catalogue.Recipe) bool {
	for _, w := range wishes {
		if !w(r) {
			return false
		}
	}
	return true
}

// minutes is how long cooking may take on a day.
func minutes(h *catalogue.Household, day time.Time) int {
	limit := h.Weekdays
	if d := day.Weekday(); d == time.Saturday || d == time.Sunday {
		limit = h.Weekends
	}
	for _, r := range h.Rules {
		if r.Minutes > 0 && (len(r.Days) == 0 || contains(r.Days, day.Weekday())) {
			limit = min(limit, r.Minutes)
		}
	}
	return limit
}

func inSeason(r *catalogue.Recipe, month time.Month) bool {
	summer := month >= time.May && month <= time.September
	return (summer || !slices.Contains(r.Tags, "summer")) && (!summer || !slices.Contains(r.Tags, "winter"))
}

func (s *simulation) rested(r *catalogue.Recipe, day time.Time) bool {
	last, ok := s.cooked[r.Name]
	for _, rule := range s.household.Rules {
		if ok && day.Before(last.AddDate(0, 0, rule.NotTwiceIn)) {
			return false
		}
	}
	return true
}

func wanted(h *catalogue.Household, r *catalogue.Recipe, day time.Time) bool {
	for _, rule := range h.Rules {
		if rule.Tag != "" && (len(rule.Days) == 0 || contains(rule.Days, day.Weekday())) && !slices.Contains(r.Tags, rule.Tag) {
			return false
		}
	}
	return true
}

// servings is how many a dinner has: a portion for everybody, and twice that on
// weekends of what keeps until tomorrow.
func (s *simulation) servings(r *catalogue.Recipe, day time.Time) (cooked, eaten decimal.Decimal) {
	for _, m := range s.household.Members {
		eaten = eaten.Add(m.Portion)
	}
	if day.Weekday() == time.Sunday && slices.Contains(r.Tags, "batch") && home(&s.household, day.AddDate(0, 0, 1)) {
		return eaten.Add(eaten), eaten
	}
	return eaten, eaten
}

// need is an amount of a food that somebody wants.
type need struct {
	food   catalogue.Food
	amount quantity.Amount
}

// needs returns what a dinner takes, without what is optional or has no amount.
func (s *simulation) needs(r *catalogue.Recipe, servings decimal.Decimal) []need {
	factor := servings.DivRound(decimal.NewFromInt(int64(r.Servings)), quantity.Places)
	var out []need
	for _, i := range r.Ingredients {
		if f, ok := s.catalogue.Food(i.Food); ok && i.Amount.Valid && !i.Optional && f.Name != "Water" {
			out = append(out, need{f, quantity.Of(i.Amount.Decimal, i.Unit).Scale(factor)})
		}
	}
	return out
}
