package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// systemID names what process ids are unique in, and since when: this boot of the
// kernel, and the namespace.
func systemID() (string, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}
	space, err := os.Readlink("/proc/self/ns/pid")
	return string(bytes.TrimSpace(boot)) + "/" + space, err
}

// over stands for the beginning of a process that has ended, and that nobody has
// waited for yet.
const over = "over"

// startTime is when a process began, in the kernel's clock ticks: two that have an id one
// after the other differ in it (proc_pid_stat(5), state and starttime).
func startTime(pid int) (string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	const starttime = 22
	_, rest, _ := strings.Cut(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " ")
	fields := strings.Fields(rest) // from the third on
	if len(fields) <= starttime-3 {
		return "", errors.New("no starttime")
	}
	if state := fields[0]; state == "Z" || state == "X" {
		return over, nil
	}
	return fields[starttime-3], nil
}

// processMark names this process, "" where that cannot be done.
func processMark() string {
	place, err := systemID()
	if err != nil {
		return ""
	}
	start, err := startTime(os.Getpid())
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%s/%d/%s", place, os.Getpid(), start)
}

// processGone reports whether a marked process of this system has ended.
func processGone(mark string) bool {
	place, err := systemID()
	rest, here := strings.CutPrefix(mark, place+"/")
	id, start, whole := strings.Cut(rest, "/")
	pid, bad := strconv.Atoi(id)
	if err != nil || !here || !whole || bad != nil || pid <= 0 {
		return false
	}
	if errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
		return true
	}
	now, err := startTime(pid)
	return err == nil && now != start // it is over, or another one has its id
}
