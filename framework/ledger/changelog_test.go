package ledger_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/ledger"
	"github.com/koan-go/koan/framework/run/follow"
	"github.com/koan-go/koan/framework/run/store"
	"github.com/koan-go/koan/tests/pgtest"
)

func writeEntry(tx *sql.Tx, run string) error {
	return ledger.WriteCommit(context.Background(), sqltext.PostgreSQL{}, tx, store.Receipt{Run: run, At: time.Now()}, ledger.Changes{Images: []journal.Image{{Entity: "E", ID: run, Action: "create"}}}, nil)
}

func beginSerializable(t *testing.T, db *sql.DB) *sql.Tx {
	tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelSerializable})
	require.NoError(t, err)
	return tx
}

// A transaction that has its position but has not committed holds up nobody who writes, and what
// has a later position is not read before it is over: else the later one would be seen first, and
// whoever had read it would never look for the earlier position again.
func TestPositionsAreSeenInTheirOrder(t *testing.T) {
	db := pgtest.Open(t)
	require.NoError(t, ledger.Migrate(t.Context(), entsql.OpenDB(dialect.Postgres, db)))
	var known follow.Head
	seen := func() (runs []string) {
		entries, err := ledger.Entries(t.Context(), sqltext.PostgreSQL{}, db, "s", 0, 10, nil)
		require.NoError(t, err)
		for _, e := range entries {
			runs = append(runs, e.Run)
		}
		known, err = ledger.LastEntry(t.Context(), sqltext.PostgreSQL{}, db, known)
		require.NoError(t, err)
		var last follow.Head
		if len(entries) > 0 {
			last = entries[len(entries)-1].Head
		}
		require.Equal(t, last, known)
		return runs
	}
	commit := func(run string) {
		tx := beginSerializable(t, db)
		require.NoError(t, writeEntry(tx, run))
		require.NoError(t, tx.Commit())
	}
	require.Empty(t, seen())
	commit("before")
	first := beginSerializable(t, db)
	require.NoError(t, writeEntry(first, "first"))
	commit("second")
	require.Equal(t, []string{"before"}, seen())
	require.NoError(t, first.Commit())
	require.Equal(t, []string{"before", "first", "second"}, seen())

	// One that is rolled back leaves its position free, and holds up nobody any more.
	third := beginSerializable(t, db)
	require.NoError(t, writeEntry(third, "third"))
	commit("fourth")
	require.Equal(t, []string{"before", "first", "second"}, seen())
	require.NoError(t, third.Rollback())
	require.Equal(t, []string{"before", "first", "second", "fourth"}, seen())

	// What cannot be read yet is not removed either.
	fifth := beginSerializable(t, db)
	require.NoError(t, writeEntry(fifth, "fifth"))
	commit("sixth")
	last, err := ledger.Settled(t.Context(), sqltext.PostgreSQL{}, db)
	require.NoError(t, err)
	n, err := ledger.PruneChanges(t.Context(), sqltext.PostgreSQL{}, db, ledger.Horizon{Since: time.Now().Add(time.Hour), Settled: last}, 100)
	require.NoError(t, err)
	require.Equal(t, 4, n)
	require.NoError(t, fifth.Commit())
	require.Equal(t, []string{"fifth", "sixth"}, seen())

	// A transaction that is about to take its position, and does not go on, hides what comes then.
	seventh := beginSerializable(t, db)
	_, err = seventh.Exec("SELECT pg_advisory_xact_lock_shared(1802461550, CAST('koan_changes'::regclass::oid AS INTEGER))")
	require.NoError(t, err)
	_, err = ledger.Settled(t.Context(), sqltext.PostgreSQL{}, db)
	require.ErrorContains(t, err, "does not go on")
	require.NoError(t, seventh.Rollback())
	require.Equal(t, []string{"fifth", "sixth"}, seen())
}

// TestFollowersMissNoPosition has many write at once, who commit or roll back after a while, and
// reads along, from the last position that was seen: in the end nothing is missing, and all is in
// the order of positions.
func TestFollowersMissNoPosition(t *testing.T) {
	db := pgtest.Open(t)
	require.NoError(t, ledger.Migrate(t.Context(), entsql.OpenDB(dialect.Postgres, db)))
	const writers, each = 8, 40
	var committed atomic.Int64
	var group errgroup.Group
	for w := range writers {
		group.Go(func() error {
			chance := rand.New(rand.NewPCG(1, uint64(w)))
			for i := range each {
				tx, err := db.BeginTx(context.Background(), &sql.TxOptions{Isolation: sql.LevelSerializable})
				if err != nil {
					return err
				}
				if err := writeEntry(tx, fmt.Sprint(w, "-", i)); err != nil {
					return err
				}
				time.Sleep(time.Duration(chance.IntN(3000)) * time.Microsecond)
				end := tx.Commit
				if chance.IntN(8) == 0 {
					end = tx.Rollback
				} else {
					committed.Add(1)
				}
				if err := end(); err != nil {
					return err
				}
			}
			return nil
		})
	}
	ended := make(chan error, 1)
	go func() { ended <- group.Wait() }()
	var at int64
	var head follow.Head
	seen, early, over := 0, 0, false
	for {
		var err error
		head, err = ledger.LastEntry(t.Context(), sqltext.PostgreSQL{}, db, head)
		require.NoError(t, err)
		entries, err := ledger.Entries(t.Context(), sqltext.PostgreSQL{}, db, "s", at, 10000, nil)
		require.NoError(t, err)
		for _, e := range entries {
			require.Greater(t, e.Position, at)
			at = e.Position
			seen++
		}
		require.GreaterOrEqual(t, at, head.Position, "what is the last entry can be read")
		if len(entries) == 0 && over {
			break
		}
		if !over {
			early = seen
		}
		select {
		case err := <-ended:
			require.NoError(t, err)
			over = true
		default:
		}
	}
	require.Equal(t, int(committed.Load()), seen)
	require.Greater(t, early, 0, "nothing was seen while others wrote")
}
