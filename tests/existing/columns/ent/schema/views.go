package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/dialect/sql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
)

// ActiveReader is a view with an id, declared in SQL.
type ActiveReader struct {
	ent.View
}

// Fields of the ActiveReader.
func (ActiveReader) Fields() []ent.Field { return []ent.Field{field.Int("id"), field.String("name")} }

// NameOfReader is a view without an id, declared here.
type NameOfReader struct {
	ent.View
}

// Annotations of the NameOfReader.
func (NameOfReader) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.ViewFor(dialect.Postgres, func(s *sql.Selector) {
		s.SelectDistinct("name").From(sql.Table("readers"))
	})}
}

// Fields of the NameOfReader.
func (NameOfReader) Fields() []ent.Field { return []ent.Field{field.String("name")} }
