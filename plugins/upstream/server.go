package upstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/schema"
)

// server is one configured server: its connection, which is opened when a call needs it
// and again after it was lost, and its latest listing.
type server struct {
	cfg     Config
	version string // of this build, for the server
	log     *slog.Logger
	cache   *cache
	slots   chan struct{} // calls in flight
	changed func()        // its tools are others than before
	life    context.Context
	schemas schema.Cache // of outputs
	lists   sync.Mutex   // held while tools are listed, so that the later list wins

	mu       sync.Mutex
	conn     *connection
	dialing  chan struct{} // closed when the dial under way has ended; nil for none
	failure  error         // why the last dial failed
	failures int           // one after the other
	retryAt  time.Time
	listing  *listing // nil: never seen
	offer    *offer   // made of it
	closed   bool
}

func newServer(life context.Context, c Config, host catalog.Host, kept *cache, changed func()) *server {
	return &server{
		cfg: c, version: host.Version(), log: host.Log(), cache: kept, slots: make(chan struct{}, c.MaxParallel), changed: changed, life: life,
	}
}

// discover connects a server, repeatedly until its tools have been listed once.
func (s *server) discover() {
	for s.current() == nil {
		if _, err := s.acquire(s.life); err == nil {
			return
		}
		s.mu.Lock()
		wait := max(time.Until(s.retryAt), firstBackoff)
		s.mu.Unlock()
		select {
		case <-time.After(wait):
		case <-s.life.Done():
			return
		}
	}
}

// Bounds of the time between two attempts to connect.
const (
	firstBackoff = time.Second
	maxBackoff   = time.Minute
)

func backoff(failures int) time.Duration {
	d := firstBackoff
	for range failures - 1 {
		if d *= 2; d >= maxBackoff {
			return maxBackoff
		}
	}
	return d
}

// acquire returns a connection, and waits for it as long as the server's start may take.
// Its errors are faults.
func (s *server) acquire(ctx context.Context) (*connection, error) {
	for {
		s.mu.Lock()
		conn, dialing, failure := s.conn, s.dialing, s.failure
		switch {
		case s.closed:
			s.mu.Unlock()
			return nil, s.unavailable(errors.New("the app is stopping"))
		case conn != nil && !conn.lost():
			s.mu.Unlock()
			return conn, nil
		case conn != nil:
			s.conn = nil
			go conn.close()
		}
		if dialing == nil {
			if failure != nil && time.Now().Before(s.retryAt) {
				wait := time.Until(s.retryAt).Round(time.Second)
				s.mu.Unlock()
				return nil, s.unavailable(failure).WithHint("It is tried again in %s; `upstream check` says what is wrong.", max(wait, time.Second))
			}
			dialing = make(chan struct{})
			s.dialing = dialing
			go s.dial(dialing)
		}
		s.mu.Unlock()
		select {
		case <-dialing:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// dial connects, and lists the tools. It continues if the call that needed it ends, so that
// others can use the connection.
func (s *server) dial(done chan struct{}) {
	ctx, cancel := context.WithTimeoutCause(s.life, s.cfg.Start, fmt.Errorf("it did not start in %s", s.cfg.Start))
	defer cancel()
	conn, err := connect(ctx, s.life, &s.cfg, s.version, s.relist)
	if err == nil {
		if err = s.list(ctx, conn); err != nil {
			conn.close()
			conn = nil
		}
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	defer close(done)
	if unused := s.dialed(conn, err); unused != nil {
		unused.close() // before whoever waits for the dial goes on: the app may be about to exit
	}
}

// dialed notes how a dial ended. It returns the connection if nobody is going to use it.
func (s *server) dialed(conn *connection, err error) (unused *connection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dialing = nil
	switch {
	case s.life.Err() != nil:
		s.failure = errors.New("the app is stopping")
		return conn
	case err != nil:
		s.failures++
		s.failure, s.retryAt = err, time.Now().Add(backoff(s.failures))
		s.log.Warn("an upstream server cannot be reached", "upstream", s.cfg.ID, "error", err, "failures", s.failures)
	case s.closed:
		return conn
	default:
		s.conn, s.failure, s.failures = conn, nil, 0
		s.log.Info("connected an upstream server", "upstream", s.cfg.ID, "name", conn.about.Name, "version", conn.about.Version, "protocol", conn.about.Protocol)
	}
	return nil
}

// list fetches the server's current tools.
func (s *server) list(ctx context.Context, conn *connection) error {
	s.lists.Lock()
	defer s.lists.Unlock()
	tools, err := conn.tools(ctx)
	if err != nil {
		return err
	}
	s.take(&listing{About: conn.about, Tools: tools, Prompts: conn.prompts(ctx), At: time.Now().UTC()}, true)
	return nil
}

// take makes the provider offer a listing. keep also writes it to the disk.
func (s *server) take(l *listing, keep bool) {
	s.mu.Lock()
	same := s.listing != nil && s.listing.equal(l)
	s.mu.Unlock()
	if same {
		return
	}
	made := newOffer(s, l) // of thousands of schemas, while calls go on
	s.mu.Lock()
	s.listing, s.offer = l, made
	s.mu.Unlock()
	if keep {
		if err := s.cache.write(&s.cfg, l); err != nil {
			s.log.Warn("the tools of an upstream server cannot be kept for the next start", "upstream", s.cfg.ID, "error", err)
		}
		s.changed()
	}
}

// relist lists the tools again, after the server has said that they have changed.
func (s *server) relist() {
	s.mu.Lock()
	conn := s.conn
	s.mu.Unlock()
	if conn == nil {
		return // the dial under way lists them
	}
	ctx, cancel := context.WithTimeout(s.life, s.cfg.Start)
	defer cancel()
	if err := s.list(ctx, conn); err != nil {
		s.log.Warn("the tools of an upstream server cannot be listed again", "upstream", s.cfg.ID, "error", err)
	}
}

// drop closes a connection that cannot be used any more.
func (s *server) drop(conn *connection) {
	s.mu.Lock()
	if s.conn == conn {
		s.conn = nil
	}
	s.mu.Unlock()
	go conn.close()
}

// close closes the connection, and no other one is opened.
func (s *server) close() {
	s.mu.Lock()
	conn, dialing := s.conn, s.dialing
	s.conn, s.closed = nil, true
	s.mu.Unlock()
	if conn != nil {
		conn.close()
	}
	if dialing != nil {
		<-dialing
	}
}

// current returns the server's offer; nil if its tools were never listed.
func (s *server) current() *offer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.offer
}

// unavailable is the fault of a server that cannot be reached.
func (s *server) unavailable(why error) *fault.Fault {
	return fault.Newf(fault.ServiceUnavailable, "the server %s cannot be reached: %s", s.cfg.ID, cut(why.Error(), 500)).
		WithHint("Try again shortly; `upstream check` says what is wrong.").Because(why)
}
