package admission

import (
	"sync"

	"github.com/koan-go/koan/framework/inflight"
)

// CallGate bounds how many calls of one client run at a time. A session has one; stateless
// requests share that of their principal. The zero value is ready.
type CallGate struct {
	mu      sync.Mutex
	running int // calls whose work has not returned yet
	outside int // calls that have given their slot back, since they wait for something outside
	bytes   int // that all of them brought
}

// Slot is the slot of one call in a gate.
type Slot struct {
	gate *CallGate

	// Under the gate's lock.
	bytes     int // that the call brought
	suspended int // how many times it was given back
	left      bool
}

var _ inflight.Place = (*Slot)(nil)

// Enter takes one of max slots. It returns nil if there is none; running is how many are
// taken.
func (g *CallGate) Enter(max int) (s *Slot, running int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.running >= max {
		return nil, g.running
	}
	g.running++
	return &Slot{gate: g}, g.running
}

// AddBytes adds the input of the call. ok is false if the inputs of all calls in the gate would
// be more than max; bytes is their size.
func (s *Slot) AddBytes(n, max int) (bytes int, ok bool) {
	g := s.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.bytes > 0 && g.bytes+n > max {
		return g.bytes, false
	}
	g.bytes += n
	s.bytes += n
	return g.bytes, true
}

// Leave frees the slot.
func (s *Slot) Leave() {
	g := s.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if s.left {
		return
	}
	s.left = true
	g.bytes -= s.bytes
	if s.suspended > 0 {
		g.outside--
	} else {
		g.running--
	}
}

// Suspend implements inflight.Place. The input of the call stays counted. When it is resumed,
// more calls may run for a while than the gate lets in.
func (s *Slot) Suspend() (resume func()) {
	s.move(1)
	return func() { s.move(-1) }
}

func (s *Slot) move(by int) {
	g := s.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	before := s.suspended > 0
	s.suspended += by
	switch after := s.suspended > 0; {
	case s.left || before == after:
	case after:
		g.running, g.outside = g.running-1, g.outside+1
	default:
		g.running, g.outside = g.running+1, g.outside-1
	}
}

// Running is how many slots are taken.
func (g *CallGate) Running() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.running
}

// idle reports whether no call is in the gate.
func (g *CallGate) idle() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.running+g.outside == 0
}
