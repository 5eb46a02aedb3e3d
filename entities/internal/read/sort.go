package read

import (
	"slices"
	"strconv"
	"strings"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// nulls says where a sort puts rows without a value.
type nulls string

const (
	nullsAnywhere nulls = "" // where the database's own order has them
	nullsFirst    nulls = "first"
	nullsLast     nulls = "last"
)

var (
	sortKeys   = []string{"field", "nulls"}
	nullPlaces = []string{string(nullsFirst), string(nullsLast)}
)

// sortName is one member of a sort, as it was given.
type sortName struct {
	named
	nulls nulls
}

// descending takes the mark of a downward sort off the name.
func (n *sortName) descending() (name string, descending bool) { return strings.CutPrefix(n.name, "-") }

// sort reads "-expiresAt,customer.name", {field: "-expiresAt", nulls: "last"}, or a list of
// such. The key breaks ties.
func (in *input) sort(e *descriptor.Entity, m map[string]any, at string) []term {
	v, ok := m["sort"]
	var out []term
	taken := map[string]bool{}
	if ok {
		names, ok := in.sortNames(v, at+"/sort", "sort fields")
		if !ok {
			return nil
		}
		for _, n := range names {
			t, ok := in.term(e, n)
			if !ok {
				continue
			}
			if taken[t.label()] {
				in.fail(n.at, filter.Quote(t.label())+" is in the sort more than once")
			}
			taken[t.label()] = true
			out = append(out, t.columns(e, taken)...)
		}
	}
	if !taken[e.Key.Field] {
		for _, t := range keyOrder(e, false) {
			if !taken[t.label()] {
				out = append(out, t)
			}
		}
	}
	return out
}

// columns returns the terms that a term of a sort stands for: an id of several columns is sorted by those that
// the sort does not have before.
func (t term) columns(root *descriptor.Entity, taken map[string]bool) (out []term) {
	of := t.entity(root)
	if t.column != &of.Key || t.column.Name != "" {
		return []term{t}
	}
	for _, part := range keyOrder(of, t.descending) {
		part.path, part.nulls = t.path, t.nulls
		if !taken[part.label()] || part.label() == t.label() { // the only part of a key may have its name
			taken[part.label()] = true
			out = append(out, part)
		}
	}
	return out
}

// keyOrder is the order of an entity's ids. Rows without ids are in the order of all their columns that can
// be sorted by.
func keyOrder(e *descriptor.Entity, descending bool) (out []term) {
	switch {
	case e.Key.Absent():
		for i := range e.Columns {
			f := &e.Resource.Fields[i]
			if filter.Readable(f) && !f.Opaque && f.Type != catalog.TypeJSON && f.Type != catalog.TypeBytes {
				out = append(out, term{column: &e.Columns[i], descending: descending})
			}
		}
	case len(e.Key.Parts) > 0:
		for i := range e.Key.Parts {
			out = append(out, term{column: &e.Key.Parts[i], descending: descending})
		}
	default:
		out = append(out, term{column: &e.Key, descending: descending})
	}
	return out
}

// sortNames reads the members of a sort; ok is false where there are too many. what names them in messages.
func (in *input) sortNames(v any, at, what string) (out []sortName, ok bool) {
	switch v := v.(type) {
	case map[string]any:
		out = in.sortObject(out, v, at)
	case []any:
		for i, item := range v[:min(len(v), maxNames)] {
			here := at + "/" + strconv.Itoa(i)
			switch item := item.(type) {
			case string:
				out = append(out, sortName{named: named{strings.TrimSpace(item), here}})
			case map[string]any:
				out = in.sortObject(out, item, here)
			default:
				in.wrong(here, what+" are strings, or objects {field, nulls}", "string or object", item)
			}
		}
		if len(v) == 0 {
			in.wrong(at, "at least one name is required", "non-empty list", v)
		}
	default:
		for _, n := range in.names(v, at, what) {
			out = append(out, sortName{named: n})
		}
	}
	if list, isList := v.([]any); len(out) > maxSort || isList && len(list) > maxNames {
		in.wrong(at, "a sort has at most "+strconv.Itoa(maxSort)+" fields", "list", v)
		return nil, false
	}
	return out, true
}

// sortObject reads {field, nulls}.
func (in *input) sortObject(out []sortName, m map[string]any, at string) []sortName {
	in.unknown(at, "option", m, sortKeys)
	name, ok := m["field"].(string)
	if !ok {
		in.wrong(at+"/field", "field must name what to sort by", "string", m["field"])
		return out
	}
	n := sortName{named: named{strings.TrimSpace(name), at + "/field"}}
	if v, given := m["nulls"]; given {
		s, ok := v.(string)
		switch {
		case !ok:
			in.wrong(at+"/nulls", `nulls must be "first" or "last"`, "string", v)
		case !slices.Contains(nullPlaces, s):
			in.fail(at+"/nulls", "nulls are sorted first or last, not "+filter.Quote(s)+fault.DidYouMean(s, nullPlaces))
		default:
			n.nulls = nulls(s)
		}
	}
	return append(out, n)
}

// term finds the field that a member of a sort names, through the to-one relationships before it.
func (in *input) term(e *descriptor.Entity, n sortName) (t term, ok bool) {
	name, descending := n.descending()
	t = term{descending: descending, nulls: n.nulls}
	path := strings.Split(name, ".")
	if len(path)-1 > maxWithDepth {
		in.fail(n.at, "a sort goes over at most "+strconv.Itoa(maxWithDepth)+" relationships")
		return t, false
	}
	for _, edge := range path[:len(path)-1] {
		s, ok := in.step(e, edge, n.at)
		if !ok {
			return t, false
		}
		t.path, e = append(t.path, s), s.target
	}
	t.column = in.sortable(e, path[len(path)-1], n.at)
	return t, t.column != nil
}

// step finds a to-one relationship of a sort.
func (in *input) step(e *descriptor.Entity, name, at string) (s step, ok bool) {
	edge, target := filter.Related(e, in.graph, name)
	switch {
	case edge == nil && filter.Readable(e.Resource.Field(name)):
		in.fail(at, filter.Quote(name)+" of "+e.Resource.Name+" is a field, not a relationship")
	case edge == nil:
		in.fail(at, "unknown relationship "+filter.Quote(name)+" of "+e.Resource.Name+fault.DidYouMean(name, filter.EdgeNames(e, in.graph)))
	case e.Resource.Edge(name).Many:
		in.fail(at, filter.Quote(name)+" of "+e.Resource.Name+" is a relationship to many; a sort goes over relationships to one")
	default:
		return step{edge: edge, own: e, target: target, guard: in.guards.Of(target)}, true
	}
	return s, false
}

// sortable finds a field that can be sorted by; nil if there is none.
func (in *input) sortable(e *descriptor.Entity, name, at string) *descriptor.Column {
	f := e.Resource.Field(name)
	if !filter.Readable(f) || e.Column(name) == nil {
		if edge, _ := filter.Related(e, in.graph, name); edge != nil {
			in.fail(at, filter.Quote(name)+" is a relationship; sort by a field of it, if it leads to one: "+filter.Quote(name+".id"))
			return nil
		}
		in.fail(at, "unknown field "+filter.Quote(name)+" of "+e.Resource.Name+fault.DidYouMean(name, filter.FieldNames(e)))
		return nil
	}
	if f.Opaque {
		in.fail(at, filter.Quote(name)+" cannot be sorted: it is stored in a format of its own")
		return nil
	}
	if f.Type == catalog.TypeJSON || f.Type == catalog.TypeBytes {
		in.fail(at, filter.Quote(name)+" of type "+string(f.Type)+" cannot be sorted")
		return nil
	}
	return e.Column(name)
}
