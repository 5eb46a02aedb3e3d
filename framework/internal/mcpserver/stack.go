package mcpserver

import "runtime"

// callStack is how much of a goroutine's stack a call usually needs, in bytes: from here
// through the engine into a database.
const callStack = 12 << 10

// withStack calls f on a stack that is large enough from the start. A new goroutine has
// 2 KB, and would copy it three times while it grows under a deep call.
func withStack(f func()) {
	grow()
	f()
}

//go:noinline
func grow() {
	var room [callStack]byte
	runtime.KeepAlive(&room)
}
