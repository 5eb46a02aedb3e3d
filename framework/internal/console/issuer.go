package console

import (
	"context"
	"crypto/subtle"
	"html/template"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/oauth"
)

// DonePath is where people come back from the issuer.
const DonePath = Path + "/sign-in/done"

// Issuer is an authorization server at which people sign in (oauth.SignIn).
type Issuer interface {
	Name() string
	Secret() string
	Address(ctx context.Context, state, secret string) (string, error)
	Redeem(ctx context.Context, answer url.Values, secret string) (oauth.Token, error)
}

// Bounds of signing in.
const (
	flowTime = 10 * time.Minute
	maxFlows = 1024
)

// flow is somebody who has gone to the issuer and not come back. The browser has the state that the issuer returns in a
// cookie: nobody is signed in by an address that somebody else sends.
type flow struct {
	secret string
	to     string // where they want to go
}

// issuer is the name of the issuer, "" if people do not sign in there.
func (h *Handler) issuer() string {
	if h.opts.Issuer == nil {
		return ""
	}
	return h.opts.Issuer.Name()
}

// destination is where somebody who signs in goes: to the app's own pages, to a place in the console
// that was asked for, or to its beginning. It is never another site.
func (h *Handler) destination(query url.Values) string {
	if h.opts.Home && query.Has("home") {
		return "/"
	}
	to, err := url.Parse(query.Get("to"))
	if err != nil || to.IsAbs() || to.Host != "" || to.Path != Path && !strings.HasPrefix(to.Path, Path+"/") || path.Clean(to.Path) != strings.TrimSuffix(to.Path, "/") || strings.HasPrefix(to.Path, Path+"/sign-in") {
		return Path
	}
	return to.String()
}

func (h *Handler) flowCookie(value string, maxAge int) *http.Cookie {
	// Lax: browsers send it when the issuer's page leads back.
	return &http.Cookie{
		Name: h.cookieName() + "-state", Value: value, Path: Path + "/sign-in", MaxAge: maxAge, HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: h.origin.Scheme == "https",
	}
}

// serveIssuer leads a person to the issuer.
func (h *Handler) serveIssuer(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	if h.opts.Issuer == nil {
		http.Redirect(w, r, Path, http.StatusSeeOther)
		return
	}
	if onlyLooks(r) {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	secret := h.opts.Issuer.Secret()
	state := h.flows.add(flow{secret: secret, to: h.destination(r.URL.Query())})
	at, err := h.opts.Issuer.Address(r.Context(), state, secret)
	if err != nil {
		h.flows.remove(state)
		h.failSignIn(w, fault.From(err))
		return
	}
	http.SetCookie(w, h.flowCookie(state, int(flowTime.Seconds())))
	http.Redirect(w, r, at, http.StatusSeeOther)
}

// serveDone opens a session for a person who comes back from the issuer.
func (h *Handler) serveDone(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	if h.opts.Issuer == nil {
		http.Redirect(w, r, Path, http.StatusSeeOther)
		return
	}
	answer := r.URL.Query()
	state := answer.Get("state")
	cookie, err := r.Cookie(h.flowCookie("", 0).Name)
	if err != nil || subtle.ConstantTimeCompare([]byte(cookie.Value), []byte(state)) != 1 {
		h.failSignIn(w, fault.New(fault.Forbidden, "this browser has not begun to sign in").WithHint("Begin in this browser, with cookies, and end there."))
		return
	}
	one, ok := h.flows.remove(state)
	http.SetCookie(w, h.flowCookie("", -1))
	if !ok {
		h.failSignIn(w, fault.New(fault.Unauthorized, "signing in took longer than ten minutes, this page was opened twice, or the server was started again since").WithHint("Sign in again."))
		return
	}
	token, err := h.opts.Issuer.Redeem(r.Context(), answer, one.secret)
	if err == nil {
		_, err = h.callerOf(r, session{token: token})
	}
	if err == nil {
		err = h.open(r.Context(), w, session{token: token})
	}
	if err != nil {
		h.failSignIn(w, fault.From(err))
		return
	}
	// A page of this site goes on: browsers keep the session's cookie back where another site led here.
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = signedInPage.Execute(w, map[string]any{"Name": h.opts.Name, "Path": Path, "To": one.to})
}

var signedInPage = template.Must(template.New("signed-in").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{{.Name}}: signed in</title>
<meta http-equiv="refresh" content="0; url={{.To}}"><link rel="stylesheet" href="{{.Path}}/assets/app.css"></head>
<body><main class="sign-in"><h1>You have signed in to {{.Name}}</h1><p><a href="{{.To}}">Go on</a></p></main></body></html>
`))

// failSignIn shows why nobody has signed in, and the next step.
func (h *Handler) failSignIn(w http.ResponseWriter, f *fault.Fault) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(f.HTTPStatus())
	_ = failedPage.Execute(w, map[string]any{"Name": h.opts.Name, "Path": Path, "Issuer": h.issuer(), "Message": f.Message, "Hint": f.Hint})
}

var failedPage = template.Must(template.New("failed").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{{.Name}}: sign in</title>
<link rel="stylesheet" href="{{.Path}}/assets/app.css"></head>
<body><main class="sign-in"><h1>You have not signed in to {{.Name}}</h1>
<p>{{.Message}}.</p><p>{{.Hint}}</p>
<p><a href="{{.Path}}/sign-in/issuer">Sign in with {{.Issuer}}</a>, or <a href="{{.Path}}">open the console</a> and use a token.</p></main></body></html>
`))
