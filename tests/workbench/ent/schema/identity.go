// Package schema has the ent schemas of the WorkBench app: the tables of that data set,
// with fields that are named as its description names them.
//
// What belongs here: the schemas, and what their fields take. Not here: rows.
package schema

import (
	"time"

	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/mixin"
	"github.com/google/uuid"

	"github.com/koan-go/koan/entities/expose"
)

// Now is the moment at which the office of the data set stands still: Thursday,
// 30 November 2023, midnight. Its times have no zone; they are kept as UTC.
func Now() time.Time { return time.Date(2023, 11, 30, 0, 0, 0, 0, time.UTC) }

// identity gives a schema the id that the tables have, or a new one.
type identity struct{ mixin.Schema }

func (identity) Fields() []ent.Field {
	return []ent.Field{field.String("id").DefaultFunc(newID).MaxLen(64).NotEmpty().Immutable()}
}

func newID() string { return uuid.Must(uuid.NewV7()).String() }

// day annotates a field that holds a day.
func day(description string) expose.Field {
	return expose.Field{Description: description, Example: "2023-12-01", Day: expose.Yes()}
}
