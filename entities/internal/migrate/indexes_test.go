package migrate

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"entgo.io/ent/dialect"
	entschema "entgo.io/ent/dialect/sql/schema"
	"entgo.io/ent/schema/field"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/database/sqltext"
)

// searched returns the schema of things with names, with an index of columns.
func searched(indexed []string, columns ...*entschema.Column) *Schema {
	s := table(1, columns...)
	if len(indexed) == 0 {
		return NewSchema(s.Tables, 1, 0, nil)
	}
	return NewSchema(s.Tables, 1, 0, []*sqltext.WordIndex{{Table: "things", Key: "id", Columns: indexed}})
}

// finds returns the ids of the things whose row an index gives for a word.
func finds(t *testing.T, drv dialect.Driver, s *Schema, word string) []string {
	t.Helper()
	b := &sqltext.Builder{Dialect: sqltext.SQLite{}}
	a := b.NewAlias()
	b.Raw("SELECT id FROM things AS ").Alias(a).Raw(" WHERE ")
	found, _ := b.Dialect.Find(b, s.Indexes[0], a, []string{word})
	require.True(t, found)
	// What FTS4 has not seen yet is found by every search: let it see all.
	text, columns := s.Indexes[0].Name()+"_text", "c0"
	for i := range s.Indexes[0].Columns[1:] {
		columns += fmt.Sprintf(",c%d", i+1)
	}
	exec(t, drv, `DELETE FROM "`+text+`"`)
	exec(t, drv, `INSERT INTO "`+text+`" (docid,`+columns+`) SELECT rowid,`+columns+` FROM "`+s.Indexes[0].Name()+`_rows"`)
	rows, err := querier{drv}.QueryContext(ctx, string(b.Text())+" ORDER BY id", b.Args()...)
	require.NoError(t, err)
	defer rows.Close()
	var out []string
	for rows.Next() {
		var id string
		require.NoError(t, rows.Scan(&id))
		out = append(out, id)
	}
	require.NoError(t, rows.Err())
	return out
}

func TestIndexesFollowTheSchema(t *testing.T) {
	name := &entschema.Column{Name: "name", Type: field.TypeString}
	optional := &entschema.Column{Name: "name", Type: field.TypeString, Nullable: true}
	note := &entschema.Column{Name: "note", Type: field.TypeString, Nullable: true}
	plain, byName, both := searched(nil, name, note), searched([]string{"name"}, name, note), searched([]string{"name", "note"}, name, note)
	copied := searched([]string{"name"}, optional, note)
	copied.Hash = 7 // as the generator would have it
	require.Equal(t, int32(1), plain.Hash, "who searches nothing has the schema that the tables have")
	require.NotEqual(t, byName.Hash, both.Hash)
	require.NotEqual(t, plain.Hash, byName.Hash)

	drv := made(t, plain)
	exec(t, drv, `INSERT INTO things VALUES ('a', 'Red apple', 'sour'), ('b', 'Pear', 'sweet apple')`)
	to := func(s *Schema) {
		t.Helper()
		v, err := in(s).Apply(ctx, drv, "default", true)
		require.NoError(t, err)
		require.Equal(t, Current, v.State, v.Why)
		d, err := s.compare(ctx, drv, v.set.Tables, false)
		require.NoError(t, err)
		require.Empty(t, d.Statements())
	}
	to(byName)
	require.Equal(t, []string{"a"}, finds(t, drv, byName, "app"))
	exec(t, drv, `INSERT INTO things VALUES ('c', 'Apple pie', NULL)`)
	require.Equal(t, []string{"a", "c"}, finds(t, drv, byName, "app"))
	to(both)
	require.Equal(t, []string{"a", "b", "c"}, finds(t, drv, both, "app"))
	names, err := column[string](ctx, drv, "SELECT name FROM sqlite_master WHERE name GLOB '"+byName.Indexes[0].Name()+"*'")
	require.NoError(t, err)
	require.Empty(t, names, "the index that nobody asks any more")

	to(byName)
	to(copied) // SQLite drops the triggers with the table that it has copied
	exec(t, drv, `INSERT INTO things VALUES ('d', 'Apple cake', NULL)`, `DELETE FROM things WHERE id='c'`)
	require.Equal(t, []string{"a", "d"}, finds(t, drv, copied, "app"))

	exec(t, drv, `DROP TRIGGER "`+byName.Indexes[0].Name()+`_update"`)
	d, err := copied.compare(ctx, drv, nil, false)
	require.NoError(t, err)
	require.NotEmpty(t, d.Statements(), "an index that lacks a part")
	to(plain)
	names, err = column[string](ctx, drv, "SELECT name FROM sqlite_master WHERE name GLOB '"+sqltext.IndexPrefix+"*'")
	require.NoError(t, err)
	require.Empty(t, names)
}

// A planned file has the index in it, triggers included, and runs as it is written.
func TestFilesHaveIndexes(t *testing.T) {
	name := &entschema.Column{Name: "name", Type: field.TypeString}
	s := searched([]string{"name"}, name)
	path := t.TempDir()
	read := func() Files {
		d, err := Read(os.DirFS(path), path, "app migrate", dialect.SQLite, false)
		require.NoError(t, err)
		return Files{Schema: s, Dir: d, Command: "app migrate"}
	}
	p, err := read().Plan(ctx, memory(t), "init", time.Now())
	require.NoError(t, err)
	_, err = read().Write(p, path)
	require.NoError(t, err)
	require.Equal(t, 3, strings.Count(p.text, " ON `things`")+strings.Count(p.text, ` ON "things"`), p.text)

	w := read()
	drv := memory(t)
	require.NoError(t, w.Create(ctx, drv))
	exec(t, drv, `INSERT INTO things VALUES ('a', 'Red apple')`)
	require.Equal(t, []string{"a"}, finds(t, drv, s, "app"))
	p, err = w.Plan(ctx, memory(t), "again", time.Now().Add(time.Hour))
	require.NoError(t, err)
	require.Nil(t, p)
}

// SQLite copies a table also for some columns that are added: a view of it would not survive.
func TestIndexesSurviveColumnsThatCopyTheTable(t *testing.T) {
	name := &entschema.Column{Name: "name", Type: field.TypeString}
	for what, c := range map[string]*entschema.Column{
		"a default that is computed": {Name: "at", Type: field.TypeTime, Default: entschema.Expr("CURRENT_TIMESTAMP")},
		"an expression":              {Name: "code", Type: field.TypeString, Default: entschema.Expr("(lower(hex(randomblob(4))))")},
		"a constant":                 {Name: "code", Type: field.TypeString, Default: "x"},
		"unique":                     {Name: "code", Type: field.TypeString, Nullable: true, Unique: true},
	} {
		t.Run(what, func(t *testing.T) {
			drv := made(t, searched([]string{"name"}, name))
			exec(t, drv, `INSERT INTO things VALUES ('a', 'Red apple')`)
			to := searched([]string{"name"}, name, c)
			to.Hash++
			v, err := in(to).Open(ctx, drv, "default")
			require.NoError(t, err)
			require.Equal(t, Current, v.State, v.Why)
			exec(t, drv, `INSERT INTO things (id, name) VALUES ('b', 'Apple pie')`)
			require.Equal(t, []string{"a", "b"}, finds(t, drv, to, "app"))
			d, err := to.compare(ctx, drv, v.set.Tables, false)
			require.NoError(t, err)
			require.Empty(t, d.Statements())
		})
	}
}

// Indexes of how texts begin are made beside those of the schema and go with what they are for, on PostgreSQL alone.
func TestPrefixIndexesFollowTheSchema(t *testing.T) {
	schema := func(hash int32, prefixed bool) *Schema {
		s := table(hash, &entschema.Column{Name: "name", Type: field.TypeString, Unique: true, Nullable: true})
		if prefixed {
			s.WithPrefixes(&sqltext.PrefixIndex{Table: "things", Column: "name"})
		}
		return s
	}
	plain, prefixed := schema(1, false), schema(1, true)
	require.NotEqual(t, plain.Hash, prefixed.Hash)
	places(t, plain, func(t *testing.T, drv dialect.Driver) {
		exec(t, drv, "INSERT INTO things VALUES ('a', '12')")
		there := func(s *Schema) (names []string) {
			t.Helper()
			v, err := in(s).Apply(ctx, drv, "default", true)
			require.NoError(t, err)
			require.Equal(t, Current, v.State, v.Why)
			d, err := s.compare(ctx, drv, v.set.Tables, false)
			require.NoError(t, err)
			require.Empty(t, d.Statements())
			if ask := dialectOf(drv).Prefixes(); ask != "" {
				names, err = column[string](ctx, drv, ask)
				require.NoError(t, err)
			}
			return names
		}
		var want []string
		if drv.Dialect() == dialect.Postgres {
			want = []string{prefixed.Prefixes[0].Name()}
		}
		require.Empty(t, there(schema(2, false)))
		require.Equal(t, want, there(schema(3, true)))
		require.Empty(t, there(schema(4, false)), "nobody asks it any more")
	})
}
