package main

import (
	"encoding/json"
	"math"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/sample-pantrypal/quantity"
	"github.com/koan-go/koan/sample-pantrypal/seed/catalogue"
)

// What the oracle knows of dinners: which ones suit the household, and what of the stock they take.
// Where several dinners would do, it takes the answer's and checks that none is plainly better.

// minutes is how long a dinner on a weekday may take in the household default, and portions for how
// many it is: Alex and Robin eat one each.
const (
	minutes  = 45
	portions = 2.0
)

func (o oracle) recipe(t *testing.T, name string) catalogue.Recipe {
	t.Helper()
	for _, r := range o.Recipes {
		if r.Name == name {
			return r
		}
	}
	t.Fatalf("there is no recipe %q", name)
	return catalogue.Recipe{}
}

func weigh(t *testing.T, f catalogue.Food, amount float64, unit quantity.Unit) float64 {
	t.Helper()
	line := catalogue.Ingredient{}
	line.Amount, line.Unit = decimal.NewNullDecimal(decimal.NewFromFloat(amount)), unit
	return grams(t, f, line)
}

// short is what of a food is missing.
type short struct {
	food  catalogue.Food
	grams float64
}

// atHome weighs a line as the household does: a can is one of those in the cupboard, if there are any.
func (o oracle) atHome(t *testing.T, f catalogue.Food, line catalogue.Ingredient) float64 {
	t.Helper()
	for _, l := range o.home.Lots {
		for _, p := range o.Products {
			if line.Unit == "can" && l.Food == f.Name && l.Product == p.Code {
				return line.Amount.Decimal.InexactFloat64() * weigh(t, f, p.Package.Value.InexactFloat64(), p.Package.Unit)
			}
		}
	}
	return grams(t, f, line)
}

// lacks is what meals, with their portions, need beyond the stock, by aisle and name. Of a staple
// anything in the house is enough, and else one package is missing.
func (o oracle) lacks(t *testing.T, meals map[string]float64) []short {
	t.Helper()
	need := map[string]float64{}
	for name, servings := range meals {
		r := o.recipe(t, name)
		for _, line := range r.Ingredients {
			f, _ := o.Food(line.Food)
			switch {
			case line.Optional:
			case f.Staple || !line.Amount.Valid:
				need[f.Name] = max(need[f.Name], 0.01)
			default:
				need[f.Name] += o.atHome(t, f, line) * servings / float64(r.Servings)
			}
		}
	}
	var out []short
	for name, wanted := range need {
		f, _ := o.Food(name)
		for _, l := range o.home.Lots {
			if l.Food == name {
				wanted -= weigh(t, f, l.Amount.InexactFloat64(), l.Unit)
			}
		}
		if wanted >= 0.001 {
			out = append(out, short{f, wanted})
		}
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].food.Aisle != out[j].food.Aisle {
			return out[i].food.Aisle < out[j].food.Aisle
		}
		return out[i].food.Name < out[j].food.Name
	})
	return out
}

func names(list []short) []string {
	out := []string{}
	for _, l := range list {
		out = append(out, l.food.Name)
	}
	return out
}

// merit is how well a dinner fits this evening.
type merit struct {
	share float64 // of its lines that are in the house
	soon  int     // foods of it that go off within four days
}

// suitable are the dinners that suit Alex, who is allergic to peanuts, and Robin, who does not like
// mushrooms; that take no longer than a weekday has, were not cooked in the last three days, are at
// least half in the house, and have a food.
func (o oracle) suitable(t *testing.T, food string) map[string]merit {
	t.Helper()
	out := map[string]merit{}
	for _, r := range o.Recipes {
		fits, has, lines := slices.Contains(r.Meals, "dinner") && r.PrepMinutes+r.CookMinutes <= minutes, food == "", 0
		var m merit
		for _, line := range r.Ingredients {
			f, _ := o.Food(line.Food)
			fits = fits && !slices.Contains(f.Allergens, "peanuts") && f.Name != "Mushrooms"
			has = has || f.Name == food
			if !line.Optional {
				lines++
			}
			lots := o.lots(func(l catalogue.Lot) bool { return l.Food == f.Name })
			if !f.Staple && line.Amount.Valid && len(lots) > 0 && lots[0].BestBefore != nil && *lots[0].BestBefore <= 4 {
				m.soon++
			}
		}
		for _, cooked := range o.year.Meals {
			fits = fits && !(cooked.Recipe == r.Name && cooked.At.UTC().Format(time.DateOnly) >= day(-3))
		}
		if !fits || !has {
			continue
		}
		m.share = 1 - float64(len(o.lacks(t, map[string]float64{r.Name: portions})))/float64(lines)
		if m.share >= 0.5 {
			out[r.Name] = m
		}
	}
	return out
}

// noneBetter requires that what was suggested suits, and that nothing else is in the house to a
// larger part and uses more of what goes off.
func (o oracle) noneBetter(t *testing.T, suggested []string, food string) {
	t.Helper()
	suits := o.suitable(t, food)
	require.Len(t, suggested, min(3, len(suits)))
	for _, name := range suggested {
		told, ok := suits[name]
		require.True(t, ok, name)
		for other, m := range suits {
			if !slices.Contains(suggested, other) {
				require.False(t, m.share > told.share+0.05 && m.soon >= told.soon || m.share >= told.share && m.soon > told.soon, "%s (%+v) is better than %s (%+v)", other, m, name, told)
			}
		}
	}
}

func (o oracle) tonight(t *testing.T, told string) any {
	var pairs [][]any
	require.NoError(t, json.Unmarshal([]byte(told), &pairs))
	var suggested []string
	out := [][]any{}
	for _, p := range pairs {
		name := p[0].(string)
		suggested = append(suggested, name)
		out = append(out, []any{name, len(o.lacks(t, map[string]float64{name: portions}))})
	}
	o.noneBetter(t, suggested, "")
	return out
}

func (o oracle) carrots(t *testing.T, told string) any {
	var suggested []string
	require.NoError(t, json.Unmarshal([]byte(told), &suggested))
	o.noneBetter(t, suggested, "Carrots")
	return suggested
}

// There are dinners with peanuts, and none of them is for Alex.
func (o oracle) peanuts(t *testing.T, _ string) any {
	require.True(t, slices.ContainsFunc(o.Recipes, func(r catalogue.Recipe) bool {
		return slices.Contains(r.Meals, "dinner") && slices.Contains(r.Allergens, "peanuts")
	}))
	return 0
}

// Seven days, seven dinners: nothing comes twice in ten days. A rule that cannot be kept would be noted.
func (o oracle) weekOfDinners(*testing.T, string) any { return []any{7, 7, []string{}} }

// Monday is 23 November, so Friday is the 27th.
func (o oracle) fishOnFriday(t *testing.T, told string) any {
	var friday []string
	require.NoError(t, json.Unmarshal([]byte(told), &friday))
	r := o.recipe(t, friday[1])
	require.Contains(t, r.Tags, "fish")
	require.LessOrEqual(t, r.PrepMinutes+r.CookMinutes, minutes)
	return []any{"2026-11-27", r.Name}
}

// Tuesday's dinner takes 25 minutes at most.
func (o oracle) quickTuesday(t *testing.T, told string) any {
	var tuesday []any
	require.NoError(t, json.Unmarshal([]byte(told), &tuesday))
	r := o.recipe(t, tuesday[0].(string))
	require.LessOrEqual(t, r.PrepMinutes+r.CookMinutes, 25)
	return []any{r.Name, r.PrepMinutes + r.CookMinutes}
}

func (o oracle) aisles(t *testing.T, planned string) any {
	out := []string{}
	for _, name := range o.shopping(t, planned).([]any)[0].([]string) {
		if f, _ := o.Food(name); !slices.Contains(out, f.Aisle) {
			out = append(out, f.Aisle)
		}
	}
	return out
}

// curry is what four portions of it leave of each lot: the recipe is for four.
func (o oracle) curry(t *testing.T, _ string) any {
	took := [][]any{}
	for _, line := range o.recipe(t, "Chickpea and Spinach Curry").Ingredients {
		f, _ := o.Food(line.Food)
		if f.Staple || !line.Amount.Valid {
			continue
		}
		wanted := grams(t, f, line)
		for _, l := range o.lots(func(l catalogue.Lot) bool { return l.Food == f.Name }) {
			if wanted < 0.001 {
				break
			}
			there := weigh(t, f, l.Amount.InexactFloat64(), l.Unit)
			left := l.Amount.InexactFloat64() * max(0, there-wanted) / there
			took = append(took, []any{f.Name, math.Round(left*10) / 10})
			wanted -= min(wanted, there)
		}
	}
	return []any{"Chickpea and Spinach Curry", took, 1}
}

// The curry wants 250 g of spinach, and there are 150.
func (o oracle) spinach(t *testing.T, _ string) any {
	for _, line := range o.recipe(t, "Chickpea and Spinach Curry").Ingredients {
		if line.Food == "Spinach" {
			require.Greater(t, line.Amount.Decimal.InexactFloat64(), o.lots(func(l catalogue.Lot) bool { return l.Food == "Spinach" })[0].Amount.InexactFloat64())
		}
	}
	return [][]any{{0, "consumed", "cooked"}}
}

// Two portions without Robin's one.
func (o oracle) alone(*testing.T, string) any { return 1 }

// Two portions and two for the friends; the list has what four portions need beyond the stock.
func (o oracle) guests(t *testing.T, told string) any {
	var dinner []any
	require.NoError(t, json.Unmarshal([]byte(told), &dinner))
	name := dinner[0].(string)
	return []any{name, 4, names(o.lacks(t, map[string]float64{name: 2})), names(o.lacks(t, map[string]float64{name: 4}))}
}

func (o oracle) eatingOut(*testing.T, string) any { return "skipped" }

// swapped is Monday's dinner on Tuesday, and Tuesday's on Monday.
func (o oracle) swapped(t *testing.T, told string) any {
	var days []any
	require.NoError(t, json.Unmarshal([]byte(told), &days))
	planned := days[0].([]any)
	require.NotEqual(t, planned[0], planned[1])
	return []any{planned, [][]any{{"2026-11-23", planned[1]}, {"2026-11-24", planned[0]}}}
}

// The milk that expires first is half a litre, so nothing is left of it.
func (o oracle) drunk(*testing.T, string) any {
	lot := o.lots(func(l catalogue.Lot) bool { return l.Food == "Milk" })[0]
	return []any{lot.Amount.InexactFloat64() - 500, "eaten", 500}
}

func (o oracle) bananas(*testing.T, string) any {
	bananas, _ := o.Food("Bananas")
	oats, _ := o.Food("Rolled oats")
	id := func(f catalogue.Food) string { return strings.ReplaceAll(strings.ToLower(f.Name), " ", "-") }
	return [][]any{{"bananas", id(bananas), bananas.Aisle}, {"rolled oats", id(oats), oats.Aisle}}
}

// Six bananas were all that was on the list.
func (o oracle) boughtBananas(*testing.T, string) any { return []any{"bananas", 6, 0} }

// The request says them; a pinch is no amount.
func (o oracle) pancakes(*testing.T, string) any {
	return [][]any{{"milk", 250, "ml"}, {"eggs", 2, "piece"}, {"flour", 150, "g"}, {"salt", nil, nil}}
}

// Three lunches for two.
func (o oracle) pot(*testing.T, string) any { return []any{3 * portions, 3} }

func (o oracle) mincedBeef(*testing.T, string) any { return "fridge" }

func (o oracle) fiveStars(*testing.T, string) any { return 5 }

// haul has the codes that testdata/haul.png was drawn with, as cmd/makephoto says.
func (o oracle) haul(*testing.T, string) any {
	known, unknown := []string{}, []string{}
	for _, code := range []string{"2000000000039", "2000000000992", "2000000000077", "2000000000121", "2000000000183", "2000000000251"} {
		at := slices.IndexFunc(o.Products, func(p catalogue.Product) bool { return p.Code == code })
		if at < 0 {
			unknown = append(unknown, code)
			continue
		}
		known = append(known, o.Products[at].Name)
	}
	slices.Sort(known)
	return []any{known, unknown}
}
