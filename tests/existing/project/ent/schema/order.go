package schema

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"fmt"

	"entgo.io/ent"
	"entgo.io/ent/dialect"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"github.com/google/uuid"

	"example.org/shop/money"
)

// OrderID is "ord_" and 16 characters.
type OrderID string

// NewOrderID makes one.
func NewOrderID() OrderID {
	var b [10]byte
	_, _ = rand.Read(b[:])
	return OrderID("ord_" + base32.StdEncoding.EncodeToString(b[:]))
}

// Order is what a customer buys at once.
type Order struct{ ent.Schema }

// Mixin of the Order.
func (Order) Mixin() []ent.Mixin { return []ent.Mixin{Dated{}} }

// Fields of the Order.
func (Order) Fields() []ent.Field {
	return []ent.Field{
		field.String("id").GoType(OrderID("")).DefaultFunc(NewOrderID).Immutable(),
		field.Enum("state").Values("open", "paid", "sent", "returned").Default("open"),
		field.Int("customer_id"),
		field.Text("note").Optional(),
	}
}

// Edges of the Order.
func (Order) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("customer", Customer.Type).Ref("orders").Field("customer_id").Unique().Required(),
		edge.To("products", Product.Type).Through("lines", OrderLine.Type),
		edge.To("payments", Payment.Type),
		edge.To("shipments", Shipment.Type),
	}
}

// Hooks of the Order.
func (Order) Hooks() []ent.Hook {
	return []ent.Hook{func(next ent.Mutator) ent.Mutator {
		return ent.MutateFunc(func(ctx context.Context, m ent.Mutation) (ent.Value, error) {
			if state, ok := m.Field("state"); ok && m.Op().Is(ent.OpUpdateOne) {
				old, err := m.OldField(ctx, "state")
				if err != nil {
					return nil, err
				}
				if fmt.Sprint(old) == "sent" && fmt.Sprint(state) == "open" {
					return nil, fmt.Errorf("an order that was sent is not opened again")
				}
			}
			return next.Mutate(ctx, m)
		})
	}}
}

// OrderLine is so many of one product in an order.
type OrderLine struct{ ent.Schema }

// Fields of the OrderLine.
func (OrderLine) Fields() []ent.Field {
	return []ent.Field{
		field.Int("quantity").Default(1).Positive(),
		field.Other("price", money.Amount{}).SchemaType(map[string]string{dialect.SQLite: "text", dialect.Postgres: "numeric(12,2)"}),
		field.String("order_id").GoType(OrderID("")),
		field.UUID("product_id", uuid.UUID{}),
	}
}

// Edges of the OrderLine.
func (OrderLine) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("order", Order.Type).Unique().Required().Field("order_id"),
		edge.To("product", Product.Type).Unique().Required().Field("product_id"),
	}
}

// Customer buys.
type Customer struct{ ent.Schema }

// Mixin of the Customer.
func (Customer) Mixin() []ent.Mixin { return []ent.Mixin{Dated{}} }

// Fields of the Customer.
func (Customer) Fields() []ent.Field {
	return []ent.Field{
		field.String("email").Unique(),
		field.String("name"),
		field.String("password_hash").Sensitive().Optional(),
	}
}

// Edges of the Customer.
func (Customer) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("orders", Order.Type),
		edge.To("addresses", Address.Type),
		edge.To("cart", Cart.Type).Unique(),
	}
}
