package restapi

import (
	"html/template"
	"net/http"
)

// askToSignIn shows a person with a browser how to sign in: as the console does, or where there is
// none, what there is instead.
func (h *Handler) askToSignIn(w http.ResponseWriter, r *http.Request) {
	if h.signIn != nil {
		h.signIn(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusUnauthorized)
	_ = signInPage.Execute(w, map[string]any{"Name": h.opts.Name, "Path": r.URL.Path})
}

var signInPage = template.Must(template.New("sign-in").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{{.Name}}: sign in</title></head>
<body><main><h1>Sign in to {{.Name}}</h1>
<p>{{.Path}} is for callers who have signed in, and people sign in to this server in its console, which is switched off.</p>
<p>Ask whoever runs {{.Name}} to start it with <code>--console true</code>, or send a token of this server with each request:</p>
<pre>curl -H "Authorization: Bearer TOKEN" …{{.Path}}</pre></main></body></html>
`))
