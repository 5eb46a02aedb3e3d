package signin

import (
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// Challenge is what a server says when it rejects a request for want of a token or of its
// scopes (RFC 6750, RFC 9728). It is untrusted.
type Challenge struct {
	Bearer   bool   // it takes bearer tokens
	Metadata string // where the metadata of the protected resource is, "" if it does not say
	Scopes   []string
	Error    string // invalid_token, insufficient_scope, ...
}

// InsufficientScope is the Error of a token without the scopes that a request needs.
const InsufficientScope = "insufficient_scope"

// Bounds of what is read from a server.
const (
	maxChallenge = 8 << 10 // bytes
	maxScopes    = 100
	maxScope     = 200 // bytes
)

// ParseChallenge reads the challenge of a response. Headers that cannot be read are ignored:
// the well-known addresses remain.
func ParseChallenge(header http.Header) Challenge {
	var out Challenge
	for _, line := range header.Values("WWW-Authenticate") {
		if len(line) > maxChallenge {
			continue
		}
		all, err := oauthex.ParseWWWAuthenticate([]string{line})
		if err != nil {
			continue
		}
		for _, c := range all {
			if c.Scheme != "bearer" || out.Bearer {
				continue
			}
			out = Challenge{Bearer: true, Metadata: c.Params["resource_metadata"], Scopes: parseScopes(c.Params["scope"]), Error: c.Params["error"]}
		}
	}
	return out
}

// parseScopes reads scopes with spaces between them, and leaves out what cannot be one
// (RFC 6749, section 3.3).
func parseScopes(text string) []string {
	var out []string
	for _, s := range strings.Fields(text) {
		if ValidScope(s) && !slices.Contains(out, s) && len(out) < maxScopes {
			out = append(out, s)
		}
	}
	return out
}

// ValidScope reports whether a text is one scope.
func ValidScope(s string) bool {
	return s != "" && len(s) <= maxScope && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' })
}

// union returns the scopes of both, in order.
func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
