package sqlite

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/database/sqlitedriver"
	"github.com/koan-go/koan/framework/fault"
)

// A copy has what was committed when it was made, while somebody writes; and it is a set's file again.
func TestCopiesAreOfOneMoment(t *testing.T) {
	ctx := context.Background()
	schema := things()
	f := opened(t, t.TempDir(), schema)
	d := use(t, f, "one")
	first := begin(t, d, true)
	require.NoError(t, insert(ctx, first))
	require.NoError(t, first.Commit(ctx))
	open := begin(t, d, true)
	require.NoError(t, insert(ctx, open))

	path := t.TempDir()
	draft := filepath.Join(path, "draft")
	require.NoError(t, f.Copies().CopyTo(ctx, "one", draft))
	require.NoError(t, open.Commit(ctx))
	require.Equal(t, 2, number(t, d))
	require.Equal(t, fault.UnknownSet, fault.CodeOf(f.Copies().CopyTo(ctx, "two", filepath.Join(path, "x"))))

	other := opened(t, path, schema)
	require.NoError(t, other.Copies().Admit(ctx, "one", draft))
	require.NoFileExists(t, draft)
	require.Equal(t, 1, number(t, use(t, other, "one")))
}

// The files of a set that a process has open stay where they are.
func TestFilesInUseAreNotMovedAway(t *testing.T) {
	ctx := context.Background()
	path, aside := t.TempDir(), t.TempDir()
	f, err := OpenFolder(path, things(), SyncFull)
	require.NoError(t, err)
	_, _, release, err := f.Use(ctx, "one")
	require.NoError(t, err)
	reader := sqlitedriver.Open(dsn(f.file("one"), busyTimeout, SyncFull))
	require.NoError(t, reader.QueryRow("SELECT count(*) FROM things").Scan(new(int)))
	release()
	require.NoError(t, f.Close())

	f = opened(t, path, things())
	require.Equal(t, fault.SetBusy, fault.CodeOf(f.Copies().Retire(ctx, aside)))
	require.FileExists(t, f.file("one"))
	require.NoError(t, reader.Close())
	require.NoError(t, f.Copies().Retire(ctx, aside))
	require.NoFileExists(t, f.file("one"))
	require.FileExists(t, filepath.Join(aside, "one.db"))
	left, err := os.ReadDir(path)
	require.NoError(t, err)
	require.Empty(t, left)
}
