// Package plain has schemas as an ent project has them, without an annotation of Koan's and without generated code.
package plain

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"entgo.io/ent"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/mixin"
	"github.com/google/uuid"
)

// User has a value of each kind that functions make and check.
type User struct{ ent.Schema }

// Mixin of the User.
func (User) Mixin() []ent.Mixin { return []ent.Mixin{mixin.Time{}} }

// Fields of the User.
func (User) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("id", uuid.UUID{}).Default(uuid.New),
		field.String("name").NotEmpty().MaxLen(20).Comment("What people call them"),
		field.Int("age").Positive().Optional(),
		field.String("slug").DefaultFunc(func() string {
			fmt.Println("a line that is no answer")
			return "made"
		}).Validate(func(s string) error {
			switch s {
			case "bad":
				return errors.New("bad slugs are not allowed")
			case "panic":
				panic("the slug")
			case "exit":
				os.Exit(3)
			}
			return nil
		}),
		field.Enum("role").Values("admin", "user").Default("user"),
		field.Time("until").Default(func() time.Time { return time.Date(2030, 1, 2, 3, 4, 5, 600, time.UTC) }),
		field.JSON("tags", []string{}).Default([]string{"new"}),
		field.Bytes("key").MaxLen(4).Optional(),
		field.Int64("revision").UpdateDefault(func() int64 { return 7 }).Default(1),
	}
}

// Edges of the User.
func (User) Edges() []ent.Edge {
	return []ent.Edge{edge.To("pets", Pet.Type), edge.To("friends", User.Type)}
}

// Pet has a hook, which does not run.
type Pet struct{ ent.Schema }

// Fields of the Pet.
func (Pet) Fields() []ent.Field {
	return []ent.Field{
		field.String("id").MaxLen(8).DefaultFunc(func() string { return "pet-" + uuid.NewString()[:4] }).
			Validate(func(s string) error {
				if !strings.HasPrefix(s, "pet-") {
					return errors.New("ids of pets begin with pet-")
				}
				return nil
			}),
		field.String("name"),
		field.Float("weight").Default(1.5),
	}
}

// Edges of the Pet.
func (Pet) Edges() []ent.Edge {
	return []ent.Edge{edge.From("owner", User.Type).Ref("pets").Unique()}
}

// Hooks of the Pet.
func (Pet) Hooks() []ent.Hook {
	return []ent.Hook{func(next ent.Mutator) ent.Mutator {
		return ent.MutateFunc(func(context.Context, ent.Mutation) (ent.Value, error) { return nil, errors.New("the hook ran") })
	}}
}

// Note is kept for those whom its policy lets see it.
type Note struct{ ent.Schema }

// Fields of the Note.
func (Note) Fields() []ent.Field { return []ent.Field{field.String("text")} }

// Policy of the Note.
func (Note) Policy() ent.Policy { return rules{} }

type rules struct{}

func (rules) EvalMutation(context.Context, ent.Mutation) error { return errors.New("refused") }
func (rules) EvalQuery(context.Context, ent.Query) error       { return errors.New("refused") }

// Reply requires a note.
type Reply struct{ ent.Schema }

// Edges of the Reply.
func (Reply) Edges() []ent.Edge {
	return []ent.Edge{edge.To("note", Note.Type).Unique().Required()}
}

// Board requires notes, whose rows have its key.
type Board struct{ ent.Schema }

// Edges of the Board.
func (Board) Edges() []ent.Edge {
	return []ent.Edge{edge.To("notes", Note.Type).Required()}
}
