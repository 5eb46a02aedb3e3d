package jail

import (
	"golang.org/x/sys/unix"

	"github.com/koan-go/koan/framework/seccomp"
)

// refused are system calls that a program has no use for, and attacks on the kernel have: those that look into
// other processes, change what the machine is, or make namespaces in which one is root.
var refused = []uint32{
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_KCMP, unix.SYS_PIDFD_GETFD,
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_UNSHARE, unix.SYS_SETNS,
	unix.SYS_FSOPEN, unix.SYS_FSMOUNT, unix.SYS_FSCONFIG, unix.SYS_FSPICK, unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT, unix.SYS_MOUNT_SETATTR,
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NAME_TO_HANDLE_AT,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
	unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_REBOOT,
	unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_SYSLOG, unix.SYS_VHANGUP,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME,
	unix.SYS_LOOKUP_DCOOKIE, unix.SYS_MBIND, unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES,
}

// newNamespaces are the flags of clone that make one.
const newNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// filter returns the filter of a program in a jail. io_uring and clone3 are said not to be there, since what
// they are asked for cannot be seen: libraries do without.
func filter() seccomp.Program {
	refuse, absent, pass := seccomp.Return(seccomp.Errno(unix.EPERM)), seccomp.Return(seccomp.Errno(unix.ENOSYS)), seccomp.Return(seccomp.Allow)
	p := seccomp.Begin().On(refused, refuse)
	p = p.On([]uint32{unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_CLONE3}, absent)
	p = p.On([]uint32{unix.SYS_CLONE},
		seccomp.LoadArg(0), seccomp.Jump(unix.BPF_JSET, newNamespaces, 0, 1), refuse, pass)
	p = p.On([]uint32{unix.SYS_SOCKET}, // unix, IPv4, IPv6, netlink: libraries list interfaces by it
		seccomp.LoadArg(0), seccomp.Jump(unix.BPF_JEQ, unix.AF_UNIX, 3, 0), seccomp.Jump(unix.BPF_JEQ, unix.AF_INET, 2, 0),
		seccomp.Jump(unix.BPF_JEQ, unix.AF_INET6, 1, 0), seccomp.Jump(unix.BPF_JEQ, unix.AF_NETLINK, 0, 1), pass, refuse)
	p = p.On([]uint32{unix.SYS_IOCTL}, // input for the terminal that the host may have
		seccomp.LoadArg(1), seccomp.Jump(unix.BPF_JEQ, unix.TIOCSTI, 1, 0), seccomp.Jump(unix.BPF_JEQ, unix.TIOCLINUX, 0, 1), refuse, pass)
	return append(p, pass)
}
