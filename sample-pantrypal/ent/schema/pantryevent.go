package schema

import (
	"time"

	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"github.com/koan-go/koan/entities/expose"
)

// PantryEvent is one line of the pantry's diary. It refers to its lot by id
// only, not by an edge: it must outlive the lot.
type PantryEvent struct{ ent.Schema }

func (PantryEvent) Mixin() []ent.Mixin { return []ent.Mixin{household{}} }

func (PantryEvent) Fields() []ent.Field {
	return []ent.Field{
		field.String("item_id").Immutable().
			Comment("Id of the PantryItem, which may be gone by now."),
		field.String("item_name").Immutable().
			Annotations(expose.Field{Searchable: expose.Yes()}),
		field.Enum("kind").Values("came", "went", "changed").Immutable().
			Comment("came: more of it than before; went: less of it; changed: as much as before, but something else differs."),
		field.Enum("reason").Values(reasons...).
			Comment("Why. It can be set right afterwards."),
		field.Float("amount").Immutable().
			Comment("How much came or went, in unit; never negative."),
		field.String("unit").Immutable(),
		field.Float("cost").Optional().Nillable().Immutable().
			Comment("What that amount had cost, in the household's currency; null: no price is known."),
		field.Time("at").Default(time.Now).Immutable(),
		field.String("run").Optional().Immutable().
			Comment("Id of the run that made the change: koan.code.undo takes it."),
		field.String("food_id").Optional().Nillable().Immutable(),
		field.String("meal_id").Optional().Nillable().Immutable(),
		noteField("note"),
	}
}

func (PantryEvent) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("food", Food.Type).Unique().Immutable().Field("food_id"),
		edge.To("meal", PlannedMeal.Type).Unique().Immutable().Field("meal_id"),
	}
}

func (PantryEvent) Indexes() []ent.Index {
	return []ent.Index{index.Fields("item_id", "at"), index.Fields("at"), index.Fields("food_id"), index.Fields("meal_id")}
}

func (PantryEvent) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{
		Description: "What came into the pantry, what went, why, and what it cost. Written by the system with every change of a PantryItem; only reason and note can be changed.",
		Aliases:     []string{"diary", "waste", "history"},
		Operations:  []string{"collection", "get-by-id", "count", "aggregate", "patch"},
	}}
}
