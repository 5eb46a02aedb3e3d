// Package seed has what a fresh PantryPal starts with: products, recipes, and a
// household with a few things in the house.
//
// What belongs here: that data as readable files, its strict decoding and
// checking, and the writing of it into an empty set. What must never: touching
// a set that has data.
package seed

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

//go:embed products.yaml
var productsYAML []byte

//go:embed recipes.yaml
var recipesYAML []byte

//go:embed household.yaml
var householdYAML []byte

// Product is one row of products.yaml. Its barcode is made from N: see GTIN.
type Product struct {
	N             int      `yaml:"n"`
	Name          string   `yaml:"name"`
	Brand         string   `yaml:"brand"`
	Category      string   `yaml:"category"`
	Quantity      float64  `yaml:"quantity"`
	Unit          string   `yaml:"unit"`
	ShelfLifeDays int      `yaml:"shelfLifeDays"` // 0: no limit that matters
	Allergens     []string `yaml:"allergens"`
}

// Recipe is one entry of recipes.yaml.
type Recipe struct {
	Name            string       `yaml:"name"`
	Description     string       `yaml:"description"`
	Cuisine         string       `yaml:"cuisine"`
	MealTypes       []string     `yaml:"mealTypes"`
	DietaryTags     []string     `yaml:"dietaryTags"`
	PrepMinutes     int          `yaml:"prepMinutes"`
	CookMinutes     int          `yaml:"cookMinutes"`
	Difficulty      string       `yaml:"difficulty"`
	Servings        int          `yaml:"servings"`
	PerServing      Nutrients    `yaml:"perServing"`
	BatchFriendly   bool         `yaml:"batchFriendly"`
	FreezerFriendly bool         `yaml:"freezerFriendly"`
	Equipment       []string     `yaml:"equipment"`
	Rating          float64      `yaml:"rating"`
	TimesCooked     int          `yaml:"timesCooked"`
	Ingredients     []Ingredient `yaml:"ingredients"`
}

// Nutrients are energy in kcal and nutrients in grams.
type Nutrients struct {
	EnergyKcal    int     `yaml:"energyKcal"`
	ProteinG      float64 `yaml:"proteinG"`
	CarbohydrateG float64 `yaml:"carbohydrateG"`
	FatG          float64 `yaml:"fatG"`
	FibreG        float64 `yaml:"fibreG"`
}

// Ingredient is one line of a recipe.
type Ingredient struct {
	Name     string  `yaml:"name"`
	Amount   float64 `yaml:"amount"`
	Unit     string  `yaml:"unit"`
	Optional bool    `yaml:"optional"`
	Note     string  `yaml:"note"`
}

// Household is household.yaml.
type Household struct {
	Profile Profile `yaml:"profile"`
	Pantry  []Item  `yaml:"pantry"`
}

// Profile is whom to cook for.
type Profile struct {
	Size             int      `yaml:"size"`
	Diet             string   `yaml:"diet"`
	Allergies        []string `yaml:"allergies"`
	Dislikes         []string `yaml:"dislikes"`
	Favourites       []string `yaml:"favourites"`
	EnergyTargetKcal int      `yaml:"energyTargetKcal"`
	WeekdayMinutes   int      `yaml:"weekdayMinutes"`
	WeekendMinutes   int      `yaml:"weekendMinutes"`
	WeeklyBudget     float64  `yaml:"weeklyBudget"`
}

// Item is something in the house on the first day.
type Item struct {
	Product       int     `yaml:"product"` // number of a product, 0 for none
	Name          string  `yaml:"name"`
	Quantity      float64 `yaml:"quantity"`
	Unit          string  `yaml:"unit"`
	Category      string  `yaml:"category"` // only without a product
	Location      string  `yaml:"location"`
	AddedDaysAgo  int     `yaml:"addedDaysAgo"`
	ExpiresInDays int     `yaml:"expiresInDays"` // 0: it keeps
	Staple        bool    `yaml:"staple"`
}

// Data is everything that a fresh set gets.
type Data struct {
	Products  []Product
	Recipes   []Recipe
	Household Household
}

// Load decodes and checks the embedded files. An error names everything that is
// wrong with them.
func Load() (*Data, error) {
	d := &Data{}
	err := errors.Join(
		decode("products.yaml", productsYAML, &d.Products),
		decode("recipes.yaml", recipesYAML, &d.Recipes),
		decode("household.yaml", householdYAML, &d.Household),
	)
	if err == nil {
		err = d.check()
	}
	if err != nil {
		return nil, fmt.Errorf("seed: %w", err)
	}
	return d, nil
}

// decode reads exactly one YAML document; a field that out does not have is an
// error.
func decode(name string, raw []byte, out any) error {
	dec := yaml.NewDecoder(bytes.NewReader(raw))
	dec.KnownFields(true)
	if err := dec.Decode(out); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := dec.Decode(new(any)); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: more than one document", name)
	}
	return nil
}
