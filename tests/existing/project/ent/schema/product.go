package schema

import (
	"time"

	"entgo.io/ent"
	"entgo.io/ent/dialect"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/google/uuid"

	"example.org/shop/money"
)

// Status is what can be done with a product.
type Status string

// The statuses.
const (
	Draft   Status = "draft"
	OnSale  Status = "on_sale"
	Retired Status = "retired"
)

// Values implements field.EnumValues.
func (Status) Values() []string { return []string{string(Draft), string(OnSale), string(Retired)} }

// Dimensions are in millimetres.
type Dimensions struct {
	Width  int `json:"width"`
	Height int `json:"height"`
	Depth  int `json:"depth"`
}

// Product is something for sale.
type Product struct{ ent.Schema }

// Mixin of the Product.
func (Product) Mixin() []ent.Mixin { return []ent.Mixin{Dated{}, SoftDeleted{}} }

// Fields of the Product.
func (Product) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("id", uuid.UUID{}).Default(uuid.New),
		field.String("sku").MaxLen(20).NotEmpty(),
		field.String("name").NotEmpty(),
		field.Enum("status").GoType(Status("")).Default(string(Draft)),
		field.Other("price", money.Amount{}).SchemaType(map[string]string{dialect.SQLite: "text", dialect.Postgres: "numeric(12,2)"}),
		field.JSON("dimensions", Dimensions{}).Optional(),
		field.Strings("tags").Optional(),
		field.JSON("attributes", map[string]string{}).Optional(),
	}
}

// Edges of the Product.
func (Product) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("category", Category.Type).Ref("products").Unique(),
		edge.From("orders", Order.Type).Ref("products").Through("lines", OrderLine.Type),
		edge.To("reviews", Review.Type),
		edge.To("stock", Stock.Type),
		edge.From("supplier", Supplier.Type).Ref("products").Unique(),
	}
}

// Indexes of the Product.
func (Product) Indexes() []ent.Index { return []ent.Index{index.Fields("sku").Unique()} }

// Category groups products.
type Category struct{ ent.Schema }

// Fields of the Category.
func (Category) Fields() []ent.Field {
	return []ent.Field{
		field.String("id").MaxLen(30).NotEmpty().Immutable(),
		field.String("title"),
		field.Time("opened_at").Default(time.Now).Immutable(),
	}
}

// Edges of the Category.
func (Category) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("children", Category.Type).From("parent").Unique(),
		edge.To("products", Product.Type),
	}
}
