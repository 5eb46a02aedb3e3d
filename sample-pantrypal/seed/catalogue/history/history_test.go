package history

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/sample-pantrypal/seed/catalogue"
)

var today = time.Date(2026, 11, 23, 15, 0, 0, 0, time.UTC)

// years are the years of both households, made once.
var years = sync.OnceValues(func() ([]*Year, error) {
	c, err := catalogue.Load()
	if err != nil {
		return nil, err
	}
	var out []*Year
	for _, h := range c.Households {
		y, err := Generate(c, h, today, 1)
		if err != nil {
			return nil, err
		}
		out = append(out, y)
	}
	return out, nil
})

// each runs a test for the year of each household.
func each(t *testing.T, test func(*testing.T, catalogue.Household, *Year)) {
	t.Helper()
	all, err := years()
	require.NoError(t, err)
	c, err := catalogue.Load()
	require.NoError(t, err)
	for i, h := range c.Households {
		t.Run(h.Set, func(t *testing.T) { test(t, h, all[i]) })
	}
}

func TestYearHasWhatAHouseholdHas(t *testing.T) {
	each(t, func(t *testing.T, h catalogue.Household, y *Year) {
		cost := map[Reason]float64{}
		for _, e := range y.Events {
			cost[e.Reason] += e.Cost.InexactFloat64()
		}
		bought := cost[ReasonBought]
		weekly := bought / 52
		assert.True(t, weekly > 15 && weekly < h.Budget.InexactFloat64(), "%.0f a week", weekly)
		wasted := (cost[ReasonWasted] + cost[ReasonExpired]) / bought
		assert.True(t, wasted > 0.03 && wasted < 0.2, "%.0f %% of the money is thrown away", wasted*100)
		assert.Less(t, cost[ReasonCorrected]/bought, 0.1, "little is left over at the end")
		if len(h.Days) == 0 {
			assert.InDelta(t, 345, len(y.Meals), 20)
			assert.InDelta(t, 1500, len(y.Prices), 250)
		}
		recipes := map[string]bool{}
		for _, m := range y.Meals {
			recipes[m.Recipe] = true
		}
		assert.Greater(t, len(recipes), 20, "there is variety")
	})
}

// What came is what went, lot by lot, in the order of time.
func TestNothingAppearsOrVanishes(t *testing.T) {
	each(t, func(t *testing.T, _ catalogue.Household, y *Year) {
		left := make([]decimal.Decimal, len(y.Lots))
		closed := make([]bool, len(y.Lots))
		var last time.Time
		for _, e := range y.Events {
			require.False(t, e.At.Before(last))
			require.False(t, closed[e.Lot])
			require.True(t, e.Amount.IsPositive() && !e.Cost.IsNegative())
			last = e.At
			if e.Reason == ReasonBought {
				require.True(t, left[e.Lot].IsZero() && e.Amount.Equal(y.Lots[e.Lot].Initial) && e.At.Equal(y.Lots[e.Lot].Bought))
				left[e.Lot] = e.Amount
				continue
			}
			left[e.Lot] = left[e.Lot].Sub(e.Amount)
			require.False(t, left[e.Lot].IsNegative(), "more of %s went than came", y.Lots[e.Lot].Food)
			closed[e.Lot] = left[e.Lot].IsZero()
		}
		for i, lot := range y.Lots {
			require.True(t, closed[i], "%s is used up", lot.Food)
			require.NotEmpty(t, lot.Status)
			require.True(t, lot.Unit.Known() && lot.UnitPrice.IsPositive())
			require.True(t, lot.BestBefore.IsZero() || lot.BestBefore.After(lot.Bought.AddDate(0, 0, -1)))
		}
	})
}

func TestEventsReferToMeals(t *testing.T) {
	each(t, func(t *testing.T, _ catalogue.Household, y *Year) {
		ingredients := make([]int, len(y.Meals))
		for _, e := range y.Events {
			require.Equal(t, e.Reason == ReasonCooked, e.Meal >= 0)
			if e.Meal >= 0 {
				require.True(t, e.At.Equal(y.Meals[e.Meal].At))
				ingredients[e.Meal]++
			}
		}
		for i, m := range y.Meals {
			assert.Greater(t, ingredients[i], 0, "%s on %s was made of nothing", m.Recipe, m.At)
			still := i == len(y.Meals)-1 && m.EatenAt.IsZero()
			assert.True(t, still || m.Leftovers.IsPositive() != m.EatenAt.IsZero(), "leftovers are eaten on the day after")
			assert.True(t, m.Rating == 0 || m.Rating >= 1 && m.Rating <= 5)
		}
	})
}

func TestDaysAreTheHouseholds(t *testing.T) {
	each(t, func(t *testing.T, h catalogue.Household, y *Year) {
		zone, err := time.LoadLocation(h.TimeZone)
		require.NoError(t, err)
		first, last := y.Events[0].At, y.Events[len(y.Events)-1].At
		require.Equal(t, h.TimeZone, first.Location().String())
		require.True(t, last.Before(today))
		require.Equal(t, "2026-11-22", last.In(zone).Format(time.DateOnly))
		require.True(t, first.After(today.AddDate(-1, 0, 0)))
		for _, m := range y.Meals {
			hour := m.At.Hour()
			require.True(t, hour == 18 || hour == 19, "dinner is in the evening, also when clocks change: %s", m.At)
			require.True(t, len(h.Days) == 0 || slices.Contains(h.Days, strings.ToLower(m.At.Weekday().String())))
		}
		for _, p := range y.Prices {
			require.Equal(t, 0, p.Day.Hour()+p.Day.Minute(), "a price has a date")
		}
	})
}

func TestMealsFollowTheHouseholdsRules(t *testing.T) {
	c, err := catalogue.Load()
	require.NoError(t, err)
	recipes := map[string]catalogue.Recipe{}
	for _, r := range c.Recipes {
		recipes[r.Name] = r
	}
	each(t, func(t *testing.T, h catalogue.Household, y *Year) {
		fish, fridays := 0, 0
		for _, m := range y.Meals {
			r := recipes[m.Recipe]
			for _, member := range h.Members {
				require.True(t, member.Diet == "" || slices.Contains(r.Diets, member.Diet), "%s may not eat %s", member.Name, r.Name)
				for _, a := range member.Allergies {
					require.NotContains(t, r.Allergens, a)
				}
				for _, i := range r.Ingredients {
					require.NotContains(t, member.Dislikes, i.Food)
				}
			}
			if m.At.Weekday() == time.Friday {
				fridays++
				if slices.Contains(r.Tags, "fish") {
					fish++
				}
			}
		}
		if h.Set == "default" {
			require.Greater(t, float64(fish), 0.7*float64(fridays), "fish on Fridays, most of the time")
		}
	})
}

func TestGenerateIsDeterministic(t *testing.T) {
	c, err := catalogue.Load()
	require.NoError(t, err)
	all, err := years()
	require.NoError(t, err)
	again, err := Generate(c, c.Households[0], today.Add(2*time.Hour), 1)
	require.NoError(t, err)
	require.Equal(t, all[0], again, "the day counts, not the time")
	other, err := Generate(c, c.Households[0], today, 2)
	require.NoError(t, err)
	require.NotEqual(t, all[0].Prices, other.Prices)
}

func TestGenerateRefuses(t *testing.T) {
	c, err := catalogue.Load()
	require.NoError(t, err)
	h := c.Households[0]
	h.Members = []catalogue.Member{{Name: "Nobody", Portion: decimal.NewFromInt(1), Allergies: catalogue.Allergens, Diet: "vegan", Dislikes: []string{"Salt", "Onions"}}}
	_, err = Generate(c, h, today, 1)
	require.ErrorIs(t, err, ErrNothingToCook)
	h.TimeZone = "Nowhere/At_All"
	_, err = Generate(c, h, today, 1)
	require.ErrorContains(t, err, "Nowhere/At_All")
}

func TestPricesDriftAndFollowSeasons(t *testing.T) {
	c, err := catalogue.Load()
	require.NoError(t, err)
	m := market{seed: 1, first: time.Date(2025, 11, 24, 0, 0, 0, 0, time.UTC)}
	mean := func(food string, store catalogue.Store, from, to int) float64 {
		i := slices.IndexFunc(c.Products, func(p catalogue.Product) bool { return p.Food == food })
		sum := 0.0
		for d := from; d < to; d++ {
			price, _ := m.price(c.Products[i], store, m.first.AddDate(0, 0, d))
			require.True(t, strings.HasSuffix(price.StringFixed(2), "9"), "%s", price)
			sum += price.InexactFloat64()
		}
		return sum / float64(to-from)
	}
	fairlane, penny := c.Stores[0], c.Stores[1]
	dearer := 0
	for _, f := range []string{"Rice", "Milk", "Cheddar", "Coffee", "Olive oil", "Minced beef", "Chicken breast", "Orange juice"} {
		if mean(f, fairlane, 280, Days) > mean(f, fairlane, 0, 84) {
			dearer++
		}
		require.Less(t, mean(f, penny, 0, Days), mean(f, fairlane, 0, Days), f)
	}
	require.GreaterOrEqual(t, dearer, 6, "most food becomes dearer over the year")
	// Day 200 is in June, day 20 in December.
	require.Less(t, mean("Strawberries", fairlane, 195, 215), 0.85*mean("Strawberries", fairlane, 10, 30), "strawberries are cheap in June")
	require.Less(t, mean("Mandarins", fairlane, 10, 30), 0.9*mean("Mandarins", fairlane, 195, 215), "and mandarins in December")
}
