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

// maxServings is for how many portions a meal is planned at most.
const maxServings = 100

// PlanRule is what a household wants of its weeks.
type PlanRule struct{ ent.Schema }

func (PlanRule) Mixin() []ent.Mixin { return []ent.Mixin{household{}} }

func (PlanRule) Fields() []ent.Field {
	return []ent.Field{
		nameField("The rule in words, such as \"Fish on Friday\"."),
		field.Enum("kind").Values("want", "avoid", "no-repeat", "max-minutes").
			Comment("want, avoid: meals with the food, aisle or tag in what. no-repeat: no recipe twice within days. max-minutes: nothing that takes longer than minutes."),
		field.String("what").Optional().MaxLen(120).
			Comment("Of want and avoid: name of a food, an aisle such as seafood, a cuisine, or a tag such as vegetarian.").
			Annotations(expose.Field{Example: "seafood", MaxLength: expose.Length(120)}),
		field.Strings("weekdays").Optional().Validate(oneOf("weekday", weekdays)).
			Comment("monday ... sunday; none: every day."),
		field.Int("days").Optional().Nillable().Positive().Comment("Of no-repeat.").Annotations(expose.Field{Min: expose.Number(1)}),
		field.Int("minutes").Optional().Nillable().Positive().Comment("Of max-minutes.").Annotations(expose.Field{Min: expose.Number(1)}),
		field.Bool("active").Default(true),
	}
}

func (PlanRule) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{
		Description: "What the household wants of its weeks: fish on Friday, nothing twice in ten days, quick on Tuesdays. week-plan and tonight keep them.",
	}}
}

// MealPlan is what a household means to cook over some days.
type MealPlan struct{ ent.Schema }

func (MealPlan) Mixin() []ent.Mixin { return []ent.Mixin{household{}} }

func (MealPlan) Fields() []ent.Field {
	return []ent.Field{
		nameField(""),
		day("start", "The first day.").required(),
		day("end", "The last day, not before start.").required(),
		field.Enum("status").Values("draft", "active", "completed", "cancelled").Default("active"),
	}
}

func (MealPlan) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("meals", PlannedMeal.Type).
			Annotations(entsql.OnDelete(entsql.Cascade), expose.Edge{Description: "The meals, one by one."}),
		edge.From("lists", ShoppingList.Type).Ref("plan"),
	}
}

func (MealPlan) Indexes() []ent.Index {
	return []ent.Index{index.Fields("start")}
}

func (MealPlan) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{
		Description: "The meals that the household means to cook over some days.",
		Aliases:     []string{"week", "menu"},
		Cascades:    expose.Yes(),
	}}
}

// PlannedMeal is one meal of a plan.
type PlannedMeal struct{ ent.Schema }

func (PlannedMeal) Mixin() []ent.Mixin { return []ent.Mixin{household{}} }

func (PlannedMeal) Fields() []ent.Field {
	return []ent.Field{
		day("date", "The day, in the household's time zone.").known("scheduled for", "when").required(),
		field.Enum("meal_type").Values(mealTypes...).Default("dinner"),
		field.Float("servings").Positive().Max(maxServings).Default(2).
			Comment("Portions: scale the recipe's amounts by servings / recipe.servings.").
			Annotations(expose.Field{Min: expose.Number(0), Max: expose.Number(maxServings)}),
		field.Float("for_later").Min(0).Max(maxServings).Default(0).
			Comment("Of servings, those that are cooked ahead for other days: cooked keeps them as leftovers.").
			Annotations(expose.Field{Min: expose.Number(0), Max: expose.Number(maxServings)}),
		field.Enum("status").Values("planned", "cooked", "skipped").Default("planned").
			Comment("The action cooked sets it and takes out what was used."),
		field.Int("rating").Optional().Nillable().Range(1, 5).
			Comment("How it was, 1 to 5, once cooked.").
			Annotations(expose.Field{Min: expose.Number(1), Max: expose.Number(5)}),
		field.Text("notes").Optional(),
		versionField(),
		field.String("name").Optional().MaxLen(120).
			Comment("What it is where it has no recipe: eating out, soup at grandma's. Without it, the name of the leftover.").
			Annotations(expose.Field{Example: "Eating out", MaxLength: expose.Length(120)}),
		field.String("plan_id").Optional().Nillable(),
		field.String("recipe_id").Optional().Nillable(),
		field.String("leftover_id").Optional().Nillable().
			Comment("A leftover of another meal, eaten at this one: cooked takes its servings."),
	}
}

func (PlannedMeal) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("plan", MealPlan.Type).Ref("meals").Unique().Field("plan_id"),
		edge.To("recipe", Recipe.Type).Unique().Field("recipe_id").
			Annotations(entsql.OnDelete(entsql.NoAction)),
		edge.To("leftover", Leftover.Type).Unique().Field("leftover_id").
			Annotations(entsql.OnDelete(entsql.SetNull)),
		edge.To("leftovers", Leftover.Type).Annotations(entsql.OnDelete(entsql.SetNull)),
	}
}

func (PlannedMeal) Indexes() []ent.Index {
	return []ent.Index{index.Fields("plan_id"), index.Fields("date"), index.Fields("recipe_id"), index.Fields("leftover_id")}
}

func (PlannedMeal) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{
		Description: "One meal: on which day, for how many, and what: a recipe, a leftover of another meal, or only a name, such as eating out.",
		Aliases:     []string{"dinner", "tonight"},
		Version:     "version",
		Cascades:    expose.Yes(),
	}}
}

// Leftover is cooked food that is in the house.
type Leftover struct{ ent.Schema }

func (Leftover) Mixin() []ent.Mixin { return []ent.Mixin{household{}} }

func (Leftover) Fields() []ent.Field {
	return []ent.Field{
		nameField("What it is."),
		field.Float("servings").Min(0).Max(maxServings).Comment("Portions that are left.").Annotations(expose.Field{Min: expose.Number(0), Max: expose.Number(maxServings)}),
		field.Enum("place").Values(places...).Default("fridge"),
		day("cooked_on", "The day on which it was cooked.").required(),
		day("best_before", "The last good day.").known("expires").optional(),
		field.Enum("status").Values("available", "eaten", "wasted").Default("available"),
		field.String("meal_id").Optional().Nillable(),
	}
}

func (Leftover) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("meal", PlannedMeal.Type).Ref("leftovers").Unique().Field("meal_id").
			Annotations(expose.Edge{Description: "The meal that it is left of."}),
		edge.From("planned", PlannedMeal.Type).Ref("leftover").
			Annotations(expose.Edge{Description: "The meals at which it will be or was eaten."}),
	}
}

func (Leftover) Indexes() []ent.Index {
	return []ent.Index{index.Fields("meal_id"), index.Fields("status", "best_before")}
}

func (Leftover) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Description: "Cooked food that is left: what, how many portions, until when."}}
}
