package dynamic

import (
	"slices"

	"entgo.io/ent/dialect/sql/schema"

	"github.com/koan-go/koan/entities/descriptor"
)

// tables makes of a graph what the engine asks of tables: their columns, the keys of upserts, and the
// tables between two entities.
func (s *set) tables(g *descriptor.Graph) []*schema.Table {
	byName := map[string]*schema.Table{}
	var out []*schema.Table
	for _, e := range g.Entities {
		if byName[e.Table] == nil {
			byName[e.Table] = s.kinds[e.Resource.Name].table()
			out = append(out, byName[e.Table])
		}
	}
	for _, e := range g.Entities {
		for i := range e.Edges {
			d := &e.Edges[i]
			if d.JoinTable == "" || byName[d.JoinTable] != nil {
				continue
			}
			byName[d.JoinTable] = joinTable(d, byName[e.Table], byName[s.kinds[d.Target].entity.Table])
			out = append(out, byName[d.JoinTable])
		}
	}
	return out
}

// table is the table of a kind.
func (k *kind) table() *schema.Table {
	t := schema.NewTable(k.entity.Table)
	t.AddPrimary(&schema.Column{Name: k.entity.Key.Name, Type: TypeOf(k.entity.Key.Storage)})
	for i := range k.slots {
		if s := &k.slots[i]; s.column != k.entity.Key.Name {
			t.AddColumn(&schema.Column{Name: s.column, Type: s.kept, Nullable: s.of == nil || s.of.Nullable})
		}
	}
	var unique []*schema.Column
	for _, name := range k.entity.UpsertBy {
		i := slices.IndexFunc(t.Columns, func(c *schema.Column) bool { return c.Name == k.entity.Column(name).Name })
		unique = append(unique, t.Columns[i])
	}
	if len(unique) > 0 {
		t.Indexes = append(t.Indexes, &schema.Index{Name: k.entity.Table + "_upsert", Unique: true, Columns: unique})
	}
	return t
}

// joinTable is the table of a many-to-many edge.
func joinTable(d *descriptor.Edge, own, target *schema.Table) *schema.Table {
	t := schema.NewTable(d.JoinTable)
	for _, side := range []struct {
		column string
		of     *schema.Table
	}{{d.JoinOwn, own}, {d.JoinTarget, target}} {
		c := &schema.Column{Name: side.column, Type: side.of.PrimaryKey[0].Type}
		t.AddPrimary(c)
		t.AddForeignKey(&schema.ForeignKey{Columns: []*schema.Column{c}, RefTable: side.of, RefColumns: side.of.PrimaryKey[:1]})
	}
	return t
}
