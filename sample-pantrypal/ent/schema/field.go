package schema

import (
	"fmt"
	"strings"
	"time"

	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"

	"github.com/koan-go/koan/entities/expose"
)

// mealTypes of recipes and planned meals.
var mealTypes = []string{"breakfast", "lunch", "dinner", "snack", "dessert"}

// places where a household keeps things.
var places = []string{"pantry", "fridge", "freezer"}

// allergens are the 14 that have to be declared in the EU, and diets those that foods can fit.
var (
	allergens = []string{"gluten", "crustaceans", "eggs", "fish", "peanuts", "soy", "milk", "nuts", "celery", "mustard", "sesame", "sulphites", "lupin", "molluscs"}
	diets     = []string{"vegan", "vegetarian", "pescatarian"}
)

// weekdays of rules.
var weekdays = []string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}

// day is a date of the household's calendar.
func day(name, comment string) *dayField {
	return &dayField{name: name, comment: comment}
}

type dayField struct {
	name, comment string
	aliases       []string
	hook          bool // fills it where callers leave it out
}

func (d *dayField) known(as ...string) *dayField { d.aliases = as; return d }

func (d *dayField) filled() *dayField { d.hook = true; return d }

func (d *dayField) annotations() []schema.Annotation {
	out := []schema.Annotation{expose.Field{Day: expose.Yes(), Description: d.comment, Aliases: d.aliases}}
	if d.hook {
		out = append(out, expose.Filled{})
	}
	return out
}

func (d *dayField) required() ent.Field { return field.Time(d.name).Annotations(d.annotations()...) }

func (d *dayField) optional() ent.Field {
	return field.Time(d.name).Optional().Nillable().Annotations(d.annotations()...)
}

// validZone refuses what is no time zone.
func validZone(name string) error {
	if name == "Local" {
		return fmt.Errorf("time zone %q depends on the machine; want an IANA name such as Europe/Berlin", name)
	}
	if _, err := time.LoadLocation(name); err != nil {
		return fmt.Errorf("unknown time zone %q; want an IANA name such as Europe/Berlin", name)
	}
	return nil
}

// most is the largest amount or price that a household can have: a tonne, or a million of anything.
const most = 1_000_000

// optionalAmount is how much of something, in the field unit beside it.
func optionalAmount(name, comment string) ent.Field {
	return field.Float(name).Optional().Nillable().Min(0).Max(most).Comment(comment).Annotations(expose.Field{Min: expose.Number(0), Max: expose.Number(most)})
}

const (
	stockUnits = "Unit of the amount: g, kg, ml, l, piece, or a unit that the food has a FoodPortion for (clove, can, bunch, tbsp, cup ...)."
)

func unitField(name, comment string) ent.Field {
	return field.String(name).Default("piece").NotEmpty().MaxLen(20).Validate(validUnit).Comment(comment).
		Annotations(expose.Field{Example: "g", MaxLength: expose.Length(20)})
}

func optionalUnit(name, comment string) ent.Field {
	return field.String(name).Optional().Nillable().NotEmpty().MaxLen(20).Validate(validUnit).Comment(comment).
		Annotations(expose.Field{Example: "g", MaxLength: expose.Length(20)})
}

// nameField is what people call a row.
func nameField(comment string) ent.Field {
	return field.String("name").NotEmpty().MaxLen(120).Comment(comment).
		Annotations(expose.Field{Searchable: expose.Yes(), MaxLength: expose.Length(120)})
}

func noteField(name string) ent.Field {
	return field.String(name).Optional().MaxLen(240).Annotations(expose.Field{MaxLength: expose.Length(240)})
}

func price(name, comment string) ent.Field {
	return field.Float(name).Optional().Nillable().Min(0).Max(most).Comment(comment).Annotations(expose.Field{Min: expose.Number(0), Max: expose.Number(most)})
}

func versionField() ent.Field {
	return field.Int("version").Default(1).
		Comment("Counts the changes; send it as ifVersion to change only what you have read.").
		Annotations(expose.Field{ReadOnly: expose.Yes()})
}

// oneOf returns a validator of lists.
func oneOf(what string, allowed []string) func([]string) error {
	return func(got []string) error {
		for _, g := range got {
			if !contains(allowed, g) {
				return fmt.Errorf("unknown %s %q; want some of %s", what, g, strings.Join(allowed, ", "))
			}
		}
		return nil
	}
}

func contains(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}
