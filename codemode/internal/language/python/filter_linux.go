package python

import (
	"golang.org/x/sys/unix"

	"github.com/koan-go/koan/framework/seccomp"
)

// maxMapping is the largest writable mapping that a script may create, in bytes. It prevents a single huge allocation
// before any of it is used.
const maxMapping = 1 << 30

// allowed are the system calls that are allowed with any arguments: the interpreter, the C library and files need
// them. What they reach is what the root has in it.
var allowed = []uint32{
	unix.SYS_READ, unix.SYS_WRITE, unix.SYS_READV, unix.SYS_WRITEV, unix.SYS_PREAD64, unix.SYS_PWRITE64, unix.SYS_LSEEK, unix.SYS_CLOSE, unix.SYS_CLOSE_RANGE,
	unix.SYS_OPENAT, unix.SYS_OPENAT2, unix.SYS_FSTAT, unix.SYS_STATX, unix.SYS_STATFS, unix.SYS_FSTATFS, unix.SYS_GETDENTS64, unix.SYS_READLINKAT,
	unix.SYS_FACCESSAT, unix.SYS_FACCESSAT2, unix.SYS_GETCWD, unix.SYS_CHDIR, unix.SYS_FCHDIR, unix.SYS_MKDIRAT, unix.SYS_UNLINKAT, unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2,
	unix.SYS_SYMLINKAT, unix.SYS_LINKAT, unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_UTIMENSAT, unix.SYS_UMASK,
	unix.SYS_FTRUNCATE, unix.SYS_TRUNCATE, unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_FALLOCATE, unix.SYS_FADVISE64, unix.SYS_FLOCK, unix.SYS_SENDFILE, unix.SYS_COPY_FILE_RANGE,
	unix.SYS_DUP, unix.SYS_DUP3, unix.SYS_PIPE2, unix.SYS_EVENTFD2, unix.SYS_PPOLL, unix.SYS_PSELECT6,
	unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT,
	unix.SYS_MUNMAP, unix.SYS_MADVISE, unix.SYS_BRK, unix.SYS_MREMAP, unix.SYS_MINCORE,
	unix.SYS_FUTEX, unix.SYS_SET_ROBUST_LIST, unix.SYS_SET_TID_ADDRESS, unix.SYS_RSEQ, unix.SYS_MEMBARRIER,
	unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_RT_SIGPENDING, unix.SYS_SIGALTSTACK, unix.SYS_RESTART_SYSCALL,
	unix.SYS_SETITIMER, unix.SYS_GETITIMER,
	unix.SYS_GETPID, unix.SYS_GETTID, unix.SYS_GETPPID, unix.SYS_GETUID, unix.SYS_GETEUID, unix.SYS_GETGID, unix.SYS_GETEGID, unix.SYS_GETGROUPS,
	unix.SYS_GETPGID, unix.SYS_GETSID, unix.SYS_GETRESUID, unix.SYS_GETRESGID,
	unix.SYS_CLOCK_GETTIME, unix.SYS_CLOCK_GETRES, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_NANOSLEEP, unix.SYS_GETTIMEOFDAY, unix.SYS_TIMES,
	unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY, unix.SYS_SCHED_GETPARAM, unix.SYS_SCHED_GETSCHEDULER, unix.SYS_GETCPU,
	unix.SYS_GETRANDOM, unix.SYS_UNAME, unix.SYS_SYSINFO, unix.SYS_GETRUSAGE, unix.SYS_GETRLIMIT,
	unix.SYS_SENDTO, unix.SYS_RECVFROM, unix.SYS_SHUTDOWN, unix.SYS_GETSOCKNAME, unix.SYS_GETSOCKOPT, unix.SYS_SETSOCKOPT, // of a pair, which alone can be made
	unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
}

// scriptFilter returns the filter of a process that runs a script: no other process, no socket but a pair, no program.
func scriptFilter() seccomp.Program {
	p := common()
	p = p.On([]uint32{unix.SYS_CLONE}, // threads but no processes
		seccomp.LoadArg(0), seccomp.Jump(unix.BPF_JSET, unix.CLONE_THREAD, 0, 1), seccomp.Return(seccomp.Allow), refuse)
	return append(p, refuse)
}

// zygoteFilter returns the filter of the process that forks for each script, which a script's filter is put on top of.
func zygoteFilter() seccomp.Program {
	pass := seccomp.Return(seccomp.Allow)
	p := common().On(append([]uint32{unix.SYS_WAIT4, unix.SYS_FCHOWNAT, unix.SYS_SECCOMP}, zygoteArch...), pass)
	p = p.On([]uint32{unix.SYS_CLONE},
		seccomp.LoadArg(0), seccomp.Jump(unix.BPF_JSET, newNamespaces, 0, 1), refuse, pass)
	p = p.On([]uint32{unix.SYS_PRCTL}, // of all that it does, filters alone
		seccomp.LoadArg(0), seccomp.Jump(unix.BPF_JEQ, unix.PR_SET_SECCOMP, 0, 1), pass, refuse)
	p = p.On([]uint32{unix.SYS_PRLIMIT64}, pass)
	return append(p, refuse)
}

var refuse = seccomp.Return(seccomp.Errno(unix.EPERM))

// newNamespaces are the flags of clone that make one.
const newNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// common returns the instructions that both filters begin with.
func common() seccomp.Program {
	pass, noMemory := seccomp.Return(seccomp.Allow), seccomp.Return(seccomp.Errno(unix.ENOMEM))
	p := seccomp.Begin().On(append(append([]uint32{}, allowed...), archAllowed...), pass)
	when := func(nr uint32, block ...unix.SockFilter) { p = p.On([]uint32{nr}, block...) }
	when(unix.SYS_MMAP, // executable only what is in a file that nobody writes to, and no huge writable mappings
		seccomp.LoadArg(2), seccomp.Jump(unix.BPF_JSET, unix.PROT_EXEC, 0, 4),
		seccomp.Jump(unix.BPF_JSET, unix.PROT_WRITE, 2, 0),
		seccomp.LoadArg(3), seccomp.Jump(unix.BPF_JSET, unix.MAP_ANONYMOUS, 0, 1), refuse,
		seccomp.LoadArgHigh(1), seccomp.Jump(unix.BPF_JEQ, 0, 1, 0), noMemory,
		seccomp.LoadArg(1), seccomp.Jump(unix.BPF_JGT, maxMapping, 0, 1), noMemory, pass)
	when(unix.SYS_MPROTECT,
		seccomp.LoadArg(2), seccomp.Jump(unix.BPF_JSET, unix.PROT_EXEC, 0, 1), refuse, pass)
	when(unix.SYS_CLONE3, seccomp.Return(seccomp.Errno(unix.ENOSYS))) // the C library falls back to clone
	when(unix.SYS_SOCKETPAIR,                                         // by which an event loop wakes itself
		seccomp.LoadArg(0), seccomp.Jump(unix.BPF_JEQ, unix.AF_UNIX, 0, 1), pass, refuse)
	when(unix.SYS_FCNTL, // no owner of signals, no seals, no leases
		seccomp.LoadArg(1), seccomp.Jump(unix.BPF_JEQ, unix.F_DUPFD_CLOEXEC, 2, 0), seccomp.Jump(unix.BPF_JGT, unix.F_SETLKW, 0, 1), refuse, pass)
	when(unix.SYS_IOCTL, // nothing is a terminal
		seccomp.LoadArg(1), seccomp.Jump(unix.BPF_JEQ, fionbio, 3, 0), seccomp.Jump(unix.BPF_JEQ, fioclex, 2, 0), seccomp.Jump(unix.BPF_JEQ, fionclex, 1, 0),
		seccomp.Return(seccomp.Errno(unix.ENOTTY)), pass)
	return p
}

// The requests of ioctl that set and clear flags of a descriptor.
const (
	fionbio  = 0x5421
	fioclex  = 0x5451
	fionclex = 0x5450
)
