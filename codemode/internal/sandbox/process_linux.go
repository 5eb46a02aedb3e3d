package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/codemode/worker"
)

// pipe returns both ends of a pipe to or from a worker, in blocking mode: whoever serves a
// running script waits for nothing else, and the runtime's poller would take three times as
// long to pass a message to and fro. A reader is released by the worker's end.
func pipe() (r, w *os.File, err error) {
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, os.NewSyscallError("pipe2", err)
	}
	return os.NewFile(uintptr(ends[0]), "|0"), os.NewFile(uintptr(ends[1]), "|1"), nil
}

// selfExecutable returns a path to this executable that stays valid if its file is replaced.
func selfExecutable(string) string { return "/proc/self/exe" }

// pin opens a program, so that it can be started even if its file is replaced.
func pin(path string) program {
	f, err := os.Open(path)
	if err != nil {
		return program{path: path, exec: path} // starting it reports the error
	}
	return program{path: path, exec: "/proc/self/fd/" + strconv.Itoa(int(f.Fd())), open: f}
}

// spawner starts the workers of a pool. It belongs to one thread.
type spawner struct {
	interpreter *Interpreter // nil for workers of this build
	attr        *syscall.SysProcAttr
	rootDir     *os.File // the empty directory that becomes the workers' root, or nil
	// launcher starts all workers but the first, which is started directly to show whether
	// the layers work; nil if it is not running.
	launcher *launcher
	started  bool // a worker was started
	direct   bool // do not use a launcher: one has failed
}

// newSpawner returns a spawner for layers. It must be called on the thread that starts the
// workers: with Landlock it restricts this thread, and the parent death signal that kills
// workers follows the thread rather than the process.
func newSpawner(program program, layers []string, of *Interpreter) (*spawner, error) {
	if of != nil {
		return &spawner{interpreter: of, attr: of.Attr}, nil
	}
	s := &spawner{attr: worker.Attributes(layers)}
	namespaced := slices.Contains(layers, worker.LayerNamespaces)
	if namespaced {
		root, err := removedDir()
		if err != nil {
			return nil, fmt.Errorf("namespaces: an empty directory: %w", err)
		}
		s.rootDir = root
	}
	if slices.Contains(layers, worker.LayerLandlock) {
		if err := restrictThread(program.exec, namespaced); err != nil {
			s.close()
			return nil, fmt.Errorf("landlock: %w", err)
		}
	}
	return s, nil
}

// start starts a worker: through the launcher if it gets namespaces, since then the system
// would copy the host's page tables, else directly. If the launcher fails it is not used
// again and start returns errLauncher. It does not retry by itself, because the launcher may
// have passed the files on.
func (s *spawner) start(program program, layers []string, files [3]*os.File, log *slog.Logger) (*os.Process, error) {
	if s.rootDir != nil && s.started && !s.direct {
		p, err := s.startByLauncher(program, layers, files)
		if err == nil {
			return p, nil
		}
		log.Warn("the launcher of workers failed: workers start more slowly from now on", "error", err)
		s.direct = true
		if s.launcher != nil {
			s.launcher.abandon()
			s.launcher = nil
		}
		return nil, errLauncher
	}
	dir := "/"
	if s.rootDir != nil {
		dir = "/proc/self/fd/" + strconv.Itoa(int(s.rootDir.Fd()))
	}
	args := worker.Args(layers)
	if s.interpreter != nil {
		args = s.interpreter.Args()
	}
	p, err := startProcess(program, args, files, dir, s.attr)
	s.started = s.started || err == nil
	return p, err
}

// removedDir returns an open directory that has been removed: every user may enter it, and
// nothing can be created in it.
func removedDir() (*os.File, error) {
	path, err := os.MkdirTemp("", "koan-root-")
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	return f, errors.Join(err, os.Chmod(path, 0o555), os.Remove(path))
}

func (s *spawner) startByLauncher(program program, layers []string, files [3]*os.File) (*os.Process, error) {
	if s.launcher == nil {
		l, err := newLauncher(program, layers, s.rootDir)
		if err != nil {
			return nil, err
		}
		s.launcher = l
	}
	return s.launcher.start(files)
}

func (s *spawner) close() {
	if s == nil {
		return
	}
	if s.launcher != nil {
		s.launcher.close()
	}
	if s.rootDir != nil {
		_ = s.rootDir.Close()
	}
}

// asOverhead is the address space that a worker may use beyond its memory limit, in bytes:
// the runtime reserves arenas of 64 MB.
const asOverhead = 80 << 20

// limit sets rlimits on the worker's memory and CPU time from outside, where it cannot raise
// them. It returns an error unless all of them are set.
func (p *process) limit(l wire.Limits) error {
	if p.interpreter != nil { // it has set its own
		return nil
	}
	if p.ready.DataBytes <= 0 || p.ready.SizeBytes <= 0 {
		return fmt.Errorf("sandbox: the worker could not measure itself")
	}
	data := uint64(p.ready.DataBytes + l.MemoryBytes)
	size := uint64(p.ready.SizeBytes + l.MemoryBytes + asOverhead)
	// In seconds, well above the host's own limit: it counts the threads of the collector
	// too, and is only a backstop in case the host fails to kill.
	cpu := uint64(l.CPUMs/1000*4 + 5)
	for resource, most := range map[int]uint64{unix.RLIMIT_DATA: data, unix.RLIMIT_AS: size, unix.RLIMIT_CPU: cpu} {
		if err := unix.Prlimit(p.proc.Pid, resource, &unix.Rlimit{Cur: most, Max: most}, nil); err != nil {
			return fmt.Errorf("sandbox: limit %d of the worker: %w", resource, err)
		}
	}
	return nil
}

// meter reads a worker's resident set and thread count from /proc. Files that are not
// available are nil.
type meter struct{ statm, status, task *os.File }

func newMeter(pid int) *meter {
	of := "/proc/" + strconv.Itoa(pid)
	statm, _ := os.Open(of + "/statm")
	status, _ := os.Open(of + "/status")
	task, _ := os.Open(of + "/task")
	return &meter{statm, status, task}
}

func (m *meter) close() {
	for _, f := range []*os.File{m.statm, m.status, m.task} {
		if f != nil {
			_ = f.Close()
		}
	}
}

// resident returns the resident set in bytes, 0 if it is not available.
func (m *meter) resident() int64 {
	if m.statm == nil {
		return 0
	}
	var b [128]byte
	n, _ := m.statm.ReadAt(b[:], 0)
	fields := bytes.Fields(b[:n])
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(string(fields[1]), 10, 64)
	return pages * int64(os.Getpagesize())
}

// threads returns how many threads the worker has, 0 if it is not available.
func (m *meter) threads() int {
	if m.task == nil {
		return 0
	}
	info, err := m.task.Stat() // unlike Fd, safe while another goroutine closes it
	if err != nil {
		return 0
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return int(s.Nlink) - 2 // a directory's links to itself
}

// peak returns the largest resident set so far in bytes, 0 if it is not available.
func (m *meter) peak() int64 {
	if m.status == nil {
		return 0
	}
	var b [4 << 10]byte
	n, _ := m.status.ReadAt(b[:], 0)
	_, rest, ok := bytes.Cut(b[:n], []byte("VmHWM:"))
	if fields := bytes.Fields(rest); ok && len(fields) > 0 {
		kb, _ := strconv.ParseInt(string(fields[0]), 10, 64)
		return kb << 10
	}
	return 0
}

// sleeping reports whether the process waits for something.
func (m *meter) sleeping() bool {
	if m.status == nil {
		return false
	}
	var b [4 << 10]byte
	n, _ := m.status.ReadAt(b[:], 0)
	_, rest, ok := bytes.Cut(b[:n], []byte("State:"))
	return ok && bytes.HasPrefix(bytes.TrimSpace(rest), []byte("S"))
}

// endOf returns what ended a worker that the host did not kill, according to its signal. The
// kernel enforces the limits of memory by refusing memory, so SIGKILL is not one of them: it comes
// from a system that is short of memory, or from another program.
func endOf(s *os.ProcessState) processEnd {
	if s == nil { // reaped by other code of the app
		return endUnknown
	}
	status, ok := s.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return endUnknown
	}
	switch status.Signal() {
	case syscall.SIGXCPU:
		return endCPULimit
	case syscall.SIGKILL, syscall.SIGTERM, syscall.SIGBUS: // not RLIMIT_CPU: the host's CPU limit comes earlier
		return endKilled
	}
	return endUnknown
}

// scriptsOf returns the processes that a worker has forked. Its error is that of a kernel that does not tell
// (CONFIG_PROC_CHILDREN), or of a worker that has ended.
func scriptsOf(pid int) ([]int, error) {
	of := strconv.Itoa(pid)
	text, err := os.ReadFile("/proc/" + of + "/task/" + of + "/children")
	if err != nil {
		return nil, fmt.Errorf("sandbox: the processes that a worker has forked are unknown: %w", err)
	}
	var out []int
	for _, f := range bytes.Fields(text) {
		if child, err := strconv.Atoi(string(f)); err == nil {
			out = append(out, child)
		}
	}
	return out, nil
}
