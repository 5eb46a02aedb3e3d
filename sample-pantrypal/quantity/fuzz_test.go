package quantity

import (
	"strings"
	"testing"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"
)

// glue are words of a line that are not part of what it says.
var glue = set("a an one two three four five six seven eight nine ten eleven twelve dozen half quarter and of to or x plus each about approximately approx around roughly ca circa heaped heaping level rounded scant generous optional optionally whole the")

func FuzzParseLine(f *testing.F) {
	for text := range lines {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, system := range []System{Metric, US} {
			line, err := ParseLine(text, system)
			if err != nil {
				require.Equal(t, Line{Text: text}, line)
				return
			}
			require.NotEmpty(t, line.Name)
			require.Equal(t, line.Unit != "", line.Amount.Valid, "an amount has a unit")
			require.True(t, line.Unit == "" || line.Unit.Known())
			require.Equal(t, line.Package != "", line.Packages.Valid)
			require.False(t, line.Amount.Decimal.IsNegative())
			require.LessOrEqual(t, -line.Amount.Decimal.Exponent(), int32(Places))
			if line.AmountMax.Valid {
				require.True(t, line.Amount.Valid && line.AmountMax.Decimal.GreaterThanOrEqual(line.Amount.Decimal))
			}
			kept := " " + strings.ToLower(clean(line.Name+" "+line.Preparation)) + " "
			for _, w := range words(text) {
				if _, unit := ParseUnit(w); !unit && !glue[singular(w)] && w != "fluid" && w != "fl" {
					require.Contains(t, kept, w, "nothing of the text is lost")
				}
			}
		}
	})
}

// words returns the words of a text without the digits that stick to them.
func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(clean(text)), func(r rune) bool { return !inWord(r) })
}

func FuzzParseNumber(f *testing.F) {
	for _, text := range []string{"1", "1.5", "1e9", "-1", "0.000001", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := ParseNumber(text)
		if err != nil {
			require.ErrorIs(t, err, ErrNumber)
			return
		}
		require.False(t, n.IsNegative())
		require.True(t, n.Equal(n.Round(Places)))
		again, err := ParseNumber(n.String())
		require.NoError(t, err)
		require.True(t, n.Equal(again))
	})
}

func FuzzParseUnit(f *testing.F) {
	for _, d := range definitions {
		f.Add(string(d.unit) + " " + d.words)
	}
	f.Fuzz(func(t *testing.T, word string) {
		u, ok := ParseUnit(word)
		require.Equal(t, ok, u.Known())
	})
}

func FuzzFind(f *testing.F) {
	for _, c := range cupboard {
		for _, n := range c.Names {
			f.Add("2 large " + n + ", chopped")
		}
	}
	x, err := NewIndex(cupboard)
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, text string) {
		m := x.Find(text)
		if upper := strings.ToUpper(text); strings.EqualFold(upper, text) { // not so for a dotless i
			require.Equal(t, m, x.Find(upper), "case does not count")
		}
		if m.ID == "" {
			require.LessOrEqual(t, len(m.Candidates), maxCandidates)
			return
		}
		// Only words that say nothing of the food were dropped.
		said := strings.Fields(normalize(text))
		for _, w := range said {
			if !qualifiers[w] && !parts[w] {
				require.True(t, hasWord(m.ID, w), "%q was found as %s in spite of %q", text, m.ID, w)
			}
		}
	})
}

func hasWord(id, word string) bool {
	for _, c := range cupboard {
		for _, n := range c.Names {
			if c.ID == id && strings.Contains(" "+normalize(n)+" ", " "+word+" ") {
				return true
			}
		}
	}
	return false
}

func FuzzConvert(f *testing.F) {
	f.Add(int64(15), int64(53), int64(3), uint8(1), uint8(9))
	f.Fuzz(func(t *testing.T, value, density, weight int64, from, to uint8) {
		if value < 0 || density < 0 || weight < 0 || value > 1e12 || density > 1e6 || weight > 1e9 {
			return // no food is like that
		}
		units := Units()
		a := Of(decimal.New(value, -3), units[int(from)%len(units)])
		food := Food{Name: "x", Density: decimal.New(density, -2), Portions: []Portion{{a.Unit, decimal.New(weight, -1)}}}
		target := units[int(to)%len(units)]
		got, err := food.Convert(a, target, US)
		if err != nil {
			return
		}
		require.Equal(t, target, got.Unit)
		require.False(t, got.Value.IsNegative())
		back, err := food.Convert(got, a.Unit, US)
		require.NoError(t, err, "what converts, converts back")
		one, err := food.Convert(Amount{decimal.New(1, -Places), target}, a.Unit, US)
		require.NoError(t, err)
		slack := one.Value.Mul(decimal.NewFromInt(2)).Add(decimal.New(2, -Places))
		require.True(t, back.Value.Sub(a.Value).Abs().LessThanOrEqual(slack), "%s became %s and then %s", a, got, back)
	})
}
