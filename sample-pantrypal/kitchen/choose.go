package kitchen

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/fault"
)

type chooseIn struct {
	Days   []chooseDay `json:"days"             jsonschema:"maxItems=31"            jsonschema_description:"in the order of their dates, one for each dish"`
	Apart  int         `json:"apart"            jsonschema:"minimum=0,maximum=3650" jsonschema_description:"days between two meals of one recipe"`
	Budget *float64    `json:"budget,omitempty" jsonschema:"minimum=0"              jsonschema_description:"what has to be bought may cost this much; without it, the first of each day is taken"`
}

type chooseDay struct {
	Date     string   `json:"date"`
	Servings float64  `json:"servings"        jsonschema:"exclusiveMinimum=0"`
	Fixed    bool     `json:"fixed,omitempty" jsonschema_description:"the meal is settled: its only recipe takes from the stock, and nothing else is chosen"`
	Recipes  []string `json:"recipes"         jsonschema:"minItems=1,maxItems=500" jsonschema_description:"what suits the day, the best first"`
}

type chooseOut struct {
	Recipes  []string `json:"recipes"  jsonschema_description:"one for each day; empty where everything that suits is too near to another meal of it"`
	Cost     *float64 `json:"cost"     jsonschema:"nullable" jsonschema_description:"of what has to be bought, as far as prices are known"`
	Unpriced []string `json:"unpriced" jsonschema_description:"what has to be bought and has no price"`
	Within   bool     `json:"within"   jsonschema_description:"the cost keeps the budget"`
	Cheapest bool     `json:"cheapest" jsonschema_description:"not within: nothing else of what suits costs less"`
}

// chooseMeals is the action choose-meals.
func chooseMeals(ctx context.Context, call framework.Call, in chooseIn) (chooseOut, error) {
	c, err := readChoice(ctx, call, in)
	if err != nil {
		return chooseOut{}, err
	}
	picks := c.firsts()
	bought := c.buy(picks)
	within, cheapest := in.Budget == nil || bought.cost <= *in.Budget, false
	if !within {
		picks, within, cheapest = c.within(picks, *in.Budget)
		bought = c.buy(picks)
	}
	out := chooseOut{Recipes: make([]string, len(picks)), Unpriced: bought.unpriced, Within: within, Cheapest: cheapest}
	for i, at := range picks {
		if at >= 0 {
			out.Recipes[i] = c.days[i].Recipes[at]
		}
	}
	if bought.cost > 0 || len(bought.unpriced) == 0 {
		out.Cost = &bought.cost
	}
	return out, nil
}

// choice is what a choice of meals is made of. A choice has for each day the place of its recipe
// in the day's list, -1 for none.
type choice struct {
	h       household
	shelf   *stock
	recipes map[string]recipe
	offers  offers
	days    []chooseDay
	dates   []time.Time
	apart   int
}

func readChoice(ctx context.Context, call framework.Call, in chooseIn) (*choice, error) {
	c := &choice{days: in.Days, apart: in.Apart}
	var meals []meal
	for i, d := range in.Days {
		date, err := time.Parse(time.DateOnly, d.Date)
		if err != nil || i > 0 && date.Before(c.dates[i-1]) {
			return nil, fault.Newf(fault.InvalidPayload, "%q is not a day, or is before the one that precedes it", fault.Clip(d.Date, 20)).WithHint("Send days such as 2026-01-31, in their order.")
		}
		c.dates = append(c.dates, date)
		for _, id := range d.Recipes {
			meals = append(meals, meal{RecipeID: id})
		}
	}
	var err error
	if c.h, err = readHousehold(ctx, call); err != nil {
		return nil, err
	}
	if c.shelf, _, err = readStock(ctx, call, c.h, c.h.day(0)); err != nil {
		return nil, err
	}
	if c.recipes, err = readRecipes(ctx, call, meals); err != nil {
		return nil, err
	}
	var names []string
	for _, r := range c.recipes {
		for _, l := range r.Ingredients {
			if l.FoodID != "" && !slices.Contains(names, l.FoodID) {
				names = append(names, l.FoodID)
			}
		}
	}
	slices.Sort(names)
	c.offers, err = readOffers(ctx, call, names)
	return c, err
}

// firsts takes the first recipe of each day that may follow those before it.
func (c *choice) firsts() []int {
	picks := make([]int, 0, len(c.days))
	for i, d := range c.days {
		picks = append(picks, slices.IndexFunc(d.Recipes, func(id string) bool { return c.free(picks, i, id) }))
	}
	return picks
}

// free reports whether a recipe may be chosen for a day: it is settled for it, or far enough from
// its other meals, before and after.
func (c *choice) free(picks []int, day int, id string) bool {
	if c.days[day].Fixed {
		return true
	}
	near := func(other int) bool {
		return math.Abs(c.dates[day].Sub(c.dates[other]).Hours()) < float64(24*c.apart)
	}
	for i, d := range c.days {
		switch {
		case i == day || !near(i):
		case d.Fixed && d.Recipes[0] == id, i < len(picks) && i < day && picks[i] >= 0 && d.Recipes[picks[i]] == id:
			return false
		}
	}
	return true
}

// purchase is what has to be bought for a choice.
type purchase struct {
	cost     float64
	unpriced []string
}

// buy computes what has to be bought for a choice: the list that shop would write.
func (c *choice) buy(picks []int) purchase {
	shelf, all := c.shelf.clone(), basket{h: c.h}
	for i, at := range picks {
		if at >= 0 {
			d := c.days[i]
			_, lacks := shelf.cover(c.h, c.recipes[d.Recipes[at]], meal{RecipeID: d.Recipes[at], Servings: d.Servings, Date: d.Date})
			all.add(d.Date, lacks)
		}
	}
	return c.sum(all)
}

func (c *choice) sum(b basket) purchase {
	p, cents := purchase{unpriced: []string{}}, 0.0
	for _, l := range b.fill(c.offers, nil) {
		switch {
		case l.Cost != nil:
			cents += math.Round(*l.Cost * 100)
		case !l.Staple:
			p.unpriced = append(p.unpriced, l.Name)
		}
	}
	p.cost = cents / 100
	return p
}
