package cell

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sealAndStart puts the filter on this thread and becomes the interpreter through it. A filter cannot see paths, only
// where one is: the path is at an address that is chosen at random, so that nothing in the process can start a program
// after it, not even the same one.
func (c *Cell) sealAndStart() error {
	at, err := c.hidePath()
	if err != nil {
		return fmt.Errorf("keep the path of the interpreter: %w", err)
	}
	argv, err := syscall.SlicePtrFromStrings(append([]string{c.Path}, c.Args...))
	if err != nil {
		return err
	}
	envv, err := syscall.SlicePtrFromStrings(c.Env)
	if err != nil {
		return err
	}
	if err := c.Seal(at); err != nil {
		return fmt.Errorf("filter system calls: %w", err)
	}
	_, _, errno := unix.RawSyscall(unix.SYS_EXECVE, at, uintptr(unsafe.Pointer(&argv[0])), uintptr(unsafe.Pointer(&envv[0])))
	runtime.KeepAlive(argv)
	runtime.KeepAlive(envv)
	return fmt.Errorf("become %s: %w", c.Path, errno)
}

// hidePath writes the path of the interpreter to a random address, and returns it.
func (c *Cell) hidePath() (uintptr, error) {
	const (
		page  = 1 << 12
		space = 1 << 46 // half of what a process has
	)
	for range 100 {
		var chosen [8]byte
		_, _ = rand.Read(chosen[:])
		offset := binary.NativeEndian.Uint64(chosen[:]) % space
		base := uintptr(offset &^ (page - 1))
		size := uintptr(2 * page)
		if _, _, errno := unix.RawSyscall6(unix.SYS_MMAP, base, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_FIXED_NOREPLACE, ^uintptr(0), 0); errno != 0 {
			continue
		}
		in, out := unix.RemoteIovec{Base: base + uintptr(offset%page), Len: len(c.Path) + 1}, unix.Iovec{Base: unsafe.StringData(c.Path + "\x00")}
		out.SetLen(len(c.Path) + 1)
		if n, err := unix.ProcessVMWritev(unix.Getpid(), []unix.Iovec{out}, []unix.RemoteIovec{in}, 0); err != nil || n != len(c.Path)+1 {
			return 0, fmt.Errorf("write %d of %d bytes: %w", n, len(c.Path)+1, err)
		}
		return in.Base, nil
	}
	return 0, fmt.Errorf("no free address was found")
}
