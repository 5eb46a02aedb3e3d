// Package schema has the shop's tables.
package schema

import (
	"time"

	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/mixin"
)

// Dated says when a row was made and changed.
type Dated struct{ mixin.Schema }

// Fields of Dated.
func (Dated) Fields() []ent.Field {
	return []ent.Field{
		field.Time("created_at").Default(time.Now).Immutable(),
		field.Time("updated_at").Default(time.Now).UpdateDefault(time.Now),
	}
}

// SoftDeleted rows are marked instead of deleted; package store does it.
type SoftDeleted struct{ mixin.Schema }

// Fields of SoftDeleted.
func (SoftDeleted) Fields() []ent.Field {
	return []ent.Field{field.Time("deleted_at").Optional().Nillable()}
}
