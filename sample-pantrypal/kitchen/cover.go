package kitchen

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/sample-pantrypal/foods"
	"github.com/koan-go/koan/sample-pantrypal/quantity"
)

// maxMeals is how many meals one call looks at.
const maxMeals = 500

type meal struct {
	Key      string  `json:"key"      jsonschema_description:"comes back with the result"`
	RecipeID string  `json:"recipeId"`
	Servings float64 `json:"servings" jsonschema:"exclusiveMinimum=0"`
	Date     string  `json:"date,omitempty" jsonschema_description:"the day of the meal; food whose date is past by then is left out; without it, today"`
}

type coverIn struct {
	Before   []meal   `json:"before,omitempty"   jsonschema_description:"meals that take from the stock first, one after the other; nothing is reported of them"`
	Meals    []meal   `json:"meals"              jsonschema_description:"each is looked at by itself; with together, what one takes is not there for the next"`
	Together bool     `json:"together,omitempty"`
	Shop     bool     `json:"shop,omitempty"     jsonschema_description:"also return what to buy, summed over all meals, in whole packages"`
	Keep     bool     `json:"keep,omitempty"     jsonschema_description:"with shop, also what is missing of what the household always wants in the house; its needs have an empty key"`
	StoreID  *string  `json:"storeId,omitempty"  jsonschema_description:"whose prices to take first"`
	Listed   []onList `json:"listed,omitempty"  jsonschema:"maxItems=1000"                          jsonschema_description:"what is on the list by hand: with shop, it is not bought twice"`
	Guests   []guest  `json:"guests,omitempty"   jsonschema:"maxItems=100"                           jsonschema_description:"who eats too: meals have to suit them as well"`
	Absent   []string `json:"absent,omitempty"   jsonschema:"maxItems=50"                            jsonschema_description:"members who do not eat"`
}

type use struct {
	LotID      string  `json:"lotId"`
	FoodID     string  `json:"foodId"`
	Name       string  `json:"name"`
	Amount     float64 `json:"amount"     jsonschema_description:"in the unit of the lot"`
	Unit       string  `json:"unit"`
	Text       string  `json:"text"`
	BestBefore *string `json:"bestBefore" jsonschema:"nullable"`
	OpenJar    bool    `json:"openJar"    jsonschema_description:"the lot is open, and does not keep as closed ones do"`
	Left       float64 `json:"left"       jsonschema_description:"of the lot, in its unit"`
}

type lack struct {
	FoodID  *string  `json:"foodId"  jsonschema:"nullable"`
	Name    string   `json:"name"`
	Amount  *float64 `json:"amount"  jsonschema:"nullable"`
	Unit    *string  `json:"unit"    jsonschema:"nullable"`
	Text    string   `json:"text"`
	Say     string   `json:"say"     jsonschema_description:"the text with the name: 3 cloves garlic"`
	Problem string   `json:"problem" jsonschema_description:"why it cannot be compared with what is there; empty: there is too little"`
}

type covered struct {
	Key       string   `json:"key"`
	RecipeID  string   `json:"recipeId"`
	Name      string   `json:"name"`
	Minutes   int      `json:"minutes"`
	Servings  float64  `json:"servings"`
	Needed    int      `json:"needed"    jsonschema_description:"lines that the meal cannot do without"`
	Uses      []use    `json:"uses"`
	Missing   []lack   `json:"missing"   jsonschema_description:"there is too little of it"`
	Unclear   []lack   `json:"unclear"   jsonschema_description:"some of it is there, and amounts cannot be compared"`
	Staples   []string `json:"staples"   jsonschema_description:"staples that are not in the house"`
	Swaps     []swap   `json:"swaps"     jsonschema_description:"what of the house can stand in for something that is missing; the stock stays as it is"`
	Conflicts []string `json:"conflicts" jsonschema_description:"whom it does not suit, and why"`
	Allergies []string `json:"allergies" jsonschema_description:"those of the conflicts that are allergies"`
	FoodIDs   []string `json:"foodIds"`
	Aisles    []string `json:"aisles"`
}

type coverOut struct {
	Today    string    `json:"today"`
	Weekday  string    `json:"weekday"`
	Portions float64   `json:"portions" jsonschema_description:"of a meal for the whole household"`
	Meals    []covered `json:"meals"`
	ToBuy    []toBuy   `json:"toBuy"`
	Past     []string  `json:"past"     jsonschema_description:"lots past their date, which no meal takes"`
}

// line is one ingredient of a recipe.
type line struct {
	Name     string   `json:"name"`
	Amount   *float64 `json:"amount"`
	Unit     *string  `json:"unit"`
	Optional bool     `json:"optional"`
	FoodID   string   `json:"foodId"`
}

type recipe struct {
	ID          string  `json:"id"`
	Name        string  `json:"name"`
	Servings    float64 `json:"servings"`
	PrepMinutes int     `json:"prepMinutes"`
	CookMinutes int     `json:"cookMinutes"`
	Ingredients []line  `json:"ingredients"`
}

// coverMeals is the action cover-meals.
func coverMeals(ctx context.Context, call framework.Call, in coverIn) (coverOut, error) {
	if len(in.Meals)+len(in.Before) > maxMeals {
		return coverOut{}, fault.Newf(fault.InvalidPayload, "%d meals in one call; at most %d", len(in.Meals)+len(in.Before), maxMeals).WithHint("Make several calls.")
	}
	h, err := readHousehold(ctx, call)
	if err != nil {
		return coverOut{}, err
	}
	if h, err = h.without(in.Absent).with(in.Guests); err != nil {
		return coverOut{}, err
	}
	from := h.day(0)
	for _, m := range slices.Concat(in.Before, in.Meals) {
		if m.Date != "" {
			from = min(from, m.Date)
		}
	}
	shelf, past, err := readStock(ctx, call, h, from)
	if err != nil {
		return coverOut{}, err
	}
	recipes, err := readRecipes(ctx, call, slices.Concat(in.Before, in.Meals))
	if err != nil {
		return coverOut{}, err
	}
	out := coverOut{Today: h.day(0), Weekday: weekday(h.today), Portions: h.portions(), Meals: []covered{}, ToBuy: []toBuy{}, Past: past}
	for _, m := range in.Before {
		shelf.cover(h, recipes[m.RecipeID], m)
	}
	all := basket{h: h}
	all.list(in.Listed)
	for _, m := range in.Meals {
		left := shelf
		if !in.Together {
			left = shelf.clone()
		}
		c, lacks := left.cover(h, recipes[m.RecipeID], m)
		out.Meals = append(out.Meals, c)
		all.add(m.Key, lacks)
	}
	if !in.Shop {
		return out, nil
	}
	if in.Keep {
		if err := all.keep(ctx, call, shelf); err != nil {
			return out, err
		}
	}
	offers, err := readOffers(ctx, call, all.foods)
	if err != nil {
		return out, err
	}
	out.ToBuy = all.fill(offers, in.StoreID)
	return out, nil
}

// readRecipes reads the recipes of meals with their lines, by id.
func readRecipes(ctx context.Context, call framework.Call, meals []meal) (map[string]recipe, error) {
	var ids []string
	for _, m := range meals {
		if !slices.Contains(ids, m.RecipeID) {
			ids = append(ids, m.RecipeID)
		}
	}
	byID := make(map[string]recipe, len(ids))
	if len(ids) == 0 {
		return byID, nil
	}
	rows, err := all[recipe](ctx, call, "Recipe", map[string]any{
		"filter": map[string]any{"id": map[string]any{"$in": ids}},
		"fields": "id,name,servings,prepMinutes,cookMinutes",
		"with":   map[string]any{"ingredients": map[string]any{"limit": 200, "sort": "position,id"}},
	})
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		byID[r.ID] = r
	}
	for i, m := range meals {
		if _, ok := byID[m.RecipeID]; !ok {
			which := ""
			if len(meals) > 1 {
				which = fmt.Sprintf(" (meal %d)", i+1)
			}
			return nil, fault.Newf(fault.NotFound, "there is no recipe %q%s", m.RecipeID, which).WithHint("Read Recipe for the ids.")
		}
	}
	return byID, nil
}

// need is what a meal lacks of one food.
type need struct {
	lack
	food   foods.Food
	amount quantity.Amount // no unit: nobody knows how much
	staple bool
}

// set says how much of it is missing.
func (n *need) set(a quantity.Amount, sys quantity.System) {
	v, u := float(a.Value), string(a.Unit)
	much := buyable(n.food, a, sys)
	n.amount, n.Amount, n.Unit, n.Text, n.Say = a, &v, &u, much.String(), much.With(n.Name)
}

// cover takes what a meal needs from the stock, oldest lots first.
func (s *stock) cover(h household, r recipe, m meal) (covered, []need) {
	c := covered{
		Key: m.Key, RecipeID: r.ID, Name: r.Name, Minutes: r.PrepMinutes + r.CookMinutes, Servings: m.Servings,
		Uses: []use{}, Missing: []lack{}, Unclear: []lack{}, Staples: []string{}, Swaps: []swap{}, FoodIDs: []string{}, Aisles: []string{},
	}
	c.Conflicts, c.Allergies = h.conflicts(r.Ingredients)
	m.Date = cmp.Or(m.Date, h.day(0))
	factor := decimal.NewFromFloat(m.Servings).Div(decimal.NewFromFloat(max(r.Servings, 1)))
	var lacks []need
	for _, l := range r.Ingredients {
		f, known := h.eaten(l)
		if known {
			c.FoodIDs = append(c.FoodIDs, f.ID)
			if !slices.Contains(c.Aisles, f.Aisle) {
				c.Aisles = append(c.Aisles, f.Aisle)
			}
		}
		if !l.Optional {
			c.Needed++
		}
		n := need{lack: lack{Name: l.Name, Say: l.Name, FoodID: &f.ID}, food: f}
		if !known { // what is called the same is the same, though nobody knows what it is
			n.food.ID, n.food.Name, n.FoodID = unknown(l.Name), l.Name, nil
			f = n.food
		}
		switch {
		case !known && len(s.lots[f.ID]) == 0:
			n.Text, n.Problem = l.Name, "no food of the catalogue is known by this name"
			c.Unclear = appendUnless(l.Optional, c.Unclear, n.lack)
		case f.Staple || l.Amount == nil || l.Unit == nil:
			if s.has(f.ID, m.Date) {
				continue
			}
			n.Text, n.staple = l.Name, true
			if l.Optional {
				continue
			}
			if f.Staple {
				c.Staples = append(c.Staples, f.Name)
			} else {
				c.Missing = append(c.Missing, n.lack)
			}
		default:
			wanted := amountOf(*l.Amount, *l.Unit).Scale(factor)
			uses, rest, problem := s.take(f, wanted, h.system(), m.Date)
			c.Uses = append(c.Uses, uses...)
			if !rest.Value.IsPositive() {
				continue
			}
			n.set(rest, h.system())
			if n.Problem = problem; problem == "" && s.later(f.ID, m.Date) {
				n.Problem = "what is in the house came after " + m.Date
			}
			if n.Problem != "" {
				c.Unclear = appendUnless(l.Optional, c.Unclear, n.lack)
			} else {
				c.Missing = appendUnless(l.Optional, c.Missing, n.lack)
			}
		}
		if !l.Optional {
			lacks = append(lacks, n)
		}
	}
	c.Swaps = append(c.Swaps, s.swaps(h, lacks, m.Date)...)
	return c, lacks
}

// holders are units of which a part is of use, and can be weighed.
var holders = []quantity.Unit{"can", "bottle", "jar", "pack", "bunch", "head", "bulb", "loaf", "bar"}

// buyable is an amount as people buy it: part of a can or bunch in grams, if those are known, and
// nothing less than a whole egg.
func buyable(f foods.Food, a quantity.Amount, sys quantity.System) quantity.Amount {
	switch {
	case a.Unit.Dimension() == quantity.Count && !slices.Contains(holders, a.Unit), a.Unit == quantity.Gram, a.Unit == quantity.Millilitre:
		return quantity.Of(a.Value.Ceil(), a.Unit)
	case a.Unit.Dimension() == quantity.Count && !a.Value.IsInteger():
		if grams, err := f.Convert(a, quantity.Gram, sys); err == nil {
			return quantity.Of(grams.Value.Ceil(), quantity.Gram)
		}
	}
	return a
}

func appendUnless[T any](not bool, list []T, v T) []T {
	if not {
		return list
	}
	return append(list, v)
}
