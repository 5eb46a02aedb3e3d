package schema

import (
	"regexp"

	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"github.com/koan-go/koan/entities/expose"
)

// gtinPattern: EAN-13 and UPC-A (with its leading zero) have 13 digits, EAN-8
// has 8. An EAN-8 is kept as printed, never padded: that is also how a scanner
// gives it.
const gtinPattern = `^(\d{8}|\d{13})$`

// Product is an article that can be recognised by its barcode.
type Product struct{ ent.Schema }

func (Product) Mixin() []ent.Mixin { return []ent.Mixin{household{}} }

func (Product) Fields() []ent.Field {
	return []ent.Field{
		field.String("gtin").Unique().Match(regexp.MustCompile(gtinPattern)).
			Comment("Barcode number: 13 digits (EAN-13, or UPC-A with a leading 0), or 8 digits (EAN-8).").
			Annotations(expose.Field{Example: "2000000000039", Pattern: gtinPattern}),
		field.String("name").NotEmpty().MaxLen(120).
			Comment("What it is, as recipes call it.").
			Annotations(expose.Field{Example: "Spinach", Searchable: expose.Yes(), MaxLength: expose.Length(120)}),
		field.String("brand").Optional().MaxLen(80).
			Annotations(expose.Field{Searchable: expose.Yes(), MaxLength: expose.Length(80)}),
		field.Enum("category").Values(categories...).Default("other"),
		field.Float("default_quantity").Positive().Default(1).
			Comment("How much one package holds, in defaultUnit.").
			Annotations(expose.Field{Min: expose.Number(0)}),
		field.String("default_unit").NotEmpty().MaxLen(20).Default("piece").
			Comment("Unit of defaultQuantity: g, kg, ml, l or piece."),
		field.Int("shelf_life_days").Optional().Nillable().Positive().
			Comment("How many days it usually keeps after buying; null: no limit that matters.").
			Annotations(expose.Field{Min: expose.Number(1)}),
		field.Strings("allergens").Optional().
			Comment("What it contains of: gluten, crustaceans, eggs, fish, peanuts, soy, milk, nuts, celery, mustard, sesame, sulphites, lupin, molluscs."),
	}
}

func (Product) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("items", PantryItem.Type).Ref("product").
			Annotations(expose.Edge{Description: "The pantry items of this product."}),
	}
}

func (Product) Indexes() []ent.Index {
	return []ent.Index{index.Fields("name")}
}

func (Product) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{
		Description: "An article known by its barcode. The catalogue is kept by the app: agents only read it.",
		ReadOnly:    expose.Yes(),
	}}
}
