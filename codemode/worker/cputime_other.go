//go:build !linux

package worker

import "time"

// ProcessCPU is not available here: the time in which a script has the turn
// counts instead.
func ProcessCPU(int) (time.Duration, bool) { return 0, false }
