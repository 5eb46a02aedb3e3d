package engine

import (
	"slices"
	"sync/atomic"

	"entgo.io/ent/dialect/sql/schema"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/entities/internal/read"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exact"
)

// tables are those of an app's entities.
type tables map[*model.Kind]*table

// table is an entity's table with all columns that ent knows, those of edges and of fields
// that are not exposed included.
type table struct {
	columns  []string
	secret   []bool      // by column: nobody may read it
	json     []bool      // by column: it holds JSON
	sizeable bool        // rows may be too large to be read
	burdened atomic.Bool // one was written that was too large, so that another one may be
	guarded  bool        // it has columns that somebody who may write it may not read
	joins    []join
	unique   [][]*schema.Column
	keys     [][]string // by which a new row may conflict with another one
}

// join is a table of links between rows of two kinds, seen from one of its columns. ent makes
// one for each many-to-many edge without a schema of its own.
type join struct {
	table      string
	own, other string // columns
	edge       *model.Edge
	target     string // table
}

// tablesOf returns the tables of an app's entities.
func tablesOf(m *model.Model) tables {
	out := make(map[*model.Kind]*table, len(m.ByName))
	byName := make(map[string]*schema.Table, len(m.App.Tables))
	for _, t := range m.App.Tables {
		byName[t.Name] = t
	}
	for _, k := range m.ByName {
		t := byName[k.Entity.Table]
		if t == nil { // a view
			continue
		}
		own := &table{unique: model.UniqueKeys(t), keys: conflictKeys(t)}
		for _, c := range t.Columns {
			own.columns, own.secret = append(own.columns, c.Name), append(own.secret, isSecret(k, c.Name))
			own.json = append(own.json, slices.ContainsFunc(k.Entity.Columns, func(d descriptor.Column) bool { return d.Name == c.Name && d.Storage == descriptor.JSON }))
		}
		own.sizeable = slices.ContainsFunc(k.Entity.Columns, func(c descriptor.Column) bool { return read.IsSizeable(&c) })
		own.guarded = slices.Contains(own.secret, true) || slices.ContainsFunc(k.Entity.Resource.Fields, func(f catalog.Field) bool { return isGuarded(&f) })
		for _, j := range m.App.Tables {
			own.joins = append(own.joins, joinsOf(k, j)...)
		}
		out[k] = own
	}
	return out
}

// mayBurden reports whether a row of the table may be one that not everybody can read.
func (t *table) mayBurden(row heldRow) bool {
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
	if column == k.Entity.Key.Name {
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

// isGuarded reports whether some of those who may write a field may not read it; nil is one that
// is not exposed.
func isGuarded(f *catalog.Field) bool { return f == nil || !f.Readable() || len(f.ReadScopes) > 0 }

// joinsOf returns what a table links rows of a kind with, nothing where it is no such table.
func joinsOf(k *model.Kind, t *schema.Table) (out []join) {
	if len(t.Columns) != 2 || len(t.PrimaryKey) != 2 || len(t.ForeignKeys) != 2 {
		return nil
	}
	for i, fk := range t.ForeignKeys {
		other := t.ForeignKeys[1-i]
		if fk.RefTable == nil || other.RefTable == nil || fk.RefTable.Name != k.Entity.Table || len(fk.Columns) != 1 || len(other.Columns) != 1 {
			continue
		}
		j := join{table: t.Name, own: fk.Columns[0].Name, other: other.Columns[0].Name, target: other.RefTable.Name}
		for n := range k.Edges {
			if c := k.Edges[n].Column; c.JoinTable == j.table && c.JoinOwn == j.own && c.JoinTarget == j.other {
				j.edge = &k.Edges[n]
			}
		}
		out = append(out, j)
	}
	return out
}

// referred returns what a column of a kind refers to, nil for nothing that is exposed.
func referred(m *model.Model, k *model.Kind, column string) *model.Kind {
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

// isNullable reports whether a column of a kind may be null.
func isNullable(k *model.Kind, column string) bool {
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
