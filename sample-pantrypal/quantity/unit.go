// Package quantity knows amounts of food: how people write them, which units
// there are, how they convert for one food, and which food a text names.
//
// What belongs here: arithmetic on amounts and the reading of texts, without
// any data about foods. Not here: a database, a clock, a guess. An amount
// that cannot be converted with the facts of its food stays as it is, and the
// answer says why.
package quantity

import (
	"slices"
	"strings"

	"github.com/shopspring/decimal"
)

// Unit is a unit of an amount by its canonical name, such as "g", "tbsp" or
// "clove". The zero value is no unit.
type Unit string

// The canonical units. Sums and stock are kept in them.
const (
	Gram       Unit = "g"
	Millilitre Unit = "ml"
	Piece      Unit = "piece"
)

// Dimension is what a unit measures.
type Dimension string

// Amounts of different dimensions convert by facts of the food alone.
const (
	Mass   Dimension = "mass"
	Volume Dimension = "volume"
	Count  Dimension = "count"
)

// System says how large a cup or a spoon is.
type System string

// In the metric system a cup is 250 ml, and pints are imperial.
const (
	Metric System = "metric"
	US     System = "us"
)

// SystemOf returns the measures that people of a locale ("en-US", "de") cook with.
func SystemOf(locale string) System {
	l := strings.ToLower(strings.ReplaceAll(locale, "_", "-"))
	if strings.HasSuffix(l, "-us") || strings.Contains(l, "-us-") || strings.HasSuffix(l, "-us-posix") {
		return US
	}
	return Metric
}

// definition is one row of the table of units. Size is in grams or millilitres;
// counts have none.
type definition struct {
	unit      Unit
	dimension Dimension
	metric    string
	us        string // where it differs
	words     string // what people write, besides the name itself; plurals in s need no mention
}

var definitions = []definition{
	{"mg", Mass, "0.001", "", "milligram milligramme"},
	{Gram, Mass, "1", "", "gr gram gramme gramm"},
	{"kg", Mass, "1000", "", "kilo kilogram kilogramme kilogramm"},
	{"oz", Mass, "28.349523125", "", "ounce"},
	{"lb", Mass, "453.59237", "", "pound"},
	{Millilitre, Volume, "1", "", "millilitre milliliter cc"},
	{"cl", Volume, "10", "", "centilitre centiliter"},
	{"dl", Volume, "100", "", "decilitre deciliter"},
	{"l", Volume, "1000", "", "litre liter"},
	{"tsp", Volume, "5", "4.92892159375", "teaspoon teaspoonful tl teelöffel"},
	{"tbsp", Volume, "15", "14.78676478125", "tbs tablespoon tablespoonful el esslöffel eßlöffel"},
	{"fl-oz", Volume, "28.4130625", "29.5735295625", "floz"},
	{"cup", Volume, "250", "236.5882365", "cupful c tasse tassen"},
	{"pint", Volume, "568.26125", "473.176473", "pt"},
	{"quart", Volume, "1136.5225", "946.352946", "qt"},
	{"gallon", Volume, "4546.09", "3785.411784", "gal"},
	{Piece, Count, "", "", "pc pcs stück stücke stk"},
	{"small", Count, "", "", ""},
	{"medium", Count, "", "", "med medium-sized"},
	{"large", Count, "", "", "lg big"},
	{"bar", Count, "", "", ""},
	{"bottle", Count, "", "", "flasche flaschen bouteille"},
	{"bulb", Count, "", "", "knolle knollen"},
	{"bunch", Count, "", "", "bunches bund bünde botte"},
	{"can", Count, "", "", "tin dose dosen boîte boite konserve"},
	{"clove", Count, "", "", "zehe zehen gousse"},
	{"cube", Count, "", "", "würfel"},
	{"ear", Count, "", "", "cob"},
	{"fillet", Count, "", "", "filet"},
	{"head", Count, "", "", "kopf köpfe"},
	{"jar", Count, "", "", "glas gläser bocal bocaux"},
	{"leaf", Count, "", "", "leaves blatt blätter feuille"},
	{"loaf", Count, "", "", "loaves"},
	{"pack", Count, "", "", "package packet pkg bag box carton tub packung packungen päckchen pck pkt beutel sachet paquet becher"},
	{"rasher", Count, "", "", ""},
	{"sheet", Count, "", "", ""},
	{"slice", Count, "", "", "scheibe scheiben tranche"},
	{"sprig", Count, "", "", "zweig zweige brin"},
	{"stalk", Count, "", "", "rib stem stange stangen stängel branche"},
	{"stick", Count, "", "", ""},
}

type measure struct {
	dimension  Dimension
	metric, us decimal.Decimal
}

var (
	measures  = map[Unit]measure{}
	unitWords = map[string]Unit{}
)

func init() {
	for _, d := range definitions {
		m := measure{dimension: d.dimension}
		if d.metric != "" {
			m.metric = decimal.RequireFromString(d.metric)
			m.us = m.metric
		}
		if d.us != "" {
			m.us = decimal.RequireFromString(d.us)
		}
		measures[d.unit] = m
		for _, w := range append(strings.Fields(d.words), string(d.unit)) {
			unitWords[w], unitWords[w+"s"] = d.unit, d.unit
		}
	}
}

// spoons are the units of more than one word, the longer before the shorter: a spoon of French recipes
// begins as a cup does.
var spoons = []struct {
	unit    Unit
	phrases []string
}{
	{"fl-oz", []string{"fl oz", "fl. oz.", "fl. oz", "fluid ounces", "fluid ounce", "fluid oz"}},
	{"tbsp", spoonsOf("soupe", "s")},
	{"tsp", append(spoonsOf("café", "c"), spoonsOf("thé", "t")...)},
}

// spoonsOf are the ways to write a French spoon.
func spoonsOf(kind, short string) []string {
	out := []string{}
	for _, spoon := range []string{"cuillères", "cuillère", "cuilleres", "cuillere", "cuillerées", "cuillerée", "cuil.", "cuil", "c."} {
		out = append(out, spoon+" à "+kind, spoon+" a "+kind, spoon+"à "+kind)
	}
	return append(out, "c à "+kind, "c. à "+short+".", "c. à "+short, "c.à."+short+".", "c.à."+short, "c à "+short, "c.a."+short+".", "cà"+short)
}

// ParseUnit returns the unit that a word such as "Tablespoons", "tbsp." or "g"
// names. A capital T alone is a tablespoon and a small t a teaspoon.
func ParseUnit(word string) (Unit, bool) {
	word = strings.TrimSuffix(strings.TrimSpace(word), ".")
	switch word {
	case "T":
		return "tbsp", true
	case "t":
		return "tsp", true
	}
	word = strings.ToLower(word)
	for _, s := range spoons {
		if slices.Contains(s.phrases, word) {
			return s.unit, true
		}
	}
	u, ok := unitWords[word]
	return u, ok
}

// Units returns the names of all units, the order of the table.
func Units() []Unit {
	out := make([]Unit, len(definitions))
	for i, d := range definitions {
		out[i] = d.unit
	}
	return out
}

// Known reports whether u is the name of a unit, and not one of its other words.
func (u Unit) Known() bool { _, ok := measures[u]; return ok }

// Dimension returns what u measures, "" for an unknown unit.
func (u Unit) Dimension() Dimension { return measures[u].dimension }

// size is how many grams or millilitres one u has; zero for counts.
func (u Unit) size(s System) decimal.Decimal {
	if s == US {
		return measures[u].us
	}
	return measures[u].metric
}

// sizes of whole pieces: two large onions are two onions.
var pieceSizes = []Unit{Piece, "small", "medium", "large"}

func (u Unit) isPiece() bool { return slices.Contains(pieceSizes, u) }

// Large is the unit in which a price is compared: kg, l, or the unit itself.
func (u Unit) Large() Unit {
	switch u.Dimension() {
	case Mass:
		return "kg"
	case Volume:
		return "l"
	}
	return u
}
