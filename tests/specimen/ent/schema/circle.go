package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"

	"github.com/koan-go/koan/entities/expose"
)

// Branch grows from another branch and goes with it: a circle of one entity.
type Branch struct{ ent.Schema }

// Annotations implements ent.Interface.
func (Branch) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Description: "A branch of a tree.", Version: "rev"}}
}

// Fields implements ent.Interface.
func (Branch) Fields() []ent.Field {
	return []ent.Field{field.String("id").NotEmpty(), field.Int("rev").Default(1)}
}

// Edges implements ent.Interface.
func (Branch) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("children", Branch.Type).Annotations(entsql.OnDelete(entsql.Cascade)).From("parent").Unique(),
		edge.To("copies", Branch.Type).Annotations(entsql.OnDelete(entsql.SetNull)).From("model").Unique(),
		edge.To("twin", Branch.Type).Unique().Annotations(entsql.OnDelete(entsql.SetNull)),
		edge.To("likeness", Branch.Type),
	}
}

// Guild goes with its founder and with its charter.
type Guild struct{ ent.Schema }

// Annotations implements ent.Interface.
func (Guild) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Description: "A guild."}}
}

// Fields implements ent.Interface.
func (Guild) Fields() []ent.Field { return []ent.Field{field.String("id").NotEmpty()} }

// Edges implements ent.Interface.
func (Guild) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("members", Member.Type).Annotations(entsql.OnDelete(entsql.Cascade)),
		edge.To("founder", Member.Type).Unique().Annotations(entsql.OnDelete(entsql.Cascade)),
		edge.To("charter", Work.Type).Unique().Annotations(entsql.OnDelete(entsql.Cascade)),
		edge.To("patron", Member.Type).Unique().Annotations(entsql.OnDelete(entsql.SetNull)),
	}
}

// Member goes with its guild: with the founder, a circle of two entities.
type Member struct{ ent.Schema }

// Annotations implements ent.Interface.
func (Member) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Description: "A member of a guild."}}
}

// Fields implements ent.Interface.
func (Member) Fields() []ent.Field { return []ent.Field{field.String("id").NotEmpty()} }

// Edges implements ent.Interface.
func (Member) Edges() []ent.Edge {
	return []ent.Edge{edge.From("guild", Guild.Type).Ref("members").Unique().Required()}
}

// Work goes with the member that made it: with the charter, a circle of three entities.
type Work struct{ ent.Schema }

// Annotations implements ent.Interface.
func (Work) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Description: "What a member made."}}
}

// Fields implements ent.Interface.
func (Work) Fields() []ent.Field { return []ent.Field{field.String("id").NotEmpty()} }

// Edges implements ent.Interface.
func (Work) Edges() []ent.Edge {
	return []ent.Edge{edge.To("maker", Member.Type).Unique().Required().Annotations(entsql.OnDelete(entsql.Cascade))}
}

// Turn is followed by another one of its round, or by itself: none can be stored before all others.
type Turn struct{ ent.Schema }

// Annotations implements ent.Interface.
func (Turn) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Description: "A turn of a round."}}
}

// Edges implements ent.Interface.
func (Turn) Edges() []ent.Edge {
	return []ent.Edge{edge.To("previous", Turn.Type).From("next").Unique().Required()}
}
