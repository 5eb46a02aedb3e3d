package model

import (
	"slices"

	"entgo.io/ent/dialect/sql/schema"

	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/framework/fault"
)

// UniqueKeys returns the sets of columns that a table keeps unique together, in all rows.
func UniqueKeys(t *schema.Table) (out [][]*schema.Column) {
	for _, c := range t.Columns {
		if c.Unique {
			out = append(out, []*schema.Column{c})
		}
	}
	for _, x := range t.Indexes {
		if x.Unique && (x.Annotation == nil || x.Annotation.Where == "") {
			out = append(out, x.Columns)
		}
	}
	return out
}

// laterProblems returns what the handler would find wrong with models that it does not get, since something
// else is wrong with the input: what validators refuse, and new entities that share a unique key.
func (d *decoder) laterProblems() (out []fault.Detail) {
	tx, hooked := d.all.unsavedBuilders(d.kind)
	for _, m := range d.stored {
		if tx == nil || len(out) >= fault.MaxFound {
			break
		}
		out = append(out, d.kind.refusedValues(tx, m)...)
		if !hooked {
			out = append(out, d.all.refusedFields(tx, d.kind, m, m.At)...)
		}
	}
	i := slices.IndexFunc(d.all.App.Tables, func(t *schema.Table) bool { return t.Name == d.kind.Entity.Table })
	if i < 0 {
		return out
	}
	for _, key := range UniqueKeys(d.all.App.Tables[i]) {
		out = append(out, d.sharing(key)...)
	}
	return out
}

// sharing returns the models that certainly create an entity with a key which another one before them
// has.
func (d *decoder) sharing(key []*schema.Column) (out []fault.Detail) {
	taken := map[string]bool{}
	for _, m := range d.stored {
		if m.ID != nil || m.HasUniqueKey(d.kind) {
			continue
		}
		var values []any
		var last string
		for _, c := range key {
			if i := slices.IndexFunc(m.Fields, func(f FieldValue) bool { return f.Column.Name == c.Name && f.Value != nil }); i >= 0 {
				values, last = append(values, m.Fields[i].Value), m.Fields[i].Field.Name
			}
		}
		if len(values) < len(key) {
			continue
		}
		name := string(Encode(values))
		if taken[name] {
			out = append(out, fault.Detail{Path: m.At + "/" + filter.Escape(last), Message: "another " + d.kind.Name() + " of this call has the same " + last})
		}
		taken[name] = true
	}
	return out
}
