package sqlite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"entgo.io/ent/dialect"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/fault"
)

func TestManyProcessesCreateASetOnce(t *testing.T) {
	path, schema := t.TempDir(), things()
	var filled atomic.Int32
	schema.Fill = func(ctx context.Context, set string, d database.Database) error {
		filled.Add(1)
		time.Sleep(20 * time.Millisecond)
		return d.Driver().Exec(ctx, "INSERT INTO things (id) VALUES (1)", []any{}, nil)
	}
	var group sync.WaitGroup
	for range 4 {
		f := opened(t, path, schema)
		for range 3 {
			group.Go(func() {
				d, _, release, err := f.Use(context.Background(), "default")
				require.NoError(t, err)
				defer release()
				require.Equal(t, 1, number(t, d))
			})
		}
	}
	group.Wait()
	require.EqualValues(t, 1, filled.Load())
	header, err := os.ReadFile(filepath.Join(path, "default.db"))
	require.NoError(t, err)
	require.Equal(t, []byte{2, 2}, header[18:20], "in WAL mode from its first day, so that nobody has to change it")
	left, err := os.ReadDir(path)
	require.NoError(t, err)
	for _, file := range left {
		require.NotContains(t, file.Name(), "creating")
		require.NotContains(t, file.Name(), "template")
	}
}

func TestClosesIdleSets(t *testing.T) {
	f := opened(t, t.TempDir(), things())
	first := use(t, f, "first") // stays in use
	for i := range maxOpen + 10 {
		_, _, release, err := f.Use(context.Background(), fmt.Sprintf("set-%d", i))
		require.NoError(t, err)
		release()
		release()
	}
	require.LessOrEqual(t, f.opened.Len(), maxOpen)
	require.Equal(t, 0, number(t, first))
	sets, err := f.Sets(context.Background())
	require.NoError(t, err)
	require.Len(t, sets, maxOpen+11)
	_, _, release, err := f.Use(context.Background(), "set-0")
	require.NoError(t, err)
	release()
	_, _, _, err = f.Use(context.Background(), "../x")
	require.Equal(t, fault.UnknownSet, fault.CodeOf(err))
}

func TestBrokenFileIsAFault(t *testing.T) {
	f := opened(t, t.TempDir(), things())
	require.NoError(t, os.WriteFile(filepath.Join(f.path, "bad.db"), []byte("this is no database, but it is long enough to look like a file"), 0o600))
	_, _, _, err := f.Use(context.Background(), "bad")
	require.Equal(t, fault.ServiceUnavailable, fault.CodeOf(err))
	require.ErrorContains(t, err, "bad")
	b, err := os.ReadFile(f.file("bad"))
	require.NoError(t, err)
	require.Contains(t, string(b), "no database", "what is there is never overwritten")
}

// TestLostSetIsNotCreatedAnew removes the file of a set that another start of the app created, for
// each way by which a set comes into being, and whatever is left of it.
func TestLostSetIsNotCreatedAnew(t *testing.T) {
	ctx, dir, schema := t.Context(), t.TempDir(), things()
	f, err := OpenFolder(dir, schema, SyncFull)
	require.NoError(t, err)
	ledger, err := f.Own(ctx, nil)
	require.NoError(t, err)
	require.NoError(t, ledger.Close())
	_, _, release, err := f.Use(ctx, "used")
	require.NoError(t, err)
	release()
	d, _, release, err := f.Draft(ctx, "drafted")
	require.NoError(t, err)
	tx, err := d.Begin(ctx, nil, true)
	require.NoError(t, err)
	require.NoError(t, d.Publish(ctx))
	require.NoError(t, tx.Commit(ctx))
	release()
	require.NoError(t, f.Close())
	for _, set := range []string{"used", "drafted"} {
		require.NoError(t, os.Remove(f.file(set)))
		f := opened(t, dir, schema)
		refused := func(why string) {
			t.Helper()
			_, _, _, using := f.Use(ctx, set)
			_, _, _, drafting := f.Draft(ctx, set)
			looking := f.Look(ctx, set, func(context.Context, dialect.Driver) error { return nil })
			for _, err := range []error{using, drafting, looking} {
				require.Equal(t, fault.ServiceUnavailable, fault.CodeOf(err), "%v", err)
				require.ErrorContains(t, err, why)
			}
			require.NoFileExists(t, f.file(set))
		}
		refused(set + ".db, is missing")
		lost, err := f.Lost(ctx)
		require.NoError(t, err)
		require.Len(t, lost, 1)
		require.Contains(t, lost[0].Message, set+".db, is missing")
		require.NoError(t, os.WriteFile(f.file(set)+"-wal", []byte("log"), 0o600))
		refused("its log is there")
		require.NoError(t, os.Remove(f.file(set)+"-wal"))
		require.NoError(t, os.Remove(f.markOf(set)))
		use(t, f, set) // it was given up
	}
}

// TestSetsBeginAnewWithoutLedger checks that a folder from which all data was removed is a new one.
func TestSetsBeginAnewWithoutLedger(t *testing.T) {
	dir, schema := t.TempDir(), things()
	f, err := OpenFolder(dir, schema, SyncFull)
	require.NoError(t, err)
	use(t, f, "default")
	require.NoError(t, f.Close())
	require.NoError(t, os.Remove(f.file("default")))
	use(t, opened(t, dir, schema), "default")
}

// TestNewConnectionsCreateNoFile checks that a connection that the pool adds does not put an empty
// file where the set's was.
func TestNewConnectionsCreateNoFile(t *testing.T) {
	f := opened(t, t.TempDir(), things())
	d := use(t, f, "s")
	first, err := d.db.Conn(t.Context())
	require.NoError(t, err)
	defer first.Close()
	require.NoError(t, os.Rename(f.file("s"), f.file("s")+".kept"))
	_, err = d.db.Conn(t.Context())
	require.ErrorContains(t, err, "is gone while the app had it open")
	require.NoFileExists(t, f.file("s"))
	require.NoError(t, os.Rename(f.file("s")+".kept", f.file("s")))
	require.Zero(t, number(t, d))
}

// What a process leaves that dies over a draft is removed by a later start, and a
// draft that may be in use is not.
func TestAbandonedDraftsAreRemoved(t *testing.T) {
	dir := t.TempDir()
	f := opened(t, dir, things())
	d, _, release, err := f.Draft(t.Context(), "tenant-1")
	require.NoError(t, err)
	defer release()
	old := filepath.Join(dir, ".draft-1")
	require.NoError(t, os.Mkdir(old, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(old, "x.db"), nil, 0o600))
	used := d.(*Draft).dir
	for _, path := range []string{old, used} {
		require.NoError(t, os.Chtimes(path, time.Now(), time.Now().Add(-25*time.Hour)))
	}
	opened(t, dir, things())
	require.NoDirExists(t, old)
	require.DirExists(t, used)
	require.NoError(t, os.Mkdir(old, 0o700))
	opened(t, dir, things())
	require.NoDirExists(t, old, "also one that is new")
}

// A draft whose connections are still in use does not move: what they wrote would stay
// behind.
func TestDraftInUseDoesNotMove(t *testing.T) {
	f := opened(t, t.TempDir(), things())
	d, _, release, err := f.Draft(t.Context(), "tenant-1")
	require.NoError(t, err)
	defer release()
	tx, err := d.Begin(t.Context(), nil, true)
	require.NoError(t, err)
	require.NoError(t, insert(t.Context(), tx.(*Tx)))
	require.NoError(t, d.Publish(t.Context()))
	other, err := d.(*Draft).db.Conn(t.Context())
	require.NoError(t, err)
	defer other.Close()
	require.Equal(t, fault.ServiceUnavailable, fault.CodeOf(tx.Commit(t.Context())))
	require.NoFileExists(t, f.file("tenant-1"))
}
