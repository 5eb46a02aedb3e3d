package quantity

import (
	"errors"
	"fmt"
	"math/big"
	"strings"

	"github.com/shopspring/decimal"
)

// Places is how many decimal places amounts have at most: a microgram of flour.
const Places = 6

// maxDigits bounds the numbers in texts, before and after the point.
const maxDigits = 9

// ErrNumber is the error of a text that is not an amount's number.
var ErrNumber = errors.New("not a number from 0 to 999999999 with at most 6 decimal places")

// ParseNumber reads a plain decimal number of JSON, a form or a file, such as
// "1.5". It takes no exponents, signs or fractions; lines of recipes are read by
// ParseLine.
func ParseNumber(text string) (decimal.Decimal, error) {
	whole, fraction, point := strings.Cut(text, ".")
	if !digits(whole) || len(whole) > maxDigits || point && !digits(fraction) || len(fraction) > Places {
		return decimal.Zero, fmt.Errorf("%q: %w", clip(text), ErrNumber)
	}
	return decimal.NewFromString(text)
}

func digits(s string) bool {
	for _, r := range s {
		if r < '0' || r > '9' {
			return false
		}
	}
	return s != ""
}

// clip keeps a text short enough for a message.
func clip(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:57]) + "..."
	}
	return s
}

// Amount is a number of units.
type Amount struct {
	Value decimal.Decimal `json:"value"`
	Unit  Unit            `json:"unit"`
}

// Of returns an amount. Its value is rounded to Places.
func Of(value decimal.Decimal, unit Unit) Amount { return Amount{value.Round(Places), unit} }

// Scale returns the amount times a factor, as for more people.
func (a Amount) Scale(factor decimal.Decimal) Amount { return Of(a.Value.Mul(factor), a.Unit) }

// Canonical returns the amount in g, ml or pieces, by the sizes of units alone.
// Other counts (cloves, cans, bunches) stay what they are: what one of them
// weighs is a fact of the food.
func (a Amount) Canonical(s System) Amount {
	switch a.Unit.Dimension() {
	case Mass:
		return Of(a.Value.Mul(a.Unit.size(s)), Gram)
	case Volume:
		return Of(a.Value.Mul(a.Unit.size(s)), Millilitre)
	case Count:
		if a.Unit.isPiece() {
			return Of(a.Value, Piece)
		}
	}
	return Of(a.Value, a.Unit)
}

// fractions that cooks read more easily than decimals.
var fractions = map[string]string{
	"0.125": "⅛", "0.25": "¼", "0.333": "⅓", "0.375": "⅜", "0.5": "½", "0.625": "⅝", "0.667": "⅔", "0.75": "¾", "0.875": "⅞",
}

// String returns the amount as a cook reads it: "1.5 kg", "½ tsp", "2 cloves",
// "3". It is rounded to three places, and never to nothing.
func (a Amount) String() string {
	thousand := decimal.NewFromInt(1000)
	if large, ok := map[Unit]Unit{Gram: "kg", Millilitre: "l"}[a.Unit]; ok && a.Value.GreaterThanOrEqual(thousand) {
		a = Amount{a.Value.Div(thousand), large}
	}
	number := a.Value.Round(3)
	if number.IsZero() && !a.Value.IsZero() {
		number = a.Value
	}
	text := number.String()
	kitchen := a.Unit == "" || a.Unit.Dimension() == Count || a.Unit == "tsp" || a.Unit == "tbsp" || a.Unit == "cup"
	if whole := number.Truncate(0); kitchen && number.IsPositive() {
		if f, ok := fractions[number.Sub(whole).String()]; ok {
			text = f
			if !whole.IsZero() {
				text = whole.String() + f
			}
		}
	}
	switch {
	case a.Unit == Piece || a.Unit == "":
		return text
	case number.GreaterThan(decimal.NewFromInt(1)):
		return text + " " + plural(a.Unit)
	}
	return text + " " + strings.ReplaceAll(string(a.Unit), "-", " ")
}

// With returns the amount with what it is of: "3 cloves garlic", "1 egg". Of nothing, or where
// nobody knows how much, it is the name alone.
func (a Amount) With(name string) string {
	if a.Unit == "" || !a.Value.IsPositive() {
		return name
	}
	if a.Unit.isPiece() && a.Value.LessThanOrEqual(decimal.NewFromInt(1)) {
		name = one(name)
	}
	return a.String() + " " + name
}

// one is the name of one of several: "spring onion" of "spring onions".
func one(name string) string {
	at := strings.LastIndexByte(name, ' ') + 1
	return name[:at] + singular(name[at:])
}

// plural is what is written behind more than one. Abbreviations have none.
func plural(u Unit) string {
	switch u {
	case "cup", "pint", "quart", "gallon":
		return string(u) + "s"
	}
	if u.Dimension() != Count {
		return strings.ReplaceAll(string(u), "-", " ")
	}
	switch u {
	case "small", "medium", "large":
		return string(u)
	case "leaf", "loaf":
		return strings.TrimSuffix(string(u), "f") + "ves"
	case "bunch":
		return "bunches"
	}
	return string(u) + "s"
}

// ratio is n/d, rounded to Places.
func ratio(n, d int64) decimal.Decimal {
	return decimal.NewFromBigRat(big.NewRat(n, d), Places)
}
