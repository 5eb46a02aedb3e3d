package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"github.com/koan-go/koan/entities/expose"
)

// Food is what recipes, products and lots have in common. The catalogue has the same
// foods with the same ids in every set; a household adds foods of its own, and things that are no
// food but are bought and kept like it.
type Food struct{ ent.Schema }

func (Food) Mixin() []ent.Mixin { return []ent.Mixin{household{}} }

func (Food) Fields() []ent.Field {
	return []ent.Field{
		field.String("id").DefaultFunc(newID).Immutable().NotEmpty().MaxLen(64).
			Annotations(expose.Field{Description: "Made of the name; of the catalogue's foods the same in every set."}),
		field.String("name").NotEmpty().MaxLen(120).Unique().
			Annotations(expose.Field{Searchable: expose.Yes(), MaxLength: expose.Length(120)}),
		field.Strings("aliases").Optional().
			Comment("Other names, by which the action find-food knows it."),
		field.Strings("own_names").Optional().
			Comment("Further names that the household gives it, also for foods of the catalogue. find-food knows it by them."),
		field.Enum("origin").Values("catalogue", "household").Default("catalogue").
			Comment("catalogue: the same in every set; a household changes its ownNames, keepAmount and keepUnit alone. household: its own.").
			Annotations(expose.Field{ReadOnly: expose.Yes()}),
		field.Bool("thing").Default(false).
			Comment("No food, such as toilet paper: it is bought and kept, and never cooked."),
		field.String("like").Optional().Nillable().MaxLen(64).
			Comment("Of a food of the household, the id of the food from which what nobody has said was guessed: send it with a new food, or the one with the most similar name is taken."),
		field.Strings("guessed").Optional().
			Comment("Which fields were guessed from like: aisle, allergens, diets, shelfLife, unit. Sending one of them says it.").
			Annotations(expose.Field{ReadOnly: expose.Yes()}),
		field.String("aisle").NotEmpty().MaxLen(40).
			Comment("Where shops have it: produce, dairy, meat, seafood, bakery, frozen, dry ... Of a new food, guessed where it is not sent.").
			Annotations(expose.Filled{}, expose.Field{Example: "dairy"}),
		field.String("unit").Optional().Nillable().MaxLen(20).Validate(validUnit).
			Comment("In what the household counts it as a rule.").
			Annotations(expose.Field{Example: "pack"}),
		optionalAmount("keep_amount", "How much of it the household always wants in the house, in keepUnit: shop buys what is missing of it. null: it is bought when a meal needs it."),
		optionalUnit("keep_unit", "Unit of keepAmount."),
		field.Strings("allergens").Optional().Validate(oneOf("allergen", allergens)).
			Annotations(expose.Filled{}).
			Comment("Of: gluten, crustaceans, eggs, fish, peanuts, soy, milk, nuts, celery, mustard, sesame, sulphites, lupin, molluscs."),
		field.Strings("diets").Optional().Validate(oneOf("diet", diets)).
			Annotations(expose.Filled{}).
			Comment("Whom it suits: vegan, vegetarian, pescatarian. What suits vegans suits all of them."),
		field.Float("density").Optional().Nillable().Positive().
			Comment("Grams per millilitre; null: its weight cannot be computed from its volume."),
		nutrient("energy_kcal", "kcal per 100 g."), nutrient("protein_g", "Grams per 100 g."), nutrient("carbohydrate_g", "Grams per 100 g."),
		nutrient("fat_g", "Grams per 100 g."), nutrient("fibre_g", "Grams per 100 g."),
		shelfLife("shelf_life_pantry"), shelfLife("shelf_life_fridge"), shelfLife("shelf_life_freezer"),
		field.Bool("staple").Default(false).
			Comment("Always in the house, such as salt: never counted, never bought by a plan."),
		field.String("source").Optional().MaxLen(120).
			Comment("Where its figures are from."),
	}
}

func nutrient(name, comment string) ent.Field {
	return field.Float(name).Optional().Nillable().Min(0).Comment(comment).Annotations(expose.Field{Min: expose.Number(0)})
}

func shelfLife(name string) ent.Field {
	return field.Int(name).Optional().Nillable().NonNegative().
		Comment("Days that it keeps there; null: not there, or without limit.").Annotations(expose.Filled{}, expose.Field{Min: expose.Number(0)})
}

func (Food) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("portions", FoodPortion.Type).Annotations(entsql.OnDelete(entsql.Cascade), expose.Edge{Description: "What its household units weigh."}),
		edge.From("lots", PantryItem.Type).Ref("food").Annotations(expose.Edge{Description: "Its lots that are or were in the house."}),
		edge.From("products", Product.Type).Ref("food"),
		edge.From("prices", Price.Type).Ref("food"),
	}
}

func (Food) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{
		Description: "What recipes, products and lots are about: one food, with aisle, allergens, density, nutrition per 100 g; or a thing that is bought like one. The catalogue is the app's; a household adds foods of its own (make-food guesses what it is not told) and gives any of them names. find-food finds one by any of its names.",
		Aliases:     []string{"ingredient", "catalogue"},
		Cascades:    expose.Yes(),
	}}
}

// FoodPortion is what one household unit of a food weighs.
type FoodPortion struct{ ent.Schema }

func (FoodPortion) Mixin() []ent.Mixin { return []ent.Mixin{household{}} }

func (FoodPortion) Fields() []ent.Field {
	return []ent.Field{
		field.String("id").DefaultFunc(newID).Immutable().NotEmpty().MaxLen(96),
		field.String("unit").NotEmpty().MaxLen(20).Validate(validUnit).Comment("piece, clove, tbsp, cup, can, bunch ..."),
		field.Float("grams").Positive().Comment("What one of it weighs."),
		field.String("food_id").Immutable(),
	}
}

func (FoodPortion) Edges() []ent.Edge {
	return []ent.Edge{edge.From("food", Food.Type).Ref("portions").Unique().Required().Immutable().Field("food_id")}
}

func (FoodPortion) Indexes() []ent.Index {
	return []ent.Index{index.Fields("food_id", "unit").Unique()}
}

func (FoodPortion) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{
		Description: "The weight in grams of one piece, clove, cup ... of a food. Those of the catalogue's foods are the app's.",
	}}
}

// Product is an article that can be recognised by its barcodes.
type Product struct{ ent.Schema }

func (Product) Mixin() []ent.Mixin { return []ent.Mixin{household{}} }

func (Product) Fields() []ent.Field {
	return []ent.Field{
		nameField("What the package says."),
		field.String("brand").Optional().MaxLen(80).
			Annotations(expose.Field{Searchable: expose.Yes(), MaxLength: expose.Length(80)}),
		field.Strings("barcodes").Optional().Validate(validBarcodes).
			Comment("Its codes: 13 digits (EAN-13, or UPC-A with a leading 0), 8 (EAN-8) or 14 (ITF), with a right check digit, or any other value of a Detection. A code belongs to one product."),
		optionalAmount("package_amount", "How much one package holds, in packageUnit; null: sold loose."),
		optionalUnit("package_unit", "Unit of packageAmount: g, kg, ml, l or piece."),
		field.Enum("state").Values("draft", "confirmed").Default("confirmed").
			Comment("draft: made of an unknown code; somebody still has to look at it."),
		field.String("food_id").Optional().Nillable(),
	}
}

func (Product) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("food", Food.Type).Unique().Field("food_id"),
		edge.From("items", PantryItem.Type).Ref("product").Annotations(expose.Edge{Description: "The lots of this product."}),
	}
}

func (Product) Indexes() []ent.Index {
	return []ent.Index{index.Fields("name"), index.Fields("food_id")}
}

func (Product) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{
		Description: "An article known by its barcodes: a brand's package of a food. learn-product says what an unknown code is.",
		Aliases:     []string{"barcode", "article", "gtin"},
	}}
}
