package web

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/koan-go/koan/framework/run/store"
)

// noun is what n rows of an entity are called.
func (l *tongue) noun(entity string, n int) string {
	if key := "noun." + entity; l.knows(key) {
		return l.t(key, n)
	}
	if n == 1 {
		return inWords(entity)
	}
	return inWords(entity) + "s"
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
			said[i] = v.day.t("deed.times", n, said[i])
		}
	}
	if more := len(changes) - maxChangedRows; more > 0 {
		said = append(said, capital(v.day.t("more", more)))
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
	what := t.d.noun(c.Entity, 1)
	if name := t.known.of(t.d, t.row()); name != "" {
		what += " " + name
	}
	switch c.Action {
	case store.Create:
		return t.d.t("deed.row.add", what)
	case store.Delete:
		return t.d.t("deed.row.remove", what)
	}
	var changed []string
	for name, value := range t.after {
		if name != "id" && name != "version" && string(value) != string(t.before[name]) {
			changed = append(changed, t.d.field(strings.TrimSuffix(name, "Id")))
		}
	}
	slices.Sort(changed)
	if len(changed) == 0 {
		return ""
	}
	return t.d.t("deed.row.change", what, strings.Join(changed, ", "))
}

// row is the row as it is afterwards, or as it was if it is gone.
func (t teller) row() fields {
	if len(t.after) > 0 {
		return t.after
	}
	return t.before
}

func (t teller) name() string {
	return cmp.Or(t.known.of(t.d, t.row()), t.d.t("deed.something"))
}

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

// at is a place of the house in a sentence: in, into, out of, from or to it.
func (t teller) at(how, place string) string {
	if key := how + "." + cmp.Or(place, "house"); t.d.knows(key) {
		return t.d.t(key)
	}
	return t.d.t(how+".place", place)
}

func (t teller) lot(a store.Action) string {
	d, name, unit, place := t.d, t.name(), t.of("unit"), t.of("place")
	there, was := figure(t.after["amount"]), figure(t.before["amount"])
	switch {
	case a == store.Create:
		return d.t("deed.lot.add", d.amount(there, unit), name, t.at("into", place))
	case a == store.Delete:
		return d.t("deed.lot.remove", name)
	case t.changed("status") && t.text(t.after, "status") == "available":
		if t.changed("amount") && there > was {
			return d.t("deed.lot.more", d.amount(there-was, unit), name, t.at("into", place))
		}
		return d.t("deed.lot.back", name, t.at("into", place))
	case t.changed("status") && t.text(t.after, "status") == "wasted":
		return d.t("deed.lot.wasted", name)
	case t.changed("status"):
		return d.t("deed.lot.used", name)
	case t.changed("amount") && there > was:
		return d.t("deed.lot.more", d.amount(there-was, unit), name, t.at("into", place))
	case t.changed("amount"):
		return d.t("deed.lot.less", d.amount(was-there, unit), name, t.at("outof", place))
	case t.changed("place"):
		return d.t("deed.lot.move", name, t.at("from", t.text(t.before, "place")), t.at("to", t.text(t.after, "place")))
	case t.changed("openedAt") && t.text(t.after, "openedAt") == "":
		return d.t("deed.lot.closed", name)
	case t.changed("openedAt"):
		return d.t("deed.lot.opened", name)
	case t.changed("bestBefore"):
		return d.t("deed.lot.dated", name, cmp.Or(d.on(t.text(t.after, "bestBefore")), d.t("deed.lot.noEnd")))
	}
	return d.t("deed.lot.change", name)
}

func (t teller) meal(a store.Action) string {
	d := t.d
	dish := cmp.Or(t.known[t.of("recipeId")], t.of("name"), d.t("deed.aMeal"))
	day := d.on(t.of("date"))
	switch {
	case a == store.Create && t.text(t.after, "status") == "cooked":
		return d.t("deed.meal.cookedOn", dish, day)
	case a == store.Create:
		return d.t("deed.meal.plan", dish, day)
	case a == store.Delete:
		return d.t("deed.meal.remove", dish, day)
	case t.changed("status") && t.text(t.after, "status") == "cooked":
		return d.t("deed.meal.cooked", dish)
	case t.changed("status") && t.text(t.before, "status") == "cooked":
		return d.t("deed.meal.uncooked", dish)
	case t.changed("status") && t.text(t.after, "status") == "skipped":
		return d.t("deed.meal.drop", dish)
	case t.changed("status"):
		return d.t("deed.meal.again", dish)
	case t.changed("date"):
		return d.t("deed.meal.move", dish, d.on(t.text(t.before, "date")), d.on(t.text(t.after, "date")))
	case t.changed("recipeId"):
		return d.t("deed.meal.instead", dish, cmp.Or(t.known[t.text(t.before, "recipeId")], t.text(t.before, "name"), d.t("deed.planned")))
	case t.changed("planId") && t.text(t.after, "planId") == "":
		return d.t("deed.meal.out", dish, day)
	case t.changed("planId"):
		return d.t("deed.meal.in", dish, day)
	case t.changed("servings"):
		return d.t("deed.meal.servings", dish, d.number(figure(t.after["servings"])), d.number(figure(t.before["servings"])))
	}
	return d.t("deed.meal.change", dish)
}

func (t teller) line(a store.Action) string {
	d, name := t.d, t.name()
	switch {
	case a == store.Create:
		return d.t("deed.line.add", name)
	case a == store.Delete:
		return d.t("deed.line.remove", name)
	case t.changed("bought") && t.text(t.after, "bought") == "true":
		return d.t("deed.line.tick", name)
	case t.changed("bought"):
		return d.t("deed.line.back", name)
	case t.changed("amount"):
		return d.t("deed.line.amount", d.amount(figure(t.after["amount"]), t.of("unit")), name, d.amount(figure(t.before["amount"]), cmp.Or(t.text(t.before, "unit"), t.of("unit"))))
	}
	return d.t("deed.line.change", name)
}

func (t teller) list(a store.Action) string {
	d, name := t.d, t.name()
	switch {
	case a == store.Create:
		return d.t("deed.list.add", name)
	case a == store.Delete:
		return d.t("deed.list.remove", name)
	case t.changed("status") && t.text(t.after, "status") == "open":
		return d.t("deed.list.open", name)
	case t.changed("status"):
		return d.t("deed.list.close", name)
	}
	return d.t("deed.list.change", name)
}

func (t teller) leftover(a store.Action) string {
	d := t.d
	switch {
	case a == store.Create:
		return d.t("deed.leftover.keep", figure(t.row()["servings"]), t.name(), t.at("in", cmp.Or(t.of("place"), "fridge")))
	case a == store.Delete:
		return d.t("deed.leftover.remove", t.name())
	case t.changed("status") && t.text(t.after, "status") == "available":
		return d.t("deed.leftover.back", t.name())
	case t.changed("status"):
		return d.t("deed.leftover.status", t.name(), d.word("value", t.text(t.after, "status")))
	}
	return d.t("deed.leftover.change", t.name())
}

func (t teller) price(a store.Action) string {
	d, name := t.d, t.name()
	switch {
	case a == store.Create:
		return d.t("deed.price.add", name, d.money(figure(t.after["price"])))
	case a == store.Delete, t.changed("withdrawn") && t.text(t.after, "withdrawn") == "true":
		return d.t("deed.price.remove", name)
	case t.changed("withdrawn"):
		return d.t("deed.price.again", name)
	}
	return d.t("deed.price.change", name)
}

func (t teller) recipe(a store.Action) string {
	d, name := t.d, t.name()
	switch {
	case a == store.Create:
		return d.t("deed.recipe.add", name)
	case a == store.Delete:
		return d.t("deed.recipe.remove", name)
	case t.changed("rating"):
		return d.t("deed.recipe.rate", name, cmp.Or(d.comma(t.text(t.after, "rating")), d.t("deed.recipe.unrated")))
	case t.changed("timesCooked"):
		return d.t("deed.recipe.count", name, cmp.Or(t.text(t.after, "timesCooked"), "0"))
	}
	return d.t("deed.recipe.change", name)
}

func (t teller) code(a store.Action) string {
	d, code := t.d, t.of("value")
	switch {
	case a == store.Create:
		return d.t("deed.code.read", code)
	case a == store.Delete:
		return d.t("deed.code.forget", code)
	case t.changed("status") && t.text(t.after, "status") == "open":
		return d.t("deed.code.open", code)
	case t.changed("status") && t.text(t.after, "status") == "dismissed":
		return d.t("deed.code.dismiss", code)
	}
	return d.t("deed.code.say", code)
}

func (t teller) plan(a store.Action) string {
	switch a {
	case store.Create:
		return t.d.t("deed.plan.add")
	case store.Delete:
		return t.d.t("deed.plan.remove")
	}
	return t.d.t("deed.plan.change")
}
