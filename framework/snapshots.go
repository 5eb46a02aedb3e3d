package framework

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/internal/restapi"
	"github.com/koan-go/koan/framework/internal/toolset"
	"github.com/koan-go/koan/framework/run"
)

// snapshots make the catalog of what the providers offer now, and keep it. One that is not valid
// leaves the last one in effect.
type snapshots struct {
	setup     *setup
	providers *providers
	engine    *run.Engine

	latest   atomic.Pointer[catalog.Snapshot]
	mu       sync.Mutex // held while one is made
	watchers []func()
}

// Snapshot is the current catalog.
func (s *snapshots) Snapshot() *catalog.Snapshot { return s.latest.Load() }

// OnChange makes fn be called after each change of the catalog.
func (s *snapshots) OnChange(fn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watchers = append(s.watchers, fn)
}

// changed makes a new catalog because a provider's offer has changed, and tells those who wait for one.
func (s *snapshots) changed() {
	s.mu.Lock() // until the first snapshot is made, if it is being made from earlier offers
	starting := s.Snapshot() == nil
	s.mu.Unlock()
	if starting {
		return // the first snapshot will have it
	}
	if err := s.offer(); err != nil {
		s.setup.log.Error("the changed catalog was rejected; the old one stays in effect", "error", err)
		return
	}
	s.mu.Lock()
	watchers := slices.Clone(s.watchers)
	s.mu.Unlock()
	for _, fn := range watchers {
		fn()
	}
}

// offer makes a new snapshot of the providers' current offers.
func (s *snapshots) offer() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	offers, failed := s.offers()
	about := catalog.Offer{Documents: []*catalog.Document{catalog.Contents(s.setup.app.Name, s.setup.app.Version)}, Operations: append(toolset.Operations(), restapi.Operations(s.setup.tags.get)...)}
	if slices.ContainsFunc(offers, func(o catalog.Offer) bool { return len(o.Resources) > 0 }) {
		about.Documents = append(about.Documents, s.rows())
	}
	next, err := s.snapshotOf(append(offers, about), failed)
	if err != nil {
		for _, o := range offers {
			if o.Closed != nil {
				o.Closed()
			}
		}
		return err
	}
	if last := s.latest.Swap(next); last != nil {
		defer last.Retire()
	}
	s.setup.redactor.Hide(sensitive(next))
	return nil
}

// snapshotOf makes the snapshot of offers; failed is why one of them is missing, or nil.
func (s *snapshots) snapshotOf(offers []catalog.Offer, failed error) (*catalog.Snapshot, error) {
	if failed != nil {
		return nil, failed
	}
	next, err := catalog.NewSnapshot(offers...)
	if err == nil {
		err = s.engine.CheckSchemas(next)
	}
	return next, err
}

// offers returns what each provider offers, in their order.
func (s *snapshots) offers() (offers []catalog.Offer, failed error) {
	offers = make([]catalog.Offer, len(s.providers.started))
	take := func(n int, offer func() catalog.Offer) {
		var err error
		if offers[n], err = s.offerOf(s.providers.started[n], offer); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", s.providers.started[n].Name(), err))
		}
	}
	yields := map[int]catalog.Yielder{}
	for n, p := range s.providers.started {
		if y, ok := p.(catalog.Yielder); ok {
			yields[n] = y
			continue
		}
		take(n, p.Offer)
	}
	for n := range offers {
		if y := yields[n]; y != nil {
			take(n, func() catalog.Offer { return y.OfferBeside(offers) })
		}
	}
	return offers, failed
}

// offerOf returns the offer of a provider. Its Closed never panics: it is called when a run ends.
func (s *snapshots) offerOf(p Provider, make func() catalog.Offer) (offer catalog.Offer, err error) {
	err = s.setup.protect(p.Name(), func() error {
		offer = make()
		return nil
	})
	if closed := offer.Closed; closed != nil {
		offer.Closed = func() { _ = s.setup.protect(p.Name(), func() error { closed(); return nil }) }
	}
	return offer, err
}

// sensitive returns the names of fields that nobody may read.
func sensitive(s *catalog.Snapshot) []string {
	var out []string
	for _, r := range s.Resources() {
		for i := range r.Fields {
			if r.Fields[i].Sensitive {
				out = append(out, r.Fields[i].Name)
			}
		}
	}
	return out
}

// host is the app as one provider sees it.
type host struct {
	setup     *setup
	snapshots *snapshots
	provider  string
}

var (
	_ catalog.Host       = host{}
	_ catalog.FileKeeper = host{}
)

// Files implements catalog.FileKeeper.
func (h host) Files() (catalog.Files, error) { return h.setup.app.files.Opened() }

func (h host) App() string                 { return h.setup.app.Name }
func (h host) Command() string             { return cmp.Or(h.setup.app.Command, h.setup.app.Name) }
func (h host) Version() string             { return h.setup.app.Version }
func (h host) Settings() catalog.Values    { return h.setup.values }
func (h host) Snapshot() *catalog.Snapshot { return h.snapshots.Snapshot() }
func (h host) Log() *slog.Logger           { return h.setup.log.With("provider", h.provider) }
func (h host) Testing() bool               { return h.setup.testing }
func (h host) OneShot() bool               { return h.setup.oneShot }
func (h host) ConfigFile() string          { return h.setup.source.File }
func (h host) Changed()                    { h.snapshots.changed() }
