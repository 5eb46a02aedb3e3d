//go:build linux && cgo

package worker

import "golang.org/x/sys/unix"

// prestartedThreads is how many threads a worker starts before its first script. In a program
// that links C a thread has a stack of megabytes, which would count as the script's memory if
// the thread started while a script runs, as on a busy machine.
const prestartedThreads = 5

// spareThreads is how many more threads the runtime may start during a script: one for each
// processor that the system takes away from a running thread, and for each thread that waits.
const spareThreads = 6

// runtimeDataBytes returns what the runtime may map even for a small script, in bytes: the heap
// grows in steps of 4 MB and ahead of the collector, and each spare thread has a stack.
func runtimeDataBytes() int64 { return 16<<20 + spareThreads*threadStack() }

// threadStack returns the size of a new thread's stack, in bytes: the C library takes the soft
// limit of stacks at its start, and 2 MB if there is none.
func threadStack() int64 {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_STACK, &l) != nil || l.Cur == unix.RLIM_INFINITY {
		return 2 << 20
	}
	return int64(l.Cur)
}
