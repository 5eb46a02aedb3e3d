package python

import (
	"encoding/base64"
	"encoding/binary"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/koan-go/koan/codemode/internal/language/cell"
	"github.com/koan-go/koan/framework/seccomp"
)

// maxMapping is the largest writable mapping that a script may create, in bytes. It prevents a single huge allocation
// before any of it is used.
const maxMapping = 1 << 30

// filters are those that the interpreter's side installs, in base64: of the process that forks, and of one that runs a
// script.
func filters() map[string]string {
	return map[string]string{"zygote": encoded(zygoteFilter()), "script": encoded(scriptFilter())}
}

// scriptFilter returns the filter of a process that runs a script: no other process, no socket but a pair, no program.
func scriptFilter() seccomp.Program { return append(cell.ThreadsOnly(common()), cell.Refuse) }

// zygoteFilter returns the filter of the process that forks for each script, which a script's filter is put on top of.
func zygoteFilter() seccomp.Program {
	pass := seccomp.Return(seccomp.Allow)
	p := common(unix.SYS_WAIT4, unix.SYS_FCHOWNAT, unix.SYS_SECCOMP)
	if runtime.GOARCH == "amd64" {
		p = p.On([]uint32{fork}, pass)
	}
	p = p.On([]uint32{unix.SYS_CLONE},
		seccomp.LoadArg(0), seccomp.Jump(unix.BPF_JSET, newNamespaces, 0, 1), cell.Refuse, pass)
	p = p.On([]uint32{unix.SYS_PRCTL}, // of all that it does, filters alone
		seccomp.LoadArg(0), seccomp.Jump(unix.BPF_JEQ, unix.PR_SET_SECCOMP, 0, 1), pass, cell.Refuse)
	p = p.On([]uint32{unix.SYS_PRLIMIT64}, pass)
	return append(p, cell.Refuse)
}

// fork is the number of the system call where there is one.
const fork = 57

// newNamespaces are the flags of clone that make one.
const newNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// common returns the instructions that both filters begin with. more are system calls that one allows beside.
func common(more ...uint32) seccomp.Program {
	pass, noMemory := seccomp.Return(seccomp.Allow), seccomp.Return(seccomp.Errno(unix.ENOMEM))
	p := cell.BeginFilter(more...)
	p = p.On([]uint32{unix.SYS_MMAP}, // executable only what is in a file that nobody writes to, and no huge writable mappings
		seccomp.LoadArg(2), seccomp.Jump(unix.BPF_JSET, unix.PROT_EXEC, 0, 4),
		seccomp.Jump(unix.BPF_JSET, unix.PROT_WRITE, 2, 0),
		seccomp.LoadArg(3), seccomp.Jump(unix.BPF_JSET, unix.MAP_ANONYMOUS, 0, 1), cell.Refuse,
		seccomp.LoadArgHigh(1), seccomp.Jump(unix.BPF_JEQ, 0, 1, 0), noMemory,
		seccomp.LoadArg(1), seccomp.Jump(unix.BPF_JGT, maxMapping, 0, 1), noMemory, pass)
	return p.On([]uint32{unix.SYS_MPROTECT},
		seccomp.LoadArg(2), seccomp.Jump(unix.BPF_JSET, unix.PROT_EXEC, 0, 1), cell.Refuse, pass)
}

// encoded returns a filter as the kernel takes it, in base64.
func encoded(p seccomp.Program) string {
	var raw []byte
	for _, i := range p {
		raw = binary.NativeEndian.AppendUint16(raw, i.Code)
		raw = append(raw, i.Jt, i.Jf)
		raw = binary.NativeEndian.AppendUint32(raw, i.K)
	}
	return base64.StdEncoding.EncodeToString(raw)
}
