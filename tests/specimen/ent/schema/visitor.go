package schema

import (
	"time"

	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/google/uuid"

	"github.com/koan-go/koan/entities/expose"
)

// Visitor has edges with schemas of their own.
type Visitor struct{ ent.Schema }

// Annotations implements ent.Interface.
func (Visitor) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Description: "Somebody who looks."}}
}

// Fields implements ent.Interface.
func (Visitor) Fields() []ent.Field { return []ent.Field{field.String("name")} }

// Edges implements ent.Interface.
func (Visitor) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("liked", Specimen.Type).Through("likes", Like.Type),
		edge.To("visited", Cabinet.Type).Through("visits", Visit.Type),
		edge.To("owned", Label.Type).Through("ownerships", Ownership.Type),
	}
}

// Like is an edge schema with a composite id. It is not exposed.
type Like struct{ ent.Schema }

// Annotations implements ent.Interface.
func (Like) Annotations() []schema.Annotation {
	return []schema.Annotation{field.ID("visitor_id", "specimen_id")}
}

// Fields implements ent.Interface.
func (Like) Fields() []ent.Field {
	return []ent.Field{field.Time("liked_at").Default(time.Now), field.Int("weight").Default(1), field.Int("visitor_id"), field.UUID("specimen_id", uuid.UUID{})}
}

// Edges implements ent.Interface.
func (Like) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("visitor", Visitor.Type).Unique().Required().Field("visitor_id"),
		edge.To("specimen", Specimen.Type).Unique().Required().Field("specimen_id"),
	}
}

// Visit is an edge schema that is exposed.
type Visit struct{ ent.Schema }

// Annotations implements ent.Interface.
func (Visit) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Description: "A visitor looks at a cabinet.", UpsertBy: []string{"visitor_id", "reason"}}}
}

// Fields implements ent.Interface.
func (Visit) Fields() []ent.Field {
	return []ent.Field{field.String("reason"), field.Int("visitor_id"), field.Bytes("cabinet_id").GoType(cabinetID)}
}

// Edges implements ent.Interface.
func (Visit) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("visitor", Visitor.Type).Unique().Required().Field("visitor_id"),
		edge.To("cabinet", Cabinet.Type).Unique().Required().Field("cabinet_id"),
	}
}

// Indexes implements ent.Interface.
func (Visit) Indexes() []ent.Index {
	return []ent.Index{index.Fields("visitor_id", "reason").Unique()}
}

// Ownership is an edge schema with an id that the app makes, which ent would use
// for all rows of one call.
type Ownership struct{ ent.Schema }

// Fields implements ent.Interface.
func (Ownership) Fields() []ent.Field {
	return []ent.Field{field.UUID("id", uuid.UUID{}).Default(uuid.New), field.Int("visitor_id"), field.String("label_id").GoType(labelID)}
}

// Edges implements ent.Interface.
func (Ownership) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("visitor", Visitor.Type).Unique().Required().Field("visitor_id"),
		edge.To("label", Label.Type).Unique().Required().Field("label_id"),
	}
}
