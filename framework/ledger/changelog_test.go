package ledger_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/ledger"
	"github.com/koan-go/koan/framework/run/store"
	"github.com/koan-go/koan/tests/pgtest"
)

// A transaction that has its position but has not committed holds up the next one that wants
// one: else the next one would be seen first, and whoever had read it would never look for the
// earlier position again.
func TestPositionsAreSeenInTheirOrder(t *testing.T) {
	db := pgtest.Open(t)
	require.NoError(t, ledger.Migrate(t.Context(), entsql.OpenDB(dialect.Postgres, db)))
	write := func(tx *sql.Tx, run string) error {
		return ledger.WriteCommit(context.Background(), sqltext.PostgreSQL{}, tx, store.Receipt{Run: run, At: time.Now()}, ledger.Changes{Images: []journal.Image{{Entity: "E", ID: run, Action: "create"}}}, nil)
	}
	seen := func() (runs []string) {
		entries, err := ledger.Entries(t.Context(), sqltext.PostgreSQL{}, db, "s", 0, 10, nil)
		require.NoError(t, err)
		for _, e := range entries {
			runs = append(runs, e.Run)
		}
		return runs
	}
	serializable := &sql.TxOptions{Isolation: sql.LevelSerializable}
	first, err := db.BeginTx(t.Context(), serializable)
	require.NoError(t, err)
	require.NoError(t, write(first, "first"))
	second := make(chan error, 1)
	go func() {
		tx, err := db.BeginTx(context.Background(), serializable)
		if err == nil {
			err = write(tx, "second")
		}
		if err == nil {
			err = tx.Commit()
		}
		second <- err
	}()
	require.Eventually(t, func() bool {
		var waiting int
		require.NoError(t, db.QueryRow("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted").Scan(&waiting))
		return waiting == 1 || len(second) > 0
	}, 10*time.Second, 5*time.Millisecond)
	require.Empty(t, seen())
	require.NoError(t, first.Commit())
	require.NoError(t, <-second, "writers wait for each other, and do not fail")
	require.Equal(t, []string{"first", "second"}, seen())

	// One that is rolled back leaves its position free, and holds up nobody any more.
	third, err := db.BeginTx(t.Context(), serializable)
	require.NoError(t, err)
	require.NoError(t, write(third, "third"))
	require.NoError(t, third.Rollback())
	fourth, err := db.BeginTx(t.Context(), serializable)
	require.NoError(t, err)
	require.NoError(t, write(fourth, "fourth"))
	require.NoError(t, fourth.Commit())
	require.Equal(t, []string{"first", "second", "fourth"}, seen())
}
