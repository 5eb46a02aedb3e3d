// Package schema has the library's tables; tables.sql makes them.
package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect"
	"entgo.io/ent/schema/field"
)

func postgres(typ string) map[string]string { return map[string]string{dialect.Postgres: typ} }

// Reader has columns of types of the database's own, an index over an expression, and
// a trigger that writes AuditEntry.
type Reader struct {
	ent.Schema
}

// Fields of the Reader.
func (Reader) Fields() []ent.Field {
	return []ent.Field{
		field.String("name").Comment("An index over lower(name) is unique."),
		field.String("address").GoType(&Address{}).SchemaType(postgres("address")).Optional(),
		field.String("badge").GoType(Badge{}).SchemaType(postgres("badge")),
		field.String("postal_code").SchemaType(postgres("postal_code")),
		field.Enum("status").Values("active", "barred").SchemaType(postgres("status")),
		field.String("grade").SchemaType(postgres("status")).Default("active"),
		field.String("section").SchemaType(postgres("ltree")),
		field.Time("born_on").SchemaType(postgres("date")).Optional(),
		field.String("cameFrom").SchemaType(postgres("inet")).Optional().Nillable(),
	}
}

// AuditEntry is written by a trigger.
type AuditEntry struct {
	ent.Schema
}

// Fields of the AuditEntry.
func (AuditEntry) Fields() []ent.Field {
	return []ent.Field{
		field.String("operation"),
		field.String("old_value").Optional(),
		field.String("new_value").Optional(),
	}
}

// Loan has a policy of row level security.
type Loan struct {
	ent.Schema
}

// Fields of the Loan.
func (Loan) Fields() []ent.Field {
	return []ent.Field{field.String("title"), field.Int("branch")}
}
