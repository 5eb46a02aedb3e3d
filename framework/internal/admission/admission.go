// Package admission decides whether an HTTP request is served, in the same way for every
// surface of a server: which hosts and pages may call, who calls, how often, how much of one
// caller is in flight, and how long a body may be.
//
// What belongs here: what is decided before anybody looks at what a request asks for. Not here:
// how a rejection is written, which is each surface's own.
package admission

import (
	"errors"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/fault"
)

// Options configure an Admission.
type Options struct {
	// Authenticate returns the caller. Its error is sent as it is: unauthorized with
	// 401, forbidden with 403. If it is nil, every caller is Principal.
	Authenticate func(*http.Request) (auth.Principal, error)
	Principal    auth.Principal
	// StepUp returns how a caller can get scopes that a call lacks: the value of
	// WWW-Authenticate, which is sent with 403. If it is nil or returns "", what the caller
	// may not call looks as if it did not exist.
	StepUp func(r *http.Request, scopes []string) (challenge string)
	// Log gets a line for each request that is rejected because of its caller; nil is nobody.
	Log *slog.Logger
	// MaxBody is how many bytes a body may have, BodyTime how long it may take.
	MaxBody  int
	BodyTime time.Duration
	Live
}

// Live are the options that may change while requests are served.
type Live struct {
	// AllowedHosts are names by which a server that listens on loopback may be called:
	// those of a proxy in front of it. AllowedOrigins are the sites whose pages may call
	// it, such as "https://app.example.org".
	AllowedHosts   []string
	AllowedOrigins []string
	// RequestsPerMinute bounds the requests of one principal: so many at once, and so
	// many in each minute after that. 0 is no bound.
	RequestsPerMinute int
}

// Admission admits requests. It is safe for concurrent use.
type Admission struct {
	opts  Options
	known bool // callers authenticate
	live  atomic.Pointer[Live]
	rates rateLimiter

	mu      sync.Mutex
	callers map[string]*Caller
}

// New makes an Admission.
func New(o Options) *Admission {
	a := &Admission{opts: o, known: o.Authenticate != nil, rates: newRateLimiter(), callers: map[string]*Caller{}}
	if !a.known {
		a.opts.Authenticate = func(*http.Request) (auth.Principal, error) { return o.Principal, nil }
	}
	a.Adjust(o.Live)
	return a
}

// Adjust changes the settings for later requests.
func (a *Admission) Adjust(l Live) { a.live.Store(&l) }

func (a *Admission) now() *Live { return a.live.Load() }

// Known reports whether callers authenticate, so that a caller is more than a connection.
func (a *Admission) Known() bool { return a.known }

// Admit returns who calls. Otherwise the request is rejected: the status is that of the
// fault, and what the rejection says in headers is set.
func (a *Admission) Admit(w http.ResponseWriter, r *http.Request) (auth.Principal, *fault.Fault) {
	p, err := a.opts.Authenticate(r)
	if err != nil {
		var c interface{ Challenge() string }
		if errors.As(err, &c) {
			w.Header().Set("WWW-Authenticate", c.Challenge())
		}
		return auth.Principal{}, a.rejected(r, p, fault.From(err))
	}
	return p, a.CountRequest(w, r, p)
}

// maxPath is how much of a request's path a line of the log has, in bytes.
const maxPath = 200

// rejected logs why a request is rejected, and returns that.
func (a *Admission) rejected(r *http.Request, p auth.Principal, f *fault.Fault) *fault.Fault {
	if a.opts.Log != nil {
		a.opts.Log.InfoContext(r.Context(), "a request was rejected", "code", string(f.Code), "reason", f.Message, "subject", p.Subject, "surface", "http", "path", fault.ClipTo(r.URL.Path, maxPath))
	}
	return f
}

// CountRequest counts a request of a caller. The fault rejects it: there were too many.
func (a *Admission) CountRequest(w http.ResponseWriter, r *http.Request, p auth.Principal) *fault.Fault {
	limit := a.now().RequestsPerMinute
	if wait := a.rates.take(p.Subject, limit, time.Now()); wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
		ms := int64(math.Ceil(float64(wait) / float64(time.Millisecond)))
		return a.rejected(r, p, fault.Newf(fault.RateLimited, "more than %d requests in a minute; the next one is allowed in %d ms", limit, ms).
			WithDetails(map[string]any{"requestsPerMinute": limit, "retryAfterMs": ms}))
	}
	return nil
}

// Reaffirm returns who makes a request that was admitted before and is still being served. The
// fault is that of a token that has expired or is not valid any more.
func (a *Admission) Reaffirm(r *http.Request) (auth.Principal, *fault.Fault) {
	p, err := a.opts.Authenticate(r)
	if err != nil {
		return auth.Principal{}, fault.From(err)
	}
	return p, nil
}

// StepUp returns the challenge for a caller that lacks scopes, "" for none.
func (a *Admission) StepUp(r *http.Request, scopes []string) string {
	if a.opts.StepUp == nil || len(scopes) == 0 {
		return ""
	}
	return a.opts.StepUp(r, scopes)
}

// EvictIdle drops what is known of callers whose requests no bound is near to.
func (a *Admission) EvictIdle(now time.Time) { a.rates.evictFull(now) }
