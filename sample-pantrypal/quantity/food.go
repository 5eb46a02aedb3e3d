package quantity

import (
	"fmt"

	"github.com/shopspring/decimal"
)

// Food has the facts by which amounts of one food convert.
type Food struct {
	Name string
	// Density is in g/ml; zero is unknown.
	Density decimal.Decimal
	// Portions say what one of a unit weighs. A portion in a measure of volume
	// is for the US measure, as USDA has it, and stands in for a density where
	// there is none: a cup of leaves.
	Portions []Portion
	// Staple is food that is there or is not: nobody counts grains of salt.
	Staple bool
}

// Portion is what one of a unit of a food weighs.
type Portion struct {
	Unit  Unit
	Grams decimal.Decimal
}

// Unconvertible is the error of an amount that the facts of a food do not
// convert. Nothing is assumed in their place.
type Unconvertible struct {
	Food     string
	From, To Unit
	Missing  string // what would be needed: "a density", "the weight of one clove"
}

func (e *Unconvertible) Error() string {
	return fmt.Sprintf("%s: cannot convert %s to %s without %s", e.Food, e.From, e.To, e.Missing)
}

// Convert returns the amount in another unit. Mass and volume convert by the
// density, counts and mass by portions. The error is *Unconvertible.
func (f Food) Convert(a Amount, to Unit, s System) (Amount, error) {
	fail := func(missing string) (Amount, error) {
		return Amount{}, &Unconvertible{Food: f.Name, From: a.Unit, To: to, Missing: missing}
	}
	from, target := a.Unit.Dimension(), to.Dimension()
	switch {
	case from == "" || target == "":
		return fail("a unit that is known")
	case a.Unit == to || a.Unit.isPiece() && to.isPiece():
		return Of(a.Value, to), nil
	case from == target && from != Count:
		return Of(a.Value.Mul(a.Unit.size(s)).DivRound(to.size(s), Places), to), nil
	}
	one, missing := f.weight(a.Unit, s)
	if missing != "" {
		return fail(missing)
	}
	other, missing := f.weight(to, s)
	if missing != "" {
		return fail(missing)
	}
	return Of(a.Value.Mul(one).DivRound(other, Places), to), nil
}

// weight returns how many grams one u of the food has, or what is missing to
// know.
func (f Food) weight(u Unit, s System) (grams decimal.Decimal, missing string) {
	switch u.Dimension() {
	case Mass:
		return u.size(s), ""
	case Volume:
		density, ok := f.density(u)
		if !ok {
			return decimal.Zero, "a density"
		}
		return density.Mul(u.size(s)), ""
	}
	if g, ok := f.portion(u); ok {
		return g, ""
	}
	return decimal.Zero, "the weight of one " + string(u)
}

// density is the food's, or the one that a portion in a measure of volume has: in
// u itself, if there is one.
func (f Food) density(u Unit) (decimal.Decimal, bool) {
	if f.Density.IsPositive() {
		return f.Density, true
	}
	var found decimal.Decimal
	for _, p := range f.Portions {
		if p.Unit.Dimension() == Volume && p.Grams.IsPositive() && (found.IsZero() || p.Unit == u) {
			found = p.Grams.DivRound(p.Unit.size(US), 2*Places)
		}
	}
	return found, found.IsPositive()
}

// portion returns what one u weighs. A piece without a weight of its own is of
// medium size, and a size without one is a piece.
func (f Food) portion(u Unit) (decimal.Decimal, bool) {
	order := []Unit{u}
	switch {
	case u == Piece:
		order = append(order, "medium")
	case u.isPiece():
		order = append(order, Piece)
	}
	for _, want := range order {
		for _, p := range f.Portions {
			if p.Unit == want && p.Grams.IsPositive() {
				return p.Grams, true
			}
		}
	}
	return decimal.Zero, false
}
