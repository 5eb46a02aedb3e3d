//go:build unix

package upstream

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup puts a server into a process group of its own, so that its children end with it.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// signalGroup asks a server's process group to end, or kills it.
func signalGroup(p *os.Process, kill bool) {
	signal := syscall.SIGTERM
	if kill {
		signal = syscall.SIGKILL
	}
	_ = syscall.Kill(-p.Pid, signal)
}
