package mcpserver

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/feed"
	"github.com/koan-go/koan/framework/run/follow"
)

// place is whose rows a resource is made of.
type place struct{ entity, set string }

// placeOf returns whose rows a resource is made of; ok is false for one of the catalog.
func placeOf(p peer, s *Server, uri string) (at place, ok bool) {
	v := p.view(s)
	d, name := find(v, uri)
	if d == nil || d.Follows == nil {
		return place{}, false
	}
	err := fault.Guard(func() error { // a provider's, also in a goroutine of a session's
		at.entity, at.set = d.Follows(v, name)
		return nil
	})
	if err != nil {
		s.opts.Log.Error("panic in a document", "uri", d.URI, "error", errors.Unwrap(err))
		return place{}, false
	}
	return at, at.entity != ""
}

// rowFollower follows the sets whose rows a client's resources show.
type rowFollower struct {
	server *Server

	mu    sync.Mutex
	sets  map[string]bool
	ctx   context.Context // ends with the session; nil while no set is followed
	stop  context.CancelFunc
	ended bool
}

// rowsChanged takes the changes of some entities in a set.
type rowsChanged func(p peer, set string, changed func(entity string) bool)

// follow begins to follow the set that a resource shows rows of, unless the session does so
// already: it goes on until the session ends.
func (r *rowFollower) follow(p peer, uri string, notify rowsChanged) error {
	at, ok := placeOf(p, r.server, uri)
	if !ok {
		return nil
	}
	if r.server.opts.Feed == nil {
		return fault.New(fault.CapabilityUnsupported, "changes cannot be followed here")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sets[at.set] || r.ended {
		return nil
	}
	if r.sets == nil {
		r.sets = map[string]bool{}
		r.ctx, r.stop = context.WithCancel(context.Background())
	}
	// Before the client has its answer: it may read the resource right after.
	f, err := r.follower(r.ctx, p, at.set)
	if err != nil {
		return err
	}
	r.sets[at.set] = true
	go r.run(r.ctx, p, at.set, f, notify)
	return nil
}

// close ends with the session.
func (r *rowFollower) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	if r.stop != nil {
		r.stop()
	}
}

func (r *rowFollower) follower(ctx context.Context, p peer, set string) (*feed.Follower, error) {
	return r.server.opts.Feed.Follow(ctx, r.reader(p), feed.Filter{Sets: []string{set}}, "")
}

func (r *rowFollower) reader(p peer) follow.Reader {
	return follow.Reader{View: p.view(r.server), Principal: p.principal}
}

// followAgain is when a session follows again after a failure.
const followAgain = time.Second

// run notifies of changed rows until ctx ends.
func (r *rowFollower) run(ctx context.Context, p peer, set string, f *feed.Follower, notify rowsChanged) {
	for {
		for {
			events, err := f.Next(ctx, func() (follow.Reader, error) { return r.reader(p), nil })
			notify(p, set, func(entity string) bool {
				return slices.ContainsFunc(events, func(e feed.Event) bool { return e.Entity == entity })
			})
			if err != nil {
				break
			}
		}
		f.Close()
		for f = nil; f == nil; {
			select {
			case <-ctx.Done():
				return
			case <-time.After(followAgain):
			}
			f, _ = r.follower(ctx, p, set) // else later
		}
		notify(p, set, func(string) bool { return true }) // whatever was missed
	}
}

// notifyRows notifies the client of the resources that show rows of some entities in a set.
func (s *subscriptions) notifyRows(p peer, set string, changed func(entity string) bool) {
	shows := func(uri string) bool {
		at, ok := placeOf(p, s.server, uri)
		return ok && at.set == set && changed(at.entity)
	}
	notShown := func(uri string) bool { return !shows(uri) }
	_, watched := s.state()
	s.notifyUpdated(nil, slices.DeleteFunc(watched, notShown))
	for _, sub := range s.requests.subscribed() {
		s.notifyUpdated(sub, slices.DeleteFunc(slices.Clone(sub.filter.ResourceSubscriptions), notShown))
	}
}
