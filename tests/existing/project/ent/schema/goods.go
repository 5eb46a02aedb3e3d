package schema

import (
	"time"

	"entgo.io/ent"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
)

// Supplier supplies products.
type Supplier struct{ ent.Schema }

// Fields of the Supplier.
func (Supplier) Fields() []ent.Field {
	return []ent.Field{field.String("name")}
}

// Edges of the Supplier.
func (Supplier) Edges() []ent.Edge {
	return []ent.Edge{edge.To("products", Product.Type)}
}

// Review is what a customer says of a product.
type Review struct{ ent.Schema }

// Fields of the Review.
func (Review) Fields() []ent.Field {
	return []ent.Field{field.Int("stars").Range(1, 5), field.Text("text").Optional()}
}

// Edges of the Review.
func (Review) Edges() []ent.Edge {
	return []ent.Edge{edge.From("product", Product.Type).Ref("reviews").Unique().Required(), edge.To("votes", Vote.Type)}
}

// Vote is for or against a review.
type Vote struct{ ent.Schema }

// Fields of the Vote.
func (Vote) Fields() []ent.Field {
	return []ent.Field{field.Bool("up")}
}

// Edges of the Vote.
func (Vote) Edges() []ent.Edge {
	return []ent.Edge{edge.From("review", Review.Type).Ref("votes").Unique()}
}

// Question is asked about a product.
type Question struct{ ent.Schema }

// Fields of the Question.
func (Question) Fields() []ent.Field {
	return []ent.Field{field.Text("text")}
}

// Edges of the Question.
func (Question) Edges() []ent.Edge {
	return []ent.Edge{edge.To("answers", Answer.Type)}
}

// Answer is given to a question.
type Answer struct{ ent.Schema }

// Fields of the Answer.
func (Answer) Fields() []ent.Field {
	return []ent.Field{field.Text("text")}
}

// Edges of the Answer.
func (Answer) Edges() []ent.Edge {
	return []ent.Edge{edge.From("question", Question.Type).Ref("answers").Unique()}
}

// Stock is how many of a product lie somewhere.
type Stock struct{ ent.Schema }

// Fields of the Stock.
func (Stock) Fields() []ent.Field {
	return []ent.Field{field.Int("count").Default(0)}
}

// Edges of the Stock.
func (Stock) Edges() []ent.Edge {
	return []ent.Edge{edge.From("product", Product.Type).Ref("stock").Unique().Required(), edge.From("shelf", Shelf.Type).Ref("stock").Unique()}
}

// Shelf is a place in a warehouse.
type Shelf struct{ ent.Schema }

// Fields of the Shelf.
func (Shelf) Fields() []ent.Field {
	return []ent.Field{field.String("code")}
}

// Edges of the Shelf.
func (Shelf) Edges() []ent.Edge {
	return []ent.Edge{edge.To("stock", Stock.Type), edge.From("warehouse", Warehouse.Type).Ref("shelves").Unique()}
}

// Warehouse is where goods lie.
type Warehouse struct{ ent.Schema }

// Fields of the Warehouse.
func (Warehouse) Fields() []ent.Field {
	return []ent.Field{field.String("city")}
}

// Edges of the Warehouse.
func (Warehouse) Edges() []ent.Edge {
	return []ent.Edge{edge.To("shelves", Shelf.Type)}
}

// Image shows something.
type Image struct{ ent.Schema }

// Fields of the Image.
func (Image) Fields() []ent.Field {
	return []ent.Field{field.String("url")}
}

// PriceList is a set of prices.
type PriceList struct{ ent.Schema }

// Fields of the PriceList.
func (PriceList) Fields() []ent.Field {
	return []ent.Field{field.String("name"), field.Time("valid_from").Default(time.Now)}
}

// Edges of the PriceList.
func (PriceList) Edges() []ent.Edge {
	return []ent.Edge{edge.To("discounts", Discount.Type)}
}

// Discount lowers a price.
type Discount struct{ ent.Schema }

// Fields of the Discount.
func (Discount) Fields() []ent.Field {
	return []ent.Field{field.Float("percent")}
}

// Edges of the Discount.
func (Discount) Edges() []ent.Edge {
	return []ent.Edge{edge.From("price_list", PriceList.Type).Ref("discounts").Unique()}
}

// TaxRate is a tax.
type TaxRate struct{ ent.Schema }

// Fields of the TaxRate.
func (TaxRate) Fields() []ent.Field {
	return []ent.Field{field.Float("percent")}
}
