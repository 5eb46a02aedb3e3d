package web

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/store"
)

// changedRow is a row before and after.
type changedRow struct {
	Kind, Name, Action string
	Fields             []changedField
}

type changedField struct{ Name, Before, After string }

// maxChangedRows bounds what a page shows of a run.
const maxChangedRows = 200

// fields is a row as it was or is, by the names of its fields.
type fields map[string]json.RawMessage

func fieldsOf(raw json.RawMessage) fields {
	out := fields{}
	_ = json.Unmarshal(raw, &out) // null is no row
	return out
}

// describe has changes of rows in words.
func describe(v *visit, changes []store.Change) ([]changedRow, error) {
	changes = changes[:min(len(changes), maxChangedRows)]
	known, err := namesIn(v, changes)
	if err != nil {
		return nil, err
	}
	out := make([]changedRow, 0, len(changes))
	for _, c := range changes {
		before, after := fieldsOf(c.Before), fieldsOf(c.After)
		row := after
		if len(row) == 0 {
			row = before
		}
		r := changedRow{Kind: v.day.noun(c.Entity, 1), Action: string(c.Action), Name: known.of(v.day, row)}
		names := maps.Clone(before)
		maps.Copy(names, after)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if name == "id" || name == "version" || bytes.Equal(before[name], after[name]) {
				continue
			}
			f := changedField{Name: v.day.field(name), Before: v.day.value(name, before[name]), After: v.day.value(name, after[name])}
			if of, refers := strings.CutSuffix(name, "Id"); refers {
				f = changedField{v.day.field(of), known[plain(before[name])], known[plain(after[name])]}
			}
			if f.Before != f.After {
				r.Fields = append(r.Fields, f)
			}
		}
		out = append(out, r)
	}
	return out, nil
}

// names are those of rows, by their ids.
type names map[string]string

// referred are the fields that refer to rows with a name, and the entities of these.
var referred = map[string]string{"foodId": "Food", "itemId": "ShoppingItem", "listId": "ShoppingList", "planId": "MealPlan", "productId": "Product", "recipeId": "Recipe", "storeId": "Store"}

// namesIn returns the names of the changed rows, and of those that they refer to.
func namesIn(v *visit, changes []store.Change) (names, error) {
	out, missing := names{}, map[string][]string{}
	for _, c := range changes {
		for _, row := range []fields{fieldsOf(c.Before), fieldsOf(c.After)} {
			if name := row.name(); name != "" {
				out[c.ID] = name
			}
			for field, entity := range referred {
				if id := plain(row[field]); id != "" && !slices.Contains(missing[entity], id) {
					missing[entity] = append(missing[entity], id)
				}
			}
		}
	}
	for entity, ids := range missing {
		found, err := rows[struct{ ID, Name string }](v, entity, query{"filter": query{"id": query{"$in": ids}}, "fields": []string{"id", "name"}}, len(ids))
		if err != nil {
			return nil, err
		}
		for _, row := range found {
			out[row.ID] = row.Name
		}
	}
	return out, nil
}

// name is what a row itself says that it is, "" for nothing.
func (row fields) name() string {
	for _, field := range []string{"name", "itemName", "fileName", "value"} {
		if name := plain(row[field]); name != "" {
			return name
		}
	}
	return ""
}

// of names a row: by itself, else by the row that it is about, and by its day if it has one. "" is
// for a row without any name.
func (n names) of(d day, row fields) string {
	name := row.name()
	for _, field := range []string{"recipeId", "foodId", "itemId", "productId"} {
		if name == "" {
			name = n[plain(row[field])]
		}
	}
	date := plain(row["date"])
	if name != "" && date != "" {
		return d.on(date) + ": " + name
	}
	return cmp.Or(name, d.on(date))
}

// inWords is the name of a field or an entity as people write it.
func inWords(name string) string { return strings.ReplaceAll(catalog.Kebab(name), "-", " ") }

var entityCount = regexp.MustCompile(`\b(\d+) ([A-Z]\w+)`)

// counted has the counts of a plan's summary in words: "6 PlannedMeal" are 6 planned meals.
func (l *tongue) counted(summary string) string {
	return title(entityCount.ReplaceAllStringFunc(summary, func(s string) string {
		n, entity, _ := strings.Cut(s, " ")
		if n == "1" {
			return n + " " + l.noun(entity, 1)
		}
		return n + " " + l.noun(entity, 2)
	}))
}

// happened is what a run changed, in words.
func (l *tongue) happened(changes []store.ChangeCount) string {
	var parts []string
	others := slices.ContainsFunc(changes, func(c store.ChangeCount) bool { return !slices.Contains(followers, c.Entity) })
	for _, c := range changes {
		if others && slices.Contains(followers, c.Entity) {
			continue
		}
		where := ""
		if c.Set != defaultSet && c.Set != "" {
			where = l.t("happened.in", c.Set)
		}
		for _, did := range []struct {
			n    int
			kind string
		}{{c.Created, "added"}, {c.Updated, "changed"}, {c.Deleted, "removed"}} {
			if did.n > 0 {
				parts = append(parts, l.t("happened."+did.kind, did.n, l.noun(c.Entity, did.n))+where)
			}
		}
	}
	return strings.Join(parts, ", ")
}

// deed is what a run did to the rows of an entity, as a heading; "" is for nothing.
func (l *tongue) deed(entity string, changes []store.ChangeCount) string {
	var all store.ChangeCount
	for _, c := range changes {
		if c.Entity == entity {
			all.Created, all.Updated, all.Deleted = all.Created+c.Created, all.Updated+c.Updated, all.Deleted+c.Deleted
		}
	}
	kind, n := "add", all.Created
	switch {
	case all.Deleted > 0:
		kind, n = "remove", all.Deleted
	case all.Created == 0 && all.Updated > 0:
		kind, n = "change", all.Updated
	case all.Updated > 0:
		n += all.Updated
	}
	if n == 0 {
		return ""
	}
	if key := "heading." + kind + "." + entity; l.knows(key) {
		return l.t(key, n)
	}
	return l.t("heading."+kind, n, l.noun(entity, n))
}

// field is the name of a field as people write it.
func (l *tongue) field(name string) string {
	if key := "field." + name; l.knows(key) {
		return l.t(key)
	}
	return inWords(name)
}

// value is the value of a field as people read it. What a row can be only one of has a name.
func (d day) value(field string, raw json.RawMessage) string {
	text := plain(raw)
	var several []string
	var people []member
	switch {
	case slices.Contains(enumerated, field), text == "true", text == "false":
		return d.word("value", text)
	case field == "aisle", field == "unit", field == "diet":
		return d.word(field, text)
	case d.orNative().tag != native && json.Unmarshal(raw, &several) == nil && len(several) > 0:
		for i, one := range several {
			several[i] = d.spoken(one)
		}
		return strings.Join(several, ", ")
	case d.orNative().tag != native && field == "members" && json.Unmarshal(raw, &people) == nil:
		several = nil // what was tried before has left something
		for _, one := range people {
			several = append(several, d.person(one))
		}
		return strings.Join(several, "; ")
	}
	return d.plain(raw)
}

// person is somebody who eats here, in words.
func (l *tongue) person(m member) string {
	said := []string{m.Name, l.t("portions", m.Portion)}
	if m.Diet != "" && m.Diet != "none" {
		said = append(said, l.word("diet", m.Diet))
	}
	if len(m.Allergies) > 0 {
		said = append(said, l.t("household.allergic", l.words("allergen", m.Allergies)))
	}
	if len(m.Dislikes) > 0 {
		said = append(said, l.t("household.dislikes")+": "+strings.Join(m.Dislikes, ", "))
	}
	return strings.Join(said, ", ")
}

// enumerated are the fields that have one of a few values.
var enumerated = []string{"status", "place", "reason", "kind", "mealType", "source", "difficulty", "origin", "state"}

// plain is a value as people read it, a day and a time where the household is.
func (d day) plain(raw json.RawMessage) string {
	text := plain(raw)
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return d.clock(at)
	}
	return d.on(text)
}

// plain is a value as it is written.
func plain(raw json.RawMessage) string {
	var text string
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return ""
	case json.Unmarshal(raw, &text) == nil:
		return fault.Clip(text, 120)
	}
	return fault.Clip(string(raw), 120)
}
