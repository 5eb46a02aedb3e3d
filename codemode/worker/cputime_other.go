//go:build !linux

package worker

import "time"

// ProcessCPU returns false here. The time that a script runs without waiting for the host
// counts instead.
func ProcessCPU(int) (time.Duration, bool) { return 0, false }
