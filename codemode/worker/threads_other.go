//go:build !linux || !cgo

package worker

// prestartedThreads is 0: in a program without C a new thread takes only a few kilobytes.
const prestartedThreads = 0

// runtimeDataBytes returns what the runtime may map even for a small script, in bytes: the heap
// grows in steps of 4 MB.
func runtimeDataBytes() int64 { return 8 << 20 }
