package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
)

// What households stumbled over when they tried an earlier PantryPal, each as they would
// meet it. Tests that only look share one kitchen.

func TestModelRefusesWhatCannotBe(t *testing.T) {
	t.Parallel()
	k := open(t)
	for name, c := range map[string]struct{ code, want string }{
		"a unit that is none":               {`SDK.Entities.PantryItem.upsert({name: "Rope", amount: 2, unit: "furlong"})`, `unknown unit "furlong"`},
		"a word for a unit":                 {`SDK.Entities.PantryItem.upsert({name: "Flour", amount: 2, unit: "grams"})`, `write it as "g"`},
		"a unit on a list":                  {`SDK.Entities.ShoppingItem.upsert({name: "Rope", unit: "furlong", listId: SDK.Entities.ShoppingList.upsert({name: "x"}).id})`, `unknown unit "furlong"`},
		"a plan that ends before it starts": {`SDK.Entities.MealPlan.upsert({name: "x", start: "2026-11-25", end: "2026-11-24"})`, "ends on 2026-11-24, before it starts on 2026-11-25"},
		"a plan that is patched so":         {`SDK.Entities.MealPlan.patch(SDK.Entities.MealPlan.upsert({name: "x", start: "2026-11-25", end: "2026-11-26"}).id, {end: "2026-11-01"})`, "before it starts"},
		"a second household":                {`SDK.Entities.Household.upsert({id: "second", name: "Second"})`, "upsert"},
		"a time zone that is none":          {`SDK.Entities.Household.patch("household", {timeZone: "Mars/Olympus"})`, `unknown time zone "Mars/Olympus"`},
		"a barcode with a wrong digit":      {`SDK.Entities.Product.upsert({name: "x", barcodes: ["2000000000031"]})`, "check digit"},
		"a barcode that is taken":           {`SDK.Entities.Product.upsert({name: "x", barcodes: ["2000000000039"]})`, "belongs to"},
		"a recipe of the catalogue":         {`SDK.Entities.Recipe.patch("shakshuka", {name: "Mine"})`, "recipe of the catalogue"},
		"its ingredients":                   {`SDK.Entities.RecipeIngredient.upsert({recipeId: "shakshuka", name: "Sand"})`, "recipe of the catalogue"},
		"an amount without end":             {`SDK.Entities.PantryItem.upsert({name: "Gold", amount: 1e300, unit: "g"})`, "from 0 to 1000000"},
		"portions for a town":               {`SDK.Entities.PlannedMeal.upsert({recipeId: "shakshuka", date: "2026-11-24", servings: 1e20})`, "100"},
		"a price of nothing":                {`SDK.Entities.Price.upsert({foodId: "milk", price: 1, amount: 0, unit: "l", on: "2026-11-23"})`, "above 0"},
		"a code by a wrong length":          {`SDK.Actions.learnProduct({code: "123", food: "milk", packageAmount: 1, packageUnit: "l"})`, "not the number of a product"},
		"a plan in the past":                {`SDK.Actions.weekPlan({start: "2026-11-01"})`, "before today"},
		"more leftovers than portions":      {`SDK.Actions.cooked({recipe: "shakshuka", servings: 2, leftovers: 3})`, "3 portions left of 2"},
		"a food that nobody knows":          {`SDK.Actions.tonight({with: ["tomatos from mars"]})`, "There is no food"},
		"a meal that is not planned":        {`SDK.Actions.replan({date: "2026-12-24", guests: 1})`, "No dinner is planned"},
		"a member who eats less than none":  {`SDK.Entities.Household.patch("household", {members: [{name: "Mia", portion: -1}]})`, "portion of Mia is -1"},
		"an allergy that no food has":       {`SDK.Entities.Household.patch("household", {members: [{name: "Mia", portion: 1, allergies: ["mondays"]}]})`, `allergen "mondays"`},
		"a diet that is none":               {`SDK.Entities.Household.patch("household", {members: [{name: "Mia", portion: 1, diet: "keto"}]})`, `"keto"`},
		"a dislike that is no food":         {`SDK.Entities.Household.patch("household", {members: [{name: "Mia", portion: 1, dislikes: ["stardust"]}]})`, `"stardust"`},
		"two members of one name":           {`SDK.Entities.Household.patch("household", {members: [{name: "Mia", portion: 1}, {name: "mia", portion: 1}]})`, "two members"},
		"a member without a name":           {`SDK.Entities.Household.patch("household", {members: [{name: " ", portion: 1}]})`, "has no name"},
		"a wish for nothing":                {`SDK.Entities.PlanRule.upsert({name: "Fish on Friday", kind: "want", weekdays: ["friday"]})`, "needs what"},
		"a pause of no length":              {`SDK.Entities.PlanRule.upsert({name: "Not twice", kind: "no-repeat"})`, "needs days"},
		"a rule that is patched so":         {`SDK.Entities.PlanRule.patch(SDK.Entities.PlanRule.all({filter: {kind: "max-minutes"}})[0].id, {minutes: null})`, "needs minutes"},
		"a weekday that is none":            {`SDK.Entities.PlanRule.upsert({name: "x", kind: "avoid", what: "milk", weekdays: ["Freitag"]})`, "unknown weekday"},
		"more left than came":               {`SDK.Entities.PantryItem.upsert({name: "Rice", amount: 5, initialAmount: 2, unit: "kg"})`, "amount is 5, more than initialAmount, 2"},
		"less came than is left":            {`SDK.Entities.PantryItem.patch(SDK.Entities.PantryItem.upsert({name: "Rice", amount: 5, unit: "kg"}).id, {initialAmount: 2})`, "more than initialAmount, 2"},
		"opened tomorrow":                   {`SDK.Entities.PantryItem.upsert({name: "Rice", amount: 5, openedAt: "2026-11-24"})`, "after today, 2026-11-23"},
		"bad before it was cooked":          {`SDK.Entities.Leftover.upsert({name: "Rice", servings: 1, cookedOn: "2026-11-23", bestBefore: "2026-11-22"})`, "before cookedOn, 2026-11-23"},
		"cooked when it was bad":            {`SDK.Entities.Leftover.patch(SDK.Entities.Leftover.upsert({name: "Rice", servings: 1, cookedOn: "2026-11-20"}).id, {cookedOn: "2026-11-24"})`, "bestBefore is 2026-11-23"},
		"a meal outside of its plan":        {`SDK.Entities.PlannedMeal.upsert({planId: SDK.Entities.MealPlan.upsert({name: "x", start: "2026-11-25", end: "2026-11-26"}).id, recipeId: "shakshuka", date: "2026-11-27"})`, "goes from 2026-11-25 to 2026-11-26"},
		"a plan that leaves a meal out":     {`const p = SDK.Entities.MealPlan.upsert({name: "x", start: "2026-11-25", end: "2026-11-26"}); SDK.Entities.PlannedMeal.upsert({planId: p.id, recipeId: "shakshuka", date: "2026-11-26"}); SDK.Entities.MealPlan.patch(p.id, {end: "2026-11-25"})`, "has a meal on 2026-11-26"},
		"a recipe that is none":             {`SDK.Actions.importRecipe({jsonLd: {"@type": "Person"}})`, "no schema.org Recipe"},
	} {
		t.Run(name, func(t *testing.T) {
			k := kitchen{k.Kit, t, k.photos}
			require.Contains(t, k.refused(c.code), c.want)
		})
	}
	require.Equal(t, 1, value[int](k, `SDK.Entities.Household.count()`))
	require.Equal(t, "Ours", value[string](k, `SDK.Entities.Household.patch("household", {name: "Ours"}).name`))
	require.True(t, value[bool](k, `SDK.Entities.Recipe.patch("shakshuka", {rating: 5, favourite: true}).favourite`))
}

// Names, units and prices are joined: "Feta" is feta, salt in spoons is salt in grams.
func TestNamesUnitsAndPricesJoin(t *testing.T) {
	t.Parallel()
	k := open(t)
	require.Equal(t, []any{"feta", "onions", nil}, value[[]any](k, `SDK.Actions.findFood({names: ["Feta", "large onion", "stardust"]}).found.map(f => f.food && f.food.id)`))
	require.Equal(t, []any{"bell-peppers", "black-pepper", "bell-peppers", "bell-peppers", "black-pepper"}, value[[]any](k, `[...SDK.Actions.findFood({names: ["peppers", "pepper"]}).found.map(f => f.food.id), ...SDK.Actions.readIngredients({lines: ["2 peppers, sliced", "1 pepper", "1 tsp pepper"]}).lines.map(l => l.foodId)]`), "nobody counts a spice")
	require.Equal(t, "onions", value[string](k, `SDK.Entities.PantryItem.upsert({name: "large onions", amount: 2}).foodId`))
	require.Equal(t, []any{"salt", true}, value[[]any](k, `(l => [l.foodId, l.staple])(SDK.Entities.PantryItem.upsert({name: "Salt", amount: 100, unit: "g"}))`))
	require.Equal(t, []any{6.0, ""}, value[[]any](k, `(c => [Math.round(c.amount), c.problem])(SDK.Actions.convertAmounts({amounts: [{foodId: "salt", amount: 1, unit: "tsp", to: "g"}]}).amounts[0])`))
	require.Equal(t, []any{nil, true}, value[[]any](k, `(c => [c.amount, c.problem.includes("without")])(SDK.Actions.convertAmounts({amounts: [{foodId: "feta", amount: 1, unit: "sprig", to: "g"}]}).amounts[0])`), "nothing is invented")
	require.Equal(t, 1.2, value[float64](k, `SDK.Entities.Price.upsert({foodId: "milk", price: 0.6, amount: 500, unit: "ml", on: "2026-11-23"}).perUnit`))
	require.Equal(t, "produce", value[string](k, `SDK.Entities.ShoppingItem.upsert({name: "carrots", listId: SDK.Entities.ShoppingList.upsert({name: "x"}).id}).aisle`))
}

// Who does not like a food is spared its other forms, and not what is only named after it.
func TestDislikeHoldsForForms(t *testing.T) {
	t.Parallel()
	k := open(t)
	conflicts := func(dislike, line string) int {
		return value[int](k, `
			const r = SDK.Actions.importRecipe({text: "Dish\nServes 1\nIngredients\n`+line+`\nSteps\nCook."});
			const [m] = SDK.Actions.coverMeals({meals: [{key: "m", recipeId: r.recipeId, servings: 1}], guests: [{name: "Mia", dislikes: ["`+dislike+`"]}]}).meals;
			SDK.Entities.Recipe.delete(r.recipeId);
			m.conflicts.filter(c => c.startsWith("Mia")).length`)
	}
	for line, dislike := range map[string]string{"1 can (400 g) tomatoes": "tomatoes", "50 g sun-dried tomatoes": "tomatoes", "100 g cherry tomatoes": "tomatoes", "100 g dried chickpeas": "chickpeas", "100 g frozen spinach": "spinach", "1 green pepper": "peppers", "1 red onion": "onions", "100 g tomatoes": "tomatoes"} {
		require.Equal(t, 1, conflicts(dislike, line), line)
	}
	for line, dislike := range map[string]string{"100 g tomatoes": "canned tomatoes", "1 tbsp ketchup": "tomatoes", "2 tbsp peanut butter": "butter", "2 sweet potatoes": "potatoes", "100 ml coconut milk": "milk", "1 tsp black pepper": "peppers"} {
		require.Zero(t, conflicts(dislike, line), line)
	}
	require.Empty(t, value[[]string](k, `SDK.Actions.tonight({count: 20, guests: [{dislikes: ["tomatoes"]}]}).suggestions.filter(s => SDK.Entities.RecipeIngredient.count({recipeId: s.recipeId, foodId: {$in: ["tomatoes", "canned-tomatoes", "cherry-tomatoes"]}}) > 0).map(s => s.name)`))
}

// Two photos in one day are two hauls, and one dinner.
func TestDinnerIsPlannedOnceADay(t *testing.T) {
	t.Parallel()
	k := open(t)
	first := value[map[string]any](k, `SDK.Actions.tonight({plan: true}).planned`)
	second := value[map[string]any](k, `SDK.Actions.tonight({plan: true}).planned`)
	require.Equal(t, true, first["new"])
	require.Equal(t, false, second["new"])
	require.Equal(t, first["mealId"], second["mealId"])
	require.Equal(t, 1, value[int](k, `SDK.Entities.PlannedMeal.count({date: "2026-11-23"})`))
	require.Equal(t, true, value[bool](k, `SDK.Actions.weekPlan({days: 2}).meals[0].kept`))
}

// Milk of different days are different lots; the older one is drunk first.
func TestLotsKeepTheirDates(t *testing.T) {
	t.Parallel()
	k := open(t)
	k.Action("haul", map[string]any{"photo": k.photo("monday.png", "2000000000015")}, nil)
	dates := value[[]string](k, `SDK.Entities.PantryItem.all({filter: {foodId: "milk", bestBefore: {$gte: "2026-11-23"}, status: "available"}, sort: "bestBefore"}).map(l => l.bestBefore)`)
	require.Len(t, dates, 3)
	require.Less(t, dates[0], dates[1])
	require.Less(t, dates[1], dates[2])
	k.Run(`SDK.Actions.importRecipe({text: "Porridge\nServes 1\nIngredients\n700 ml milk\nSteps\nCook."}); SDK.Actions.cooked({recipe: "Porridge", servings: 1})`, koantest.Input{})
	require.Equal(t, []any{[]any{0.0, "consumed"}, []any{800.0, "available"}, []any{1000.0, "available"}},
		value[[]any](k, `SDK.Entities.PantryItem.all({filter: {foodId: "milk", $or: [{mealId: {$null: false}}, {status: "available"}]}, sort: "bestBefore"}).map(l => [l.amount, l.status])`))
}

// What is thrown away costs what is thrown away, not what the whole package had cost; and
// why something went is said, not guessed.
func TestWasteCostsWhatIsLeft(t *testing.T) {
	t.Parallel()
	k := open(t)
	before := value[float64](k, `SDK.Actions.waste({months: 1}).total.cost`)
	events := value[[]any](k, `
		const lot = SDK.Entities.PantryItem.upsert({name: "Cream", amount: 200, unit: "ml", unitPrice: 0.01});
		SDK.Entities.PantryItem.patch(lot.id, {amount: 50, reason: "eaten"});
		SDK.Entities.PantryItem.patch(lot.id, {amount: 40});
		SDK.Entities.PantryItem.patch(lot.id, {status: "wasted"});
		SDK.Entities.PantryEvent.all({filter: {itemId: lot.id}, sort: "id"}).map(e => [e.kind, e.reason, e.amount, e.cost])`)
	require.Equal(t, []any{[]any{"came", "bought", 200.0, 2.0}, []any{"went", "eaten", 150.0, 1.5}, []any{"went", "corrected", 10.0, 0.1}, []any{"went", "wasted", 40.0, 0.4}}, events)
	require.InDelta(t, before+0.4, value[float64](k, `SDK.Actions.waste({months: 1}).total.cost`), 0.001)
	require.Equal(t, "expired", value[string](k, `SDK.Entities.PantryEvent.patch(SDK.Entities.PantryEvent.all({filter: {reason: "wasted"}, sort: "-at"})[0].id, {reason: "expired"}).reason`), "it can be set right")
}

// A recipe that is planned is not deleted, and trying again does not help.
func TestDeletingPlannedRecipe(t *testing.T) {
	t.Parallel()
	k := open(t)
	r := k.Try(`
		const own = SDK.Actions.importRecipe({text: "Toast\nIngredients\n2 slices bread"});
		SDK.Entities.PlannedMeal.upsert({recipeId: own.recipeId, date: "2026-11-24"});
		SDK.Entities.Recipe.delete(own.recipeId)`, koantest.Input{})
	require.False(t, r.Success)
	require.Equal(t, fault.Conflict, r.Error.Code)
	require.Equal(t, fault.Fix, r.Error.Retry)
	require.Contains(t, r.Error.Message+r.Error.Hint, "PlannedMeal")
}

// One meal is noted once, also by two people at one table, and also the day after.
func TestMealIsNotedOnce(t *testing.T) {
	t.Parallel()
	k := open(t)
	k.Run(`SDK.Actions.importRecipe({text: "Old toast\nServes 1\nIngredients\n100 g bread"});
		SDK.Entities.PantryItem.all({filter: {foodId: "bread", status: "available"}}).forEach(l => SDK.Entities.PantryItem.patch(l.id, {amount: 0, status: "consumed"}));
		SDK.Entities.PantryItem.upsert({name: "Bread", amount: 500, unit: "g", addedAt: "2026-11-23T08:00:00Z"});
		SDK.Entities.PantryItem.upsert({name: "Bread", amount: 300, unit: "g", bestBefore: "2026-11-22", addedAt: "2026-11-20T08:00:00Z"})`, koantest.Input{})
	bread := `SDK.Entities.PantryItem.all({filter: {name: "Bread", bestBefore: "2026-11-22"}, sort: "-addedAt"})[0].amount`
	require.Equal(t, []any{1.0, 300.0}, value[[]any](k, `[SDK.Actions.tonight({}).pastDate.length, `+bread+`]`), "it is past its date today")
	first := value[map[string]any](k, `SDK.Actions.cooked({recipe: "Old toast", servings: 2, leftovers: 1, date: "2026-11-22"})`)
	require.Empty(t, first["notThere"], "it was good then")
	require.Equal(t, 100.0, value[float64](k, bread))
	require.Equal(t, []any{"2026-11-22", "2026-11-25"}, value[[]any](k, `(l => [l.cookedOn, l.bestBefore])(SDK.Entities.Leftover.getById("`+first["leftoverId"].(string)+`"))`))
	for _, again := range []string{`{recipe: "Old toast", date: "2026-11-22"}`, `{mealId: "` + first["mealId"].(string) + `"}`} {
		require.Contains(t, k.refused(`SDK.Actions.cooked(`+again+`)`), "of 2026-11-22 is noted as cooked already")
	}
	require.Equal(t, 100.0, value[float64](k, bread), "it left the stock once")
	// Once more on the same day is a meal of its own.
	second := value[map[string]any](k, `
		const recipeId = SDK.Entities.Recipe.all({filter: {name: "Old toast"}})[0].id;
		SDK.Entities.PlannedMeal.upsert({recipeId, date: "2026-11-22", mealType: "lunch", servings: 1});
		({recipeId, ...SDK.Actions.cooked({recipe: "Old toast", date: "2026-11-22"})})`)
	require.NotEqual(t, first["mealId"], second["mealId"])
	require.Zero(t, value[float64](k, bread))
	third := value[map[string]any](k, `SDK.Entities.PlannedMeal.upsert({recipeId: "`+second["recipeId"].(string)+`", date: "2026-11-22", mealType: "snack", servings: 1});
		SDK.Actions.cooked({recipe: "Old toast", date: "2026-11-22"})`)
	require.Equal(t, []any{"bread: what is in the house came after 2026-11-22"}, third["notThere"])
	require.Empty(t, third["took"], "nobody eats on Sunday what was bought on Monday")
}

// What was ticked by mistake is put back: it is to buy, and not in the house; of what was used since,
// that is not so easy.
func TestBoughtThingIsPutBack(t *testing.T) {
	t.Parallel()
	k := open(t)
	k.Run(`const l = SDK.Entities.ShoppingList.upsert({name: "Saturday"});
		for (const name of ["Bananas", "Oats"]) SDK.Entities.ShoppingItem.upsert({listId: l.id, name, amount: 400, unit: "g"});
		SDK.Actions.checkOff({})`, koantest.Input{})
	look := `SDK.Entities.ShoppingList.all({filter: {name: "Saturday"}, with: "items.lot"}).map(l => [l.status, ...l.items.sort((a, b) => a.name < b.name ? -1 : 1).map(i => [i.bought, i.boughtAt !== null, i.lot?.amount ?? null])])[0]`
	require.Equal(t, []any{"done", []any{true, true, 400.0}, []any{true, true, 400.0}}, value[[]any](k, look))
	out := value[map[string]any](k, `SDK.Actions.checkOff({items: [{item: "bananas"}, {item: "Bananas"}], back: true})`)
	require.Equal(t, 1.0, out["left"])
	require.Equal(t, []any{"open", []any{false, false, nil}, []any{true, true, 400.0}}, value[[]any](k, look))
	require.Equal(t, []any{0.0, "consumed", "corrected"}, value[[]any](k, `(l => [l.amount, l.status, l.reason])(SDK.Entities.PantryItem.all({filter: {name: "Bananas"}, sort: "-addedAt"})[0])`))
	require.Equal(t, []any{"Bananas"}, value[map[string]any](k, `SDK.Actions.checkOff({items: [{item: "bananas"}], back: true})`)["already"], "it is back")
	// It was not paid: no price of it, and nothing in what was spent.
	const paid = `[SDK.Actions.prices({food: "bananas"}).stores.map(s => [s.store, s.now]), SDK.Entities.PantryEvent.aggregate({filter: {reason: "bought", foodId: "bananas"}, sum: ["cost"]})[0].sumCost]`
	before := value[[]any](k, paid)
	k.Run(`SDK.Actions.checkOff({items: [{item: "bananas", price: 9.99, amount: 5, unit: "piece"}], storeId: "fairlane-market"})`, koantest.Input{})
	after := value[[]any](k, paid)
	require.Contains(t, after[0], []any{"Fairlane Market", 2.0})
	require.InDelta(t, before[1].(float64)+9.99, after[1], 0.001)
	k.Run(`SDK.Actions.checkOff({items: [{item: "bananas"}], back: true})`, koantest.Input{})
	after = value[[]any](k, paid)
	require.Equal(t, before[0], after[0])
	require.InDelta(t, before[1], after[1], 0.001)
	k.Run(`SDK.Entities.PantryItem.patch(SDK.Entities.PantryItem.all({filter: {name: "Oats", amount: 400}, sort: "-addedAt"})[0].id, {amount: 300, reason: "eaten"})`, koantest.Input{})
	require.Contains(t, k.refused(`SDK.Actions.checkOff({items: [{item: "oats"}], back: true})`), "something was used already")
	require.Equal(t, []any{"open", []any{false, false, nil}, []any{true, true, 300.0}}, value[[]any](k, look))
}

// Each thing is bought once, for what was paid in the shop that its lot is from.
func TestThingStandsOnceInWhatWasBought(t *testing.T) {
	t.Parallel()
	k := open(t)
	list := `const E = SDK.Entities, l = E.ShoppingList.upsert({name: "Saturday"}); E.ShoppingItem.upsert({listId: l.id, name: "Broccoli", amount: 500, unit: "g", storeId: "penny-barrel"});`
	require.Contains(t, k.refused(list+`SDK.Actions.checkOff({items: [{item: "Broccoli", price: 2.5, amount: 1, unit: "kg"}, {item: "broccoli"}]})`), "The items have Broccoli twice.")
	require.Equal(t, []any{1.0, "kg", 2.5, "penny-barrel", "penny-barrel"}, value[[]any](k, list+`
		const [b] = SDK.Actions.checkOff({listId: l.id, items: [{item: "broccoli", price: 2.5, amount: 1, unit: "kg"}]}).bought, lot = E.PantryItem.getById(b.lotId), [p] = E.Price.all({filter: {lotId: lot.id}});
		[lot.amount, lot.unit, lot.unitPrice, lot.storeId, p.storeId]`))
	require.Equal(t, 2, value[int](k, list+`E.ShoppingItem.upsert({listId: l.id, name: "Broccoli", amount: 2}); SDK.Actions.checkOff({listId: l.id, items: [{item: "broccoli"}, {item: "broccoli"}]}).bought.length`), "two lines of one name are two things")
}

// In the shop one says salmon, where the list says salmon fillet.
func TestThingIsFoundByAWordOfItsName(t *testing.T) {
	t.Parallel()
	k := open(t)
	const list = `const E = SDK.Entities, listId = E.ShoppingList.upsert({name: "Saturday"}).id, check = (item, more) => SDK.Actions.checkOff({listId, items: [{item}], ...more}).bought.map(b => b.name);
		for (const name of ["Salmon fillet", "Egg noodles", "Rice noodles"]) E.ShoppingItem.upsert({listId, name, amount: 200, unit: "g"});`
	require.Equal(t, []any{[]any{"Salmon fillet"}, []any{"Egg noodles"}, []any{"Rice noodles"}}, value[[]any](k, list+`[check("salmon"), check("egg noodle"), check("noodles")]`), "of two kinds of noodles one is left")
	require.Contains(t, k.refused(list+`check("noodles")`), `"noodles" could be Egg noodles or Rice noodles.`)
	require.Contains(t, k.refused(list+`check("tuna")`), `"tuna" is not on the list Saturday.`)
}

// What is wrong is said plainly.
func TestFaultsSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	k := open(t)
	require.Equal(t, `invalid_payload: "feta" and "feta" are the same food: there is nothing to merge.`, k.refused(`SDK.Actions.mergeFoods({from: "feta", into: "feta"})`))
	require.Equal(t, `not_found: there is no recipe "nope"`, k.refused(`SDK.Actions.nutrition({recipeId: "nope"})`))
}

// What is put on a list by hand costs what the newest price says, of another amount as well.
func TestThingsAddedByHandHavePrices(t *testing.T) {
	t.Parallel()
	k := open(t)
	require.Equal(t, []any{1.2, 2.4, nil, 9.0, nil}, value[[]any](k, `
		const E = SDK.Entities, listId = E.ShoppingList.upsert({name: "x"}).id;
		E.Price.upsert({foodId: "milk", price: 0.6, amount: 500, unit: "ml", on: "2026-11-23"});
		const milk = E.ShoppingItem.upsert({listId, name: "milk", unit: "l"}), soap = E.ShoppingItem.upsert({listId, name: "soap"});
		[milk.estimatedCost, E.ShoppingItem.patch(milk.id, {amount: 2}).estimatedCost, soap.estimatedCost, E.ShoppingItem.patch(milk.id, {amount: 3, estimatedCost: 9}).estimatedCost, E.ShoppingItem.patch(soap.id, {amount: 2}).estimatedCost]`))
}

// A rule that keeps nothing is named where it was meant to.
func TestRuleWithoutEffectIsNamed(t *testing.T) {
	t.Parallel()
	k := open(t)
	notes := value[[]string](k, `
		for (const what of ["pineapple pizza", "seafood", "quick", "italian", "feta"]) SDK.Entities.PlanRule.upsert({name: "No " + what, kind: "avoid", what});
		SDK.Actions.weekPlan({days: 1}).notes`)
	require.Equal(t, []string{`"No pineapple pizza" has no effect: no food, aisle, cuisine or tag is called "pineapple pizza".`}, notes)
}

func TestCookedCountsRecipe(t *testing.T) {
	t.Parallel()
	k := open(t)
	require.Equal(t, []int{0, 1, 0, 1}, value[[]int](k, `
		const start = SDK.Entities.Recipe.getById("shakshuka").timesCooked, times = () => SDK.Entities.Recipe.getById("shakshuka").timesCooked - start;
		const out = [times()];
		const meal = SDK.Entities.PlannedMeal.upsert({recipeId: "shakshuka", date: "2026-11-23"});
		for (const status of ["cooked", "planned", "cooked"]) { SDK.Entities.PlannedMeal.patch(meal.id, {status}); out.push(times()); }
		out`))
}

// Tonight is tonight where the household lives.
func TestTodayIsTheHouseholdsDay(t *testing.T) {
	t.Parallel()
	late := func() time.Time { return time.Date(2026, 11, 23, 23, 30, 0, 0, time.UTC) }
	k := openAt(t, late)
	require.Equal(t, "2026-11-24", value[string](k, `SDK.Actions.tonight({}).date`), "half past midnight in Berlin")
	r := k.Run(`SDK.Actions.tonight({}).date`, koantest.Input{Set: "lake-house"})
	require.JSONEq(t, `"2026-11-23"`, string(r.Result), "an evening in New York")
}

// Both households have the catalogue, with the same ids; what is theirs is apart.
func TestLakeHouseHasCatalogue(t *testing.T) {
	t.Parallel()
	k := open(t)
	counts := `[SDK.Entities.Food.count(), SDK.Entities.Product.count(), SDK.Entities.Recipe.count(), SDK.Entities.Food.getById("feta").name, SDK.Entities.Household.getById("household").name, SDK.Actions.tonight({}).suggestions.length > 0]`
	home, lake := k.Run(counts, koantest.Input{}), k.Run(counts, koantest.Input{Set: "lake-house"})
	var a, b []any
	home.ResultInto(&a)
	lake.ResultInto(&b)
	require.Equal(t, a[:4], b[:4])
	require.NotEqual(t, a[4], b[4])
	require.Equal(t, true, b[5])
}

// Lots go to the other household whole: first they are there, then they are gone here.
func TestMoveBetweenHouseholds(t *testing.T) {
	t.Parallel()
	k := open(t, koantest.Setting{Key: "journal.enabled", Value: "true"}, koantest.Setting{Key: "approval.mode", Value: "never"})
	lot := value[string](k, `SDK.Entities.PantryItem.upsert({name: "Polenta", amount: 500, unit: "g", productId: SDK.Entities.Product.upsert({name: "Polenta", barcodes: ["2000000000992"], packageAmount: 500, packageUnit: "g"}).id, openedAt: "2026-11-20", addedAt: "2026-11-15T09:00:00Z"}).id`)
	var out struct {
		Done          bool
		Arrived, Left int
	}
	dry := k.Run(`SDK.Actions.move({lots: [SDK.args]}).arrived`, koantest.Input{Args: lot, DryRun: true})
	require.JSONEq(t, `1`, string(dry.Result))
	move := fmt.Sprintf(`SDK.Actions.move({lots: [%q]})`, lot)
	where := func() (here, there any) {
		at := `(l => l && [l.amount, l.status])(SDK.Entities.PantryItem.findById(SDK.args))`
		k.Run(at, koantest.Input{Args: lot}).ResultInto(&here)
		k.Run(at, koantest.Input{Args: lot, Set: "lake-house"}).ResultInto(&there)
		return here, there
	}
	whole, none := []any{500.0, "available"}, any(nil)
	// Each of the two calls can be undone, and nothing is ever in neither.
	arrive := k.Run(move, koantest.Input{})
	here, there := where()
	require.Equal(t, []any{whole, whole}, []any{here, there})
	k.undo(arrive.RunID)
	here, there = where()
	require.Equal(t, []any{whole, none}, []any{here, there})
	k.Run(move, koantest.Input{})
	leave := k.Run(move, koantest.Input{})
	here, there = where()
	require.Equal(t, []any{[]any{0.0, "consumed"}, whole}, []any{here, there})
	k.undo(leave.RunID)
	here, there = where()
	require.Equal(t, []any{whole, whole}, []any{here, there})
	k.Run(`SDK.Entities.PantryItem.delete(SDK.args)`, koantest.Input{Args: lot, Set: "lake-house"})
	k.Action("move", map[string]any{"lots": []string{lot}}, &out)
	require.Equal(t, []any{false, 1, 0}, []any{out.Done, out.Arrived, out.Left})
	k.Action("move", map[string]any{"lots": []string{lot}}, &out)
	require.Equal(t, []any{true, 0, 1}, []any{out.Done, out.Arrived, out.Left})
	arrived := k.Run(`[...(l => [l.amount, l.openedAt, l.addedAt, l.product.barcodes[0]])(SDK.Entities.PantryItem.getById(SDK.args, {with: "product"})), ...SDK.Entities.PantryEvent.all({filter: {itemId: SDK.args, kind: "came"}, sort: "-id"}).slice(0, 1).map(e => [e.reason, e.at > "2026-11-16"])]`, koantest.Input{Set: "lake-house", Args: lot})
	require.JSONEq(t, `[500, "2026-11-20", "2026-11-15T09:00:00Z", "2000000000992", ["moved", true]]`, string(arrived.Result), "bought on the 15th, and here since today")
	left := k.Run(`[SDK.Entities.PantryItem.getById(SDK.args).amount, SDK.Entities.PantryEvent.all({filter: {itemId: SDK.args}, sort: "-id"})[0].reason]`, koantest.Input{Args: lot})
	require.JSONEq(t, `[0, "moved"]`, string(left.Result))
}

// Two people in the shop check off the same thing: it is bought once, and both are told.
func TestTwoCheckOffTheSameThing(t *testing.T) {
	t.Parallel()
	k := open(t)
	k.Run(`const l = SDK.Entities.ShoppingList.upsert({name: "Saturday"}); SDK.Entities.ShoppingItem.upsert({listId: l.id, name: "Bananas", amount: 6})`, koantest.Input{})
	type answer struct {
		Bought  []struct{ Name string }
		Already []string
	}
	answers, failed := make([]answer, 2), make([]error, 2)
	var wait sync.WaitGroup
	for i := range answers {
		wait.Go(func() {
			raw, err := k.TryAction("check-off", map[string]any{"items": []any{map[string]any{"item": "bananas"}}})
			if err == nil {
				err = json.Unmarshal(raw, &answers[i])
			}
			failed[i] = err
		})
	}
	wait.Wait()
	require.NoError(t, errors.Join(failed...))
	require.Equal(t, 1, len(answers[0].Bought)+len(answers[1].Bought))
	require.Equal(t, 1, len(answers[0].Already)+len(answers[1].Already))
	require.Equal(t, 1, value[int](k, `SDK.Entities.PantryItem.count({name: "Bananas", status: "available"})`))
}

// A product that goes leaves what is to buy, by its name.
func TestListOutlivesProduct(t *testing.T) {
	t.Parallel()
	k := open(t)
	require.Equal(t, []any{"Oat drink", nil}, value[[]any](k, `
		const p = SDK.Entities.Product.upsert({name: "Oat drink", packageAmount: 1, packageUnit: "l"});
		const item = SDK.Entities.ShoppingItem.upsert({listId: SDK.Entities.ShoppingList.upsert({name: "x"}).id, name: "Oat drink", productId: p.id});
		SDK.Entities.Product.delete(p.id);
		(i => [i.name, i.productId])(SDK.Entities.ShoppingItem.getById(item.id))`))
}

// A budget looks at prices: with less money the same days cost less, a plan within the budget is
// found where there is one, and else the cheapest, which says so.
func TestWeekPlanKeepsBudget(t *testing.T) {
	t.Parallel()
	k := open(t)
	type plan struct {
		Cost  float64
		Meals []struct{ RecipeID string }
		Notes []string
	}
	of := func(budget any) plan {
		return value[plan](k, fmt.Sprintf(`const p = SDK.Actions.weekPlan({budget: %v}); SDK.Entities.MealPlan.delete(p.planId); p`, budget))
	}
	rich, broke := of(1000), of(1)
	require.Greater(t, rich.Cost, broke.Cost+1)
	between := math.Floor((rich.Cost+broke.Cost)*50) / 100
	poor := of(between)
	require.LessOrEqual(t, poor.Cost, between, "%+v", poor)
	require.Empty(t, poor.Notes)
	require.Len(t, poor.Meals, 7)
	require.Len(t, broke.Meals, 7)
	require.Equal(t, []string{fmt.Sprintf("What has to be bought costs %.2f, more than the budget of 1.00: no plan that keeps the rules costs less.", broke.Cost)}, broke.Notes)
	// With what that costs there is a plan, and with a cent less there is none.
	least := of(broke.Cost)
	require.Empty(t, least.Notes)
	require.Equal(t, broke.Cost, least.Cost)
	require.Len(t, of(broke.Cost-0.01).Notes, 1)
}

// A meal takes nothing whose date is past when it is cooked: what goes off on Tuesday has to be
// bought for Friday.
func TestPlannedMealTakesWhatIsGoodThen(t *testing.T) {
	t.Parallel()
	k := open(t)
	require.Equal(t, []any{0.0, 1.0}, value[[]any](k, `["2026-11-24", "2026-11-25"].map((date, i) => {
		const r = SDK.Actions.importRecipe({text: "Greens " + i + "\nServes 1\nIngredients\n100 g spinach"});
		const plan = SDK.Entities.MealPlan.upsert({name: "p" + i, start: date, end: date});
		const meal = SDK.Entities.PlannedMeal.upsert({planId: plan.id, recipeId: r.recipeId, date, servings: 1});
		const n = SDK.Actions.shop({planId: plan.id}).items.length;
		SDK.Entities.PlannedMeal.delete(meal.id);
		return n;
	})`), "the spinach is good until the 24th")
}
