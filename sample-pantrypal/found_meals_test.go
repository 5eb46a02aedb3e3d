package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
)

// What households stumbled over when they planned and cooked.

// tonight keeps the rules that week-plan keeps.
func TestTonightKeepsRules(t *testing.T) {
	t.Parallel()
	k := open(t)
	friday := value[[][]string](k, `SDK.Actions.tonight({date: "2026-11-27", count: 20}).suggestions.map(s => SDK.Entities.Recipe.getById(s.recipeId).tags)`)
	require.NotEmpty(t, friday)
	for _, tags := range friday {
		require.Contains(t, tags, "fish")
	}
	for _, minutes := range value[[]int](k, `SDK.Actions.tonight({date: "2026-11-24", count: 20}).suggestions.map(s => s.minutes)`) {
		require.LessOrEqual(t, minutes, 25, "Tuesdays are quick")
	}
	require.NotContains(t, value[[]string](k, `
		SDK.Entities.PlannedMeal.upsert({recipeId: "shakshuka", date: "2026-12-01"});
		SDK.Actions.tonight({count: 20}).suggestions.map(s => s.recipeId)`), "shakshuka", "nothing comes twice in ten days")
	require.Contains(t, value[string](k, `
		SDK.Entities.PlanRule.upsert({name: "Only caviar", kind: "want", what: "seafood", weekdays: ["tuesday"]});
		SDK.Entities.PlanRule.upsert({name: "Quick at last", kind: "max-minutes", minutes: 1, weekdays: ["tuesday"]});
		SDK.Actions.tonight({date: "2026-11-24"}).note`), `Nothing keeps "Only caviar".`)
}

// What an earlier dinner takes is not there for a later one.
func TestTonightLeavesWhatIsPlanned(t *testing.T) {
	t.Parallel()
	k := open(t)
	soon := value[[]string](k, `
		SDK.Entities.PlannedMeal.upsert({recipeId: "spinach-and-feta-frittata", date: "2026-11-23", servings: 2});
		SDK.Actions.tonight({date: "2026-11-25", count: 20}).suggestions.flatMap(s => s.usesSoon)`)
	for _, taken := range []string{"Spinach", "Eggs", "Feta"} {
		require.NotContains(t, soon, taken)
	}
}

// The portions of a big pot that are for other days are in the house once it is cooked: some in the
// fridge, and those that would not keep there in the freezer.
func TestPortionsCookedAheadAreKept(t *testing.T) {
	t.Parallel()
	k := open(t)
	kept := func(cooked string) []any {
		return value[[]any](k, `const m = SDK.Actions.mealPrep({recipe: "Red Lentil Dal", meals: 6, servings: 2}); const c = `+cooked+`;
			c.kept.map(l => [l.servings, l.place, SDK.Entities.Leftover.getById(l.leftoverId).bestBefore])`)
	}
	require.Equal(t, []any{[]any{6.0, "fridge", "2026-11-26"}, []any{4.0, "freezer", "2027-02-21"}}, kept(`SDK.Actions.cooked({mealId: m.mealId})`))
	require.Equal(t, []any{[]any{4.0, "fridge", "2026-11-26"}}, kept(`SDK.Actions.cooked({mealId: m.mealId, servings: 6})`))
	require.Equal(t, []any{[]any{10.0, "freezer", "2027-02-21"}}, kept(`SDK.Actions.cooked({mealId: m.mealId, freeze: true})`))
	require.Empty(t, kept(`SDK.Actions.cooked({mealId: m.mealId, leftovers: 0})`))
}

// What an imported recipe does not say of its time is what the total leaves; one that says nothing
// is not quick.
func TestImportReadsTimes(t *testing.T) {
	t.Parallel()
	k := open(t)
	times := func(head string) []any {
		return value[[]any](k, `const i = SDK.Actions.importRecipe({text: "Pie\n`+head+`\nIngredients\n1 egg\n100 g feta"});
			const r = SDK.Entities.Recipe.getById(i.recipeId); SDK.Entities.Recipe.delete(r.id); [r.prepMinutes, r.cookMinutes, i.minutes]`)
	}
	require.Equal(t, []any{90.0, 30.0, 120.0}, times(`Prep time: 1 h 30 min\nTotal time: 2 h`))
	require.Equal(t, []any{20.0, 40.0, 60.0}, times(`Cooking: 40 minutes\nTotal: 1 hour`))
	require.Equal(t, []any{0.0, 90.0, 90.0}, times(`Total time 1.5 hours`))
	require.Equal(t, []any{0.0, 0.0, nil}, times(`Very good.`))
	require.Equal(t, []any{15.0, 45.0}, value[[]any](k, `(r => [r.prepMinutes, r.cookMinutes])(SDK.Entities.Recipe.getById(SDK.Actions.importRecipe({jsonLd: {"@type": "Recipe", name: "Cake", prepTime: "PT15M", totalTime: "PT1H", recipeIngredient: ["1 egg"]}}).recipeId))`))
	require.NotContains(t, value[[]string](k, `SDK.Actions.importRecipe({text: "Bare eggs\nIngredients\n2 eggs"}); SDK.Actions.tonight({count: 20}).suggestions.map(s => s.name)`), "Bare eggs")
	require.NotContains(t, value[[]string](k, `SDK.Actions.weekPlan({}).meals.map(m => m.name)`), "Bare eggs")
}

// A name that several recipes could have is asked about, and not guessed.
func TestRecipesAreNotGuessed(t *testing.T) {
	t.Parallel()
	k := open(t)
	k.Run(`SDK.Actions.tonight({plan: true})`, koantest.Input{})
	for _, action := range []string{"cooked", "replan", "meal-prep"} {
		for name, hint := range map[string]string{"soup": "Lentil Soup with Lemon", "pan": "Pancakes"} {
			_, err := k.TryAction(action, map[string]any{"recipe": name})
			f := fault.From(err)
			require.Equal(t, []any{fault.InvalidPayload, "/recipe"}, []any{f.Code, f.Path}, "%s %s: %v", action, name, err)
			require.Contains(t, f.Hint, hint)
		}
	}
	require.Equal(t, "Spinach and Feta Frittata", value[string](k, `SDK.Actions.cooked({recipe: "frittata"}).name`), "only one is called so")
	require.Equal(t, "Pancakes", value[string](k, `SDK.Actions.cooked({recipe: "pancake"}).name`))
}

// Who is named twice is away once.
func TestAbsentMembersCountOnce(t *testing.T) {
	t.Parallel()
	k := open(t)
	require.Equal(t, []any{1.0, "planned"}, value[[]any](k, `SDK.Actions.tonight({plan: true}); (r => [r.servings, r.status])(SDK.Actions.replan({absent: ["Robin", "robin"]}))`))
}

// A plan reaches as far as the meals that are moved.
func TestPlanFollowsItsMeals(t *testing.T) {
	t.Parallel()
	k := open(t)
	require.Equal(t, []any{"2026-11-23", "2026-11-30", "2026-11-30"}, value[[]any](k, `
		const p = SDK.Actions.weekPlan({days: 2}), m = SDK.Actions.replan({mealId: p.meals[0].mealId, to: "2026-11-30"}), plan = SDK.Entities.MealPlan.getById(p.planId);
		[plan.start, plan.end, m.date]`))
}

// Who names a recipe is told whom it does not suit; what somebody is allergic to is not planned unless
// that is meant.
func TestNamedRecipeSaysWhomItDoesNotSuit(t *testing.T) {
	t.Parallel()
	k := open(t)
	k.Run(`SDK.Entities.Household.patch("household", {members: [{name: "Alex", portion: 1, allergies: ["peanuts"]}, {name: "Robin", portion: 1, dislikes: ["mushrooms"]}]});
		const loose = (text) => { const r = SDK.Actions.importRecipe({text}); SDK.Entities.RecipeIngredient.all({filter: {recipeId: r.recipeId}}).forEach(i => SDK.Entities.RecipeIngredient.patch(i.id, {foodId: null})); };
		loose("Peanut Noodles\nServes 2\nIngredients\n200 g spaghetti\n3 tbsp peanut butter\nSteps\nCook.");
		loose("Mushroom Toast\nServes 2\nIngredients\n2 slices bread\n200 g mushrooms\nSteps\nFry.");
		SDK.Actions.tonight({plan: true})`, koantest.Input{})
	const peanuts = "Alex is allergic to peanuts (Peanut butter)"
	for _, call := range []string{`replan({recipe: "Peanut Noodles"})`, `mealPrep({meals: 2, recipe: "Peanut Noodles"})`} {
		r := k.Try(`SDK.Actions.`+call, koantest.Input{})
		require.False(t, r.Success, call)
		require.Equal(t, "Peanut Noodles does not suit everybody: "+peanuts+".", r.Error.Message)
		require.Equal(t, "/recipe", r.Error.Path)
		require.Contains(t, r.Error.Hint, "anyway: true")
	}
	require.Equal(t, []any{
		[]any{peanuts}, []any{peanuts}, []any{}, []any{"Robin does not like Mushrooms"}, []any{"Robin does not like Mushrooms"}, []any{},
	}, value[[]any](k, `const A = SDK.Actions;
		[A.replan({recipe: "Peanut Noodles", anyway: true}), A.mealPrep({meals: 2, recipe: "Peanut Noodles", anyway: true}), A.replan({recipe: "Peanut Noodles", absent: ["alex"]}),
			A.replan({recipe: "Mushroom Toast"}), A.mealPrep({meals: 2, recipe: "Mushroom Toast"}), A.replan({skip: true})].map(x => x.conflicts)`))
}

// Where nothing is left to cook, the note says which rule left it out.
func TestNothingFitsSaysWhy(t *testing.T) {
	t.Parallel()
	const rules = `const A = SDK.Actions, E = SDK.Entities, rule = (kind, name, of) => E.PlanRule.upsert({name, kind, ...of}), eaten = (recipeId) => E.PlannedMeal.upsert({recipeId, date: "2026-11-24", mealType: "lunch"});
		E.PlanRule.all().forEach(r => E.PlanRule.delete(r.id));
		for (const name of ["Glasswort Pie", "Glasswort Soup"]) E.Recipe.patch(A.importRecipe({text: name + "\nServes 2\nCook 30 min\nIngredients\n10 g salt\n200 g swede\nSteps\nCook."}).recipeId, {rating: 5});
		E.PantryItem.upsert({name: "Swede", amount: 2, unit: "kg"});
		const id = (name) => E.Recipe.all({filter: {name}})[0].id, tonight = (more) => A.tonight({date: "2026-11-25", with: ["swede"], ...more}).note;`
	for name, c := range map[string]struct{ code, want string }{
		"not twice": {
			`rule("no-repeat", "Not twice in ten days", {days: 10}); eaten(id("Glasswort Pie")); eaten(id("Glasswort Soup")); tonight()`,
			`Nothing fits: "Not twice in ten days" rules out Glasswort Pie and Glasswort Soup.`,
		},
		"nothing says it":     {`eaten(id("Glasswort Pie")); eaten(id("Glasswort Soup")); tonight()`, `Nothing fits: having no meal twice in 3 days rules out Glasswort Pie and Glasswort Soup.`},
		"avoided and not two": {`rule("avoid", "No swede", {what: "swede"}); eaten(id("Glasswort Pie")); tonight()`, `Nothing fits: having no meal twice in 3 days rules out Glasswort Pie; "No swede" rules out Glasswort Soup.`},
		"wanted":              {`rule("want", "Fish today", {what: "fish"}); tonight()`, `Nothing fits: "Fish today" rules out Glasswort Pie and Glasswort Soup.`},
		"too long":            {`rule("max-minutes", "Quick", {minutes: 20}); tonight()`, `Nothing fits: no recipe for dinner within 20 minutes ("Quick") has swede, suits everybody and has half of its ingredients in the house.`},
		"one minute":          {`tonight({minutes: 1})`, `Nothing fits: no recipe for dinner within 1 minute has swede, suits everybody and has half of its ingredients in the house.`},
		"a week": {
			`rule("no-repeat", "Not twice in ten days", {days: 10});
			E.Household.patch("household", {weekdayMinutes: 15, weekendMinutes: 15}); const n = A.weekPlan({days: 14, meal: "breakfast"}).notes.filter(x => x.includes("no other")); n[0].replace(/out .*, and/, "out ..., and")`,
			`2026-11-29: "Not twice in ten days" rules out ..., and no other recipe for breakfast suits everybody within 15 minutes.`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, value[string](open(t), rules+c.code))
		})
	}
}
