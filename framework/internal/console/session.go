package console

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/oauth"
)

// header is on each request of the page. No page of another origin can set it, since it is none
// of those that are allowed across origins.
const header = "Koan-Console"

// Bounds of sessions that end with the process.
const (
	sessionIdle = 12 * time.Hour
	maxSessions = 256
)

// session is a person who has signed in.
type session struct {
	principal auth.Principal // of a link
	token     oauth.Token    // nil of a link
	holder    string         // their subject, of one that is to be kept
	lasts     bool           // it is kept with the data; what an issuer gives to renew a token is not
}

// cookieName has the port, since browsers send cookies to all ports of a host.
func (h *Handler) cookieName() string { return "koan-console-" + h.origin.Port() }

func (h *Handler) cookie(r *http.Request) string {
	c, err := r.Cookie(h.cookieName())
	if err != nil {
		return ""
	}
	return c.Value
}

// setCookie sets the cookie of a session; one without an age ends with the browser.
func (h *Handler) setCookie(w http.ResponseWriter, value string, age time.Duration) {
	http.SetCookie(w, &http.Cookie{
		Name: h.cookieName(), Value: value, Path: "/", MaxAge: int(age.Seconds()), HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: h.origin.Scheme == "https",
	})
}

// Caller returns the caller of a request that the page sent; ok is false for all other requests,
// whatever cookies they have. The error is unauthorized if nobody has signed in.
func (h *Handler) Caller(r *http.Request) (p auth.Principal, ok bool, err error) {
	if r.Header.Get(header) == "" || r.Header.Get("Authorization") != "" {
		return auth.Principal{}, false, nil
	}
	if f := h.rejectForged(r); f != nil {
		return auth.Principal{}, false, f
	}
	s, ok, err := h.sessions.use(r.Context(), h.cookie(r))
	if err != nil {
		return auth.Principal{}, false, err
	}
	if !ok {
		return auth.Principal{}, false, fault.New(fault.Unauthorized, "nobody has signed in to the console, or the session has ended").WithHint("Sign in again at " + Path + ".")
	}
	p, err = h.callerOf(r, s)
	return p, err == nil, err
}

// Visitor returns the caller of a request for a page of the app, from a browser that has signed in;
// ok is false for all other requests. Whoever asks has rejected what pages of other origins send;
// links on these come without the cookie.
func (h *Handler) Visitor(r *http.Request) (p auth.Principal, ok bool, err error) {
	if r.Header.Get("Authorization") != "" {
		return auth.Principal{}, false, nil
	}
	s, ok, err := h.sessions.use(r.Context(), h.cookie(r))
	if err != nil || !ok {
		return auth.Principal{}, false, err
	}
	p, err = h.callerOf(r, s)
	return p, err == nil, err
}

// callerOf returns the caller of a session. A token is checked each time: it may have been taken
// back, or have expired.
func (h *Handler) callerOf(r *http.Request, s session) (auth.Principal, error) {
	if s.token == nil {
		return s.principal, nil
	}
	token, err := s.token(r.Context())
	if err != nil {
		return auth.Principal{}, err
	}
	asked := r.Clone(r.Context())
	asked.Header.Set("Authorization", "Bearer "+token)
	return h.opts.Authenticate(asked)
}

// rejectForged rejects a request that a page of another origin may have made a browser send.
func (h *Handler) rejectForged(r *http.Request) *fault.Fault {
	if r.Header.Get(header) == "" {
		return fault.Newf(fault.Forbidden, "the header %s is missing", header).WithHint("Only the console's own page calls this.")
	}
	site := r.Header.Get("Sec-Fetch-Site")
	origin := r.Header.Get("Origin")
	u, err := url.Parse(origin)
	if site != "" && site != "same-origin" || origin != "" && (err != nil || !strings.EqualFold(u.Host, r.Host)) {
		return fault.New(fault.Forbidden, "only the console's own page may use its session")
	}
	return nil
}
