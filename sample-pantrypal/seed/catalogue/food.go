package catalogue

import (
	"slices"

	"github.com/shopspring/decimal"

	"github.com/koan-go/koan/sample-pantrypal/quantity"
)

// The words that foods may use.
var (
	// Aisles of a store, in the order in which people walk through it.
	Aisles = []string{"produce", "bakery", "meat", "seafood", "dairy", "dry", "canned", "baking", "spices", "condiments", "snacks", "beverage", "frozen", "household"}
	// Allergens are the 14 that have to be declared in the EU.
	Allergens = []string{"gluten", "crustaceans", "eggs", "fish", "peanuts", "soy", "milk", "nuts", "celery", "mustard", "sesame", "sulphites", "lupin", "molluscs"}
	// Diets that food can fit, the strictest first: what fits one fits those after it.
	Diets = []string{"vegan", "vegetarian", "pescatarian"}
)

var (
	foodColumns = []string{
		"name", "aliases", "aisle", "allergens", "diet", "density", "kcal", "protein", "fat", "carbs", "fibre", "alcohol",
		"pantry", "fridge", "freezer", "staple", "ndb",
	}
	everydayColumns = []string{"name", "aliases", "aisle", "allergens", "diet", "density", "pantry", "fridge", "freezer"}
	nameColumns     = []string{"food", "names"}
	portionColumns  = []string{"food", "unit", "grams", "source"}
)

// Food is what recipes, products and lots are of.
type Food struct {
	Name      string
	Aliases   []string
	Aisle     string
	Allergens []string
	Diets     []string        // that it fits, of Diets
	Density   decimal.Decimal // g/ml; zero is unknown
	Nutrition Nutrition       // per 100 g
	Shelf     Shelf
	Staple    bool   // is there or is not; never summed
	Thing     bool   // is no food, such as toilet paper
	NDB       string // of USDA's table; empty: nobody has figures of it, and its Nutrition says nothing
	Portions  []Portion
}

// Portion is what one of a unit weighs.
type Portion struct {
	quantity.Portion
	// Kitchen says that the weight is what such a thing weighs as a rule, since
	// USDA has no figure.
	Kitchen bool
}

// Nutrition of some amount of food: energy in kcal, the rest in grams.
type Nutrition struct {
	EnergyKcal, Protein, Fat, Carbohydrate, Fibre, Alcohol decimal.Decimal
}

// Shelf is how many days a food keeps in each place, unopened; zero where it does
// not belong.
type Shelf struct{ Pantry, Fridge, Freezer int }

// Facts returns what amounts of the food convert by.
func (f Food) Facts() quantity.Food {
	facts := quantity.Food{Name: f.Name, Density: f.Density, Staple: f.Staple}
	for _, p := range f.Portions {
		facts.Portions = append(facts.Portions, p.Portion)
	}
	return facts
}

// Source cites where the figures come from; of what has none, it is empty.
func (f Food) Source() string {
	if f.NDB == "" {
		return ""
	}
	return Source + ", NDB " + f.NDB
}

// Add returns the sum of two, the second times a factor.
func (n Nutrition) Add(o Nutrition, factor decimal.Decimal) Nutrition {
	sum := func(a, b decimal.Decimal) decimal.Decimal { return a.Add(b.Mul(factor)).Round(quantity.Places) }
	return Nutrition{
		EnergyKcal: sum(n.EnergyKcal, o.EnergyKcal), Protein: sum(n.Protein, o.Protein), Fat: sum(n.Fat, o.Fat),
		Carbohydrate: sum(n.Carbohydrate, o.Carbohydrate), Fibre: sum(n.Fibre, o.Fibre), Alcohol: sum(n.Alcohol, o.Alcohol),
	}
}

func (r *record) food() Food {
	f := Food{
		Name: r.text("name"), Aliases: r.list("aliases"), Aisle: r.text("aisle"), Allergens: r.list("allergens"),
		Diets: []string{}, Density: r.number("density"), NDB: r.text("ndb"), Staple: r.cells["staple"] == "1",
		Nutrition: Nutrition{r.number("kcal"), r.number("protein"), r.number("fat"), r.number("carbs"), r.number("fibre"), r.number("alcohol")},
		Shelf:     Shelf{r.days("pantry"), r.days("fridge"), r.days("freezer")},
	}
	f.Diets = r.diets()
	if s := r.cells["staple"]; s != "" && s != "1" {
		r.fail("staple", "is neither 1 nor empty")
	}
	return f
}

// everyday is a food whose nutrition no table of ours has, or a thing: it has no diet.
func (r *record) everyday() Food {
	f := Food{
		Name: r.text("name"), Aliases: r.list("aliases"), Aisle: r.text("aisle"), Allergens: r.list("allergens"), Density: r.number("density"),
		Shelf: Shelf{r.days("pantry"), r.days("fridge"), r.days("freezer")},
	}
	if f.Thing = r.cells["diet"] == ""; !f.Thing {
		f.Diets = r.diets()
	}
	return f
}

// diets are those that what fits one of them fits.
func (r *record) diets() []string {
	if at := slices.Index(Diets, r.text("diet")); at >= 0 {
		return slices.Clone(Diets[at:])
	} else if r.cells["diet"] != "omnivore" {
		r.fail("diet", "is not one of vegan, vegetarian, pescatarian, omnivore")
	}
	return []string{}
}

func (r *record) portion() Portion {
	if s := r.text("source"); s != "usda" && s != "kitchen" {
		r.fail("source", "is neither usda nor kitchen")
	}
	return Portion{quantity.Portion{Unit: r.unit("unit"), Grams: r.number("grams")}, r.cells["source"] == "kitchen"}
}

func named(foods []Food) []quantity.Named {
	out := make([]quantity.Named, len(foods))
	for i, f := range foods {
		out[i] = quantity.Named{ID: f.Name, Names: append([]string{f.Name}, f.Aliases...)}
	}
	return out
}
