package web

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/koan-go/koan/framework/run/store"
)

// nouns are the rows of entities as a family calls them, of one and of several.
var nouns = map[string][2]string{
	"PantryItem": {"thing in the house", "things in the house"}, "PantryEvent": {"line of the diary", "lines of the diary"},
	"PlannedMeal": {"meal", "meals"}, "MealPlan": {"plan of meals", "plans of meals"}, "PlanRule": {"rule", "rules"},
	"ShoppingItem": {"line of the shopping list", "lines of the shopping list"}, "ShoppingList": {"shopping list", "shopping lists"}, "ShoppingNeed": {"note for which meal", "notes for which meal"},
	"Recipe": {"recipe", "recipes"}, "RecipeIngredient": {"ingredient", "ingredients"}, "Leftover": {"leftover", "leftovers"},
	"PantryPhoto": {"photo", "photos"}, "Detection": {"code on a photo", "codes on photos"}, "Product": {"product", "products"},
	"Price": {"price", "prices"}, "Store": {"store", "stores"}, "Household": {"household", "households"}, "Food": {"food", "foods"}, "FoodPortion": {"measure of a food", "measures of foods"},
}

// noun is what n rows of an entity are called.
func noun(entity string, n int) string {
	both, known := nouns[entity]
	switch {
	case !known && n == 1:
		return inWords(entity)
	case !known:
		return inWords(entity) + "s"
	case n == 1:
		return both[0]
	}
	return both[1]
}

// followers are entities whose rows follow from those of others: where these change too, nobody has
// to be told.
var followers = []string{"PantryEvent", "ShoppingNeed", "RecipeIngredient"}

// told is the order in which changes are told: first what people had in mind.
var told = []string{"PlannedMeal", "Leftover", "PantryItem", "ShoppingItem"}

// rank is the place of an entity in that order.
func rank(entity string) int {
	switch at := slices.Index(told, entity); {
	case at >= 0:
		return at
	case entity == "Recipe": // that it was cooked once more goes without saying
		return len(told) + 1
	}
	return len(told)
}

// deeds says in kitchen words what changes of rows come to, as what is done: "takes 200 g Spinach out
// of the fridge".
func deeds(v *visit, changes []store.Change) ([]string, error) {
	changes = slices.Clone(changes)
	slices.SortStableFunc(changes, func(a, b store.Change) int { return rank(a.Entity) - rank(b.Entity) })
	known, err := namesIn(v, changes[:min(len(changes), maxChangedRows)])
	if err != nil {
		return nil, err
	}
	var said []string
	times := map[string]int{}
	others := slices.ContainsFunc(changes, func(c store.Change) bool { return !slices.Contains(followers, c.Entity) })
	for _, c := range changes[:min(len(changes), maxChangedRows)] {
		if others && slices.Contains(followers, c.Entity) {
			continue
		}
		t := teller{v.day, known, fieldsOf(c.Before), fieldsOf(c.After)}
		text := t.tell(c)
		if text == "" {
			continue
		}
		if times[text]++; times[text] == 1 {
			said = append(said, text)
		}
	}
	for i, text := range said {
		said[i] = capital(text)
		if n := times[text]; n > 1 {
			said[i] += fmt.Sprintf(" (%d times)", n)
		}
	}
	if more := len(changes) - maxChangedRows; more > 0 {
		said = append(said, fmt.Sprintf("And %d more", more))
	}
	return said, nil
}

// teller says what becomes of a row.
type teller struct {
	d             day
	known         names
	before, after fields
}

func (t teller) tell(c store.Change) string {
	if tell, ok := tellers[c.Entity]; ok {
		return tell(t, c.Action)
	}
	return t.plainly(c)
}

// tellers say it for the entities that a family has to do with every day.
var tellers = map[string]func(teller, store.Action) string{
	"PantryItem": teller.lot, "PlannedMeal": teller.meal, "ShoppingItem": teller.line, "ShoppingList": teller.list,
	"Leftover": teller.leftover, "Price": teller.price, "Recipe": teller.recipe, "Detection": teller.code, "MealPlan": teller.plan,
}

// plainly says it of any row.
func (t teller) plainly(c store.Change) string {
	row := t.row()
	what := noun(c.Entity, 1)
	if name := t.known.of(t.d, row); name != "" {
		what += " " + name
	}
	switch c.Action {
	case store.Create:
		return "adds the " + what
	case store.Delete:
		return "removes the " + what
	}
	var changed []string
	for name, value := range t.after {
		if name != "id" && name != "version" && string(value) != string(t.before[name]) {
			changed = append(changed, inWords(strings.TrimSuffix(name, "Id")))
		}
	}
	slices.Sort(changed)
	if len(changed) == 0 {
		return ""
	}
	return "changes the " + what + ": " + strings.Join(changed, ", ")
}

// row is the row as it is afterwards, or as it was if it is gone.
func (t teller) row() fields {
	if len(t.after) > 0 {
		return t.after
	}
	return t.before
}

func (t teller) name() string { return cmp.Or(t.known.of(t.d, t.row()), "something") }

// changed reports whether a field is another one afterwards. Changes have the fields that changed.
func (t teller) changed(field string) bool { return string(t.before[field]) != string(t.after[field]) }

func (t teller) text(row fields, field string) string { return plain(row[field]) }

// of is a field of the row, whichever side has it.
func (t teller) of(field string) string {
	return cmp.Or(plain(t.after[field]), plain(t.before[field]))
}

func figure(raw json.RawMessage) float64 {
	var f float64
	_ = json.Unmarshal(raw, &f) // null is nothing
	return f
}

func (t teller) lot(a store.Action) string {
	name, unit := t.name(), t.of("unit")
	there, was := figure(t.after["amount"]), figure(t.before["amount"])
	place := "in the house"
	if p := t.of("place"); p != "" {
		place = "in the " + p
	}
	into, from := strings.Replace(place, "in the", "into the", 1), strings.Replace(place, "in the", "out of the", 1)
	switch {
	case a == store.Create:
		return "puts " + amount(there, unit) + " " + name + " " + into
	case a == store.Delete:
		return "takes " + name + " out of the house, as if it had never come"
	case t.changed("status") && t.text(t.after, "status") == "available":
		if t.changed("amount") && there > was {
			return "puts " + amount(there-was, unit) + " " + name + " back " + into
		}
		return "puts " + name + " back " + into
	case t.changed("status") && t.text(t.after, "status") == "wasted":
		return "notes " + name + " as thrown away"
	case t.changed("status"):
		return "notes " + name + " as used up"
	case t.changed("amount") && there > was:
		return "puts " + amount(there-was, unit) + " " + name + " back " + into
	case t.changed("amount"):
		return "takes " + amount(was-there, unit) + " " + name + " " + from
	case t.changed("place"):
		return "moves " + name + " from the " + t.text(t.before, "place") + " to the " + t.text(t.after, "place")
	case t.changed("openedAt") && t.text(t.after, "openedAt") == "":
		return "notes " + name + " as not opened"
	case t.changed("openedAt"):
		return "notes " + name + " as opened"
	case t.changed("bestBefore"):
		return "dates " + name + " " + cmp.Or(t.d.on(t.text(t.after, "bestBefore")), "without an end")
	}
	return "changes what is known of " + name
}

func (t teller) meal(a store.Action) string {
	dish := cmp.Or(t.known[t.of("recipeId")], t.of("name"), "a meal")
	day := t.d.on(t.of("date"))
	switch {
	case a == store.Create && t.text(t.after, "status") == "cooked":
		return "notes " + dish + " of " + day + " as cooked"
	case a == store.Create:
		return "plans " + dish + " for " + day
	case a == store.Delete:
		return "takes " + dish + " off " + day
	case t.changed("status") && t.text(t.after, "status") == "cooked":
		return "notes " + dish + " as cooked"
	case t.changed("status") && t.text(t.before, "status") == "cooked":
		return "takes " + dish + " off the diary: it is planned, and not cooked"
	case t.changed("status") && t.text(t.after, "status") == "skipped":
		return "drops " + dish
	case t.changed("status"):
		return "plans " + dish + " again"
	case t.changed("date"):
		return "moves " + dish + " from " + t.d.on(t.text(t.before, "date")) + " to " + t.d.on(t.text(t.after, "date"))
	case t.changed("recipeId"):
		return "plans " + dish + " instead of " + cmp.Or(t.known[t.text(t.before, "recipeId")], t.text(t.before, "name"), "what was planned")
	case t.changed("planId") && t.text(t.after, "planId") == "":
		return "leaves " + dish + " of " + day + " out of the plan"
	case t.changed("planId"):
		return "takes " + dish + " of " + day + " into the plan"
	case t.changed("servings"):
		return "makes " + dish + " for " + number(figure(t.after["servings"])) + " instead of " + number(figure(t.before["servings"]))
	}
	return "changes what is noted of " + dish
}

func (t teller) line(a store.Action) string {
	name := t.name()
	switch {
	case a == store.Create:
		return "puts " + name + " on the shopping list"
	case a == store.Delete:
		return "takes " + name + " off the shopping list"
	case t.changed("bought") && t.text(t.after, "bought") == "true":
		return "ticks " + name + " off the shopping list"
	case t.changed("bought"):
		return "puts " + name + " back on the shopping list"
	case t.changed("amount"):
		return "wants " + amount(figure(t.after["amount"]), t.of("unit")) + " " + name + " instead of " + amount(figure(t.before["amount"]), cmp.Or(t.text(t.before, "unit"), t.of("unit")))
	}
	return "changes " + name + " on the shopping list"
}

func (t teller) list(a store.Action) string {
	name := t.name()
	switch {
	case a == store.Create:
		return "makes the shopping list " + name
	case a == store.Delete:
		return "removes the shopping list " + name
	case t.changed("status") && t.text(t.after, "status") == "open":
		return "opens the shopping list " + name + " again"
	case t.changed("status"):
		return "closes the shopping list " + name
	}
	return "changes the shopping list " + name
}

func (t teller) leftover(a store.Action) string {
	n := figure(t.row()["servings"])
	portions := number(n) + " portions of " + t.name()
	if math.Abs(n-1) < 0.001 {
		portions = "a portion of " + t.name()
	}
	switch {
	case a == store.Create:
		return "keeps " + portions + " in the " + cmp.Or(t.of("place"), "fridge")
	case a == store.Delete:
		return "takes what was left of " + t.name() + " away again"
	case t.changed("status") && t.text(t.after, "status") == "available":
		return "puts what was left of " + t.name() + " back"
	case t.changed("status"):
		return "notes what was left of " + t.name() + " as " + t.text(t.after, "status")
	}
	return "changes what was left of " + t.name()
}

func (t teller) price(a store.Action) string {
	of := " of " + t.name()
	switch {
	case a == store.Create:
		return "notes the price" + of + ", " + t.d.money(figure(t.after["price"]))
	case a == store.Delete, t.changed("withdrawn") && t.text(t.after, "withdrawn") == "true":
		return "forgets the price" + of
	case t.changed("withdrawn"):
		return "notes the price" + of + " again"
	}
	return "changes the price" + of
}

func (t teller) recipe(a store.Action) string {
	switch {
	case a == store.Create:
		return "adds the recipe " + t.name()
	case a == store.Delete:
		return "removes the recipe " + t.name()
	case t.changed("rating"):
		return "rates " + t.name() + " " + cmp.Or(t.text(t.after, "rating"), "not at all")
	case t.changed("timesCooked"):
		return "counts " + t.name() + " as cooked " + cmp.Or(t.text(t.after, "timesCooked"), "0") + " times"
	}
	return "changes the recipe " + t.name()
}

func (t teller) code(a store.Action) string {
	code := "the code " + t.of("value")
	switch {
	case a == store.Create:
		return "reads " + code
	case a == store.Delete:
		return "forgets that " + code + " was read"
	case t.changed("status") && t.text(t.after, "status") == "open":
		return "leaves open what " + code + " is"
	case t.changed("status") && t.text(t.after, "status") == "dismissed":
		return "dismisses " + code
	}
	return "says what " + code + " is"
}

func (t teller) plan(a store.Action) string {
	switch a {
	case store.Create:
		return "makes a plan of meals"
	case store.Delete:
		return "removes the plan of meals"
	}
	return "changes the plan of meals"
}
