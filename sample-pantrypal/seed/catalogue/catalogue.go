// Package catalogue has what PantryPal knows before anybody has cooked: foods and
// what they weigh, products with barcodes, recipes, stores, and two households.
//
// What belongs here: that data as files which people can edit, their strict
// decoding and checking. Not here: a database, a clock, or figures that no
// file says.
package catalogue

import (
	"bytes"
	"embed"
	"encoding/csv"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/shopspring/decimal"
	"go.yaml.in/yaml/v3"

	"github.com/koan-go/koan/sample-pantrypal/quantity"
)

// Source is where nutrition and portions come from.
const Source = "USDA FoodData Central, SR Legacy"

//go:embed *.csv *.yaml
var files embed.FS

// Catalogue is all of it. It is read-only.
type Catalogue struct {
	Foods      []Food
	Products   []Product
	Recipes    []Recipe
	Stores     []Store
	Households []Household

	byName map[string]int // foods
	index  *quantity.Index
}

// Load returns the catalogue of the embedded files, decoded and checked once. The
// error names everything that is wrong with them.
var Load = sync.OnceValues(func() (*Catalogue, error) { return read(files) })

// Version is another number for each content of what every set has: the files without the
// households, whose rows are theirs once they are written.
var Version = sync.OnceValue(func() int32 {
	h := fnv.New32a()
	for _, name := range []string{"foods.csv", "everyday.csv", "names.csv", "portions.csv", "products.csv", "recipes.yaml", "stores.yaml"} {
		raw, err := files.ReadFile(name)
		if err != nil {
			panic(err) // embedded
		}
		h.Write(raw)
	}
	return int32(h.Sum32())
})

// Food returns the food of that name, as the files write it.
func (c *Catalogue) Food(name string) (Food, bool) {
	i, ok := c.byName[name]
	if !ok {
		return Food{}, false
	}
	return c.Foods[i], true
}

// Index finds foods by texts. The ids of its matches are names of foods.
func (c *Catalogue) Index() *quantity.Index { return c.index }

func read(from interface {
	ReadFile(name string) ([]byte, error)
},
) (*Catalogue, error) {
	c := &Catalogue{byName: map[string]int{}}
	var p problems
	table := func(name string, columns []string, row func(*record)) {
		raw, err := from.ReadFile(name)
		p.add(err)
		p.add(readTable(name, raw, columns, row))
	}
	document := func(name string, out any) {
		raw, err := from.ReadFile(name)
		p.add(err)
		p.add(decode(name, raw, out))
	}
	table("foods.csv", foodColumns, func(r *record) { c.Foods = append(c.Foods, r.food()) })
	table("everyday.csv", everydayColumns, func(r *record) { c.Foods = append(c.Foods, r.everyday()) })
	for i, f := range c.Foods {
		p.when(slices.ContainsFunc(c.Foods[:i], func(o Food) bool { return o.Name == f.Name }), "%s occurs twice", f.Name)
		c.byName[f.Name] = i
	}
	table("names.csv", nameColumns, func(r *record) {
		if at, ok := c.byName[r.text("food")]; ok {
			c.Foods[at].Aliases = append(c.Foods[at].Aliases, r.list("names")...)
		} else {
			r.fail("food", "is no food")
		}
	})
	table("portions.csv", portionColumns, func(r *record) {
		if at, ok := c.byName[r.text("food")]; ok {
			c.Foods[at].Portions = append(c.Foods[at].Portions, r.portion())
		} else {
			r.fail("food", "is not in foods.csv")
		}
	})
	table("products.csv", productColumns, func(r *record) { c.Products = append(c.Products, r.product()) })
	document("recipes.yaml", &c.Recipes)
	document("stores.yaml", &c.Stores)
	document("households.yaml", &c.Households)
	var err error
	c.index, err = quantity.NewIndex(named(c.Foods))
	p.add(err)
	if len(p) == 0 {
		p = c.check()
	}
	if err := errors.Join(p...); err != nil {
		return nil, fmt.Errorf("catalogue: %w", err)
	}
	return c, nil
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

// record is one row of a table by the names of its columns. It collects what is
// wrong with its cells.
type record struct {
	file  string
	line  int
	cells map[string]string
	problems
}

// readTable reads a CSV file whose first row names exactly the given columns.
func readTable(name string, raw []byte, columns []string, row func(*record)) error {
	in := csv.NewReader(bytes.NewReader(raw))
	in.Comment = '#'
	head, err := in.Read()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if !slices.Equal(head, columns) {
		return fmt.Errorf("%s: the columns are %s; want %s", name, strings.Join(head, ","), strings.Join(columns, ","))
	}
	var found problems
	for {
		cells, err := in.Read()
		if errors.Is(err, io.EOF) {
			return errors.Join(found...)
		}
		if err != nil {
			return errors.Join(append(found, fmt.Errorf("%s: %w", name, err))...)
		}
		line, _ := in.FieldPos(0)
		r := &record{file: name, line: line, cells: map[string]string{}}
		for i, c := range cells {
			r.cells[columns[i]] = strings.TrimSpace(c)
		}
		row(r)
		found = append(found, r.problems...)
	}
}

func (r *record) fail(column, what string) {
	r.when(true, "%s:%d: %s %q %s", r.file, r.line, column, r.cells[column], what)
}

func (r *record) text(column string) string {
	if r.cells[column] == "" {
		r.fail(column, "must not be empty")
	}
	return r.cells[column]
}

func (r *record) list(column string) []string {
	out := []string{}
	for part := range strings.SplitSeq(r.cells[column], ";") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// number reads a decimal; an empty cell is zero.
func (r *record) number(column string) decimal.Decimal {
	if r.cells[column] == "" {
		return decimal.Zero
	}
	n, err := quantity.ParseNumber(r.cells[column])
	if err != nil {
		r.fail(column, "is "+quantity.ErrNumber.Error())
	}
	return n
}

// days reads a whole number of days; an empty cell is zero.
func (r *record) days(column string) int {
	n := r.number(column)
	if !n.IsInteger() || n.GreaterThan(decimal.NewFromInt(5000)) {
		r.fail(column, "is not a number of days up to 5000")
	}
	return int(n.IntPart())
}

func (r *record) unit(column string) quantity.Unit {
	u := quantity.Unit(r.text(column))
	if !u.Known() {
		r.fail(column, "is not a unit")
	}
	return u
}

// problems collects everything that is wrong.
type problems []error

func (p *problems) add(err error) {
	if err != nil {
		*p = append(*p, err)
	}
}

func (p *problems) when(wrong bool, format string, args ...any) {
	if wrong {
		*p = append(*p, fmt.Errorf(format, args...))
	}
}

func (p *problems) oneOf(at, what string, allowed []string, got ...string) {
	for _, g := range got {
		p.when(!slices.Contains(allowed, g), "%s: unknown %s %q; want one of %s", at, what, g, strings.Join(allowed, ", "))
	}
}
