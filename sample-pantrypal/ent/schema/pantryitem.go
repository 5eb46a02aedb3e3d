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

// PantryItem is something that a household has, or had.
type PantryItem struct{ ent.Schema }

func (PantryItem) Mixin() []ent.Mixin { return []ent.Mixin{household{}} }

func (PantryItem) Fields() []ent.Field {
	return []ent.Field{
		field.String("name").NotEmpty().MaxLen(120).
			Comment("What it is, as recipes call it.").
			Annotations(expose.Field{Example: "Spinach", Searchable: expose.Yes(), MaxLength: expose.Length(120)}),
		field.Float("quantity").Min(0).Default(1).
			Comment("How much is there, in unit.").
			Annotations(expose.Field{Min: expose.Number(0)}),
		unitField(),
		field.Enum("category").Values(categories...).Default("other"),
		field.Enum("location").Values("pantry", "fridge", "freezer").Default("pantry"),
		field.Enum("status").Values("available", "consumed", "expired", "wasted").Default("available").
			Comment("Only available items are in the house; the others say how an item left it."),
		field.Time("expires_at").Optional().Nillable().
			Comment("When the oldest part of it goes off; null: it keeps.").
			Annotations(expose.Field{Aliases: []string{"best before", "use by"}}),
		field.Time("added_at").Default(time.Now).
			Comment("When it first came into the house."),
		field.Float("purchase_price").Optional().Nillable().Min(0).
			Comment("What was paid for it, in the household's currency.").
			Annotations(expose.Field{Min: expose.Number(0)}),
		field.Bool("is_staple").Default(false).
			Comment("Always kept in the house, such as salt or oil."),
		field.Enum("source").Values("manual", "photo", "barcode").Default("manual").
			Comment("How it came to be known."),
		field.Int("version").Default(1).
			Comment("Counts the changes; send it as ifVersion to change only what you have read.").
			Annotations(expose.Field{ReadOnly: expose.Yes()}),
		field.String("product_id").Optional().Nillable(),
		field.String("detection_id").Optional().Nillable(),
	}
}

func (PantryItem) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("product", Product.Type).Unique().Field("product_id").
			Annotations(expose.Edge{Description: "The product it is a package of, if known."}),
		edge.To("detection", Detection.Type).Unique().Field("detection_id").
			Annotations(expose.Edge{Description: "Where it was last seen on a photo."}),
	}
}

func (PantryItem) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("status", "expires_at"),
		index.Fields("product_id"),
		index.Fields("name"),
	}
}

func (PantryItem) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{
		Description: "Something in the pantry, fridge or freezer. Only the name is required. Every change is kept as a PantryEvent.",
		Version:     "version",
	}}
}
