// Package schema has the ent schemas of the office. They import the generated
// code, as schemas with rules do.
package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"

	"github.com/koan-go/koan/entities/expose"
)

// Folder has no rules itself; what lies in it has.
type Folder struct{ ent.Schema }

// Annotations implements ent.Interface.
func (Folder) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Description: "A place for documents."}}
}

// Fields implements ent.Interface.
func (Folder) Fields() []ent.Field {
	return []ent.Field{field.String("id").MaxLen(64).NotEmpty().Immutable(), field.String("name")}
}

// Edges implements ent.Interface.
func (Folder) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("documents", Document.Type).Annotations(entsql.OnDelete(entsql.Cascade)),
		edge.To("manager", Person.Type).Unique(),
	}
}

// Document belongs to a tenant, and is marked when it is deleted.
type Document struct{ ent.Schema }

// Annotations implements ent.Interface.
func (Document) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Description: "Something that was written.", Version: "version"}}
}

// Mixin implements ent.Interface.
func (Document) Mixin() []ent.Mixin { return []ent.Mixin{Marked{}} }

// Policy implements ent.Interface.
func (Document) Policy() ent.Policy { return tenantPolicy() }

// Fields implements ent.Interface.
func (Document) Fields() []ent.Field {
	return []ent.Field{
		field.String("id").MaxLen(64).NotEmpty().Immutable(),
		field.String("tenant"),
		field.String("title").Annotations(expose.Field{Searchable: expose.Yes()}),
		field.Int("pages").Default(1),
		field.String("code").Optional().Nillable().Unique(),
		field.Int("reviewer_id").Optional(),
		field.Int("version").Default(1),
	}
}

// Edges implements ent.Interface.
func (Document) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("folder", Folder.Type).Ref("documents").Unique(),
		edge.From("author", Person.Type).Ref("documents").Unique(),
		edge.To("related", Document.Type),
		edge.To("reviewer", Person.Type).Field("reviewer_id").Unique().Annotations(expose.Edge{Hidden: expose.Yes()}),
	}
}

// Person has pay that not everybody may read. The app hides those who have left
// with an interceptor that it adds at run time.
type Person struct{ ent.Schema }

// Annotations implements ent.Interface.
func (Person) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Description: "Somebody who works here.", UpsertBy: []string{"email"}}}
}

// Fields implements ent.Interface.
func (Person) Fields() []ent.Field {
	return []ent.Field{
		field.String("name").Annotations(expose.Field{Searchable: expose.Yes()}),
		field.String("email").Unique(),
		field.Bool("left").Default(false),
		field.Int("pay").Optional().Annotations(expose.Field{ReadScopes: []string{"pay:read"}}),
		field.String("grade").Default("junior").Immutable().Annotations(expose.Field{ReadScopes: []string{"pay:read"}, Searchable: expose.Yes()}),
	}
}

// Edges implements ent.Interface.
func (Person) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("documents", Document.Type),
		edge.From("folders", Folder.Type).Ref("manager"),
	}
}

// Entry is a line of the office's log: everybody writes it, admins read it.
type Entry struct{ ent.Schema }

// Annotations implements ent.Interface.
func (Entry) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Description: "A line of the log.", Undo: expose.No()}}
}

// Policy implements ent.Interface.
func (Entry) Policy() ent.Policy { return adminsRead() }

// Fields implements ent.Interface.
func (Entry) Fields() []ent.Field {
	return []ent.Field{field.String("id").MaxLen(64).NotEmpty().Immutable(), field.String("text")}
}

// Badge carries every annotation that a field can have.
type Badge struct{ ent.Schema }

// Annotations implements ent.Interface.
func (Badge) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{
		Description: "What opens the doors.", Sets: expose.Sets("default", "branch-*"),
		Operations: []string{"collection", "get-by-id", "count", "aggregate", "new", "upsert", "patch", "delete"},
		ReadScopes: []string{"badge:read"}, WriteScopes: []string{"badge:write"}, DeleteScopes: []string{"badge:delete"},
	}}
}

// Fields implements ent.Interface.
func (Badge) Fields() []ent.Field {
	return []ent.Field{
		field.String("id").MaxLen(64).NotEmpty().Immutable(),
		field.String("number").Annotations(expose.Field{
			Description: "Printed on it.", Example: "A-17", MinLength: expose.Length(3), MaxLength: expose.Length(8), Pattern: "^[A-Z]-[0-9]+$",
		}),
		field.Int("floor").Default(1).Annotations(expose.Field{Min: expose.Number(0), Max: expose.Number(9)}),
		field.Float("weight").Default(1).Annotations(expose.Field{Min: expose.Number(0.5)}),
		field.String("pin").Optional().Annotations(expose.Field{WriteOnly: expose.Yes(), Searchable: expose.Yes()}),
		field.String("key").Optional().Sensitive(),
		field.String("printer").Default("north").Annotations(expose.Field{ReadOnly: expose.Yes()}),
		field.String("holder").Annotations(expose.Field{Immutable: expose.Yes()}),
		field.String("note").Optional().MaxLen(4).Annotations(expose.Field{Searchable: expose.Yes()}),
	}
}
