package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// City has streets.
type City struct{ ent.Schema }

// Fields of the City.
func (City) Fields() []ent.Field { return []ent.Field{field.String("name")} }

// Edges of the City.
func (City) Edges() []ent.Edge {
	return []ent.Edge{edge.To("streets", Street.Type), edge.To("people", Member.Type)}
}

// Street has a name that is unique in its city.
type Street struct{ ent.Schema }

// Fields of the Street.
func (Street) Fields() []ent.Field { return []ent.Field{field.String("name")} }

// Edges of the Street.
func (Street) Edges() []ent.Edge {
	return []ent.Edge{edge.From("city", City.Type).Ref("streets").Unique()}
}

// Indexes of the Street.
func (Street) Indexes() []ent.Index { return []ent.Index{index.Fields("name").Edges("city").Unique()} }
