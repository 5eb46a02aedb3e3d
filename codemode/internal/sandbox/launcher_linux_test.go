package sandbox

import (
	"bytes"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/koan-go/koan/codemode/worker"
)

// launchers lists the launchers among this process's children.
func launchers(t *testing.T) (pids []int) {
	t.Helper()
	for _, child := range children() {
		line, err := os.ReadFile("/proc/" + child + "/cmdline")
		if err == nil && bytes.Contains(line, []byte(worker.LauncherArgs(nil)[0])) {
			pid, err := strconv.Atoi(child)
			require.NoError(t, err)
			pids = append(pids, pid)
		}
	}
	return pids
}

// withLauncher returns a sandbox whose launcher has started a worker, and the launcher's
// process id, 0 on a system without namespaces, where there is no launcher.
func withLauncher(t *testing.T, log *slog.Logger) (*Sandbox, int) {
	t.Helper()
	before := launchers(t)
	s := sandboxWith(t, Options{PoolSize: 2, Log: log})
	require.NoError(t, s.Warm(t.Context()))
	if !strings.Contains(s.Isolation(), worker.LayerNamespaces) {
		require.Equal(t, before, launchers(t))
		return s, 0
	}
	for _, pid := range launchers(t) {
		if !slices.Contains(before, pid) {
			return s, pid
		}
	}
	require.Fail(t, "there is no launcher")
	return nil, 0
}

// TestLauncherStartsWorkers checks that one launcher starts all workers, as children of this
// process, and that they are confined like the first one.
func TestLauncherStartsWorkers(t *testing.T) {
	s, pid := withLauncher(t, nil)
	for _, who := range []string{"ann", "bob", "eve", "joe"} {
		r, _ := executeWithPID(t, s, of(who, "1"))
		require.Nil(t, r.Fault)
	}
	require.NoError(t, s.Warm(t.Context()))
	s.pool.mu.Lock()
	alive := len(s.pool.all)
	for p := range s.pool.all {
		require.Contains(t, children(), strconv.Itoa(p.proc.Pid))
		require.Equal(t, s.Isolation(), p.ready.Isolation)
	}
	s.pool.mu.Unlock()
	require.GreaterOrEqual(t, alive, 5)
	if pid != 0 {
		require.Contains(t, launchers(t), pid)
	}

	for range 3 { // the launcher has started the present workers
		checks, err := s.SelfTest(t.Context())
		require.NoError(t, err)
		for _, c := range checks {
			require.True(t, c.OK, "%+v", c)
		}
	}
	require.NoError(t, s.Close())
	require.NotContains(t, launchers(t), pid)
}

// TestHostStartsWorkersWithoutLauncher kills the launcher: the host starts workers directly
// then, and logs that once.
func TestHostStartsWorkersWithoutLauncher(t *testing.T) {
	var log bytes.Buffer
	s, pid := withLauncher(t, slog.New(slog.NewTextHandler(&log, nil)))
	if pid == 0 {
		return
	}
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	require.Eventually(t, func() bool {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		return err != nil || strings.Contains(string(stat), ") Z ")
	}, 5*time.Second, time.Millisecond)
	for _, who := range []string{"ann", "bob", "eve", "joe"} {
		r, _ := executeWithPID(t, s, of(who, "1"))
		require.Nil(t, r.Fault)
	}
	require.NoError(t, s.Warm(t.Context()))
	require.NotContains(t, launchers(t), pid)
	require.NoError(t, s.Close())
	require.Equal(t, 1, strings.Count(log.String(), "the launcher of workers failed"), log.String())
}

// TestLateWorkerIsReaped has a launcher answer after its timeout: abandon reaps the worker
// that it started.
func TestLateWorkerIsReaped(t *testing.T) {
	runtime.LockOSThread() // the launcher dies with its thread
	defer runtime.UnlockOSThread()
	before := children()
	added := func() []string {
		return slices.DeleteFunc(children(), func(pid string) bool { return slices.Contains(before, pid) })
	}
	root, err := removedDir()
	require.NoError(t, err)
	defer root.Close()
	l, err := newLauncher(program{exec: selfExecutable("")}, nil, root)
	require.NoError(t, err)
	require.NoError(t, l.process.Signal(syscall.SIGSTOP))
	late := unix.NsecToTimeval((50 * time.Millisecond).Nanoseconds())
	require.NoError(t, unix.SetsockoptTimeval(l.socket, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &late))
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	require.NoError(t, err)
	defer null.Close()
	_, err = l.start([3]*os.File{null, null, null})
	require.ErrorIs(t, err, unix.EAGAIN)
	require.Len(t, added(), 1, "the launcher")

	require.NoError(t, l.process.Signal(syscall.SIGCONT))
	require.Eventually(t, func() bool { return len(added()) == 2 }, 10*time.Second, time.Millisecond, "and the worker, running or not")
	l.abandon()
	require.Eventually(t, func() bool { return len(added()) == 0 }, 10*time.Second, time.Millisecond)
}
