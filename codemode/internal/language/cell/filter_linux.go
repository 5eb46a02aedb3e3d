package cell

import (
	"golang.org/x/sys/unix"

	"github.com/koan-go/koan/framework/seccomp"
)

// allowed are the system calls that interpreters may make with any arguments: the C library, threads and files need
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

// BeginFilter returns the instructions that the filters of interpreters begin with: the system calls that each of them
// may make, those of some more, and no socket but a pair. What a filter says of memory, threads and processes follows.
func BeginFilter(more ...uint32) seccomp.Program {
	pass := seccomp.Return(seccomp.Allow)
	p := seccomp.Begin().On(append(append(append([]uint32{}, allowed...), archAllowed...), more...), pass)
	when := func(nr uint32, block ...unix.SockFilter) { p = p.On([]uint32{nr}, block...) }
	when(unix.SYS_CLONE3, seccomp.Return(seccomp.Errno(unix.ENOSYS))) // the C library falls back to clone
	when(unix.SYS_SOCKETPAIR,                                         // by which an event loop wakes itself
		seccomp.LoadArg(0), seccomp.Jump(unix.BPF_JEQ, unix.AF_UNIX, 0, 1), pass, Refuse)
	when(unix.SYS_FCNTL, // no owner of signals, no seals, no leases
		seccomp.LoadArg(1), seccomp.Jump(unix.BPF_JEQ, unix.F_DUPFD_CLOEXEC, 2, 0), seccomp.Jump(unix.BPF_JGT, unix.F_SETLKW, 0, 1), Refuse, pass)
	when(unix.SYS_IOCTL, // nothing is a terminal
		seccomp.LoadArg(1), seccomp.Jump(unix.BPF_JEQ, fionbio, 3, 0), seccomp.Jump(unix.BPF_JEQ, fioclex, 2, 0), seccomp.Jump(unix.BPF_JEQ, fionclex, 1, 0),
		seccomp.Return(seccomp.Errno(unix.ENOTTY)), pass)
	return p
}

// Refuse is the answer to a system call that a filter does not allow.
var Refuse = seccomp.Return(seccomp.Errno(unix.EPERM))

// ThreadsOnly allows clone for threads, and for no process.
func ThreadsOnly(p seccomp.Program) seccomp.Program {
	return p.On([]uint32{unix.SYS_CLONE},
		seccomp.LoadArg(0), seccomp.Jump(unix.BPF_JSET, unix.CLONE_THREAD, 0, 1), seccomp.Return(seccomp.Allow), Refuse)
}

// The requests of ioctl that set and clear flags of a descriptor.
const (
	fionbio  = 0x5421
	fioclex  = 0x5451
	fionclex = 0x5450
)
