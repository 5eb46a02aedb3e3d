// Package schema has every type of field that ent has, and every way in which
// apps bring types of their own.
package schema

import (
	"database/sql"
	"database/sql/driver"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"net/url"

	"entgo.io/ent"
	"entgo.io/ent/dialect"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"github.com/google/uuid"

	"github.com/koan-go/koan/entities/expose"
	"github.com/koan-go/koan/tests/specimen/owned"
)

// Specimen has a field of every type.
type Specimen struct{ ent.Schema }

// Annotations implements ent.Interface.
func (Specimen) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Description: "A field of every type."}}
}

// Fields implements ent.Interface.
func (Specimen) Fields() []ent.Field {
	return append([]ent.Field{field.UUID("id", uuid.UUID{}).Default(uuid.New)}, every()...)
}

// every is a field of every type.
func every() []ent.Field {
	day := field.Time("day").Optional().Annotations(expose.Field{Day: expose.Yes()})
	return append(append(plain(), own()...), day)
}

// plain are ent's own types, and types that are them by another name.
func plain() []ent.Field {
	return []ent.Field{
		field.Bool("yes").Optional().Nillable(),
		field.Int8("i8").Optional(), field.Int16("i16").Optional(), field.Int32("i32").Optional(), field.Int64("i64").Optional(), field.Int("i").Default(7),
		field.Uint8("u8").Optional(), field.Uint16("u16").Optional(), field.Uint32("u32").Optional(), field.Uint64("u64").Optional(), field.Uint("u").Optional(),
		field.Float32("f32").Optional(), field.Float("f64").Optional().Nillable(),
		field.String("text").Optional().MaxLen(40), field.Text("long").Optional(),
		field.Bytes("bytes").Optional(), field.Time("at").Optional().Nillable(), field.UUID("ref", uuid.UUID{}).Optional(),
		field.Enum("state").Values("on", "off").Default("on"),
		field.Strings("tags").Optional(), field.Ints("numbers").Optional(), field.Floats("weights").Optional(), field.Any("any").Optional(),
		field.JSON("raw", json.RawMessage{}).Optional(), field.JSON("address", owned.Address{}).Optional(), field.JSON("site", &url.URL{}).Optional(),
		field.JSON("dict", map[string]int{}).Optional(), field.JSON("history", []owned.Address{}).Default([]owned.Address{}),
		field.Int64("cents").GoType(owned.Cents(0)).Default(5), field.Float32("ratio").GoType(owned.Ratio(0)).Optional(),
		field.Bool("flag").GoType(owned.Flag(false)).Default(false), field.Bytes("blob").GoType(owned.Raw{}).Optional(), field.String("slug").GoType(owned.Slug("")).Optional(),
		field.Enum("color").GoType(owned.Color("")).Default("red"),
	}
}

// own are types that keep themselves, and fields with a ValueScanner.
func own() []ent.Field {
	return []ent.Field{
		field.Enum("level").GoType(owned.Level(0)).Optional().Nillable(),
		field.String("secret").GoType(owned.Secret("")).Optional(),
		field.String("phone").GoType(owned.Phone{}).Optional(),
		field.Other("price", owned.Decimal{}).SchemaType(map[string]string{dialect.SQLite: "text", dialect.Postgres: "numeric"}).Optional(),
		field.Float("cost").GoType(owned.Decimal{}).SchemaType(map[string]string{dialect.SQLite: "text", dialect.Postgres: "numeric(20,4)"}).Optional().Nillable(),
		field.String("amount").GoType(owned.Decimal{}).Optional().Annotations(expose.Field{Decimal: expose.Yes()}),
		field.Other("point", owned.Point{}).SchemaType(map[string]string{dialect.SQLite: "text", dialect.Postgres: "bytea"}).Optional().Annotations(expose.Field{Description: "Kept in a form that says nothing."}),
		field.Other("words", owned.Words{}).SchemaType(map[string]string{dialect.SQLite: "json", dialect.Postgres: "jsonb"}).Optional(),
		field.Time("seen").GoType(sql.NullTime{}).Optional(),
		field.String("big").GoType(&big.Int{}).ValueScanner(field.TextValueScanner[*big.Int]{}).Optional(),
		field.String("link").GoType(&url.URL{}).ValueScanner(field.BinaryValueScanner[*url.URL]{}).Optional().Annotations(expose.Field{Comparable: expose.Yes()}),
		field.String("hidden").ValueScanner(field.ValueScannerFunc[string, *sql.NullString]{
			V: func(s string) (driver.Value, error) { return hex.EncodeToString([]byte(s)), nil },
			S: func(ns *sql.NullString) (string, error) {
				b, err := hex.DecodeString(ns.String)
				if err != nil {
					return "", fmt.Errorf("not hexadecimal: %w", err)
				}
				return string(b), nil
			},
		}).Optional(),
		field.Other("fee", owned.Decimal{}).SchemaType(map[string]string{dialect.SQLite: "decimal(10,2)", dialect.Postgres: "numeric"}).Optional(),
	}
}

// Edges implements ent.Interface.
func (Specimen) Edges() []ent.Edge {
	return []ent.Edge{edge.From("cabinet", Cabinet.Type).Ref("specimens").Unique(), edge.To("labels", Label.Type), edge.From("likers", Visitor.Type).Ref("liked")}
}
