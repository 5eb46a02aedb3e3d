package worker

import (
	"os"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// namespaces are all kinds but time and cgroup namespaces, which would hide nothing more.
const namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS

// nobody is the user and group of a worker outside of its namespaces if the host is root.
const nobody = 65534

// Attributes returns the attributes with which to start a worker with these layers.
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

// A launcher is a process of the worker's program that starts workers for the host. A process
// in a new user namespace is started with fork instead of vfork: the system copies the page
// tables of the parent, and afterwards the parent takes a fault for each page that it writes
// to. For a small launcher this is cheap.
const (
	launcherMarker = "--koan-codemode-launcher=1"
	// launcherSocket is the descriptor on which a launcher receives requests: its standard
	// input, output and error are one SOCK_SEQPACKET socket. A request is one byte with the
	// files that become a worker's standard input, output and error. The answer is the worker's
	// process id or an error message. The worker becomes a child of the launcher's parent.
	launcherSocket = 0
	// launcherRoot is the descriptor of the directory in which workers start.
	launcherRoot = 3
)

// LauncherArgs returns the arguments of a launcher of workers with these layers, without the
// executable.
func LauncherArgs(layers []string) []string {
	return append([]string{launcherMarker}, Args(layers)[1:]...)
}

// serveLauncher starts workers until the host closes the socket.
func serveLauncher(layers []string) int {
	unix.CloseOnExec(launcherRoot)
	if err := lowerStackLimit(); err != nil {
		return exitBroken
	}
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
		files := receivedFiles(oob[:oobn])
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

// lowerStackLimit lowers the limit of stacks that workers inherit. The stacks of their threads
// count against the limit of a script's memory, and Go runs on stacks of its own.
func lowerStackLimit() error {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_STACK, &l); err != nil {
		return err
	}
	l.Cur = min(l.Cur, stackBytes)
	return unix.Setrlimit(unix.RLIMIT_STACK, &l)
}

// stackBytes is the size of a C stack of a worker's thread, in bytes.
const stackBytes = 1 << 20

// receivedFiles returns the descriptors in the control data of a message.
func receivedFiles(oob []byte) (files []int) {
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
