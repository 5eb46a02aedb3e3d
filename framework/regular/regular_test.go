//go:build unix

package regular

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// populate fills a folder with one entry of each kind. None of the pipes has anybody at its other end.
func populate(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "kinds") // short enough for the path of a socket
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	in := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.WriteFile(in("file"), []byte("12345"), 0o600))
	require.NoError(t, os.Symlink("file", in("link")))
	require.NoError(t, os.Symlink("loop", in("loop")))
	require.NoError(t, os.Symlink("pipe", in("pipe-link")))
	require.NoError(t, os.Symlink("/dev/zero", in("device")))
	require.NoError(t, os.Mkdir(in("folder"), 0o700))
	require.NoError(t, syscall.Mkfifo(in("pipe"), 0o600))
	l, err := net.Listen("unix", in("socket"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return dir
}

func TestOnlyRegularFilesAreRead(t *testing.T) {
	dir := populate(t)
	for name, want := range map[string]string{
		"file": "", "link": "",
		"pipe": "is a named pipe", "pipe-link": "is a named pipe", "socket": "is a socket", "device": "is a device",
		"folder": "is a folder", "loop": "too many levels of symbolic links", "missing": "no such file",
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, name)
			raw, err := ReadFile(path, 5)
			viaDir, errDir := fs.ReadFile(Dir(dir), name)
			if want == "" {
				require.NoError(t, errors.Join(err, errDir))
				require.Equal(t, "12345", string(raw))
				require.Equal(t, raw, viaDir)
				return
			}
			require.ErrorContains(t, err, path)
			require.ErrorContains(t, err, want)
			require.ErrorContains(t, errDir, want)
		})
	}
}

func TestReadFileIsBounded(t *testing.T) {
	path := filepath.Join(populate(t), "file")
	_, err := ReadFile(path, 4)
	require.EqualError(t, err, path+": is larger than 4 bytes")
}

func TestPipesOfWhoeverStartedTheProgramAreRead(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	_, err = w.WriteString("from a shell")
	require.NoError(t, errors.Join(err, w.Close()))
	for range 2 { // a configuration is read at a reload too
		raw, err := ReadFile(fmt.Sprintf("/dev/fd/%d", r.Fd()), 100)
		require.NoError(t, err)
		require.Equal(t, "from a shell", string(raw))
	}
}

func TestReadDirDoesNotWait(t *testing.T) {
	dir := populate(t)
	entries, err := ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 8)
	require.Equal(t, "device", entries[0].Name())
	_, err = ReadDir(filepath.Join(dir, "pipe"))
	require.ErrorContains(t, err, "not a directory")
}
