package worker

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// closeInherited closes what the host left open by mistake. Once the runtime has
// opened its poller, close_range would take it away and crash: then everything
// else is closed one by one.
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

// memorySizes returns VmData and VmSize in bytes, 0 where /proc is not there.
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

// confine takes from this process what a script could abuse: core dumps, files,
// new privileges, and what the layers take. One that cannot be put on is an error.
func confine(layers []string) error {
	for resource, most := range map[int]uint64{unix.RLIMIT_CORE: 0, unix.RLIMIT_FSIZE: 0, unix.RLIMIT_NOFILE: 16} {
		if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: most, Max: most}); err != nil {
			return fmt.Errorf("rlimit %d: %w", resource, err)
		}
	}
	if slices.Contains(layers, LayerNamespaces) {
		if err := leaveFiles(); err != nil {
			return fmt.Errorf("namespaces: %w", err)
		}
	}
	if slices.Contains(layers, LayerLandlock) && !rootRefused() {
		return errors.New("landlock: files can be opened")
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("dumpable: %w", err)
	}
	if slices.Contains(layers, LayerSeccomp) {
		if err := filterCalls(); err != nil {
			return fmt.Errorf("seccomp: %w", err)
		}
	}
	return nil
}

// leaveFiles makes the empty directory that the host started this process in its
// root, and drops the privileges that this took. They are those of the own user
// namespace. A program that links C cannot drop them on all of its threads; they
// are worth nothing behind seccomp.
func leaveFiles() error {
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

// rootRefused reports whether the root directory cannot be opened for want of the
// right to, which everybody has but who is under Landlock.
func rootRefused() bool {
	fd, err := unix.Open("/", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err == nil {
		_ = unix.Close(fd)
	}
	return err == unix.EACCES
}

// filterCalls refuses all but a few system calls, on every thread.
func filterCalls() error {
	if seccompArch == 0 {
		return errors.New("no filter is known for this architecture")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// On every thread: TSYNC takes both to all of them.
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	return installFilter()
}
