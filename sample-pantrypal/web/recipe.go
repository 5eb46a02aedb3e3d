package web

import (
	"slices"
	"strconv"
	"strings"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

type ingredient struct {
	ID          string   `json:"id"`
	Position    int      `json:"position"`
	Name        string   `json:"name"`
	Amount      *float64 `json:"amount"`
	AmountMax   *float64 `json:"amountMax"`
	Unit        *string  `json:"unit"`
	Preparation string   `json:"preparation"`
	Optional    bool     `json:"optional"`
	FoodID      *string  `json:"foodId"`

	Text string `json:"-"` // how much, for the portions that are asked for
}

type recipeText struct {
	recipeHead
	Description string   `json:"description"`
	Steps       []string `json:"steps"`
	Source      *string  `json:"source"`
	Equipment   []string `json:"equipment"`
	Difficulty  string   `json:"difficulty"`
	Origin      string   `json:"origin"`
	Changes     int      `json:"version"` // how often it was changed
}

type nutrients struct {
	EnergyKcal    float64 `json:"energyKcal"`
	ProteinG      float64 `json:"proteinG"`
	CarbohydrateG float64 `json:"carbohydrateG"`
	FatG          float64 `json:"fatG"`
	FibreG        float64 `json:"fibreG"`
}

type recipePage struct {
	Recipe      recipeText
	Ingredients []ingredient
	Servings    float64
	Fewer, More string // other portions
	Units       string
	Nutrients   *nutrients
	Unweighed   []string
	Meal        string  // that is planned with it today
	Later       float64 // of its portions, those that are cooked ahead
	Date        string  // the day that it is looked at for
	For         string  // the meal of that day
	Types       []string
	House       coverage
	Steps       []step
}

// coverage is how a recipe fares with what is in the house and whom it is for.
type coverage struct {
	Key       string                  `json:"key"`
	Missing   []struct{ Say string }  `json:"missing"`
	Unclear   []struct{ Name string } `json:"unclear"`
	Staples   []string                `json:"staples"`
	Conflicts []string                `json:"conflicts"` // whom it does not suit, and why
	Allergies []string                `json:"allergies"` // those of the conflicts that are allergies
	Swaps     []struct{ Name, Instead string }
}

// lacks is what there is to buy for it.
func (c coverage) lacks() []string {
	var out []string
	for _, m := range c.Missing {
		out = append(out, m.Say)
	}
	for _, u := range c.Unclear {
		out = append(out, u.Name)
	}
	return append(out, c.Staples...)
}

// covering asks how a recipe fares.
func (v *visit) covering(recipe string, servings any) (coverage, error) {
	all, err := v.coveringAll([]any{map[string]any{"key": recipe, "recipeId": recipe, "servings": servings}}, false)
	if err != nil || len(all) == 0 {
		return coverage{}, err
	}
	return all[0], nil
}

// coveringAll asks the same of several. With together, what one takes is not there for the next.
func (v *visit) coveringAll(meals []any, together bool) ([]coverage, error) {
	var out struct{ Meals []coverage }
	_, err := v.action("cover-meals", map[string]any{"meals": meals, "together": together}, &out)
	return out.Meals, err
}

// maxServings bounds the portions that a recipe is shown for.
const maxServings = 100

func recipe(v *visit) (any, error) {
	var err error
	p := &recipePage{Units: "as written"}
	if p.Recipe, err = row[recipeText](v, "Recipe", v.PathValue("id")); err != nil {
		return nil, err
	}
	if p.Ingredients, err = recipeLines(v, p.Recipe.ID); err != nil {
		return nil, err
	}
	p.Servings = float64(p.Recipe.Servings)
	if text := v.URL.Query().Get("servings"); text != "" {
		n, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", "."), 64)
		if err != nil || !(n > 0 && n <= maxServings) {
			return nil, v.refuse("fault.portions", maxServings, v.day.quoted(fault.Clip(text, 20)))
		}
		p.Servings = n
	}
	p.Fewer, p.More = number(max(1, p.Servings-1)), number(min(maxServings, p.Servings+1))
	if u := v.URL.Query().Get("units"); u == "us" || u == "metric" {
		p.Units = u
	}
	if err := p.measure(v); err != nil {
		return nil, err
	}
	p.Steps = stepsOf(p.Recipe.Steps, p.Ingredients)
	p.Date, p.For, p.Types = v.day.chosen(v.URL.Query().Get("date")), "dinner", dayMeals
	if meal := v.URL.Query().Get("meal"); slices.Contains(dayMeals, meal) {
		p.For = meal
	}
	var food struct {
		Meals []struct {
			PerPortion nutrients `json:"perPortion"`
			Unweighed  []string  `json:"unweighed"`
		} `json:"meals"`
	}
	if _, err := v.action("nutrition", map[string]any{"recipeId": p.Recipe.ID}, &food); err != nil {
		return nil, err
	}
	if len(food.Meals) > 0 {
		p.Nutrients, p.Unweighed = &food.Meals[0].PerPortion, food.Meals[0].Unweighed
	}
	if p.House, err = v.covering(p.Recipe.ID, p.Servings); err != nil {
		return nil, err
	}
	today, err := rows[meal](v, "PlannedMeal", query{"filter": query{"recipeId": p.Recipe.ID, "date": v.day.Today, "status": "planned"}}, 1)
	if err == nil && len(today) > 0 {
		p.Meal, p.Later = today[0].ID, today[0].ForLater
	}
	return p, err
}

// measure writes the amounts for the portions and units that are asked for.
func (p *recipePage) measure(v *visit) error {
	factor := p.Servings / float64(max(1, p.Recipe.Servings))
	type question struct {
		FoodID string  `json:"foodId"`
		Amount float64 `json:"amount"`
		Unit   string  `json:"unit"`
		To     string  `json:"to"`
	}
	var asked []question
	var lines []int
	for i := range p.Ingredients {
		in := &p.Ingredients[i]
		if in.Amount == nil {
			continue
		}
		unit := ""
		if in.Unit != nil {
			unit = *in.Unit
		}
		in.Text = v.day.amount(*in.Amount*factor, unit)
		if in.AmountMax != nil {
			in.Text = v.day.amount(*in.Amount*factor, "") + "–" + v.day.amount(*in.AmountMax*factor, unit)
			continue
		}
		if to := unitIn(p.Units, unit, *in.Amount*factor); to != "" && in.FoodID != nil {
			asked, lines = append(asked, question{*in.FoodID, *in.Amount * factor, unit, to}), append(lines, i)
		}
	}
	if len(asked) == 0 {
		return nil
	}
	var out struct {
		Amounts []struct {
			Amount *float64 `json:"amount"`
			Unit   string   `json:"unit"`
		} `json:"amounts"`
	}
	if _, err := v.call(catalog.ActionID("convert-amounts"), map[string]any{"amounts": asked}, &out); err != nil {
		return err
	}
	for n, a := range out.Amounts {
		if a.Amount != nil { // what cannot be converted stays as it is written
			p.Ingredients[lines[n]].Text = v.day.amount(*a.Amount, a.Unit)
		}
	}
	return nil
}

// unitIn is the unit that a system of units has for an amount, "" for the one that it is in.
func unitIn(system, unit string, f float64) string {
	switch {
	case system == "us" && (unit == "g" || unit == "kg"):
		return "oz"
	case system == "us" && unit == "ml" && f < 60:
		return "tbsp"
	case system == "us" && (unit == "ml" || unit == "l"):
		return "cup"
	case system == "metric" && (unit == "oz" || unit == "lb" || unit == "cup"):
		return "g"
	}
	return ""
}
