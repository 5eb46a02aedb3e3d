package framework

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/koan-go/koan/framework/internal/access"
	"github.com/koan-go/koan/framework/internal/site"
)

// HTTPOptions configure Instance.HTTPHandler. The zero value serves callers as the configuration
// says (server.tokensFile, server.oauth.*), or every caller as the local one if it says nothing, and
// rejects requests from pages of other sites.
type HTTPOptions struct {
	// URL is the address of the server as clients and browsers know it, such as
	// "https://tools.example.org". Console needs it, and server.oauth.issuer where server.publicUrl
	// is not set.
	URL string
	// Authenticate returns the caller of a request, in place of what the configuration says;
	// Instance.Callers has that for a function that asks both. Its error is sent as it is:
	// unauthorized with 401, forbidden with 403.
	Authenticate func(*http.Request) (Principal, error)
	// StepUp returns how a caller can get the scopes of a tool that it may not call: the value of
	// WWW-Authenticate, which is sent with 403. If it returns "", or is nil where Authenticate is
	// set, the tool looks as if it did not exist.
	StepUp func(r *http.Request, scopes []string) (challenge string)
	// Console serves the console at /console, for people with a browser. They sign in by a token
	// where callers say who they are, else by a link that HTTP.Announce prints, as the person at
	// the machine. Print shows a line to that person; nil logs it.
	Console bool
	Print   func(line string)
	// AllowedHosts are names by which a server that listens on loopback may be called: those of a
	// proxy in front of it. AllowedOrigins are the sites whose pages may call it, such as
	// "https://app.example.org". nil takes server.allowedHosts and server.allowedOrigins.
	AllowedHosts   []string
	AllowedOrigins []string
	// SessionIdle is how long a session of protocol versions before 2026-07-28 may be unused; 0 takes
	// server.sessionIdleMs. MaxSessions bounds them; 0 takes server.maxSessions.
	SessionIdle time.Duration
	MaxSessions int
	// RequestsPerMinute bounds the requests of one principal: so many at once, and so many in each
	// minute after that. 0 takes server.requestsPerMinute.
	RequestsPerMinute int
	// BodyTime is how long the body of a request may take, WriteTime how long a client may take to
	// read one message; 0 is 30 s each.
	BodyTime, WriteTime time.Duration
}

// HTTP serves an app over HTTP, as the command serve does: MCP at /mcp, REST at /api and /tools with
// /openapi.json and /docs, files, events, the app's own pages at "/", the console, the metadata of
// server.oauth.*, /healthz, /readyz, and /metrics where telemetry.metrics is true. It is safe for
// concurrent use.
type HTTP struct{ site *site.Site }

// ServeHTTP implements http.Handler. Paths are those of the server: mount it at "/", or beside
// handlers of your own with more specific patterns.
func (h *HTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.site.ServeHTTP(w, r) }

// Announce prints where the console is, and the link to sign in by, if there is one.
func (h *HTTP) Announce() { h.site.Announce() }

// Shutdown makes /readyz say that the app ends, rejects new calls, and waits for those that run until
// ctx ends; those that are interrupted then are told so. Call it before Instance.Stop, and shut the
// http.Server down after it.
func (h *HTTP) Shutdown(ctx context.Context) { h.site.Shutdown(ctx) }

// HTTPHandler returns the handler that serves the app over HTTP, for a program that has a server of
// its own. Call its Shutdown before Stop.
func (i *Instance) HTTPHandler(o HTTPOptions) (*HTTP, error) {
	if o.Console && o.URL == "" {
		return nil, errors.New("framework: HTTPOptions.Console needs HTTPOptions.URL, where people sign in")
	}
	s, err := surfaces{i}.site(o)
	if err != nil {
		return nil, err
	}
	return &HTTP{s}, nil
}

// Callers authenticate requests over HTTP as the configuration says. They are safe for concurrent
// use.
type Callers struct{ callers *access.Callers }

// Authenticate returns the caller of a request by its bearer token, for HTTPOptions.Authenticate. Its
// error is unauthorized, or service_unavailable while the issuer does not answer.
func (c *Callers) Authenticate(r *http.Request) (Principal, error) { return c.callers.Authenticate(r) }

// StepUp returns the challenge for a caller whose access token lacks scopes, for HTTPOptions.StepUp;
// "" for one that cannot get others.
func (c *Callers) StepUp(r *http.Request, scopes []string) string { return c.callers.StepUp(r, scopes) }

// Callers returns who may call over HTTP, as configured (server.tokensFile, server.oauth.*), for a
// program that has other callers too. url is the address of the MCP endpoint if server.publicUrl is
// not set. Without either setting every caller is rejected. The tokens are read again when the
// configuration is.
func (i *Instance) Callers(url string) (*Callers, error) {
	config, err := access.Read(i.values, url != "")
	if err != nil {
		return nil, err
	}
	c, err := surfaces{i}.callers(config, url)
	if err != nil {
		return nil, err
	}
	i.OnReload(c.Reload)
	return &Callers{c}, nil
}
