// Package foods has the foods that a household knows by their ids, those of the catalogue and its
// own, with the facts by which their amounts convert and by which they suit somebody.
//
// What belongs here: looking foods up. Not here: a database; entity rows of the catalogue
// are made of the same data (package seed), and rows of own foods come in as Own.
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

// Food is one food. The zero value is a food that nobody knows.
type Food struct {
	catalogue.Food
	ID string
	// Guessed are the fields of a household's own food that nobody has said. They are as those of a
	// similar food, or empty.
	Guessed []string
}

// shelf is the catalogue by its ids and names.
type shelf struct {
	byID  map[string]Food
	index *quantity.Index
	forms map[string][]string // by id, the foods that are the same in another form
}

var open = sync.OnceValue(func() shelf {
	c, err := catalogue.Load()
	if err != nil {
		panic(err) // embedded, and tested
	}
	b := shelf{byID: make(map[string]Food, len(c.Foods)), forms: map[string][]string{}}
	names := make([]quantity.Named, len(c.Foods))
	for i, f := range c.Foods {
		id := Slug(f.Name)
		b.byID[id] = Food{Food: f, ID: id}
		names[i] = quantity.Named{ID: id, Names: append([]string{f.Name}, f.Aliases...)}
	}
	if b.index, err = quantity.NewIndex(names); err != nil {
		panic(err) // the catalogue has checked it
	}
	for _, f := range c.Foods {
		id, plain := Slug(f.Name), b.plainly(f.Name)
		for _, other := range c.Foods {
			if f.Name != other.Name && (f.NDB != "" && f.NDB == other.NDB || plain == Slug(other.Name)) {
				b.forms[Slug(other.Name)] = append(b.forms[Slug(other.Name)], id)
			}
		}
	}
	return b
})

// looks are words that say how a food was kept, or its colour. Behind them stands what it is.
var looks = []string{"canned", "dried", "sun", "frozen", "smoked", "roasted", "red", "green", "yellow", "white", "brown", "black"}

// plainly is the food that a name stands for without its looks: "Sun-dried tomatoes" are tomatoes.
// It is empty where there is no such food, or the name has no looks.
func (b shelf) plainly(name string) string {
	words := strings.Fields(strings.ToLower(strings.ReplaceAll(name, "-", " ")))
	for len(words) > 1 && slices.Contains(looks, words[0]) {
		words = words[1:]
		if m := b.index.Find(strings.Join(words, " ")); m.ID != "" && m.ID != Slug(name) {
			return m.ID
		}
	}
	return ""
}

// Forms returns the foods that are the same as one in another form, by the catalogue: of the same
// entry of USDA (tomatoes and cherry tomatoes), or of the same name but for how they were kept and
// their colour (canned tomatoes). Products made from it, such as ketchup, are other foods.
func Forms(id string) []string { return open().forms[id] }

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

// packages are units in which shops sell a food and recipes count it.
var packages = []quantity.Unit{"can", "jar", "bottle", "pack", "bar", "loaf"}

// Packed returns the food as packages of a product hold it. A recipe that says a can means the one
// in the cupboard, though one brand's holds some grams less than another's. What differs by more
// than a quarter from the usual weight is not one can but half a one, or two.
func (f Food) Packed(pack quantity.Amount, s quantity.System) Food {
	holds, err := f.Convert(pack, quantity.Gram, s)
	if err != nil || !holds.Value.IsPositive() {
		return f
	}
	f.Portions = slices.Clone(f.Portions)
	for i, p := range f.Portions {
		differs := holds.Value.Sub(p.Grams).Abs()
		if slices.Contains(packages, p.Unit) && differs.Mul(decimal.NewFromInt(4)).LessThanOrEqual(p.Grams) {
			f.Portions[i].Grams = holds.Value
		}
	}
	return f
}

// Said reports whether a field of the food is known, and not guessed.
func (f Food) Said(field string) bool { return !slices.Contains(f.Guessed, field) }

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
