// Package schema has PantryPal's entities: what a household has, cooks, plans
// and buys.
//
// What belongs here: ent schemas with the annotations that expose them. What
// must never: seed data, hooks that need the generated client, or any import
// beyond ent and the annotations.
package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/mixin"
	"github.com/google/uuid"

	"github.com/koan-go/koan/entities/expose"
)

// household is what all entities share: an id that sorts by the time of its
// making, and the two households (sets) whose data never mix.
type household struct{ mixin.Schema }

func (household) Fields() []ent.Field {
	return []ent.Field{
		field.String("id").DefaultFunc(newID).Immutable().NotEmpty().MaxLen(64),
	}
}

func (household) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Sets: expose.Sets("default", "lake-house")}}
}

// newID gives a UUIDv7 as text.
func newID() string { return uuid.Must(uuid.NewV7()).String() }

// categories of products, pantry items and shopping items: the aisle, roughly.
var categories = []string{"produce", "dairy", "meat", "seafood", "bakery", "frozen", "dry", "beverage", "household", "other"}

// mealTypes of recipes and planned meals.
var mealTypes = []string{"breakfast", "lunch", "dinner", "snack"}

// unitField is a unit as a string; free, because recipes know units such as
// "clove" or "bunch" that no list ends.
func unitField() ent.Field {
	return field.String("unit").Default("piece").NotEmpty().MaxLen(20).
		Comment("Unit of the quantity: g, kg, ml, l or piece; recipes also use tsp, tbsp, clove, bunch, slice.").
		Annotations(expose.Field{Example: "g", MaxLength: expose.Length(20)})
}
