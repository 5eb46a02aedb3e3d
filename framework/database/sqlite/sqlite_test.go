package sqlite

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"entgo.io/ent/dialect"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/store"
)

var versions atomic.Int32 // each test has a schema of its own

// things is a schema of one table.
func things() database.Schema {
	return database.Schema{
		Version: versions.Add(1),
		Create: func(ctx context.Context, drv dialect.Driver) error {
			for _, s := range []string{
				"CREATE TABLE things (id INTEGER PRIMARY KEY, at DATETIME)", "CREATE TABLE koan_receipts (run TEXT)",
			} {
				if err := drv.Exec(ctx, s, []any{}, nil); err != nil {
					return err
				}
			}
			return nil
		},
		Migrate: func(context.Context, string, dialect.Driver) error { return errors.New("nothing is older") },
	}
}

func opened(t *testing.T, path string, s database.Schema) *Folder {
	t.Helper()
	f, err := OpenFolder(path, s, SyncFull)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return f
}

func use(t *testing.T, f *Folder, set string) *Database {
	t.Helper()
	d, _, release, err := f.Use(context.Background(), set)
	require.NoError(t, err)
	t.Cleanup(release)
	return d.(*Database)
}

func number(t *testing.T, d database.Database) (n int) {
	t.Helper()
	require.NoError(t, d.(*Database).db.QueryRow("SELECT count(*) FROM things").Scan(&n))
	return n
}

func insert(ctx context.Context, tx *Tx) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO things (at) VALUES (?)", time.Now())
	return err
}

func begin(t *testing.T, d *Database, write bool) *Tx {
	t.Helper()
	tx, err := d.Begin(context.Background(), nil, write)
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	return tx.(*Tx)
}

func read(t *testing.T, tx *Tx) (n int) {
	t.Helper()
	rows, err := tx.QueryContext(context.Background(), "SELECT count(*) FROM things")
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		require.NoError(t, rows.Scan(&n))
	}
	return n
}

func TestReaderKeepsItsSnapshotAndCannotWriteFromIt(t *testing.T) {
	ctx := context.Background()
	d := use(t, opened(t, t.TempDir(), things()), "default")
	reader, writer := begin(t, d, false), begin(t, d, false)
	require.Equal(t, 0, read(t, reader))
	require.NoError(t, writer.Write(ctx))
	require.NoError(t, insert(ctx, writer))
	require.ErrorIs(t, reader.Write(ctx), store.ErrStale, "somebody is about to write")
	require.NoError(t, writer.Commit(ctx))
	require.Equal(t, 0, read(t, reader))
	require.ErrorIs(t, reader.Write(ctx), store.ErrStale, "somebody has written")
	require.NoError(t, reader.Rollback(ctx))
	require.Equal(t, 1, number(t, d))
	require.NoError(t, begin(t, d, true).Commit(ctx), "the lock is free again")
}

func TestUpgradesWhereNobodyWrote(t *testing.T) {
	ctx := context.Background()
	d := use(t, opened(t, t.TempDir(), things()), "default")
	tx := begin(t, d, false)
	read(t, tx)
	require.NoError(t, tx.Write(ctx))
	require.NoError(t, tx.Write(ctx))
	require.NoError(t, insert(ctx, tx))
	end, err := tx.Savepoint(ctx, false)
	require.NoError(t, err)
	require.NoError(t, insert(ctx, tx))
	inner, err := tx.Savepoint(ctx, false)
	require.NoError(t, err)
	require.NoError(t, insert(ctx, tx))
	require.NoError(t, inner(true))
	require.NoError(t, end(false))
	require.NoError(t, tx.Commit(ctx))
	require.Equal(t, 1, number(t, d))
	require.Error(t, tx.Commit(ctx))
	require.NoError(t, tx.Rollback(ctx))
	require.Error(t, insert(ctx, tx))
}

func TestAnotherProcessMakesASnapshotStale(t *testing.T) {
	ctx := context.Background()
	path, schema := t.TempDir(), things()
	d, other := use(t, opened(t, path, schema), "default"), use(t, opened(t, path, schema), "default")
	tx := begin(t, d, false)
	read(t, tx)
	foreign := begin(t, other, true)
	require.NoError(t, insert(ctx, foreign))
	require.ErrorIs(t, tx.Write(ctx), store.ErrStale)
	require.NoError(t, foreign.Commit(ctx))
	require.ErrorIs(t, tx.Write(ctx), store.ErrStale)
}

func TestCancelledStatementEndsCleanly(t *testing.T) {
	d := use(t, opened(t, t.TempDir(), things()), "default")
	tx := begin(t, d, true)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err := tx.ExecContext(ctx, "INSERT INTO things (id) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT i FROM n")
	require.Error(t, err)
	require.NoError(t, tx.Rollback(context.Background()))
	again := begin(t, d, true)
	require.NoError(t, insert(context.Background(), again))
	require.NoError(t, again.Commit(context.Background()))
	require.Equal(t, 1, number(t, d))
}

func TestWaitsForAnotherProcess(t *testing.T) {
	ctx := context.Background()
	path, schema := t.TempDir(), things()
	d, other := use(t, opened(t, path, schema), "default"), use(t, opened(t, path, schema), "default")
	holder := begin(t, other, true)
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	_, err := d.Begin(short, nil, true)
	require.Error(t, err, "a cancel is heard")
	released := make(chan error)
	go func() {
		time.Sleep(3 * busyStep)
		released <- holder.Commit(ctx)
	}()
	require.NoError(t, begin(t, d, true).Commit(ctx))
	require.NoError(t, <-released)
}

func TestBaseDriverJoinsOrFails(t *testing.T) {
	ctx := context.Background()
	d := use(t, opened(t, t.TempDir(), things()), "default")
	tx := begin(t, d, true)
	in := tx.With(ctx)
	require.NoError(t, d.Driver().Exec(in, "INSERT INTO things (id) VALUES (7)", []any{}, nil))
	nested, err := d.Driver().Tx(in)
	require.NoError(t, err)
	require.NoError(t, nested.Exec(in, "INSERT INTO things (id) VALUES (8)", []any{}, nil))
	require.NoError(t, nested.Rollback())
	require.Equal(t, 1, read(t, tx))
	bound := tx.Driver()
	foreign, err := bound.Tx(ctx)
	require.NoError(t, err)
	require.ErrorIs(t, foreign.Commit(), database.ErrForeign)
	require.ErrorIs(t, foreign.Rollback(), database.ErrForeign)
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	begun := time.Now()
	require.Error(t, d.Driver().Exec(short, "INSERT INTO things (id) VALUES (9)", []any{}, nil), "outside of the transaction it waits, and not forever")
	require.Less(t, time.Since(begun), 2*busyTimeout)
	require.NoError(t, bound.End(ctx, foreign.Commit))
	require.Equal(t, 1, number(t, d))
}

func TestQueueIsFairAndBounded(t *testing.T) {
	q := &queue{max: 3, patience: time.Minute}
	ctx, cancel := context.WithCancel(context.Background())
	require.True(t, q.try())
	require.False(t, q.try())
	var order []int
	var mu sync.Mutex
	var group sync.WaitGroup
	for i := range 2 {
		group.Go(func() {
			if lock(context.Background(), q) == nil {
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
				q.unlock()
			}
		})
		waiting(t, q, i+1)
	}
	left := make(chan error)
	go func() { left <- lock(ctx, q) }()
	waiting(t, q, 3)
	require.Equal(t, fault.SetBusy, fault.CodeOf(lock(context.Background(), q)))
	cancel()
	require.ErrorIs(t, <-left, context.Canceled)
	q.unlock()
	group.Wait()
	require.Equal(t, []int{0, 1}, order)
	require.True(t, q.try())
	q.patience = time.Millisecond
	require.Equal(t, fault.SetBusy, fault.CodeOf(lock(context.Background(), q)))
}

func lock(ctx context.Context, q *queue) error {
	_, err := q.lock(ctx, "s", false)
	return err
}

func waiting(t *testing.T, q *queue, n int) {
	t.Helper()
	require.Eventually(t, func() bool {
		q.mu.Lock()
		defer q.mu.Unlock()
		return q.waiters.Len() == n
	}, time.Second, time.Millisecond)
}

func TestMigratesWhatIsOlder(t *testing.T) {
	path, schema := t.TempDir(), things()
	d := use(t, opened(t, path, schema), "default")
	require.NoError(t, d.Driver().Exec(context.Background(), "INSERT INTO things (id) VALUES (1)", []any{}, nil))
	newer := things()
	migrations := 0
	newer.Migrate = func(ctx context.Context, set string, drv dialect.Driver) error {
		require.Equal(t, "default", set)
		migrations++
		return drv.Exec(ctx, "ALTER TABLE things ADD COLUMN name TEXT", []any{}, nil)
	}
	newer.Fill = func(context.Context, string, database.Database) error {
		return errors.New("a set with data is never filled")
	}
	for range 2 {
		d = use(t, opened(t, path, newer), "default")
		require.Equal(t, 1, number(t, d))
	}
	require.Equal(t, 1, migrations)
}

func TestTimesAreBoundInUTC(t *testing.T) {
	zone := time.FixedZone("x", 7200)
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, zone)
	args := []any{1, at, &at, (*time.Time)(nil)}
	out := UTC(args)
	require.Equal(t, time.UTC, out[1].(time.Time).Location())
	require.Equal(t, time.UTC, out[2].(time.Time).Location())
	require.Equal(t, zone, args[1].(time.Time).Location(), "the caller's stay as they are")
}

func run1(ctx context.Context, t *testing.T, drv dialect.Driver, statements ...string) {
	t.Helper()
	for _, s := range statements {
		require.NoError(t, drv.Exec(ctx, s, []any{}, nil), s)
	}
}

func TestRebuiltTablesKeepWhatRefersToThem(t *testing.T) {
	ctx := context.Background()
	f := opened(t, t.TempDir(), things())
	d := use(t, f, "default")
	run1(ctx, t, d.Driver(), "CREATE TABLE parts (id INTEGER PRIMARY KEY, thing INTEGER REFERENCES things (id) ON DELETE CASCADE)",
		"INSERT INTO things (id) VALUES (1)", "INSERT INTO parts VALUES (1, 1)")
	require.NoError(t, f.Change(ctx, "default", func(ctx context.Context, drv dialect.Driver) error {
		run1(ctx, t, drv, "CREATE TABLE new_things (id INTEGER PRIMARY KEY, at DATETIME)", "INSERT INTO new_things SELECT id, at FROM things", "DROP TABLE things", "ALTER TABLE new_things RENAME TO things")
		return nil
	}))
	var parts int
	require.NoError(t, d.db.QueryRow("SELECT count(*) FROM parts").Scan(&parts))
	require.Equal(t, 1, parts)
	err := f.Change(ctx, "default", func(ctx context.Context, drv dialect.Driver) error {
		run1(ctx, t, drv, "DELETE FROM things")
		return nil
	})
	require.ErrorContains(t, errors.Unwrap(err), "rows of parts would refer to rows of things that do not exist")
	require.Equal(t, 1, number(t, d))
	require.Equal(t, fault.UnknownSet, fault.CodeOf(f.Change(ctx, "nowhere", nil)))
	require.Equal(t, fault.UnknownSet, fault.CodeOf(f.Look(ctx, "nowhere", nil)))
	require.Error(t, f.Look(ctx, "default", func(ctx context.Context, drv dialect.Driver) error {
		return drv.Exec(ctx, "DELETE FROM things", []any{}, nil)
	}), "a look changes nothing")
}

func TestOneSlowMigrationHoldsUpNoOtherSet(t *testing.T) {
	path, schema := t.TempDir(), things()
	for _, set := range []string{"slow", "fast"} {
		use(t, opened(t, path, schema), set)
	}
	newer := things()
	begun, end := make(chan struct{}), make(chan struct{})
	newer.Migrate = func(_ context.Context, set string, _ dialect.Driver) error {
		if set == "slow" {
			close(begun)
			<-end
		}
		return nil
	}
	newer.Fill = func(_ context.Context, set string, _ database.Database) error { return nil }
	f, other := opened(t, path, newer), opened(t, path, newer)
	slow := make(chan error)
	go func() {
		_, _, release, err := f.Use(context.Background(), "slow")
		if err == nil {
			release()
		}
		slow <- err
	}()
	<-begun
	use(t, f, "fast")
	use(t, other, "fresh")
	short, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, _, _, err := other.Use(short, "slow")
	require.ErrorIs(t, err, context.DeadlineExceeded, "the same set waits")
	close(end)
	require.NoError(t, <-slow)
	use(t, other, "slow")
}
