package sqlitedriver

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// locksOn counts the POSIX locks that this process has on a file.
func locksOn(t *testing.T, path string) (n int) {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	all, err := os.ReadFile("/proc/locks")
	require.NoError(t, err)
	inode := ":" + strconv.FormatUint(info.Sys().(*syscall.Stat_t).Ino, 10) + " "
	for line := range strings.Lines(string(all)) {
		if strings.Contains(line, " "+strconv.Itoa(os.Getpid())+" ") && strings.Contains(line, inode) {
			n++
		}
	}
	return n
}

// Whoever looks at a file that is open here must not close a descriptor of it: SQLite's locks
// would go with it.
func TestFilesKeepTheirLocks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	looked := 0
	look := func() bool {
		ran, err := Apart(path, func() error {
			looked++
			f, err := os.Open(path)
			if err != nil {
				return err
			}
			return f.Close()
		})
		require.NoError(t, err)
		return ran
	}
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.True(t, look())

	db := Open("file:" + path + "?mode=rw&_journal_mode=WAL")
	_, err := db.Exec("CREATE TABLE t (a)")
	require.NoError(t, err)
	before := locksOn(t, path)
	require.Positive(t, before, "a file in WAL mode is locked while it is open")
	require.False(t, look())
	require.NoError(t, os.Rename(path, path+".moved"))
	require.NoError(t, os.Symlink(path+".moved", path))
	require.False(t, look(), "it is the same file by another name")
	require.Equal(t, 1, looked)
	require.Equal(t, before, locksOn(t, path))

	require.NoError(t, db.Close())
	require.True(t, look())
	require.Empty(t, openFiles.files)
}
