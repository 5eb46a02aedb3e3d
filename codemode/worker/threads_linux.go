//go:build cgo

package worker

// prestartedThreads is how many threads a worker starts before its first script. In a program
// that links C a thread has a stack of megabytes, which would count as the script's memory if
// the thread started while a script runs, as on a busy machine.
const prestartedThreads = 5

// runtimeDataBytes is what the runtime may map even for a small script, in bytes: the heap grows
// in steps of 4 MB, and the stack of a thread has 8 MB.
const runtimeDataBytes = 24 << 20
