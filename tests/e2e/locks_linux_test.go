package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// isLocked reports whether a process has a POSIX lock on a file.
func isLocked(t *testing.T, pid int, path string) bool {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	all, err := os.ReadFile("/proc/locks")
	require.NoError(t, err)
	inode := ":" + strconv.FormatUint(info.Sys().(*syscall.Stat_t).Ino, 10) + " "
	for line := range strings.Lines(string(all)) {
		if strings.Contains(line, " POSIX ") && strings.Contains(line, " "+strconv.Itoa(pid)+" ") && strings.Contains(line, inode) {
			return true
		}
	}
	return false
}

// A server that was asked how it is still has its files locked. Without these locks a program that
// reads a file and goes, such as a backup, takes the file for its own and removes its log, and what
// the server writes from then on is lost.
func TestReadinessKeepsLocks(t *testing.T) {
	t.Parallel()
	w := newApp(t).web()
	status, _ := w.call("todo.upsert", `{"model":{"title":"x"}}`)
	require.Equal(t, http.StatusOK, status)
	files := []string{filepath.Join(w.data, "default.db"), filepath.Join(w.data, "koan.ledger")}
	for _, file := range files {
		require.True(t, isLocked(t, w.cmd.Process.Pid, file), file)
	}
	w.ready(http.StatusOK, "ready")
	for _, file := range files {
		require.True(t, isLocked(t, w.cmd.Process.Pid, file), "%s after /readyz", file)
	}
}
