package schema

import (
	"time"

	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"github.com/koan-go/koan/entities/expose"
)

// PantryEvent is one line of the pantry's diary. It refers to its item by id
// only, not by an edge: it must outlive the item.
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
		field.Enum("reason").Values("bought", "seen_on_photo", "scanned", "used", "consumed", "expired", "wasted", "returned", "edited", "deleted").Immutable().
			Comment("Why: how it came or left, as far as the change tells."),
		field.Float("quantity").Immutable().
			Comment("How much came or went, in unit; never negative."),
		field.String("unit").Immutable(),
		field.Time("at").Default(time.Now).Immutable(),
	}
}

func (PantryEvent) Indexes() []ent.Index {
	return []ent.Index{index.Fields("item_id", "at"), index.Fields("at")}
}

func (PantryEvent) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{
		Description: "What came into the pantry, what went, and why. Written by the system with every change of a PantryItem.",
		ReadOnly:    expose.Yes(),
	}}
}
