// Package none has a schema that nobody can be shown without its code.
package none

import (
	"context"
	"errors"

	"entgo.io/ent"
	"entgo.io/ent/schema/field"
)

// Diary is for those whom its policy lets see it.
type Diary struct{ ent.Schema }

// Fields of the Diary.
func (Diary) Fields() []ent.Field { return []ent.Field{field.String("text")} }

// Policy of the Diary.
func (Diary) Policy() ent.Policy { return rules{} }

type rules struct{}

func (rules) EvalMutation(context.Context, ent.Mutation) error { return errors.New("refused") }
func (rules) EvalQuery(context.Context, ent.Query) error       { return errors.New("refused") }
