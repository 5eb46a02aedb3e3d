package signin

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strings"
)

// expected is what the redirect of this sign-in must bring.
type expected struct {
	state  string
	issuer string
	always bool // the issuer names itself in each redirect (RFC 9207)
}

// answer is what a redirect brought: a code, or why there is none.
type answer struct {
	code string
	err  error
}

// read reads the parameters of a redirect. ok is false for one of another sign-in, or of
// somebody who guesses: it is ignored.
func (e *expected) read(q url.Values) (a answer, ok bool) {
	if len(q["state"]) != 1 || subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(e.state)) != 1 {
		return answer{}, false
	}
	fail := func(format string, args ...any) (answer, bool) { return answer{err: fmt.Errorf(format, args...)}, true }
	switch iss := q["iss"]; {
	case len(iss) > 1 || len(iss) == 1 && iss[0] != e.issuer:
		return fail("the answer came from another authorization server, %s, than %s: nothing was sent to either", quoted(q.Get("iss")), e.issuer)
	case len(iss) == 0 && e.always:
		return fail("the answer does not say that it is from %s (parameter iss), as that server promises: nothing was sent", e.issuer)
	}
	if q.Has("error") {
		reason := quoted(q.Get("error"))
		if d := q.Get("error_description"); d != "" {
			reason += " (" + quoted(d) + ")"
		}
		return fail("the authorization server %s refused: %s", e.issuer, reason)
	}
	if len(q["code"]) != 1 || q.Get("code") == "" {
		return answer{err: errors.New("the answer of the authorization server has no code")}, true
	}
	return answer{code: q.Get("code")}, true
}

// pastedQuery returns the parameters of an address that a person pasted.
func pastedQuery(address string) url.Values {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil {
		return nil
	}
	return u.Query()
}

// handler answers the browser. The first redirect of this sign-in counts.
func (e *expected) handler(answers chan<- answer) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+redirectTo, func(w http.ResponseWriter, r *http.Request) {
		a, ok := e.read(r.URL.Query())
		if !ok {
			page(w, http.StatusBadRequest, "This is not the sign-in that Koan is waiting for", "Open the link that it printed last.")
			return
		}
		select {
		case answers <- a:
		default: // the page was loaded again
		}
		if a.err != nil {
			page(w, http.StatusBadRequest, "You are not signed in", a.err.Error())
			return
		}
		page(w, http.StatusOK, "You are signed in", "You can close this tab.")
	})
	return mux
}

// page writes a page without anything that could run or load.
func page(w http.ResponseWriter, status int, title, text string) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer") // the address has the code
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	fmt.Fprintf(w, `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>%s</title>
<style>:root{color-scheme:light dark}body{font:1rem/1.5 system-ui;max-width:32rem;margin:20vh auto;padding:0 1rem}</style>
<h1>%s</h1><p>%s</p></html>
`, html.EscapeString(title), html.EscapeString(title), html.EscapeString(text))
}
