package schema

import (
	"time"

	"entgo.io/ent"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
)

// Address is where somebody lives.
type Address struct{ ent.Schema }

// Fields of the Address.
func (Address) Fields() []ent.Field {
	return []ent.Field{field.String("street"), field.String("zip")}
}

// Edges of the Address.
func (Address) Edges() []ent.Edge {
	return []ent.Edge{edge.From("customer", Customer.Type).Ref("addresses").Unique(), edge.From("country", Country.Type).Ref("addresses").Unique()}
}

// Country is a country.
type Country struct{ ent.Schema }

// Fields of the Country.
func (Country) Fields() []ent.Field {
	return []ent.Field{field.String("code").MaxLen(2)}
}

// Edges of the Country.
func (Country) Edges() []ent.Edge {
	return []ent.Edge{edge.To("addresses", Address.Type)}
}

// Cart is what a customer may buy.
type Cart struct{ ent.Schema }

// Fields of the Cart.
func (Cart) Fields() []ent.Field {
	return []ent.Field{field.Time("touched_at").Default(time.Now)}
}

// Edges of the Cart.
func (Cart) Edges() []ent.Edge {
	return []ent.Edge{edge.From("customer", Customer.Type).Ref("cart").Unique(), edge.To("items", CartItem.Type)}
}

// CartItem is one thing in a cart.
type CartItem struct{ ent.Schema }

// Fields of the CartItem.
func (CartItem) Fields() []ent.Field {
	return []ent.Field{field.Int("quantity").Default(1)}
}

// Edges of the CartItem.
func (CartItem) Edges() []ent.Edge {
	return []ent.Edge{edge.From("cart", Cart.Type).Ref("items").Unique()}
}

// Wishlist is what a customer wants.
type Wishlist struct{ ent.Schema }

// Fields of the Wishlist.
func (Wishlist) Fields() []ent.Field {
	return []ent.Field{field.String("name")}
}

// Payment is money that came.
type Payment struct{ ent.Schema }

// Fields of the Payment.
func (Payment) Fields() []ent.Field {
	return []ent.Field{field.Enum("method").Values("card", "transfer"), field.Int64("cents")}
}

// Edges of the Payment.
func (Payment) Edges() []ent.Edge {
	return []ent.Edge{edge.From("order", Order.Type).Ref("payments").Unique(), edge.To("refunds", Refund.Type)}
}

// Refund is money that went back.
type Refund struct{ ent.Schema }

// Fields of the Refund.
func (Refund) Fields() []ent.Field {
	return []ent.Field{field.Int64("cents")}
}

// Edges of the Refund.
func (Refund) Edges() []ent.Edge {
	return []ent.Edge{edge.From("payment", Payment.Type).Ref("refunds").Unique()}
}

// Invoice is a bill.
type Invoice struct{ ent.Schema }

// Fields of the Invoice.
func (Invoice) Fields() []ent.Field {
	return []ent.Field{field.String("number").Unique()}
}

// Shipment is a parcel.
type Shipment struct{ ent.Schema }

// Fields of the Shipment.
func (Shipment) Fields() []ent.Field {
	return []ent.Field{field.String("tracking").Optional()}
}

// Edges of the Shipment.
func (Shipment) Edges() []ent.Edge {
	return []ent.Edge{edge.From("order", Order.Type).Ref("shipments").Unique(), edge.From("carrier", Carrier.Type).Ref("shipments").Unique()}
}

// Carrier brings parcels.
type Carrier struct{ ent.Schema }

// Fields of the Carrier.
func (Carrier) Fields() []ent.Field {
	return []ent.Field{field.String("name")}
}

// Edges of the Carrier.
func (Carrier) Edges() []ent.Edge {
	return []ent.Edge{edge.To("shipments", Shipment.Type)}
}

// Coupon is a code that lowers prices.
type Coupon struct{ ent.Schema }

// Fields of the Coupon.
func (Coupon) Fields() []ent.Field {
	return []ent.Field{field.String("code").Unique()}
}

// Edges of the Coupon.
func (Coupon) Edges() []ent.Edge {
	return []ent.Edge{edge.From("campaign", Campaign.Type).Ref("coupons").Unique()}
}

// Campaign is advertising.
type Campaign struct{ ent.Schema }

// Fields of the Campaign.
func (Campaign) Fields() []ent.Field {
	return []ent.Field{field.String("name")}
}

// Edges of the Campaign.
func (Campaign) Edges() []ent.Edge {
	return []ent.Edge{edge.To("coupons", Coupon.Type)}
}

// GiftCard is money on a card.
type GiftCard struct{ ent.Schema }

// Fields of the GiftCard.
func (GiftCard) Fields() []ent.Field {
	return []ent.Field{field.String("code").Sensitive(), field.Int64("cents")}
}

// Currency is a kind of money.
type Currency struct{ ent.Schema }

// Fields of the Currency.
func (Currency) Fields() []ent.Field {
	return []ent.Field{field.String("code").MaxLen(3)}
}
