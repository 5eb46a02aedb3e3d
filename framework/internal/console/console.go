package console

import (
	"context"
	"encoding/json"
	"html/template"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/admission"
)

// Path is where the console is served. The patterns of net/http are Path and Path + "/".
const Path = "/console"

// Site is where a console is served, and how people sign in.
type Site struct {
	URL string // of the server, such as http://127.0.0.1:8080
	// Authenticate returns the caller of a request with a bearer token. With it people sign in by
	// a token. If it is nil, they sign in by a link, and are the local operator.
	Authenticate func(*http.Request) (auth.Principal, error)
	// Issuer is where people sign in for such a token; nil if they bring one.
	Issuer Issuer
	// Print shows a line to the local operator: where the console is, and links to sign in
	// by.
	Print func(line string)
	// Home says that the app has pages of its own at "/", which people sign in to by the same
	// link with "&home".
	Home bool
}

// Options configure a Handler. All are required but Clock and SignIns.
type Options struct {
	Site
	Name      string               // of the app
	Person    auth.Principal       // the local operator
	Admission *admission.Admission // which hosts and origins are served
	Clock     func() time.Time     // nil is time.Now
	SignIns   SignIns              // nil: sessions end with the process
	Log       *slog.Logger
}

// Handler serves the console. It is safe for concurrent use.
type Handler struct {
	opts     Options
	origin   *url.URL
	links    links
	sessions sessions
	flows    *bySecret[flow]
	mux      *http.ServeMux
}

// New makes a handler. A URL that cannot be read panics.
func New(o Options) *Handler {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	at, err := url.Parse(o.URL)
	if err != nil || at.Host == "" {
		panic("console: " + o.URL + " is not the URL of a server")
	}
	h := &Handler{opts: o, origin: at, links: links{clock: o.Clock}, flows: newBySecret[flow](o.Clock, flowTime, maxFlows)}
	h.sessions = sessions{
		brief: newBySecret[session](o.Clock, sessionIdle, maxSessions), kept: o.SignIns, clock: o.Clock, person: o.Person, byToken: o.Authenticate != nil, log: o.Log,
	}
	h.mux = http.NewServeMux()
	h.mux.HandleFunc(Path, h.serveFile)
	h.mux.HandleFunc(Path+"/", h.serveFile)
	h.mux.HandleFunc("GET "+Path+"/sign-in", h.serveSignIn)
	h.mux.HandleFunc("GET "+Path+"/sign-in/issuer", h.serveIssuer)
	h.mux.HandleFunc("GET "+DonePath, h.serveDone)
	h.mux.HandleFunc(Path+"/session", h.serveSession)
	h.mux.HandleFunc("POST "+Path+"/link", h.serveLink)
	return h
}

// Announce prints where the console is, with a link to sign in by.
func (h *Handler) Announce() {
	if h.opts.Authenticate != nil {
		how := "a token"
		if h.opts.Issuer != nil {
			how = h.opts.Issuer.Name()
		}
		h.opts.Print("Console: " + h.opts.URL + Path + " (sign in with " + how + ")")
		return
	}
	link := h.opts.URL + Path + "/sign-in?key=" + h.links.current()
	h.opts.Print("Console: " + link + " (works once, within " + linkMinutes + ")")
	if h.opts.Home {
		h.opts.Print("Pages: " + link + "&home (the same link, to the app's own pages)")
	}
}

// policy lets the page load what is served here, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	head.Set("Content-Security-Policy", policy)
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("X-Frame-Options", "DENY")
	head.Set("Referrer-Policy", "no-referrer")
	head.Set("Cross-Origin-Opener-Policy", "same-origin")
	head.Set("Cross-Origin-Resource-Policy", "same-origin")
	if f := h.opts.Admission.RejectForeign(r); f != nil {
		h.reject(w, f)
		return
	}
	h.mux.ServeHTTP(w, r)
}

// serveSignIn serves a link: it opens a session, once.
func (h *Handler) serveSignIn(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	key := r.URL.Query().Get("key")
	if key == "" || h.opts.Authenticate != nil { // the page says how to sign in
		h.serveFile(w, r)
		return
	}
	if onlyLooks(r) {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if !h.links.use(key) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(http.StatusForbidden)
		_ = refusedPage.Execute(w, map[string]any{"Name": h.opts.Name, "Path": Path, "Time": linkMinutes})
		return
	}
	if err := h.open(r.Context(), w, session{principal: h.opts.Person, holder: h.opts.Person.Subject, lasts: true}); err != nil {
		h.links.restore(key)
		h.reject(w, fault.From(err))
		return
	}
	// A page of this site goes on, so that the cookie is sent whoever led here.
	to := Path
	if h.opts.Home && r.URL.Query().Has("home") {
		to = "/"
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// onlyLooks reports whether a request wants to know about the address only, as chats do that show a
// preview of a link, and browsers that load a page before anybody opens it. It uses no link up.
func onlyLooks(r *http.Request) bool {
	ahead := r.Header.Get("Sec-Purpose") + r.Header.Get("Purpose") + r.Header.Get("X-Moz")
	return r.Method == http.MethodHead || strings.Contains(ahead, "prefetch")
}

var refusedPage = template.Must(template.New("refused").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{{.Name}}: sign in</title>
<link rel="stylesheet" href="{{.Path}}/assets/app.css"></head>
<body><main class="sign-in"><h1>This link does not work any more</h1>
<p>It was used already, it is older than {{.Time}}, or the server was started again since.</p>
<p>For a new one, <a href="{{.Path}}">open the console</a> and choose “Print a new link”. The link appears where {{.Name}} runs, on standard error.</p></main></body></html>
`))

// AskToSignIn shows a person who opened a page of this server how to sign in.
func (h *Handler) AskToSignIn(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Security-Policy", policy)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusUnauthorized)
	_ = askPage.Execute(w, map[string]any{"Name": h.opts.Name, "Path": Path, "Issuer": h.issuer(), "Sent": r.Method != http.MethodGet && r.Method != http.MethodHead})
}

var askPage = template.Must(template.New("ask").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{{.Name}}: sign in</title>
<link rel="stylesheet" href="{{.Path}}/assets/app.css"></head>
<body><main class="sign-in"><h1>Sign in to {{.Name}}</h1>
{{if .Sent}}<p>Nothing was done: you have not signed in, or your session has ended.</p>{{else}}<p>This page is for people who have signed in.</p>{{end}}
{{if .Issuer}}<p><a href="{{.Path}}/sign-in/issuer?home">Sign in with {{.Issuer}}</a>.</p>{{else}}<p><a href="{{.Path}}/sign-in">Sign in with a token</a> of this server, and open this page again. The operator of {{.Name}} gives you one.</p>{{end}}</main></body></html>
`))

// serveLink prints a link where the server runs.
func (h *Handler) serveLink(w http.ResponseWriter, r *http.Request) {
	if f := h.rejectForged(r); f != nil {
		h.reject(w, f)
		return
	}
	if h.opts.Authenticate != nil {
		h.reject(w, fault.New(fault.CapabilityUnsupported, "people sign in with a token here, and links are not printed").WithHint("Sign in with a token."))
		return
	}
	if wait := h.links.admit(); wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(wait.Seconds())+1))
		h.reject(w, fault.Newf(fault.RateLimited, "a link was printed a moment ago; the next one can be printed in %d s", int(wait.Seconds())+1))
		return
	}
	h.Announce()
	w.WriteHeader(http.StatusNoContent)
}

// state is what the page learns about its session.
type state struct {
	App      string `json:"app"`
	SignedIn bool   `json:"signedIn"`
	Subject  string `json:"subject,omitempty"`
	By       string `json:"by"`               // link, token or issuer
	Issuer   string `json:"issuer,omitempty"` // its name
}

// serveSession serves the session: what it is, opening one by a token, ending it.
func (h *Handler) serveSession(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	if f := h.rejectForged(r); f != nil {
		h.reject(w, f)
		return
	}
	switch r.Method {
	case http.MethodGet:
		h.writeState(w, r)
	case http.MethodPost:
		h.signIn(w, r)
	case http.MethodDelete:
		if err := h.sessions.end(r.Context(), h.cookie(r)); err != nil {
			h.reject(w, fault.From(err))
			return
		}
		h.setCookie(w, "", -time.Second)
		w.WriteHeader(http.StatusNoContent)
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

func (h *Handler) writeState(w http.ResponseWriter, r *http.Request) {
	s := state{App: h.opts.Name, By: "link"}
	if h.opts.Authenticate != nil {
		s.By = "token"
	}
	if h.opts.Issuer != nil {
		s.By, s.Issuer = "issuer", h.opts.Issuer.Name()
	}
	if p, ok, err := h.Caller(r); ok && err == nil {
		s.SignedIn, s.Subject = true, p.Subject
	}
	h.writeJSON(w, http.StatusOK, s)
}

// maxToken bounds what is sent to sign in, in bytes.
const maxToken = 16 << 10

// signIn opens a session for the holder of a token.
func (h *Handler) signIn(w http.ResponseWriter, r *http.Request) {
	if h.opts.Authenticate == nil {
		h.reject(w, fault.New(fault.CapabilityUnsupported, "people sign in by a link here").WithHint("Use the link that was printed where the server runs."))
		return
	}
	var in struct{ Token string }
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxToken))
	if err == nil {
		err = json.Unmarshal(raw, &in)
	}
	if in.Token = strings.TrimSpace(in.Token); err != nil || in.Token == "" {
		h.reject(w, fault.Invalid(fault.Detail{Path: "/token", Message: "the body must have a token"}))
		return
	}
	s := byTokenOf(in.Token)
	p, err := h.callerOf(r, s)
	if err != nil {
		h.reject(w, fault.From(err))
		return
	}
	s.holder = p.Subject
	if err := h.open(r.Context(), w, s); err != nil {
		h.reject(w, fault.From(err))
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// open opens a session, whose cookie the response sets.
func (h *Handler) open(ctx context.Context, w http.ResponseWriter, s session) error {
	secret, age, err := h.sessions.add(ctx, s)
	if err == nil {
		h.setCookie(w, secret, age)
	}
	return err
}

func (h *Handler) reject(w http.ResponseWriter, f *fault.Fault) {
	entry, _ := fault.Lookup(f.Code)
	h.writeJSON(w, entry.HTTP, f)
}

func (h *Handler) writeJSON(w http.ResponseWriter, status int, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		h.opts.Log.Error("the console could not answer", "error", err)
		status, raw = http.StatusInternalServerError, []byte("{}")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(raw)
}
