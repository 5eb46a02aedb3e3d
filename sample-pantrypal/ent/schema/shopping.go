package schema

import (
	"time"

	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"github.com/koan-go/koan/entities/expose"
)

// ShoppingList is what is to be bought at one go.
type ShoppingList struct{ ent.Schema }

func (ShoppingList) Mixin() []ent.Mixin { return []ent.Mixin{household{}} }

func (ShoppingList) Fields() []ent.Field {
	return []ent.Field{
		field.String("name").NotEmpty().MaxLen(120).
			Annotations(expose.Field{Searchable: expose.Yes(), MaxLength: expose.Length(120)}),
		field.Enum("status").Values("open", "done").Default("open"),
		field.Time("created_at").Default(time.Now).Immutable(),
	}
}

func (ShoppingList) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("items", ShoppingItem.Type).
			Annotations(entsql.OnDelete(entsql.Cascade), expose.Edge{Description: "What is on it."}),
	}
}

func (ShoppingList) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{
		Description: "A list of things to buy at one go.",
	}}
}

// ShoppingItem is one line of a shopping list.
type ShoppingItem struct{ ent.Schema }

func (ShoppingItem) Mixin() []ent.Mixin { return []ent.Mixin{household{}} }

func (ShoppingItem) Fields() []ent.Field {
	return []ent.Field{
		field.String("name").NotEmpty().MaxLen(120).
			Annotations(expose.Field{Searchable: expose.Yes(), MaxLength: expose.Length(120)}),
		field.Float("quantity").Positive().Default(1).
			Annotations(expose.Field{Min: expose.Number(0)}),
		unitField(),
		field.Enum("category").Values(categories...).Default("other"),
		field.Bool("bought").Default(false),
		field.String("note").Optional().MaxLen(120).
			Annotations(expose.Field{MaxLength: expose.Length(120)}),
		field.String("list_id").Immutable(),
		field.String("product_id").Optional().Nillable(),
	}
}

func (ShoppingItem) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("list", ShoppingList.Type).Ref("items").Unique().Required().Immutable().Field("list_id"),
		edge.To("product", Product.Type).Unique().Field("product_id"),
	}
}

func (ShoppingItem) Indexes() []ent.Index {
	return []ent.Index{index.Fields("list_id"), index.Fields("product_id")}
}

func (ShoppingItem) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{
		Description: "One line of a shopping list.",
	}}
}
