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

// activityOf does not know here.
func activityOf(int) activity { return activity{busy: true} }

// awaitEnd cannot wait here without reaping.
func awaitEnd(int) bool { return false }

// sweep does nothing here.
func sweep(string) {}

// usage is 0 where nobody counts.
func usage(int) (int64, int) { return 0, 0 }

// sweepOrphans does nothing here, where nothing is known of other processes.
func sweepOrphans() {}

func owner() string { return "" }

// folderName is the pattern of the folder of a process's socket, whose path may not be long here.
func folderName() string { return folderPrefix + "*" }
