package mcpserver

import "runtime"

// callStack is what a call usually needs of a goroutine's stack, in bytes: from
// here through the engine into a database.
const callStack = 12 << 10

// withStack calls f on a stack that is large enough at once. A new goroutine has
// 2 KB: growing under a deep call means to copy it, frame by frame, three times over.
func withStack(f func()) {
	grow()
	f()
}

//go:noinline
func grow() {
	var room [callStack]byte
	runtime.KeepAlive(&room)
}
