// Package foods has the foods of the catalogue by their ids, with the facts by which
// their amounts convert and by which they suit somebody.
//
// What belongs here: looking foods up. What must never: a database; entity rows are
// made of the same catalogue (package seed).
package foods

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/shopspring/decimal"

	"github.com/koan-go/koan/sample-pantrypal/quantity"
	"github.com/koan-go/koan/sample-pantrypal/seed/catalogue"
)

// Food is one food of the catalogue. The zero value is a food that nobody knows.
type Food struct {
	catalogue.Food
	ID string
}

type book struct {
	byID  map[string]Food
	index *quantity.Index
}

var open = sync.OnceValue(func() book {
	c, err := catalogue.Load()
	if err != nil {
		panic(err) // embedded, and tested
	}
	b := book{byID: make(map[string]Food, len(c.Foods)), index: c.Index()}
	for _, f := range c.Foods {
		id := Slug(f.Name)
		b.byID[id] = Food{f, id}
	}
	return b
})

// Of returns the food with an id.
func Of(id string) (Food, bool) {
	f, ok := open().byID[id]
	return f, ok
}

// Find returns the food that a name stands for.
func Find(name string) quantity.Match { return withIDs(open().index.Find(name)) }

// IsAisle reports whether shops have foods in an aisle of this name.
func IsAisle(name string) bool {
	for _, f := range open().byID {
		if strings.EqualFold(f.Aisle, name) {
			return true
		}
	}
	return false
}

// FindLine returns the food of a line of a recipe.
func FindLine(l quantity.Line) quantity.Match { return withIDs(open().index.FindLine(l)) }

func withIDs(m quantity.Match) quantity.Match {
	out := quantity.Match{ID: Slug(m.ID), Candidates: make([]string, len(m.Candidates))}
	for i, name := range m.Candidates {
		out.Candidates[i] = Slug(name)
	}
	return out
}

// Slug makes an id of a name: "Crème fraîche" is "creme-fraiche".
func Slug(name string) string {
	var b strings.Builder
	dash := false
	for _, r := range strings.ToLower(fold.Replace(strings.ToLower(name))) {
		switch {
		case r < 128 && (unicode.IsLetter(r) || unicode.IsDigit(r)):
			if dash && b.Len() > 0 {
				b.WriteByte('-')
			}
			b.WriteRune(r)
			dash = false
		case r == '\'' || r == '’':
		default:
			dash = true
		}
	}
	return b.String()
}

var fold = strings.NewReplacer("à", "a", "á", "a", "â", "a", "ä", "a", "ã", "a", "å", "a", "ç", "c", "è", "e", "é", "e", "ê", "e", "ë", "e",
	"ì", "i", "í", "i", "î", "i", "ï", "i", "ñ", "n", "ò", "o", "ó", "o", "ô", "o", "ö", "o", "ø", "o", "ù", "u", "ú", "u", "û", "u", "ü", "u", "ß", "ss")

// Convert returns an amount of the food in another unit.
func (f Food) Convert(a quantity.Amount, to quantity.Unit, s quantity.System) (quantity.Amount, error) {
	return f.Facts().Convert(a, to, s)
}

// Contains reports whether the food contains an allergen.
func (f Food) Contains(allergen string) bool {
	return slices.Contains(f.Allergens, strings.ToLower(strings.TrimSpace(allergen)))
}

// Suits reports whether the food fits a diet.
func (f Food) Suits(diet string) bool { return slices.Contains(f.Diets, diet) }

// Keeps returns where the food is kept when it comes from the shop, and for how many
// days; 0 days is without limit. Frozen food goes to the freezer, what keeps long goes to
// the pantry, the rest to the fridge.
func (f Food) Keeps() (place string, days int) {
	const long = 21
	switch {
	case f.Aisle == "frozen" && f.Shelf.Freezer > 0:
		return "freezer", f.Shelf.Freezer
	case f.Shelf.Pantry >= long || f.Shelf.Pantry > 0 && f.Shelf.Pantry >= f.Shelf.Fridge:
		return "pantry", f.Shelf.Pantry
	case f.Shelf.Fridge > 0:
		return "fridge", f.Shelf.Fridge
	case f.Shelf.Pantry > 0:
		return "pantry", f.Shelf.Pantry
	case f.Shelf.Freezer > 0:
		return "freezer", f.Shelf.Freezer
	}
	return "pantry", 0
}

// Large returns how many kg, l or pieces an amount is, by its unit alone.
func Large(amount float64, unit string) (float64, error) {
	a := quantity.Of(decimal.NewFromFloat(amount), quantity.Unit(unit)).Canonical(quantity.Metric)
	switch a.Unit {
	case quantity.Gram, quantity.Millilitre:
		return a.Value.Shift(-3).InexactFloat64(), nil
	case "":
		return 0, fmt.Errorf("%q is not a unit", unit)
	}
	return a.Value.InexactFloat64(), nil
}
