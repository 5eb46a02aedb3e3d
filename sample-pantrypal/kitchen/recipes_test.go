package kitchen

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/koan-go/koan/sample-pantrypal/recipetext"
)

var update = flag.Bool("update", false, "write the golden file anew")

// Recipes are read as they are written: each line joins its food, or stays with a reason, and nothing
// is there that the text does not say.
func TestRecipesInRealShapes(t *testing.T) {
	t.Parallel()
	archive, err := txtar.ParseFile("testdata/recipes.txtar")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(archive.Files), 60)
	var got strings.Builder
	for _, f := range archive.Files {
		text := string(f.Data)
		if f.Name == "21-windows-lines" {
			text = strings.ReplaceAll(text, "\n", "\r\n")
		}
		r, err := recipetext.Read(text)
		require.NoError(t, err, f.Name)
		filed := strings.TrimSpace(strings.Join(append(append(r.Meals, r.Tags...), r.Cuisine), " "))
		fmt.Fprintf(&got, "%s: %s | serves %d | %d + %d of %d min | %d steps [%s]\n", f.Name, r.Name, r.Servings, r.Prep, r.Cook, r.Total, len(r.Steps), filed)
		for _, l := range r.Lines {
			for _, one := range (household{}).readLine(l.Text) {
				fmt.Fprintf(&got, "  %s <- %s\n", shownLine(one, l.Part), l.Text)
			}
		}
	}
	const golden = "testdata/recipes.golden"
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(got.String()), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err, "run with -update")
	assert.Equal(t, string(want), got.String())
}

// shownLine is a line in short: its food or name, how much, what is done to it, and what it is for.
func shownLine(l readLine, part string) string {
	text := "? " + l.Name
	if l.FoodID != nil {
		text = *l.FoodID
	}
	if l.Amount != nil {
		text += fmt.Sprintf(" = %v", *l.Amount)
		if l.AmountMax != nil {
			text += fmt.Sprintf("-%v", *l.AmountMax)
		}
		text += " " + *l.Unit
	}
	for _, more := range []string{l.Preparation, part, l.Problem} {
		if more != "" {
			text += " (" + more + ")"
		}
	}
	return text
}
