package admission

// Caller is what one principal has in flight: its stateless requests, and its sessions if
// callers authenticate.
type Caller struct {
	Calls     CallGate
	Streams   Gate // subscriptions
	Listeners Gate // streams of changes
	places    Gate // requests that are read or answered now, subscriptions and streams apart
	users     int  // requests and sessions
}

// Join returns a principal's Caller and counts one more user of it, until Quit.
func (a *Admission) Join(subject string) *Caller {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.join(subject)
}

func (a *Admission) join(subject string) *Caller {
	c := a.callers[subject]
	if c == nil {
		c = &Caller{}
		a.callers[subject] = c
	}
	c.users++
	return c
}

// Quit ends one use of a principal's Caller.
func (a *Admission) Quit(subject string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.callers[subject]
	if c.users--; c.users == 0 && c.Calls.idle() && c.Streams.idle() && c.Listeners.idle() {
		delete(a.callers, subject)
	}
}

// Place is one of the requests that a principal may have in flight. Request and response
// may each be as long as a message may be.
type Place struct {
	Caller  *Caller
	from    *Admission
	subject string
	left    bool
}

// minRequests is how many places there are at least, however few calls may be in flight:
// most requests are not calls, and quick.
const minRequests = 256

// TakePlace takes a place of a principal that may have queueMax calls in flight; it returns
// nil if all are taken.
func (a *Admission) TakePlace(subject string, queueMax int) *Place {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.join(subject)
	if _, ok := c.places.Enter(max(minRequests, 4*queueMax)); !ok {
		c.users--
		return nil
	}
	return &Place{Caller: c, from: a, subject: subject}
}

// Leave releases the place, once.
func (p *Place) Leave() {
	if !p.left {
		p.left = true
		p.Caller.places.Leave()
		p.from.Quit(p.subject)
	}
}
