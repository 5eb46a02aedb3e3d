// Package cased has unique keys of texts, whose case counts.
package cased

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"github.com/koan-go/koan/entities/expose"
)

// Member is known by an address.
type Member struct{ ent.Schema }

// Annotations of the Member.
func (Member) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{UpsertBy: []string{"email"}}}
}

// Fields of the Member.
func (Member) Fields() []ent.Field {
	return []ent.Field{
		field.String("email").Unique(),
		field.String("name").Optional(),
	}
}

// Seat is known by its room and code.
type Seat struct{ ent.Schema }

// Annotations of the Seat.
func (Seat) Annotations() []schema.Annotation { return []schema.Annotation{expose.Entity{}} }

// Fields of the Seat.
func (Seat) Fields() []ent.Field {
	return []ent.Field{
		field.Int("room"),
		field.String("code").Optional(),
	}
}

// Indexes of the Seat.
func (Seat) Indexes() []ent.Index { return []ent.Index{index.Fields("room", "code").Unique()} }
