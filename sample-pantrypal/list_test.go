package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/koantest"
)

// The shopping list: it follows the plan, leaves what somebody wrote on it, and counts a can as a can.

// lines are the things to buy on all lists.
const lines = `SDK.Entities.ShoppingItem.all({filter: {bought: false}, sort: "name,id"}).map(i => [i.name, i.amount, i.unit])`

// What was on the list for a meal goes with the meal, and with its plan; what somebody added stays.
func TestListFollowsDeletedMeals(t *testing.T) {
	t.Parallel()
	k := open(t)
	k.Run(`
		SDK.Actions.weekPlan({days: 3}); const s = SDK.Actions.shop({});
		SDK.Entities.ShoppingItem.upsert({listId: s.listId, name: "Soap"})`, koantest.Input{})
	all := value[[]any](k, lines)
	meals := value[[]string](k, `SDK.Entities.PlannedMeal.all({filter: {status: "planned"}, sort: "date"}).map(m => m.id)`)
	require.Len(t, meals, 3)

	k.Run(`SDK.Entities.PlannedMeal.delete(SDK.args)`, koantest.Input{Args: meals[2]})
	two := value[[]any](k, `SDK.Actions.shop({}); `+lines)
	require.Less(t, len(two), len(all))
	require.Contains(t, two, []any{"Soap", 1.0, "piece"})
	var fresh []string
	k.Run(`SDK.Entities.ShoppingList.all({filter: {status: "open"}}).forEach(l => SDK.Entities.ShoppingList.patch(l.id, {status: "done"})); SDK.Actions.shop({name: "Anew"}).items.map(i => i.name)`, koantest.Input{DryRun: true}).ResultInto(&fresh)
	require.Len(t, two, len(fresh)+1, "what a new list has, and the soap")

	k.Run(`SDK.Entities.MealPlan.delete(SDK.Entities.PlannedMeal.getById(SDK.args).planId)`, koantest.Input{Args: meals[0]})
	require.Equal(t, []any{[]any{"Soap", 1.0, "piece"}}, value[[]any](k, lines))
	k.Run(`SDK.Actions.weekPlan({days: 3}); SDK.Actions.shop({})`, koantest.Input{})
	require.Equal(t, all, value[[]any](k, lines), "nothing stands there twice")
}

// What somebody put on the list is bought anyway: meals take it off what they lack, in other units as well.
func TestListKnowsWhatWasAddedByHand(t *testing.T) {
	t.Parallel()
	k := open(t)
	const cook = `
		const r = SDK.Actions.importRecipe({text: "Tuna pot\nServes 1\nIngredients\n290 g tuna\n16 cloves garlic\n5 cans (400 g) tomatoes\n2 tsp fenugreek seeds\n600 g swede\n3 shares stardust\nSteps\nCook."});
		for (const foodId of ["garlic", "canned-tomatoes", "tuna"]) SDK.Entities.PantryItem.all({filter: {foodId, status: "available"}}).forEach(l => SDK.Entities.PantryItem.patch(l.id, {amount: 0, status: "consumed"}));
		const plan = SDK.Entities.MealPlan.upsert({name: "p", start: "2026-11-24", end: "2026-11-24"});
		SDK.Entities.PlannedMeal.upsert({planId: plan.id, recipeId: r.recipeId, date: "2026-11-24", servings: 1});
		const listId = SDK.Entities.ShoppingList.upsert({name: "Saturday", planId: plan.id}).id;
		const by = (name, amount, unit) => SDK.Entities.ShoppingItem.upsert({listId, name, amount, unit});
		const shop = () => SDK.Actions.shop({planId: plan.id}).items.map(i => [i.name, SDK.Entities.ShoppingNeed.all({filter: {itemId: i.itemId}}).map(n => [n.amount, n.unit])]).sort((a, b) => a[0] < b[0] ? -1 : 1);
	`
	require.Equal(t, []any{
		[]any{"Canned tomatoes", []any{[]any{2000.0, "g"}}},
		[]any{"Fenugreek seeds", []any{[]any{0.0, "piece"}}},
		[]any{"Garlic", []any{[]any{16.0, "clove"}}},
		[]any{"Swede", []any{[]any{600.0, "g"}}},
		[]any{"Tuna", []any{[]any{290.0, "g"}}},
		[]any{"shares stardust", []any{[]any{0.0, "piece"}}},
	}, value[[]any](k, cook+`SDK.Entities.Recipe.patch(r.recipeId, {name: "First"}); const out = shop(); SDK.Entities.MealPlan.delete(plan.id); SDK.Entities.ShoppingList.delete(listId); out`))
	require.Equal(t, []any{
		[]any{[]any{"Canned tomatoes", []any{[]any{800.0, "g"}}}, []any{"Swede", []any{[]any{100.0, "g"}}}},
		[]any{[]any{"Swede", []any{[]any{100.0, "g"}}}},
		6.0,
	}, value[[]any](k, cook+`
		by("tuna", 290, "g"); by("garlic", 2, "bulb"); const cans = by("canned tomatoes", 3, "can"); by("fenugreek", 1, "pack"); by("Swede", 0.5, "kg"); by("Shares Stardust", 1, "piece");
		const first = shop();
		SDK.Entities.ShoppingItem.patch(cans.id, {amount: 5});
		[first, shop(), SDK.Entities.ShoppingItem.count({listId, needs: {$none: {}}})]`))
}

// A recipe that says a can means the one in the cupboard, whatever it holds.
func TestCanInTheHouseIsACan(t *testing.T) {
	t.Parallel()
	k := open(t)
	for food, grams := range map[string]float64{"chickpeas": 240, "kidney-beans": 255, "tuna": 145, "tomato-paste": 200, "sardines": 95, "black-beans": 240} {
		require.Equal(t, []any{0.0, 0.0, grams, 1.0}, value[[]any](k, `
			const foodId = "`+food+`", E = SDK.Entities;
			E.PantryItem.all({filter: {foodId, status: "available"}}).forEach(l => E.PantryItem.patch(l.id, {amount: 0, status: "consumed"}));
			const [p] = E.Product.all({filter: {foodId}});
			const r = SDK.Actions.importRecipe({text: "One can of " + foodId + "\nServes 1\nIngredients\n1 can " + E.Food.getById(foodId).name + "\nSteps\nEat."});
			const cover = () => SDK.Actions.coverMeals({meals: [{key: "m", recipeId: r.recipeId, servings: 1}], shop: true});
			const packages = cover().toBuy[0].packages;
			const lot = E.PantryItem.upsert({name: p.name, foodId, productId: p.id, amount: p.packageAmount, unit: p.packageUnit});
			const {meals: [m], toBuy} = cover();
			[m.missing.length, toBuy.length, m.uses[0].amount, packages]`), food)
	}
	// Half a can is half a can, and a double one is two.
	require.Equal(t, []any{"0.5 can", 800.0}, value[[]any](k, `
		const E = SDK.Entities, big = E.Product.upsert({name: "Tomatoes for many", foodId: "canned-tomatoes", packageAmount: 800, packageUnit: "g"});
		E.PantryItem.all({filter: {foodId: {$in: ["canned-tomatoes", "chickpeas"]}, status: "available"}}).forEach(l => E.PantryItem.patch(l.id, l.foodId === "chickpeas" ? {amount: 120} : {amount: 0, status: "consumed"}));
		E.PantryItem.upsert({name: "Tomatoes", foodId: "canned-tomatoes", productId: big.id, amount: 800, unit: "g"});
		const r = SDK.Actions.importRecipe({text: "Both\nServes 1\nIngredients\n1 can chickpeas\n2 cans tomatoes\nSteps\nEat."});
		const [m] = SDK.Actions.coverMeals({meals: [{key: "m", recipeId: r.recipeId, servings: 1}]}).meals;
		const [lack] = m.missing;
		[lack.amount + " " + lack.unit, m.uses.find(u => u.foodId === "canned-tomatoes").amount]`))
}

// What is on an open list is on no second one, and a list that somebody keeps by hand is not filled.
func TestNothingIsOnTwoLists(t *testing.T) {
	t.Parallel()
	const start = `const A = SDK.Actions, L = SDK.Entities.ShoppingList, lists = () => L.all({sort: "createdAt", with: "items"}).map(l => [l.name.replace(/ from .*/, ""), l.items.length > 0]);
		const times = () => { const n = {}; for (const i of SDK.Entities.ShoppingItem.all()) n[i.name] = (n[i.name] ?? 0) + 1; return Math.max(0, ...Object.values(n)); };`
	for name, c := range map[string]struct {
		code string
		want []any
	}{
		"a plan's, then all meals": {
			`const p = A.weekPlan({days: 3}); const a = A.shop({planId: p.planId}), b = A.shop({}); [a.listId === b.listId, lists(), L.getById(a.listId).planId === p.planId]`,
			[]any{true, []any{[]any{"Shopping", true}}, true},
		},
		"all meals, then a plan's": {
			`const p = A.weekPlan({days: 3}); const a = A.shop({}), b = A.shop({planId: p.planId}); [a.listId === b.listId, a.items.length === b.items.length, lists()]`,
			[]any{true, true, []any{[]any{"Shopping", true}}},
		},
		"meals beside the plan": {
			`const p = A.weekPlan({days: 3}); const a = A.shop({planId: p.planId}); A.mealPrep({meals: 2, start: "2026-11-29"}); const b = A.shop({}); [a.listId === b.listId, b.meals, L.getById(a.listId).planId, times(), A.shop({planId: p.planId}).meals]`,
			[]any{true, 4.0, nil, 1.0, 4.0},
		},
		"a list by another name": {
			`A.weekPlan({days: 3}); A.shop({}); A.shop({name: "Again"}); [lists(), A.shop({}).items.length > 0]`,
			[]any{[]any{[]any{"Shopping", true}, []any{"Again", false}}, true},
		},
		"one that somebody keeps": {
			`L.upsert({name: "Party"}); A.weekPlan({days: 3}); A.shop({}); A.shop({}); lists()`,
			[]any{[]any{"Party", false}, []any{"Shopping", true}},
		},
		"what somebody keeps on one": {
			`const p = A.weekPlan({days: 3}); const [first] = A.shop({planId: p.planId}).items; L.delete(L.all()[0].id);
			const i = L.upsert({name: "Party"}); SDK.Entities.ShoppingItem.upsert({listId: i.id, name: first.name, amount: 90, unit: "kg"}); A.shop({planId: p.planId}); [times(), lists().length]`,
			[]any{1.0, 2.0},
		},
		"more is needed": {
			`const p = A.weekPlan({days: 2}), s = A.shop({planId: p.planId}); for (const m of p.meals) SDK.Entities.PlannedMeal.patch(m.mealId, {servings: 50});
			const more = A.shop({name: "Again"}).items.length; A.shop({listId: s.listId}); [more > 0]`,
			[]any{true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, value[[]any](open(t), start+c.code))
		})
	}
}
