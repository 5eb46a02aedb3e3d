// Package schema has PantryPal's entities: what a household has, cooks, plans
// and buys.
//
// What belongs here: ent schemas with the annotations that expose them. Not here:
// seed data, hooks that need the generated client, or any import
// beyond ent, the annotations and the app's own units.
package schema

import (
	"regexp"

	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/mixin"
	"github.com/google/uuid"

	"github.com/koan-go/koan/entities/expose"
)

// household is what all entities share: an id that sorts by the time of its
// making, and the two households (sets) whose data never mix. Rows of the
// catalogue have ids of their own (see catalogue.go).
type household struct{ mixin.Schema }

func (household) Fields() []ent.Field {
	return []ent.Field{
		field.String("id").DefaultFunc(newID).Immutable().NotEmpty().MaxLen(64),
	}
}

func (household) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Sets: expose.Sets("default", "lake-house")}}
}

// newID returns a UUIDv7 as text.
func newID() string { return uuid.Must(uuid.NewV7()).String() }

// HouseholdID is the id of the one household that a set has.
const HouseholdID = "household"

const householdPattern = "^" + HouseholdID + "$"

// Member is somebody who eats in the household.
type Member struct {
	Name      string   `json:"name"`
	Portion   float64  `json:"portion"`
	Diet      string   `json:"diet,omitempty"`
	Allergies []string `json:"allergies,omitempty"`
	Dislikes  []string `json:"dislikes,omitempty"`
}

// Household is whom to cook for. Its id is a constant, so the database itself holds
// that a set has one.
type Household struct{ ent.Schema }

func (Household) Mixin() []ent.Mixin { return []ent.Mixin{household{}} }

func (Household) Fields() []ent.Field {
	return []ent.Field{
		field.String("id").Default(HouseholdID).Immutable().Match(regexp.MustCompile(householdPattern)).
			Annotations(expose.Field{Description: "Always \"household\": a set has one household."}),
		field.String("name").NotEmpty().MaxLen(120).Default("Home").
			Annotations(expose.Field{MaxLength: expose.Length(120)}),
		field.JSON("members", []Member{}).Optional().
			Comment("The people who eat here: [{name, portion, diet, allergies, dislikes}]. portion is 1 for an adult (or not sent), 0.5 for a small child. diet: none, pescatarian, vegetarian or vegan. Allergies are allergens as in Food.allergens, or what people call them (dairy, shellfish, wheat), dislikes are names of foods."),
		field.String("time_zone").Default("UTC").NotEmpty().MaxLen(64).Validate(validZone).
			Comment("IANA name. Today and tonight are days there.").
			Annotations(expose.Field{Example: "Europe/Berlin", MaxLength: expose.Length(64)}),
		field.String("currency").Default("EUR").Match(regexp.MustCompile(currencyPattern)).
			Comment("ISO 4217. All prices are in it.").
			Annotations(expose.Field{Example: "EUR", Pattern: currencyPattern}),
		field.String("locale").Default("en").NotEmpty().MaxLen(20).
			Comment("BCP 47. en-US reads cups as US cups.").
			Annotations(expose.Field{Example: "en-GB", MaxLength: expose.Length(20)}),
		field.Enum("units").Values("metric", "us").Default("metric").
			Comment("How amounts are shown."),
		field.Strings("removed").Optional().
			Comment("Ids of products and stores of the catalogue that the household has deleted: a new release does not bring them back.").
			Annotations(expose.Field{ReadOnly: expose.Yes()}),
		field.Float("weekly_budget").Optional().Nillable().Min(0).
			Comment("For groceries, in currency.").
			Annotations(expose.Field{Min: expose.Number(0)}),
		field.Int("weekday_minutes").Positive().Default(45).
			Comment("Minutes to cook on a weekday.").
			Annotations(expose.Field{Min: expose.Number(1)}),
		field.Int("weekend_minutes").Positive().Default(90).
			Comment("Minutes to cook on Saturday and Sunday.").
			Annotations(expose.Field{Min: expose.Number(1)}),
		field.Int("energy_target_kcal").Optional().Nillable().Positive().
			Comment("Per adult and day.").
			Annotations(expose.Field{Min: expose.Number(1)}),
	}
}

const currencyPattern = `^[A-Z]{3}$`

func (Household) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{
		Description: "Whom to cook for: members with allergies and dislikes, time zone, currency, budget, time to cook. One per set, with the id \"household\": patch it.",
		Aliases:     []string{"profile", "family", "settings"},
		Operations:  []string{"collection", "get-by-id", "count", "patch"},
	}}
}
