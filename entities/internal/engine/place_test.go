package engine_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/database/sqlitedriver"
	"github.com/koan-go/koan/tests/pgtest"
)

// forEach is pgtest.ForEach: the first line of every test that has data.
func forEach[T pgtest.Runner[T]](t T, test func(T)) bool { return pgtest.ForEach(t, test) }

// postgres reports whether a test runs on PostgreSQL.
func postgres(tb testing.TB) bool { return pgtest.Here(tb) }

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
	return past(tb, place, set+".db", "."+set)
}

// besideLedger opens the ledger of a place past the app.
func besideLedger(tb testing.TB, place string) *sql.DB {
	tb.Helper()
	return past(tb, place, "koan.ledger", "")
}

func past(tb testing.TB, place, file, schema string) *sql.DB {
	tb.Helper()
	var db *sql.DB
	var err error
	if folder, ok := strings.CutPrefix(place, "sqlite://"); ok {
		db = sqlitedriver.Open("file:" + filepath.Join(folder, file) + "?_busy_timeout=5000")
	} else {
		server, prefix, _ := strings.Cut(place, "&schema_prefix=")
		prefix, _, _ = strings.Cut(prefix, "&")
		db, err = sql.Open("pgx", server+"&search_path=%22"+prefix+schema+"%22")
	}
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, db.Close()) })
	return db
}

// marks is pgtest.Marks.
func marks(tb testing.TB, statement string) string { return pgtest.Marks(tb, statement) }
