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

// Recipe is a dish and how much of what goes into it.
type Recipe struct{ ent.Schema }

func (Recipe) Mixin() []ent.Mixin { return []ent.Mixin{household{}} }

func (Recipe) Fields() []ent.Field {
	return []ent.Field{
		field.String("name").NotEmpty().MaxLen(120).Unique().
			Annotations(expose.Field{Searchable: expose.Yes(), MaxLength: expose.Length(120)}),
		field.Text("description").Optional().
			Comment("What it is, and how it is made, in short.").
			Annotations(expose.Field{Searchable: expose.Yes()}),
		field.String("cuisine").Optional().MaxLen(40).
			Annotations(expose.Field{Example: "italian", MaxLength: expose.Length(40)}),
		field.Strings("meal_types").Optional().
			Comment("Of: breakfast, lunch, dinner, snack."),
		field.Strings("dietary_tags").Optional().
			Comment("Of: vegan, vegetarian, pescatarian, gluten-free, dairy-free. A vegan recipe also carries vegetarian and pescatarian."),
		field.Int("prep_minutes").NonNegative().Default(0).
			Annotations(expose.Field{Min: expose.Number(0)}),
		field.Int("cook_minutes").NonNegative().Default(0).
			Annotations(expose.Field{Min: expose.Number(0)}),
		field.Enum("difficulty").Values("easy", "medium", "hard").Default("easy"),
		field.Int("servings").Positive().Default(2).
			Comment("How many people the amounts are for.").
			Annotations(expose.Field{Min: expose.Number(1)}),
		field.Int("energy_kcal").Optional().Nillable().NonNegative().Comment("Per serving.").
			Annotations(expose.Field{Min: expose.Number(0)}),
		field.Float("protein_g").Optional().Nillable().Min(0).Comment("Grams per serving.").
			Annotations(expose.Field{Min: expose.Number(0)}),
		field.Float("carbohydrate_g").Optional().Nillable().Min(0).Comment("Grams per serving.").
			Annotations(expose.Field{Min: expose.Number(0)}),
		field.Float("fat_g").Optional().Nillable().Min(0).Comment("Grams per serving.").
			Annotations(expose.Field{Min: expose.Number(0)}),
		field.Float("fibre_g").Optional().Nillable().Min(0).Comment("Grams per serving.").
			Annotations(expose.Field{Min: expose.Number(0)}),
		field.Bool("batch_friendly").Default(false).
			Comment("Worth cooking more of at once."),
		field.Bool("freezer_friendly").Default(false),
		field.Strings("equipment").Optional().
			Comment("What it needs beyond a knife and a board: stove, oven, blender."),
		field.Float("rating").Optional().Nillable().Range(0, 5).
			Comment("The household's own, 0 to 5.").
			Annotations(expose.Field{Min: expose.Number(0), Max: expose.Number(5)}),
		field.Int("times_cooked").NonNegative().Default(0).
			Annotations(expose.Field{Min: expose.Number(0)}),
	}
}

func (Recipe) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("ingredients", RecipeIngredient.Type).
			Annotations(entsql.OnDelete(entsql.Cascade), expose.Edge{Description: "What goes into it."}),
		edge.From("meals", PlannedMeal.Type).Ref("recipe").
			Annotations(expose.Edge{Description: "When it was or will be cooked."}),
	}
}

func (Recipe) Indexes() []ent.Index {
	return []ent.Index{index.Fields("cuisine"), index.Fields("rating")}
}

func (Recipe) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{
		Description: "A dish: what goes into it, how long it takes, whom it suits. Read it with its ingredients.",
	}}
}

// RecipeIngredient is one line of a recipe.
type RecipeIngredient struct{ ent.Schema }

func (RecipeIngredient) Mixin() []ent.Mixin { return []ent.Mixin{household{}} }

func (RecipeIngredient) Fields() []ent.Field {
	return []ent.Field{
		field.String("name").NotEmpty().MaxLen(120).
			Annotations(expose.Field{Example: "spinach", Searchable: expose.Yes(), MaxLength: expose.Length(120)}),
		field.Float("amount").Positive().
			Comment("How much, in unit, for the recipe's servings.").
			Annotations(expose.Field{Min: expose.Number(0)}),
		unitField(),
		field.Bool("optional").Default(false).
			Comment("The dish works without it."),
		field.String("note").Optional().MaxLen(120).
			Annotations(expose.Field{Example: "finely chopped", MaxLength: expose.Length(120)}),
		field.String("recipe_id").Immutable(),
	}
}

func (RecipeIngredient) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("recipe", Recipe.Type).Ref("ingredients").Unique().Required().Immutable().Field("recipe_id"),
	}
}

func (RecipeIngredient) Indexes() []ent.Index {
	return []ent.Index{index.Fields("recipe_id"), index.Fields("name")}
}

func (RecipeIngredient) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{
		Description: "One line of a recipe: how much of what.",
	}}
}
