package mcpserver

// sharedGate is the gate of one principal: of the requests that stand for
// themselves, and of the sessions, where callers are known by more than those.
type sharedGate struct {
	gate
	streams gate // subscriptions
	posts   gate // requests that are read or answered now, subscriptions apart
	users   int  // requests and sessions
}

// gateOf takes part in a principal's gate. The lock is held.
func (h *HTTP) gateOf(subject string) *sharedGate {
	g := h.gates[subject]
	if g == nil {
		g = &sharedGate{}
		h.gates[subject] = g
	}
	g.users++
	return g
}

// leaveGate ends that, once the calls have ended: one that was told to stop may
// take a moment to do so, and holds its place until then.
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

// place is one of the requests that a principal may have on their way. Each may bring,
// and be answered with, as much as a message may have.
type place struct {
	h       *HTTP
	subject string
	gate    *gate
}

// minRequests is how many there are, however few calls may be in flight: most requests
// are no calls, and done in no time.
const minRequests = 256

// takePlace takes one; nil where all are taken.
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
