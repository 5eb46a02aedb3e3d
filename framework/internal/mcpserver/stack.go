package mcpserver

import "runtime"

// callStack is how much of a goroutine's stack a call usually needs, in bytes: from here
// through the engine into a database.
const callStack = 12 << 10

// growStack makes the stack of a new goroutine large enough for a call. A new goroutine has
// 2 KB, and would copy it three times while it grows under a deep call.
//
//go:noinline
func growStack() {
	var room [callStack]byte
	runtime.KeepAlive(&room)
}
