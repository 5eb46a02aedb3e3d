package undo

import (
	"fmt"
	"maps"
)

// cells are the tables of a set: by table, key and column, as texts.
type cells map[string]map[string]map[string]string

// null is what no text is.
const null = "\x00null"

// relations is what the oracle knows of the fixture's schema.
var relations = struct {
	entities map[string]string            // table -> entity
	fields   map[string]string            // column -> field, where it is another word
	parents  map[string]map[string]string // table -> column -> table that it refers to
	unique   map[string]string            // table -> column
}{
	entities: map[string]string{"todos": "Todo", "steps": "Step", "persons": "Person", "labels": "Label", "audit_logs": "AuditLog"},
	parents: map[string]map[string]string{
		"todos": {"assigned_user_id": "persons"}, "steps": {"todo_steps": "todos"}, "todo_labels": {"todo_id": "todos", "label_id": "labels"},
	},
	unique: map[string]string{"persons": "email", "labels": "name"},
}

// hidden is the column that nobody may read.
const hidden = "secret"

func merged(a, b map[string]string) map[string]string {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

func (c cells) clone() cells {
	out := cells{}
	for table, rows := range c {
		out[table] = map[string]map[string]string{}
		for key, row := range rows {
			out[table][key] = maps.Clone(row)
		}
	}
	return out
}

// without leaves versions out: they count on.
func (c cells) without() cells {
	out := c.clone()
	for _, row := range out["todos"] {
		delete(row, "version")
	}
	return out
}

// done is a run of a history, with the tables before and after.
type done struct {
	id            string
	set           string
	before, after cells
}

// changed reports whether the run changed this table alone.
func (r *done) changed(table string) bool {
	before, after := r.before.without(), r.after.without()
	delete(before, table)
	delete(after, table)
	return fmt.Sprint(before) == fmt.Sprint(after)
}

// expected returns the tables after undoing a run now, and the places of what was changed since,
// or why the tables would not fit together.
func expected(r *done, now cells) (want cells, places []string, unfit string) {
	want = now.clone()
	changedSince := func(table, key, column string) {
		place := "/" + relations.entities[table] + "/" + key
		if column != "" {
			place += "/" + column
		}
		places = append(places, place)
	}
	for table := range r.after {
		for key, before := range r.before[table] {
			after, there := r.after[table][key]
			is, now := now[table][key]
			switch {
			case !there && now: // deleted, and there again
				changedSince(table, key, "")
			case !there:
				want[table][key] = maps.Clone(before)
			case maps.Equal(before, after):
			case !now:
				if !sameBut(before, after, "version") {
					changedSince(table, key, "")
				}
			default:
				for column := range before {
					switch {
					case column == "version" || before[column] == after[column]:
					case column == hidden && is[column] != after[column]: // it stays, and nothing says so
					case is[column] == after[column]:
						want[table][key][column] = before[column]
					case column != "updated_at":
						changedSince(table, key, column)
					}
				}
			}
		}
		for key, after := range r.after[table] {
			if _, there := r.before[table][key]; there {
				continue
			}
			is, there := now[table][key]
			if !there {
				changedSince(table, key, "")
				continue
			}
			for column := range after {
				if column != "version" && column != "updated_at" && column != hidden && is[column] != after[column] {
					changedSince(table, key, column)
				}
			}
			delete(want[table], key)
		}
	}
	return want, places, want.unfit()
}

func sameBut(a, b map[string]string, column string) bool {
	for c := range a {
		if c != column && a[c] != b[c] {
			return false
		}
	}
	return true
}

// unfit says where tables break a rule of the schema, "" where they do not.
func (c cells) unfit() string {
	for table, columns := range relations.parents {
		for key, row := range c[table] {
			for column, parent := range columns {
				if v := row[column]; v != null && c[parent][v] == nil {
					return table + " " + key + " refers to " + parent + " " + v
				}
			}
		}
	}
	for table, column := range relations.unique {
		seen := map[string]bool{}
		for key, row := range c[table] {
			if seen[row[column]] {
				return table + " " + key + " has " + row[column] + " twice"
			}
			seen[row[column]] = true
		}
	}
	return ""
}
