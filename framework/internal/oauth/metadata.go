package oauth

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"

	"github.com/koan-go/koan/framework/internal/bearer"
)

// WellKnown is where the metadata of a protected resource is found: the path itself,
// and followed by the path of the resource (RFC 9728, section 3.1).
const WellKnown = "/.well-known/oauth-protected-resource"

// metadata is the document of RFC 9728.
type metadata struct {
	Resource string   `json:"resource"`
	Servers  []string `json:"authorization_servers"`
	Scopes   []string `json:"scopes_supported,omitempty"`
	Methods  []string `json:"bearer_methods_supported"`
	Name     string   `json:"resource_name,omitempty"`
}

// ServeHTTP serves the metadata, at WellKnown and below. It is public, for pages of other
// sites too.
func (v *Verifier) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Access-Control-Allow-Origin", "*")
	switch r.Method {
	case http.MethodOptions:
		w.Header().Set("Access-Control-Allow-Methods", http.MethodGet)
		w.Header().Set("Access-Control-Allow-Headers", "*")
		w.WriteHeader(http.StatusNoContent)
		return
	case http.MethodGet, http.MethodHead:
	default:
		w.Header().Set("Allow", "GET, HEAD, OPTIONS")
		http.Error(w, "this is read-only", http.StatusMethodNotAllowed)
		return
	}
	if r.URL.Path != WellKnown && r.URL.Path != WellKnown+v.path() {
		http.NotFound(w, r)
		return
	}
	raw, err := json.Marshal(metadata{
		Resource: v.opts.Resource, Servers: []string{v.opts.Issuer}, Scopes: v.opts.Scopes(), Methods: []string{"header"}, Name: v.opts.Name,
	})
	if err != nil {
		http.Error(w, "the metadata cannot be written", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-cache")
	_, _ = w.Write(raw)
}

// path is the path of the resource, "" for the root.
func (v *Verifier) path() string {
	u, err := url.Parse(v.opts.Resource)
	if err != nil || u.Path == "/" {
		return ""
	}
	return u.Path
}

// metadataURL is where clients find the metadata.
func (v *Verifier) metadataURL() string {
	u, err := url.Parse(v.opts.Resource)
	if err != nil { // it was checked
		return ""
	}
	return u.Scheme + "://" + u.Host + WellKnown + v.path()
}

// Challenge adds to a challenge where a client gets a token, and the published scopes if
// it names none.
func (v *Verifier) Challenge(c bearer.Challenge) bearer.Challenge {
	c.Metadata = v.metadataURL()
	if len(c.Scopes) == 0 {
		c.Scopes = v.opts.Scopes()
	}
	return c
}

// StepUp is the challenge for a caller that lacks scopes. ok is false if one of them is
// not published.
func (v *Verifier) StepUp(scopes []string) (c bearer.Challenge, ok bool) {
	published := v.opts.Scopes()
	for _, s := range scopes {
		if !slices.Contains(published, s) {
			return bearer.Challenge{}, false
		}
	}
	return v.Challenge(bearer.Challenge{Error: bearer.InsufficientScope, Description: "the tool needs scopes that the token does not have", Scopes: scopes}), true
}
