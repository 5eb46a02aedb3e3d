package worker

import (
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/koan-go/koan/codemode/wire"
)

// probe tries from inside the confinement what it must stop.
func probe() []wire.Check {
	var out []wire.Check
	denied := func(name string, err error) {
		c := wire.Check{Name: name, OK: err != nil}
		if err != nil {
			c.Detail = err.Error()
		}
		out = append(out, c)
	}
	path, _ := unix.BytePtrFromString("/etc/passwd")
	call := func(name string, nr uintptr, args ...uintptr) {
		var a [6]uintptr
		copy(a[:], args)
		_, _, errno := unix.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
		if errno != 0 {
			denied(name, errno)
			return
		}
		denied(name, nil)
	}
	file := uintptr(unsafe.Pointer(path))
	at := ^uintptr(99) // AT_FDCWD, -100
	call("open a file", unix.SYS_OPENAT, at, file, unix.O_RDONLY)
	call("create a file", unix.SYS_OPENAT, at, file, unix.O_CREAT|unix.O_WRONLY)
	call("stat a file", unix.SYS_STATX, at, file, 0, unix.STATX_BASIC_STATS, uintptr(unsafe.Pointer(new(unix.Statx_t))))
	call("remove a file", unix.SYS_UNLINKAT, at, file)
	call("change directory", unix.SYS_CHDIR, file)
	call("read a link", unix.SYS_READLINKAT, at, file)
	for name, domain := range map[string]uintptr{"tcp": unix.AF_INET, "tcp6": unix.AF_INET6, "unix": unix.AF_UNIX, "netlink": unix.AF_NETLINK} {
		call("open a socket: "+name, unix.SYS_SOCKET, domain, unix.SOCK_STREAM)
	}
	call("open a socket: udp", unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_DGRAM)
	call("start a program", unix.SYS_EXECVE, file)
	call("fork", unix.SYS_CLONE, uintptr(unix.SIGCHLD))
	call("trace a process", unix.SYS_PTRACE, unix.PTRACE_ATTACH, uintptr(os.Getppid()))
	call("signal another process", unix.SYS_KILL, uintptr(os.Getppid()))
	call("signal a thread of another process", unix.SYS_TGKILL, uintptr(os.Getppid()), uintptr(os.Getppid()))
	call("make a memory file", unix.SYS_MEMFD_CREATE, file)
	call("set up io_uring", unix.SYS_IO_URING_SETUP, 1, file)
	call("mount", unix.SYS_MOUNT, file, file)
	call("load bpf", unix.SYS_BPF)
	call("raise a limit", unix.SYS_PRLIMIT64, 0, unix.RLIMIT_AS, uintptr(unsafe.Pointer(&unix.Rlimit{})))
	call("change privileges", unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 0)
	call("change user", unix.SYS_SETUID)
	call("make a namespace", unix.SYS_UNSHARE, unix.CLONE_NEWUSER)
	call("map executable memory", unix.SYS_MMAP, 0, 4096, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANON, ^uintptr(0))
	call("map 64 MB at once", unix.SYS_MMAP, 0, 64<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON, ^uintptr(0))
	call("duplicate a descriptor", unix.SYS_FCNTL, 0, unix.F_DUPFD)
	_, err := os.ReadFile("/etc/hostname")
	denied("read a file through Go", err)
	out = append(out, wire.Check{Name: "environment is empty", OK: len(os.Environ()) <= 2})
	if errors.Is(err, unix.EPERM) {
		out = append(out, wire.Check{Name: "refusals are EPERM", OK: true})
	}
	return out
}
