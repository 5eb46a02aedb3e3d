package schema

import (
	"regexp"

	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"github.com/koan-go/koan/entities/expose"
)

// filePattern is that of the ids of files.
const filePattern = `^file_[0-9a-f]{32}$`

// Recipe is a dish and how much of what goes into it.
type Recipe struct{ ent.Schema }

func (Recipe) Mixin() []ent.Mixin { return []ent.Mixin{household{}} }

func (Recipe) Fields() []ent.Field {
	return []ent.Field{
		field.String("name").NotEmpty().MaxLen(120).Unique().
			Annotations(expose.Field{Searchable: expose.Yes(), MaxLength: expose.Length(120)}),
		field.Text("description").Optional().
			Comment("The dish and how it is made, in short.").
			Annotations(expose.Field{Searchable: expose.Yes()}),
		field.Strings("steps").Optional().
			Comment("What to do, one step each."),
		field.String("cuisine").Optional().MaxLen(40).
			Annotations(expose.Field{Example: "italian", MaxLength: expose.Length(40)}),
		field.Strings("meal_types").Optional().
			Comment("Of: breakfast, lunch, dinner, snack, dessert, side. A side alone does not make a dinner."),
		field.Strings("dietary_tags").Optional().
			Comment("Of: vegan, vegetarian, pescatarian, gluten-free, dairy-free. A vegan recipe also carries vegetarian and pescatarian."),
		field.Strings("tags").Optional().
			Comment("A cook's: quick, batch, freezer, one-pot, soup, salad, pasta, fish, meat ..."),
		field.Bool("favourite").Default(false),
		field.Int("prep_minutes").NonNegative().Default(0).
			Comment("0 in both minutes: nobody has said, and nothing takes it for quick.").
			Annotations(expose.Field{Min: expose.Number(0)}),
		field.Int("cook_minutes").NonNegative().Default(0).
			Annotations(expose.Field{Min: expose.Number(0)}),
		field.Enum("difficulty").Values("easy", "medium", "hard").Default("easy"),
		field.Int("servings").Positive().Default(2).
			Comment("How many people the amounts are for.").
			Annotations(expose.Field{Min: expose.Number(1)}),
		field.Strings("equipment").Optional().
			Comment("Needed beyond a knife and a board: stove, oven, blender."),
		field.Float("rating").Optional().Nillable().Range(0, 5).
			Comment("The household's own, 0 to 5.").
			Annotations(expose.Field{Min: expose.Number(0), Max: expose.Number(5)}),
		field.String("source").Optional().MaxLen(400).
			Comment("Where it is from: an address, a book.").
			Annotations(expose.Field{MaxLength: expose.Length(400)}),
		field.String("photo").Optional().Nillable().MaxLen(64).Match(regexp.MustCompile(filePattern)).
			Comment("Id of the file with a photo of it, a JPEG, PNG or WebP; null: a drawn picture.").
			Annotations(expose.Field{MaxLength: expose.Length(64), Pattern: filePattern}),
		field.String("drawn_as").Optional().MaxLen(120).
			Comment("The name by which its picture is drawn, of the recipe that it was made of; empty: its own.").
			Annotations(expose.Field{MaxLength: expose.Length(120)}),
		field.Enum("origin").Values("catalogue", "household").Default("household").Immutable().
			Comment("catalogue: the same in every set; only rating, favourite, photo and timesCooked change. household: its own.").
			Annotations(expose.Field{ReadOnly: expose.Yes()}),
		field.Int("times_cooked").NonNegative().Default(0).
			Annotations(expose.Field{Min: expose.Number(0)}),
		versionField(),
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
		Version:     "version",
		Cascades:    expose.Yes(),
		Description: "A dish: what goes into it, how long it takes, whom it suits. Read it with its ingredients. Its nutrition follows from its foods: the action nutrition.",
	}}
}

// RecipeIngredient is one line of a recipe.
type RecipeIngredient struct{ ent.Schema }

func (RecipeIngredient) Mixin() []ent.Mixin { return []ent.Mixin{household{}} }

func (RecipeIngredient) Fields() []ent.Field {
	return []ent.Field{
		field.Int("position").NonNegative().Default(0).
			Comment("Its place among the lines.").
			Annotations(expose.Field{Min: expose.Number(0)}),
		field.String("name").NotEmpty().MaxLen(120).
			Comment("The food as the recipe calls it. Where foodId is not sent, the food of this name is looked up.").
			Annotations(expose.Field{Example: "spinach", Searchable: expose.Yes(), MaxLength: expose.Length(120)}),
		optionalAmount("amount", "How much, in unit, for the recipe's servings; null: to taste."),
		optionalAmount("amount_max", "The upper end of a range such as 2-3; null: no range."),
		optionalUnit("unit", "Unit of amount: g, kg, ml, l, piece, tsp, tbsp, cup, clove, bunch, can, slice ... null: to taste."),
		field.String("preparation").Optional().MaxLen(240).
			Annotations(expose.Field{Example: "finely chopped", MaxLength: expose.Length(240)}),
		field.Bool("optional").Default(false).
			Comment("The dish works without it."),
		field.String("text").Optional().MaxLen(400).
			Comment("The line as it was written.").
			Annotations(expose.Field{MaxLength: expose.Length(400)}),
		field.String("food_id").Optional().Nillable(),
		field.String("recipe_id").Immutable(),
	}
}

func (RecipeIngredient) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("recipe", Recipe.Type).Ref("ingredients").Unique().Required().Immutable().Field("recipe_id"),
		edge.To("food", Food.Type).Unique().Field("food_id").
			Annotations(expose.Edge{Description: "What it is; null: no food of the catalogue."}),
	}
}

func (RecipeIngredient) Indexes() []ent.Index {
	return []ent.Index{index.Fields("recipe_id"), index.Fields("food_id")}
}

func (RecipeIngredient) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{
		Description: "One line of a recipe: how much of which food.",
	}}
}
