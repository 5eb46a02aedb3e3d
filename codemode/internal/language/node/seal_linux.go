package node

import (
	"golang.org/x/sys/unix"

	"github.com/koan-go/koan/codemode/internal/language/cell"
	"github.com/koan-go/koan/framework/seccomp"
)

// maxMapping is the largest writable mapping that a script may create, in bytes.
const maxMapping = 1 << 30

// engineData is how much private memory the engine maps for itself and ahead, beside a script's, in bytes.
const engineData = 512 << 20

// maxOpenFiles is how many files a script may have open: the modules of a package are read at once, and popular ones
// have a thousand.
const maxOpenFiles = 4096

// kernelLimits are those that the interpreter starts with. The ones of memory and time are backstops: the host's come
// earlier.
func (l Limits) kernelLimits() map[int]uint64 {
	return map[int]uint64{
		unix.RLIMIT_CORE: 0, unix.RLIMIT_FSIZE: 64 << 20, unix.RLIMIT_NOFILE: maxOpenFiles,
		unix.RLIMIT_DATA: engineData + uint64(l.MemoryMb)<<20, unix.RLIMIT_CPU: uint64(l.CPUMs/1000*4 + 10),
	}
}

// seal sets the limits and installs the filter of a script: the process is filtered before the interpreter starts,
// since JavaScript cannot ask for a filter. It may become the program whose path is at an address, once.
func (p process) seal(path uintptr) error {
	for which, most := range p.kernelLimits() {
		var now unix.Rlimit
		if err := unix.Getrlimit(which, &now); err != nil {
			return err
		}
		most = min(most, now.Max) // which nothing here may raise
		if err := unix.Setrlimit(which, &unix.Rlimit{Cur: most, Max: most}); err != nil {
			return err
		}
	}
	return seccomp.Install(filter(path))
}

// filter returns the filter: threads but no process, no socket but a pair, no other program. Executable memory is
// the engine's compiler's, which writes to it: the language cannot do without.
func filter(path uintptr) seccomp.Program {
	pass, noMemory := seccomp.Return(seccomp.Allow), seccomp.Return(seccomp.Errno(unix.ENOMEM))
	p := cell.ThreadsOnly(cell.BeginFilter(unix.SYS_CAPGET, unix.SYS_MPROTECT))
	p = p.On([]uint32{unix.SYS_EXECVE},
		seccomp.LoadArg(0), seccomp.Jump(unix.BPF_JEQ, uint32(path), 0, 3),
		seccomp.LoadArgHigh(0), seccomp.Jump(unix.BPF_JEQ, uint32(path>>32), 0, 1), pass, cell.Refuse)
	p = p.On([]uint32{unix.SYS_PRLIMIT64}, // to read its own limits
		seccomp.LoadArg(2), seccomp.Jump(unix.BPF_JEQ, 0, 0, 3),
		seccomp.LoadArgHigh(2), seccomp.Jump(unix.BPF_JEQ, 0, 0, 1), pass, cell.Refuse)
	p = p.On([]uint32{unix.SYS_MMAP}, // no huge writable mappings
		seccomp.LoadArg(2), seccomp.Jump(unix.BPF_JSET, unix.PROT_WRITE, 0, 6),
		seccomp.LoadArgHigh(1), seccomp.Jump(unix.BPF_JEQ, 0, 1, 0), noMemory,
		seccomp.LoadArg(1), seccomp.Jump(unix.BPF_JGT, maxMapping, 0, 1), noMemory, pass)
	return append(p, cell.Refuse)
}
