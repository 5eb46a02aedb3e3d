package mcpserver

import "sync"

// gate bounds how many calls of one client run at a time. A session has one; stateless
// requests share that of their principal.
type gate struct {
	mu      sync.Mutex
	running int // calls whose work has not returned yet
	bytes   int // that they brought
}

// enter takes one of max places. ok is false if there is none; running is how many are
// taken.
func (g *gate) enter(max int) (running int, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.running >= max {
		return g.running, false
	}
	g.running++
	return g.running, true
}

// addBytes adds the input of a call that is in the gate. ok is false if the inputs of all
// calls would be more than max; bytes is their size.
func (g *gate) addBytes(n, max int) (bytes int, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.bytes > 0 && g.bytes+n > max {
		return g.bytes, false
	}
	g.bytes += n
	return g.bytes, true
}

// leaveBytes is leave for a call whose input was added.
func (g *gate) leaveBytes(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.bytes -= n
	g.running--
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running--
}

// idle reports whether no call is in the gate.
func (g *gate) idle() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.running == 0
}
