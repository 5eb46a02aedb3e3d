package migrate

import (
	"testing"

	"entgo.io/ent/dialect"
	drivers "entgo.io/ent/dialect/sql"
	entschema "entgo.io/ent/dialect/sql/schema"
	"entgo.io/ent/schema/field"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/pgtest"
)

// thing is what callers see of the table things.
func thing(fields ...catalog.Field) []*descriptor.Entity {
	e := &descriptor.Entity{Table: "things", Resource: catalog.Resource{Name: "Thing", Fields: fields}}
	for _, f := range fields {
		e.Columns = append(e.Columns, descriptor.Column{Field: f.Name, Name: f.Name})
	}
	return []*descriptor.Entity{e}
}

// places are the databases, each with the tables of a schema.
func places(t *testing.T, s *Schema, test func(t *testing.T, drv dialect.Driver)) {
	t.Run("SQLite", func(t *testing.T) { test(t, made(t, s)) })
	t.Run("PostgreSQL", func(t *testing.T) {
		db := pgtest.Open(t)
		db.SetMaxOpenConns(1)
		drv := drivers.OpenDB(dialect.Postgres, db)
		require.NoError(t, in(s).Create(ctx, drv))
		require.NoError(t, in(s).Made(ctx, drv))
		test(t, drv)
	})
}

// What rows stand in the way of is refused before anything is done, by Judge and Apply alike,
// and whoever runs the app learns which rows these are.
func TestRowsThatStandInTheWay(t *testing.T) {
	text := func(change ...func(*entschema.Column)) *entschema.Column {
		c := &entschema.Column{Name: "name", Type: field.TypeString, Nullable: true}
		for _, f := range change {
			f(c)
		}
		return c
	}
	unique := func(c *entschema.Column) { c.Unique = true }
	required := func(c *entschema.Column) { c.Nullable = false }
	for name, c := range map[string]struct {
		to   *entschema.Column
		rows []string
		why  string
		said string
		do   string
	}{
		"the same value": {
			text(unique),
			[]string{"'a','Milk'", "'b','Milk'", "'c','Eggs'", "'d',NULL", "'e',NULL"},
			"things.name becomes unique, but 2 rows of Thing share theirs with another", `id "a", name "Milk"; id "b", name "Milk"`, "Change or delete rows until each has a value of its own",
		},
		"no value": {
			text(required),
			[]string{"'a','Milk'", "'b',NULL", "'c',NULL", "'d',NULL", "'e',NULL", "'f',NULL"},
			"things.name becomes required, but has no value in 5 rows of Thing", `id "b"; id "c"; id "d"; id "e"; and 1 more`, "Give these rows a value",
		},
		"a new column": {
			&entschema.Column{Name: "other", Type: field.TypeTime},
			[]string{"'a','Milk'"},
			"things.other is required and has no default in the database, so it has no value in 1 row of Thing", "", "Default(time.Now)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			places(t, table(1, text()), func(t *testing.T, drv dialect.Driver) {
				to := table(2, c.to)
				if c.to.Name != "name" {
					to = table(2, text(), c.to)
				}
				to.Entities = thing(catalog.Field{Name: "name"})
				for _, row := range c.rows {
					exec(t, drv, "INSERT INTO things VALUES ("+row+")")
				}
				v := judged(t, in(to), drv)
				require.Equal(t, Apart, v.State)
				require.Contains(t, v.Why, c.why)
				require.Equal(t, c.said, v.Rows)
				require.Contains(t, v.Do, c.do)
				require.NotContains(t, v.Do, "--drop")
				for _, drop := range []bool{false, true} {
					_, err := in(to).Apply(ctx, drv, "default", drop)
					f := fault.From(err)
					require.Contains(t, f.Message, c.why)
					require.Contains(t, f.Message, c.said)
					require.Contains(t, f.Hint, c.do)
				}
				// Callers learn how many rows there are, and nothing of what they have.
				err := AtOpening(in(to))(ctx, "default", drv)
				require.ErrorContains(t, err, c.why)
				require.NotContains(t, err.Error(), `"a"`)
				require.NotContains(t, err.Error(), `"b"`)

				to.Entities = thing(catalog.Field{Name: "name", Sensitive: true})
				require.NotContains(t, judged(t, in(to), drv).Rows, "Milk")
				exec(t, drv, "DELETE FROM things WHERE id <> 'a'", "UPDATE things SET name = 'Milk'")
				if c.to.Name == "name" {
					v, err = in(to).Apply(ctx, drv, "default", true)
					require.NoError(t, err)
					require.Equal(t, Current, v.State)
				}
			})
		})
	}
}

// A default that the database has gives rows that exist a value, one of Go's does not.
func TestDefaultsOfTheDatabaseFillRows(t *testing.T) {
	for name, c := range map[string]*entschema.Column{
		"a constant":    {Name: "at", Type: field.TypeTime, Default: entschema.Expr("'2026-01-31 00:00:00+00:00'")},
		"an expression": {Name: "at", Type: field.TypeTime, Default: entschema.Expr("CURRENT_TIMESTAMP")},

		"as Koan writes times": {Name: "at", Type: field.TypeTime, Default: entschema.Expr("strftime('%Y-%m-%d %H:%M:%S+00:00','now')")},
	} {
		t.Run(name, func(t *testing.T) {
			places(t, table(1), func(t *testing.T, drv dialect.Driver) {
				if name == "as Koan writes times" && drv.Dialect() != dialect.SQLite {
					return
				}
				exec(t, drv, "INSERT INTO things VALUES ('a')")
				v, err := in(table(2, c)).Open(ctx, drv, "default")
				require.NoError(t, err)
				require.Equal(t, Current, v.State, v.Why)
				got, err := column[int](ctx, drv, "SELECT count(*) FROM things WHERE at IS NOT NULL")
				require.NoError(t, err)
				require.Equal(t, []int{1}, got)
				if drv.Dialect() == dialect.SQLite { // which would copy the table
					d, err := table(2, c).compare(ctx, drv, nil, false)
					require.NoError(t, err)
					require.Empty(t, d.Statements(), "a default is the same, however it is written")
				}
			})
		})
	}
}

// dayType stands for a time that is a day.
const dayType = field.Type(255)

// SQLite would keep what does not convert, where nobody can read it.
func TestValuesThatDoNotConvert(t *testing.T) {
	text := &entschema.Column{Name: "v", Type: field.TypeString, Nullable: true}
	number := &entschema.Column{Name: "v", Type: field.TypeInt64, Nullable: true}
	for name, c := range map[string]struct {
		from *entschema.Column
		to   field.Type
		good []string
		bad  []string
	}{
		"text to integer": {text, field.TypeInt, []string{"'12'", "'-3'", "'1.0'", "'1e3'", "NULL", "'9223372036854775807'"}, []string{"'n/a'", "'1.5'", "''", "'12 '||'x'", "'99999999999999999999'", "x'00'"}},
		"text to float":   {text, field.TypeFloat64, []string{"'1.5'", "'-3'", "'1e300'"}, []string{"'n/a'", "''", "'9007199254740993'", "'1,5'"}},
		"text to boolean": {text, field.TypeBool, []string{"'0'", "'1'"}, []string{"'true'", "'2'", "'yes'"}},
		"text to time":    {text, field.TypeTime, []string{"'2026-01-31'", "'2026-01-31 10:00:00'", "'2026-01-31T10:00:00Z'", "'2026-01-31 10:00:00.123456789+02:00'", "'1700000000'"}, []string{"'31.1.2026'", "'2026-02-30'", "'2026-01-31 10:00'", "'now'", "'2026-01-31 25:00:00'", "'1.5'"}},
		"text to day":     {text, dayType, []string{"'2026-01-31'", "'2026-01-31 later'"}, []string{"'31.1.2026'", "'2026-02-30'", "'5'"}},
		"integer to bool": {number, field.TypeBool, []string{"0", "1"}, []string{"2", "-1"}},
		"integer to time": {number, field.TypeTime, []string{"1700000000"}, nil},
		"integer to blob": {number, field.TypeBytes, nil, []string{"5"}},
		"integer to real": {number, field.TypeFloat64, []string{"5"}, []string{"9007199254740993"}},
		"integer to text": {number, field.TypeString, []string{"5"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			v := &entschema.Column{Name: "v", Type: c.to, Nullable: true}
			if c.to == dayType {
				v.Type, v.SchemaType = field.TypeTime, map[string]string{dialect.Postgres: "date"}
			}
			to := table(2, v)
			to.Entities = thing(catalog.Field{Name: "v"})
			for _, bad := range c.bad {
				drv := made(t, table(1, c.from))
				exec(t, drv, "INSERT INTO things VALUES ('a', "+bad+")")
				for _, v := range c.good {
					exec(t, drv, "INSERT INTO things VALUES (hex(randomblob(8)), "+v+")")
				}
				v := judged(t, in(to), drv)
				require.Equal(t, Apart, v.State, bad)
				require.Contains(t, v.Why, "the type of things.v changes, but what it has in 1 row of Thing is not")
				_, err := in(to).Apply(ctx, drv, "default", true)
				require.ErrorContains(t, err, `id "a", v "`)
				exec(t, drv, "UPDATE things SET v = NULL WHERE id = 'a'")
				v, err = in(to).Apply(ctx, drv, "default", true)
				require.NoError(t, err, bad)
				require.Equal(t, Current, v.State)
			}
			drv := made(t, table(1, c.from))
			for _, v := range c.good {
				exec(t, drv, "INSERT INTO things VALUES (hex(randomblob(8)), "+v+")")
			}
			_, err := in(to).Apply(ctx, drv, "default", true)
			require.NoError(t, err)
			left, err := to.misfits(ctx, drv, "things", "v", "")
			require.NoError(t, err)
			require.Nil(t, left, "what has been converted fits")
		})
	}
}

// A file is its author's, but it does not leave what nobody can read.
func TestFilesThatDoNotConvert(t *testing.T) {
	const second = "-- koan:schema 00000002 sqlite3\n\nCREATE TABLE new_things (id text NOT NULL, v integer NULL, PRIMARY KEY (id));\nINSERT INTO new_things SELECT id, v FROM things;\nDROP TABLE things;\nALTER TABLE new_things RENAME TO things;\n"
	dir := summed(t, map[string]string{
		"1_a.sql": "-- koan:schema 00000001 sqlite3\n\nCREATE TABLE things (id text NOT NULL, v text NULL, PRIMARY KEY (id));\n", "2_b.sql": second,
	})
	to := table(2, &entschema.Column{Name: "v", Type: field.TypeInt, Nullable: true})
	drv := made(t, table(1, &entschema.Column{Name: "v", Type: field.TypeString, Nullable: true}))
	exec(t, drv, "INSERT INTO things VALUES ('a', 'n/a'), ('b', '5')", "SAVEPOINT s")
	_, err := files(t, to, dir).Apply(ctx, drv, "default", false)
	require.ErrorContains(t, err, `the type of things.v changes, but what it has in 1 row of things is not an integer (id "a", v "n/a")`)
	exec(t, drv, "ROLLBACK TO s", "UPDATE things SET v = '7' WHERE id = 'a'")
	_, err = files(t, to, dir).Apply(ctx, drv, "default", false)
	require.NoError(t, err)
}

// A file that makes a key unique whatever the case names the rows that it would not be for, and says how to go on: a file
// that has run on another set must not be changed.
func TestFilesWhoseKeysRowsShare(t *testing.T) {
	key := &sqltext.FoldedKey{Table: "things", Columns: []string{"v"}, Folded: []string{"v"}}
	dir := summed(t, map[string]string{
		"1_a.sql": "-- koan:schema 00000001 sqlite3\n\nCREATE TABLE things (id text NOT NULL, v text NULL, PRIMARY KEY (id));\n",
		"2_b.sql": "-- koan:schema 00000002 sqlite3\n\n" + key.Statement().Text + ";\n",
	})
	to := table(2, &entschema.Column{Name: "v", Type: field.TypeString, Nullable: true})
	to.Keys = []*sqltext.FoldedKey{key}
	drv := made(t, table(1, &entschema.Column{Name: "v", Type: field.TypeString, Nullable: true}))
	exec(t, drv, "INSERT INTO things VALUES ('a', 'One'), ('b', 'ONE'), ('c', 'two')", "SAVEPOINT s")
	_, err := files(t, to, dir).Apply(ctx, drv, "default", false)
	require.ErrorContains(t, err, `2 rows of things differ from another in the case of v alone (id "b", v "ONE"; id "a", v "One")`)
	f := fault.From(err)
	require.NotContains(t, f.Hint, "or the file")
	require.Contains(t, f.Hint, "only while no set has run it")
	exec(t, drv, "ROLLBACK TO s", "UPDATE things SET v = 'three' WHERE id = 'a'")
	_, err = files(t, to, dir).Apply(ctx, drv, "default", false)
	require.NoError(t, err)
}

// An index that was unique over fewer columns leaves no rows that share what a wider one has.
func TestUniqueIndexThatNarrows(t *testing.T) {
	indexed := func(hash int32, columns ...string) *Schema {
		s := table(hash, &entschema.Column{Name: "a", Type: field.TypeString}, &entschema.Column{Name: "b", Type: field.TypeString})
		x := &entschema.Index{Name: "things_unique", Unique: true}
		for _, c := range s.Tables[0].Columns {
			if len(columns) > 0 && (c.Name == columns[0] || len(columns) > 1 && c.Name == columns[1]) {
				x.Columns = append(x.Columns, c)
			}
		}
		if len(columns) > 0 {
			s.Tables[0].Indexes = []*entschema.Index{x}
		}
		return s
	}
	for _, c := range []struct {
		was, is []string
		warns   bool
	}{
		{[]string{"a"}, []string{"a", "b"}, false},
		{[]string{"a", "b"}, []string{"a"}, true},
		{[]string{"a"}, []string{"b"}, true},
		{nil, []string{"a", "b"}, true},
		{nil, []string{"id", "a"}, false}, // the key is unique
	} {
		places(t, indexed(1, c.was...), func(t *testing.T, drv dialect.Driver) {
			older := indexed(1, c.was...)
			made, err := older.known(ctx, drv)
			require.NoError(t, err)
			d, err := indexed(2, c.is...).compare(ctx, drv, made, true)
			require.NoError(t, err)
			require.NotEmpty(t, d.Statements())
			require.Equal(t, c.warns, len(d.Blocks) > 0, "%v to %v: %v", c.was, c.is, d.Blocks)
		})
	}
}

// The ledger of a set says what was done to it, and not what others did since.
func TestDriftOfTables(t *testing.T) {
	s := table(1, &entschema.Column{Name: "a", Type: field.TypeString})
	places(t, s, func(t *testing.T, drv dialect.Driver) {
		v := judged(t, in(s), drv)
		require.NoError(t, v.Compare(ctx, drv, in(s)))
		require.Equal(t, Current, v.State, v.Why)
		exec(t, drv, "ALTER TABLE things ADD COLUMN theirs text")
		require.NoError(t, v.Compare(ctx, drv, in(s)))
		require.Equal(t, Current, v.State, v.Why)
		exec(t, drv, "ALTER TABLE things DROP COLUMN a")
		require.NoError(t, v.Compare(ctx, drv, in(s)))
		require.Equal(t, Apart, v.State)
		require.Contains(t, v.Why, "ADD COLUMN")
	})
}
