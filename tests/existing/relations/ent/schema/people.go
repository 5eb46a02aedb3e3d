// Package schema has the club's tables.
package schema

import (
	"context"
	"time"

	"entgo.io/ent"
	"entgo.io/ent/privacy"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/mixin"

	"example.org/club/viewer"
)

// Versioned has the time of the last change.
type Versioned struct{ mixin.Schema }

// Fields of Versioned.
func (Versioned) Fields() []ent.Field {
	now := func() int64 { return time.Now().UnixNano() }
	return []ent.Field{field.Int64("version").DefaultFunc(now).UpdateDefault(now)}
}

// Member is related to others in every way that there is.
type Member struct{ ent.Schema }

// Mixin of the Member.
func (Member) Mixin() []ent.Mixin { return []ent.Mixin{Versioned{}} }

// Fields of the Member.
func (Member) Fields() []ent.Field {
	return []ent.Field{
		field.String("name"),
		field.Enum("status").Values("online", "offline").Default("offline"),
		field.Strings("foods").Optional(),
	}
}

// Edges of the Member.
func (Member) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("card", Card.Type).Unique(),                             // one to one, of two types
		edge.To("spouse", Member.Type).Unique(),                         // one to one, in both directions
		edge.To("next", Member.Type).Unique().From("previous").Unique(), // one to one, recursive
		edge.To("pets", Pet.Type),                                       // one to many, of two types
		edge.To("children", Member.Type).From("parent").Unique(),        // one to many, recursive
		edge.To("friends", Member.Type),                                 // many to many, in both directions
		edge.To("following", Member.Type).From("followers"),             // many to many, recursive
		edge.From("teams", Team.Type).Ref("members"),                    // many to many, of two types
		edge.From("leads", Team.Type).Ref("leader"),                     // one to many, from the other side
		edge.From("city", City.Type).Ref("people").Unique(),             // many to one
	}
}

// Card belongs to one member.
type Card struct{ ent.Schema }

// Fields of the Card.
func (Card) Fields() []ent.Field { return []ent.Field{field.String("number")} }

// Edges of the Card.
func (Card) Edges() []ent.Edge {
	return []ent.Edge{edge.From("owner", Member.Type).Ref("card").Unique().Required()}
}

// Pet has its owner's id as a field.
type Pet struct{ ent.Schema }

// Fields of the Pet.
func (Pet) Fields() []ent.Field { return []ent.Field{field.String("name"), field.Int("owner_id")} }

// Edges of the Pet.
func (Pet) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("owner", Member.Type).Ref("pets").Field("owner_id").Required().Unique(),
		edge.To("friends", Pet.Type),
	}
}

// OfTenant is of one tenant for ever.
type OfTenant struct{ mixin.Schema }

// Fields of OfTenant.
func (OfTenant) Fields() []ent.Field { return []ent.Field{field.Int("tenant_id").Immutable()} }

// Edges of OfTenant.
func (OfTenant) Edges() []ent.Edge {
	return []ent.Edge{edge.To("tenant", Tenant.Type).Field("tenant_id").Unique().Required().Immutable()}
}

// Policy of OfTenant.
func (OfTenant) Policy() ent.Policy {
	return privacy.Policy{Mutation: privacy.MutationPolicy{privacy.MutationRuleFunc(func(ctx context.Context, m ent.Mutation) error {
		if id, ok := m.Field("tenant_id"); ok && id != viewer.Tenant(ctx) {
			return privacy.Denyf("tenant %v is not yours", id)
		}
		return privacy.Skip
	})}}
}

// Team is a tenant's.
type Team struct{ ent.Schema }

// Mixin of the Team.
func (Team) Mixin() []ent.Mixin { return []ent.Mixin{OfTenant{}} }

// Fields of the Team.
func (Team) Fields() []ent.Field { return []ent.Field{field.String("name").Default("Unknown")} }

// Edges of the Team.
func (Team) Edges() []ent.Edge {
	return []ent.Edge{edge.To("members", Member.Type), edge.To("leader", Member.Type).Unique()}
}

// Tenant may be changed by nobody here.
type Tenant struct{ ent.Schema }

// Fields of the Tenant.
func (Tenant) Fields() []ent.Field { return []ent.Field{field.String("name").NotEmpty()} }

// Policy of the Tenant.
func (Tenant) Policy() ent.Policy {
	return privacy.Policy{Mutation: privacy.MutationPolicy{
		privacy.ContextQueryMutationRule(func(ctx context.Context) error {
			if viewer.Tenant(ctx) == 0 {
				return privacy.Allow
			}
			return privacy.Skip
		}),
		privacy.AlwaysDenyRule(),
	}}
}
