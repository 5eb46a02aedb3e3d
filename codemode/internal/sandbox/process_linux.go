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

// selfExecutable is this very executable, even where its file was replaced.
func selfExecutable(string) string { return "/proc/self/exe" }

// hold keeps a program as it is now, whatever is put in its place.
func hold(path string) program {
	f, err := os.Open(path)
	if err != nil {
		return program{path: path, exec: path} // its start will tell
	}
	return program{path: path, exec: "/proc/self/fd/" + strconv.Itoa(int(f.Fd())), open: f}
}

// ground is what a pool's workers stand on: made once, used by each.
type ground struct {
	attr *syscall.SysProcAttr
	root *os.File // an empty directory without a name, or nil
	// launcher starts the workers but for the first, which shows whether the ground
	// holds; nil where there is none.
	launcher *launcher
	proven   bool // a worker was started
	alone    bool // without a launcher: one has failed
}

// prepare makes the ground for layers, on the thread that will start the workers.
// They die with it: the signal follows the thread, hence the spawner.
func prepare(program program, layers []string) (*ground, error) {
	g := &ground{attr: worker.Attributes(layers)}
	apart := slices.Contains(layers, worker.LayerNamespaces)
	if apart {
		root, err := nameless()
		if err != nil {
			return nil, fmt.Errorf("namespaces: an empty directory: %w", err)
		}
		g.root = root
	}
	if slices.Contains(layers, worker.LayerLandlock) {
		if err := restrictThread(program.exec, apart); err != nil {
			g.close()
			return nil, fmt.Errorf("landlock: %w", err)
		}
	}
	return g, nil
}

// start starts a worker: by the launcher where its namespaces would have this process
// copied, and else from here. A launcher that fails is not asked again; the error is
// errLauncher then, since the launcher may have passed the files on.
func (g *ground) start(program program, layers []string, files [3]*os.File, log *slog.Logger) (*os.Process, error) {
	if g.root != nil && g.proven && !g.alone {
		p, err := g.launch(program, layers, files)
		if err == nil {
			return p, nil
		}
		log.Warn("the launcher of workers failed: they start more slowly from now on", "error", err)
		g.alone = true
		if g.launcher != nil {
			g.launcher.abandon()
			g.launcher = nil
		}
		return nil, errLauncher
	}
	dir := "/"
	if g.root != nil {
		dir = "/proc/self/fd/" + strconv.Itoa(int(g.root.Fd()))
	}
	p, err := startProcess(program, layers, files, dir, g.attr)
	g.proven = g.proven || err == nil
	return p, err
}

// nameless returns an empty directory that everybody may enter and nobody can put
// anything into: it has been removed.
func nameless() (*os.File, error) {
	path, err := os.MkdirTemp("", "koan-root-")
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	return f, errors.Join(err, os.Chmod(path, 0o555), os.Remove(path))
}

func (g *ground) launch(program program, layers []string, files [3]*os.File) (*os.Process, error) {
	if g.launcher == nil {
		l, err := newLauncher(program, layers, g.root)
		if err != nil {
			return nil, err
		}
		g.launcher = l
	}
	return g.launcher.start(files)
}

func (g *ground) close() {
	if g == nil {
		return
	}
	if g.launcher != nil {
		g.launcher.close()
	}
	if g.root != nil {
		_ = g.root.Close()
	}
}

// asOverhead is the address space that a worker may take on top of its cap, in
// bytes: the runtime reserves arenas of 64 MB.
const asOverhead = 80 << 20

// limit bounds a worker's memory and CPU from outside, where it cannot reach. It
// fails closed.
func (p *process) limit(l wire.Limits) error {
	if p.ready.DataBytes <= 0 || p.ready.SizeBytes <= 0 {
		return fmt.Errorf("sandbox: the worker could not measure itself")
	}
	data := uint64(p.ready.DataBytes + l.MemoryBytes)
	size := uint64(p.ready.SizeBytes + l.MemoryBytes + asOverhead)
	// All threads count, and the collector has its own: this is behind the kill.
	cpu := uint64(l.CPUMs/1000*4 + 5)
	for resource, most := range map[int]uint64{unix.RLIMIT_DATA: data, unix.RLIMIT_AS: size, unix.RLIMIT_CPU: cpu} {
		if err := unix.Prlimit(p.proc.Pid, resource, &unix.Rlimit{Cur: most, Max: most}, nil); err != nil {
			return fmt.Errorf("sandbox: limit %d of the worker: %w", resource, err)
		}
	}
	return nil
}

// meter reads a worker's resident memory and its threads. Its files are nil where they
// are not available.
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

// resident returns bytes, 0 when they are not available.
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

// threads returns how many threads the worker has, 0 when that is not known.
func (m *meter) threads() int {
	if m.task == nil {
		return 0
	}
	info, err := m.task.Stat() // not by its descriptor: another goroutine may close it
	if err != nil {
		return 0
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return int(s.Nlink) - 2 // a directory's links to itself
}

// peak returns the most resident bytes so far, 0 when they cannot be had.
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

// signalled reads from how a worker ended which limit of the kernel it met.
func signalled(s *os.ProcessState) bySignal {
	if s == nil { // somebody else has reaped it
		return byNothing
	}
	status, ok := s.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return byNothing
	}
	switch status.Signal() {
	case syscall.SIGXCPU:
		return byKernelCPU
	case syscall.SIGKILL, syscall.SIGBUS: // RLIMIT_CPU's hard end would be later than ours
		return byKernelMemory
	}
	return byNothing
}
