// Package stilllife draws a picture of a dish: a table from above, the vessel that the dish comes
// in, and what is in it. One style for all recipes, those that a household adds too.
//
// What belongs here: drawing, from what is known of a dish. Not here: reading a recipe, a
// file, or anything random. The same dish is the same picture, byte for byte.
package stilllife

import (
	"hash/fnv"
	"slices"
	"strings"
)

// Dish is what a picture is drawn of.
type Dish struct {
	Name  string
	Kinds []string // tags and kinds of meals, such as soup, baking, dessert
	Foods []string // ids or names of what goes into it, the main things first
}

// Size of a picture, in units of its own; pages scale it.
const (
	Width  = 320
	Height = 240
)

// Type is the media type of a picture.
const Type = "image/svg+xml"

// scene is what is chosen for a dish before it is drawn.
type scene struct {
	vessel   vessel
	base     base
	toppings []topping
}

// mostToppings is how many different things lie in a vessel: with more of them nothing is seen.
const mostToppings = 4

// Draw returns the picture of a dish as SVG. It has no text and refers to nothing, so that it may be
// shown under any content security policy.
func Draw(d Dish) []byte {
	c := newCanvas(seedOf(d.Name))
	s := compose(d)
	c.table(s)
	c.serve(s)
	return c.bytes()
}

// compose chooses the vessel, what fills it, and what lies on top.
func compose(d Dish) scene {
	name := strings.ToLower(d.Name)
	s := scene{vessel: vesselOf(name, d.Kinds)}
	s.base = baseOf(name, d.Kinds, d.Foods, s.vessel)
	for _, food := range byProminence(name, d.Foods) {
		t, known := toppingOf(food)
		if s.base.draw != nil && t.shape == "egg" && !strings.Contains(name, "egg") {
			continue // it is in the dough
		}
		if !known || slices.ContainsFunc(s.toppings, t.resembles) || t.shape == s.base.shape {
			continue
		}
		if s.toppings = append(s.toppings, t); len(s.toppings) == mostToppings {
			break
		}
	}
	return s
}

// byProminence has the foods that a dish is named after before the others.
func byProminence(name string, foods []string) []string {
	out := slices.Clone(foods)
	rank := func(food string) int {
		for _, word := range strings.FieldsFunc(strings.ToLower(food), separates) {
			if len(word) > 3 && strings.Contains(name, strings.TrimSuffix(word, "s")) {
				return 0
			}
		}
		return 1
	}
	slices.SortStableFunc(out, func(a, b string) int { return rank(a) - rank(b) })
	return out
}

func separates(r rune) bool { return r == ' ' || r == '-' || r == '_' }

// seedOf is where the arrangement of a dish begins.
func seedOf(name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return h.Sum64()
}

// firstOf returns the value of the first entry that one of the texts has a word of.
func firstOf[V any](table []entry[V], texts ...string) (V, bool) {
	for _, e := range table {
		for _, word := range strings.Fields(e.words) {
			for _, text := range texts {
				if has(text, word) {
					return e.value, true
				}
			}
		}
	}
	var none V
	return none, false
}

// entry is a line of a table: what any of the words stands for. A plus joins words that stand
// together.
type entry[V any] struct {
	words string
	value V
}

// has reports whether a text has a word, or a longer one that begins with it.
func has(text, word string) bool {
	text = " " + strings.Map(func(r rune) rune {
		if separates(r) {
			return ' '
		}
		return r
	}, strings.ToLower(text))
	return strings.Contains(text, " "+strings.ReplaceAll(word, "+", " "))
}
