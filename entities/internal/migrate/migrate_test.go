package migrate

import (
	"context"
	"errors"
	"io/fs"
	"testing"
	"testing/fstest"
	"time"

	"ariga.io/atlas/sql/migrate"
	"ariga.io/atlas/sql/schema"
	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	entschema "entgo.io/ent/dialect/sql/schema"
	"entgo.io/ent/schema/field"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/database/sqlitedriver"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/ledger"
)

var ctx = context.Background()

// memory is an empty database with one connection.
func memory(t testing.TB) dialect.Driver {
	t.Helper()
	db := sqlitedriver.Open("file::memory:")
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	return entsql.NewDriver(dialect.SQLite, entsql.Conn{ExecQuerier: db})
}

// table is a schema of one table with a key and the given columns.
func table(hash int32, columns ...*entschema.Column) *Schema {
	id := &entschema.Column{Name: "id", Type: field.TypeString}
	t := &entschema.Table{Name: "things", Columns: append([]*entschema.Column{id}, columns...), PrimaryKey: []*entschema.Column{id}}
	return &Schema{Tables: []*entschema.Table{t}, Hash: hash}
}

func in(s *Schema) InPlace { return InPlace{Schema: s, Command: "app migrate"} }

func exec(t *testing.T, drv dialect.Driver, statements ...string) {
	t.Helper()
	for _, s := range statements {
		require.NoError(t, drv.Exec(ctx, s, []any{}, nil), s)
	}
}

func made(t *testing.T, s *Schema) dialect.Driver {
	t.Helper()
	drv := memory(t)
	require.NoError(t, in(s).Create(ctx, drv))
	require.NoError(t, in(s).Made(ctx, drv))
	return drv
}

func judged(t *testing.T, w Way, drv dialect.Driver) *Verdict {
	t.Helper()
	v, err := w.Judge(ctx, drv)
	require.NoError(t, err)
	return v
}

func TestWhatMayBeDoneUnasked(t *testing.T) {
	text := &entschema.Column{Name: "name", Type: field.TypeString}
	optional := &entschema.Column{Name: "name", Type: field.TypeString, Nullable: true}
	number := &entschema.Column{Name: "name", Type: field.TypeInt}
	defaulted := &entschema.Column{Name: "name", Type: field.TypeString, Default: "x"}
	unique := &entschema.Column{Name: "name", Type: field.TypeString, Unique: true}
	for name, c := range map[string]struct {
		from, to *Schema
		rows     bool
		state    State
		why      string
	}{
		"nothing":                                {table(1, text), table(1, text), true, Current, ""},
		"only the hash":                          {table(1, text), table(2, text), true, Behind, ""},
		"an optional column":                     {table(1), table(2, optional), true, Behind, ""},
		"a column with a default":                {table(1), table(2, defaulted), true, Behind, ""},
		"a required column, no rows":             {table(1), table(2, text), false, Behind, ""},
		"a required column, rows":                {table(1), table(2, text), true, Apart, "things.name is required and has no default"},
		"a column becomes optional":              {table(1, text), table(2, optional), true, Behind, ""},
		"a column becomes required":              {table(1, optional), table(2, text), true, Ahead, "makes the column things.name required"},
		"another type":                           {table(1, text), table(2, number), false, Ahead, "changes the column things.name from text to integer"},
		"another type, rows that do not convert": {table(1, text), table(2, number), true, Apart, "what it has in 1 row of things is not an integer"},
		"a column less":                          {table(1, text), table(2), true, Ahead, "drops the column things.name"},
		"a unique column":                        {table(1, text), table(2, unique), true, Behind, ""},
		"no longer unique":                       {table(1, unique), table(2, text), true, Ahead, "drops the index things_name_key"},
		"a table less, and another in its place": {table(1, text), &Schema{Hash: 2, Tables: []*entschema.Table{{Name: "others", Columns: []*entschema.Column{{Name: "id", Type: field.TypeInt}}, PrimaryKey: []*entschema.Column{}}}}, true, Ahead, "drops the table things"},
	} {
		t.Run(name, func(t *testing.T) {
			drv := made(t, c.from)
			if c.rows {
				exec(t, drv, map[bool]string{true: "INSERT INTO things VALUES ('1')", false: "INSERT INTO things VALUES ('1', 'x')"}[len(c.from.Tables[0].Columns) == 1])
			}
			v := judged(t, in(c.to), drv)
			require.Equal(t, c.state, v.State, v.Why)
			require.Contains(t, v.Why, c.why)
			if c.state != Behind {
				return
			}
			v, err := in(c.to).Open(ctx, drv, "default")
			require.NoError(t, err)
			require.Equal(t, Current, v.State)
			require.Equal(t, Current, judged(t, in(c.to), drv).State)
			if c.to.Hash != c.from.Hash {
				require.Equal(t, Ahead, judged(t, in(c.from), drv).State, "the older app refuses now")
			}
		})
	}
}

func TestConsentIsForOneWay(t *testing.T) {
	text := &entschema.Column{Name: "name", Type: field.TypeString, Nullable: true}
	old, newer := table(1), table(2, text)
	drv := made(t, old)
	for range 2 {
		v, err := in(newer).Open(ctx, drv, "default")
		require.NoError(t, err)
		require.Equal(t, Current, v.State, v.Why)
		_, err = in(old).Apply(ctx, drv, "default", false)
		require.Equal(t, fault.ServiceUnavailable, fault.CodeOf(err))
		v, err = in(old).Apply(ctx, drv, "default", true)
		require.NoError(t, err)
		require.Equal(t, Current, v.State)
	}
	s, err := ledger.ReadSet(ctx, drv)
	require.NoError(t, err)
	require.Len(t, s.Steps, 5)
	require.False(t, s.Made.IsZero())
}

func TestWidening(t *testing.T) {
	text := func(size int) schema.Type { return &schema.StringType{T: "varchar", Size: size} }
	number := func(t string) schema.Type { return &schema.IntegerType{T: t} }
	for _, c := range []struct {
		from, to schema.Type
		widens   bool
	}{
		{text(10), text(20), true},
		{text(20), text(10), false},
		{text(20), text(0), true},
		{text(0), text(20), false},
		{number("smallint"), number("bigint"), true},
		{number("bigint"), number("integer"), false},
		{number("integer"), text(0), false},
		{&schema.FloatType{T: "real"}, &schema.FloatType{T: "double precision"}, true},
		{&schema.BoolType{T: "bool"}, number("integer"), false},
	} {
		require.Equal(t, c.widens, widens(c.from, c.to), "%v to %v", c.from, c.to)
	}
}

// summed is a directory with its atlas.sum.
func summed(t testing.TB, files map[string]string) fstest.MapFS {
	t.Helper()
	out := fstest.MapFS{}
	dir := &migrate.MemDir{}
	for name, text := range files {
		out[name] = &fstest.MapFile{Data: []byte(text)}
		require.NoError(t, dir.WriteFile(name, []byte(text)))
	}
	sum, err := dir.Checksum()
	require.NoError(t, err)
	raw, err := sum.MarshalText()
	require.NoError(t, err)
	out[migrate.HashFileName] = &fstest.MapFile{Data: raw}
	return out
}

const first = "-- koan:schema 00000001 sqlite3\n\nCREATE TABLE things (id text NOT NULL, PRIMARY KEY (id));\n"

func files(t testing.TB, s *Schema, fsys fstest.MapFS) Files {
	t.Helper()
	d, err := Read(fsys, "migrations", "app migrate", dialect.SQLite, true)
	require.NoError(t, err)
	return Files{Schema: s, Dir: d, Command: "app migrate"}
}

func TestBadDirectoriesAreRefused(t *testing.T) {
	bad := map[string]struct {
		files map[string]string
		says  string
	}{
		"a name without a version": {map[string]string{"init.sql": "SELECT 1;"}, "VERSION_NAME.sql"},
		"the same version twice":   {map[string]string{"1_a.sql": "SELECT 1;", "1_b.sql": "SELECT 1;"}, "same version as 1_a.sql"},
		"another database":         {map[string]string{"1_a.sql": "-- koan:schema 00000001 postgres\n\nSELECT 1;"}, "made for postgres, but the database is sqlite3"},
		"a header that is none":    {map[string]string{"1_a.sql": "-- koan:schema soon\n\nSELECT 1;"}, "first line"},
		"outside in a later line":  {map[string]string{"1_a.sql": "-- why\n-- atlas:txmode none\nSELECT 1;"}, "outside a transaction"},
		"outside a transaction":    {map[string]string{"1_a.sql": "-- atlas:txmode none\n\nSELECT 1;"}, "outside a transaction"},
		"a checkpoint":             {map[string]string{"1_a.sql": "-- atlas:checkpoint\n\nSELECT 1;"}, "checkpoint"},
		"an open quote":            {map[string]string{"1_a.sql": "SELECT 'x;"}, "cannot be read"},
	}
	for name, c := range bad {
		t.Run(name, func(t *testing.T) {
			_, err := Read(summed(t, c.files), "migrations", "app migrate", dialect.SQLite, true)
			require.ErrorContains(t, err, c.says)
			require.NotEmpty(t, fault.From(err).Hint)
		})
	}
	good := summed(t, map[string]string{"1_a.sql": first})
	for what, change := range map[string]func(fstest.MapFS){
		"was added":   func(f fstest.MapFS) { f["2_b.sql"] = &fstest.MapFile{Data: []byte("SELECT 1;")} },
		"was removed": func(f fstest.MapFS) { delete(f, "1_a.sql") },
		"was edited":  func(f fstest.MapFS) { f["1_a.sql"] = &fstest.MapFile{Data: []byte("SELECT 1;")} },
		"missing":     func(f fstest.MapFS) { delete(f, migrate.HashFileName) },
	} {
		t.Run(what, func(t *testing.T) {
			changed := fstest.MapFS{}
			for name, f := range good {
				changed[name] = f
			}
			change(changed)
			_, err := Read(changed, "migrations", "app migrate", dialect.SQLite, true)
			require.ErrorContains(t, err, what)
			require.Contains(t, fault.From(err).Hint, "app migrate hash")
		})
	}
}

func TestHistoriesThatDoNotFit(t *testing.T) {
	set := func(schema int32, versions ...string) ledger.Set {
		s := ledger.Set{Known: true, Schema: schema}
		for _, v := range versions {
			s.Steps = append(s.Steps, ledger.Step{Kind: ledger.File, Version: v})
		}
		return s
	}
	w := files(t, table(3), summed(t, map[string]string{
		"1_a.sql": first, "2_b.sql": "SELECT 2;", "3_c.sql": "-- koan:schema 00000003 sqlite3\n\nSELECT 3;",
	}))
	digests := func(s ledger.Set) ledger.Set {
		for i, step := range s.Steps {
			if at := w.Dir.at(step.Version); at >= 0 {
				s.Steps[i].Digest = w.Dir.files[at].digest
			}
		}
		return s
	}
	for name, c := range map[string]struct {
		set     ledger.Set
		state   State
		pending int
	}{
		"all has run":                   {digests(set(3, "1", "2", "3")), Current, 0},
		"one is left":                   {digests(set(1, "1", "2")), Behind, 1},
		"two are left":                  {digests(set(1, "1")), Behind, 2},
		"from a newer build":            {digests(set(4, "1", "2", "3", "4")), Ahead, 0},
		"a file is gone":                {digests(set(3, "1", "2", "25", "3")), Apart, 0},
		"a file came before":            {digests(set(3, "1", "3")), Apart, 0},
		"a file was changed":            {set(3, "1", "2", "3"), Apart, 0},
		"made in place, at the end":     {set(3), Current, 0},
		"made in place, at the start":   {set(1), Behind, 2},
		"made in place, of another app": {set(7), Apart, 0},
		"older than the ledger":         {ledger.Set{}, Apart, 0},
	} {
		t.Run(name, func(t *testing.T) {
			v := w.judge(c.set)
			require.Equal(t, c.state, v.State, v.Why)
			require.Len(t, v.Pending, c.pending)
			if c.state != Current {
				require.NotEmpty(t, v.Why)
				require.NotEmpty(t, v.Do)
				require.Equal(t, fault.ServiceUnavailable, v.Fault("default").Code)
			}
		})
	}
	require.NoError(t, w.Check())
	require.Error(t, Files{Schema: table(9), Dir: w.Dir}.Check())
}

func TestPlansSayWhatToLookAt(t *testing.T) {
	w := files(t, table(2, &entschema.Column{Name: "name", Type: field.TypeString}), summed(t, map[string]string{"1_a.sql": first}))
	p, err := w.Plan(ctx, memory(t), "name", time.Now())
	require.NoError(t, err)
	require.Len(t, p.Blocks, 1)
	require.Contains(t, p.text, "-- Review this: the new column things.name is required")
	path := t.TempDir()
	file, err := w.Write(p, path)
	require.NoError(t, err)
	require.FileExists(t, file)
	_, err = w.Write(p, path)
	require.Error(t, err, "a file that is there is never overwritten")
	require.NoError(t, CheckName("add_due-date2"))
	for _, name := range []string{"", "A", "a b", "../x", "_x", "é"} {
		require.Equal(t, fault.InvalidPayload, fault.CodeOf(CheckName(name)), name)
	}
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{first, "", "-- koan:schema ", "-- atlas:delimiter \\n\\n\nSELECT 1\n\n", "SELECT ';' -- ;\n;", "/* \x00", "-- atlas:txtar\n\n-- x --\n"} {
		f.Add("1_a.sql", seed)
	}
	f.Fuzz(func(t *testing.T, name, text string) {
		if name == "" || !fs.ValidPath(name) {
			return
		}
		d, err := Read(fstest.MapFS{name: &fstest.MapFile{Data: []byte(text)}}, "here", "app migrate", dialect.SQLite, false)
		var known *fault.Fault
		if err != nil && !errors.As(err, &known) {
			t.Fatalf("%v is no fault", err)
		}
		if err == nil {
			_ = Files{Schema: table(1), Dir: d}.judge(ledger.Set{Known: true})
		}
	})
}
