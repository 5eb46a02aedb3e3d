package seed

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The words that the files may use. They are the enums of the schemas, and the
// lists that the schemas' comments promise.
var (
	categories = []string{"produce", "dairy", "meat", "seafood", "bakery", "frozen", "dry", "beverage", "household", "other"}
	locations  = []string{"pantry", "fridge", "freezer"}
	mealTypes  = []string{"breakfast", "lunch", "dinner", "snack"}
	diets      = []string{"none", "pescatarian", "vegetarian", "vegan"}
	tags       = []string{"vegan", "vegetarian", "pescatarian", "gluten-free", "dairy-free"}
	allergens  = []string{"gluten", "crustaceans", "eggs", "fish", "peanuts", "soy", "milk", "nuts", "celery", "mustard", "sesame", "sulphites", "lupin", "molluscs"}
	stockUnits = []string{"g", "kg", "ml", "l", "piece", "bunch"}
	cookUnits  = append([]string{"tsp", "tbsp", "clove", "slice"}, stockUnits...)
)

// basics are ingredients without a product of their own. None of them contains
// an allergen; an ingredient that does must have a product, since a product is
// where allergens are known from.
var basics = []string{"salt", "black pepper", "cumin", "paprika", "curry powder", "oregano", "rosemary", "chilli flakes", "cinnamon", "sugar"}

// check returns everything that is wrong with the data in itself.
func (d *Data) check() error {
	var r report
	byName, byN := map[string]Product{}, map[int]Product{}
	for i, p := range d.Products {
		at := fmt.Sprintf("products.yaml: product %d", p.N)
		r.when(p.N < 1 || p.N > maxNumber, "products.yaml: entry %d has the number %d", i+1, p.N)
		r.when(byN[p.N].N != 0, "%s occurs twice", at)
		r.when(p.Name == "" || p.Brand == "", "%s needs a name and a brand", at)
		r.when(byName[strings.ToLower(p.Name)].N != 0, "%s has a name that is taken", at)
		r.when(p.Quantity <= 0 || p.ShelfLifeDays < 0, "%s has a quantity or shelf life that cannot be", at)
		r.oneOf(at, "category", categories, p.Category)
		r.oneOf(at, "unit", stockUnits, p.Unit)
		r.oneOf(at, "allergen", allergens, p.Allergens...)
		byN[p.N], byName[strings.ToLower(p.Name)] = p, p
	}
	seen := map[string]bool{}
	for _, rec := range d.Recipes {
		r.when(seen[rec.Name], "recipes.yaml: %s occurs twice", rec.Name)
		seen[rec.Name] = true
		r.recipe(rec, byName)
	}
	r.household(d.Household, byN)
	return errors.Join(r...)
}

// report collects problems.
type report []error

func (r *report) when(wrong bool, format string, args ...any) {
	if wrong {
		*r = append(*r, fmt.Errorf(format, args...))
	}
}

func (r *report) oneOf(at, what string, allowed []string, got ...string) {
	for _, g := range got {
		r.when(!slices.Contains(allowed, g), "%s: unknown %s %q; want one of %s", at, what, g, strings.Join(allowed, ", "))
	}
}

func (r *report) recipe(rec Recipe, products map[string]Product) {
	at := "recipes.yaml: " + rec.Name
	r.when(rec.Name == "", "recipes.yaml: a recipe has no name")
	r.when(rec.Description == "" || rec.Cuisine == "" || len(rec.MealTypes) == 0, "%s needs a description, a cuisine and meal types", at)
	r.when(rec.Servings < 1 || rec.PrepMinutes < 0 || rec.CookMinutes < 0, "%s has servings or minutes that cannot be", at)
	r.when(rec.Rating < 0 || rec.Rating > 5, "%s has a rating of %v; want 0 to 5", at, rec.Rating)
	r.when(len(rec.Ingredients) < 2, "%s has too few ingredients", at)
	r.oneOf(at, "meal type", mealTypes, rec.MealTypes...)
	r.oneOf(at, "dietary tag", tags, rec.DietaryTags...)
	r.oneOf(at, "difficulty", []string{"easy", "medium", "hard"}, rec.Difficulty)
	for _, wider := range [][2]string{{"vegan", "vegetarian"}, {"vegetarian", "pescatarian"}, {"vegan", "dairy-free"}} {
		r.when(slices.Contains(rec.DietaryTags, wider[0]) && !slices.Contains(rec.DietaryTags, wider[1]), "%s is %s but not %s", at, wider[0], wider[1])
	}
	for _, ing := range rec.Ingredients {
		at := at + ": " + ing.Name
		p, known := products[strings.ToLower(ing.Name)]
		r.when(ing.Name == "" || ing.Amount <= 0, "%s needs a name and an amount", at)
		r.when(!known && !slices.Contains(basics, ing.Name), "%s is neither a product nor one of the basics", at)
		r.oneOf(at, "unit", cookUnits, ing.Unit)
		for tag, never := range map[string][]string{"gluten-free": {"gluten"}, "dairy-free": {"milk"}, "vegan": {"milk", "eggs", "fish"}, "vegetarian": {"fish"}} {
			for _, a := range never {
				r.when(!ing.Optional && slices.Contains(rec.DietaryTags, tag) && slices.Contains(p.Allergens, a), "%s contains %s in a recipe that is %s", at, a, tag)
			}
		}
		r.when(p.Category == "meat" && slices.Contains(rec.DietaryTags, "pescatarian"), "%s is meat in a recipe that is pescatarian", at)
	}
}

func (r *report) household(h Household, products map[int]Product) {
	const at = "household.yaml"
	r.when(h.Profile.Size < 1 || h.Profile.WeekdayMinutes < 1 || h.Profile.WeekendMinutes < 1, "%s: the profile needs a size and minutes to cook", at)
	r.oneOf(at, "diet", diets, h.Profile.Diet)
	r.oneOf(at, "allergy", allergens, h.Profile.Allergies...)
	for _, item := range h.Pantry {
		at := at + ": " + item.Name
		p := products[item.Product]
		r.when(item.Product != 0 && p.Name != item.Name, "%s: product %d is %q", at, item.Product, p.Name)
		r.when(item.Name == "" || item.Quantity <= 0 || item.AddedDaysAgo < 0 || item.ExpiresInDays < 0, "%s needs a name, a quantity and days that can be", at)
		r.when((item.Product == 0) == (item.Category == ""), "%s needs either a product or a category", at)
		r.oneOf(at, "unit", stockUnits, item.Unit)
		r.oneOf(at, "location", locations, item.Location)
		if item.Category != "" {
			r.oneOf(at, "category", categories, item.Category)
		}
	}
}
