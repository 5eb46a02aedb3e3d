package migrations

import (
	"slices"
	"strings"

	"entgo.io/ent/dialect"
	"entgo.io/ent/dialect/sql/schema"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/database/sqltext"
)

// prefixIndexes returns what finds texts of an app's entities by how they begin: for each text that callers may filter
// by and that a key or an index of its table begins with.
func prefixIndexes(app *shim.App) (out []*sqltext.PrefixIndex) {
	for _, e := range app.Graph.Entities {
		at := slices.IndexFunc(app.Tables, func(t *schema.Table) bool { return t.Name == e.Table })
		if at < 0 {
			continue
		}
		for i := range e.Columns {
			c := &e.Columns[i]
			if isPlainText(e, c) && isIndexedByLanguage(app.Tables[at], c.Name) {
				out = append(out, &sqltext.PrefixIndex{Table: e.Table, Column: c.Name})
			}
		}
	}
	return out
}

// isPlainText reports whether a column holds the texts that callers see, and they may filter by how it begins.
func isPlainText(e *descriptor.Entity, c *descriptor.Column) bool {
	f := e.Resource.Field(c.Field)
	return filter.Readable(f) && !f.Opaque && (f.Type == catalog.TypeString || f.Type == catalog.TypeText) &&
		c.Storage == descriptor.Text && c.Form == nil && c.Native == ""
}

// isIndexedByLanguage reports whether a key or an index of all rows begins with a column, in the order of the
// database's language or of another one.
func isIndexedByLanguage(t *schema.Table, name string) bool {
	at := slices.IndexFunc(t.Columns, func(c *schema.Column) bool { return c.Name == name })
	if at < 0 {
		return false
	}
	c := t.Columns[at]
	if c.Collation == "C" || c.Collation == "POSIX" || !isTextType(c.SchemaType[dialect.Postgres]) {
		return false
	}
	return c.Unique || c.Key == schema.PrimaryKey || slices.ContainsFunc(t.Indexes, func(x *schema.Index) bool {
		return len(x.Columns) > 0 && x.Columns[0].Name == name && isPlainIndex(x)
	})
}

// isTextType reports whether a type of PostgreSQL keeps texts as they are; "" is ent's own for texts.
func isTextType(typ string) bool {
	word, _, _ := strings.Cut(strings.ToLower(typ), "(")
	return slices.Contains([]string{"", "text", "varchar", "character varying"}, strings.TrimSpace(word))
}

// isPlainIndex reports whether an index is of all rows and in the order of its columns' collations.
func isPlainIndex(x *schema.Index) bool {
	a := x.Annotation
	return a == nil || a.Where == "" && a.Type == "" && a.Types[dialect.Postgres] == "" && a.OpClass == "" && len(a.OpClassColumns) == 0
}
