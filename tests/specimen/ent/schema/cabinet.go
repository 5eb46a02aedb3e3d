package schema

import (
	"crypto/rand"

	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"github.com/google/uuid"

	"github.com/koan-go/koan/entities/expose"
	"github.com/koan-go/koan/tests/specimen/owned"
)

// The ids of other types, as fields that refer to them have them.
var (
	cabinetID owned.ID
	labelID   owned.Slug
)

// Cabinet has an id of a type of its own, kept as bytes.
type Cabinet struct{ ent.Schema }

// Annotations implements ent.Interface.
func (Cabinet) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Description: "A glass cabinet.", Version: "rev"}}
}

// Fields implements ent.Interface.
func (Cabinet) Fields() []ent.Field {
	return []ent.Field{
		field.Bytes("id").GoType(cabinetID).DefaultFunc(func() owned.ID {
			var id owned.ID
			_, _ = rand.Read(id[:])
			return id
		}).MaxLen(16),
		field.String("name"),
		field.Int("rev").Default(1),
		field.Bytes("beside_id").GoType(cabinetID).Optional().Nillable(),
	}
}

// Edges implements ent.Interface.
func (Cabinet) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("specimens", Specimen.Type),
		edge.To("labels", Label.Type),
		edge.To("next", Cabinet.Type).Unique().From("beside").Unique().Field("beside_id"),
		edge.From("visitors", Visitor.Type).Ref("visited").Through("visits", Visit.Type),
		edge.To("plaque", Plaque.Type).Unique(),
		edge.To("spares", Plaque.Type).Annotations(entsql.OnDelete(entsql.Cascade)),
	}
}

// Label has a text of a type of its own as its id.
type Label struct{ ent.Schema }

// Annotations implements ent.Interface.
func (Label) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Description: "A label."}}
}

// Fields implements ent.Interface.
func (Label) Fields() []ent.Field {
	return []ent.Field{field.String("id").GoType(labelID).NotEmpty(), field.String("text").Default("")}
}

// Edges implements ent.Interface.
func (Label) Edges() []ent.Edge {
	return []ent.Edge{edge.From("cabinets", Cabinet.Type).Ref("labels"), edge.From("specimens", Specimen.Type).Ref("labels"), edge.From("owners", Visitor.Type).Ref("owned").Through("ownerships", Ownership.Type)}
}

// Counter has a number as its id.
type Counter struct{ ent.Schema }

// Annotations implements ent.Interface.
func (Counter) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Description: "A counter."}}
}

// Fields implements ent.Interface.
func (Counter) Fields() []ent.Field {
	return []ent.Field{field.Uint64("id"), field.UUID("owner", uuid.UUID{}).Optional()}
}
