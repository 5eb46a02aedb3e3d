package worker

import (
	"os"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// namespaces are all there are but for those of time and of control groups, which
// show nothing of the system.
const namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS

// nobody is who a worker is outside of its namespaces where the host is root.
const nobody = 65534

// Attributes returns what a worker with these layers is started with.
func Attributes(layers []string) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if !slices.Contains(layers, LayerNamespaces) {
		return attr
	}
	uid, gid := os.Getuid(), os.Getgid()
	if uid == 0 {
		uid, gid = nobody, nobody
	}
	attr.Cloneflags = namespaces
	attr.UidMappings = []syscall.SysProcIDMap{{HostID: uid, Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{HostID: gid, Size: 1}}
	attr.Credential = &syscall.Credential{NoSetGroups: true}
	return attr
}

// A launcher is this program as well. A process that begins in a user namespace is
// started by fork and not by vfork: the system copies the page tables of who starts it,
// and each page that the host writes to afterwards costs a fault. A launcher is small.
const (
	launcherMarker = "--koan-codemode-launcher=1"
	// launcherSocket is where a launcher gets its requests: its standard input, output
	// and error are one socket that keeps the borders of messages. A request has a byte,
	// and the files that become a worker's standard input, output and error. The answer
	// is the worker's process id, or what is wrong. The worker is a child of who started
	// the launcher.
	launcherSocket = 0
	// launcherRoot is the directory in which workers start.
	launcherRoot = 3
)

// LauncherArgs is the command line of a launcher of workers with these layers.
func LauncherArgs(layers []string) []string {
	return append([]string{launcherMarker}, Args(layers)[1:]...)
}

// serveLauncher starts workers until the host closes the socket.
func serveLauncher(layers []string) int {
	unix.CloseOnExec(launcherRoot)
	const program = "/proc/self/exe"
	args := append([]string{program}, Args(layers)...)
	attr := &syscall.ProcAttr{Dir: "/proc/self/fd/" + strconv.Itoa(launcherRoot), Env: Environment(), Sys: Attributes(layers)}
	attr.Sys.Cloneflags |= unix.CLONE_PARENT
	oob := make([]byte, unix.CmsgSpace(3*4))
	for {
		n, oobn, _, _, err := unix.Recvmsg(launcherSocket, make([]byte, 1), oob, unix.MSG_CMSG_CLOEXEC)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return exitOrphan
		}
		files := received(oob[:oobn])
		if len(files) != 3 {
			return exitBroken
		}
		attr.Files = []uintptr{uintptr(files[0]), uintptr(files[1]), uintptr(files[2])}
		pid, err := syscall.ForkExec(program, args, attr)
		for _, fd := range files {
			_ = unix.Close(fd)
		}
		answer := strconv.Itoa(pid)
		if err != nil {
			answer = err.Error()
		}
		if _, err := unix.Write(launcherSocket, []byte(answer)); err != nil {
			return exitOrphan
		}
	}
}

// received returns the files that came with a message.
func received(oob []byte) (files []int) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil
	}
	for i := range messages {
		if fds, err := unix.ParseUnixRights(&messages[i]); err == nil {
			files = append(files, fds...)
		}
	}
	return files
}
