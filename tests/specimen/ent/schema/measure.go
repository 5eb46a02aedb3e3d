package schema

import (
	"time"

	"entgo.io/ent"
	"entgo.io/ent/dialect"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"

	"github.com/koan-go/koan/entities/expose"
	"github.com/koan-go/koan/tests/specimen/owned"
)

// Measure has columns whose types keep less than the types of its fields hold.
type Measure struct{ ent.Schema }

// Annotations implements ent.Interface.
func (Measure) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Description: "What was measured."}}
}

func onBoth(typ string) map[string]string {
	return map[string]string{dialect.Postgres: typ, dialect.SQLite: typ}
}

func onPostgres(typ string) map[string]string { return map[string]string{dialect.Postgres: typ} }

// Fields implements ent.Interface.
func (Measure) Fields() []ent.Field {
	return []ent.Field{
		field.Other("price", owned.Decimal{}).SchemaType(onBoth("numeric(12,2)")).Optional().Nillable(),
		field.Other("text_price", owned.Decimal{}).SchemaType(map[string]string{dialect.Postgres: "numeric(12,2)", dialect.SQLite: "text"}).Optional().Nillable(),
		field.Float("rate").SchemaType(onPostgres("numeric(6,3)")).Optional().Nillable(),
		field.Float("ratio").SchemaType(onBoth("decimal(6,3)")).Optional().Nillable(),
		field.Float("single").SchemaType(onPostgres("real")).Optional().Nillable(),
		field.Float("loose").SchemaType(onPostgres("numeric")).Optional().Nillable(),
		field.Int("small").SchemaType(onPostgres("smallint")).Optional().Nillable(),
		field.Int("medium").SchemaType(onPostgres("int4")).Optional().Nillable(),
		field.Int("whole").SchemaType(onPostgres("numeric(5)")).Optional().Nillable(),
		field.Int32("narrow").Optional().Nillable(),
		field.String("code").SchemaType(onBoth("varchar(5)")).Optional().Nillable(),
		field.String("fixed").SchemaType(onPostgres("char(3)")).Optional().Nillable(),
		field.String("bits").SchemaType(onPostgres("bit(4)")).Optional().Nillable(),
		field.String("network").SchemaType(onPostgres("inet")).Optional().Nillable(),
		field.String("secret").SchemaType(onPostgres("varchar(4)")).Sensitive().Optional().Nillable(),
		field.Time("second").SchemaType(onPostgres("timestamp(0)")).Default(time.Now),
		field.Time("milli").SchemaType(onPostgres("timestamptz(3)")).Optional().Nillable(),
		field.Time("moment").Optional().Nillable(),
	}
}
