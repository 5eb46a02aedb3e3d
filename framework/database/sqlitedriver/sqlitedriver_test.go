package sqlitedriver

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const settings = "?_foreign_keys=1&_txlock=immediate&_busy_timeout=50&_stmt_cache_size=8&_journal_mode=WAL&_synchronous=FULL"

func opened(t testing.TB, file string) *sql.DB {
	t.Helper()
	db := Open("file:" + file + settings)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	_, err := db.Exec(`
		CREATE TABLE IF NOT EXISTS owners (id integer PRIMARY KEY);
		CREATE TABLE IF NOT EXISTS things (id text PRIMARY KEY, name text UNIQUE NOT NULL, amount integer CHECK (amount > 0), owner integer REFERENCES owners, at datetime, done bool, raw json);
		CREATE TRIGGER IF NOT EXISTS guard BEFORE DELETE ON things BEGIN SELECT RAISE(ABORT, 'things stay'); END;`)
	require.NoError(t, err)
	return db
}

// What both builds must say of an error, so that faults are the same.
func TestFailures(t *testing.T) {
	db := opened(t, filepath.Join(t.TempDir(), "a.db"))
	_, err := db.Exec("INSERT INTO things (id, name) VALUES ('1', 'x')")
	require.NoError(t, err)
	for statement, want := range map[string]Failure{
		"INSERT INTO things (id, name) VALUES ('2', 'x')":            {Constraint, ConstraintUnique, nil, "UNIQUE constraint failed: things.name"},
		"INSERT INTO things (id, name) VALUES ('1', 'y')":            {Constraint, ConstraintPrimaryKey, nil, "UNIQUE constraint failed: things.id"},
		"INSERT INTO things (id) VALUES ('2')":                       {Constraint, ConstraintNotNull, nil, "NOT NULL constraint failed: things.name"},
		"INSERT INTO things (id, name, amount) VALUES ('2', 'y', 0)": {Constraint, ConstraintCheck, nil, "CHECK constraint failed: amount > 0"},
		"INSERT INTO things (id, name, owner) VALUES ('2', 'y', 7)":  {Constraint, ConstraintForeignKey, nil, "FOREIGN KEY constraint failed"},
		"DELETE FROM things":                      {Constraint, ConstraintTrigger, nil, "things stay"},
		"ALTER TABLE things ADD COLUMN name text": {1, 1, nil, "duplicate column name: name"},
		"SELECT colour FROM things":               {1, 1, nil, "no such column: colour"},
	} {
		_, err := db.Exec(statement)
		f, ok := FailureOf(err)
		require.True(t, ok, "%v", err)
		f.System = nil
		require.Equal(t, want, f)
	}
	_, err = db.Exec("SELECT * FROM missing")
	require.ErrorContains(t, err, "no such table: missing")
	_, ok := FailureOf(sql.ErrNoRows)
	require.False(t, ok)
}

func TestFailuresOfFiles(t *testing.T) {
	dir := t.TempDir()
	code := func(name string) int {
		db := Open(name)
		defer db.Close()
		_, err := db.Exec("CREATE TABLE t (a)")
		f, ok := FailureOf(err)
		require.True(t, ok, "%s: %v", name, err)
		return f.Code
	}
	text := filepath.Join(dir, "text.db")
	require.NoError(t, os.WriteFile(text, []byte("this is no database at all, but long enough to look like one"), 0o600))
	require.Equal(t, NotADB, code("file:"+text))
	require.Equal(t, CantOpen, code("file:"+filepath.Join(dir, "none", "a.db")))
	require.Equal(t, CantOpen, code("file:"+filepath.Join(dir, "none.db")+"?mode=rw"))
	opened(t, filepath.Join(dir, "kept.db"))
	require.Equal(t, Readonly, code("file:"+filepath.Join(dir, "kept.db")+"?mode=ro"))
}

// A writer that finds another one ends in Busy after its time.
func TestBusy(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.db")
	db := opened(t, file)
	tx, err := db.Begin()
	require.NoError(t, err)
	defer tx.Rollback()
	_, err = tx.Exec("INSERT INTO owners VALUES (1)")
	require.NoError(t, err)
	start := time.Now()
	_, err = Open("file:" + file + settings).Begin()
	f, ok := FailureOf(err)
	require.True(t, ok, "%v", err)
	require.Equal(t, Busy, f.Code)
	require.GreaterOrEqual(t, time.Since(start), 40*time.Millisecond)
}

// Values are stored and read in the same form by both drivers.
func TestValues(t *testing.T) {
	db := opened(t, filepath.Join(t.TempDir(), "a.db"))
	at := time.Date(2026, 11, 23, 8, 30, 0, 250e6, time.UTC)
	_, err := db.Exec("INSERT INTO things (id, name, at, done, raw) VALUES (?, ?, ?, ?, ?)", "1", "x", at, true, []byte(`{"a":1}`))
	require.NoError(t, err)
	var text, kind string
	require.NoError(t, db.QueryRow("SELECT at||'', typeof(raw) FROM things").Scan(&text, &kind))
	require.Equal(t, "2026-11-23 08:30:00.25+00:00", text)
	require.Equal(t, "blob", kind)
	var back time.Time
	var done bool
	require.NoError(t, db.QueryRow("SELECT at, done FROM things").Scan(&back, &done))
	require.True(t, at.Equal(back))
	require.True(t, done)
	var name any
	require.NoError(t, db.QueryRow("SELECT name FROM things").Scan(&name))
	require.Equal(t, "x", name)
}

func TestCancelStopsAStatement(t *testing.T) {
	db := opened(t, filepath.Join(t.TempDir(), "a.db"))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	var n int
	err := db.QueryRowContext(ctx, "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT count(*) FROM c").Scan(&n)
	require.Error(t, err)
	require.Less(t, time.Since(start), 10*time.Second)
}
