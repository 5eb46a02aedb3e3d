package plugins

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// tie makes the kernel kill the plugin when the app ends, however it ends.
func tie(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// killTree kills the plugin's process group. The caller knows that the process
// has not been reaped, so that its id is still its own.
func killTree(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGKILL) }

// hasEnded reports whether a child has ended, without reaping it.
func hasEnded(pid int) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err == nil && info.Signo == int32(unix.SIGCHLD) || err == unix.ECHILD
}

// awaitEnd waits for the end of a child without reaping it, and reports whether it could.
func awaitEnd(pid int) bool {
	for {
		var info unix.Siginfo
		if err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT, nil); err != unix.EINTR {
			return err == nil
		}
	}
}

// family lists a process and those below it.
func family(pid int) []int {
	out := []int{pid}
	threads, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children")
	for _, thread := range threads {
		text, _ := os.ReadFile(thread)
		for _, child := range strings.Fields(string(text)) {
			if n, err := strconv.Atoi(child); err == nil {
				out = append(out, family(n)...)
			}
		}
	}
	return out
}

// usage returns what a process and those below it hold in memory, where what they share counts for each, and how many
// they are.
func usage(pid int) (n int64, processes int) {
	members := family(pid)
	for _, member := range members {
		text, _ := os.ReadFile("/proc/" + strconv.Itoa(member) + "/statm")
		if fields := strings.Fields(string(text)); len(fields) > 1 {
			pages, _ := strconv.ParseInt(fields[1], 10, 64)
			n += pages * int64(os.Getpagesize())
		}
	}
	return n, len(members)
}

// activityOf returns what a process and those below it have done; one of which nothing is known counts as busy.
func activityOf(pid int) (all activity) {
	for _, member := range family(pid) {
		one := activityOfOne(member)
		all.busy, all.time = all.busy || one.busy, all.time+one.time
	}
	return all
}

func activityOfOne(pid int) activity {
	raw, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	_, after, ok := bytes.Cut(raw, []byte(") ")) // the name may have anything in it but is followed by the state
	fields := bytes.Fields(after)
	const state, user, system = 0, 11, 12
	if err != nil || !ok || len(fields) <= system {
		return activity{busy: true}
	}
	inUser, errUser := strconv.ParseUint(string(fields[user]), 10, 64)
	inSystem, errSystem := strconv.ParseUint(string(fields[system]), 10, 64)
	return activity{busy: errUser != nil || errSystem != nil || fields[state][0] == 'R' || fields[state][0] == 'D', time: inUser + inSystem}
}

// sweep kills the processes that have a mark in their environment: those that a plugin has
// started and that have left its process group. It repeats until it finds none, since they
// may start others meanwhile.
func sweep(mark string) {
	const most = 20
	for range most {
		if !sweepOnce([]byte(mark)) {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func sweepOnce(mark []byte) (found bool) {
	return killEach(func(_ string, environ []byte) bool {
		return slices.ContainsFunc(bytes.Split(environ, []byte{0}), func(v []byte) bool { return bytes.Equal(v, mark) })
	})
}

// killEach kills the processes that end says of, by their environment, and reports whether there
// were any.
func killEach(end func(pid string, environ []byte) bool) (found bool) {
	all, err := os.ReadDir("/proc")
	if err != nil {
		return false
	}
	for _, e := range all {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		// Opened before its environment is read, it is the same process afterwards.
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue
		}
		env, err := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if err == nil && end(e.Name(), env) {
			found = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) == nil || found
		}
		_ = unix.Close(fd)
	}
	return found
}
