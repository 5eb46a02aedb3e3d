package recipetext

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]error{
		"": ErrNoIngredients, "Pie": ErrNoIngredients, "Pie\nIngredients\n": ErrNoIngredients, "{": ErrNotJSON, "[1, 2": ErrNotJSON, "{}": ErrNoRecipe, `{"@type": "Person"}`: ErrNoRecipe, "[[[[]]]]": ErrNoRecipe,
		"<html><body>nothing</body></html>": ErrNoRecipe, `{"@type": "Recipe", "name": "Pie"}`: ErrNoIngredients, `<script type="application/ld+json">{</script>`: ErrNotJSON,
		strings.Repeat("x", MaxText+1): ErrTooLong, strings.Repeat("[", 100000): ErrNotJSON,
	} {
		_, err := Read(text)
		require.ErrorIs(t, err, want, text[:min(len(text), 60)])
	}
}

func FuzzRead(f *testing.F) {
	for _, text := range []string{
		"Toast\nServes 2\nIngredients\n2 slices bread\nSteps\nToast.", `{"@type":"Recipe","name":"x","recipeIngredient":["1 egg"],"recipeInstructions":{"@type":"HowToSection","itemListElement":[{"text":"a"}]},"totalTime":"PT1H"}`,
		`<div itemtype="http://schema.org/Recipe"><i itemprop="recipeIngredient">1 egg</i><b itemprop="recipeYield">4</b></div>`, "Crêpes\nIngrédients pour 6 personnes\n3 c. à soupe de farine", "<ol><li>&amp;amp;</li></ol>",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Read(text)
		if err != nil {
			return
		}
		require.NotEmpty(t, r.Lines)
		require.True(t, r.Servings >= 0 && r.Servings <= maxServings)
		require.LessOrEqual(t, len(r.Tags), maxTags)
		for _, minutes := range []int{r.Prep, r.Cook, r.Total} {
			require.True(t, minutes >= 0 && minutes <= maxMinutes)
		}
		for _, l := range r.Lines {
			require.NotEmpty(t, l.Text)
			require.NotContains(t, l.Text, "\n")
		}
		require.LessOrEqual(t, len([]rune(r.Name)), 120)
	})
}
