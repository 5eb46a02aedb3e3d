package e2e

import (
	"net/http"
	"strings"
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
	for arguments, full := range map[string]string{
		`{"code":"SDK.Files.create({name: 'a.txt', type: 'text/plain', text: 'x'.repeat(8192)})"}`: "the disk of the files is full",
		`{"code":"SDK.Entities.Todo.upsert({title: 'x'})","idempotencyKey":"once"}`:                "the disk of the ledger is full",
	} {
		_, answer := w.call("koan.code.execute", arguments)
		f := answer["error"].(map[string]any)
		require.Equal(t, "service_unavailable", f["code"], "%v", f)
		require.Equal(t, full, f["message"])
		require.Contains(t, f["hint"], "Free space on the disk")
	}
	require.NoError(t, unix.Prlimit(pid, unix.RLIMIT_FSIZE, &before, nil))
	w.ready(http.StatusOK, "ready")
	require.Eventually(t, func() bool {
		return contains(w.stderr.String(), "not ready: the data folder cannot be written", "ready again")
	}, 5*time.Second, 50*time.Millisecond)
}

// TestRunOfAnAppThatCannotStart has exactly one line, whatever it is that keeps the app from
// starting: here it may open few files.
func TestRunOfAnAppThatCannotStart(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	require.Zero(t, a.exec("1", "run", "-").status)
	for _, files := range []string{"8", "10", "12", "14"} {
		cmd := a.command(t.Context(), "run", "-")
		cmd.Args = append([]string{"sh", "-c", "ulimit -n " + files + `; exec "$0" "$@"`, cmd.Path}, cmd.Args[1:]...)
		cmd.Path = "/bin/sh"
		var out, errs strings.Builder
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("1"), &out, &errs
		require.Error(t, cmd.Run())
		l := a.lineOf(result{cmd.ProcessState.ExitCode(), out.String(), errs.String()})
		require.Equal(t, []any{false, "service_unavailable"}, []any{l.Result.OK, l.Result.Error.Code}, "%s files: %s", files, &errs)
		require.Equal(t, 1, cmd.ProcessState.ExitCode())
	}
}
