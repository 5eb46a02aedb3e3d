package catalogue

import (
	"slices"

	"github.com/shopspring/decimal"

	"github.com/koan-go/koan/sample-pantrypal/quantity"
)

// Recipe is one entry of recipes.yaml. Its ingredients are lines as a cook writes
// them, with measures of the metric system.
type Recipe struct {
	Name        string   `yaml:"name"`
	Description string   `yaml:"description"`
	Cuisine     string   `yaml:"cuisine"`
	Meals       []string `yaml:"meals"`
	PrepMinutes int      `yaml:"prepMinutes"`
	CookMinutes int      `yaml:"cookMinutes"`
	Difficulty  string   `yaml:"difficulty"`
	Servings    int      `yaml:"servings"`
	// Tags are a cook's: quick, batch, freezer and the like. What a recipe
	// contains is computed: see Diets and Allergens.
	Tags      []string `yaml:"tags"`
	Equipment []string `yaml:"equipment"`
	Lines     []string `yaml:"ingredients"`
	Steps     []string `yaml:"steps"`

	Ingredients []Ingredient `yaml:"-"`
	// Computed from the foods; optional ingredients count for allergens only.
	Diets      []string  `yaml:"-"`
	Allergens  []string  `yaml:"-"`
	PerServing Nutrition `yaml:"-"`
}

// Ingredient is one line of a recipe, joined to its food.
type Ingredient struct {
	quantity.Line
	Food string
}

// The words that recipes may use.
var (
	Meals        = []string{"breakfast", "lunch", "dinner", "snack", "dessert", "side"}
	Tags         = []string{"quick", "batch", "freezer", "one-pot", "no-cook", "lunchbox", "festive", "summer", "winter", "fish", "meat", "soup", "salad", "pasta", "baking"}
	difficulties = []string{"easy", "medium", "hard"}
)

// join reads the lines of a recipe, and computes what follows from them.
func (c *Catalogue) join(rec *Recipe) problems {
	var p problems
	at := "recipes.yaml: " + rec.Name
	rec.Diets, rec.Allergens = slices.Clone(Diets), []string{}
	for _, text := range rec.Lines {
		line, err := quantity.ParseLine(text, quantity.Metric)
		if err != nil {
			p.when(true, "%s: %q: %v", at, text, err)
			continue
		}
		match := c.index.FindLine(line)
		food, ok := c.Food(match.ID)
		if !ok {
			p.when(true, "%s: %q joins to no food; candidates are %q", at, text, match.Candidates)
			continue
		}
		rec.Ingredients = append(rec.Ingredients, Ingredient{line, food.Name})
		if err := rec.count(line, food); err != nil {
			p.when(true, "%s: %q: %v", at, text, err)
		}
		p.when(!line.Amount.Valid && !food.Staple && !line.Optional, "%s: %q has no amount, and is not a staple", at, text)
		for _, a := range food.Allergens {
			if !slices.Contains(rec.Allergens, a) {
				rec.Allergens = append(rec.Allergens, a)
			}
		}
		if !line.Optional {
			rec.Diets = slices.DeleteFunc(rec.Diets, func(d string) bool { return !slices.Contains(food.Diets, d) })
		}
	}
	slices.Sort(rec.Allergens)
	return p
}

// count adds what an ingredient brings to a serving: nothing where the line has no
// amount or is optional.
func (rec *Recipe) count(line quantity.Line, food Food) error {
	if !line.Amount.Valid || rec.Servings < 1 {
		return nil
	}
	grams, err := food.Facts().Convert(quantity.Of(line.Amount.Decimal, line.Unit), quantity.Gram, quantity.Metric)
	if err != nil || line.Optional {
		return err
	}
	rec.PerServing = rec.PerServing.Add(food.Nutrition, grams.Value.Div(decimal.NewFromInt(int64(100*rec.Servings))))
	return nil
}

func (p *problems) recipe(rec Recipe) {
	at := "recipes.yaml: " + rec.Name
	p.when(rec.Name == "" || rec.Description == "" || rec.Cuisine == "", "%s needs a name, a description and a cuisine", at)
	p.when(rec.Servings < 1 || rec.PrepMinutes < 0 || rec.CookMinutes < 0 || rec.PrepMinutes+rec.CookMinutes == 0, "%s has servings or minutes that cannot be", at)
	p.when(len(rec.Lines) < 2 || len(rec.Steps) == 0 || len(rec.Meals) == 0, "%s has too few ingredients, no steps or no meals", at)
	p.oneOf(at, "meal", Meals, rec.Meals...)
	p.oneOf(at, "tag", Tags, rec.Tags...)
	p.oneOf(at, "difficulty", difficulties, rec.Difficulty)
}
