package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
)

// What no household can mean is refused at its path, with what to send instead, and changes
// nothing. Each action with its inputs, and where they are wrong.
var badInputs = map[string]map[string]string{
	"haul": {
		`{}`: "", `{"photo": ""}`: "/photo", `{"photo": 7}`: "/photo", `{"photo": null}`: "/photo", `{"photo": "a.png", "file": "b"}`: "", `{"foto": "a.png"}`: "/foto",
		`{"photo": ["a.png"]}`: "/photo", `{"photo": "a.png", "storeId": 1}`: "/storeId", `{"file": {}}`: "/file", `"a.png"`: "", `{"photo": "a.png", "storeId": "a\u0000"}`: "/storeId", `{"photo": "a.png", "storeId": "nope"}`: "/storeId",
	},
	"learn-product": {
		`{}`: "/code", `{"code": "2000000000992", "food": "penne", "packageAmount": 0, "packageUnit": "g"}`: "/packageAmount", `{"code": "2000000000992", "food": "penne", "packageAmount": -5, "packageUnit": "g"}`: "/packageAmount",
		`{"code": "2000000000992", "food": "penne", "packageAmount": 1e20, "packageUnit": "g"}`: "/packageAmount", `{"code": "2000000000992", "food": "penne", "packageAmount": 1, "packageUnit": "furlong"}`: "/packageUnit",
		`{"code": "2000000000993", "food": "penne", "packageAmount": 1, "packageUnit": "g"}`: "/code", `{"code": "12", "food": "penne", "packageAmount": 1, "packageUnit": "g"}`: "/code",
		`{"code": 2000000000992, "food": "penne", "packageAmount": 1, "packageUnit": "g"}`: "/code",
		`{"code": "2000000000992", "food": "", "packageAmount": 1, "packageUnit": "g"}`:    "/food", `{"code": "2000000000039", "food": "penne", "packageAmount": 1, "packageUnit": "g"}`: "/code",
		`{"code": "", "food": "penne", "packageAmount": 1, "packageUnit": "g"}`: "/code", `{"code": "` + strings.Repeat("x", 8193) + `", "food": "penne", "packageAmount": 1, "packageUnit": "g"}`: "/code",
	},
	"make-food": {
		`{}`: "/name", `{"name": ""}`: "/name", `{"name": "Pie\u0000"}`: "/name", `{"name": "Pie", "names": ["a\u0000"]}`: "/names/0", `{"name": "Pie", "aisle": "a\u0000"}`: "/aisle", `{"name": " "}`: "/name", `{"name": 7}`: "/name", `{"name": "` + strings.Repeat("x", 121) + `"}`: "/name", `{"name": "Pie", "like": "stardust"}`: "/like",
		`{"name": "Pie", "allergens": ["mondays"]}`: "/allergens/0", `{"name": "Pie", "unit": "furlong"}`: "/unit", `{"name": "Pie", "diet": "carnivore"}`: "/diet", `{"name": "Pie", "fridgeDays": -1}`: "/fridgeDays",
		`{"name": "Pie", "freezerDays": 1e9}`: "/freezerDays", `{"name": "Pie", "names": [""]}`: "/names/0", `{"name": "Pie", "thing": "yes"}`: "/thing", `{"name": "Pie", "colour": "red"}`: "/colour",
	},
	"tonight": {
		`{"servings": 0}`: "/servings", `{"servings": -2}`: "/servings", `{"servings": 1e20}`: "/servings", `{"servings": "two"}`: "/servings", `{"minutes": 0}`: "/minutes", `{"minutes": 1e9}`: "/minutes",
		`{"meal": "brunch"}`: "/meal", `{"count": 21}`: "/count", `{"with": ["stardust"]}`: "/with/0", `{"with": ["eggs", ""]}`: "/with/1", `{"plan": "yes"}`: "/plan",
		`{"date": ""}`: "/date", `{"date": "next Friday"}`: "/date", `{"date": "2026-11-22"}`: "/date", `{"guests": 2}`: "/guests", `{"guests": [{"diet": "carnivore"}]}`: "/guests/0",
		`{"guests": [{}, {"allergies": ["stardust"]}]}`: "/guests/1", `{"guests": [{"dislikes": ["stardust"]}]}`: "/guests/0", `{"guests": [{"portion": -1}]}`: "/guests/0/portion", `{"guests": [{"name": "A", "portion": -3}]}`: "/guests/0/portion", `{"guests": [{"portion": 11}]}`: "/guests/0/portion", `{"guests": [{"vegan": true}]}`: "/guests/0/vegan",
	},
	"week-plan": {
		`{"start": "soon"}`: "/start", `{"start": "2026-13-01"}`: "/start", `{"start": "2027-02-29"}`: "/start", `{"start": "2026-11-22"}`: "/start", `{"start": "9999-12-31"}`: "/start", `{"start": ""}`: "/start",
		`{"start": "2026-11-24T00:00:00Z"}`: "/start", `{"days": 0}`: "/days", `{"days": 32}`: "/days", `{"days": 1.5}`: "/days", `{"servings": 1e20}`: "/servings", `{"servings": 0}`: "/servings", `{"budget": -1}`: "/budget",
		`{"budget": 1e300}`: "/budget", `{"name": ""}`: "/name", `{"meal": "supper"}`: "/meal", `{"budjet": 5}`: "/budjet", `{"weekdays": []}`: "/weekdays", `{"days": 1, "start": "2026-11-24", "weekdays": ["monday"]}`: "/weekdays",
	},
	"meal-prep": {
		`{"meals": 1}`: "/meals", `{"meals": 15}`: "/meals", `{"servings": 1e20}`: "/servings", `{"servings": 60}`: "/servings", `{"servings": -1}`: "/servings", `{"start": "2026-02-30"}`: "/start", `{"start": "yesterday"}`: "/start",
		`{"start": "2026-11-01"}`: "/start", `{"recipe": "stardust pie"}`: "/recipe", `{"recipe": ""}`: "/recipe", `{"recipe": "shakshuka", "meals": 14}`: "/meals", `{"meal": "dessert"}`: "/meal",
	},
	"shop": {
		`{"until": "2026-11-22"}`: "/until", `{"until": "later"}`: "/until", `{"until": "2026-11-31"}`: "/until", `{"until": 5}`: "/until", `{"name": ""}`: "/name", `{"planId": 7}`: "/planId", `{"listId": []}`: "/listId",
		`{"storeId": null}`: "/storeId", `{"name": "a\u0000"}`: "/name", `{"planId": "a\u0000"}`: "/planId", `{"listId": "a\u0000"}`: "/listId", `{"list": "x"}`: "/list", `{"until": "20261124"}`: "/until",
		`{"storeId": "nope"}`: "/storeId",
	},
	"check-off": {
		`{"items": [{"item": "rope"}]}`: "/items/0/item", `{"items": [{"item": "tea", "amount": 0}]}`: "/items/0/amount", `{"items": [{"item": "tea", "amount": -1}]}`: "/items/0/amount",
		`{"items": [{"item": "tea", "amount": 1e20}]}`: "/items/0/amount", `{"items": [{"item": "tea", "amount": 1, "unit": "furlong"}]}`: "/items/0/unit", `{"items": [{"item": "tea", "unit": "g"}]}`: "/items/0/amount",
		`{"items": [{"item": "tea", "price": -0.01}]}`: "/items/0/price", `{"items": [{"item": "tea", "bestBefore": "2026-02-30"}]}`: "/items/0/bestBefore", `{"items": [{"item": "tea", "bestBefore": "never"}]}`: "/items/0/bestBefore",
		`{"items": [{}]}`: "/items/0/item", `{"items": "tea"}`: "/items", `{"items": [{"item": "tea"}, {"item": "rope"}]}`: "/items/1/item",
		`{"back": true}`: "/items", `{"items": [{"item": "rope"}], "back": true}`: "/items/0/item", `{"back": "yes"}`: "/back",
		`{"items": [{"item": "tea"}], "storeId": "nope"}`: "/storeId", `{"items": [{"item": "tea", "price": 2.5}, {"item": "Tea"}]}`: "/items/1/item",
	},
	"cooked": {
		`{}`: "/recipe", `{"recipe": "stardust pie"}`: "/recipe", `{"recipe": "shakshuka", "servings": 0}`: "/servings", `{"recipe": "shakshuka", "servings": 1e20}`: "/servings", `{"recipe": "shakshuka", "servings": 1e-9}`: "/servings", `{"recipe": "shakshuka", "servings": 2, "leftovers": 3}`: "/leftovers", `{"mealId": "x", "recipe": "shakshuka"}`: "/recipe",
		`{"recipe": "shakshuka", "leftovers": -1}`: "/leftovers", `{"recipe": "shakshuka", "rating": 6}`: "/rating", `{"recipe": "shakshuka", "rating": 4.5}`: "/rating", `{"recipe": "shakshuka", "freeze": 1}`: "/freeze",
		`{"recipe": "shakshuka", "date": "2026-11-24"}`: "/date", `{"recipe": "shakshuka", "date": "2026-02-30"}`: "/date", `{"recipe": "shakshuka", "date": "yesterday"}`: "/date", `{"recipe": "shakshuka", "date": "2020-01-01"}`: "/date", `{"recipe": {}}`: "/recipe",
	},
	"replan": {
		`{}`: "/servings", `{"guests": -1}`: "/guests", `{"guests": 1e20}`: "/guests", `{"guests": 99.5}`: "/guests", `{"servings": 0}`: "/servings", `{"servings": 101}`: "/servings", `{"absent": ["Casper"]}`: "/absent/0", `{"absent": ["Alex", "Casper"]}`: "/absent/1",
		`{"to": "2026-11-01"}`: "/to", `{"to": "2026-04-31"}`: "/to", `{"to": "9999-12-31"}`: "/to", `{"date": "2026-12-24", "guests": 1}`: "/date", `{"date": "christmas"}`: "/date", `{"recipe": "stardust pie"}`: "/recipe", `{"skip": "yes"}`: "/skip", `{"skip": true, "to": "2026-11-30"}`: "/skip", `{"skip": true, "guests": 1}`: "/skip",
	},
	"import-recipe": {
		`{}`: "/text", `{"text": "a", "jsonLd": {}}`: "/jsonLd", `{"text": ""}`: "/text", `{"text": "Pie"}`: "/text", `{"text": "Pie\nIngredients\n"}`: "/text", `{"jsonLd": "{"}`: "/jsonLd", `{"jsonLd": {"@type": "Person"}}`: "/jsonLd",
		`{"jsonLd": 7}`: "/jsonLd", `{"text": "Pie\u0000\nIngredients\n1 egg"}`: "/text", `{"jsonLd": {"@type": "Recipe", "name": "Pie\u0000", "recipeIngredient": ["1 egg"]}}`: "/jsonLd/name", `{"jsonLd": {"@type": "Recipe", "recipeIngredient": ["1 egg"]}}`: "/name", `{"text": "Shakshuka\nIngredients\n1 egg"}`: "/name", `{"text": "Pie\nIngredients\n1 egg", "name": ""}`: "/name",
		`{"jsonLd": {"@type": "Recipe", "name": "Pie", "recipeIngredient": [` + strings.Repeat(`"1 egg", `, 200) + `"1 egg"]}}`: "/jsonLd",
	},
	"edit-recipe": {
		`{}`: "/recipe", `{"recipe": ""}`: "/recipe", `{"recipe": "stardust pie"}`: "/recipe", `{"recipe": 7}`: "/recipe", `{"recipe": "shakshuka"}`: "/recipe", `{"recipe": "shakshuka", "name": " "}`: "/name", `{"recipe": "shakshuka", "name": "Greek Salad"}`: "/name",
		`{"recipe": "shakshuka", "name": "` + strings.Repeat("x", 121) + `"}`: "/name", `{"recipe": "shakshuka", "ingredients": []}`: "/ingredients", `{"recipe": "shakshuka", "ingredients": ["1 egg", " "]}`: "/ingredients/1",
		`{"recipe": "shakshuka", "ingredients": ["01900000-0000-7000-8000-000000000000"]}`: "/ingredients/0", `{"recipe": "shakshuka", "steps": "stir"}`: "/steps", `{"recipe": "shakshuka", "servings": 0}`: "/servings",
		`{"recipe": "shakshuka", "servings": 1e20}`: "/servings", `{"recipe": "shakshuka", "prepMinutes": -1}`: "/prepMinutes", `{"recipe": "shakshuka", "cookMinutes": 1e9}`: "/cookMinutes", `{"recipe": "shakshuka", "meals": ["brunch"]}`: "/meals/0",
		`{"recipe": "shakshuka", "diets": ["carnivore"]}`: "/diets/0", `{"recipe": "shakshuka", "tags": [""]}`: "/tags/0", `{"recipe": "shakshuka", "rating": 6}`: "/rating", `{"recipe": "shakshuka", "version": 0}`: "/version", `{"recipe": "shakshuka", "version": "first"}`: "/version", `{"recipe": "shakshuka", "colour": "red"}`: "/colour", `{"recipe": "shakshuka", "steps": ["stir\u0000"]}`: "/steps/0",
	},
	"merge-foods": {
		`{}`: "/from", `{"from": "feta"}`: "/into", `{"from": "", "into": "feta"}`: "/from", `{"from": "feta", "into": ""}`: "/into", `{"from": "feta", "into": "stardust"}`: "/into", `{"from": "stardust", "into": "feta"}`: "/from",
		`{"from": 1, "into": "feta"}`: "/from", `{"from": "feta", "into": null}`: "/into", `{"from": ["feta"], "into": "feta"}`: "/from", `{"from": "feta", "into": "brie", "all": true}`: "/all",
	},
	"move": {
		`{}`: "/lots", `{"lots": []}`: "/lots", `{"lots": "x"}`: "/lots", `{"lots": [1]}`: "/lots/0", `{"lots": ["x"], "to": "moon"}`: "/to", `{"lots": ["x"], "from": "moon"}`: "/from", `{"lots": ["x"], "to": "default"}`: "/to",
		`{"lots": null}`: "/lots", `{"lots": ["x"], "set": "default"}`: "/set", `[]`: "",
	},
	"open-too-long": {
		`{"fridge": -1}`: "/fridge", `{"fridge": 1.5}`: "/fridge", `{"fridge": 1e20}`: "/fridge", `{"pantry": "30"}`: "/pantry", `{"freezer": null}`: "/freezer", `{"cellar": 1}`: "/cellar", `{"pantry": -5}`: "/pantry",
		`{"freezer": 4000}`: "/freezer", `{"fridge": []}`: "/fridge", `7`: "",
	},
	"prices": {
		`{}`: "/food", `{"food": ""}`: "/food", `{"food": "milk\u0000"}`: "/food", `{"food": "stardust"}`: "/food", `{"food": 7}`: "/food", `{"food": "milk", "months": 0}`: "/months", `{"food": "milk", "months": 61}`: "/months", `{"food": "milk", "months": 1.5}`: "/months",
		`{"food": "milk", "months": -3}`: "/months", `{"food": null}`: "/food", `{"food": "milk", "store": "x"}`: "/store",
	},
	"reminders": {
		`{"days": 0}`: "/days", `{"days": 32}`: "/days", `{"days": -1}`: "/days", `{"days": 1e20}`: "/days", `{"days": 2.5}`: "/days", `{"days": "3"}`: "/days", `{"days": null}`: "/days", `{"day": 3}`: "/day", `{"days": []}`: "/days", `[3]`: "",
	},
	"waste": {
		`{"months": 0}`: "/months", `{"months": 61}`: "/months", `{"months": -1}`: "/months", `{"months": 1e20}`: "/months", `{"months": 2.5}`: "/months", `{"months": "3"}`: "/months", `{"months": null}`: "/months", `{"month": 3}`: "/month",
		`{"months": {}}`: "/months", `"all"`: "",
	},
	"nutrition": {
		`{"recipeId": 7}`: "/recipeId", `{"planId": []}`: "/planId", `{"recipe": "shakshuka"}`: "/recipe", `{"recipeId": "shakshuka", "planId": "x"}`: "/planId", `{"recipeId": null}`: "/recipeId", `{"planId": {}}`: "/planId",
		`{"recipeId": true}`: "/recipeId", `{"recipeId": "a\u0000"}`: "/recipeId", `{"plan": "x"}`: "/plan", `[]`: "", `7`: "",
	},
	"find-food": {
		`{}`: "/names", `{"names": []}`: "/names", `{"names": "feta"}`: "/names", `{"names": [1]}`: "/names/0", `{"names": null}`: "/names", `{"name": ["feta"]}`: "/name", `{"names": [""]}`: "/names/0", `{"names": ["feta", null]}`: "/names/1",
		`{"names": ["` + strings.Repeat("x", 201) + `"]}`: "/names/0", `[]`: "",
	},
}

func TestActionsRefuseBadInput(t *testing.T) {
	t.Parallel()
	k := open(t)
	k.Run(`SDK.Actions.tonight({plan: true}); SDK.Entities.ShoppingItem.upsert({listId: SDK.Entities.ShoppingList.upsert({name: "Saturday"}).id, name: "tea"})`, koantest.Input{})
	for _, w := range append(workflows(t), workflow{Name: "move"}) {
		require.GreaterOrEqual(t, len(badInputs[w.Name]), 10, w.Name)
	}
	before := k.state()
	for name, inputs := range badInputs {
		for input, path := range inputs {
			t.Run(name+" "+fault.Clip(input, 60), func(t *testing.T) {
				_, err := k.TryAction(name, json.RawMessage(input))
				f := fault.From(err)
				require.Error(t, err)
				require.Equal(t, fault.InvalidPayload, f.Code, "%v", f)
				require.Equal(t, fault.Fix, f.Retry)
				require.NotEmpty(t, f.Hint)
				require.NotRegexp(t, "Error:|undefined|defect|object Object", f.Message+f.Hint)
				if details, many := f.Details.([]fault.Detail); many && len(details) > 1 && f.Path == "" {
					require.Contains(t, f.Message, path)
					return
				}
				require.Equal(t, path, f.Path, "%v", f)
			})
		}
	}
	require.Equal(t, before, k.state())
	// What there might be, and is not.
	for name, input := range map[string]any{
		"shop": map[string]any{"planId": "none"}, "cooked": map[string]any{"mealId": "none"}, "replan": map[string]any{"mealId": "none", "skip": true},
		"nutrition": map[string]any{"recipeId": "none"}, "move": map[string]any{"lots": []string{"none"}}, "check-off": map[string]any{"listId": "none"},
	} {
		_, err := k.TryAction(name, input)
		require.Equal(t, fault.NotFound, fault.CodeOf(err), "%s: %v", name, err)
		require.NotEmpty(t, fault.From(err).Hint)
	}
	require.Equal(t, before, k.state())
}
