// Package schema has the ent schemas of the household app: copies of mail, meetings,
// documents and bills that the app keeps itself.
//
// What belongs here: the schemas. Not here: rows.
package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/mixin"
	"github.com/google/uuid"

	"github.com/koan-go/koan/entities/expose"
)

type identity struct{ mixin.Schema }

func (identity) Fields() []ent.Field {
	return []ent.Field{field.String("id").DefaultFunc(newID).MaxLen(64).NotEmpty().Immutable()}
}

func newID() string { return uuid.Must(uuid.NewV7()).String() }

// Mail is a mail that the app has archived.
type Mail struct{ ent.Schema }

func (Mail) Mixin() []ent.Mixin { return []ent.Mixin{identity{}} }

func (Mail) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Description: "An archived mail."}}
}

func (Mail) Fields() []ent.Field {
	return []ent.Field{
		field.String("sender").MaxLen(200).Default(""),
		field.String("subject").MaxLen(500),
		field.Text("body").Default(""),
	}
}

// Meeting is an entry of the calendar.
type Meeting struct{ ent.Schema }

func (Meeting) Mixin() []ent.Mixin { return []ent.Mixin{identity{}} }

func (Meeting) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Description: "A meeting in the calendar."}}
}

func (Meeting) Fields() []ent.Field {
	return []ent.Field{
		field.String("title").NotEmpty().MaxLen(500),
		field.String("guest").MaxLen(200).Default(""),
		field.Time("starts_at"),
		field.Text("notes").Default(""),
	}
}

// Document is a file that the app has indexed.
type Document struct{ ent.Schema }

func (Document) Mixin() []ent.Mixin { return []ent.Mixin{identity{}} }

func (Document) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Description: "A document of the household."}}
}

func (Document) Fields() []ent.Field {
	return []ent.Field{
		field.String("path").NotEmpty().MaxLen(500),
		field.Text("text").Default(""),
	}
}

// Bill is a bill that is to be paid.
type Bill struct{ ent.Schema }

func (Bill) Mixin() []ent.Mixin { return []ent.Mixin{identity{}} }

func (Bill) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Description: "A bill of the household."}}
}

func (Bill) Fields() []ent.Field {
	return []ent.Field{
		field.String("payee").NotEmpty().MaxLen(200),
		field.String("account").NotEmpty().MaxLen(50).Comment("Of the payee."),
		field.Int("cents").Positive(),
		field.Bool("paid").Default(false),
	}
}
