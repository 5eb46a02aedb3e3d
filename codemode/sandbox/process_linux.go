package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/koan-go/koan/codemode/wire"
)

// selfExecutable is this very executable, even where its file was replaced.
func selfExecutable() (string, error) { return "/proc/self/exe", nil }

// sysProcAttr makes workers die with the host. The signal follows the thread that
// started them, hence the spawner.
func sysProcAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
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

// meter reads a worker's resident memory.
type meter struct {
	statm *os.File
	pid   int
}

func newMeter(pid int) *meter {
	f, _ := os.Open("/proc/" + strconv.Itoa(pid) + "/statm")
	return &meter{f, pid}
}

func (m *meter) close() {
	if m.statm != nil {
		_ = m.statm.Close()
	}
}

// resident gives bytes, 0 when they cannot be had.
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

// peak gives the most resident bytes so far, 0 when they cannot be had.
func (m *meter) peak() int64 {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(m.pid) + "/status")
	if err != nil {
		return 0
	}
	_, rest, ok := bytes.Cut(b, []byte("VmHWM:"))
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
