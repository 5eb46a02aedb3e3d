package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A food that the catalogue does not have is made of its name, with what is guessed of it.
func TestHouseholdMakesFoods(t *testing.T) {
	t.Parallel()
	k := open(t)
	out := value[map[string]any](k, `
		const E = SDK.Entities;
		const lot = E.PantryItem.upsert({name: "Quince jams", amount: 2, unit: "jar"});
		const made = SDK.Actions.makeFood({name: "Quince jam"});
		const food = E.Food.getById(made.foodId);
		const joined = E.PantryItem.getById(lot.id).foodId;
		const again = SDK.Actions.makeFood({name: "QUINCE JAMS"});
		E.Food.patch(food.id, {allergens: [], ownNames: ["Grandma's jam"]});
		const named = SDK.Actions.findFood({names: ["grandma's jam"]}).found[0].food?.id;
		const thing = SDK.Actions.makeFood({name: "Shoe polish", thing: true});
		({said: made.said, guessed: food.guessed, like: food.like, joined: joined === food.id, made: again.made, left: E.Food.getById(food.id).guessed, named: named === food.id, thing: [thing.aisle, thing.guessed]})`)
	require.Equal(t, "Quince jam is a food of the household now, in the aisle condiments; guessed from Jam: aisle, allergens, whom it suits, how long it keeps.", out["said"])
	require.Equal(t, []any{"aisle", "allergens", "diets", "shelfLife"}, out["guessed"])
	require.Equal(t, []any{"aisle", "diets", "shelfLife"}, out["left"], "what is said is guessed no longer")
	require.Equal(t, []any{"household", []any{}}, out["thing"])
	require.Equal(t, []any{"jam", true, false, true}, []any{out["like"], out["joined"], out["made"], out["named"]})
}

// Whom a guess could harm does not get it.
func TestGuessedAllergensSuitNobodyWhoHasAllergies(t *testing.T) {
	t.Parallel()
	k := open(t)
	conflicts := `SDK.Actions.coverMeals({meals: [{key: "m", recipeId: recipe.id, servings: 2}]}).meals[0].conflicts`
	out := value[[]any](k, `
		const E = SDK.Entities;
		const food = E.Food.upsert({name: "Quince jam"});
		const recipe = E.Recipe.upsert({name: "Quince toast", servings: 2});
		E.RecipeIngredient.upsert({recipeId: recipe.id, name: "quince jam", amount: 2, unit: "tbsp"});
		const before = `+conflicts+`;
		E.Food.patch(food.id, {allergens: []});
		[before, `+conflicts+`]`)
	require.Equal(t, []any{[]any{"Alex has allergies, and nobody has said which allergens are in Quince jam"}, []any{}}, out)
}

// What no food is known of joins by its name: a lot, a line of a recipe, and what is to buy.
func TestWhatIsCalledTheSameJoins(t *testing.T) {
	t.Parallel()
	k := open(t)
	out := value[map[string]any](k, `
		const E = SDK.Entities;
		E.PantryItem.upsert({name: "Zorblatts", amount: 500, unit: "g"});
		const made = SDK.Actions.importRecipe({text: "Zorblatt bake\n\nServes 2\n\nIngredients\n750 g zorblatt\n2 eggs\n\nSteps\nBake."});
		const [meal] = SDK.Actions.coverMeals({meals: [{key: "m", recipeId: made.recipeId, servings: 2}]}).meals;
		const cooked = SDK.Actions.cooked({recipe: made.recipeId, servings: 2});
		({uses: meal.uses.map(u => u.text + " " + u.name), missing: meal.missing.map(m => m.say), took: cooked.took.map(u => u.name), left: E.PantryItem.all({filter: {name: "Zorblatts"}})[0].amount})`)
	require.Equal(t, []any{"500 g Zorblatts", "2 Eggs"}, out["uses"])
	require.Equal(t, []any{"250 g zorblatt"}, out["missing"])
	require.Equal(t, []any{"Zorblatts", "Eggs"}, out["took"])
	require.Equal(t, 0.0, out["left"])
}

// An unknown code of an unlisted food is no dead end.
func TestLearnProductMakesFoods(t *testing.T) {
	t.Parallel()
	k := open(t)
	k.photo("new.png", "2000000000992")
	out := value[map[string]any](k, `
		SDK.Actions.haul({photo: "new.png"});
		const r = SDK.Actions.learnProduct({code: "2000000000992", food: "Goat gouda", packageAmount: 200, packageUnit: "g"});
		const lot = SDK.Entities.PantryItem.getById(r.lots[0].lotId);
		({made: r.food.made, said: r.food.said, place: lot.place, dated: lot.bestBefore !== null, aisle: SDK.Entities.Food.getById(r.food.foodId).aisle})`)
	require.Equal(t, map[string]any{
		"made": true, "place": "fridge", "dated": true, "aisle": "dairy",
		"said": "Goat gouda is a food of the household now, in the aisle dairy; guessed from Gouda: aisle, allergens, whom it suits, how long it keeps.",
	}, out)
}

// The catalogue stays as every set has it, but for what is the household's.
func TestCatalogueFoodsAreOnlyNamed(t *testing.T) {
	t.Parallel()
	k := open(t)
	for _, change := range []string{
		`SDK.Entities.Food.patch("feta", {aisle: "bakery"})`, `SDK.Entities.Food.delete("feta")`, `SDK.Entities.Food.upsert({name: "FETA cheese"})`,
		`SDK.Entities.Food.patch("feta", {ownNames: ["milk"]})`, `SDK.Entities.FoodPortion.upsert({foodId: "feta", unit: "bunch", grams: 10})`, `SDK.Entities.FoodPortion.patch("eggs-piece", {grams: 1})`,
	} {
		require.Contains(t, k.refused(change), "invalid_payload", change)
	}
	require.Equal(t, "feta", value[string](k, `SDK.Entities.Food.patch("feta", {ownNames: ["salad cheese"], keepAmount: 1, keepUnit: "pack"}); SDK.Entities.PantryItem.upsert({name: "salad cheese"}).foodId`))
}

// Two foods become one, with all names.
func TestMergedOwnFoodLeavesItsNames(t *testing.T) {
	t.Parallel()
	k := open(t)
	out := value[[]any](k, `
		const food = SDK.Entities.Food.upsert({name: "Goat gouda", aliases: ["chevre gouda"]});
		const lot = SDK.Entities.PantryItem.upsert({name: "goat gouda", amount: 200, unit: "g"});
		SDK.Actions.mergeFoods({from: "Goat gouda", into: "Gouda"});
		[SDK.Entities.Food.findById(food.id), SDK.Entities.PantryItem.getById(lot.id).foodId, SDK.Actions.findFood({names: ["chevre gouda", "goat gouda"]}).found.map(f => f.food?.id)]`)
	require.Equal(t, []any{nil, "gouda", []any{"gouda", "gouda"}}, out)
}

// What is put in by hand is where its food is kept, and good as long as it keeps there.
func TestLotsTakePlaceAndDateFromTheirFood(t *testing.T) {
	t.Parallel()
	k := open(t)
	out := value[[]any](k, `
		const put = (model) => { const l = SDK.Entities.PantryItem.upsert({amount: 1, ...model}); return [l.place, l.bestBefore]; };
		[put({name: "milk"}), put({name: "milk", place: "freezer"}), put({name: "milk", bestBefore: "2026-12-01"}), put({name: "milk", bestBefore: null}), put({name: "Toilet paper"}), put({name: "stardust"})]`)
	require.Equal(t, []any{
		[]any{"fridge", "2026-11-30"}, []any{"freezer", "2027-02-21"}, []any{"fridge", "2026-12-01"}, []any{"fridge", nil}, []any{"pantry", nil}, []any{"pantry", nil},
	}, out)
}
