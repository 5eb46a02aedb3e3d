//go:build !linux

package plugins

import (
	"os"
	"os/exec"
)

// tie does nothing here: the kit notices when the app has ended.
func tie(*exec.Cmd) {}

func killTree(p *os.Process) error { return p.Kill() }

// hasEnded does not know here; Wait does.
func hasEnded(int) bool { return false }

// awaitEnd cannot wait here without reaping.
func awaitEnd(int) bool { return false }

// sweep does nothing here.
func sweep(string) {}

// residentBytes is 0 where nobody counts.
func residentBytes(int) int64 { return 0 }
