package sandbox

import (
	"bytes"
	"errors"
	"fmt"
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
}

// namespaces are all there are but for those of time and of control groups, which
// show nothing of the system.
const namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS

// nobody is who a worker is outside of its namespaces where the host is root.
const nobody = 65534

// prepare makes the ground for layers, on the thread that will start the workers.
// They die with it: the signal follows the thread, hence the spawner.
func prepare(program program, layers []string) (*ground, error) {
	g := &ground{attr: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}}
	apart := slices.Contains(layers, worker.LayerNamespaces)
	if apart {
		root, err := nameless()
		if err != nil {
			return nil, fmt.Errorf("namespaces: an empty directory: %w", err)
		}
		g.root = root
		uid, gid := os.Getuid(), os.Getgid()
		if uid == 0 {
			uid, gid = nobody, nobody
		}
		g.attr.Cloneflags = namespaces
		g.attr.UidMappings = []syscall.SysProcIDMap{{HostID: uid, Size: 1}}
		g.attr.GidMappings = []syscall.SysProcIDMap{{HostID: gid, Size: 1}}
		g.attr.Credential = &syscall.Credential{NoSetGroups: true}
	}
	if slices.Contains(layers, worker.LayerLandlock) {
		if err := restrictThread(program.exec, apart); err != nil {
			g.close()
			return nil, fmt.Errorf("landlock: %w", err)
		}
	}
	return g, nil
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

// dir is the directory that a worker starts in.
func (g *ground) dir() string {
	if g.root == nil {
		return "/"
	}
	return "/proc/self/fd/" + strconv.Itoa(int(g.root.Fd()))
}

func (g *ground) close() {
	if g != nil && g.root != nil {
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
		if err := unix.Prlimit(p.cmd.Process.Pid, resource, &unix.Rlimit{Cur: most, Max: most}, nil); err != nil {
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
