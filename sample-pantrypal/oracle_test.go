package main

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"sort"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/sample-pantrypal/quantity"
	"github.com/koan-go/koan/sample-pantrypal/seed/catalogue"
	"github.com/koan-go/koan/sample-pantrypal/seed/catalogue/history"
)

// oracle answers requests out of the files of the catalogue and the year that is made of them:
// with loops and floats, without database, actions or conversions of package quantity.
type oracle struct {
	*catalogue.Catalogue
	home catalogue.Household
	year *history.Year
}

// The oracle's answers are those of the page, which the scripts give in TestRequests.
func TestAnswersAreRight(t *testing.T) {
	t.Parallel()
	data, err := catalogue.Load()
	require.NoError(t, err)
	o := oracle{Catalogue: data, home: data.Households[0]}
	require.Equal(t, "default", o.home.Set)
	o.year, err = history.Generate(data, o.home, monday(), 1)
	require.NoError(t, err)
	page, err := os.ReadFile("testdata/requests.md")
	require.NoError(t, err)
	written := map[int]string{}
	for _, m := range request.FindAllStringSubmatch(string(page), -1) {
		n, err := strconv.Atoi(m[1])
		require.NoError(t, err)
		written[n] = m[4]
	}
	answers := map[int]func(t *testing.T, told string) any{
		1: o.tonight, 2: o.expiring, 3: o.milk, 4: o.eggs, 5: o.drunk, 6: o.feta, 7: o.weekOfDinners, 8: o.fishOnFriday, 9: o.quickTuesday,
		10: func(t *testing.T, _ string) any { return o.shopping(t, written[25]) }, 11: func(t *testing.T, _ string) any { return o.aisles(t, written[25]) },
		12: o.bananas, 13: o.boughtBananas, 14: o.curry, 15: o.spinach, 16: o.alone, 17: o.guests, 18: o.eatingOut, 19: o.swapped, 20: o.waste, 21: o.mostWasted, 22: o.cheapestMilk, 23: o.dearerButter,
		24: o.shakshuka, 25: o.protein, 26: o.openTooLong, 27: o.quick, 28: o.vegan, 29: o.peanuts, 30: o.carrots, 31: o.onions, 32: o.pancakes, 33: o.pot, 34: o.frozen, 35: o.mincedBeef,
		36: o.first, 37: o.favourite, 38: o.october, 39: o.fiveStars, 40: o.haul,
		41: o.veganGuest, 42: o.breakfast, 43: o.aubergines, 44: o.coffee, 45: o.pounds, 46: o.lakeCoffee, 47: o.nextFriday,
	}
	require.Len(t, answers, len(written), "each request has one")
	for n, answer := range answers {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			got, err := json.Marshal(answer(t, written[n]))
			require.NoError(t, err)
			require.JSONEq(t, written[n], string(got))
		})
	}
}

func day(offset int) string { return monday().AddDate(0, 0, offset).Format(time.DateOnly) }

func cents(f float64) float64 { return math.Round(f*100) / 100 }

// lots are those of the first day that fit, in the order of their dates.
func (o oracle) lots(fits func(catalogue.Lot) bool) []catalogue.Lot {
	var out []catalogue.Lot
	for _, l := range o.home.Lots {
		if fits(l) {
			out = append(out, l)
		}
	}
	sort.SliceStable(out, func(i, j int) bool {
		a, b := out[i].BestBefore, out[j].BestBefore
		switch {
		case a == nil || b == nil:
			return a != nil
		case *a != *b:
			return *a < *b
		}
		return out[i].Food < out[j].Food
	})
	return out
}

func (o oracle) expiring(*testing.T, string) any {
	out := [][]string{}
	for _, l := range o.lots(func(l catalogue.Lot) bool { return l.BestBefore != nil && *l.BestBefore <= 3 }) {
		out = append(out, []string{l.Food, day(*l.BestBefore)})
	}
	return out
}

func (o oracle) milk(*testing.T, string) any {
	sum := 0.0
	for _, l := range o.lots(func(l catalogue.Lot) bool { return l.Food == "Milk" }) {
		sum += l.Amount.InexactFloat64()
	}
	return []any{[]any{sum, "ml"}}
}

func (o oracle) eggs(*testing.T, string) any {
	out := [][]any{}
	for _, l := range o.lots(func(l catalogue.Lot) bool { return l.Food == "Eggs" }) {
		out = append(out, []any{l.Amount.InexactFloat64(), string(l.Unit), day(*l.BestBefore)})
	}
	return out
}

func (o oracle) feta(t *testing.T, _ string) any {
	lot := o.lots(func(l catalogue.Lot) bool { return l.Food == "Feta" })[0]
	for _, p := range o.Products {
		if p.Code == lot.Product {
			return []any{lot.Amount.InexactFloat64(), "g", cents(p.Price.InexactFloat64() / p.Package.Value.InexactFloat64() * lot.Amount.InexactFloat64())}
		}
	}
	t.Fatal("the feta is of no product")
	return nil
}

// thrown are the events of the last twelve calendar months in which something was thrown away.
func (o oracle) thrown() []history.Event {
	var out []history.Event
	for _, e := range o.year.Events {
		if (e.Reason == history.ReasonWasted || e.Reason == history.ReasonExpired) && !e.At.UTC().Before(time.Date(2025, 12, 1, 0, 0, 0, 0, time.UTC)) {
			out = append(out, e)
		}
	}
	return out
}

func (o oracle) waste(*testing.T, string) any {
	months, sum := map[string]bool{}, 0.0
	for _, e := range o.thrown() {
		months[e.At.UTC().Format("2006-01")] = true
		sum += cents(e.Cost.InexactFloat64())
	}
	return []any{len(months), len(o.thrown()), cents(sum), 0}
}

func (o oracle) mostWasted(*testing.T, string) any {
	times, most := map[string]int{}, ""
	for _, e := range o.thrown() {
		food := o.year.Lots[e.Lot].Food
		if times[food]++; most == "" || times[food] > times[most] {
			most = food
		}
	}
	return most
}

// perKilo is what a kilogram or litre cost, and when, by store.
func (o oracle) perKilo(food string) map[string][]history.Price {
	out := map[string][]history.Price{}
	for _, p := range o.year.Prices {
		if p.Food == food && p.Day.Format(time.DateOnly) >= "2025-12-01" {
			out[p.Store] = append(out[p.Store], p)
		}
	}
	return out
}

func each(p history.Price) float64 {
	return p.Price.InexactFloat64() / p.Amount.InexactFloat64() * 1000 // the packages are in grams and millilitres
}

func (o oracle) cheapestMilk(*testing.T, string) any {
	where, least := "", math.Inf(1)
	for store, list := range o.perKilo("Milk") {
		if now := cents(each(list[len(list)-1])); now < least {
			where, least = store, now
		}
	}
	return []any{where, least, "l"}
}

func (o oracle) dearerButter(*testing.T, string) any {
	type change struct {
		store        string
		now, percent float64
	}
	var changes []change
	for store, list := range o.perKilo("Butter") {
		average := func(month string) float64 {
			sum, n := 0.0, 0.0
			for _, p := range list {
				if p.Day.Format("2006-01") == month {
					sum, n = sum+each(p), n+1
				}
			}
			return cents(sum / n)
		}
		first, last := average(list[0].Day.Format("2006-01")), average(list[len(list)-1].Day.Format("2006-01"))
		changes = append(changes, change{store, each(list[len(list)-1]), math.Round((last-first)/first*1000) / 10})
	}
	sort.Slice(changes, func(i, j int) bool { return changes[i].now < changes[j].now })
	out := [][]any{}
	for _, c := range changes {
		out = append(out, []any{c.store, c.percent})
	}
	return out
}

// millilitres are those of a metric kitchen.
var millilitres = map[quantity.Unit]float64{"ml": 1, "l": 1000, "tsp": 5, "tbsp": 15, "cup": 250}

// grams weighs a line of a recipe with the food's own facts.
func grams(t *testing.T, f catalogue.Food, line catalogue.Ingredient) float64 {
	t.Helper()
	amount := line.Amount.Decimal.InexactFloat64()
	switch line.Unit {
	case "g":
		return amount
	case "kg":
		return amount * 1000
	}
	if ml, ok := millilitres[line.Unit]; ok && f.Density.IsPositive() {
		return amount * ml * f.Density.InexactFloat64()
	}
	for _, unit := range []quantity.Unit{line.Unit, "piece", "medium"} {
		for _, p := range f.Portions {
			if p.Unit == unit && (unit == line.Unit || slices.Contains([]quantity.Unit{"piece", "small", "medium", "large"}, line.Unit)) {
				return amount * p.Grams.InexactFloat64()
			}
		}
	}
	t.Fatalf("%q cannot be weighed", line.Text)
	return 0
}

// portion sums what one portion of a recipe has of something.
func (o oracle) portion(t *testing.T, name string, of func(catalogue.Nutrition) float64) float64 {
	t.Helper()
	for _, r := range o.Recipes {
		if r.Name != name {
			continue
		}
		sum := 0.0
		for _, line := range r.Ingredients {
			if line.Optional || !line.Amount.Valid {
				continue
			}
			for _, f := range o.Foods {
				if f.Name == line.Food {
					sum += of(f.Nutrition) / 100 * grams(t, f, line)
				}
			}
		}
		return sum / float64(r.Servings)
	}
	t.Fatalf("there is no recipe %q", name)
	return 0
}

func (o oracle) shakshuka(t *testing.T, _ string) any {
	kcal := o.portion(t, "Shakshuka", func(n catalogue.Nutrition) float64 { return n.EnergyKcal.InexactFloat64() })
	return []any{[]any{math.Round(kcal), []string{}}}
}

// dinners are those that are planned.
var dinners = map[string]string{"shakshuka": "Shakshuka", "spinach-and-feta-frittata": "Spinach and Feta Frittata", "egg-fried-rice": "Egg Fried Rice", "lentil-soup-with-lemon": "Lentil Soup with Lemon"}

// protein takes the dinners from the answer: which ones are planned is the household's rules' matter.
func (o oracle) protein(t *testing.T, answer string) any {
	var told []any
	require.NoError(t, json.Unmarshal([]byte(answer), &told))
	sum := 0.0
	for _, id := range told[0].([]any) {
		sum += o.portion(t, dinners[id.(string)], func(n catalogue.Nutrition) float64 { return n.Protein.InexactFloat64() })
	}
	each := math.Round(sum/3*10) / 10
	return []any{told[0], []any{[]any{"Alex", each}, []any{"Robin", each}}}
}

// shopping is what the same dinners lack, weighed in grams, in packages as they were bought last.
func (o oracle) shopping(t *testing.T, planned string) any {
	var told []any
	require.NoError(t, json.Unmarshal([]byte(planned), &told))
	meals := map[string]float64{}
	for _, id := range told[0].([]any) {
		meals[dinners[id.(string)]] = 2
	}
	names, sum := []string{}, 0.0
	for _, l := range o.lacks(t, meals) {
		names = append(names, l.food.Name)
		var last history.Price
		for _, p := range o.year.Prices {
			if p.Food == l.food.Name && p.Day.After(last.Day) {
				last = p
			}
		}
		packs := math.Ceil(l.grams / weigh(t, l.food, last.Amount.InexactFloat64(), last.Unit))
		sum += cents(packs * last.Price.InexactFloat64())
	}
	return []any{names, cents(sum)}
}

func (o oracle) openTooLong(*testing.T, string) any {
	least := map[string]int{"fridge": 4, "pantry": 30, "freezer": 60}
	type lot struct {
		name string
		days int
	}
	var found []lot
	for _, l := range o.home.Lots {
		f, _ := o.Food(l.Food)
		if l.OpenedAgo == nil || f.Staple {
			continue
		}
		keeps := map[string]int{"fridge": f.Shelf.Fridge, "pantry": f.Shelf.Pantry, "freezer": f.Shelf.Freezer}[l.Place]
		if *l.OpenedAgo > max(least[l.Place], int(math.Round(float64(keeps)/4))) {
			found = append(found, lot{l.Food, *l.OpenedAgo})
		}
	}
	sort.Slice(found, func(i, j int) bool { return found[i].days > found[j].days })
	out := [][]any{}
	for _, l := range found {
		out = append(out, []any{l.name, l.days})
	}
	return out
}

func (o oracle) quick(*testing.T, string) any {
	n := 0
	for _, r := range o.Recipes {
		if slices.Contains(r.Meals, "dinner") && r.PrepMinutes+r.CookMinutes <= 20 {
			n++
		}
	}
	return n
}

// vegan looks at the foods of each recipe, not at its tags.
func (o oracle) vegan(*testing.T, string) any {
	n := 0
	for _, r := range o.Recipes {
		vegan := slices.Contains(r.Meals, "dinner")
		for _, line := range r.Ingredients {
			f, _ := o.Food(line.Food)
			vegan = vegan && (line.Optional || slices.Contains(f.Diets, "vegan"))
		}
		if vegan {
			n++
		}
	}
	return n
}

func (o oracle) onions(t *testing.T, _ string) any {
	f, _ := o.Food("Onions")
	for _, p := range f.Portions {
		if p.Unit == "large" {
			return 2 * p.Grams.InexactFloat64()
		}
	}
	t.Fatal("nobody knows what a large onion weighs")
	return nil
}

func (o oracle) frozen(*testing.T, string) any {
	lots := o.lots(func(l catalogue.Lot) bool { return l.Place == "freezer" })
	sort.Slice(lots, func(i, j int) bool { return lots[i].Food < lots[j].Food })
	out := [][]any{}
	for _, l := range lots {
		out = append(out, []any{l.Food, l.Amount.InexactFloat64(), string(l.Unit)})
	}
	return out
}

func (o oracle) first(*testing.T, string) any {
	out := []string{}
	for _, l := range o.lots(func(l catalogue.Lot) bool { return l.BestBefore != nil })[:3] {
		out = append(out, l.Food)
	}
	return out
}

func (o oracle) favourite(*testing.T, string) any {
	times, most := map[string]int{}, ""
	for _, m := range o.year.Meals {
		times[m.Recipe]++
	}
	for name, n := range times {
		if most == "" || n > times[most] || n == times[most] && name < most {
			most = name
		}
	}
	return []any{most, times[most]}
}

// october counts what is still in the house of what was bought then, too.
func (o oracle) october(*testing.T, string) any {
	sum := 0.0
	for _, l := range o.home.Lots {
		at := monday().AddDate(0, 0, -l.BoughtAgo)
		if at.Year() != 2026 || at.Month() != time.October {
			continue
		}
		for _, p := range o.Products {
			if p.Code == l.Product {
				sum += cents(l.Amount.InexactFloat64() * p.Price.InexactFloat64() / p.Package.Value.InexactFloat64())
			}
		}
	}
	for _, e := range o.year.Events {
		if at := e.At.UTC(); e.Reason == history.ReasonBought && at.Year() == 2026 && at.Month() == time.October {
			sum += cents(e.Cost.InexactFloat64())
		}
	}
	return cents(sum)
}
