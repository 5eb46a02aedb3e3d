package main

import (
	"net/http"
	"net/url"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// A recipe of the household's own says what it is told, and its lines that stay are the same ones.
func TestRecipeIsChanged(t *testing.T) {
	t.Parallel()
	k := open(t)
	out := value[map[string]any](k, `
		const E = SDK.Entities, lines = () => E.RecipeIngredient.all({filter: {recipeId: made.recipeId}, sort: "position"});
		const made = SDK.Actions.importRecipe({text: "Toast\nServes 2\nIngredients\n4 slices bread\n2 tomatoes\nsalt, to taste\nSteps\nToast it."});
		const [bread, , salt] = lines();
		E.RecipeIngredient.patch(bread.id, {name: "the loaf of Saturday", foodId: "bread"});
		const r = SDK.Actions.editRecipe({recipe: "Toast", name: " Good toast ", ingredients: ["300 g tomatoes, chopped", bread.id, "1 lump stardust"], steps: ["Toast it.", " ", "Eat it."], servings: 3, cookMinutes: 5, diets: ["vegan", "dairy-free"], tags: ["Quick", "quick "]});
		const now = E.Recipe.getById(r.recipeId);
		({of: r.of, name: now.name, same: r.recipeId === made.recipeId, steps: now.steps, rest: [now.servings, now.cookMinutes, now.dietaryTags, now.tags], unknown: r.unknown.map(u => u.text),
			lines: lines().map(l => [l.name, l.foodId, l.amount, l.preparation]), kept: lines()[1].id === bread.id, salt: E.RecipeIngredient.findById(salt.id)})`)
	require.Equal(t, map[string]any{
		"of": nil, "name": "Good toast", "same": true, "steps": []any{"Toast it.", "Eat it."}, "kept": true, "salt": nil,
		"rest":    []any{3.0, 5.0, []any{"vegan", "vegetarian", "pescatarian", "dairy-free"}, []any{"quick"}},
		"unknown": []any{"1 lump stardust"},
		"lines":   []any{[]any{"tomatoes", "tomatoes", 300.0, "chopped"}, []any{"the loaf of Saturday", "bread", 4.0, ""}, []any{"lump stardust", nil, 1.0, ""}},
	}, out)
	said := value[[][]string](k, `const line = SDK.Entities.RecipeIngredient.all({filter: {recipe: {name: "Good toast"}}})[0].id, no = (input) => { try { SDK.Actions.editRecipe({recipe: "Good toast", ...input}); return [] } catch (e) { return [e.path, e.message] } };
		[no({name: "Shakshuka"}), no({ingredients: ["1 egg", line, line]}), no({ingredients: ["01932c1e-0000-7000-8000-000000000000"]}), no({recipe: "Bad toast"})]`)
	require.Equal(t, [][]string{
		{"/name", "There is a recipe Shakshuka already."},
		{"/ingredients/2", "The recipe has no such line any more."},
		{"/ingredients/0", "The recipe has no such line any more."},
		{"/recipe", `There is no recipe "Bad toast".`},
	}, said)
}

// A recipe of the catalogue stays as every household has it; what is made of it has all that it had.
func TestRecipeOfTheCatalogueIsCopied(t *testing.T) {
	t.Parallel()
	k := open(t)
	out := value[map[string]any](k, `
		const E = SDK.Entities, lines = (id) => E.RecipeIngredient.all({filter: {recipeId: id}, sort: "position"}).map(l => [l.name, l.foodId, l.amount, l.unit, l.preparation, l.optional]);
		E.PlannedMeal.upsert({recipeId: "shakshuka", date: "2026-11-24"});
		const before = JSON.stringify([E.Recipe.getById("shakshuka").servings, lines("shakshuka")]);
		const r = SDK.Actions.editRecipe({recipe: "shakshuka", servings: 3}), own = E.Recipe.getById(r.recipeId);
		const second = SDK.Actions.editRecipe({recipe: r.recipeId, rating: 4});
		({name: r.name, of: r.of, notes: r.notes, origin: own.origin, servings: own.servings, steps: own.steps.length, lines: JSON.stringify(lines(own.id)) === JSON.stringify(lines("shakshuka")),
			before: before === JSON.stringify([E.Recipe.getById("shakshuka").servings, lines("shakshuka")]), again: second.of, rating: E.Recipe.getById(r.recipeId).rating})`)
	require.Equal(t, map[string]any{
		"name": "Shakshuka, our way", "of": "shakshuka", "origin": "household", "servings": 3.0, "steps": 3.0, "lines": true, "before": true, "again": nil, "rating": 4.0,
		"notes": []any{"What is planned stays Shakshuka: replan with recipe changes a meal."},
	}, out)
}

// Somebody changes a recipe on its page, and asks nobody; to delete it, somebody has to agree.
func TestWebChangesARecipe(t *testing.T) {
	w := serveWeb(t, "sqlite://"+t.TempDir())
	status, head, text := w.do("POST", "/recipes", "text="+url.QueryEscape("Toast\nServes 2\nIngredients\n4 slices bread\n2 tomatoes\nSteps\nToast it."))
	require.Equal(t, http.StatusSeeOther, status, "%s", text)
	to, err := url.Parse(head.Get("Location"))
	require.NoError(t, err)
	recipe := to.Path
	require.Contains(t, w.read(recipe), "Change it")
	_, _, text = w.do("GET", recipe+"/edit", "")
	require.Contains(t, text, "4 slices bread\n2 tomatoes</textarea>")

	form := url.Values{"name": {"Toast"}, "ingredients": {"4 slices bread\r\n1 egg"}, "steps": {"Toast it.\r\nEat it."}, "servings": {"4"}, "cookMinutes": {"5"}, "diets": {"vegetarian"}, "meals": {"breakfast", "lunch"}, "tags": {"quick"}}
	status, head, text = w.do("POST", recipe+"/edit", form.Encode())
	require.Equal(t, http.StatusSeeOther, status, "%s", text)
	require.Contains(t, head.Get("Location"), recipe+"?did=changed&run=", "it can be undone")
	shown := w.read(recipe)
	require.Contains(t, shown, "Eat it.")
	require.Contains(t, shown, "egg")
	require.NotContains(t, shown, "tomatoes")
	_, _, text = w.do("GET", recipe+"/edit", "")
	require.Contains(t, text, `value="vegetarian" checked`)
	require.NotContains(t, text, `value="dinner" checked`)

	for _, wrong := range []struct{ field, value, says string }{
		{"ingredients", " \n", "no ingredients"}, {"servings", "2.5", "not a whole number"}, {"servings", "x", "is not a number"}, {"name", "Shakshuka", "There is a recipe Shakshuka already"}, {"cookMinutes", "99999", "10080"},
	} {
		sent := url.Values{"back": {recipe + "/edit"}}
		for name, values := range form {
			sent[name] = values
		}
		sent.Set(wrong.field, wrong.value)
		status, _, text = w.do("POST", recipe+"/edit", sent.Encode())
		require.Contains(t, text, wrong.says, wrong.field)
		require.GreaterOrEqual(t, status, 400)
		require.Contains(t, text, "Eat it.", "what was typed is kept")
	}
	status, head, text = w.do("POST", recipe+"/edit", "do=delete&back=/recipes")
	require.Equal(t, http.StatusSeeOther, status, "%s", text)
	require.Contains(t, head.Get("Location"), "/plans/")

	require.Contains(t, w.read("/recipes/shakshuka"), "Make it ours")
	require.Contains(t, w.read("/recipes/shakshuka"), "Not rated")
	status, _, text = w.do("POST", "/recipes/shakshuka", "rating=4")
	require.Equal(t, http.StatusSeeOther, status, "%s", text)
	require.Contains(t, w.read("/recipes/shakshuka"), "4 of 5")
	_, _, text = w.do("GET", "/recipes/shakshuka/edit", "")
	require.Contains(t, text, `value="Shakshuka, our way"`)
}

// Of two who change a recipe at once the second is told, and decides.
func TestWebChangesARecipeThatSomebodyElseChanged(t *testing.T) {
	w := serveWeb(t, "sqlite://"+t.TempDir())
	_, head, _ := w.do("POST", "/recipes", "text="+url.QueryEscape("Toast\nServes 2\nIngredients\n4 slices bread\n2 tomatoes\nSteps\nToast it."))
	to, err := url.Parse(head.Get("Location"))
	require.NoError(t, err)
	hidden := regexp.MustCompile(`<input type="hidden" name="version" value="([^"]+)"/?><input type="hidden" name="key" value="([^"]+)"/?>`)
	opened := func(page string) url.Values {
		found := hidden.FindStringSubmatch(page)
		require.NotNil(t, found, "%s", page)
		return url.Values{
			"version": {found[1]}, "key": {found[2]}, "back": {to.Path + "/edit"}, "name": {"Toast"}, "ingredients": {"4 slices bread\r\n2 tomatoes"}, "steps": {"Toast it."},
			"servings": {"2"}, "prepMinutes": {"0"}, "cookMinutes": {"0"}, "meals": {"dinner"},
		}
	}
	form := func() url.Values {
		_, _, page := w.do("GET", to.Path+"/edit", "")
		return opened(page)
	}
	save := func(form url.Values, language string) (int, string) {
		status, _, text := w.do("POST", to.Path+"/edit", form.Encode(), "Accept-Language", language)
		return status, text
	}
	first, second, third := form(), form(), form()
	first.Set("ingredients", "4 slices bread\r\n3 eggs") // its lines alone
	status, text := save(first, "en")
	require.Equal(t, http.StatusSeeOther, status, "%s", text)

	second.Set("steps", "Toast it twice.")
	status, text = save(second, "en")
	require.Equal(t, http.StatusConflict, status)
	require.Contains(t, text, "Somebody changed Toast meanwhile. Your changes were not saved.")
	require.Contains(t, text, "It is different in: ingredients, steps. Save again")
	require.Contains(t, text, "Toast it twice.</textarea>", "what was typed is kept")
	require.NotContains(t, text, "ifVersion")
	require.Contains(t, w.read(to.Path), "eggs", "nothing was put in its place")
	again := opened(text)
	for _, field := range []string{"ingredients", "steps"} {
		again.Set(field, second.Get(field))
	}

	third.Set("ingredients", "4 slices bread\r\n3 eggs")
	status, text = save(third, "de")
	require.Equal(t, http.StatusConflict, status)
	require.Contains(t, text, "Jemand hat Toast inzwischen geändert")
	require.Contains(t, text, "Jetzt steht dort, was du geschrieben hast.")

	status, text = save(again, "en")
	require.Equal(t, http.StatusSeeOther, status, "%s", text)
	shown := w.read(to.Path)
	require.Contains(t, shown, "Toast it twice.")
	require.Contains(t, shown, "tomatoes")
	require.NotContains(t, shown, "eggs")
	again.Set("version", "x")
	status, _ = save(again, "en")
	require.Equal(t, http.StatusBadRequest, status)
}
