package quantity

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var cupboard = []Named{
	{"onion", []string{"Onions", "yellow onions"}},
	{"tomato", []string{"Tomatoes"}},
	{"canned tomato", []string{"Canned tomatoes", "crushed tomatoes"}},
	{"feta", []string{"Feta", "feta cheese"}},
	{"lime", []string{"Limes"}},
	{"basil", []string{"Basil", "basil leaves"}},
	{"clove", []string{"Cloves", "ground cloves"}},
	{"garlic", []string{"Garlic"}},
	{"creme", []string{"Crème fraîche"}},
	{"coconut milk", []string{"Coconut milk"}},
	{"milk", []string{"Milk", "whole milk"}},
	{"pepper", []string{"Black pepper", "pepper"}},
	{"salt", []string{"Salt"}},
	{"chicken", []string{"Chicken breast"}},
}

func TestIndexFinds(t *testing.T) {
	x, err := NewIndex(cupboard)
	require.NoError(t, err)
	for text, want := range map[string]string{
		"Onion": "onion", "large onions": "onion", "FETA": "feta", "Feta Cheese, crumbled": "feta", "ripe tomatoes": "tomato",
		"finely chopped onion": "onion", "crushed tomatoes": "canned tomato", "creme fraiche": "creme", "CRÈME FRAÎCHE": "creme",
		"garlic cloves": "garlic", "cloves": "clove", "whole cloves": "clove", "fresh basil leaves": "basil", "sprigs of basil": "basil",
		"freshly ground pepper": "", "coconut milk": "coconut milk", "whole milk": "milk", "cold milk": "milk",
		// None of these is what it contains the name of.
		"lime leaves": "", "salt and pepper": "", "dried tomatoes": "", "milk chocolate": "", "chicken": "", "chicken stock": "", "onion powder": "",
		"coconut": "", "": "", "fresh": "", "smoked garlic": "", "tomato sauce": "", "buttermilk": "", "piece": "",
	} {
		assert.Equal(t, want, x.Find(text).ID, "%q", text)
	}
}

func TestIndexNamesCandidates(t *testing.T) {
	x, err := NewIndex(cupboard)
	require.NoError(t, err)
	for text, first := range map[string]string{"tomatoe": "tomato", "onoin": "onion", "salt and pepper": "pepper", "chicken": "chicken", "feta chese": "feta"} {
		m := x.Find(text)
		assert.Empty(t, m.ID, text)
		require.NotEmpty(t, m.Candidates, text)
		assert.Contains(t, m.Candidates[:min(2, len(m.Candidates))], first, text)
		assert.LessOrEqual(t, len(m.Candidates), 5)
	}
	assert.Empty(t, x.Find("xyzzy").Candidates)
	assert.Empty(t, x.Find("onion").Candidates, "a food that was found needs no candidates")
}

func TestCannedFoodComesInCans(t *testing.T) {
	x, err := NewIndex(cupboard)
	require.NoError(t, err)
	for text, want := range map[string]string{
		"1 can tomatoes": "canned tomato", "2 tins (400 g) chopped tomatoes": "canned tomato", "400 g chopped tomatoes": "tomato", "1 can coconut milk": "coconut milk",
	} {
		line, err := ParseLine(text, Metric)
		require.NoError(t, err)
		assert.Equal(t, want, x.FindLine(line).ID, text)
	}
}

func TestIndexRefusesNamesOfTwoFoods(t *testing.T) {
	_, err := NewIndex([]Named{{"a", []string{"Tomatoes"}}, {"b", []string{"Potatoes", "tomato"}}, {"c", []string{"!"}}})
	assert.EqualError(t, err, "\"tomato\" of b is a name of a\n\"!\" of c is not a name")
}
