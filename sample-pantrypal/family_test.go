package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Bought is bought: whoever took the line off the list, or the list away, what was bought is in the house.
func TestTickOfALineThatHasGoneBecomesALot(t *testing.T) {
	t.Parallel()
	k := open(t)
	out := value[[]any](k, `
		const E = SDK.Entities;
		const list = E.ShoppingList.upsert({name: "Saturday"}), tea = E.ShoppingItem.upsert({listId: list.id, name: "tea"}), oat = E.ShoppingItem.upsert({listId: list.id, name: "Oat milk", amount: 2, unit: "l"});
		E.ShoppingItem.delete(oat.id);
		const r = SDK.Actions.checkOff({listId: list.id, items: [{item: oat.id, name: "Oat milk", amount: 2, unit: "l", price: 3.6}]});
		const lot = E.PantryItem.getById(r.bought[0].lotId);
		E.ShoppingList.delete(list.id);
		const late = SDK.Actions.checkOff({listId: list.id, items: [{item: tea.id, name: "tea"}]});
		[lot.name, lot.amount, lot.unit, lot.foodId, lot.place, lot.unitPrice, r.left, E.PantryItem.getById(late.bought[0].lotId).name]`)
	require.Equal(t, []any{"Oat milk", 2.0, "l", "oat-milk", "pantry", 1.8, 1.0, "tea"}, out)
}

// People say dairy and shellfish, and mean what foods are marked with.
func TestAllergiesByTheWordsThatPeopleSay(t *testing.T) {
	t.Parallel()
	k := open(t)
	out := value[[]any](k, `
		SDK.Entities.Household.patch("household", {members: [{name: "Mia", portion: 1, allergies: ["Dairy", "lactose", "shellfish", "wheat", "soya", "tree nuts", "egg"]}]});
		const names = (input) => SDK.Actions.tonight({count: 20, ...input}).suggestions.map(s => s.name);
		[SDK.Entities.Household.getById("household").members[0].allergies, names({}).some(n => /Feta|Carbonara|Prawn/.test(n))]`)
	require.Equal(t, []any{[]any{"milk", "crustaceans", "molluscs", "gluten", "soy", "nuts", "eggs"}, false}, out)
}

// Who is at the table and does not eat is not cooked for, and yet must not be made ill.
func TestGuestWhoDoesNotEatHasAllergies(t *testing.T) {
	t.Parallel()
	k := open(t)
	out := value[[]any](k, `
		const r = SDK.Actions.tonight({count: 20, guests: [{name: "Zoe", portion: 0, allergies: ["dairy", "eggs"]}]});
		const cover = SDK.Actions.coverMeals({meals: r.suggestions.map(s => ({key: s.recipeId, recipeId: s.recipeId, servings: 2})), guests: [{name: "Zoe", portion: 0, allergies: ["dairy", "eggs"]}]});
		[r.suggestions.length > 0, r.suggestions.every(s => s.servings === 2), cover.meals.flatMap(m => m.allergies), cover.portions]`)
	require.Equal(t, []any{true, true, []any{}, 2.0}, out)
}

// A page is imported as it is, and so is a text in another language; what they do not say is said.
func TestImportOfPagesAndOtherLanguages(t *testing.T) {
	t.Parallel()
	k := open(t)
	out := value[[]any](k, `
		const page = '<html><head><script type="application/ld+json">{"@graph":[{"@type":["http://schema.org/Recipe"],"name":"Soup &amp; more","keywords":"quick","recipeIngredient":["1 leek","Salt &amp; pepper"],"recipeInstructions":"<ol><li>Cook.</li></ol>"}]}</'+'script></head><body>'+ "<p>words</p>".repeat(2000) + '</body></html>';
		const a = SDK.Actions.importRecipe({text: page, tags: ["Winter"], rating: 4});
		const b = SDK.Actions.importRecipe({text: "Vinaigrette maison\nIngrédients\n3 c. à soupe d'huile d'olive\nsel et poivre\nPréparation\nMélanger."});
		const row = SDK.Entities.Recipe.getById(a.recipeId, {with: "ingredients"});
		[row.name, row.steps, row.tags, row.rating, row.ingredients.length, a.notes.length, b.ingredients.map(i => [i.foodId, i.amount, i.unit]), b.unknown]`)
	require.Equal(t, []any{
		"Soup & more",
		[]any{"Cook."},
		[]any{"quick", "winter"},
		4.0, 3.0, 2.0,
		[]any{[]any{"olive-oil", 3.0, "tbsp"}, []any{"salt", nil, nil}, []any{"black-pepper", nil, nil}},
		[]any{},
	}, out)
}

// Always two milks: shop buys what is missing of them, on top of what meals need, and not twice.
func TestShopKeepsWhatIsAlwaysInTheHouse(t *testing.T) {
	t.Parallel()
	k := open(t)
	out := value[map[string]any](k, `
		const E = SDK.Entities;
		E.Food.patch("milk", {keepAmount: 4, keepUnit: "l"});
		const paper = E.Food.patch("toilet-paper", {keepAmount: 2, keepUnit: "pack"});
		const shop = () => SDK.Actions.shop({}).items.filter(i => i.for.includes("always in the house")).map(i => [i.name, i.text, i.for]);
		const first = shop(), again = shop(), rows = E.ShoppingItem.count({forStock: true});
		E.PantryItem.upsert({name: "milk", amount: 4, unit: "l"}); E.PantryItem.upsert({name: "toilet paper", amount: 2, unit: "pack"});
		({first, again, rows, full: shop(), gone: E.ShoppingItem.count({forStock: true})})`)
	require.Len(t, out["first"], 2)
	require.Equal(t, []any{"Toilet paper", "2 packs", []any{"always in the house"}}, out["first"].([]any)[1])
	require.Equal(t, "Milk", out["first"].([]any)[0].([]any)[0])
	require.Contains(t, out["first"].([]any)[0].([]any)[1], "Whole milk", "there are 1.5 l")
	require.Equal(t, out["first"], out["again"])
	require.Equal(t, []any{2.0, []any{}, 0.0}, []any{out["rows"], out["full"], out["gone"]})
}

// A line of a list is called something else, goes to another list, and has a store and a price.
func TestLinesOfAListChange(t *testing.T) {
	t.Parallel()
	k := open(t)
	out := value[[]any](k, `
		const E = SDK.Entities, a = E.ShoppingList.upsert({name: "A"}), b = E.ShoppingList.upsert({name: "B"});
		const line = E.ShoppingItem.upsert({listId: a.id, name: "milk", amount: 1, unit: "l"});
		const oat = E.ShoppingItem.patch(line.id, {name: "Shampoo", unit: "bottle"});
		const moved = E.ShoppingItem.patch(line.id, {listId: b.id, storeId: "fairlane-market", estimatedCost: 2.5});
		[oat.foodId, oat.aisle, oat.estimatedCost, moved.listId === b.id, E.ShoppingItem.count({listId: a.id}), moved.storeId, moved.estimatedCost]`)
	require.Equal(t, []any{"shampoo", "household", nil, true, 0.0, "fairlane-market", 2.5}, out)
}

// Both households are there from the first start, with rows that stay the same.
func TestLakeHouseIsThereFromTheFirstStart(t *testing.T) {
	t.Parallel()
	k := openAt(t, monday)
	read := `SDK.Entities.PantryItem.all({filter: {status: "available"}, sort: "id", set: "lake-house"}).map(l => l.id)`
	first := value[[]string](k, read)
	require.NotEmpty(t, first)
	require.Equal(t, first, value[[]string](k, read))
	require.Equal(t, "Lake House", value[string](k, `SDK.Entities.Household.getById("household", {set: "lake-house"}).name`))
	out := value[[]any](k, `
		const lot = SDK.Entities.PantryItem.all({filter: {status: "available"}, sort: "id", set: "lake-house"})[0].id;
		const r = SDK.Actions.move({lots: [lot], from: "lake-house", to: "default"});
		[r.done, r.arrived, SDK.Entities.PantryItem.count({id: lot})]`)
	require.Equal(t, []any{false, 1.0, 1.0}, out)
}
