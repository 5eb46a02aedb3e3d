package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/worker"
)

// vitalsVariable names the file that the fixture app tells its goroutines and its
// heap in, at each SIGUSR2. No other app can be asked.
const vitalsVariable = "KOANTEST_VITALS"

func init() {
	path := os.Getenv(vitalsVariable)
	if path == "" || os.Getenv(asFixture) == "" {
		return
	}
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR2)
	go func() {
		for range asked {
			if err := tellVitals(path); err != nil {
				fmt.Fprintln(os.Stderr, "vitals:", err)
			}
		}
	}()
}

// tellVitals writes the file as a whole: who waits for it never sees a part.
func tellVitals(path string) error {
	debug.FreeOSMemory() // and collects
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	var stacks strings.Builder
	if err := pprof.Lookup("goroutine").WriteTo(&stacks, 1); err != nil {
		return err
	}
	raw, err := json.Marshal(vitals{Goroutines: runtime.NumGoroutine(), Heap: int64(m.HeapAlloc), Stacks: stacks.String()})
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", raw, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// vitals are what a server holds.
type vitals struct {
	Goroutines int
	Heap       int64  // bytes in use after a collection
	Stacks     string // of the goroutines, for who looks for a leak

	resident    int64 // bytes, after what is free was given back
	descriptors []string
	workers     int // processes that it started
}

// String leaves the stacks out.
func (v vitals) String() string {
	return fmt.Sprintf("%d goroutines, %.1f MB of heap, %.1f MB resident, %d descriptors, %d workers",
		v.Goroutines, float64(v.Heap)/(1<<20), float64(v.resident)/(1<<20), len(v.descriptors), v.workers)
}

// vitalsApp is an app whose servers report their vitals.
func vitalsApp(t *testing.T) (a *app, look func(cmd *exec.Cmd) vitals) {
	t.Helper()
	a = newApp(t)
	path := filepath.Join(t.TempDir(), "vitals.json")
	a.env = append(a.env, vitalsVariable+"="+path)
	return a, func(cmd *exec.Cmd) vitals {
		t.Helper()
		_ = os.Remove(path)
		require.NoError(t, cmd.Process.Signal(syscall.SIGUSR2))
		var v vitals
		require.Eventually(t, func() bool {
			raw, err := os.ReadFile(path)
			return err == nil && json.Unmarshal(raw, &v) == nil
		}, time.Minute, 5*time.Millisecond)
		proc := "/proc/" + strconv.Itoa(cmd.Process.Pid)
		statm, err := os.ReadFile(proc + "/statm")
		require.NoError(t, err)
		pages, err := strconv.ParseInt(strings.Fields(string(statm))[1], 10, 64)
		require.NoError(t, err)
		v.resident = pages * int64(os.Getpagesize())
		names, err := os.ReadDir(proc + "/fd")
		require.NoError(t, err)
		for _, n := range names {
			if to, err := os.Readlink(proc + "/fd/" + n.Name()); err == nil {
				v.descriptors = append(v.descriptors, to)
			}
		}
		v.workers = len(workersOf(t, cmd.Process.Pid))
		return v
	}
}

// childrenOf lists the processes that a process started and that are there yet.
func childrenOf(t *testing.T, pid int) []string {
	t.Helper()
	var out []string
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	require.NoError(t, err)
	for _, task := range tasks {
		raw, _ := os.ReadFile(task) // a thread may end meanwhile
		out = append(out, strings.Fields(string(raw))...)
	}
	return out
}

// workersOf lists the workers of a server. What starts them is its child, too, and stays.
func workersOf(t *testing.T, pid int) []string {
	t.Helper()
	return slices.DeleteFunc(childrenOf(t, pid), func(child string) bool { return !strings.Contains(commandLine(child), worker.Marker) })
}

// commandLine is that of a process, "" for one that is gone.
func commandLine(pid string) string {
	raw, _ := os.ReadFile("/proc/" + pid + "/cmdline")
	return strings.ReplaceAll(string(raw), "\x00", " ")
}
