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

// reasons why an amount in the house changes.
var reasons = []string{"bought", "cooked", "eaten", "wasted", "expired", "moved", "corrected", "merged"}

// PantryItem is one lot: what came at one time, with one date.
type PantryItem struct{ ent.Schema }

func (PantryItem) Mixin() []ent.Mixin { return []ent.Mixin{household{}} }

func (PantryItem) Fields() []ent.Field {
	return []ent.Field{
		field.String("name").NotEmpty().MaxLen(120).
			Comment("What it is. Where foodId is not sent, the food of this name is looked up.").
			Annotations(expose.Field{Example: "Spinach", Searchable: expose.Yes(), MaxLength: expose.Length(120)}),
		amountDefault("amount", "How much is left, in unit."),
		optionalAmount("initial_amount", "How much it was when it came, in unit."),
		unitField("unit", stockUnits),
		field.Enum("place").Values(places...).
			Comment("Where it is; of a new lot, where its food is kept as a rule, if it is not sent. Another place brings another bestBefore, by the food's shelf life there, unless one is sent.").
			Annotations(expose.Filled{}, expose.Field{Aliases: []string{"location", "shelf"}}),
		field.Enum("status").Values("available", "consumed", "expired", "wasted").Default("available").
			Comment("Only available lots are in the house; the others say how a lot left it."),
		day("best_before", "The last good day; null: it keeps. Of a new lot that does not say, by the food's shelf life at its place.").
			known("expires", "expiry date", "expiring items", "best before", "use by", "goes off").filled().optional(),
		day("opened_at", "The day on which it was opened; null: closed.").optional(),
		price("unit_price", "The price of one unit of it, in the household's currency."),
		field.Bool("staple").Default(false).
			Comment("There or not, never counted, such as salt."),
		field.Enum("source").Values("manual", "photo", "shopping", "recipe").Default("manual").
			Comment("How it came to be known."),
		field.Time("added_at").Default(time.Now).
			Comment("When it came into the house."),
		field.Enum("reason").Values(reasons...).Optional().Nillable().
			Comment("Why it was changed last: send it with a change of amount or status, and the PantryEvent has it. Without it a new lot is bought, a status says the reason, and any other change is corrected."),
		versionField(),
		field.String("food_id").Optional().Nillable(),
		field.String("product_id").Optional().Nillable(),
		field.String("store_id").Optional().Nillable(),
		field.String("detection_id").Optional().Nillable(),
		field.String("meal_id").Optional().Nillable().
			Comment("The meal that it was taken for last."),
	}
}

func amountDefault(name, comment string) ent.Field {
	return field.Float(name).Min(0).Max(most).Default(1).Comment(comment).Annotations(expose.Field{Min: expose.Number(0), Max: expose.Number(most)})
}

func (PantryItem) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("food", Food.Type).Unique().Field("food_id").Annotations(expose.Edge{Description: "What it is; null: nobody has said yet."}),
		edge.To("product", Product.Type).Unique().Field("product_id").Annotations(expose.Edge{Description: "The product it is a package of, if known."}),
		edge.To("store", Store.Type).Unique().Field("store_id").Annotations(expose.Edge{Description: "Where it was bought."}),
		edge.To("detection", Detection.Type).Unique().Field("detection_id").Annotations(expose.Edge{Description: "Where it was seen on a photo."}),
		edge.To("meal", PlannedMeal.Type).Unique().Field("meal_id"),
	}
}

func (PantryItem) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("status", "best_before"),
		index.Fields("food_id"),
		index.Fields("product_id"),
		index.Fields("detection_id"),
		index.Fields("meal_id"),
		index.Fields("store_id"),
	}
}

func (PantryItem) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{
		Description: "One lot in the pantry, fridge or freezer: what came at one time with one date. Only the name is required. Each change of an amount is kept as a PantryEvent.",
		Aliases:     []string{"stock", "lot", "inventory", "in the house", "best before", "expiry date"},
		Version:     "version",
	}}
}
