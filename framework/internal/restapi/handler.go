package restapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"path"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/admission"
	"github.com/koan-go/koan/framework/internal/feed"
	"github.com/koan-go/koan/framework/internal/files"
	"github.com/koan-go/koan/framework/run"
)

// Options configure a Handler. All but Live, Events, CodeMode, Grace and WriteTime are
// required.
type Options struct {
	App
	CodeMode
	Engine *run.Engine
	// Catalog returns the current snapshot. It is called at every request.
	Catalog   func() *catalog.Snapshot
	Admission *admission.Admission
	Tags      Digester
	// Ready returns why calls cannot be served now, as joined errors; nil if they can.
	Ready func(context.Context) error
	// Files returns where files are kept; nil where the app keeps none.
	Files   func() (*files.Store, error)
	Live    Live
	Console Console
	// Feed has the changes that listeners follow.
	Feed   *feed.Hub
	Events EventOptions
	Limits
	Log *slog.Logger
}

// App is what clients are told of the app.
type App struct {
	Name        string
	Version     string // of the build
	Description string
}

// CodeMode is what clients are told of code mode.
type CodeMode struct {
	Runtime string   // of scripts, "" without
	Faces   []string // that are enabled
}

// Limits are the bounds that hold as long as a handler serves.
type Limits struct {
	MaxBody int // bytes of a body
	// Grace is how long calls may run after Shutdown began, WriteTime how long a client may
	// take to read a response; 0 is 10 s and 30 s.
	Grace, WriteTime time.Duration
}

// Live are the options that may change while requests are served.
type Live struct {
	Exposure       exposure.Mode
	ExposureIsAuto bool
	QueueMax       int
	ToolTimeout    time.Duration
	MaxListeners   int // streams of changes of one caller
}

// Handler serves the routes. It is safe for concurrent use; Shutdown ends it.
type Handler struct {
	*invocations
	mux     *http.ServeMux
	started time.Time
	session Session // nil without
	visitor Session // nil without
	signIn  SignIn  // nil without

	ending  context.Context // ends when Shutdown begins
	end     context.CancelFunc
	mu      sync.Mutex
	closing bool
	open    sync.WaitGroup // requests
	ids     atomic.Pointer[eventIDs]
}

// responder knows what a caller sees, and answers requests.
type responder struct {
	opts Options
	live atomic.Pointer[Live]
}

// invocations make calls of operations, and read their inputs from requests.
type invocations struct {
	*responder
	calls context.Context // ends with the server
	stop  context.CancelCauseFunc
}

// The routes, by what they are of.
type (
	callRoutes     struct{ *invocations } // entities, actions, functions and tools
	consoleRoutes  struct{ *invocations } // the console
	documentRoutes struct{ *responder }   // the OpenAPI document and its page
	fileRoutes     struct{ *responder }   // files
)

// New makes a handler.
func New(o Options) *Handler {
	if o.Grace == 0 {
		o.Grace = 10 * time.Second
	}
	if o.WriteTime == 0 {
		o.WriteTime = 30 * time.Second
	}
	o.Events.fill()
	h := &Handler{invocations: &invocations{responder: &responder{opts: o}}, started: time.Now()}
	h.Adjust(o.Live)
	h.calls, h.stop = context.WithCancelCause(context.Background())
	h.ending, h.end = context.WithCancel(context.Background())
	h.mux = h.router()
	h.warnOfReserved()
	return h
}

// Session returns the caller of a request that belongs to a session in a browser; ok is false for
// all others. Its error is a rejection.
type Session func(*http.Request) (p auth.Principal, ok bool, err error)

// UseSessions has the handler serve sessions, before the first request.
//
// visitor does so for pages that people open, whose requests are those of a browser's links and
// forms; signIn is what they see where nobody has signed in.
func (h *Handler) UseSessions(s, visitor Session, signIn SignIn) {
	h.session, h.visitor, h.signIn = s, visitor, signIn
}

// SignIn shows a person how to sign in.
type SignIn func(http.ResponseWriter, *http.Request)

// WantsPage reports whether a request is that of a person with a browser for a page, which has no
// token to send.
func WantsPage(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "text/html") && r.Header.Get("Authorization") == ""
}

// warnOfReserved says which entities have no routes, because other things have their paths.
func (h *Handler) warnOfReserved() {
	for _, r := range h.opts.Catalog().Resources() {
		if path, ok := catalog.Routed(r.Name); !ok {
			h.opts.Log.Warn("an entity has no routes in REST: its path is another's", "entity", r.Name, "path", apiPath+path)
		}
	}
}

// Adjust changes the settings for later requests.
func (h *Handler) Adjust(l Live) { h.live.Store(&l) }

func (h *responder) now() *Live { return h.live.Load() }

func noRoute(r *http.Request) *fault.Fault {
	return fault.Newf(fault.NotFound, "there is no route %s", catalog.Quote(fault.Clip(r.URL.Path, 128))).WithHint("GET /openapi.json lists the routes.")
}

// RejectPath answers a request for a path of the same server that nothing serves.
func (h *responder) RejectPath(w http.ResponseWriter, r *http.Request) { h.Reject(w, r, noRoute(r)) }

// crossOrigin is what pages of allowed origins may do.
var crossOrigin = admission.CORS{
	Methods: "GET, HEAD, POST, PUT, PATCH, DELETE",
	Headers: "Authorization, Content-Type, Content-Disposition, Accept, Range, If-Match, If-None-Match, " + lastIDHeader + ", " + keyHeader + ", " + versionHeader + ", traceparent, tracestate",
	Exposed: "Content-Range, ETag, Link, Location, Retry-After, WWW-Authenticate, " + runHeader + ", " + versionHeader,
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	session := h.session
	if r.URL.Path == docsPath { // a page, which people open by a link
		session = h.visitor
	}
	h.serve(w, r, h.mux, session)
}

// Pages serves pages of the app's own behind the door of the routes: the same hosts, origins,
// callers, rates and places, and the same shutdown. Only pages of the same origin may send forms.
// The caller is in the request's context. What the headers say of scripts, styles and pictures
// is for the pages to widen.
func (h *Handler) Pages(pages http.Handler) http.Handler {
	forged := http.NewCrossOriginProtection()
	clean := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if path.Clean(r.URL.Path) != r.URL.Path { // which a page may take for the name of a file
			h.reject(w, r, noRoute(r))
			return
		}
		pages.ServeHTTP(w, r)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if forged.Check(r) != nil {
			h.reject(w, r, fault.New(fault.Forbidden, "only pages of this site may send that"))
			return
		}
		h.serve(w, r, clean, h.visitor)
	})
}

// everywhere are the headers of every response, in which a page may widen some. The lists of values
// are shared, so that a response takes no copies: nobody changes a list of a header in place.
var everywhere = http.Header{
	"X-Content-Type-Options":  {"nosniff"},
	"Content-Security-Policy": {"default-src 'none'; frame-ancestors 'none'"},
	"Cache-Control":           {"private, no-cache"},
}

// serve has next serve a request that is admitted.
func (h *Handler) serve(w http.ResponseWriter, r *http.Request, next http.Handler, session Session) {
	defer h.recovered(w, r)
	maps.Copy(w.Header(), everywhere)
	w.Header().Add("Vary", "Authorization")
	if f := h.opts.Admission.RejectForeign(r); f != nil {
		h.reject(w, r, f)
		return
	}
	if h.opts.Admission.CrossOrigin(w, r, crossOrigin) {
		return
	}
	if at := r.URL.EscapedPath(); path.Clean(at) != at { // escaped: an id may have slashes and dots
		h.reject(w, r, noRoute(r))
		return
	}
	if !h.enter() {
		h.reject(w, r, fault.New(fault.ServiceUnavailable, "the server is shutting down"))
		return
	}
	defer h.open.Done()
	if r.URL.Path == healthPath { // for who has no token
		h.mux.ServeHTTP(w, r)
		return
	}
	p, f := h.admit(w, r, session)
	if f != nil {
		if f.Code == fault.Unauthorized && WantsPage(r) {
			h.askToSignIn(w, r)
			return
		}
		h.reject(w, r, f)
		return
	}
	place := h.opts.Admission.TakePlace(p.Subject, h.now().QueueMax)
	if place == nil {
		h.reject(w, r, fault.New(fault.QueueOverloaded, "too many requests of this caller are in flight"))
		return
	}
	defer place.Leave()
	ctx, cancel := context.WithCancelCause(context.WithValue(auth.With(r.Context(), p), placeKey{}, place))
	defer cancel(nil)
	defer context.AfterFunc(h.calls, func() { cancel(context.Cause(h.calls)) })()
	next.ServeHTTP(w, r.WithContext(ctx))
}

// admit returns who calls: the holder of a session, or whoever the request says it is.
func (h *Handler) admit(w http.ResponseWriter, r *http.Request, session Session) (auth.Principal, *fault.Fault) {
	if session == nil {
		return h.opts.Admission.Admit(w, r)
	}
	p, ok, err := session(r)
	switch {
	case err != nil:
		return auth.Principal{}, fault.From(err)
	case !ok:
		return h.opts.Admission.Admit(w, r)
	}
	return p, h.opts.Admission.CountRequest(w, r, p)
}

// reaffirm returns who calls by a request that was admitted as from last: sessions end, and tokens
// are taken back.
func (h *Handler) reaffirm(r *http.Request, last auth.Principal) (auth.Principal, *fault.Fault) {
	if h.session != nil {
		p, ok, err := h.session(r)
		if ok || err != nil {
			return p, fault.From(err)
		}
	}
	if !h.opts.Admission.Known() {
		return last, nil
	}
	return h.opts.Admission.Reaffirm(r)
}

type placeKey struct{}

// caller is what the caller of a request has in flight.
func caller(r *http.Request) *admission.Caller {
	return r.Context().Value(placeKey{}).(*admission.Place).Caller
}

// view is the catalog as the caller sees it. A caller of HTTP declares nothing.
func (h *responder) view(p auth.Principal) *catalog.View {
	l := h.now()
	return h.opts.Catalog().View(p, exposure.ForClient(l.Exposure, exposure.Unknown), l.ExposureIsAuto)
}

func (h *Handler) recovered(w http.ResponseWriter, r *http.Request) {
	if v := recover(); v != nil {
		if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(v)
		}
		h.opts.Log.Error("panic while serving HTTP", "path", r.URL.Path, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
		h.reject(w, r, fault.New(fault.Internal, ""))
	}
}

// enter counts a request that Shutdown waits for; it returns false if the server is shutting
// down.
func (h *Handler) enter() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closing {
		return false
	}
	h.open.Add(1)
	return true
}

// Shutdown rejects new requests, ends streams of changes, waits for running requests up to Options.Grace or until ctx
// ends, and cancels the rest.
func (h *Handler) Shutdown(ctx context.Context) {
	h.mu.Lock()
	h.closing = true
	h.mu.Unlock()
	h.end()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		h.open.Wait()
	}()
	grace := time.NewTimer(h.opts.Grace)
	defer grace.Stop()
	select {
	case <-ended:
	case <-grace.C:
	case <-ctx.Done():
	}
	h.stop(fault.New(fault.Cancelled, "the server is shutting down"))
}
