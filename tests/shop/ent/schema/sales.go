package schema

import (
	"time"

	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"

	"github.com/koan-go/koan/entities/expose"
)

// Customer buys something.
type Customer struct{ ent.Schema }

// Annotations implements ent.Interface.
func (Customer) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Description: "Somebody who buys."}}
}

// Fields implements ent.Interface.
func (Customer) Fields() []ent.Field {
	return []ent.Field{field.String("email").NotEmpty(), field.String("name")}
}

// Edges implements ent.Interface.
func (Customer) Edges() []ent.Edge { return []ent.Edge{edge.To("orders", Order.Type)} }

// Order is what a customer buys at once.
type Order struct{ ent.Schema }

// Annotations implements ent.Interface.
func (Order) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Description: "What a customer buys at once."}}
}

// Fields implements ent.Interface.
func (Order) Fields() []ent.Field {
	return []ent.Field{
		field.Time("placed_at").Default(time.Now).Immutable(),
		field.Enum("state").Values("open", "sent", "paid").Default("open"),
		field.Text("note").Optional().Nillable(),
	}
}

// Edges implements ent.Interface.
func (Order) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("customer", Customer.Type).Ref("orders").Unique().Required(),
		edge.To("lines", Line.Type),
	}
}

// Line is how many of a product an order has.
type Line struct{ ent.Schema }

// Annotations implements ent.Interface.
func (Line) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Description: "How many of a product an order has."}}
}

// Fields implements ent.Interface.
func (Line) Fields() []ent.Field {
	return []ent.Field{field.Int("quantity").Min(1).Default(1), money("price")}
}

// Edges implements ent.Interface.
func (Line) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("order", Order.Type).Ref("lines").Unique().Required(),
		edge.To("product", Product.Type).Unique().Required(),
	}
}
