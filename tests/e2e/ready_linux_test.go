package e2e

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestReadinessWithFullDisk: a limit on the size of the process's files
// stands for the full disk.
func TestReadinessWithFullDisk(t *testing.T) {
	t.Parallel()
	w := newApp(t).web()
	w.ready(http.StatusOK, "ready")
	pid := w.cmd.Process.Pid
	var before unix.Rlimit
	require.NoError(t, unix.Prlimit(pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 4096, Max: unix.RLIM_INFINITY}, &before))
	w.ready(http.StatusServiceUnavailable, "the data folder cannot be written: file too large")
	w.healthy()
	require.NoError(t, unix.Prlimit(pid, unix.RLIMIT_FSIZE, &before, nil))
	w.ready(http.StatusOK, "ready")
	require.Eventually(t, func() bool {
		return contains(w.stderr.String(), "not ready: the data folder cannot be written", "ready again")
	}, 5*time.Second, 50*time.Millisecond)
}
