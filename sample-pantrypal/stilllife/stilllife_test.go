package stilllife_test

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/sample-pantrypal/foods"
	"github.com/koan-go/koan/sample-pantrypal/seed/catalogue"
	"github.com/koan-go/koan/sample-pantrypal/stilllife"
)

// dishes are the recipes of the catalogue.
func dishes(t *testing.T) []stilllife.Dish {
	t.Helper()
	c, err := catalogue.Load()
	require.NoError(t, err)
	var out []stilllife.Dish
	for _, r := range c.Recipes {
		d := stilllife.Dish{Name: r.Name, Kinds: append(append([]string{}, r.Tags...), r.Meals...)}
		for _, l := range r.Ingredients {
			d.Foods = append(d.Foods, foods.Slug(l.Food))
		}
		out = append(out, d)
	}
	return out
}

// wellFormed reads a picture, and returns how many things are drawn in it.
func wellFormed(t *testing.T, picture []byte) int {
	t.Helper()
	drawn := 0
	for d := xml.NewDecoder(strings.NewReader(string(picture))); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return drawn
		}
		require.NoError(t, err, "%s", picture)
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		drawn++
		require.NotContains(t, []string{"script", "image", "style", "foreignObject", "a", "use"}, start.Name.Local)
		for _, a := range start.Attr {
			require.NotEqual(t, "style", a.Name.Local, "a policy of pages refuses it")
			require.NotContains(t, a.Value, "NaN")
			require.False(t, strings.HasPrefix(a.Name.Local, "on"))
		}
	}
}

func TestEveryRecipeHasAPictureOfItsOwn(t *testing.T) {
	seen := map[string]string{}
	all := dishes(t)
	require.Greater(t, len(all), 80)
	for _, d := range all {
		picture := stilllife.Draw(d)
		require.Greater(t, wellFormed(t, picture), 15, "%s: too little is in it", d.Name)
		require.Less(t, len(picture), 40_000, d.Name)
		require.Empty(t, seen[string(picture)], "%s has the picture of another dish", d.Name)
		seen[string(picture)] = d.Name
		require.Equal(t, string(picture), string(stilllife.Draw(d)), "%s: the same dish is the same picture", d.Name)
		if dir := os.Getenv("STILLLIFE"); dir != "" { // to look at them
			require.NoError(t, os.WriteFile(filepath.Join(dir, foods.Slug(d.Name)+".svg"), picture, 0o600))
		}
	}
}

// A household's own recipe may be called anything, and have no ingredient that can be drawn.
func FuzzDraw(f *testing.F) {
	f.Add("", "", "")
	f.Add("Omas <b>Auflauf</b> & \"Salat\"", "soup", "tomatoes,,€,\x00")
	f.Add("Pizza", "baking", "mozzarella,basil")
	f.Fuzz(func(t *testing.T, name, kinds, ingredients string) {
		wellFormed(t, stilllife.Draw(stilllife.Dish{Name: name, Kinds: strings.Split(kinds, ","), Foods: strings.Split(ingredients, ",")}))
	})
}
