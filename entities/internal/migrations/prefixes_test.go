package migrations

import (
	"testing"

	"entgo.io/ent/dialect"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/dialect/sql/schema"
	"entgo.io/ent/schema/field"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/database/sqltext"
)

// things is an app of one entity, whose texts are as a function leaves them.
func things(change func(c *schema.Column, t *schema.Table, f *catalog.Field, d *descriptor.Column)) *shim.App {
	id, name := &schema.Column{Name: "id", Type: field.TypeString}, &schema.Column{Name: "name", Type: field.TypeString}
	table := &schema.Table{Name: "things", Columns: []*schema.Column{id, name}, PrimaryKey: []*schema.Column{id}}
	e := &descriptor.Entity{
		Resource: catalog.Resource{Name: "Thing", Key: catalog.Field{Name: "id", Type: catalog.TypeID}, Fields: []catalog.Field{{Name: "name", Type: catalog.TypeString}}},
		Table:    "things",
		Key:      descriptor.Column{Field: "id", Name: "id", Storage: descriptor.Text},
		Columns:  []descriptor.Column{{Field: "name", Name: "name", Storage: descriptor.Text}},
	}
	change(name, table, &e.Resource.Fields[0], &e.Columns[0])
	return &shim.App{Graph: descriptor.NewGraph(e), Tables: []*schema.Table{table}, SchemaHash: 7}
}

func TestPrefixIndexesOfWhatIsIndexed(t *testing.T) {
	index := func(t *schema.Table, a *entsql.IndexAnnotation, columns ...*schema.Column) {
		t.Indexes = append(t.Indexes, &schema.Index{Name: "things_name", Columns: columns, Annotation: a})
	}
	for name, c := range map[string]struct {
		change func(c *schema.Column, t *schema.Table, f *catalog.Field, d *descriptor.Column)
		made   bool
	}{
		"a plain text":    {func(*schema.Column, *schema.Table, *catalog.Field, *descriptor.Column) {}, false},
		"a unique text":   {func(c *schema.Column, _ *schema.Table, _ *catalog.Field, _ *descriptor.Column) { c.Unique = true }, true},
		"an indexed text": {func(c *schema.Column, t *schema.Table, _ *catalog.Field, _ *descriptor.Column) { index(t, nil, c) }, true},
		"the first of an index": {func(c *schema.Column, t *schema.Table, _ *catalog.Field, _ *descriptor.Column) {
			index(t, nil, c, t.Columns[0])
		}, true},
		"the second of an index": {func(c *schema.Column, t *schema.Table, _ *catalog.Field, _ *descriptor.Column) {
			index(t, nil, t.Columns[0], c)
		}, false},
		"an index of some rows": {func(c *schema.Column, t *schema.Table, _ *catalog.Field, _ *descriptor.Column) {
			index(t, entsql.IndexWhere("true"), c)
		}, false},
		"an index of that order": {func(c *schema.Column, t *schema.Table, _ *catalog.Field, _ *descriptor.Column) {
			index(t, entsql.OpClass("text_pattern_ops"), c)
		}, false},
		"an index of another kind": {func(c *schema.Column, t *schema.Table, _ *catalog.Field, _ *descriptor.Column) {
			index(t, entsql.IndexType("HASH"), c)
		}, false},
		"a column in order of bytes": {func(c *schema.Column, _ *schema.Table, _ *catalog.Field, _ *descriptor.Column) {
			c.Unique, c.Collation = true, "C"
		}, false},
		"a text with a bound": {func(c *schema.Column, _ *schema.Table, _ *catalog.Field, _ *descriptor.Column) {
			c.Unique, c.SchemaType = true, map[string]string{dialect.Postgres: "varchar(40)"}
		}, true},
		"a type of its own": {func(c *schema.Column, _ *schema.Table, _ *catalog.Field, _ *descriptor.Column) {
			c.Unique, c.SchemaType = true, map[string]string{dialect.Postgres: "citext"}
		}, false},
		"a secret": {func(c *schema.Column, _ *schema.Table, f *catalog.Field, _ *descriptor.Column) {
			c.Unique, f.Sensitive = true, true
		}, false},
		"an enum": {func(c *schema.Column, _ *schema.Table, f *catalog.Field, _ *descriptor.Column) {
			c.Unique, f.Type = true, catalog.TypeEnum
		}, false},
		"a number": {func(c *schema.Column, _ *schema.Table, f *catalog.Field, d *descriptor.Column) {
			c.Unique, f.Type, d.Storage = true, catalog.TypeInt, descriptor.Int
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			app := things(c.change)
			var want []*sqltext.PrefixIndex
			if c.made {
				want = []*sqltext.PrefixIndex{{Table: "things", Column: "name"}}
			}
			require.Equal(t, want, prefixIndexes(app))
			require.Equal(t, want, schemaOf(app, dialect.Postgres).Prefixes)
			require.Equal(t, c.made, schemaOf(app, dialect.Postgres).Hash != app.SchemaHash)
			require.Empty(t, schemaOf(app, dialect.SQLite).Prefixes)
			require.Equal(t, app.SchemaHash, schemaOf(app, dialect.SQLite).Hash, "sets of SQLite are as they were")
		})
	}
}
