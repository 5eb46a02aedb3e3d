package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"

	"github.com/koan-go/koan/entities/expose"
)

// Plaque has the shapes of edges that the other schemas have not: one to one between
// two types, to itself with a field, both ways to itself, and without an inverse.
type Plaque struct{ ent.Schema }

// Annotations implements ent.Interface.
func (Plaque) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Description: "What is written beside a cabinet.", Version: "rev"}}
}

// Fields implements ent.Interface.
func (Plaque) Fields() []ent.Field {
	return []ent.Field{
		field.String("text"),
		field.Int("rev").Default(1),
		field.Bytes("cabinet_id").GoType(cabinetID).Optional().Nillable(),
		field.Int("original_id").Optional().Nillable(),
	}
}

// Edges implements ent.Interface.
func (Plaque) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("cabinet", Cabinet.Type).Ref("plaque").Unique().Field("cabinet_id"),
		edge.To("label", Label.Type).Unique(),
		edge.To("copies", Plaque.Type).From("original").Unique().Field("original_id"),
		edge.To("similar", Plaque.Type),
	}
}
