package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"

	"github.com/koan-go/koan/entities/expose"
)

// Locker is exposed to nobody. It stands in a cabinet and goes with it.
type Locker struct{ ent.Schema }

// Edges implements ent.Interface.
func (Locker) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("cabinet", Cabinet.Type).Unique().Annotations(entsql.OnDelete(entsql.Cascade)),
		edge.To("parcels", Parcel.Type).Annotations(entsql.OnDelete(entsql.Cascade)),
		edge.To("keys", Parcel.Type),
	}
}

// Parcel lies in a locker and goes with it; another one may have its key.
type Parcel struct{ ent.Schema }

// Annotations implements ent.Interface.
func (Parcel) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Description: "A parcel."}}
}

// Fields implements ent.Interface.
func (Parcel) Fields() []ent.Field { return []ent.Field{field.String("text")} }
