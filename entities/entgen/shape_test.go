package entgen

import (
	"testing"

	"entgo.io/ent"
	"entgo.io/ent/dialect"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/expose"
	"github.com/koan-go/koan/tests/specimen/owned"
)

// Native has columns of PostgreSQL's own types, and of usual ones.
type Native struct{ ent.Schema }

func (Native) Annotations() []schema.Annotation { return []schema.Annotation{expose.Entity{}} }

func (Native) Fields() []ent.Field {
	typed := func(typ string) map[string]string { return map[string]string{dialect.Postgres: typ} }
	return []ent.Field{
		field.String("address").SchemaType(typed("address")), field.String("zip").SchemaType(typed("public.zip")),
		field.String("tags").SchemaType(typed("text[]")), field.String("length").SchemaType(typed("interval")),
		field.String("name").SchemaType(typed("character varying(30)")), field.String("note").SchemaType(typed("CITEXT")),
		field.Enum("status").Values("a").SchemaType(typed("status")), field.Int("number").SchemaType(typed("serial")),
		field.String("doc").SchemaType(typed("XML")),
	}
}

func TestNativeTypesAreThoseOfTheDatabase(t *testing.T) {
	m, err := newModel(graph(t, Native{}))
	require.NoError(t, err)
	for name, want := range map[string]string{
		"address": "address", "zip": "public.zip", "tags": "text[]", "length": "interval", "name": "", "note": "", "status": "", "number": "", "doc": "XML",
	} {
		require.Equal(t, want, m.kinds[0].Entity.Column(name).Native, name)
		require.Equal(t, name == "doc", m.kinds[0].Entity.Column(name).Folds(descriptor.AsTexts), name)
	}
}

// Padded, Folded, Collated and Exact have ids in columns of these kinds.
type (
	Padded   struct{ ent.Schema }
	Folded   struct{ ent.Schema }
	Collated struct{ ent.Schema }
	Exact    struct{ ent.Schema }
)

func (Padded) Annotations() []schema.Annotation   { return []schema.Annotation{expose.Entity{}} }
func (Folded) Annotations() []schema.Annotation   { return []schema.Annotation{expose.Entity{}} }
func (Collated) Annotations() []schema.Annotation { return []schema.Annotation{expose.Entity{}} }
func (Exact) Annotations() []schema.Annotation    { return []schema.Annotation{expose.Entity{}} }

func (Padded) Fields() []ent.Field {
	return []ent.Field{field.String("id").SchemaType(native("Character (5)"))}
}

func (Folded) Fields() []ent.Field {
	return []ent.Field{field.String("id").SchemaType(native("citext"))}
}

func (Collated) Fields() []ent.Field {
	return []ent.Field{field.String("id").Annotations(entsql.Annotation{Collation: "NOCASE"})}
}

func (Exact) Fields() []ent.Field {
	return []ent.Field{field.String("id").SchemaType(native("character varying(5)"))}
}

func TestIDsThatOtherTextsFind(t *testing.T) {
	m, err := newModel(graph(t, Padded{}, Folded{}, Collated{}, Exact{}))
	require.NoError(t, err)
	for i := range m.kinds {
		e := m.kinds[i].Entity
		require.Equal(t, e.Resource.Name != "Exact", e.Key.MeetsOthers(), e.Resource.Name)
	}
}

func TestClassOfSchemaTypes(t *testing.T) {
	for typ, want := range map[string]descriptor.Storage{
		"varchar(255)": descriptor.Text, "Character Varying": descriptor.Text, "int": descriptor.Int, "int8": descriptor.Int, "double precision": descriptor.Float,
		"timestamp with time zone": descriptor.Time, "jsonb": descriptor.JSON, "numeric(10,2)": descriptor.Decimal, "interval": "", "int4range": "", "text[]": "", "textual": "",
	} {
		class, known := classOf(typ)
		require.Equal(t, want, class.Storage, typ)
		require.Equal(t, want != "", known, typ)
	}
}

// Priced has decimals in columns of all kinds.
type Priced struct{ ent.Schema }

func (Priced) Annotations() []schema.Annotation { return []schema.Annotation{expose.Entity{}} }

func (Priced) Fields() []ent.Field {
	other := func(name, typ string) ent.Field {
		return field.Other(name, owned.Decimal{}).SchemaType(map[string]string{dialect.SQLite: typ, dialect.Postgres: "numeric"})
	}
	return []ent.Field{
		other("precise", "text"), other("kept", "varchar(40)"), other("rounded", "decimal(10,2)"), other("price", "NUMERIC"), other("points", "bigint"), other("double", "double precision"),
		field.String("amount").GoType(owned.Decimal{}).Annotations(expose.Field{Decimal: expose.Yes()}),
		field.Float("floating").GoType(owned.Decimal{}),
		field.String("note").SchemaType(map[string]string{dialect.SQLite: "numeric"}),
	}
}

func TestAffinityIsThatOfSQLite(t *testing.T) {
	m, err := newModel(graph(t, Priced{}))
	require.NoError(t, err)
	for name, want := range map[string]descriptor.Affinity{
		"precise": "", "kept": "", "amount": "", "rounded": descriptor.Numeric, "price": descriptor.Numeric, "points": descriptor.Numeric, "floating": descriptor.Real, "double": descriptor.Real, "note": "",
	} {
		require.Equal(t, want, m.kinds[0].Entity.Column(name).Affinity, name)
	}
}
