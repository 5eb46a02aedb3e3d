package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/schema"
	"github.com/koan-go/koan/plugins/internal/queue"
)

// server is one configured server: its sessions, and its latest listing.
type server struct {
	results
	version string // of this build, for the server
	cache   *cache
	known   *catalog.SecretList // where those of its configuration are added
	queue   *queue.Queue        // of calls
	changed func()              // its tools are others than before
	life    lifetime
	habits  habits
	lists   sync.Mutex // held while tools are listed, so that the later list wins

	mu       sync.Mutex
	sessions map[string]*session // by user, "" for nobody
	listing  *listing            // nil: never seen
	compared bool                // it is the server's own, and not only what was kept of it
	offer    *offer              // made of it
}

// faults says what is wrong with a server or a call of it, and what to do about that.
type faults struct {
	cfg    Config
	people *people
}

// results reads what a server returns.
type results struct {
	faults
	log     *slog.Logger
	schemas schema.Cache // of outputs
}

// lifetime is how long a server's connections may be.
type lifetime struct {
	ctx    context.Context
	stop   context.CancelFunc
	unused sync.WaitGroup // attempts to connect that nobody needs any more
	closed bool
}

// habits are what is known of how a server behaves.
type habits struct {
	way        *way      // of connecting, that worked last; nil is not known
	promptless bool      // it ended when it was asked for the prompts that it declares
	skipping   sync.Once // done when the log says that something of its output is skipped
}

func newServer(life context.Context, c Config, host catalog.Host, kept *cache, users *people, changed func()) *server {
	life, stop := context.WithCancel(life)
	return &server{
		results: results{faults: faults{cfg: c, people: users}, log: host.Log()}, version: host.Version(), cache: kept, queue: queue.New(c.MaxParallel), changed: changed, life: lifetime{ctx: life, stop: stop},
		sessions: map[string]*session{},
	}
}

// discover connects a server, repeatedly until its tools have been listed once: those that are kept of it
// are compared with them.
func (s *server) discover() {
	for s.cfg.wrong == nil {
		if _, err := s.acquire(s.life.ctx, localUser); err == nil {
			return
		}
		wait := min(s.pause(localUser), signInPoll) // a sign-in ends the pause
		select {
		case <-time.After(wait):
		case <-s.life.ctx.Done():
			return
		}
	}
}

// signInPoll is how soon a sign-in by another process is noticed.
const signInPoll = 2 * time.Second

// Bounds of the time between two attempts to connect.
const (
	firstBackoff = time.Second
	maxBackoff   = time.Minute
)

// maxRetryAfter bounds the time for which a server can put off the next attempt.
const maxRetryAfter = time.Hour

func backoff(failures int) time.Duration {
	d := firstBackoff
	for range failures - 1 {
		if d *= 2; d >= maxBackoff {
			return maxBackoff
		}
	}
	return d
}

// list fetches the tools that a session sees. All callers are offered the same tools: those
// that the operator sees, and those that other users see beside them.
func (s *server) list(ctx context.Context, x *session, conn *connection) error {
	s.lists.Lock()
	defer s.lists.Unlock()
	at := conn.listed.ask()
	defer conn.listed.noteTried(at)
	tools, wrong, err := conn.tools(ctx)
	if err != nil {
		return err
	}
	conn.listed.keep(tools, at)
	for _, what := range wrong {
		s.log.Warn("the list of tools of an upstream server is not as it should be", "upstream", s.cfg.ID, "problem", what)
	}
	next := &listing{About: conn.about, Tools: tools, Wrong: wrong, Prompts: s.prompts(ctx, conn), At: time.Now().UTC(), Operator: x.operators()}
	s.mu.Lock()
	known := s.listing
	s.mu.Unlock()
	if known != nil && !next.Operator {
		next = known.with(next)
	}
	s.take(next, true)
	s.mu.Lock()
	s.compared = true
	s.mu.Unlock()
	return nil
}

// unchecked returns what waits until the tools that are known of the server are its own: those that were
// kept of it have been compared, and changes that it has announced are listed. It is nil if they are. Once
// an attempt to connect has failed it does not wait for others.
func (s *server) unchecked() func(context.Context, auth.Principal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.compared {
		return func(ctx context.Context, p auth.Principal) error { return s.awaitListing(ctx, p.Subject) }
	}
	stale := map[*session]*connection{}
	for _, x := range s.sessions {
		if x.conn == nil {
			continue
		}
		if moved, _ := x.conn.listed.announcedList(); moved != nil {
			stale[x] = x.conn
		}
	}
	if len(stale) == 0 {
		return nil
	}
	return func(ctx context.Context, _ auth.Principal) error {
		for x, conn := range stale {
			s.awaitAnnounced(ctx, x, conn)
		}
		return nil
	}
}

// promptTime bounds the wait for a list of prompts, without which everything else works.
const promptTime = 5 * time.Second

// prompts lists the prompts of a connection. A server that ends at that is not asked again.
func (s *server) prompts(ctx context.Context, conn *connection) []json.RawMessage {
	if s.promptless() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, promptTime)
	defer cancel()
	out := conn.prompts(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.habits.promptless = out == nil && conn.lost()
	return out
}

// promptless reports whether the server ends when it is asked for its prompts.
func (s *server) promptless() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.habits.promptless
}

// take makes the provider offer a listing. keep also writes it to the disk.
func (s *server) take(l *listing, keep bool) {
	s.mu.Lock()
	same := s.listing != nil && s.listing.equal(l)
	moved := same && (s.listing.About.Protocol != l.About.Protocol || s.listing.About.Transport != l.About.Transport)
	if same && l.Operator {
		s.listing = l
	}
	if s.habits.way == nil {
		s.habits.way = l.About.remembered()
	}
	s.mu.Unlock()
	if same {
		if moved && keep {
			s.keep(l)
		}
		return
	}
	made := newOffer(s, l) // of thousands of schemas, while calls go on
	s.mu.Lock()
	s.listing, s.offer = l, made
	s.mu.Unlock()
	if keep {
		for _, what := range append(slices.Clone(made.skipped), made.reduced...) {
			s.log.Warn("a tool of an upstream server cannot be used as it is described", "upstream", s.cfg.ID, "problem", what)
		}
		s.keep(l)
		s.changed()
	}
}

// keep writes a listing to the disk.
func (s *server) keep(l *listing) {
	if err := s.cache.write(&s.cfg, l); err != nil {
		s.log.Warn("the tools of an upstream server cannot be kept for the next start", "upstream", s.cfg.ID, "error", err)
	}
}

// current returns the server's offer; nil if its tools were never listed.
func (s *server) current() *offer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.offer
}

// unavailable is the fault of a server that cannot be reached.
func (s *faults) unavailable(why error) *fault.Fault {
	state := "cannot be reached"
	if errors.As(why, new(*statusError)) {
		state = "cannot be used now"
	}
	return fault.Newf(fault.ServiceUnavailable, "the server %s %s: %s", s.cfg.ID, state, cut(reasonOf(why), 500)).
		WithHint("Try again shortly; `%s` says what is wrong.", s.checkCommand()).Because(why)
}

// trouble returns why the operator's last attempt to connect has failed; nil if it has not, or if that
// was so long ago that the next one may succeed: nobody else than a call makes it.
func (s *server) trouble() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.sessions {
		if x.operators() && x.conn == nil && x.failure != nil && time.Now().Before(x.retryAt.Add(maxBackoff)) {
			return s.unavailable(x.failure)
		}
	}
	return nil
}
