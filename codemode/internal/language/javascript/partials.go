package javascript

import (
	"bytes"
	"encoding/json"
	"slices"
	"weak"

	"github.com/dop251/goja"

	"github.com/koan-go/koan/codemode/internal/bind"
)

// partials are what a script read of relationships with a limit or a filter, so that the rows have
// others. Written back to those rows it would unlink these.
type partials struct {
	js *engine
	// lists are arrays of related rows, with the ids of the rows that they were read with.
	lists map[weak.Pointer[goja.Object]]goja.Value
	// nulls are relationships to one row that a filter hid, if there is one, by the ids of their rows.
	nulls map[string][]*hidden
	// accessors are the getters and setters of such members, by name.
	accessors map[string]accessor
}

type accessor struct{ get, set goja.Value }

// hidden are the relationships of one row that are null because of a filter.
type hidden struct {
	row   weak.Pointer[goja.Object]
	keys  []string // all members of the row as it was read
	names []string // those that the script has not written to since
}

func newPartials(js *engine) *partials {
	return &partials{js: js, lists: map[weak.Pointer[goja.Object]]goja.Value{}, nulls: map[string][]*hidden{}, accessors: map[string]accessor{}}
}

// relation is what a read asks of a relationship, as far as it decides which rows it returns.
type relation struct {
	Limit  int64           `json:"limit"`
	Filter json.RawMessage `json:"filter"`
	With   json.RawMessage `json:"with"`
}

// filters reports whether the filter has a condition.
func (r relation) filters() bool { return len(r.Filter) > len("{}") && string(r.Filter) != "null" }

const (
	partialHint = "Leave the member out, read it without limit and filter, or write an array of your own that has all of them, such as [...x]."
	hiddenHint  = "Leave the member out, or read it without the filter. To unlink what is there: patch(id, {member: null})."
)

// withPart begins the part of a call's input that asks for relationships in their object form.
var withPart = []byte(`"with":{`)

// readsParts reports whether the output of a call may have partial relationships.
func readsParts(id string, in []byte) bool {
	return bind.ReturnsRows(id) && bytes.Contains(in, withPart)
}

// note remembers the partial relationships in the output of an entity's operation.
func (pt *partials) note(id string, in []byte, out goja.Value) {
	parts := readsParts(id, in)
	if !parts && (len(pt.nulls) == 0 || !bind.ReturnsRows(id)) {
		return
	}
	rows := []goja.Value{out}
	if bind.ReturnsPage(id) {
		rows = elements(member(out, "items"))
	}
	var asked struct {
		With json.RawMessage `json:"with"`
	}
	if parts && json.Unmarshal(in, &asked) == nil {
		pt.noteRelations(rows, asked.With)
		return
	}
	pt.noteSeen(rows)
}

// noteRelations does so for rows that were read with relationships. A text or a list of names
// asks for all rows of each.
func (pt *partials) noteRelations(rows []goja.Value, with json.RawMessage) {
	var edges map[string]json.RawMessage
	if json.Unmarshal(with, &edges) != nil {
		return
	}
	for name, raw := range edges {
		var r relation
		if json.Unmarshal(raw, &r) != nil { // true
			continue
		}
		for _, row := range rows {
			related := member(row, name)
			items := elements(related)
			switch {
			case items != nil:
				if r.filters() || r.Limit > 0 && int64(len(items)) >= r.Limit {
					pt.lists[weak.Make(related.(*goja.Object))] = member(row, "id")
				}
				pt.noteRelations(items, r.With)
			case !goja.IsNull(related):
				pt.noteRelations([]goja.Value{related}, r.With)
			case r.filters():
				pt.noteHidden(row.(*goja.Object), name)
			}
		}
	}
}

// noteHidden remembers that a relationship of a row is null because of a filter, until the script
// writes to that member: it becomes one with a setter.
func (pt *partials) noteHidden(row *goja.Object, name string) {
	id, ok := member(row, "id").(goja.String)
	if !ok {
		return
	}
	known := pt.nulls[id.String()]
	i := slices.IndexFunc(known, func(h *hidden) bool { return h.row.Value() == row })
	if i < 0 {
		i = len(known)
		known = append(known, &hidden{row: weak.Make(row), keys: row.Keys()})
		pt.nulls[id.String()] = known
	}
	known[i].names = append(known[i].names, name)
	a := pt.hiddenMember(name)
	_ = row.DefineAccessorProperty(name, a.get, a.set, goja.FLAG_TRUE, goja.FLAG_TRUE)
}

// noteSeen forgets that a filter hid a relationship of rows where a later read has found that there
// is nothing to hide.
func (pt *partials) noteSeen(rows []goja.Value) {
	for _, row := range rows {
		id, ok := member(row, "id").(goja.String)
		if !ok {
			continue
		}
		for _, h := range pt.nulls[id.String()] {
			h.names = slices.DeleteFunc(h.names, func(name string) bool { return goja.IsNull(member(row, name)) })
		}
	}
}

// hiddenMember returns the getter and the setter of hidden members of a name. The setter makes an
// ordinary member of what the script writes to.
func (pt *partials) hiddenMember(name string) accessor {
	if a, ok := pt.accessors[name]; ok {
		return a
	}
	get := pt.js.function("get "+name, 0, func(goja.FunctionCall) goja.Value { return goja.Null() })
	set := pt.js.function("set "+name, 1, func(c goja.FunctionCall) goja.Value {
		o, ok := c.This.(*goja.Object)
		if !ok {
			return goja.Undefined()
		}
		_ = o.DefineDataProperty(name, c.Argument(0), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_TRUE)
		if id, ok := member(o, "id").(goja.String); ok {
			for _, h := range pt.nulls[id.String()] {
				if h.row.Value() == o {
					h.names = slices.DeleteFunc(h.names, func(n string) bool { return n == name })
				}
			}
		}
		return goja.Undefined()
	})
	pt.accessors[name] = accessor{get, set}
	return accessor{get, set}
}

// unlinks returns why a member of an input would unlink related rows that the script has not read,
// and what to write instead; "" if it would not. For another row it is as good as any value; changes
// do not say whose they are.
func (pt *partials) unlinks(check *inputCheck, holder goja.Value, key string, v goja.Value) (why, hint string) {
	if !check.entity || len(pt.lists)+len(pt.nulls) == 0 {
		return "", ""
	}
	part := check.part()
	if part != "changes" && part != "model" && part != "models" {
		return "", ""
	}
	if goja.IsNull(v) {
		if row, ok := holder.(*goja.Object); ok && pt.isHidden(row, key) {
			return "a filter has left out what this refers to, if anything: writing null would unlink it", hiddenHint
		}
		return "", ""
	}
	o, ok := v.(*goja.Object)
	if !ok || key == "$add" || key == "$remove" {
		return "", ""
	}
	of, partial := pt.lists[weak.Make(o)]
	if partial && (part == "changes" || member(holder, "id").StrictEquals(of)) {
		return "these are not all related rows, since they were read with a limit or a filter: writing them would unlink the others", partialHint
	}
	return "", ""
}

// isHidden reports whether a null in a row is what a filter left of a relationship: in the row as it
// was read, or in a copy that has all its members.
func (pt *partials) isHidden(row *goja.Object, name string) bool {
	id, ok := member(row, "id").(goja.String)
	if !ok {
		return false
	}
	known := pt.nulls[id.String()]
	for _, h := range known {
		if h.row.Value() == row {
			return slices.Contains(h.names, name)
		}
	}
	own := row.Keys()
	return slices.ContainsFunc(known, func(h *hidden) bool {
		return slices.Contains(h.names, name) && !slices.ContainsFunc(h.keys, func(k string) bool { return !slices.Contains(own, k) })
	})
}
