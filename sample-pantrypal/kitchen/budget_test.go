package kitchen

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/sample-pantrypal/ent/schema"
	"github.com/koan-go/koan/sample-pantrypal/foods"
	"github.com/koan-go/koan/sample-pantrypal/seed/catalogue"
)

// invent makes up a choice of a household: the catalogue's recipes, and stock and prices by
// chance. Packages are as the catalogue has them.
func invent(t *testing.T, rng *rand.Rand, days, recipes int) *choice {
	t.Helper()
	data, err := catalogue.Load()
	require.NoError(t, err)
	start := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	c := &choice{
		h: household{Members: []schema.Member{{Name: "Alex", Portion: 1}, {Name: "Robin", Portion: 1}}, Locale: "de", today: start}, apart: 3 + rng.IntN(8),
		shelf: &stock{map[string][]lot{}}, recipes: map[string]recipe{}, offers: offers{map[string][]product{}, map[string][]priceRow{}},
	}
	for i, p := range data.Products {
		id, code, size, unit := foods.Slug(p.Food), p.Code, p.Package.Value.InexactFloat64(), string(p.Package.Unit)
		c.offers.products[id] = append(c.offers.products[id], product{ID: code, Name: p.Name, FoodID: &id, PackageAmount: &size, PackageUnit: &unit})
		if large, err := foods.Large(size, unit); err == nil && rng.IntN(20) > 0 {
			per := math.Round(p.Price.InexactFloat64()/large*100) / 100
			c.offers.prices[id] = append([]priceRow{{FoodID: id, ProductID: &code, PerUnit: &per, Unit: unit}}, c.offers.prices[id]...)
		}
		if rng.IntN(8) == 0 {
			l := lot{ID: fmt.Sprint(i), Name: p.Name, FoodID: &id, Unit: unit, left: p.Package.Value.Mul(decimal.NewFromInt(int64(1 + rng.IntN(10)))).Shift(-1)}
			if rng.IntN(2) == 0 {
				until := c.h.day(rng.IntN(days + 2))
				l.BestBefore = &until
			}
			c.shelf.lots[id] = append(c.shelf.lots[id], l)
		}
	}
	for _, lots := range c.shelf.lots {
		slices.SortFunc(lots, oldestFirst)
	}
	var ids []string
	for _, r := range data.Recipes {
		row := recipe{ID: foods.Slug(r.Name), Name: r.Name, Servings: float64(r.Servings)}
		for _, i := range r.Ingredients {
			l := line{Name: i.Name, Optional: i.Optional, FoodID: foods.Slug(i.Food), Amount: number(i.Amount)}
			if unit := string(i.Unit); unit != "" && l.Amount != nil {
				l.Unit = &unit
			}
			row.Ingredients = append(row.Ingredients, l)
		}
		c.recipes[row.ID] = row
		ids = append(ids, row.ID)
	}
	for i := range days {
		rng.Shuffle(len(ids), func(a, b int) { ids[a], ids[b] = ids[b], ids[a] })
		d := chooseDay{Date: c.h.day(i), Servings: float64(1 + rng.IntN(4)), Recipes: slices.Clone(ids[:recipes])}
		if d.Fixed = rng.IntN(6) == 0; d.Fixed {
			d.Recipes = d.Recipes[:1]
		}
		c.days, c.dates = append(c.days, d), append(c.dates, start.AddDate(0, 0, i))
	}
	return c
}

// each calls f with every choice that is allowed, in the order of the lists.
func (c *choice) each(open [][]bool, picks []int, f func([]int)) {
	day := len(picks)
	if day == len(c.days) {
		f(picks)
		return
	}
	for at, id := range c.days[day].Recipes {
		if c.days[day].Fixed || open[day][at] && c.free(picks, day, id) {
			c.each(open, append(slices.Clone(picks), at), f)
		}
	}
}

// A choice that keeps a budget is found where there is one, and else the cheapest: as if all were
// looked at.
func TestChoiceWithinBudgetIsFound(t *testing.T) {
	t.Parallel()
	const rounds = 25
	kept := 0
	for round := range uint64(rounds) {
		rng := rand.New(rand.NewPCG(round, 7))
		c := invent(t, rng, 3, 7)
		open := c.newSearch(0).open
		least, all := math.Inf(1), map[string]float64{}
		c.each(open, nil, func(picks []int) {
			cost := c.buy(picks).cost
			all[fmt.Sprint(picks)], least = cost, min(least, cost)
		})
		require.NotEmpty(t, all)
		for _, budget := range []float64{0, least - 0.01, least, least + 0.5, least * 1.2, least * 2} {
			picks, ok, cheapest := c.within(c.firsts(), budget)
			cost := c.buy(picks).cost
			require.Equal(t, least <= budget, ok, "round %d: %.2f costs the cheapest, %.2f is the budget", round, least, budget)
			if !ok {
				require.True(t, cheapest)
				require.LessOrEqual(t, cost, least+0.011, "round %d", round)
				continue
			}
			kept++
			var best []int // the first in the order of the lists
			c.each(open, nil, func(p []int) {
				if best == nil && all[fmt.Sprint(p)] <= budget {
					best = p
				}
			})
			require.Equal(t, best, picks, "round %d: budget %.2f", round, budget)
		}
	}
	require.Greater(t, kept, rounds)
}

// A month is too much to be looked at whole; it ends all the same, with a choice that can be cooked.
func TestChoiceOfMonthEnds(t *testing.T) {
	t.Parallel()
	c := invent(t, rand.New(rand.NewPCG(1, 1)), 31, 60)
	first := c.firsts()
	began := time.Now()
	picks, ok, _ := c.within(first, 1)
	t.Logf("%.2f instead of %.2f, after %s", c.buy(picks).cost, c.buy(first).cost, time.Since(began))
	require.False(t, ok)
	require.Less(t, c.buy(picks).cost, c.buy(first).cost)
	for i, at := range picks {
		require.True(t, at < 0 || c.free(picks[:i], i, c.days[i].Recipes[at]))
	}
}

func BenchmarkChooseWeek(b *testing.B) {
	t := &testing.T{}
	c := invent(t, rand.New(rand.NewPCG(3, 3)), 7, 45)
	for b.Loop() {
		s := c.newSearch(0)
		s.best, s.least = c.firsts(), math.Inf(1)
		s.run(false)
		b.ReportMetric(float64(s.steps), "steps")
		b.ReportMetric(s.least, "cost")
	}
}
