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

// Store is where a household shops.
type Store struct{ ent.Schema }

func (Store) Mixin() []ent.Mixin { return []ent.Mixin{household{}} }

func (Store) Fields() []ent.Field {
	return []ent.Field{
		field.String("name").NotEmpty().MaxLen(120).Unique().
			Annotations(expose.Field{Searchable: expose.Yes(), MaxLength: expose.Length(120)}),
		field.Strings("aisles").Optional().
			Comment("Its aisles in the order in which one comes by them."),
		noteField("note"),
	}
}

func (Store) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Description: "Where the household shops.", Aliases: []string{"shop", "supermarket"}}}
}

// Price is what a food cost in a store on a day.
type Price struct{ ent.Schema }

func (Price) Mixin() []ent.Mixin { return []ent.Mixin{household{}} }

func (Price) Fields() []ent.Field {
	return []ent.Field{
		field.Float("price").Min(0).
			Comment("The price paid for amount, in the household's currency.").
			Annotations(expose.Field{Min: expose.Number(0)}),
		amountDefault("amount", "How much that was, in unit."),
		unitField("unit", "Unit of amount: g, kg, ml, l or piece."),
		field.Float("per_unit").Optional().Nillable().
			Comment("Price of 1 kg, 1 l or 1 piece, computed from price and amount; null: it compares with none.").
			Annotations(expose.Field{ReadOnly: expose.Yes()}),
		day("on", "The day.").required(),
		field.Bool("withdrawn").Default(false).
			Comment("It was not paid after all, as when check-off puts something back: it has no perUnit, and nothing looks at it."),
		field.String("food_id"),
		field.String("product_id").Optional().Nillable(),
		field.String("store_id").Optional().Nillable(),
		field.String("lot_id").Optional().Nillable().Immutable().
			Comment("Id of the PantryItem that was paid for, where check-off noted it; the lot may be gone by now."),
	}
}

func (Price) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("food", Food.Type).Unique().Required().Field("food_id").Annotations(entsql.OnDelete(entsql.Cascade)),
		edge.To("product", Product.Type).Unique().Field("product_id"),
		edge.To("store", Store.Type).Unique().Field("store_id"),
	}
}

func (Price) Indexes() []ent.Index {
	return []ent.Index{index.Fields("food_id", "on"), index.Fields("product_id"), index.Fields("store_id"), index.Fields("lot_id")}
}

func (Price) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Description: "The price of a food in a store on a day. Compare perUnit."}}
}

// ShoppingList is what is to be bought at one go.
type ShoppingList struct{ ent.Schema }

func (ShoppingList) Mixin() []ent.Mixin { return []ent.Mixin{household{}} }

func (ShoppingList) Fields() []ent.Field {
	return []ent.Field{
		nameField(""),
		field.Enum("status").Values("open", "done").Default("open"),
		field.Time("created_at").Default(time.Now).Immutable(),
		field.String("plan_id").Optional().Nillable(),
		field.String("store_id").Optional().Nillable(),
	}
}

func (ShoppingList) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("items", ShoppingItem.Type).
			Annotations(entsql.OnDelete(entsql.Cascade), expose.Edge{Description: "What is on it."}),
		edge.To("plan", MealPlan.Type).Unique().Field("plan_id").Annotations(entsql.OnDelete(entsql.SetNull), expose.Edge{Description: "The plan whose needs it follows."}),
		edge.To("store", Store.Type).Unique().Field("store_id").Annotations(entsql.OnDelete(entsql.SetNull)),
	}
}

func (ShoppingList) Indexes() []ent.Index {
	return []ent.Index{index.Fields("plan_id"), index.Fields("store_id"), index.Fields("status")}
}

func (ShoppingList) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{
		Description: "A list of things to buy at one go. Only the name is required; shop makes one of a plan.",
		Cascades:    expose.Yes(),
	}}
}

// ShoppingItem is one line of a shopping list.
type ShoppingItem struct{ ent.Schema }

func (ShoppingItem) Mixin() []ent.Mixin { return []ent.Mixin{household{}} }

func (ShoppingItem) Fields() []ent.Field {
	return []ent.Field{
		field.String("name").NotEmpty().MaxLen(120).
			Comment("What to buy. Where foodId is not sent, the food of this name is looked up, also when the name changes.").
			Annotations(expose.Field{Searchable: expose.Yes(), MaxLength: expose.Length(120)}),
		amountDefault("amount", "How much to buy, in unit; with packages, all of them together."),
		unitField("unit", stockUnits),
		field.Int("packages").Optional().Nillable().Positive().
			Comment("How many packages of the product.").Annotations(expose.Field{Min: expose.Number(1)}),
		field.String("aisle").NotEmpty().MaxLen(40).Default("other").
			Comment("Where shops have it; that of the food, if one is known."),
		price("estimated_cost", "The expected cost, by the latest price; null: no price is known."),
		field.Bool("for_stock").Default(false).
			Comment("shop put it here to keep what the household always wants in the house (Food.keepAmount); it takes it off again."),
		field.Bool("bought").Default(false).
			Comment("check-off sets it and puts the thing into the pantry."),
		field.Time("bought_at").Optional().Nillable(),
		noteField("note"),
		versionField(),
		field.String("list_id").Comment("Another list moves the line there."),
		field.String("food_id").Optional().Nillable(),
		field.String("product_id").Optional().Nillable(),
		field.String("store_id").Optional().Nillable(),
		field.String("lot_id").Optional().Nillable().
			Comment("The lot that it became when it was checked off."),
	}
}

func (ShoppingItem) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("list", ShoppingList.Type).Ref("items").Unique().Required().Field("list_id"),
		edge.To("food", Food.Type).Unique().Field("food_id"),
		edge.To("product", Product.Type).Unique().Field("product_id").Annotations(entsql.OnDelete(entsql.SetNull)),
		edge.To("store", Store.Type).Unique().Field("store_id").Annotations(entsql.OnDelete(entsql.SetNull)),
		edge.To("lot", PantryItem.Type).Unique().Field("lot_id").Annotations(entsql.OnDelete(entsql.SetNull)),
		edge.To("needs", ShoppingNeed.Type).Annotations(entsql.OnDelete(entsql.Cascade), expose.Edge{Description: "Which meals need it."}),
	}
}

func (ShoppingItem) Indexes() []ent.Index {
	return []ent.Index{index.Fields("list_id"), index.Fields("product_id"), index.Fields("food_id"), index.Fields("store_id"), index.Fields("lot_id")}
}

func (ShoppingItem) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{
		Description: "One line of a shopping list: how much of what, in which aisle, for which meals.",
		Version:     "version",
		Cascades:    expose.Yes(),
	}}
}

// ShoppingNeed is why something is on a list.
type ShoppingNeed struct{ ent.Schema }

func (ShoppingNeed) Mixin() []ent.Mixin { return []ent.Mixin{household{}} }

func (ShoppingNeed) Fields() []ent.Field {
	return []ent.Field{
		field.Float("amount").Min(0).Comment("How much of it the meal needs, in unit.").Annotations(expose.Field{Min: expose.Number(0)}),
		unitField("unit", "Unit of amount."),
		field.String("item_id").Immutable(),
		field.String("meal_id").Immutable(),
	}
}

func (ShoppingNeed) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("item", ShoppingItem.Type).Ref("needs").Unique().Required().Immutable().Field("item_id"),
		edge.To("meal", PlannedMeal.Type).Unique().Required().Immutable().Field("meal_id").Annotations(entsql.OnDelete(entsql.Cascade)),
	}
}

func (ShoppingNeed) Indexes() []ent.Index {
	return []ent.Index{index.Fields("item_id"), index.Fields("meal_id")}
}

func (ShoppingNeed) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Description: "Which meal needs how much of a line of a shopping list."}}
}
