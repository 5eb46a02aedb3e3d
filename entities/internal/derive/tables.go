package derive

import (
	"entgo.io/ent/dialect/sql/schema"

	"github.com/koan-go/koan/entities/internal/dynamic"
	"github.com/koan-go/koan/entities/internal/inspect"
)

// tables describes the tables with all columns that can be written, those that the configuration hides
// included, with their unique keys, and the tables that only link rows.
func (g *graph) tables() {
	made := map[*inspect.Relation]*schema.Table{}
	for _, r := range g.found.Relations {
		if e := g.of[r]; e != nil && r.Writable() && e.hasKey() {
			made[r] = e.table()
			g.out.Tables = append(g.out.Tables, made[r])
		}
	}
	for _, r := range g.joins {
		t := schema.NewTable(tableName(r))
		for _, f := range r.ForeignKeys {
			target := made[g.found.Find(f.Schema, f.Table)]
			if target == nil || len(target.PrimaryKey) != 1 {
				break
			}
			c := &schema.Column{Name: f.Columns[0], Type: target.PrimaryKey[0].Type}
			t.AddPrimary(c)
			t.AddForeignKey(&schema.ForeignKey{Columns: []*schema.Column{c}, RefTable: target, RefColumns: target.PrimaryKey})
		}
		if len(t.ForeignKeys) == len(r.ForeignKeys) {
			g.out.Tables = append(g.out.Tables, t)
		}
	}
}

// table describes the table of an entity.
func (e *entity) table() *schema.Table {
	t := schema.NewTable(e.Table)
	byName := map[string]*schema.Column{}
	add := func(c *schema.Column, key bool) {
		byName[c.Name] = c
		if key {
			t.AddPrimary(c)
		} else {
			t.AddColumn(c)
		}
	}
	if len(e.Key.Parts) == 0 {
		add(&schema.Column{Name: e.Key.Name, Type: dynamic.TypeOf(e.Key.Storage)}, true)
	}
	for i := range e.Key.Parts {
		add(&schema.Column{Name: e.Key.Parts[i].Name, Type: dynamic.TypeOf(e.Key.Parts[i].Storage)}, true)
	}
	for _, c := range e.source.Columns {
		if byName[c.Name] == nil && (!c.Generated || e.columnOf(c.Name) != nil) {
			add(&schema.Column{Name: c.Name, Type: dynamic.TypeOf(c.Storage), Nullable: c.Nullable}, false)
		}
	}
	for _, u := range e.source.Unique {
		x := &schema.Index{Name: u.Name, Unique: true}
		for _, name := range u.Columns {
			if c := byName[name]; c != nil {
				x.Columns = append(x.Columns, c)
			}
		}
		if len(x.Columns) == len(u.Columns) {
			t.Indexes = append(t.Indexes, x)
		}
	}
	return t
}
