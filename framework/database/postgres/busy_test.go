package postgres

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/store"
	"github.com/koan-go/koan/tests/pgtest"
)

// A lock that is not given goes out with the savepoint around the call that wants it:
// that savepoint is not there then, and nothing is left to go back to. What stands in
// the way is told all the same.
func TestALockThatIsNotGivenIsSetBusy(t *testing.T) {
	s := opened(t, pgtest.Place(t), things())
	s.patience = 100 * time.Millisecond
	d := use(t, s, "default")
	holder := begin(t, d, false)
	exec(t, holder, "LOCK TABLE koan_receipts IN EXCLUSIVE MODE")
	for _, reads := range []bool{false, true} {
		tx := begin(t, d, false)
		if reads {
			require.Zero(t, number(t, tx, count))
		}
		require.NoError(t, tx.Write(ctx))
		end, err := tx.Savepoint(ctx, false)
		require.NoError(t, err)
		begun := time.Now()
		_, err = tx.ExecContext(ctx, insert, "a")
		require.Error(t, err)
		require.Less(t, time.Since(begun), 10*time.Second)
		for _, err := range []error{err, tx.Recover(ctx), end(false)} {
			told, mine := s.Trouble("default", err)
			require.True(t, mine, "%v", err)
			require.Equal(t, fault.SetBusy, fault.CodeOf(told))
			require.ErrorContains(t, told, "not free for writing")
		}
		require.Error(t, tx.Commit(ctx))
		require.NoError(t, tx.Rollback(ctx))
	}
	require.NoError(t, holder.Rollback(ctx))
	tx := begin(t, d, true)
	exec(t, tx, insert, "a")
	require.NoError(t, tx.Commit(ctx))
}

// A table that is locked, as by a migration, keeps nobody waiting for a row's place longer than for the lock.
func TestALockedTableTellsNoPlace(t *testing.T) {
	s := opened(t, pgtest.Place(t), things())
	s.patience = 100 * time.Millisecond
	d := use(t, s, "default")
	holder := begin(t, d, true)
	exec(t, holder, "LOCK TABLE things IN ACCESS EXCLUSIVE MODE")
	tx, err := d.Begin(ctx, firstWrite{}, true)
	require.NoError(t, err)
	begun := time.Now()
	place, err := tx.(*Tx).Locate(ctx, "things", "id", 1)
	require.NoError(t, err)
	require.Empty(t, place)
	require.Less(t, time.Since(begun), 10*time.Second)
	require.NoError(t, holder.Rollback(ctx))
	require.Equal(t, 0, number(t, tx, count), "it has another connection")
	place, err = tx.(*Tx).Locate(ctx, "things", "id", 1)
	require.NoError(t, err)
	require.Empty(t, place, "the transaction has begun")
	require.NoError(t, tx.Rollback(ctx))
}

// firstWrite is the first attempt of a run that is one writing call.
type firstWrite struct{ store.Attempt }

func (firstWrite) Number() int      { return 1 }
func (firstWrite) Atomic() bool     { return true }
func (firstWrite) WriteFirst() bool { return true }
func (firstWrite) Single() bool     { return false }
