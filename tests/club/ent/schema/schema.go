// Package schema has the ent schemas of the club.
package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/privacy"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"

	"github.com/koan-go/koan/entities/expose"
	"github.com/koan-go/koan/tests/club/viewer"
)

var sets = expose.Sets("default", "branch-*")

func named(name string) []ent.Field {
	return []ent.Field{field.String("id").MaxLen(64).NotEmpty().Immutable(), field.String(name).Annotations(expose.Field{Searchable: expose.Yes()})}
}

// Event is open to everybody who may call.
type Event struct{ ent.Schema }

// Annotations implements ent.Interface.
func (Event) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Description: "Something that takes place.", Sets: sets}}
}

// Fields implements ent.Interface.
func (Event) Fields() []ent.Field { return named("title") }

// Edges implements ent.Interface.
func (Event) Edges() []ent.Edge { return []ent.Edge{edge.To("guests", Member.Type)} }

// Member stands behind scopes, and a phone number behind one more.
type Member struct{ ent.Schema }

// Annotations implements ent.Interface.
func (Member) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{
		Description: "Somebody who belongs to the club.", Sets: sets,
		ReadScopes: []string{"member:read"}, WriteScopes: []string{"member:write"}, DeleteScopes: []string{"member:delete"},
	}}
}

// Fields implements ent.Interface.
func (Member) Fields() []ent.Field {
	return append(named("name"), field.String("phone").Optional().Annotations(expose.Field{ReadScopes: []string{"member:phone"}}))
}

// Edges implements ent.Interface.
func (Member) Edges() []ent.Edge { return []ent.Edge{edge.From("events", Event.Type).Ref("guests")} }

// Poll is a tool, whatever the server's mode, and nothing for scripts.
type Poll struct{ ent.Schema }

// Annotations implements ent.Interface.
func (Poll) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Description: "A question to all.", Exposure: "tools"}}
}

// Fields implements ent.Interface.
func (Poll) Fields() []ent.Field { return named("question") }

// Score is for scripts alone.
type Score struct{ ent.Schema }

// Annotations implements ent.Interface.
func (Score) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Description: "How a game ended.", Exposure: "code"}}
}

// Fields implements ent.Interface.
func (Score) Fields() []ent.Field { return named("game") }

// Trophy is both, wherever it can be.
type Trophy struct{ ent.Schema }

// Annotations implements ent.Interface.
func (Trophy) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Description: "What was won.", Exposure: "full"}}
}

// Fields implements ent.Interface.
func (Trophy) Fields() []ent.Field { return named("title") }

// Diary has a rule that asks who calls.
type Diary struct{ ent.Schema }

// Annotations implements ent.Interface.
func (Diary) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Description: "What nobody else shall read."}}
}

// Policy implements ent.Interface.
func (Diary) Policy() ent.Policy {
	rule := viewer.Trusted("diary:any")
	return privacy.Policy{Query: privacy.QueryPolicy{rule}, Mutation: privacy.MutationPolicy{rule}}
}

// Fields implements ent.Interface.
func (Diary) Fields() []ent.Field { return named("text") }
