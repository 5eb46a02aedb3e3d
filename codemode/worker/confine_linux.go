package worker

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Isolations, as a worker reports them.
const (
	IsolationProcess = "process"
	IsolationSeccomp = "process+seccomp"
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

// memorySizes gives VmData and VmSize in bytes, 0 where /proc is not there.
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
// new privileges, and all but a few system calls. A kernel without seccomp
// leaves isolation by process, which is reported.
func confine() (string, error) {
	for resource, most := range map[int]uint64{unix.RLIMIT_CORE: 0, unix.RLIMIT_FSIZE: 0, unix.RLIMIT_NOFILE: 16} {
		if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: most, Max: most}); err != nil {
			return "", fmt.Errorf("rlimit %d: %w", resource, err)
		}
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return "", fmt.Errorf("dumpable: %w", err)
	}
	if seccompArch == 0 {
		return IsolationProcess, nil
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// On every thread: TSYNC takes the filter to all of them.
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return "", fmt.Errorf("no_new_privs: %w", err)
	}
	err := installFilter()
	if err == unix.ENOSYS || err == unix.EINVAL {
		return IsolationProcess, nil
	}
	if err != nil {
		return "", fmt.Errorf("seccomp: %w", err)
	}
	return IsolationSeccomp, nil
}
