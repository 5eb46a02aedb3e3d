package catalogue

import (
	"slices"

	"github.com/shopspring/decimal"

	"github.com/koan-go/koan/sample-pantrypal/quantity"
)

// check returns everything that is wrong with the data in itself.
func (c *Catalogue) check() problems {
	var p problems
	for _, f := range c.Foods {
		p.food(f)
	}
	seen := map[string]bool{}
	for _, product := range c.Products {
		p.when(seen[product.Code], "products.csv: %s occurs twice", product.Code)
		seen[product.Code] = true
		p.product(c, product)
	}
	for i := range c.Recipes {
		p.when(seen[c.Recipes[i].Name], "recipes.yaml: %s occurs twice", c.Recipes[i].Name)
		seen[c.Recipes[i].Name] = true
		p.recipe(c.Recipes[i])
		p = append(p, c.join(&c.Recipes[i])...)
	}
	for _, s := range c.Stores {
		p.when(s.Name == "" || !s.Level.IsPositive(), "stores.yaml: %q needs a name and a level", s.Name)
		p.oneOf("stores.yaml: "+s.Name, "aisle", Aisles, s.Aisles...)
	}
	for _, h := range c.Households {
		p.household(c, h)
	}
	return p
}

func (p *problems) food(f Food) {
	at := "foods.csv: " + f.Name
	if f.NDB == "" {
		at = "everyday.csv: " + f.Name
	}
	p.oneOf(at, "aisle", Aisles, f.Aisle)
	p.oneOf(at, "allergen", Allergens, f.Allergens...)
	for _, animal := range []string{"milk", "eggs", "fish", "crustaceans", "molluscs"} {
		p.when(slices.Contains(f.Diets, "vegan") && slices.Contains(f.Allergens, animal), "%s: vegan, and contains %s", at, animal)
	}
	p.when(f.Shelf == Shelf{} && !f.Thing, "%s keeps nowhere", at)
	p.when(f.Thing != (f.Aisle == "household"), "%s: a thing is in the aisle household, and no food is", at)
	p.when(f.Density.GreaterThan(decimal.RequireFromString("2")), "%s has a density of %s g/ml", at, f.Density)
	n := f.Nutrition
	total := n.Protein.Add(n.Fat).Add(n.Carbohydrate).Add(n.Alcohol)
	p.when(total.GreaterThan(decimal.NewFromInt(101)), "%s: the nutrients of 100 g weigh %s g", at, total)
	p.when(n.EnergyKcal.GreaterThan(decimal.NewFromInt(902)), "%s has %s kcal", at, n.EnergyKcal)
	p.when(n.Fibre.GreaterThan(n.Carbohydrate), "%s has more fibre than carbohydrate", at)
	seen := map[quantity.Unit]bool{}
	for _, portion := range f.Portions {
		p.when(seen[portion.Unit], "portions.csv: %s has two portions by the %s", f.Name, portion.Unit)
		seen[portion.Unit] = true
		p.when(!portion.Grams.IsPositive(), "portions.csv: %s: a %s weighs nothing", f.Name, portion.Unit)
		p.when(portion.Unit.Dimension() == quantity.Mass, "portions.csv: %s: %s is a measure of mass already", f.Name, portion.Unit)
	}
}
