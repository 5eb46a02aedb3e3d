package migrate

import (
	"fmt"
	"testing"

	"ariga.io/atlas/sql/migrate"
	"entgo.io/ent/dialect"
	entschema "entgo.io/ent/dialect/sql/schema"
	"entgo.io/ent/schema/field"
	"github.com/stretchr/testify/require"
)

// Whatever a migration of a set in SQLite does not refuse has the same values afterwards, in place and by
// planned files alike. as is the form in which values are compared.
func TestChangesOfTypesKeepValuesInSQLite(t *testing.T) {
	const number, text, real = "CAST(v AS NUMERIC)", "CAST(v AS TEXT)", "printf('%.17g', v)"
	column1 := func(of field.Type) *entschema.Column { return &entschema.Column{Name: "v", Type: of, Nullable: true} }
	for _, c := range []struct {
		from, to   field.Type
		as         string
		good, lost []string
	}{
		{field.TypeInt64, field.TypeFloat64, "printf('%d', v)", []string{"0", "-3", "9007199254740992", "4611686018427387904"}, []string{"9007199254740993", "-9007199254740993", "9223372036854775807"}},
		{field.TypeInt64, field.TypeString, text, []string{"9007199254740993", "-1"}, nil},
		{field.TypeInt64, field.TypeBool, number, []string{"0", "1"}, []string{"2"}},
		{field.TypeInt64, field.TypeBytes, text, nil, []string{"5"}},
		{field.TypeInt64, field.TypeJSON, text, []string{"5", "9007199254740993"}, nil},
		{field.TypeInt64, field.TypeUUID, text, nil, []string{"5"}},
		{field.TypeFloat64, field.TypeInt64, real, []string{"3.0", "-1e15"}, []string{"0.1", "1e300", "-0.5", "9e999"}},
		{field.TypeFloat64, field.TypeString, real, []string{"0.5", "1e300", "0.1+0.2", "1.0/3", "5e-324"}, nil},
		{field.TypeFloat64, field.TypeBool, number, []string{"1.0"}, []string{"0.5"}},
		{field.TypeString, field.TypeInt64, number, []string{"'12'", "'9223372036854775807'"}, []string{"'1.5'", "''", "'99999999999999999999'", "'x'"}},
		{field.TypeString, field.TypeFloat64, number, []string{"'0.5'", "'1e300'"}, []string{"'9007199254740993'", "'n/a'"}},
		{field.TypeString, field.TypeJSON, text, []string{"'{\"a\":1}'", "'null'", "'12'"}, []string{"'n/a'", "'{a:1}'", "''", "'12345678901234567890.5'"}},
		{field.TypeString, field.TypeUUID, text, []string{"'00000000-0000-4000-8000-0000000000ab'"}, []string{"'n/a'", "'00000000-0000-4000-8000-0000000000gg'", "'00000000000000000000000000001234'"}},
		{field.TypeString, field.TypeTime, text, []string{"'2026-01-31'"}, []string{"'31.1.2026'"}},
		{field.TypeBytes, field.TypeString, text, []string{"'abc'"}, []string{"x'616263'"}},
		{field.TypeJSON, field.TypeString, text, []string{"'{\"a\":1}'"}, []string{"x'616263'"}},
	} {
		for _, planned := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s to %s, planned %t", c.from, c.to, planned), func(t *testing.T) {
				older, newer := table(1, column1(c.from)), table(2, column1(c.to))
				begin := func(values ...string) dialect.Driver {
					drv := made(t, older)
					exec(t, drv, "SAVEPOINT migration")
					for i, v := range values {
						exec(t, drv, fmt.Sprintf("INSERT INTO things VALUES ('%d', %s)", i, v))
					}
					exec(t, drv, "INSERT INTO things VALUES ('none', NULL)")
					return drv
				}
				apply := func(drv dialect.Driver) error {
					if !planned {
						_, err := in(newer).Apply(ctx, drv, "default", true)
						return err
					}
					made, err := older.known(ctx, drv)
					require.NoError(t, err)
					d, err := newer.compare(ctx, drv, made, true)
					require.NoError(t, err)
					require.NotEmpty(t, d.Statements())
					was, err := declared(ctx, drv)
					require.NoError(t, err)
					if err := (Files{Schema: newer}).runChecked(ctx, drv, &file{File: migrate.NewLocalFile("2_b.sql", nil), statements: d.Statements()}); err != nil {
						return err
					}
					return newer.checkConverted(ctx, drv, "default", was)
				}
				for _, v := range c.lost {
					drv := begin(append([]string{v}, c.good...)...)
					exec(t, drv, "SAVEPOINT before")
					err := apply(drv)
					require.Error(t, err, v)
					require.ErrorContains(t, err, `id "0"`, v)
					require.ErrorContains(t, err, "1 row", v)
					exec(t, drv, "ROLLBACK TO before", "DELETE FROM things WHERE id = '0'")
					require.NoError(t, apply(drv), "the remedy")
				}
				drv := begin(c.good...)
				read := func() (out []string) {
					out, err := column[string](ctx, drv, "SELECT coalesce("+c.as+", 'null') FROM things WHERE v IS NOT NULL ORDER BY id")
					require.NoError(t, err)
					return out
				}
				before := read()
				require.NoError(t, apply(drv))
				require.Equal(t, before, read())
				left, err := column[string](ctx, drv, "SELECT name FROM temp.sqlite_master")
				require.NoError(t, err)
				require.Empty(t, left)
			})
		}
	}
}

// A file that computes what a column becomes is its author's, and one that copies it is not.
func TestFilesThatConvertThemselves(t *testing.T) {
	const create, insert, rename = "CREATE TABLE new_things (id text NOT NULL, v real NULL, w text NULL, PRIMARY KEY (id));\n",
		"INSERT INTO new_things (id, v) ", ";\nDROP TABLE things;\nALTER TABLE new_things RENAME TO things;\n"
	copying := func(item string) string { return create + insert + "SELECT id, " + item + " FROM things" + rename }
	for text, lost := range map[string]bool{
		copying("v"): true, copying("`v`"): true, copying(`"v"`): true, copying("things.v"): true, copying("IFNULL(v, 0)"): true, copying("v AS v"): true,
		copying("CAST(v AS REAL)"): false, copying("round(v, 2)"): false, copying("CAST(`v` AS REAL)"): false, copying("nullif(v, 9007199254740993)"): false,
		copying("ifnull(round(v), 0)"): false, copying("CASE WHEN v > 0 THEN round([v]) END"): false,

		create + insert + "SELECT id, v FROM (SELECT id, v FROM things)" + rename:                                                                  true,
		create + insert + "SELECT id, v FROM things WHERE id IN (SELECT id FROM things WHERE v > abs(v) - 1)" + rename:                             true,
		create + insert + "SELECT id, v FROM things WHERE abs(v) > 0" + rename:                                                                     true,
		create + "WITH old AS (SELECT id, v FROM things) " + insert + "SELECT id, v FROM old" + rename:                                             true,
		create + insert + "WITH old AS (SELECT id, v FROM things) SELECT id, v FROM old" + rename:                                                  true,
		create + "INSERT INTO new_things (id, v, w) SELECT id, v, hex(v) FROM things" + rename:                                                     true,
		create + "INSERT INTO new_things SELECT id, v, hex(v) FROM things" + rename:                                                                true,
		create + "INSERT INTO new_things (id, v, w) SELECT id, v, 'round(v)' FROM things -- round(v)\n" + rename:                                   true,
		create + "CREATE TABLE logs (v real);\nINSERT INTO logs (v) SELECT round(v) FROM things;\n" + insert + "SELECT id, v FROM things" + rename: true,

		copying("(SELECT o.v FROM things AS o WHERE o.id = things.id AND abs(v) > 0)"): true,
		copying("(SELECT round(o.v) FROM things AS o WHERE o.id = things.id)"):         false,

		create + "WITH old AS (SELECT id, v FROM things WHERE abs(v) > 0) " + insert + "SELECT id, v FROM old" + rename:                                   true,
		create + "WITH old AS (SELECT round(v) AS other, id, v FROM things) " + insert + "SELECT id, v FROM old" + rename:                                 true,
		create + "WITH old AS (SELECT id, round(v) AS v FROM things) " + insert + "SELECT id, v FROM old" + rename:                                        false,
		create + "WITH old (id, r) AS (SELECT id, round(v) FROM things) " + insert + "SELECT id, r FROM old" + rename:                                     false,
		create + "WITH a AS (SELECT id, round(v) AS r FROM things), b AS (SELECT id, r AS s FROM a) " + insert + "SELECT id, b.s FROM b" + rename:         false,
		create + insert + "SELECT id, r AS v FROM (SELECT id, round(v) AS r FROM things)" + rename:                                                        false,
		create + insert + "SELECT id, v FROM (SELECT id, v FROM things WHERE v < 9 UNION ALL SELECT id, round(v) AS v FROM things WHERE v >= 9)" + rename: false,
		create + insert + "SELECT id, v FROM (SELECT id, v FROM things WHERE v < 9 UNION ALL SELECT id, v FROM things WHERE v >= abs(9))" + rename:        true,
		create + "WITH v AS (SELECT id, v AS v FROM things) " + insert + "SELECT id, v.v FROM v" + rename:                                                 true,

		create + "WITH old AS (SELECT id, v FROM things) " + insert + "SELECT id, round(v) FROM old" + rename:                                                                         false,
		create + "INSERT OR IGNORE INTO new_things (v, id) SELECT round(v), id FROM things" + rename:                                                                                  false,
		create + "INSERT INTO main.new_things SELECT id, round(v), NULL FROM things" + rename:                                                                                         false,
		create + insert + "SELECT id, v FROM things WHERE v < 9 UNION ALL SELECT id, round(v) FROM things WHERE v >= 9" + rename:                                                      false,
		"ALTER TABLE things ADD COLUMN new_v real;\nUPDATE things SET new_v = CAST(v AS REAL);\nALTER TABLE things DROP COLUMN v;\nALTER TABLE things RENAME COLUMN new_v TO v;\n":    false,
		"ALTER TABLE things ADD COLUMN new_v real;\nUPDATE things SET new_v = v WHERE abs(v) > 0;\nALTER TABLE things DROP COLUMN v;\nALTER TABLE things RENAME COLUMN new_v TO v;\n": true,
	} {
		t.Run(text, func(t *testing.T) {
			dir := summed(t, map[string]string{
				"1_a.sql": "-- koan:schema 00000001 sqlite3\n\nCREATE TABLE things (id text NOT NULL, v integer NULL, PRIMARY KEY (id));\n",
				"2_b.sql": "-- koan:schema 00000002 sqlite3\n\n" + text,
			})
			drv := made(t, table(1, &entschema.Column{Name: "v", Type: field.TypeInt64, Nullable: true}))
			exec(t, drv, "INSERT INTO things VALUES ('a', 9007199254740993), ('b', 5)", "SAVEPOINT s")
			to := table(2, &entschema.Column{Name: "v", Type: field.TypeFloat64, Nullable: true})
			_, err := files(t, to, dir).Apply(ctx, drv, "default", false)
			if !lost {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, `the type of things.v changes from integer to real, but what it has in 1 row of things would not stay the same (id "a", v "9007199254740993")`)
			exec(t, drv, "ROLLBACK TO s", "UPDATE things SET v = 7 WHERE id = 'a'")
			_, err = files(t, to, dir).Apply(ctx, drv, "default", false)
			require.NoError(t, err)
		})
	}
}

// A file may give the key another name as well: what is lost is seen by how many rows have which value.
func TestFilesThatRenameTheKey(t *testing.T) {
	for where, lost := range map[string]bool{"": true, " WHERE id <> 'a'": false} {
		t.Run(where, func(t *testing.T) {
			dir := summed(t, map[string]string{
				"1_a.sql": "-- koan:schema 00000001 sqlite3\n\nCREATE TABLE things (id text NOT NULL, v integer NULL, PRIMARY KEY (id));\n",
				"2_b.sql": "-- koan:schema 00000002 sqlite3\n\nCREATE TABLE new_things (key text NOT NULL, v real NULL, PRIMARY KEY (key));\n" +
					"INSERT INTO new_things (key, v) SELECT id, v FROM things" + where + ";\nDROP TABLE things;\nALTER TABLE new_things RENAME TO things;\n",
			})
			drv := made(t, table(1, &entschema.Column{Name: "v", Type: field.TypeInt64, Nullable: true}))
			exec(t, drv, "INSERT INTO things VALUES ('a', 9007199254740993), ('b', 9007199254740992), ('c', 5)", "SAVEPOINT s")
			to := table(2, &entschema.Column{Name: "v", Type: field.TypeFloat64, Nullable: true})
			to.Tables[0].Columns[0].Name = "key"
			_, err := files(t, to, dir).Apply(ctx, drv, "default", false)
			if !lost {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, `what it has in 1 row of things would not stay the same (id "a", v "9007199254740993")`)
			exec(t, drv, "ROLLBACK TO s", "UPDATE things SET v = 7 WHERE id = 'a'")
			_, err = files(t, to, dir).Apply(ctx, drv, "default", false)
			require.NoError(t, err)
			left, err := column[string](ctx, drv, "SELECT name FROM temp.sqlite_master")
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}
