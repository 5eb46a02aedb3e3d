package worker

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/koan-go/koan/codemode/internal/wire"
)

// probe tries from inside the confinement what the outermost layer must prevent.
func probe(layers []string) []wire.Check {
	p := &prober{}
	switch {
	case slices.Contains(layers, LayerSeccomp):
		p.calls()
	case slices.Contains(layers, LayerNamespaces):
		p.files(LayerNamespaces, unix.ENOENT)
		p.others()
	case slices.Contains(layers, LayerLandlock):
		p.files(LayerLandlock, unix.EACCES)
		p.ports()
	}
	return append(p.checks, wire.Check{Name: "process: environment is empty", OK: len(os.Environ()) <= 2})
}

type prober struct{ checks []wire.Check }

// note records the outcome of an attempt that must fail.
func (p *prober) note(name string, err error) {
	c := wire.Check{Name: name, OK: err != nil}
	if err != nil {
		c.Detail = err.Error()
	}
	p.checks = append(p.checks, c)
}

// files tries to use files; every attempt must fail with want.
func (p *prober) files(layer string, want error) {
	for name, try := range map[string]func() error{
		"open a file":      func() error { _, err := os.Open("/etc/passwd"); return err },
		"create a file":    func() error { return os.WriteFile("/tmp/koan-probe", nil, 0o600) },
		"list a directory": func() error { _, err := os.ReadDir("/etc"); return err },
		"start a program":  func() error { return unix.Exec("/bin/sh", []string{"sh", "-c", "exit"}, nil) },
		"make a directory": func() error { return os.Mkdir("/tmp/koan-probe", 0o700) },
	} {
		err := try()
		p.note(layer+": "+name, err)
		if err != nil && !errors.Is(err, want) {
			p.checks[len(p.checks)-1].OK = false
		}
	}
}

// ports tries to reach the network.
func (p *prober) ports() {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		p.note(LayerLandlock+": connect over TCP", err)
		return
	}
	defer unix.Close(fd)
	address := &unix.SockaddrInet4{Port: 1, Addr: [4]byte{127, 0, 0, 1}}
	err = unix.Connect(fd, address)
	if err == unix.ECONNREFUSED { // the attempt was not blocked
		err = nil
	}
	p.note(LayerLandlock+": connect over TCP", err)
	p.note(LayerLandlock+": listen on TCP", unix.Bind(fd, &unix.SockaddrInet4{}))
}

// others tries to reach other processes and a network.
func (p *prober) others() {
	p.note(LayerNamespaces+": signal another process", unix.Kill(-1, 0))
	p.checks = append(p.checks, wire.Check{Name: LayerNamespaces + ": no parent process", OK: os.Getppid() == 0 && os.Getpid() == 1})
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err == nil {
		err = unix.Connect(fd, &unix.SockaddrInet4{Port: 1, Addr: [4]byte{192, 0, 2, 1}})
		_ = unix.Close(fd)
	}
	p.note(LayerNamespaces+": reach a network", err)
}

// calls tries system calls that the filter must refuse.
func (p *prober) calls() {
	denied := func(name string, err error) { p.note(LayerSeccomp+": "+name, err) }
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
	if !errors.Is(err, unix.EPERM) {
		p.checks = append(p.checks, wire.Check{Name: LayerSeccomp + ": refusals are EPERM", Detail: fmt.Sprint(err)})
	}
}
