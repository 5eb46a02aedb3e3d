// Package schema is the second version of an app that grows: two fields, an index
// and an entity more.
package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"github.com/koan-go/koan/entities/expose"
)

var sets = expose.Sets("default", "tenant-*")

// Note is something written down.
type Note struct{ ent.Schema }

func (Note) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Description: "Something written down.", Sets: sets}}
}

func (Note) Fields() []ent.Field {
	return []ent.Field{
		field.String("id").MaxLen(64),
		field.String("title").Annotations(expose.Field{Searchable: expose.Yes()}),
		field.Bool("pinned").Default(false),
		field.Time("due").Optional().Nillable(),
	}
}

func (Note) Edges() []ent.Edge {
	return []ent.Edge{edge.To("folder", Folder.Type).Unique()}
}

func (Note) Indexes() []ent.Index { return []ent.Index{index.Fields("title")} }

// Folder is where notes lie.
type Folder struct{ ent.Schema }

func (Folder) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Description: "Where notes lie.", Sets: sets}}
}

func (Folder) Fields() []ent.Field {
	return []ent.Field{
		field.String("id").MaxLen(64),
		field.String("name").Unique(),
	}
}
