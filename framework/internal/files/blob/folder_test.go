package blob_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/internal/files/blob"
)

// A server that deletes the last blob of a folder removes the folder, while others put blobs there.
func TestFoldersComeAndGo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var servers sync.WaitGroup
	for n := range 4 {
		server, err := blob.OpenFolder(dir)
		require.NoError(t, err)
		servers.Go(func() {
			name := fmt.Sprintf("runs/one/%d", n)
			for range 200 {
				if err := errors.Join(server.Write(context.Background(), name, []byte("here")), server.Delete(context.Background(), name)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	servers.Wait()
}

func TestPutNeedsItsSpool(t *testing.T) {
	t.Parallel()
	folder, err := blob.OpenFolder(t.TempDir())
	require.NoError(t, err)
	spool, err := folder.Spool()
	require.NoError(t, err)
	require.NoError(t, os.Remove(spool.Name()))
	require.ErrorIs(t, folder.Put(t.Context(), "runs/one/a", spool, ""), fs.ErrNotExist)
	_, err = folder.Read(t.Context(), "runs/one/a")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// Another server that starts removes what a killed one was writing, and nothing else.
func TestStartRemovesAbandonedUploads(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server, err := blob.OpenFolder(dir)
	require.NoError(t, err)
	spool, err := server.Spool()
	require.NoError(t, err)
	_, err = spool.WriteString("here")
	require.NoError(t, err)
	left := filepath.Join(dir, "new", "upload-1")
	require.NoError(t, os.WriteFile(left, []byte("half"), 0o600))
	_, err = blob.OpenFolder(dir)
	require.NoError(t, err)
	require.NoFileExists(t, left)
	require.NoError(t, server.Put(t.Context(), "runs/one/a", spool, ""))
	kept, err := server.Read(t.Context(), "runs/one/a")
	require.NoError(t, err)
	require.Equal(t, "here", string(kept))
}
