package schema

import (
	"errors"

	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"github.com/koan-go/koan/entities/expose"
)

// Slot is a place on a shelf, which nobody knows by its id.
type Slot struct{ ent.Schema }

// Annotations implements ent.Interface.
func (Slot) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Description: "A place on a shelf.", UpsertBy: []string{"shelf", "place"}, Version: "rev"}}
}

// Fields implements ent.Interface.
func (Slot) Fields() []ent.Field {
	return []ent.Field{
		field.String("shelf").Immutable(),
		field.Int("place").NonNegative(),
		field.String("holds").Optional().Validate(func(s string) error {
			if s == "dragon" {
				return errors.New("there be no dragons")
			}
			return nil
		}),
		field.Bool("free").Default(true),
		field.Int("rev").Default(1),
	}
}

// Edges implements ent.Interface.
func (Slot) Edges() []ent.Edge {
	return []ent.Edge{edge.To("inner", Slot.Type).From("outer").Unique()}
}

// Indexes implements ent.Interface.
func (Slot) Indexes() []ent.Index {
	return []ent.Index{index.Fields("shelf", "place").Unique()}
}
