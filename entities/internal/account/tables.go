package account

import (
	"slices"
	"sync/atomic"

	"entgo.io/ent/dialect/sql/schema"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/entities/internal/read"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exact"
	"github.com/koan-go/koan/framework/run/store"
)

// Tables are those of an app's entities.
type Tables map[*model.Kind]*Table

// Table is an entity's table with all columns that ent knows, those of edges and of fields
// that are not exposed included.
type Table struct {
	Columns  []string
	Secret   []bool      // by column: nobody may read it
	json     []bool      // by column: it holds JSON
	sizeable bool        // rows may be too large to be read
	burdened atomic.Bool // one was written that was too large, so that another one may be
	Guarded  bool        // it has columns that somebody who may write it may not read
	Joins    []Join
	Unique   [][]*schema.Column
	Keys     [][]string // by which a new row may conflict with another one
}

// Join is a table of links between rows of two kinds, seen from one of its columns. ent makes
// one for each many-to-many edge without a schema of its own.
type Join struct {
	Table      string
	Own, Other string // columns
	Edge       *model.Edge
	Target     string // table
}

// TablesOf returns the tables of an app's entities.
func TablesOf(m *model.Model) Tables {
	out := make(map[*model.Kind]*Table, len(m.ByName))
	byName := make(map[string]*schema.Table, len(m.App.Tables))
	for _, t := range m.App.Tables {
		byName[t.Name] = t
	}
	for _, k := range m.ByName {
		t := byName[k.Entity.Table]
		if t == nil { // a view
			continue
		}
		own := &Table{Unique: model.UniqueKeys(t), Keys: conflictKeys(t)}
		for _, c := range t.Columns {
			own.Columns, own.Secret = append(own.Columns, c.Name), append(own.Secret, isSecret(k, c.Name))
			own.json = append(own.json, slices.ContainsFunc(k.Entity.Columns, func(d descriptor.Column) bool { return d.Name == c.Name && d.Storage == descriptor.JSON }))
		}
		own.sizeable = slices.ContainsFunc(k.Entity.Columns, func(c descriptor.Column) bool { return read.IsSizeable(&c) })
		own.Guarded = slices.Contains(own.Secret, true) || slices.ContainsFunc(k.Entity.Resource.Fields, func(f catalog.Field) bool { return IsGuarded(&f) })
		for _, j := range m.App.Tables {
			own.Joins = append(own.Joins, joinsOf(k, j)...)
		}
		out[k] = own
	}
	return out
}

// asksSize reports whether an attempt has to know before it writes to a row that it has not read whether the
// row is one that not everybody can read.
func (t *Table) asksSize(a store.Attempt) bool {
	return t.sizeable && (!a.Atomic() || t.burdened.Load())
}

// mayBurden reports whether a row of the table may be one that not everybody can read.
func (t *Table) mayBurden(row HeldRow) bool {
	all := 0
	for i, v := range row {
		if v == nil {
			continue
		}
		if all += len(*v); all > read.SizeableBytes || t.json[i] && len(*v) > 2*exact.MaxDepth {
			return true
		}
	}
	return false
}

// isSecret reports whether nobody may read a column: a field that is sensitive or can only be
// written, or one that is not exposed.
func isSecret(k *model.Kind, column string) bool {
	if column == k.Entity.Key.Name || len(k.Entity.Key.Parts) == 1 && k.Entity.Key.HasPart(column) {
		return false
	}
	for i := range k.Entity.Columns {
		if c := &k.Entity.Columns[i]; c.Name == column {
			f := k.FieldNamed(c.Field)
			return f == nil || f.Sensitive || f.WriteOnly
		}
	}
	for i := range k.Entity.Edges {
		if k.Entity.Edges[i].OwnKey == column {
			return false
		}
	}
	return true
}

// IsGuarded reports whether some of those who may write a field may not read it; nil is one that
// is not exposed.
func IsGuarded(f *catalog.Field) bool { return f == nil || !f.Readable() || len(f.ReadScopes) > 0 }

// joinsOf returns what a table links rows of a kind with, nothing where it is no such table.
func joinsOf(k *model.Kind, t *schema.Table) (out []Join) {
	if len(t.Columns) != 2 || len(t.PrimaryKey) != 2 || len(t.ForeignKeys) != 2 {
		return nil
	}
	for i, fk := range t.ForeignKeys {
		other := t.ForeignKeys[1-i]
		if fk.RefTable == nil || other.RefTable == nil || fk.RefTable.Name != k.Entity.Table || len(fk.Columns) != 1 || len(other.Columns) != 1 {
			continue
		}
		j := Join{Table: t.Name, Own: fk.Columns[0].Name, Other: other.Columns[0].Name, Target: other.RefTable.Name}
		for n := range k.Edges {
			if c := k.Edges[n].Column; c.JoinTable == j.Table && c.JoinOwn == j.Own && c.JoinTarget == j.Other {
				j.Edge = &k.Edges[n]
			}
		}
		out = append(out, j)
	}
	return out
}

// Referred returns what a column of a kind refers to, nil for nothing that is exposed.
func Referred(m *model.Model, k *model.Kind, column string) *model.Kind {
	for i := range k.Entity.Columns {
		if c := &k.Entity.Columns[i]; c.Name == column && c.Refers != "" {
			return m.ByName[c.Refers]
		}
	}
	for i := range k.Edges {
		if e := &k.Edges[i]; e.Column.OwnKey == column {
			return e.Target
		}
	}
	return nil
}

// IsNullable reports whether a column of a kind may be null.
func IsNullable(k *model.Kind, column string) bool {
	for i := range k.Entity.Columns {
		if c := &k.Entity.Columns[i]; c.Name == column {
			return c.Nullable
		}
	}
	for i := range k.Edges {
		if e := &k.Edges[i]; e.Column.OwnKey == column {
			return !e.JSON.Required
		}
	}
	return true
}

// isPartial reports whether an index is of some rows only.
func isPartial(x *schema.Index) bool { return x.Annotation != nil && x.Annotation.Where != "" }

// conflictKeys returns the sets of columns by which a new row may conflict with another one: the key,
// and those that are unique in all rows or in some.
func conflictKeys(t *schema.Table) (out [][]string) {
	add := func(columns []*schema.Column) {
		names := make([]string, len(columns))
		for i, c := range columns {
			names[i] = c.Name
		}
		out = append(out, names)
	}
	add(t.PrimaryKey)
	for _, key := range model.UniqueKeys(t) {
		add(key)
	}
	for _, x := range t.Indexes {
		if x.Unique && isPartial(x) {
			add(x.Columns)
		}
	}
	return out
}
