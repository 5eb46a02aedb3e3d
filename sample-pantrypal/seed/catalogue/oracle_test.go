package catalogue

import (
	"bytes"
	"encoding/json"
	"math"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/sample-pantrypal/quantity"
	"github.com/koan-go/koan/tests/needs"
)

// reading is what the npm package parse-ingredient makes of a line.
type reading struct {
	Amount *float64 `json:"amount"`
	Most   *float64 `json:"most"`
	Unit   *string  `json:"unit"`
	Name   string   `json:"name"`
}

// oddLines are ways to write that no recipe of the catalogue has.
var oddLines = []string{
	"1 1/2 cups flour, sifted", "1½ cups sugar", "1⁄3 cup rice", "1,5 kg potatoes", "2–3 large onions", "2 to 3 tbsp oil", "2 tablespoons of honey",
	"1 pound ground beef", "8oz pasta", "1 quart milk", "1 pint cream", "3 T soy sauce", "1 stick butter", "2 packages yeast", "1 tsp. salt",
	"Juice of 1 lemon", "1 (14 oz) can coconut milk", "2 x 400 g cans chickpeas", "1 cup plus 2 tbsp sugar", "half a cucumber", "a dozen eggs",
	"1 cup (240 ml) milk", "5 cm piece of ginger", "salt and pepper, to taste", "1,500 g flour", "4 chicken breasts (150 g each)", "two eggs", "1 or 2 chillies",
}

// differences are the reasons for which our reading may differ from the oracle's.
// Each has a test of its own for a line, and has to occur.
var differences = []struct {
	reason  string
	applies func(text string, ours quantity.Line, theirs reading) bool
}{
	{"what packages hold counts", func(_ string, ours quantity.Line, _ reading) bool { return ours.Package != "" }},
	{"a length is no amount", func(text string, ours quantity.Line, _ reading) bool {
		return !ours.Amount.Valid && strings.Contains(text, " cm ")
	}},
	{"a unit behind the name is a unit", func(text string, ours quantity.Line, theirs reading) bool {
		return theirs.Unit == nil && ours.Unit.Dimension() == quantity.Count && strings.Contains(theirs.Name, string(ours.Unit)[:3])
	}},
	{"the oracle does not know the unit", func(_ string, ours quantity.Line, theirs reading) bool {
		first, _, _ := strings.Cut(theirs.Name, " ")
		u, ok := quantity.ParseUnit(first)
		return theirs.Unit == nil && ok && u == ours.Unit
	}},
	{"a small bunch is a bunch", func(_ string, ours quantity.Line, theirs reading) bool {
		return theirs.Unit != nil && *theirs.Unit == "small" && ours.Unit == "bunch"
	}},
	{"what is added counts", func(text string, _ quantity.Line, _ reading) bool { return strings.Contains(text, " plus ") }},
	{"words are numbers", func(text string, ours quantity.Line, theirs reading) bool {
		return theirs.Amount == nil && ours.Amount.Valid && !strings.ContainsAny(text[:1], "0123456789¼½")
	}},
	{"a comma before three digits groups thousands", func(text string, _ quantity.Line, _ reading) bool { return strings.Contains(text, "1,500") }},
}

func TestReadingAgreesWithParseIngredient(t *testing.T) {
	c, err := Load()
	require.NoError(t, err)
	texts := oddLines
	for _, r := range c.Recipes {
		texts = append(texts, r.Lines...)
	}
	theirs := ask(t, texts)
	occurred := map[string]int{}
	for i, text := range texts {
		ours, err := quantity.ParseLine(text, quantity.US)
		require.NoError(t, err, text)
		if agree(ours, theirs[i]) {
			continue
		}
		reason := ""
		for _, d := range differences {
			if d.applies(text, ours, theirs[i]) {
				reason = d.reason
				break
			}
		}
		raw, _ := json.Marshal(theirs[i])
		assert.NotEmpty(t, reason, "%q: we read %s %s %q, they %s", text, ours.Amount.Decimal, ours.Unit, ours.Name, raw)
		occurred[reason]++
	}
	t.Logf("%d lines; differences: %v", len(texts), occurred)
	for _, d := range differences {
		assert.NotZero(t, occurred[d.reason], "no line differs because %s", d.reason)
	}
}

// ask has the npm package read lines.
func ask(t *testing.T, texts []string) []reading {
	t.Helper()
	raw, err := json.Marshal(texts)
	require.NoError(t, err)
	const program = "../../../tests/npm/ingredients.mjs"
	needs.Node(t)
	cmd := exec.CommandContext(t.Context(), "node", program)
	cmd.Stdin = bytes.NewReader(raw)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	require.NoError(t, err, said.String())
	var readings []reading
	require.NoError(t, json.Unmarshal(out, &readings))
	require.Len(t, readings, len(texts))
	return readings
}

// agree reports whether both read the same amount and unit, and our name is the
// start of their description or part of it.
func agree(ours quantity.Line, theirs reading) bool {
	same := func(o float64, valid bool, t *float64) bool {
		return valid == (t != nil) && (t == nil || math.Abs(o-*t) < 0.001)
	}
	if !same(ours.Amount.Decimal.InexactFloat64(), ours.Amount.Valid, theirs.Amount) || !same(ours.AmountMax.Decimal.InexactFloat64(), ours.AmountMax.Valid, theirs.Most) {
		return false
	}
	unit := quantity.Unit("")
	if ours.Amount.Valid {
		unit = quantity.Piece
	}
	if theirs.Unit != nil {
		unit, _ = quantity.ParseUnit(*theirs.Unit)
	}
	return unit == ours.Unit && strings.Contains(theirs.Name, ours.Name)
}
