// Package kitchen is the arithmetic of PantryPal's workflows: which food a text
// names, what of the stock a meal takes, what is missing, what it costs. The
// workflows themselves are scripts (folder actions), and call it as Go actions.
//
// What belongs here: what needs amounts of food, over what the callers of an action may
// read. Not here: writing, or a decision that a household would want to make.
package kitchen

import (
	"github.com/koan-go/koan/framework"
)

// Actions returns the Go actions for framework.App.
func Actions() []framework.GoAction {
	reads := framework.ActionEffects("readOnly")
	return []framework.GoAction{
		framework.Action("find-food",
			"Finds the food of the catalogue that a name stands for (plurals, other names, \"large onions\"); none is guessed: without one there are candidates.",
			findFood, reads, framework.ActionTitle("Find a food"), framework.ActionExample(map[string]any{"names": []string{"large onions"}})),
		framework.Action("read-ingredients",
			"Reads lines of a recipe (\"2 cans (400 g) tomatoes, chopped\"): amount, unit, food, preparation, whether optional.",
			readIngredients, reads, framework.Unlisted(), framework.ActionExample(map[string]any{"lines": []string{"1 1/2 cups flour, sifted"}})),
		framework.Action("read-recipe",
			"Reads a recipe of a text, of schema.org JSON-LD, or of a web page that carries it or microdata: each line with its food. It changes nothing.",
			readRecipe, reads, framework.Unlisted(), framework.ActionExample(map[string]any{"text": "Toast\n\nIngredients\n2 slices bread"})),
		framework.Action("convert-amounts",
			"Converts amounts of foods between units, by density and portions. An amount that cannot be converted says why; nothing is assumed.",
			convertAmounts, reads, framework.Unlisted(), framework.ActionExample(map[string]any{"amounts": []any{map[string]any{"foodId": "onions", "amount": 2, "unit": "piece", "to": "g"}}})),
		framework.Action("cover-meals",
			"What of the stock meals would take (oldest lots first), what is missing, whom they do not suit, and what to buy. It changes nothing.",
			coverMeals, reads, framework.Unlisted()),
		framework.Action("day-meals",
			"What a day could have: recipes that keep the household's rules, time, allergies, and what was or is planned around it, with what they take of the stock that earlier meals leave. It changes nothing.",
			dayMeals, reads, framework.Unlisted()),
		framework.Action("find-leftovers",
			"Cooked food that is left and good on a day, with the portions that no planned meal has, and whom it does not suit. It changes nothing.",
			findLeftovers, reads, framework.ActionTitle("Find leftovers"), framework.ActionExample(map[string]any{})),
		framework.Action("find-recipe",
			"Finds the recipe that an id or name means. Where several could be meant, none is taken.",
			findRecipe, reads, framework.Unlisted(), framework.ActionExample(map[string]any{"recipe": "shakshuka"})),
		framework.Action("match-names",
			"Compares a name with others, case and plural apart.",
			matchNames, reads, framework.Unlisted(), framework.ActionExample(map[string]any{"name": "egg", "among": []string{"Eggs"}})),
		framework.Action("local-days",
			"The days that moments are where the household lives.",
			localDays, reads, framework.Unlisted(), framework.ActionExample(map[string]any{"times": []string{"2026-01-31T23:30:00Z"}})),
		framework.Action("choose-meals",
			"Chooses a meal for each of some days: the first of its list, unless that costs more than a budget; then the best ones that keep it, or the cheapest. It changes nothing.",
			chooseMeals, reads, framework.Unlisted()),
		framework.Action("stow",
			"Where foods are kept and until when they are good if they come into the house today, and which day today is for the household.",
			stow, reads, framework.Unlisted(), framework.ActionExample(map[string]any{"foodIds": []string{"milk"}})),
		framework.Action("nutrition",
			"Energy, protein, carbohydrate, fat, fibre of a recipe or of a plan's meals: per portion, and per member of the household and day. Lines that cannot be weighed are named.",
			nutrition, reads, framework.ActionTitle("Nutrition"), framework.ActionExample(map[string]any{})),
	}
}
