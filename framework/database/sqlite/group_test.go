package sqlite

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/database/sqlitedriver"
	"github.com/koan-go/koan/framework/run/store"
)

// firstAttempt is the first attempt of one operation that writes.
type firstAttempt struct{ store.Attempt }

func (firstAttempt) Number() int { return 1 }

func (d *Database) beginShort(ctx context.Context) (*Tx, error) {
	tx, err := d.Begin(ctx, firstAttempt{}, true)
	if err != nil {
		return nil, err
	}
	return tx.(*Tx), nil
}

// line has short transactions wait for each other in the order of the functions, which run when their
// transaction has begun.
func line(t *testing.T, d *Database, fns ...func(tx *Tx) error) []error {
	t.Helper()
	d.longestGroup = time.Minute // not a test of the machine
	first, err := d.beginShort(t.Context())
	require.NoError(t, err)
	errs := make([]error, len(fns))
	var group sync.WaitGroup
	for i, fn := range fns {
		if i == 0 {
			continue
		}
		group.Go(func() {
			tx, err := d.beginShort(t.Context())
			if err == nil {
				err = fn(tx)
				_ = tx.Rollback(context.Background())
			}
			errs[i] = err
		})
		waiting(t, &d.queue, i)
	}
	errs[0] = fns[0](first)
	_ = first.Rollback(context.Background())
	group.Wait()
	return errs
}

func keep(tx *Tx) error {
	ctx := context.Background()
	if err := insert(ctx, tx); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

func TestShortWritesAreCommittedTogether(t *testing.T) {
	ctx := context.Background()
	d := use(t, opened(t, t.TempDir(), things()), "default")
	seen := -1
	errs := line(t, d,
		keep,
		func(tx *Tx) error { seen = number(t, d); return keep(tx) },
		func(tx *Tx) error { // one that leaves nothing behind
			if err := insert(ctx, tx); err != nil {
				return err
			}
			return tx.Rollback(ctx)
		},
		func(tx *Tx) error {
			if n := read(t, tx); n != 2 {
				return fmt.Errorf("it sees %d rows", n)
			}
			return keep(tx)
		},
	)
	require.Equal(t, make([]error, 4), errs)
	require.Zero(t, seen, "nothing was committed before the last one ended")
	require.Equal(t, 3, number(t, d))
	require.True(t, d.queue.try(), "the lock is free")
	d.queue.unlock()
}

// What may take long is waited for by nobody who has ended.
func TestApartCommitsThoseBefore(t *testing.T) {
	ctx := context.Background()
	d := use(t, opened(t, t.TempDir(), things()), "default")
	var seen []int
	errs := line(t, d, keep, keep, func(tx *Tx) error {
		err := tx.Apart(ctx)
		seen = append(seen, number(t, d))
		if err != nil {
			return err
		}
		return keep(tx)
	}, func(tx *Tx) error {
		seen = append(seen, number(t, d))
		return keep(tx)
	})
	require.Equal(t, make([]error, 4), errs)
	require.Equal(t, []int{2, 3}, seen, "and it commits by itself")
	require.Equal(t, 4, number(t, d))

	long := begin(t, d, true)
	waited := make(chan error)
	go func() {
		tx, err := d.beginShort(ctx)
		if err == nil {
			err = keep(tx)
		}
		waited <- err
	}()
	waiting(t, &d.queue, 1)
	require.NoError(t, insert(ctx, long))
	require.NoError(t, long.Commit(ctx), "what is not short waits for nobody")
	require.NoError(t, <-waited)
}

// Where the whole transaction is lost, those that waited for it begin again.
func TestLossOfAGroupIsEachMembersNewAttempt(t *testing.T) {
	ctx := context.Background()
	d := use(t, opened(t, t.TempDir(), things()), "default")
	lose := func(tx *Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT OR ROLLBACK INTO things (id) VALUES (7), (7)")
		if f, ok := sqlitedriver.FailureOf(err); !ok || f.Code != sqlitedriver.Constraint {
			return fmt.Errorf("it is lost: %w", err)
		}
		if insert(ctx, tx) == nil {
			return fmt.Errorf("a statement ran outside of the transaction")
		}
		if tx.Commit(ctx) == nil {
			return fmt.Errorf("it was committed")
		}
		return tx.Rollback(ctx)
	}
	errs := line(t, d, keep, keep, lose, keep)
	require.ErrorIs(t, errs[0], store.ErrStale)
	require.ErrorIs(t, errs[1], store.ErrStale)
	require.NoError(t, errs[2])
	require.NoError(t, errs[3], "it began after the loss")
	require.Equal(t, 1, number(t, d))
}

// On a full disk SQLite rolls everything back: those before begin again, and the one after it is kept.
func TestFullDiskLosesNoMember(t *testing.T) {
	ctx := context.Background()
	d := use(t, opened(t, t.TempDir(), things()), "default")
	require.NoError(t, d.Driver().Exec(ctx, "CREATE TABLE large (content BLOB)", []any{}, nil))
	limit := func(tx *Tx) error {
		_, err := tx.conn.ExecContext(ctx, "PRAGMA max_page_count = 64")
		if err != nil {
			return err
		}
		return keep(tx)
	}
	var met error
	fill := func(tx *Tx) error {
		_, met = tx.ExecContext(ctx, "INSERT INTO large VALUES (zeroblob(1000000))")
		return tx.Rollback(ctx)
	}
	errs := line(t, d, limit, keep, fill, keep)
	require.True(t, isFull(met), met)
	require.ErrorIs(t, errs[0], store.ErrStale)
	require.ErrorIs(t, errs[1], store.ErrStale)
	require.NoError(t, errs[2])
	require.NoError(t, errs[3])
	require.Equal(t, 1, number(t, d), "what was told")
	require.True(t, d.queue.try(), "the lock is free")
	d.queue.unlock()
}

// A rule that is checked at the commit fails the one that broke it alone.
func TestBrokenRuleAtTheCommitIsTriedAlone(t *testing.T) {
	ctx := context.Background()
	d := use(t, opened(t, t.TempDir(), things()), "default")
	require.NoError(t, d.Driver().Exec(ctx, "CREATE TABLE parts (thing INTEGER REFERENCES things (id) DEFERRABLE INITIALLY DEFERRED)", []any{}, nil))
	orphan := func(tx *Tx) error {
		if _, err := tx.ExecContext(ctx, "INSERT INTO parts VALUES (99)"); err != nil {
			return err
		}
		return tx.Commit(ctx)
	}
	errs := line(t, d, keep, orphan)
	require.ErrorIs(t, errs[0], store.ErrStale)
	require.ErrorIs(t, errs[1], store.ErrStale)
	require.Zero(t, number(t, d))
	alone := begin(t, d, true)
	err := orphan(alone)
	require.Error(t, err)
	require.NotErrorIs(t, err, store.ErrStale)
	require.NotNil(t, Violation(err))
	require.NoError(t, alone.Rollback(ctx))
	require.NoError(t, keep(begin(t, d, true)))
}

// TestGroupsKeepWhatTheySay has many transactions end in every way, and holds what they were told
// against the rows that are there.
func TestGroupsKeepWhatTheySay(t *testing.T) {
	d := use(t, opened(t, t.TempDir(), things()), "default")
	var mu sync.Mutex
	var kept []int
	var group sync.WaitGroup
	for worker := range 12 {
		group.Go(func() {
			r := rand.New(rand.NewPCG(uint64(worker), 1))
			for i := range 60 {
				id := 1 + worker*1000 + i
				if err := endSomehow(d, r, id); err == nil {
					mu.Lock()
					kept = append(kept, id)
					mu.Unlock()
				}
			}
		})
	}
	group.Wait()
	slices.Sort(kept)
	var there []int
	rows, err := d.db.Query("SELECT id FROM things ORDER BY id")
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var id int
		require.NoError(t, rows.Scan(&id))
		there = append(there, id)
	}
	require.Equal(t, kept, there)
	require.Greater(t, len(kept), 100)
	require.True(t, d.queue.try(), "nothing is held")
	d.queue.unlock()
}

var errOnPurpose = fmt.Errorf("it keeps nothing")

// endSomehow writes a row and ends in one of the ways in which a transaction can; nil is that the row was
// committed.
func endSomehow(d *Database, r *rand.Rand, id int) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	way := r.IntN(10)
	if way == 0 {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(r.IntN(2000))*time.Microsecond)
		defer cancel()
	}
	tx, err := d.Begin(ctx, firstAttempt{}, way != 1)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	switch way {
	case 1: // one that has read
		rows, err := tx.QueryContext(ctx, "SELECT count(*) FROM things")
		if err != nil {
			return err
		}
		_ = rows.Close()
		if err := tx.Write(ctx); err != nil {
			return err
		}
	case 2:
		if err := database.Apart(ctx, tx); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO things (id) VALUES (?)", id); err != nil {
		return err
	}
	switch way {
	case 3:
		return errOnPurpose
	case 4:
		if _, err := tx.ExecContext(ctx, "INSERT OR ROLLBACK INTO things (id) VALUES (?)", id); err == nil {
			return nil // the test finds that the row is not there twice
		}
	}
	return tx.Commit(context.Background())
}
