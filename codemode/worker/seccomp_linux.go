package worker

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxMapping is the largest writable mapping that a worker may create, in bytes. It prevents a
// single huge allocation before any of it is used.
const maxMapping = 32 << 20

// Offsets in struct seccomp_data; both architectures are little-endian.
const (
	offNr   = 0
	offArch = 4
	offArgs = 16
)

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

const (
	retAllow  = unix.SECCOMP_RET_ALLOW
	retKill   = unix.SECCOMP_RET_KILL_PROCESS
	retEPERM  = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	retENOMEM = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOMEM)
	retENOSYS = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
)

func load(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

func ret(v uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: v}
}

// jump skips yes instructions if the test is true, else no.
func jump(test uint16, k uint32, yes, no uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | test | unix.BPF_K, K: k, Jt: yes, Jf: no}
}

func arg(n uint32) uint32     { return offArgs + 8*n }
func argHigh(n uint32) uint32 { return offArgs + 8*n + 4 }

// filter returns the BPF program: a system call of another architecture kills the process,
// allowed calls pass, a few pass depending on their arguments, all others fail with EPERM.
func filter(pid int) []unix.SockFilter {
	p := []unix.SockFilter{
		load(offArch), jump(unix.BPF_JEQ, seccompArch, 1, 0), ret(retKill),
		load(offNr), jump(unix.BPF_JGE, x32Bit, 0, 1), ret(retEPERM),
	}
	for _, nr := range append(allowed, archAllowed...) {
		p = append(p, jump(unix.BPF_JEQ, nr, 0, 1), ret(retAllow))
	}
	// when adds a block for one system call, which all others skip.
	when := func(nr uint32, block ...unix.SockFilter) {
		p = append(p, jump(unix.BPF_JEQ, nr, 0, uint8(len(block))))
		p = append(p, block...)
	}
	when(unix.SYS_MMAP, // nothing executable, no huge writable mappings
		load(arg(2)), jump(unix.BPF_JSET, unix.PROT_EXEC, 0, 1), ret(retEPERM),
		jump(unix.BPF_JSET, unix.PROT_WRITE, 1, 0), ret(retAllow),
		load(argHigh(1)), jump(unix.BPF_JEQ, 0, 1, 0), ret(retENOMEM),
		load(arg(1)), jump(unix.BPF_JGT, maxMapping, 0, 1), ret(retENOMEM), ret(retAllow))
	when(unix.SYS_MPROTECT,
		load(arg(2)), jump(unix.BPF_JSET, unix.PROT_EXEC, 0, 1), ret(retEPERM), ret(retAllow))
	when(unix.SYS_CLONE, // threads but no processes
		load(arg(0)), jump(unix.BPF_JSET, unix.CLONE_THREAD, 0, 1), ret(retAllow), ret(retEPERM))
	when(unix.SYS_CLONE3, // the C library falls back to clone
		ret(retENOSYS))
	when(unix.SYS_TGKILL, // the runtime preempts its own threads
		load(arg(0)), jump(unix.BPF_JEQ, uint32(pid), 0, 1), ret(retAllow), ret(retEPERM))
	when(unix.SYS_FCNTL,
		load(arg(1)), jump(unix.BPF_JEQ, unix.F_GETFL, 0, 1), ret(retAllow), ret(retEPERM))
	return append(p, ret(retEPERM))
}

// installFilter installs the filter on all threads of this process. It cannot be removed.
func installFilter() error {
	f := filter(unix.Getpid())
	prog := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return errno
	}
	return nil
}
