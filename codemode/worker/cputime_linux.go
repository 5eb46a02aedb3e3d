package worker

import (
	"time"

	"golang.org/x/sys/unix"
)

// ProcessCPU returns the CPU time that all threads of a process have used, and whether it is
// available. pid 0 means this process.
func ProcessCPU(pid int) (time.Duration, bool) {
	clock := int32(unix.CLOCK_PROCESS_CPUTIME_ID)
	if pid != 0 {
		clock = int32(^pid)<<3 | 2 // clock_getcpuclockid(3): the scheduler's clock of a process
	}
	var t unix.Timespec
	if err := unix.ClockGettime(clock, &t); err != nil {
		return 0, false
	}
	return time.Duration(t.Nano()), true
}
