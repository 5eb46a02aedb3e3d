package expose_test

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"

	"github.com/koan-go/koan/entities/expose"
)

// Invoice is a schema of ent, whose annotations say what callers see of it.
type Invoice struct{ ent.Schema }

// Fields of an invoice.
func (Invoice) Fields() []ent.Field {
	return []ent.Field{
		field.String("number").Immutable(),
		field.Text("remarks").Optional().Annotations(expose.Field{Searchable: expose.Yes()}),
	}
}

// Annotations of an invoice.
func (Invoice) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Description: "What somebody has to pay.", Operations: []string{"collection", "get-by-id", "create"}}}
}

// What an app's schemas say of their entities is all that there is to write.
func Example() {
	var _ ent.Interface = Invoice{}
}
