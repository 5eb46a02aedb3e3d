package jail

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// self is this executable, also where its file has been replaced.
const self = "/proc/self/exe"

// namespaces are all kinds but time and cgroup namespaces, which would hide nothing more.
const namespaces = unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS

// confine gives a command namespaces of its own. Where the host is not root, a user namespace lets the process
// build the jail.
func confine(cmd *exec.Cmd) {
	attr := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true, Cloneflags: namespaces}
	if os.Getuid() != 0 {
		attr.Cloneflags |= unix.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	cmd.SysProcAttr = attr
}

// libraries are what programs that are not linked statically, and interpreters, find of the system; those that
// are not there are left out.
var libraries = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
	"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/localtime", "/etc/timezone",
	"/etc/ssl", "/etc/pki", "/etc/ca-certificates", "/etc/mime.types", "/etc/protocols", "/etc/services",
}

// devices are those that are nobody's.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// prepare has the program find itself.
func (j *Jail) prepare() error {
	j.Read, j.Write = clean(append(j.Read, j.Program)), clean(j.Write)
	_, err := os.Stat(j.Program)
	return err
}
