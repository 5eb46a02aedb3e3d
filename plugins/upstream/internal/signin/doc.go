// Package signin signs people in to upstream MCP servers: it is an OAuth 2.1 client as the
// Model Context Protocol wants it. It finds the authorization server (RFC 9728, RFC 8414 or
// OpenID Connect Discovery), gets a client id (configured, a metadata document, or RFC 7591),
// gets a code with PKCE over a loopback redirect (RFC 8252, RFC 9207), and keeps the tokens,
// which are refreshed here and bound to one server, one URL and one user.
//
// What belongs here: everything that sees a token, and the files in which tokens are kept.
// Not here: MCP, faults and commands, which are package upstream's; and a token, code,
// verifier or secret in an error, a log or the arguments of a process.
package signin

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Upstream is a server that people sign in to.
type Upstream struct {
	ID  string
	URL string // tokens are sent nowhere else
	// ClientID, ClientSecret and MetadataURL are the configured client: registered by hand
	// with the authorization server, or described by a document at a URL, which is its id
	// then. Without them, one is registered.
	ClientID     string
	ClientSecret string
	MetadataURL  string
	Scopes       []string // asked for at each sign-in; none: those that the server wants
	RedirectPort int      // of the loopback redirect; 0 is any
}

// Needed says that a person has to sign in, because there is no sign-in or because it cannot
// be used any more.
type Needed struct{ Reason string }

func (e *Needed) Error() string { return e.Reason }

// UnavailableError says that an authorization server could not be asked, or gave no usable
// answer. A later attempt may succeed.
type UnavailableError struct {
	Server string
	Err    error
}

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("the authorization server %s cannot be used: %v", e.Server, e.Err)
}

func (e *UnavailableError) Unwrap() error { return e.Err }

// UndescribedError says that a server does not say how people sign in to it.
type UndescribedError struct{ Err error }

func (e *UndescribedError) Error() string {
	return "the server does not say how to sign in: " + e.Err.Error()
}

func (e *UndescribedError) Unwrap() error { return e.Err }

// quoted makes a text of another server safe to show.
func quoted(text string) string {
	const most = 200
	if len(text) > most {
		for text = text[:most]; text != "" && !utf8.ValidString(text); text = text[:len(text)-1] {
		}
		text += "…"
	}
	return strconv.QuoteToGraphic(strings.ToValidUTF8(text, "?"))
}
