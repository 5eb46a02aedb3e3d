//go:build !unix

package upstream

import (
	"os"
	"os/exec"
)

func ownGroup(*exec.Cmd) {}

// signalGroup kills a server: there is no other signal here.
func signalGroup(p *os.Process, _ bool) { _ = p.Kill() }
