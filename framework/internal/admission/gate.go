package admission

import "sync"

// Gate bounds how many things of one client are open at a time: streams, requests. The zero
// value is ready.
type Gate struct {
	mu   sync.Mutex
	open int
}

// Enter takes one of max places. ok is false if there is none; open is how many are taken.
func (g *Gate) Enter(max int) (open int, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open >= max {
		return g.open, false
	}
	g.open++
	return g.open, true
}

// Leave frees a place.
func (g *Gate) Leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open--
}

// idle reports whether no place is taken.
func (g *Gate) idle() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.open == 0
}
