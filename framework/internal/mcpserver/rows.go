package mcpserver

import (
	"context"
	"errors"
	"slices"
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

// followRows begins to follow the set that a resource shows rows of, unless the session does so
// already: it goes on until the session ends.
func (s *session) followRows(p peer, uri string) error {
	at, ok := placeOf(p, s.server, uri)
	if !ok {
		return nil
	}
	if s.server.opts.Feed == nil {
		return fault.New(fault.CapabilityUnsupported, "changes cannot be followed here")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.followed[at.set] || s.ended {
		return nil
	}
	if s.followed == nil {
		s.followed = map[string]bool{}
		s.following, s.unfollow = context.WithCancel(context.Background())
	}
	// Before the client has its answer: it may read the resource right after.
	f, err := s.follower(s.following, p, at.set)
	if err != nil {
		return err
	}
	s.followed[at.set] = true
	go s.follow(s.following, p, at.set, f)
	return nil
}

func (s *session) follower(ctx context.Context, p peer, set string) (*feed.Follower, error) {
	return s.server.opts.Feed.Follow(ctx, s.rowReader(p), feed.Filter{Sets: []string{set}}, "")
}

func (s *session) rowReader(p peer) follow.Reader {
	return follow.Reader{View: p.view(s.server), Principal: p.principal}
}

// followAgain is when a session follows again after a failure.
const followAgain = time.Second

// follow notifies the client of changed rows until ctx ends.
func (s *session) follow(ctx context.Context, p peer, set string, f *feed.Follower) {
	for {
		for {
			events, err := f.Next(ctx, func() (follow.Reader, error) { return s.rowReader(p), nil })
			s.notifyRows(p, set, func(entity string) bool {
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
			f, _ = s.follower(ctx, p, set) // else later
		}
		s.notifyRows(p, set, func(string) bool { return true }) // whatever was missed
	}
}

// notifyRows notifies the client of the resources that show rows of some entities in a set.
func (s *session) notifyRows(p peer, set string, changed func(entity string) bool) {
	shows := func(uri string) bool {
		at, ok := placeOf(p, s.server, uri)
		return ok && at.set == set && changed(at.entity)
	}
	s.mu.Lock()
	var watched []string
	for uri := range s.watched {
		watched = append(watched, uri)
	}
	var subs []*subscription
	for _, sub := range s.listening {
		subs = append(subs, sub)
	}
	s.mu.Unlock()
	slices.Sort(watched)
	notShown := func(uri string) bool { return !shows(uri) }
	s.notifyUpdated(nil, slices.DeleteFunc(watched, notShown))
	for _, sub := range subs {
		s.notifyUpdated(sub, slices.DeleteFunc(slices.Clone(sub.filter.ResourceSubscriptions), notShown))
	}
}
