package sqlite

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/run/store"
)

// sparing is a writing transaction whose savepoints wait.
func sparing(t *testing.T, d *Database) *Tx {
	t.Helper()
	tx := begin(t, d, true)
	tx.careful = false
	return tx
}

// alone inserts a row with an id by one statement that gives it back, and ends in
// what then is.
func alone(tx *Tx, id int, then error) error {
	return tx.Alone(func() (wrote bool, err error) {
		rows, err := tx.QueryContext(context.Background(), "INSERT INTO things (id) VALUES (?) RETURNING id", id)
		if err != nil {
			return false, err
		}
		defer rows.Close()
		for rows.Next() {
			if wrote = true; then != nil {
				return true, then
			}
		}
		return wrote, rows.Err()
	})
}

// call is what a run does around a call that writes.
func call(t *testing.T, tx *Tx, fn func() error) (err, end error) {
	t.Helper()
	leave, err := tx.Savepoint(context.Background(), false)
	require.NoError(t, err)
	err = fn()
	return err, leave(err == nil)
}

func TestAStatementThatIsAloneNeedsNoSavepoint(t *testing.T) {
	d := use(t, opened(t, t.TempDir(), things()), "default")
	tx := sparing(t, d)
	_, err := call(t, tx, func() error {
		err := alone(tx, 1, nil)
		require.False(t, tx.saves[0].open)
		return err
	})
	require.NoError(t, err)
	err, end := call(t, tx, func() error { return alone(tx, 1, nil) })
	require.ErrorContains(t, err, "UNIQUE constraint failed")
	require.NoError(t, end, "it has undone itself")
	require.NoError(t, tx.Commit(context.Background()))
	require.Equal(t, 1, number(t, d))
}

// What was written alone cannot be rolled back alone: the attempt ends.
func TestWhatFailsAfterAStatementThatWasAloneEndsTheAttempt(t *testing.T) {
	ctx := context.Background()
	refused := errors.New("refused")
	for name, fn := range map[string]func(tx *Tx) error{
		"what came back": func(tx *Tx) error { return alone(tx, 1, refused) },
		"something else": func(tx *Tx) error { return errors.Join(alone(tx, 1, nil), refused) },
		"another statement": func(tx *Tx) error {
			if err := alone(tx, 1, nil); err != nil {
				return err
			}
			require.NoError(t, insert(ctx, tx))
			return refused
		},
		"a trigger half way": func(tx *Tx) error {
			err := alone(tx, 7, nil)
			require.ErrorContains(t, err, "not seven")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := use(t, opened(t, t.TempDir(), things()), "default")
			_, err := d.db.Exec(`CREATE TRIGGER seven BEFORE INSERT ON things WHEN NEW.id = 7 BEGIN
				INSERT INTO things (id) VALUES (8); SELECT RAISE(FAIL, 'not seven'); END`)
			require.NoError(t, err)
			tx := sparing(t, d)
			err, end := call(t, tx, func() error { return fn(tx) })
			require.Error(t, err)
			require.ErrorIs(t, end, store.ErrStale)
			require.NoError(t, tx.Rollback(ctx))

			tx = begin(t, d, true) // as in the next attempt
			err, end = call(t, tx, func() error { return fn(tx) })
			require.Error(t, err)
			require.NoError(t, end)
			require.NoError(t, tx.Commit(ctx))
			require.Zero(t, number(t, d))
		})
	}
}

// A savepoint that waits is opened by the first statement that is not alone, with
// those around it.
func TestSavepointsThatWaitAreOpenedInTime(t *testing.T) {
	ctx := context.Background()
	d := use(t, opened(t, t.TempDir(), things()), "default")
	tx := sparing(t, d)
	_, end := call(t, tx, func() error {
		require.Equal(t, 0, read(t, tx))
		require.False(t, tx.saves[0].open, "reading needs none")
		err, end := call(t, tx, func() error {
			require.NoError(t, alone(tx, 1, nil), "not in a savepoint inside of another")
			require.True(t, tx.saves[0].open)
			require.True(t, tx.saves[1].open)
			return errors.New("refused")
		})
		require.Error(t, err)
		require.NoError(t, end)
		require.Equal(t, 0, read(t, tx))
		return insert(ctx, tx)
	})
	require.NoError(t, end)
	err, end := call(t, tx, func() error {
		require.NoError(t, insert(ctx, tx))
		require.NoError(t, alone(tx, 5, nil))
		return errors.New("refused")
	})
	require.Error(t, err)
	require.NoError(t, end, "it was open, and took both back")
	require.NoError(t, tx.Commit(ctx))
	require.Equal(t, 1, number(t, d))
}
