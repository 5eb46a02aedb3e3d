package admission

import "sync"

// Gate bounds how many calls of one client run at a time. A session has one; stateless
// requests share that of their principal. The zero value is ready.
type Gate struct {
	mu      sync.Mutex
	running int // calls whose work has not returned yet
	bytes   int // that they brought
}

// Enter takes one of max places. ok is false if there is none; running is how many are
// taken.
func (g *Gate) Enter(max int) (running int, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.running >= max {
		return g.running, false
	}
	g.running++
	return g.running, true
}

// AddBytes adds the input of a call that is in the gate. ok is false if the inputs of all
// calls would be more than max; bytes is their size.
func (g *Gate) AddBytes(n, max int) (bytes int, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.bytes > 0 && g.bytes+n > max {
		return g.bytes, false
	}
	g.bytes += n
	return g.bytes, true
}

// LeaveBytes is Leave for a call whose input was added.
func (g *Gate) LeaveBytes(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.bytes -= n
	g.running--
}

// Leave frees a place.
func (g *Gate) Leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running--
}

// Running is how many places are taken.
func (g *Gate) Running() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.running
}

// idle reports whether no call is in the gate.
func (g *Gate) idle() bool {
	return g.Running() == 0
}
