package mcpserver

import "sync"

// gate bounds how many calls of one client run at a time. A session has one;
// requests that stand for themselves share that of their principal.
type gate struct {
	mu      sync.Mutex
	running int // calls whose work has not returned yet
}

// enter takes one of max places. ok is false where there is none; running is how
// many are taken.
func (g *gate) enter(max int) (running int, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.running >= max {
		return g.running, false
	}
	g.running++
	return g.running, true
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running--
}

// idle tells that no call is in the gate.
func (g *gate) idle() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.running == 0
}
