package entgen

import (
	"encoding/json"
	"slices"
	"strings"

	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/entc/gen"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/expose"
)

// upsertBy returns the JSON names of the key that an annotation declares, and
// reports what is not a key: values that are not always there, or not unique, do not
// say which entity is meant. Fields that callers do not write are filled by the app's hooks.
func (m *review) upsertBy(n *gen.Type, e *descriptor.Entity, a *expose.Entity) (names []string) {
	if len(a.UpsertBy) == 0 {
		return nil
	}
	sound, written := true, false
	for _, name := range a.UpsertBy {
		i := slices.IndexFunc(n.Fields, func(f *gen.Field) bool { return f.Name == name })
		if i < 0 {
			m.problem("%s: UpsertBy names %q, which is not a field", n.Name, name)
			sound = false
			continue
		}
		f := &e.Resource.Fields[slices.IndexFunc(e.Columns, func(c descriptor.Column) bool { return c.Ent == name })]
		switch {
		case f.Nullable:
			m.problem("%s.%s: a field of UpsertBy cannot be Optional", n.Name, name)
		case f.ReadOnly: // the app's hooks fill it
			names = append(names, f.Name)
			continue
		case f.Sensitive || f.WriteOnly || f.Opaque || len(f.ReadScopes) > 0:
			m.problem("%s.%s: every caller must be able to write a field of UpsertBy and filter by it", n.Name, name)
		default:
			names, written = append(names, f.Name), true
			continue
		}
		sound = false
	}
	if sound && !written {
		m.problem("%s: UpsertBy needs a field that callers write", n.Name)
	}
	if sound && !unique(n, a.UpsertBy) {
		m.problem("%s: UpsertBy needs a unique key: make %s Unique, or add a unique index of these fields", n.Name, strings.Join(a.UpsertBy, ", "))
	}
	return names
}

// foldedKeys returns the columns of the unique keys that ignore the case of a field, and reports fields that
// are in none.
func (m *review) foldedKeys(n *gen.Type, e *descriptor.Entity) (keys [][]string) {
	for i, f := range n.Fields {
		c := &e.Columns[slices.IndexFunc(e.Columns, func(c descriptor.Column) bool { return c.Ent == f.Name })]
		if !c.Folds(descriptor.FoldsKey) {
			continue
		}
		if c.Storage != descriptor.Text || c.Form != nil || c.Native != "" || len(n.Fields[i].EnumValues()) > 0 {
			m.problem("%s.%s: IgnoreCase is for strings", n.Name, f.Name)
			continue
		}
		in := 0
		if f.Unique {
			in++
			keys = append(keys, []string{c.Name})
		}
		for _, x := range n.Indexes {
			if !x.Unique || !slices.Contains(x.Columns, c.Name) {
				continue
			}
			if in++; isPartial(x) {
				m.problem("%s.%s: IgnoreCase cannot be kept for a unique index of some rows (entsql.IndexWhere)", n.Name, f.Name)
			}
			if !slices.ContainsFunc(keys, func(k []string) bool { return slices.Equal(k, x.Columns) }) {
				keys = append(keys, x.Columns)
			}
		}
		if in == 0 {
			m.problem("%s.%s: IgnoreCase needs a unique key: make the field Unique, or add a unique index with it", n.Name, f.Name)
		}
	}
	return keys
}

// isPartial reports whether an index is of some rows alone.
func isPartial(x *gen.Index) bool {
	a, ok := x.Annotations[entsql.IndexAnnotation{}.Name()]
	if !ok {
		return false
	}
	raw, err := json.Marshal(a)
	var says entsql.IndexAnnotation
	return err == nil && json.Unmarshal(raw, &says) == nil && says.Where != ""
}

// unique reports whether the database keeps the values of some fields unique
// together.
func unique(n *gen.Type, fields []string) bool {
	columns := make([]string, len(fields))
	for i, name := range fields {
		f := n.Fields[slices.IndexFunc(n.Fields, func(f *gen.Field) bool { return f.Name == name })]
		if len(fields) == 1 && f.Unique {
			return true
		}
		columns[i] = f.StorageKey()
	}
	slices.Sort(columns)
	for _, x := range n.Indexes {
		has := slices.Sorted(slices.Values(x.Columns))
		if x.Unique && slices.Equal(has, columns) {
			return true
		}
	}
	return false
}
