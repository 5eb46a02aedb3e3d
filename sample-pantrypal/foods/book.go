package foods

import (
	"maps"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/koan-go/koan/sample-pantrypal/quantity"
	"github.com/koan-go/koan/sample-pantrypal/seed/catalogue"
)

// Book is what a household knows of foods: the catalogue, its own foods, and the names that it has
// given to either. A nil Book is the catalogue alone.
type Book struct {
	own   map[string]Food
	index *quantity.Index
}

// Own is a row of a household's own food, or of one of the catalogue to which it gives names.
type Own struct {
	ID, Name  string
	Names     []string // beside Name: of a food of the catalogue, those that the household gives it
	Catalogue bool
	Facts     catalogue.Food
	Guessed   []string
}

// NewBook returns the catalogue with what a household knows beside it. Where two of its foods claim
// a name, the first has it: whoever writes a name checks that it is free.
func NewBook(rows []Own) *Book {
	if len(rows) == 0 {
		return nil
	}
	b := &Book{own: map[string]Food{}}
	names := make([]quantity.Named, len(rows))
	for i, r := range rows {
		names[i] = quantity.Named{ID: r.ID, Names: r.Names}
		if r.Catalogue {
			continue
		}
		names[i].Names = append([]string{r.Name}, r.Names...)
		f := Food{Food: r.Facts, ID: r.ID, Guessed: r.Guessed}
		f.Name, f.Aliases = r.Name, r.Names
		b.own[r.ID] = f
	}
	index, _ := quantity.NewIndex(names)
	b.index = index.Over(open().index)
	return b
}

func (b *Book) names() *quantity.Index {
	if b == nil {
		return open().index
	}
	return b.index
}

// Of returns the food with an id.
func (b *Book) Of(id string) (Food, bool) {
	if b != nil {
		if f, ok := b.own[id]; ok {
			return f, true
		}
	}
	f, ok := open().byID[id]
	return f, ok
}

// Find returns the food that a name stands for.
func (b *Book) Find(name string) quantity.Match { return b.names().Find(name) }

// FindLine returns the food of a line of a recipe.
func (b *Book) FindLine(l quantity.Line) quantity.Match { return b.names().FindLine(l) }

// Named returns the food that has exactly a name, case and number apart.
func (b *Book) Named(name string) (Food, bool) {
	id, ok := b.names().Named(name)
	if !ok {
		return Food{}, false
	}
	return b.Of(id)
}

// Forms returns the foods that are the same as one in another form, by the catalogue: of the same
// entry of USDA (tomatoes and cherry tomatoes), or of the same name but for how they were kept and
// their colour (canned tomatoes). Products made from it, such as ketchup, are other foods.
func (b *Book) Forms(id string) []string { return open().forms[id] }

// IsAisle reports whether shops have foods in an aisle of this name.
func (b *Book) IsAisle(name string) bool {
	in := func(f Food) bool { return strings.EqualFold(f.Aisle, name) }
	for _, f := range open().byID {
		if in(f) {
			return true
		}
	}
	return b != nil && slices.ContainsFunc(slices.Collect(maps.Values(b.own)), in)
}

// Like returns the food that a new one of some name is most like. The last word of a name says what
// it is: plum jam is like jam and no plum. It is false where no food ends so.
func (b *Book) Like(name string) (Food, bool) {
	words := quantity.Words(name)
	if len(words) == 0 {
		return Food{}, false
	}
	kind := words[len(words)-1]
	var second Food
	for _, id := range append(b.Find(kind).Candidates, b.Find(name).Candidates...) {
		f, _ := b.Of(id)
		for _, other := range append([]string{f.Name}, f.Aliases...) {
			theirs := quantity.Words(other)
			if len(theirs) == 0 || theirs[len(theirs)-1] != kind {
				continue
			}
			if !slices.ContainsFunc(theirs, func(w string) bool { return !slices.Contains(words, w) }) {
				return f, true
			}
			if second.ID == "" {
				second = f
			}
		}
	}
	if f, known := b.Named(kind); known {
		return f, true
	}
	return second, second.ID != ""
}

// Figures returns a decimal of a column; nil is none.
func Figures(v *float64) decimal.Decimal {
	if v == nil {
		return decimal.Zero
	}
	return decimal.NewFromFloat(*v)
}
