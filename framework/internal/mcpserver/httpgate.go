package mcpserver

// sharedGate is the gate of one principal: of its stateless requests, and of its sessions
// if callers authenticate.
type sharedGate struct {
	gate
	streams gate // subscriptions
	posts   gate // requests that are read or answered now, subscriptions apart
	users   int  // requests and sessions
}

// gateOf returns a principal's gate and counts one more user of it. The lock is held.
func (h *HTTP) gateOf(subject string) *sharedGate {
	g := h.gates[subject]
	if g == nil {
		g = &sharedGate{}
		h.gates[subject] = g
	}
	g.users++
	return g
}

// leaveGate frees the place once all calls have ended: one that was cancelled may take
// a moment to end, and holds its place until then.
func (h *HTTP) leaveGate(subject string, drained <-chan struct{}) {
	<-drained
	h.quitGate(subject)
}

func (h *HTTP) quitGate(subject string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	g := h.gates[subject]
	if g.users--; g.users == 0 && g.idle() && g.streams.idle() {
		delete(h.gates, subject)
	}
}

// place is one of the requests that a principal may have in flight. Request and response
// may each be as long as a message may be.
type place struct {
	h       *HTTP
	subject string
	gate    *gate
}

// minRequests is how many places there are at least, however few calls may be in flight:
// most requests are not calls, and quick.
const minRequests = 256

// takePlace takes a place; it returns nil if all are taken.
func (h *HTTP) takePlace(subject string) *place {
	h.mu.Lock()
	defer h.mu.Unlock()
	g := h.gateOf(subject)
	if _, ok := g.posts.enter(max(minRequests, 4*h.server.now().QueueMax)); !ok {
		g.users--
		return nil
	}
	return &place{h, subject, &g.posts}
}

// leave releases the place, once.
func (p *place) leave() {
	if p.gate != nil {
		p.gate.leave()
		p.gate = nil
		p.h.quitGate(p.subject)
	}
}
