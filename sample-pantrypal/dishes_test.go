package main

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// dishes plans a main and a side for one dinner, and another dinner the day after.
const dishes = `
	const E = SDK.Entities, on = (day) => E.PlannedMeal.all({filter: {date: day, status: "planned"}, sort: "id", with: "recipe"}).map(m => m.recipe.name);
	const main = E.PlannedMeal.upsert({recipeId: "shakshuka", date: "2026-11-24", servings: 2}), side = E.PlannedMeal.upsert({recipeId: "greek-salad", date: "2026-11-24", servings: 2});
	const next = E.PlannedMeal.upsert({recipeId: "red-lentil-dal", date: "2026-11-25", servings: 2});
`

// A meal may have several dishes: what all of them need is bought, and each is cooked.
func TestMealOfSeveralDishes(t *testing.T) {
	t.Parallel()
	k := open(t)
	out := value[map[string]any](k, dishes+`
		const plan = SDK.Actions.weekPlan({start: "2026-11-24", days: 2});
		const bought = SDK.Actions.shop({}).items.flatMap(i => i.for);
		const cooked = SDK.Actions.cooked({mealId: main.id});
		({meals: plan.meals.map(m => [m.date, m.name, m.kept]), planned: plan.planId, for: ["Shakshuka", "Greek Salad"].map(n => bought.includes(n)), cooked: cooked.name, left: on("2026-11-24")})`)
	require.Equal(t, map[string]any{
		"meals":   []any{[]any{"2026-11-24", "Shakshuka", true}, []any{"2026-11-24", "Greek Salad", true}, []any{"2026-11-25", "Red Lentil Dal", true}},
		"planned": nil, "for": []any{true, true}, "cooked": "Shakshuka", "left": []any{"Greek Salad"},
	}, out)
}

// A side that is planned first is not the meal: the day gets one beside it, for which the stock is what
// the side leaves.
func TestWeekPlanAddsAMealToASide(t *testing.T) {
	t.Parallel()
	k := open(t)
	out := value[map[string]any](k, `
		const roast = SDK.Entities.Recipe.all({filter: {mealTypes: {$has: "side"}}}).find(r => r.mealTypes.length === 1);
		SDK.Entities.PlannedMeal.upsert({recipeId: roast.id, date: "2026-11-24", servings: 2});
		const plan = SDK.Actions.weekPlan({start: "2026-11-24", days: 1});
		({side: plan.meals[0].name === roast.name, kept: plan.meals.map(m => m.kept), ids: new Set(plan.meals.map(m => m.mealId)).size, minutes: plan.meals[1].minutes > 0, plan: SDK.Entities.PlannedMeal.count({planId: plan.planId})})`)
	require.Equal(t, map[string]any{"side": true, "kept": []any{true, false}, "ids": 2.0, "minutes": true, "plan": 2.0}, out)
}

// By its day a meal changes with all of its dishes, and moves with them; one dish of several goes alone.
func TestReplanOfSeveralDishes(t *testing.T) {
	t.Parallel()
	k := open(t)
	out := value[map[string]any](k, dishes+`
		const more = SDK.Actions.replan({date: "2026-11-24", guests: 2});
		const portions = [main, side].map(m => E.PlannedMeal.getById(m.id).servings);
		let said; try { SDK.Actions.replan({date: "2026-11-24", recipe: "Red Lentil Dal"}) } catch (e) { said = [e.path, e.message] }
		const moved = SDK.Actions.replan({date: "2026-11-24", to: "2026-11-25"});
		const whole = [on("2026-11-24"), on("2026-11-25")];
		const alone = SDK.Actions.replan({mealId: side.id, to: "2026-11-24"});
		const parted = [on("2026-11-24"), on("2026-11-25")];
		const joined = SDK.Actions.replan({mealId: main.id, to: "2026-11-24"});
		const off = SDK.Actions.replan({date: "2026-11-24", skip: true});
		({more: more.dishes, portions, said, whole, swapped: [moved.swapped, alone.swapped, joined.swapped], parted, together: on("2026-11-25"), off: [off.dishes.length, on("2026-11-24")]})`)
	require.Equal(t, map[string]any{
		"more": []any{"Shakshuka", "Greek Salad"}, "portions": []any{4.0, 4.0},
		"said":     []any{"/recipe", "The dinner of 2026-11-24 has several dishes: Shakshuka, Greek Salad."},
		"whole":    []any{[]any{"Red Lentil Dal"}, []any{"Shakshuka", "Greek Salad"}},
		"swapped":  []any{"Red Lentil Dal", nil, nil},
		"parted":   []any{[]any{"Greek Salad", "Red Lentil Dal"}, []any{"Shakshuka"}},
		"together": []any{}, "off": []any{3.0, []any{}},
	}, out)
}

// The pages show all dishes of a day, and add one: a side, or another meal.
func TestWebShowsSeveralDishes(t *testing.T) {
	w := serveWeb(t, "sqlite://"+t.TempDir())
	for _, form := range []string{"recipe=greek-salad", "recipe=shakshuka", "name=Leftover+bread&mealType=breakfast"} {
		status, _, text := w.do("POST", "/meals", form+"&servings=2")
		require.Equal(t, http.StatusSeeOther, status, "%s", text)
	}
	week := w.read("/week")
	require.Regexp(t, `Today.*Leftover bread Breakfast.*Greek Salad Dinner.*Shakshuka Dinner.*Add something.*A side A lunch A breakfast.*Tomorrow.*Choose something`, week)
	_, _, page := w.do("GET", "/", "")
	require.Contains(t, page, "Cooked<span class=\"hidden\">: Shakshuka")
	require.Contains(t, page, "Add a side")
	require.NotContains(t, page, "Leftover bread", "it is no dinner")
	side := regexp.MustCompile(`action="(/meals/[^"]+/cooked)"[^§]*?Cooked<span class="hidden">: Shakshuka`).FindStringSubmatch(page[strings.Index(page, `class="card dish small"`):])
	require.NotNil(t, side)
	status, _, text := w.do("POST", side[1], "back=/")
	require.Equal(t, http.StatusSeeOther, status, "%s", text)
	require.Regexp(t, `Greek Salad.*Not today.*Shakshuka.*Cooked\. Undo`, w.read("/"))

	day := time.Now().AddDate(0, 0, 9).Format(time.DateOnly)
	lunches := w.read("/recipes?date=" + day + "&meal=lunch&f=lunch")
	require.Contains(t, lunches, "A lunch for ")
	require.NotContains(t, lunches, "Spaghetti Carbonara", "it is a dinner")
	_, _, page = w.do("GET", "/recipes?date="+day+"&f=side", "")
	require.Contains(t, page, "Coleslaw")
	require.NotContains(t, page, "Shakshuka")
	_, _, page = w.do("GET", "/recipes?date="+day+"&meal=lunch", "")
	require.Contains(t, page, `name="mealType" value="lunch"`)
	require.Contains(t, page, `href="/recipes?date=`+day+`&amp;f=vegan&amp;meal=lunch"`, "a filter keeps the meal")
}

// Recipes are looked for by what they take at most. What nobody has said takes who knows how long, and
// a time that nobody is offered asks for nothing.
func TestWebFiltersRecipesByMinutes(t *testing.T) {
	w := serveWeb(t, "sqlite://"+t.TempDir())
	takes := map[string]int{"Dish of no time": 0, "Dish of 15": 15, "Dish of 16": 16, "Dish of 30": 30, "Dish of 45": 45, "Dish of 60": 60, "Dish of 61": 61}
	for name, minutes := range takes {
		w.store("recipe", fmt.Sprintf(`{"name":%q,"prepMinutes":%d,"cookMinutes":%d}`, name, minutes/2, minutes-minutes/2))
	}
	for asked, most := range map[string]int{"15": 15, "30": 30, "45": 45, "60": 60, "": 0, "20": 0, "-1": 0, "x": 0} {
		page := w.read("/recipes?minutes=" + asked)
		for name, minutes := range takes {
			if most == 0 || minutes > 0 && minutes <= most {
				require.Contains(t, page, name+" ", asked)
			} else {
				require.NotContains(t, page, name+" ", asked)
			}
		}
	}
	_, _, page := w.do("GET", "/recipes?minutes=45&f=vegan&q=dish", "")
	require.Contains(t, page, `href="/recipes?f=vegan&amp;q=dish" aria-current="true">Up to 45 minutes`)
	require.Contains(t, page, `href="/recipes?f=vegan&amp;minutes=15&amp;q=dish">Up to 15 minutes`, "it takes the place of the other")
	require.Contains(t, page, `href="/recipes?f=vegan&amp;f=lunch&amp;minutes=45&amp;q=dish"`, "a filter keeps the other")
	require.Contains(t, page, `href="/recipes?minutes=45&amp;q=dish" aria-current="true">Vegan`, "a filter keeps the time")
	require.Contains(t, page, `<input type="hidden" name="minutes" value="45">`, "the search keeps the time")
	_, _, page = w.do("GET", "/recipes?minutes=20&q=dish", "")
	require.NotContains(t, page, "minutes=20")
	require.NotContains(t, page, `name="minutes"`)
	_, _, page = w.do("GET", "/recipes", "", "Accept-Language", "de")
	require.Contains(t, page, `<a href="/recipes?minutes=60">Bis 60 Minuten</a>`)
}
