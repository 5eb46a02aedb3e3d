// Package schema has the ent schemas of the shop.
package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/google/uuid"
	"github.com/shopspring/decimal"

	"github.com/koan-go/koan/entities/expose"
)

// money is an amount to the cent.
func money(name string) ent.Field {
	return field.Other(name, decimal.Decimal{}).
		SchemaType(map[string]string{dialect.SQLite: "text", dialect.Postgres: "numeric(12,2)"}).
		Annotations(expose.Field{Decimal: expose.Yes(), Example: "12.50"})
}

// Dimensions are in millimetres.
type Dimensions struct {
	Width  int `json:"width"`
	Height int `json:"height"`
	Depth  int `json:"depth,omitempty"`
}

// Product is something for sale.
type Product struct{ ent.Schema }

// Annotations implements ent.Interface.
func (Product) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Description: "Something for sale."}}
}

// Fields implements ent.Interface.
func (Product) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("id", uuid.UUID{}).Default(uuid.New),
		field.String("sku").MaxLen(20).NotEmpty(),
		field.String("name").NotEmpty().Annotations(expose.Field{Searchable: expose.Yes()}),
		field.Enum("status").Values("draft", "on_sale", "retired").Default("draft"),
		money("price"),
		field.Int64("serial").Optional().Nillable().Comment("The maker's number, of up to 19 digits."),
		field.JSON("dimensions", Dimensions{}).Optional(),
		field.Strings("tags").Optional(),
		field.JSON("attributes", map[string]string{}).Optional(),
		field.JSON("extra", map[string]any{}).Optional(),
	}
}

// Edges implements ent.Interface.
func (Product) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("category", Category.Type).Ref("products").Unique(),
		edge.From("lines", Line.Type).Ref("product"),
		edge.To("goes_with", Product.Type),
	}
}

// Indexes implements ent.Interface.
func (Product) Indexes() []ent.Index { return []ent.Index{index.Fields("sku").Unique()} }

// Category groups products.
type Category struct{ ent.Schema }

// Annotations implements ent.Interface.
func (Category) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Description: "A group of products."}}
}

// Fields implements ent.Interface.
func (Category) Fields() []ent.Field {
	return []ent.Field{field.String("id").MaxLen(30).NotEmpty().Immutable(), field.String("title")}
}

// Edges implements ent.Interface.
func (Category) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("children", Category.Type).From("parent").Unique(),
		edge.To("products", Product.Type),
	}
}
