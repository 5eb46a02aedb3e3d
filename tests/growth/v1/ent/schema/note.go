// Package schema is the first version of an app that grows.
package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"

	"github.com/koan-go/koan/entities/expose"
)

// Note is something written down.
type Note struct{ ent.Schema }

func (Note) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Description: "Something written down.", Sets: expose.Sets("default", "tenant-*")}}
}

func (Note) Fields() []ent.Field {
	return []ent.Field{
		field.String("id").MaxLen(64),
		field.String("title").Annotations(expose.Field{Searchable: expose.Yes()}),
	}
}
