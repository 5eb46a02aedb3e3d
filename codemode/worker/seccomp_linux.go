package worker

import (
	"golang.org/x/sys/unix"

	"github.com/koan-go/koan/framework/seccomp"
)

// maxMapping is the largest writable mapping that a worker may create, in bytes. It prevents a
// single huge allocation before any of it is used.
const maxMapping = 32 << 20

// allowed are the system calls that are allowed with any arguments: the Go runtime, the C
// library in binaries with cgo, and the worker's pipes need them.
var allowed = []uint32{
	unix.SYS_FUTEX, unix.SYS_READ, unix.SYS_WRITE, unix.SYS_PPOLL, unix.SYS_CLOSE,
	unix.SYS_MADVISE, unix.SYS_MUNMAP, unix.SYS_MINCORE, unix.SYS_BRK,
	unix.SYS_NANOSLEEP, unix.SYS_CLOCK_GETTIME, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_CLOCK_GETRES, unix.SYS_GETTIMEOFDAY,
	unix.SYS_RT_SIGRETURN, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGACTION, unix.SYS_SIGALTSTACK, unix.SYS_RESTART_SYSCALL,
	unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY, unix.SYS_GETTID, unix.SYS_GETPID, unix.SYS_GETRANDOM,
	unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_EVENTFD2,
	unix.SYS_EXIT, unix.SYS_EXIT_GROUP, unix.SYS_SET_ROBUST_LIST, unix.SYS_SET_TID_ADDRESS, unix.SYS_RSEQ,
}

// filter returns the filter of a worker: allowed calls pass, a few pass depending on their arguments, all
// others fail with EPERM.
func filter(pid int) seccomp.Program {
	pass, refuse, noMemory := seccomp.Return(seccomp.Allow), seccomp.Return(seccomp.Errno(unix.EPERM)), seccomp.Return(seccomp.Errno(unix.ENOMEM))
	p := seccomp.Begin().On(append(allowed, archAllowed...), pass)
	when := func(nr uint32, block ...unix.SockFilter) { p = p.On([]uint32{nr}, block...) }
	when(unix.SYS_MMAP, // nothing executable, no huge writable mappings
		seccomp.LoadArg(2), seccomp.Jump(unix.BPF_JSET, unix.PROT_EXEC, 0, 1), refuse,
		seccomp.Jump(unix.BPF_JSET, unix.PROT_WRITE, 1, 0), pass,
		seccomp.LoadArgHigh(1), seccomp.Jump(unix.BPF_JEQ, 0, 1, 0), noMemory,
		seccomp.LoadArg(1), seccomp.Jump(unix.BPF_JGT, maxMapping, 0, 1), noMemory, pass)
	when(unix.SYS_MPROTECT,
		seccomp.LoadArg(2), seccomp.Jump(unix.BPF_JSET, unix.PROT_EXEC, 0, 1), refuse, pass)
	when(unix.SYS_CLONE, // threads but no processes
		seccomp.LoadArg(0), seccomp.Jump(unix.BPF_JSET, unix.CLONE_THREAD, 0, 1), pass, refuse)
	when(unix.SYS_CLONE3, // the C library falls back to clone
		seccomp.Return(seccomp.Errno(unix.ENOSYS)))
	when(unix.SYS_TGKILL, // the runtime preempts its own threads
		seccomp.LoadArg(0), seccomp.Jump(unix.BPF_JEQ, uint32(pid), 0, 1), pass, refuse)
	when(unix.SYS_FCNTL,
		seccomp.LoadArg(1), seccomp.Jump(unix.BPF_JEQ, unix.F_GETFL, 0, 1), pass, refuse)
	return append(p, refuse)
}
