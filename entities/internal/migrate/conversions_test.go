package migrate

import (
	"context"
	"fmt"
	"regexp"
	"testing"

	"ariga.io/atlas/sql/migrate"
	"entgo.io/ent/dialect"
	drivers "entgo.io/ent/dialect/sql"
	entschema "entgo.io/ent/dialect/sql/schema"
	"entgo.io/ent/schema/field"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/tests/pgtest"
)

// typed is a column of a type of PostgreSQL.
func typed(of string) *entschema.Column {
	c := &entschema.Column{Name: "v", Type: field.TypeOther, Nullable: true, SchemaType: map[string]string{dialect.Postgres: of}}
	return c
}

// inTx is a driver over a transaction, as migrations have it.
type inTx struct{ *drivers.Driver }

func (d inTx) Tx(context.Context) (dialect.Tx, error) { return dialect.NopTx(d), nil }

// outOfRange matches the errors at which the database itself ends a file: of class 22, and of NaN in integers.
var outOfRange = regexp.MustCompile(`SQLSTATE 22|cannot convert NaN to \w+ \(SQLSTATE 0A000\)`)

// Whatever a migration does not refuse has the same values afterwards, in place and by planned files
// alike. as says in which form values are compared: of what they had before and have now.
func TestChangesOfTypesKeepValues(t *testing.T) {
	const number, scaled, text, utc = "CAST(v AS numeric)", "trim_scale(v)", "CAST(v AS text)", "CAST(v AT TIME ZONE 'UTC' AS text)"
	db := pgtest.Open(t)
	db.SetMaxOpenConns(1)
	for _, c := range []struct {
		from, to   string
		was, is    string // expressions
		good, lost []string
	}{
		{"float8", "bigint", "v", "CAST(v AS float8)", []string{"0", "-3", "4503599627370496"}, []string{"0.1", "1234.56", "'NaN'", "'Infinity'", "1e300", "9223372036854775808", "-0.5"}},
		{"float8", "integer", "v", "CAST(v AS float8)", []string{"2147483647"}, []string{"2147483648", "0.5"}},
		{"float8", "real", "v", "CAST(v AS float8)", []string{"0.5", "16777216", "'NaN'", "'-Infinity'", "0"}, []string{"0.1", "16777217", "1e300", "1e-300"}},
		{"float8", "numeric(10,2)", "v", "CAST(v AS float8)", []string{"0.1", "1234.56", "'NaN'"}, []string{"0.125", "1e9", "'Infinity'"}},
		{"float8", "numeric", "v", "CAST(v AS float8)", []string{"0.1", "1e300"}, []string{"0.30000000000000004"}},
		{"numeric(10,2)", "numeric(10,1)", scaled, scaled, []string{"1.5", "'NaN'", "12345678.9"}, []string{"1234.56", "0.01"}},
		{"numeric(10,2)", "numeric(6,2)", scaled, scaled, []string{"1234.56", "9999.99"}, []string{"10000", "-12345678.9"}},
		{"numeric(10,2)", "numeric(12,4)", scaled, scaled, []string{"12345678.91"}, nil},
		{"numeric(10,2)", "bigint", scaled, number, []string{"7"}, []string{"7.5", "'NaN'"}},
		{"numeric(20,2)", "integer", scaled, number, []string{"-2147483648"}, []string{"2147483648"}},
		{"numeric", "float8", scaled, "trim_scale(CAST(CAST(v AS text) AS numeric))", []string{"0.1", "123456.7"}, []string{"0.12345678901234567890", "9007199254740993", "1e308 * 1e10"}},
		{"numeric", "real", scaled, "trim_scale(CAST(CAST(v AS text) AS numeric))", []string{"123456.7"}, []string{"16777217", "1e39"}},
		{"bigint", "integer", number, number, []string{"2147483647"}, []string{"2147483648"}},
		{"integer", "smallint", number, number, []string{"-32768"}, []string{"32768"}},
		{"bigint", "float8", number, "CAST(CAST(v AS text) AS numeric)", []string{"4503599627370496"}, []string{"9007199254740993", "9223372036854775807"}},
		{"integer", "real", number, number, []string{"65536"}, []string{"16777217"}},
		{"bigint", "numeric(5,2)", number, scaled, []string{"999"}, []string{"1000"}},
		{"text", "varchar(5)", text, text, []string{"'seven'"}, []string{"'toolong'", "'seven  '"}},
		{"varchar(9)", "varchar(5)", text, text, []string{"'äöüß€'"}, []string{"'five  '"}},
		{"varchar(9)", "char(5)", text, text, []string{"'seven'"}, []string{"'a'", "'toolong'"}},
		{"char(5)", "text", "rpad(CAST(v AS text), 5)", text, []string{"'seven'"}, []string{"'a'"}},
		{"bigint", "varchar(3)", text, text, []string{"999"}, []string{"1000"}},
		{"float8", "text", text, text, []string{"0.1"}, nil},
		{"boolean", "text", text, text, []string{"true"}, nil},
		{"bytea", "text", "encode(v, 'escape')", text, nil, []string{"'abc'"}},
		{"timestamptz", "date", utc, "CAST(CAST(v AS timestamp) AS text)", []string{"'2026-01-31T00:00:00Z'"}, []string{"'2026-01-31T23:30:00Z'", "'2026-01-31T00:00:00+01:00'"}},
		{"timestamp", "date", text, "CAST(CAST(v AS timestamp) AS text)", []string{"'2026-01-31'"}, []string{"'2026-01-31 00:00:01'"}},
		{"timestamptz", "timestamp", utc, text, []string{"'2026-01-31T23:30:00.123456Z'"}, nil},
		{"timestamp", "timestamptz", text, utc, []string{"'2026-01-31T23:30:00.123456'"}, nil},
		{"date", "timestamptz", "CAST(CAST(v AS timestamp) AS text)", utc, []string{"'2026-01-31'"}, nil},
		{"timestamptz", "timestamptz(0)", utc, utc, []string{"'2026-01-31T23:30:00Z'"}, []string{"'2026-01-31T23:30:00.5Z'"}},
		{"timestamptz", "timestamp(3)", utc, text, []string{"'2026-01-31T23:30:00.125Z'"}, []string{"'2026-01-31T23:30:00.0001Z'"}},
		{"json", "jsonb", "CAST(v AS jsonb) ->> 'a'", "v ->> 'a'", []string{`'{"a": 1, "b": {}}'`}, []string{`'{"a": 1, "a": 2}'`, `'{"b": [{"c": 1, "c": 1}]}'`}},
	} {
		for _, planned := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s to %s, planned %t", c.from, c.to, planned), func(t *testing.T) {
				older, newer := table(1, typed(c.from)), table(2, typed(c.to))
				var drv dialect.Driver
				apply := func(set *Schema) error {
					if !planned {
						_, err := in(set).Apply(ctx, drv, "default", true)
						return err
					}
					made, err := older.known(ctx, drv)
					require.NoError(t, err)
					d, err := set.compare(ctx, drv, made, true)
					require.NoError(t, err)
					require.Empty(t, d.Blocks)
					require.NotEmpty(t, d.Statements())
					return Files{Schema: set}.runChecked(ctx, drv, &file{File: migrate.NewLocalFile("2_b.sql", nil), statements: d.Statements()})
				}
				begin := func(values ...string) (end func()) {
					tx, err := db.BeginTx(ctx, nil)
					require.NoError(t, err)
					t.Cleanup(func() { _ = tx.Rollback() })
					drv = inTx{drivers.NewDriver(dialect.Postgres, drivers.Conn{ExecQuerier: tx})}
					exec(t, drv, "SET LOCAL TIME ZONE 'Pacific/Auckland'")
					require.NoError(t, in(older).Create(ctx, drv))
					require.NoError(t, in(older).Made(ctx, drv))
					for i, v := range values {
						exec(t, drv, fmt.Sprintf("INSERT INTO things VALUES ('%d', %s)", i, v))
					}
					exec(t, drv, "INSERT INTO things VALUES ('none', NULL)")
					return func() { require.NoError(t, tx.Rollback()) }
				}
				for _, v := range c.lost {
					end := begin(append([]string{v}, c.good...)...)
					exec(t, drv, "SAVEPOINT before")
					err := apply(newer)
					require.Error(t, err, v)
					if !planned || !outOfRange.MatchString(err.Error()) {
						require.ErrorContains(t, err, `id "0"`, v)
						require.ErrorContains(t, err, "would not stay the same", v)
						require.ErrorContains(t, err, "1 row", v)
					}
					exec(t, drv, "ROLLBACK TO before", "DELETE FROM things WHERE id = '0'")
					require.NoError(t, apply(newer), "the remedy")
					end()
				}
				if len(c.good) == 0 {
					return
				}
				defer begin(c.good...)()
				read := func(form string) (out []string) {
					out, err := column[string](ctx, drv, "SELECT coalesce(CAST("+form+" AS text), 'null') FROM things ORDER BY id")
					require.NoError(t, err)
					return out
				}
				before := read(c.was)
				require.NoError(t, apply(newer))
				require.Equal(t, before, read(c.is))
			})
		}
	}
}
