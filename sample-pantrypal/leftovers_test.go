package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What is left of a dinner is a meal of another day: it takes nothing from the stock, needs no
// shopping, and is eaten up.
func TestLeftoversAreAMeal(t *testing.T) {
	t.Parallel()
	k := openAt(t, monday)
	out := value[map[string]any](k, `
		const E = SDK.Entities, before = E.PantryItem.all({sort: "id", fields: "id,amount"});
		E.Leftover.deleteMany(E.Leftover.all({fields: "id"}).map(l => l.id));
		const left = E.Leftover.upsert({name: "Chili", servings: 3, cookedOn: "2026-11-23"});
		const meal = E.PlannedMeal.upsert({date: "2026-11-24", leftoverId: left.id, servings: 2});
		const free = () => SDK.Actions.findLeftovers({date: "2026-11-24"}).leftovers.map(l => l.servings);
		const planned = free(), shopped = SDK.Actions.shop({}).items.filter(i => i.for.includes("Chili")).length;
		const next = SDK.Actions.reminders({}).meals.map(m => [m.name, m.toBuy]);
		const r = SDK.Actions.cooked({mealId: meal.id});
		({name: meal.name, planned, shopped, next, ate: r.ate.left, took: r.took, left: E.Leftover.getById(left.id).servings, free: free(), same: JSON.stringify(before) === JSON.stringify(E.PantryItem.all({sort: "id", fields: "id,amount"}))})`)
	require.Equal(t, map[string]any{
		"name": "Chili", "planned": []any{1.0}, "shopped": 0.0, "next": []any{[]any{"Chili", []any{}}}, "ate": 1.0, "took": []any{}, "left": 1.0, "free": []any{1.0}, "same": true,
	}, out)
	out = value[map[string]any](k, `
		const E = SDK.Entities, left = E.Leftover.all({sort: "id"})[0], meal = E.PlannedMeal.upsert({date: "2026-11-25", leftoverId: left.id, servings: 2});
		let said; try { SDK.Actions.cooked({mealId: meal.id}) } catch (e) { said = [e.path, e.message] }
		const all = SDK.Actions.cooked({mealId: meal.id, servings: 1});
		({said, status: E.Leftover.getById(left.id).status, gone: (E.Leftover.delete(left.id), E.PlannedMeal.getById(meal.id).name)})`)
	require.Equal(t, map[string]any{"said": []any{"/servings", "Of Chili 1 portion is left, not 2."}, "status": "eaten", "gone": "Chili"}, out)
}

// A meal is a recipe, a leftover, or something with a name, and never nothing.
func TestMealsWithoutARecipe(t *testing.T) {
	t.Parallel()
	k := openAt(t, monday)
	out := value[map[string]any](k, `
		const E = SDK.Entities, out = E.PlannedMeal.upsert({date: "2026-11-24", name: "Eating out"});
		E.Leftover.deleteMany(E.Leftover.all({fields: "id"}).map(l => l.id));
		const plan = SDK.Actions.weekPlan({start: "2026-11-24", days: 2});
		const moved = SDK.Actions.replan({mealId: out.id, to: "2026-11-26"}), cooks = SDK.Actions.replan({mealId: out.id, recipe: "Shakshuka", anyway: true}), row = E.PlannedMeal.getById(out.id);
		const left = E.Leftover.upsert({name: "Rice", servings: 1, cookedOn: "2026-11-23"});
		const refused = [{}, {recipeId: row.recipeId, leftoverId: left.id}].map(m => { try { E.PlannedMeal.upsert({date: "2026-11-25", ...m}); return "" } catch (e) { return e.message } });
		({kept: plan.meals[0], planned: typeof plan.meals[1].recipeId, moved: [moved.name, moved.date], cooks: cooks.name, row: [row.name, row.leftoverId], refused, nutrition: SDK.Actions.nutrition({}).meals.every(m => m.recipeId)})`)
	kept := out["kept"].(map[string]any)
	require.Equal(t, []any{nil, "Eating out", true, []any{}}, []any{kept["recipeId"], kept["name"], kept["kept"], kept["toBuy"]})
	require.Equal(t, []any{"string", []any{"Eating out", "2026-11-26"}, "Shakshuka", true}, []any{out["planned"], out["moved"], out["cooks"], out["nutrition"]})
	require.Equal(t, []any{"", nil}, out["row"])
	require.Contains(t, out["refused"].([]any)[0], "does not say what is eaten")
	require.Contains(t, out["refused"].([]any)[1], "not both")
}

// Tonight names what is left and suits everybody; a week eats it before it goes off.
func TestLeftoversComeFirst(t *testing.T) {
	t.Parallel()
	k := openAt(t, monday)
	out := value[map[string]any](k, `
		const E = SDK.Entities, curry = E.Recipe.all({filter: {name: "Chickpea and Spinach Curry"}})[0];
		E.Leftover.deleteMany(E.Leftover.all({fields: "id"}).map(l => l.id));
		const meal = E.PlannedMeal.upsert({date: "2026-11-23", recipeId: curry.id, servings: 4, mealType: "lunch"});
		const left = SDK.Actions.cooked({mealId: meal.id, leftovers: 2}).leftoverId;
		E.Leftover.upsert({name: "Something of the neighbours", servings: 4, cookedOn: "2026-11-23"});
		SDK.Entities.Household.patch("household", {members: [{name: "Mia", portion: 1}, {name: "Tom", portion: 1}]});
		const names = (guests) => SDK.Actions.tonight({guests}).leftovers.map(l => l.name);
		const mine = names([]), allergic = names([{name: "Zoe", portion: 0, allergies: ["milk"]}]);
		const once = SDK.Actions.weekPlan({days: 5});
		E.PlannedMeal.deleteMany(E.PlannedMeal.all({filter: {status: "planned"}, fields: "id"}).map(m => m.id));
		const week = SDK.Actions.weekPlan({days: 5, leftovers: true});
		({mine, allergic, once: [once.meals.filter(m => !m.recipeId).length, once.leftovers.length], eaten: week.meals.filter(m => !m.recipeId).map(m => m.name).sort(), free: SDK.Actions.findLeftovers({}).leftovers.map(l => l.servings)})`)
	require.Equal(t, []any{"Chickpea and Spinach Curry", "Something of the neighbours"}, out["mine"])
	require.Equal(t, []any{"Chickpea and Spinach Curry"}, out["allergic"], "nobody knows what is in the other")
	require.Equal(t, []any{[]any{0.0, 2.0}, []any{"Chickpea and Spinach Curry", "Something of the neighbours"}, []any{2.0}}, []any{out["once"], out["eaten"], out["free"]})
}

// What is open is used before what is closed, and named.
func TestOpenJarsAreUsed(t *testing.T) {
	t.Parallel()
	k := openAt(t, monday)
	out := value[[]any](k, `
		const E = SDK.Entities;
		for (const l of E.PantryItem.all({filter: {foodId: "passata"}})) E.PantryItem.delete(l.id);
		const closed = E.PantryItem.upsert({name: "passata", amount: 700, unit: "g", bestBefore: "2027-06-01"});
		const open = E.PantryItem.upsert({name: "passata", amount: 700, unit: "g", bestBefore: "2027-06-01", openedAt: "2026-11-22", place: "fridge"});
		const r = E.Recipe.upsert({name: "Sauce", servings: 2, mealTypes: ["dinner"], prepMinutes: 5});
		E.RecipeIngredient.upsert({recipeId: r.id, name: "passata", amount: 200, unit: "g"});
		const use = SDK.Actions.coverMeals({meals: [{key: "a", recipeId: r.id, servings: 2}]}).meals[0].uses;
		[use.length, use[0].lotId === open.id, SDK.Actions.tonight({with: ["passata"], count: 20}).suggestions.find(s => s.name === "Sauce").usesOpen]`)
	require.Equal(t, []any{1.0, true, []any{"passata"}}, out)
}

// Milk and a lemon stand in for buttermilk, in amounts that the recipe needs, where all of it is
// there and nobody is made ill.
func TestSubstitutes(t *testing.T) {
	t.Parallel()
	k := openAt(t, monday)
	out := value[map[string]any](k, `
		const E = SDK.Entities;
		for (const food of ["buttermilk", "milk", "lemons", "yogurt"]) for (const l of E.PantryItem.all({filter: {foodId: food}})) E.PantryItem.delete(l.id);
		const r = E.Recipe.upsert({name: "Pancakes of buttermilk", servings: 2, mealTypes: ["dinner"], prepMinutes: 5});
		E.RecipeIngredient.upsert({recipeId: r.id, name: "buttermilk", amount: 480, unit: "ml"});
		const swaps = (guests) => SDK.Actions.coverMeals({meals: [{key: "a", recipeId: r.id, servings: 2}], guests}).meals[0].swaps.map(s => s.instead);
		const none = swaps();
		E.PantryItem.upsert({name: "milk", amount: 1, unit: "l"}); const milk = swaps();
		E.PantryItem.upsert({name: "lemons", amount: 1, unit: "piece"});
		({none, milk, both: swaps(), allergic: swaps([{name: "Zoe", portion: 0, allergies: ["milk"]}]), amount: E.PantryItem.all({filter: {foodId: "milk", status: "available"}})[0].amount})`)
	require.Equal(t, map[string]any{"none": []any{}, "milk": []any{}, "both": []any{"450 ml milk and 1 lemon"}, "allergic": []any{}, "amount": 1.0}, out)
}
