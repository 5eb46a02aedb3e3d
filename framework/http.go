package framework

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/internal/access"
	"github.com/koan-go/koan/framework/internal/cli"
	"github.com/koan-go/koan/framework/internal/console"
	"github.com/koan-go/koan/framework/internal/mcpserver"
	"github.com/koan-go/koan/framework/internal/restapi"
	"github.com/koan-go/koan/framework/internal/site"
	"github.com/koan-go/koan/framework/run/approve"
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
	s, err := i.site(o)
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
	c, err := i.callers(config, url)
	if err != nil {
		return nil, err
	}
	i.OnReload(c.Reload)
	return &Callers{c}, nil
}

func (i *Instance) callers(config access.Config, url string) (*access.Callers, error) {
	return config.Callers(access.App{Name: i.app.Name, URL: url, Catalog: i.Snapshot, Log: i.log})
}

// served is an instance as the command line serves it.
type served struct{ *Instance }

// MCP implements cli.Instance.
func (s served) MCP() (*mcpserver.Server, error) { return s.mcpServer() }

// Site implements cli.Instance.
func (s served) Site(at cli.Address) (*site.Site, error) {
	return s.site(HTTPOptions{URL: at.URL, Console: at.Console, Print: at.Print})
}

// site makes what serves the app over HTTP.
func (i *Instance) site(o HTTPOptions) (*site.Site, error) {
	parts := site.Parts{Known: o.Authenticate != nil, Metrics: i.telemetry.Handler(), Ready: i.Ready, Log: i.log}
	// A program that knows its callers by itself may leave open where clients get tokens; then there is
	// no metadata for them.
	own := o.Authenticate != nil && o.URL == ""
	config, err := access.Read(i.values, o.URL != "" || own)
	if err != nil {
		return nil, err
	}
	if !config.Anybody() && (!own || i.values.String("server.publicUrl") != "") {
		if parts.Callers, err = i.callers(config, o.URL+"/mcp"); err != nil {
			return nil, err
		}
		if o.Authenticate == nil {
			o.Authenticate, o.StepUp, parts.Known = parts.Callers.Authenticate, parts.Callers.StepUp, true
		}
	}
	if parts.MCP, err = i.mcp(o); err != nil {
		return nil, err
	}
	parts.REST = i.rest(parts.MCP)
	if i.app.Pages != nil {
		parts.Pages = parts.REST.Pages(i.app.Pages(i))
	}
	if o.Console {
		parts.Console = i.console(o, parts)
	}
	s := site.New(parts)
	if parts.Callers != nil {
		i.OnReload(s.ReloadCallers)
	}
	return s, nil
}

// mcp serves MCP over Streamable HTTP.
func (i *Instance) mcp(o HTTPOptions) (*mcpserver.HTTP, error) {
	s, err := i.mcpServer()
	if err != nil {
		return nil, err
	}
	n := withDefaults(o, i.values)
	h := s.HTTP(mcpserver.HTTPOptions{
		Authenticate: n.Authenticate, StepUp: n.StepUp, AllowedHosts: n.AllowedHosts, AllowedOrigins: n.AllowedOrigins,
		SessionIdle: n.SessionIdle, MaxSessions: n.MaxSessions, RequestsPerMinute: n.RequestsPerMinute, BodyTime: n.BodyTime, WriteTime: n.WriteTime,
	})
	i.OnReload(func(next catalog.Values) (func(), error) {
		n := withDefaults(o, next)
		return func() {
			h.Adjust(mcpserver.HTTPLive{
				AllowedHosts: n.AllowedHosts, AllowedOrigins: n.AllowedOrigins,
				SessionIdle: n.SessionIdle, MaxSessions: n.MaxSessions, RequestsPerMinute: n.RequestsPerMinute,
			})
		}, nil
	})
	return h, nil
}

// rest serves REST beside MCP, which admits its requests.
func (i *Instance) rest(beside *mcpserver.HTTP) *restapi.Handler {
	live := func(v catalog.Values) restapi.Live {
		l := i.live(v)
		return restapi.Live{Exposure: l.Exposure, ExposureIsAuto: l.ExposureIsAuto, QueueMax: l.QueueMax, ToolTimeout: l.ToolTimeout, MaxListeners: v.Int("events.maxListeners")}
	}
	o := restapi.Options{
		Name: i.app.Name, Version: i.app.Version, Description: i.app.Description, Engine: i.engine, Catalog: i.Snapshot, Admission: beside.Admission(),
		Tags: i.tags.get, Ready: i.Ready, MaxBody: i.values.Int("server.maxBufferBytes"), Files: i.app.files.Store, Live: live(i.values), Feed: i.feed, Log: i.log,
		Console: restapi.Console{Journal: i.reader, Replay: i.replayOwn, Plans: i.guard, Checks: i.Checks, Limits: i.limits},
	}
	if o.Faces = faces(i.Snapshot()); len(o.Faces) > 0 {
		o.Runtime = i.values.String("codeMode.runtime")
	}
	h := restapi.New(o)
	i.OnReload(func(next catalog.Values) (func(), error) { return func() { h.Adjust(live(next)) }, nil })
	return h
}

// console serves the console, whose sessions REST takes from then on. Whoever knows the server by
// another address uses that.
func (i *Instance) console(o HTTPOptions, parts site.Parts) *console.Handler {
	at := console.Site{URL: o.URL, Home: parts.Pages != nil, Print: o.Print, Authenticate: o.Authenticate}
	if public, err := url.Parse(i.values.String("server.publicUrl")); err == nil && public.Host != "" {
		at.URL = public.Scheme + "://" + public.Host
	}
	if at.Print == nil {
		at.Print = func(line string) { i.log.Info(line) }
	}
	if parts.Callers != nil {
		if issuer := parts.Callers.SignIn(at.URL + console.DonePath); issuer != nil {
			at.Issuer = issuer
		}
	}
	c := console.New(console.Options{Site: at, Name: i.app.Name, Person: approve.Person(), Admission: parts.MCP.Admission(), Log: i.log})
	parts.REST.UseSessions(c.Caller, c.Visitor, c.AskToSignIn)
	return c
}

// withDefaults takes options that are not set from the configuration.
func withDefaults(o HTTPOptions, v catalog.Values) HTTPOptions {
	if o.AllowedHosts == nil {
		o.AllowedHosts = hosts(v)
	}
	if o.AllowedOrigins == nil {
		o.AllowedOrigins = v.Strings("server.allowedOrigins")
	}
	if o.SessionIdle == 0 {
		o.SessionIdle = v.Duration("server.sessionIdleMs")
	}
	if o.MaxSessions == 0 {
		o.MaxSessions = v.Int("server.maxSessions")
	}
	if o.RequestsPerMinute == 0 {
		o.RequestsPerMinute = v.Int("server.requestsPerMinute")
	}
	return o
}

// hosts are the names by which HTTP may be called beside those of loopback: those that
// are allowed, and that of the public URL.
func hosts(v catalog.Values) []string {
	out := v.Strings("server.allowedHosts")
	if u, err := url.Parse(v.String("server.publicUrl")); err == nil && u.Hostname() != "" {
		out = append(slices.Clone(out), u.Hostname())
	}
	return out
}
