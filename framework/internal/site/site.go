// Package site serves everything of an app over HTTP: MCP, REST, the app's own pages, the console,
// the metadata for clients without a token, and the paths that supervisors ask.
//
// What belongs here: which path is whose, whether the app can serve, and who may read its metrics.
// Not here: what the paths serve, and the configuration.
package site

import (
	"context"
	_ "embed"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/internal/access"
	"github.com/koan-go/koan/framework/internal/console"
	"github.com/koan-go/koan/framework/internal/mcpserver"
	"github.com/koan-go/koan/framework/internal/oauth"
	"github.com/koan-go/koan/framework/internal/restapi"
)

// front is the page at the bare address where there is no console. It names nothing of the app: its readers have
// not said who they are.
//
//go:embed front.html
var front string

// mcpPath is the path of MCP.
const mcpPath = "/mcp"

// Parts are what a Site serves.
type Parts struct {
	MCP     *mcpserver.HTTP
	REST    *restapi.Handler
	Pages   http.Handler     // the app's own; nil without
	Console *console.Handler // nil without
	Callers *access.Callers  // as configured; nil where nothing is
	// Known says that callers say who they are: as Callers ask, or as the program around the app does.
	Known   bool
	Metrics http.Handler                // nil where nothing is measured
	Ready   func(context.Context) error // reports why calls cannot be served now
	Log     *slog.Logger
}

// Site serves an app. It is safe for concurrent use.
type Site struct {
	parts  Parts
	mux    *http.ServeMux
	app    readiness
	ending atomic.Bool
}

// New returns the site of an app.
func New(p Parts) *Site {
	s := &Site{parts: p, mux: http.NewServeMux(), app: readiness{ask: p.Ready, log: p.Log}}
	s.mux.Handle(mcpPath, p.MCP)
	for _, path := range restapi.Paths() {
		s.mux.Handle(path, p.REST)
	}
	if p.Pages != nil {
		s.mux.Handle("/", p.Pages)
	} else {
		s.mux.HandleFunc("/", s.elsewhere)
	}
	if p.Console != nil {
		s.mux.Handle(console.Path, p.Console)
		s.mux.Handle(console.Path+"/", p.Console)
	}
	if p.Callers != nil {
		if about := p.Callers.Metadata(); about != nil {
			s.mux.Handle(oauth.WellKnown, about)
			s.mux.Handle(oauth.WellKnown+"/", about)
		}
	}
	s.mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	s.mux.HandleFunc("GET /readyz", s.ready)
	if p.Metrics != nil {
		s.mux.Handle("GET /metrics", s.metrics(p.Metrics))
	}
	return s
}

// ServeHTTP implements http.Handler.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Announce prints where the console is, if there is one.
func (s *Site) Announce() {
	if s.parts.Console != nil {
		s.parts.Console.Announce()
	}
}

// Ending has supervisors learn that the app takes no more calls soon.
func (s *Site) Ending() { s.ending.Store(true) }

// Shutdown lets calls end until the context does, tells clients which were interrupted, and rejects
// new ones.
func (s *Site) Shutdown(ctx context.Context) {
	s.Ending()
	var surfaces sync.WaitGroup
	surfaces.Go(func() { s.parts.MCP.Shutdown(ctx) })
	surfaces.Go(func() { s.parts.REST.Shutdown(ctx) })
	surfaces.Wait()
}

// ReloadCallers reads the tokens again (catalog.Reloadable), and notifies open clients that lists
// may have changed.
func (s *Site) ReloadCallers(next catalog.Values) (apply func(), err error) {
	take, err := s.parts.Callers.Reload(next)
	if take == nil {
		return nil, err
	}
	return func() {
		take()
		s.parts.MCP.RightsChanged()
	}, err
}

// elsewhere serves paths that nothing has. A person who opens the bare address comes to the console, or to a
// page that says what is here.
func (s *Site) elsewhere(w http.ResponseWriter, r *http.Request) {
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	switch {
	case r.URL.Path != "/" || !reads || !restapi.WantsPage(r):
		s.parts.REST.RejectPath(w, r)
	case s.parts.Console != nil:
		http.Redirect(w, r, console.Path, http.StatusSeeOther)
	default:
		h := w.Header()
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		_, _ = io.WriteString(w, front)
	}
}

// IsLocal reports whether only this machine reaches a host.
func IsLocal(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}
