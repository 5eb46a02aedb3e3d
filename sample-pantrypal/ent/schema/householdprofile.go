package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"

	"github.com/koan-go/koan/entities/expose"
)

// HouseholdProfile is whom to cook for.
type HouseholdProfile struct{ ent.Schema }

func (HouseholdProfile) Mixin() []ent.Mixin { return []ent.Mixin{household{}} }

func (HouseholdProfile) Fields() []ent.Field {
	return []ent.Field{
		field.Int("size").Positive().Default(2).
			Comment("How many people eat.").
			Annotations(expose.Field{Min: expose.Number(1)}),
		field.Enum("diet").Values("none", "pescatarian", "vegetarian", "vegan").Default("none").
			Comment("Recipes must carry it as a dietary tag, unless it is none."),
		field.Strings("allergies").Optional().
			Comment("Allergens that must not be in any meal, as in Product.allergens."),
		field.Strings("dislikes").Optional().
			Comment("Ingredients that nobody wants."),
		field.Strings("favourites").Optional().
			Comment("Ingredients or cuisines that are welcome."),
		field.Int("energy_target_kcal").Optional().Nillable().Positive().
			Comment("Per person and day.").
			Annotations(expose.Field{Min: expose.Number(1)}),
		field.Int("weekday_minutes").Positive().Default(45).
			Comment("Time to cook on a weekday.").
			Annotations(expose.Field{Min: expose.Number(1)}),
		field.Int("weekend_minutes").Positive().Default(90).
			Comment("Time to cook on Saturday and Sunday.").
			Annotations(expose.Field{Min: expose.Number(1)}),
		field.Float("weekly_budget").Optional().Nillable().Min(0).
			Comment("For groceries, in the household's currency.").
			Annotations(expose.Field{Min: expose.Number(0)}),
	}
}

func (HouseholdProfile) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{
		Description: "Whom to cook for: how many, what they must not eat, what they like, how much time and money there is. One per set.",
	}}
}
