package worker

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/koan-go/koan/framework/seccomp"
)

// closeInherited closes descriptors that the host leaked. If the runtime has opened its
// poller already, close_range would close that too and crash the process, so all others are
// closed one by one.
func closeInherited() {
	names, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		return
	}
	poller := false
	var others []int
	for _, n := range names {
		fd, err := strconv.Atoi(filepath.Base(n))
		if err != nil || fd <= 2 {
			continue
		}
		target, err := os.Readlink(n)
		if err != nil {
			continue // the descriptor that read the directory
		}
		if target == "anon_inode:[eventpoll]" || target == "anon_inode:[eventfd]" {
			poller = true
			continue
		}
		others = append(others, fd)
	}
	if !poller {
		_ = unix.CloseRange(3, ^uint(0)>>1, 0)
		return
	}
	for _, fd := range others {
		_ = unix.Close(fd)
	}
}

// memorySizes returns VmData and VmSize in bytes, 0 if /proc is not available.
func memorySizes() (data, size int64) {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return 0, 0
	}
	defer f.Close()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		fields := strings.Fields(sc.Text())
		if len(fields) < 2 {
			continue
		}
		n, _ := strconv.ParseInt(fields[1], 10, 64)
		switch fields[0] {
		case "VmData:":
			data = n << 10
		case "VmSize:":
			size = n << 10
		}
	}
	return data, size
}

// confine disables core dumps and writing to files, limits descriptors, and applies the
// layers. It returns an error if any of this fails.
func confine(layers []string) error {
	for resource, most := range map[int]uint64{unix.RLIMIT_CORE: 0, unix.RLIMIT_FSIZE: 0, unix.RLIMIT_NOFILE: 16} {
		if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: most, Max: most}); err != nil {
			return fmt.Errorf("rlimit %d: %w", resource, err)
		}
	}
	if slices.Contains(layers, LayerNamespaces) {
		if err := enterEmptyRoot(); err != nil {
			return fmt.Errorf("namespaces: %w", err)
		}
	}
	if slices.Contains(layers, LayerLandlock) && !rootDenied() {
		return errors.New("landlock: files can be opened")
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("dumpable: %w", err)
	}
	if slices.Contains(layers, LayerSeccomp) {
		if err := seccomp.Install(filter(unix.Getpid())); err != nil {
			return fmt.Errorf("seccomp: %w", err)
		}
	}
	return nil
}

// enterEmptyRoot makes the working directory, which the host set to an empty directory, the
// root of this process, and drops the privileges needed for that, which it has in its own user
// namespace only. A program that links C cannot drop them on all threads; there seccomp
// makes them useless.
func enterEmptyRoot() error {
	if os.Getpid() != 1 {
		return errors.New("the process sees others")
	}
	if err := unix.Chroot("."); err != nil {
		return fmt.Errorf("chroot: %w", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return fmt.Errorf("chdir: %w", err)
	}
	if err := unix.Access("/proc", unix.F_OK); err != unix.ENOENT {
		return fmt.Errorf("the root is not empty: %v", err)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	_, _, errno := syscall.AllThreadsSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none[0])), 0)
	if errno != 0 && errno != unix.ENOTSUP {
		return fmt.Errorf("capabilities: %w", errno)
	}
	return nil
}

// rootDenied reports whether opening the root directory fails with EACCES. Without Landlock
// every user may open it.
func rootDenied() bool {
	fd, err := unix.Open("/", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err == nil {
		_ = unix.Close(fd)
	}
	return err == unix.EACCES
}
