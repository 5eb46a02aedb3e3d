package main

import (
	"net/http"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// Lunches that are taken along are dishes that can be packed, on the days on which somebody is away.
func TestLunchesToTakeAlong(t *testing.T) {
	t.Parallel()
	k := open(t)
	out := value[map[string]any](k, `
		const week = SDK.Actions.weekPlan({meal: "lunch", tags: ["lunchbox"], weekdays: ["monday", "tuesday", "wednesday", "thursday", "friday"]});
		const recipes = week.meals.map(m => SDK.Entities.Recipe.getById(m.recipeId));
		const other = SDK.Actions.tonight({meal: "lunch", tags: ["Lunchbox", "vegan"], count: 20}).suggestions.map(s => SDK.Entities.Recipe.getById(s.recipeId));
		const no = (call) => { try { call(); return null } catch (e) { return [e.path, e.message, e.hint.includes("lunchbox")] } };
		({days: week.meals.map(m => m.weekday), packed: recipes.every(r => r.tags.includes("lunchbox") && r.mealTypes.includes("lunch")), different: new Set(recipes.map(r => r.id)).size,
			lunch: SDK.Entities.PlannedMeal.count({mealType: "lunch", planId: week.planId}), vegan: other.length > 0 && other.every(r => r.dietaryTags.includes("vegan") && r.tags.includes("lunchbox")),
			week: no(() => SDK.Actions.weekPlan({tags: ["stardust"]})), tonight: no(() => SDK.Actions.tonight({tags: ["lunchbox", "stardust"]}))})`)
	require.Equal(t, map[string]any{
		"days": []any{"monday", "tuesday", "wednesday", "thursday", "friday"}, "packed": true, "different": 5.0, "lunch": 5.0, "vegan": true,
		"week": []any{"/tags/0", `No recipe has the tag "stardust".`, true}, "tonight": []any{"/tags/1", `No recipe has the tag "stardust".`, true},
	}, out)
}

// The page of the week plans them beside the dinners.
func TestWebPlansLunchesToTakeAlong(t *testing.T) {
	w := serveWeb(t, "sqlite://"+t.TempDir())
	require.Contains(t, w.read("/week"), "Lunches to take along")
	status, _, text := w.do("POST", "/week", "meal=lunch&tags=lunchbox&weekdays=tuesday&weekdays=thursday&servings=1&back=/week")
	require.Equal(t, http.StatusSeeOther, status, "%s", text)
	week := w.read("/week")
	require.Regexp(t, `Lunch · for 1 .*Lunch · for 1 `, week)
	require.NotRegexp(t, `Lunch · for 1 .*Lunch · for 1 .*Lunch · for 1 `, week)
	_, _, text = w.do("GET", "/recipes?f=lunchbox", "")
	require.Contains(t, text, "Tabbouleh")
	require.NotContains(t, text, "Shakshuka")
	_, _, text = w.do("GET", "/week", "")
	start := regexp.MustCompile(`name="start" value="([^"]+)"`).FindStringSubmatch(text)
	require.NotNil(t, start)
	status, _, text = w.do("POST", "/week", "meal=lunch&tags=lunchbox&servings=none&back=/week&start="+start[1])
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, text, "is not a number")
	require.Contains(t, text, `value="none"`, "what was typed is kept")
}
