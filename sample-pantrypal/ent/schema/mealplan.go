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

// MealPlan is what a household means to cook over some days.
type MealPlan struct{ ent.Schema }

func (MealPlan) Mixin() []ent.Mixin { return []ent.Mixin{household{}} }

func (MealPlan) Fields() []ent.Field {
	return []ent.Field{
		field.String("name").NotEmpty().MaxLen(120).
			Annotations(expose.Field{Searchable: expose.Yes(), MaxLength: expose.Length(120)}),
		field.Time("start").Comment("The first day."),
		field.Time("end").Comment("The last day."),
		field.Enum("status").Values("draft", "active", "completed", "cancelled").Default("active"),
	}
}

func (MealPlan) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("meals", PlannedMeal.Type).
			Annotations(entsql.OnDelete(entsql.Cascade), expose.Edge{Description: "The meals, one by one."}),
	}
}

func (MealPlan) Indexes() []ent.Index {
	return []ent.Index{index.Fields("start")}
}

func (MealPlan) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{
		Description: "What the household means to cook over some days.",
	}}
}

// PlannedMeal is one meal of a plan.
type PlannedMeal struct{ ent.Schema }

func (PlannedMeal) Mixin() []ent.Mixin { return []ent.Mixin{household{}} }

func (PlannedMeal) Fields() []ent.Field {
	return []ent.Field{
		field.Time("scheduled_for"),
		field.Enum("meal_type").Values(mealTypes...).Default("dinner"),
		field.Int("servings").Positive().Default(2).
			Comment("For how many people; scale the recipe's amounts by it.").
			Annotations(expose.Field{Min: expose.Number(1)}),
		field.Enum("status").Values("planned", "cooked", "skipped").Default("planned"),
		field.Int("rating").Optional().Nillable().Range(1, 5).
			Comment("How it was, 1 to 5, once cooked.").
			Annotations(expose.Field{Min: expose.Number(1), Max: expose.Number(5)}),
		field.Text("notes").Optional(),
		field.String("plan_id").Optional().Nillable(),
		field.String("recipe_id"),
	}
}

func (PlannedMeal) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("plan", MealPlan.Type).Ref("meals").Unique().Field("plan_id"),
		edge.To("recipe", Recipe.Type).Unique().Required().Field("recipe_id").
			Annotations(entsql.OnDelete(entsql.NoAction)),
	}
}

func (PlannedMeal) Indexes() []ent.Index {
	return []ent.Index{index.Fields("plan_id"), index.Fields("scheduled_for"), index.Fields("recipe_id")}
}

func (PlannedMeal) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{
		Description: "One meal of a plan: which recipe, when, for how many.",
	}}
}
