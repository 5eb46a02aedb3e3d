package foods_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/sample-pantrypal/foods"
	"github.com/koan-go/koan/sample-pantrypal/seed/catalogue"
)

func TestLikeTakesWhatTheLastWordSays(t *testing.T) {
	t.Parallel()
	var b *foods.Book
	for name, want := range map[string]string{
		"plum jam": "Jam", "goat gouda": "Gouda", "Oat cuisine cream": "Cream", "truffle gnocchi": "Gnocchi", "garlic toilet paper": "Toilet paper", "elderflower vinegar": "White vinegar",
		"stardust": "", "plum surprise": "", "": "", "...": "",
	} {
		f, known := b.Like(name)
		assert.Equal(t, want, f.Name, name)
		assert.Equal(t, want != "", known, name)
	}
}

func TestOwnNamesComeBeforeThoseOfTheCatalogue(t *testing.T) {
	t.Parallel()
	b := foods.NewBook([]foods.Own{
		{ID: "feta", Name: "Feta", Names: []string{"salad cheese"}, Catalogue: true},
		{ID: "x", Name: "Zorblatts", Names: []string{"zorbs"}, Facts: catalogue.Food{Aisle: "attic"}, Guessed: []string{"allergens"}},
	})
	for name, want := range map[string]string{"salad cheeses": "feta", "fresh zorblatt": "x", "Zorbs": "x", "milk": "milk", "large onions": "onions"} {
		require.Equal(t, want, b.Find(name).ID, name)
	}
	f, known := b.Of("x")
	require.True(t, known)
	require.False(t, f.Said("allergens"))
	require.True(t, b.IsAisle("Attic"))
	require.Contains(t, b.Find("zorblat").Candidates, "x")
}
