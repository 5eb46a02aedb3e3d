package plugins

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// confine has the kernel kill the plugin when the app is gone, however it went.
func confine(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// killTree kills the plugin's process group. The caller knows that the process
// has not been reaped, so that its id is still its own.
func killTree(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGKILL) }

// ended tells whether a child has ended, without reaping it.
func ended(pid int) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err == nil && info.Signo == int32(unix.SIGCHLD) || err == unix.ECHILD
}
