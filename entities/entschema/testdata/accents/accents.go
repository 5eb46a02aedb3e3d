// Package accents has a schema whose searches leave accents out.
package accents

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"

	"github.com/koan-go/koan/entities/expose"
)

// Town is found by its name without accents.
type Town struct{ ent.Schema }

// Annotations of the Town.
func (Town) Annotations() []schema.Annotation { return []schema.Annotation{expose.Entity{}} }

// Fields of the Town.
func (Town) Fields() []ent.Field {
	return []ent.Field{field.String("name").Annotations(expose.Field{Searchable: expose.Yes(), Fold: expose.Accents})}
}
