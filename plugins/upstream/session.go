package upstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/koan-go/koan/plugins/upstream/internal/signin"
)

// session is the connection to a server for one user who is signed in to it, or for all
// others: a connection is opened when a call needs it and again after it was lost. It never
// has another user's token. Its fields but the first are the server's, under its lock.
type session struct {
	server      *server
	user        string              // "" for nobody
	signIn      string              // the sign-in that it was opened with
	credentials *signin.Credentials // nil for nobody

	conn     *connection
	stale    bool          // the server has said that its tools have changed
	listing  bool          // a goroutine lists them until it has not
	wanted   chan struct{} // somebody waits for that
	dialing  chan struct{} // closed when the dial under way has ended; nil for none
	dialer   *dialer       // of the dial under way, or the last one
	begun    time.Time     // when it began
	failure  error         // why the last dial failed
	failures int           // one after the other
	retryAt  time.Time
	used     time.Time
}

// operators reports whether the session sees what the operator of this app sees.
func (x *session) operators() bool { return x.user == "" || x.user == localUser }

// idleTime is how long the connection of a user is kept without calls.
const idleTime = 10 * time.Minute

// sessionOf returns the session of a user, for the sign-in that is kept now. The lock is
// held.
func (s *server) sessionOf(user string, c *signin.Credentials, signIn string) *session {
	now := time.Now()
	for name, x := range s.sessions {
		other := name == user && x.signIn != signIn // signed out, or in again
		if x.dialing == nil && (other || x.user != "" && name != user && now.Sub(x.used) > idleTime && (x.conn == nil || x.conn.idle())) {
			x.disconnect()
			delete(s.sessions, name)
		}
	}
	if c == nil {
		user = ""
	}
	x := s.sessions[user]
	if x == nil || x.signIn != signIn {
		x = &session{server: s, user: user, signIn: signIn, credentials: c, wanted: make(chan struct{}, 1)}
		s.sessions[user] = x
	}
	x.used = now
	return x
}

// disconnect closes the connection once it has no calls in flight. The lock is held.
func (x *session) disconnect() {
	if x.conn != nil {
		go x.conn.retire()
		x.conn = nil
	}
}

// acquire returns a user's connection, and waits for it as long as the server's start may
// take. Its errors are faults.
func (s *server) acquire(ctx context.Context, user string) (*connection, error) {
	return s.connected(ctx, user, func(*session) bool { return true })
}

// connected returns a user's connection. It waits for an attempt to connect where waits allows that of
// the session, which it is called with under the lock.
func (s *server) connected(ctx context.Context, user string, waits func(*session) bool) (*connection, error) {
	for {
		credentials, signIn, err := s.people.credentials(&s.cfg, user)
		if err != nil {
			return nil, s.unreached(user, err)
		}
		s.mu.Lock()
		if s.life.closed {
			s.mu.Unlock()
			return nil, s.unavailable(errors.New("the app is stopping"))
		}
		x := s.sessionOf(user, credentials, signIn)
		if x.conn != nil && !x.conn.lost() {
			conn := x.conn
			s.mu.Unlock()
			return conn, nil
		}
		x.disconnect()
		dialing := x.dialing
		if dialing == nil {
			if failure, wait := x.failure, time.Until(x.retryAt); failure != nil && wait > 0 {
				s.mu.Unlock()
				return nil, s.paused(user, failure, wait)
			}
			dialing = make(chan struct{})
			x.dialing, x.stale, x.begun = dialing, false, time.Now()
			x.dialer = s.newDialer(x)
			go x.dial(dialing)
		}
		starting := time.NewTimer(time.Until(x.begun.Add(s.cfg.Start)))
		defer starting.Stop()
		if !waits(x) {
			failure := x.failure
			s.mu.Unlock()
			return nil, s.paused(user, failure, 0)
		}
		s.mu.Unlock()
		select {
		case <-dialing:
		case <-starting.C:
			return nil, s.unreached(user, x.dialer.slow())
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// newDialer makes the dialer of a session. The lock is held.
func (s *server) newDialer(x *session) *dialer {
	return &dialer{
		cfg: &s.cfg, credentials: x.credentials, version: s.version, hide: func(values []string) { s.known.Add(values...) }, known: s.habits.way, changed: x.relist, closing: &s.life.unused,
		skipped: func(words string) {
			s.habits.skipping.Do(func() {
				s.log.Warn("an upstream server writes to its standard output, where only messages belong: that is skipped", "upstream", s.cfg.ID, "text", words)
			})
		},
	}
}

// awaitListing waits until a user's connection has listed the tools. Once an attempt has failed it
// makes others without waiting for them, and returns why the last one failed: a server that hangs
// must not make every search as slow.
func (s *server) awaitListing(ctx context.Context, user string) error {
	_, err := s.connected(ctx, user, func(x *session) bool { return x.failure == nil })
	return err
}

// pause returns how long to wait before the next attempt to connect.
func (s *server) pause(user string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	wait := firstBackoff
	for _, x := range s.sessions {
		if x.user == "" || x.user == user {
			wait = max(wait, time.Until(x.retryAt))
		}
	}
	return wait
}

// dial connects, and lists the tools. It continues if the call that needed it ends, so that
// others can use the connection.
func (x *session) dial(done chan struct{}) {
	s := x.server
	conn, err := x.connect(x.dialer)
	defer close(done)
	if unused := s.dialed(x, conn, err); unused != nil {
		unused.close() // before whoever waits for the dial goes on: the app may be about to exit
	}
}

// slowStart is the error of a server that did not start in time.
type slowStart struct{ limit time.Duration }

func (e *slowStart) Error() string { return fmt.Sprintf("it did not start in %s", e.limit) }

// maxStart is how many times the time for a start a process may take that somebody waits for no more:
// one that is slow, as a first start with npx is, is not begun anew each time.
const maxStart = 10

// connect connects. Time that the authorization server takes is not part of the time for a start: it has
// limits of its own.
func (x *session) connect(d *dialer) (*connection, error) {
	s := x.server
	if x.credentials != nil {
		if _, err := x.credentials.Token(s.life.ctx); err != nil {
			return nil, &tokenError{err}
		}
	}
	most := s.cfg.Start
	if len(s.cfg.Command) > 0 {
		most *= maxStart
	}
	ctx, cancel := context.WithTimeoutCause(s.life.ctx, most, &slowStart{most})
	defer cancel()
	conn, err := x.listed(ctx, d)
	if errors.Is(err, errEndedListing) && s.promptless() { // it is not asked for prompts again
		conn, err = x.listed(ctx, d)
	}
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(err, cause) {
		err = cause
	}
	return conn, err
}

// errEndedListing is the error of a server that ended once it had listed what it has.
var errEndedListing = errors.New("it ended after it had listed its tools")

// listed connects, and lists the tools.
func (x *session) listed(ctx context.Context, d *dialer) (*connection, error) {
	conn, err := d.connect(ctx, x.server.life.ctx)
	if err != nil {
		return nil, err
	}
	if err = x.server.list(ctx, x, conn); err == nil && conn.lost() {
		err = conn.why(ctx, errEndedListing)
	}
	if err != nil {
		conn.close()
		return nil, err
	}
	return conn, nil
}

// dialed notes how a dial ended. It returns the connection if nobody is going to use it.
func (s *server) dialed(x *session, conn *connection, err error) (unused *connection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x.dialing = nil
	switch {
	case s.life.ctx.Err() != nil:
		x.failure = errors.New("the app is stopping")
		return conn
	case err != nil:
		x.failures++
		wait := backoff(x.failures)
		if status := (*statusError)(nil); errors.As(err, &status) {
			wait = max(wait, min(status.retryAfter, maxRetryAfter))
		}
		x.failure, x.retryAt = err, time.Now().Add(wait)
		s.log.Warn("an upstream server cannot be reached", "upstream", s.cfg.ID, "error", err, "failures", x.failures)
	case s.life.closed, s.sessions[x.user] != x:
		return conn
	default:
		x.conn, x.failure, x.failures = conn, nil, 0
		s.habits.way = conn.about.remembered()
		x.refresh() // they may have changed after they were listed
		s.log.Info("connected an upstream server", "upstream", s.cfg.ID, "name", conn.about.Name, "version", conn.about.Version, "protocol", conn.about.Protocol)
	}
	return nil
}

// relist makes the tools be listed again, after the server has said that they have changed.
func (x *session) relist() {
	x.server.mu.Lock()
	defer x.server.mu.Unlock()
	x.stale = true
	x.refresh()
}

// refresh lists the tools until the server says no more that they have changed. The lock is
// held.
func (x *session) refresh() {
	if x.conn != nil && x.stale && !x.listing {
		x.listing = true
		go x.keepListed()
	}
}

// Bounds of the time between two listings of a server that goes on to say that they change.
const (
	firstRelist = 50 * time.Millisecond
	maxRelist   = 5 * time.Second
)

func (x *session) keepListed() {
	s := x.server
	for pause := firstRelist; ; pause = min(2*pause, maxRelist) {
		s.mu.Lock()
		conn := x.conn
		if !x.stale || conn == nil {
			x.listing = false
			s.mu.Unlock()
			return
		}
		x.stale = false
		s.mu.Unlock()
		ctx, cancel := context.WithTimeout(s.life.ctx, s.cfg.Start)
		if err := s.list(ctx, x, conn); err != nil {
			s.log.Warn("the tools of an upstream server cannot be listed again", "upstream", s.cfg.ID, "error", err)
		}
		cancel()
		select {
		case <-time.After(pause):
		case <-x.wanted:
		case <-s.life.ctx.Done():
		}
	}
}

// drop closes a connection that cannot be used any more.
func (s *server) drop(conn *connection) {
	s.mu.Lock()
	for _, x := range s.sessions {
		if x.conn == conn {
			x.conn = nil
		}
	}
	s.mu.Unlock()
	go conn.close()
}

// close closes the connections, and no other one is opened.
func (s *server) close() {
	s.mu.Lock()
	var conns []*connection
	var dialing []chan struct{}
	for _, x := range s.sessions {
		if x.conn != nil {
			conns = append(conns, x.conn)
			x.conn = nil
		}
		if x.dialing != nil {
			dialing = append(dialing, x.dialing)
		}
	}
	s.life.closed = true
	s.mu.Unlock()
	s.life.stop()
	for _, conn := range conns {
		conn.close()
	}
	for _, d := range dialing {
		<-d
	}
	s.life.unused.Wait()
}
