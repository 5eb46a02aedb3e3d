package entities_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/mattn/go-sqlite3"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/internal/pgtest"
)

// The databases, as subtests are called.
const (
	onSQLite     = "SQLite"
	onPostgreSQL = "PostgreSQL"
)

// forEach runs a test, or a benchmark, once on each database. It is the first line
// of every test that has data:
//
//	if forEach(t, TestThing) {
//		return
//	}
//
// It gives false in the run on a database, whose name is part of the test's then.
func forEach[T interface {
	Name() string
	Run(name string, fn func(T)) bool
}](t T, test func(T),
) bool {
	if strings.Contains(t.Name(), "/") {
		return false
	}
	t.Run(onSQLite, test)
	t.Run(onPostgreSQL, test)
	return true
}

// postgres tells whether a test runs on PostgreSQL.
func postgres(tb testing.TB) bool {
	return strings.Contains(tb.Name()+"/", "/"+onPostgreSQL+"/")
}

// place is an empty place for data, as the setting `database` names it, on the
// database that the test runs on.
func place(tb testing.TB) string {
	tb.Helper()
	if postgres(tb) {
		return pgtest.Place(tb)
	}
	return "sqlite://" + tb.TempDir()
}

// beside opens a set of a place past the app.
func beside(tb testing.TB, place, set string) *sql.DB {
	tb.Helper()
	var db *sql.DB
	var err error
	if folder, ok := strings.CutPrefix(place, "sqlite://"); ok {
		db, err = sql.Open("sqlite3", "file:"+filepath.Join(folder, set+".db")+"?_busy_timeout=5000")
	} else {
		server, prefix, _ := strings.Cut(place, "&schema_prefix=")
		db, err = sql.Open("pgx", server+"&search_path=%22"+prefix+"."+set+"%22")
	}
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, db.Close()) })
	return db
}

// marks turns the marks of arguments in a statement into the database's own.
func marks(tb testing.TB, statement string) string {
	if !postgres(tb) {
		return statement
	}
	parts := strings.Split(statement, "?")
	var out strings.Builder
	for i, part := range parts {
		if i > 0 {
			out.WriteString("$" + string(rune('0'+i)))
		}
		out.WriteString(part)
	}
	return out.String()
}
