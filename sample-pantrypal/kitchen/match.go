package kitchen

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/sample-pantrypal/quantity"
)

// maxAlike is how many names an answer proposes.
const maxAlike = 8

type matchIn struct {
	Name  string   `json:"name"`
	Among []string `json:"among" jsonschema:"maxItems=100000"`
}

type matchOut struct {
	Same  []int `json:"same"  jsonschema_description:"places of the names that are the name, case and plural apart"`
	Fits  []int `json:"fits"  jsonschema_description:"places of those that have all of its words"`
	Alike []int `json:"alike" jsonschema_description:"places of those that have one of its words, or a part that is written so"`
}

// matchNames is the action match-names.
func matchNames(_ context.Context, _ framework.Call, in matchIn) (matchOut, error) {
	return matchAmong(in.Name, in.Among), nil
}

func matchAmong(name string, among []string) matchOut {
	out := matchOut{Same: []int{}, Fits: []int{}, Alike: []int{}}
	words := quantity.Words(name)
	if len(words) == 0 {
		return out
	}
	for i, other := range among {
		theirs := quantity.Words(other)
		has := func(w string) bool { return slices.Contains(theirs, w) }
		if slices.Equal(words, theirs) {
			out.Same = append(out.Same, i)
		}
		if !slices.ContainsFunc(words, func(w string) bool { return !has(w) }) {
			out.Fits = append(out.Fits, i)
		}
		if slices.ContainsFunc(words, has) || strings.Contains(strings.Join(theirs, " "), strings.Join(words, " ")) {
			out.Alike = append(out.Alike, i)
		}
	}
	return out
}

type findRecipeIn struct {
	Recipe string `json:"recipe" jsonschema_description:"id or name"`
}

type findRecipeOut struct {
	RecipeID string `json:"recipeId" jsonschema_description:"empty where none is meant, or several could be"`
	Problem  string `json:"problem"`
	Hint     string `json:"hint"`
}

// findRecipe is the action find-recipe. It takes a recipe by its id, by its name, or by words that
// only its name has.
func findRecipe(ctx context.Context, call framework.Call, in findRecipeIn) (findRecipeOut, error) {
	type head struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	}
	rows, err := all[head](ctx, call, "Recipe", map[string]any{"fields": "id,name", "sort": "name"})
	if err != nil {
		return findRecipeOut{}, err
	}
	titles := make([]string, len(rows))
	for i, r := range rows {
		if r.ID == in.Recipe {
			return findRecipeOut{RecipeID: r.ID}, nil
		}
		titles[i] = r.Name
	}
	m := matchAmong(in.Recipe, titles)
	for _, found := range [][]int{m.Same, m.Fits} {
		if len(found) == 1 {
			return findRecipeOut{RecipeID: rows[found[0]].ID}, nil
		}
	}
	named := func(at []int) string {
		var out []string
		for _, i := range at[:min(len(at), maxAlike)] {
			out = append(out, titles[i])
		}
		return strings.Join(out, ", ")
	}
	switch {
	case len(m.Fits) > 1:
		return findRecipeOut{Problem: fmt.Sprintf("%q could be %d recipes.", in.Recipe, len(m.Fits)), Hint: "Send one of: " + named(m.Fits) + "."}, nil
	case len(m.Alike) > 0:
		return findRecipeOut{Problem: fmt.Sprintf("There is no recipe %q.", in.Recipe), Hint: "Did you mean " + named(m.Alike) + "?"}, nil
	}
	return findRecipeOut{Problem: fmt.Sprintf("There is no recipe %q.", in.Recipe), Hint: "Send the id or name of a Recipe."}, nil
}
