package bearer

import (
	"net/http"
	"strings"

	"github.com/koan-go/koan/framework/fault"
)

// The errors of RFC 6750, section 3.1.
const (
	invalidRequest    = string(fault.InvalidRequest)
	InvalidToken      = "invalid_token"
	InsufficientScope = "insufficient_scope"
)

// Challenge is the content of WWW-Authenticate (RFC 6750, section 3, and RFC 9728,
// section 5.1).
type Challenge struct {
	Error       string   // "" for a caller that sent no credentials
	Description string   // for the developer of the client
	Scopes      []string // that would do
	Metadata    string   // URL of the metadata that leads to an authorization server
}

// String is the header's value.
func (c Challenge) String() string {
	var b strings.Builder
	b.WriteString(`Bearer realm="koan"`)
	for _, part := range []struct{ name, value string }{
		{"error", c.Error}, {"error_description", c.Description}, {"scope", strings.Join(c.Scopes, " ")}, {"resource_metadata", c.Metadata},
	} {
		if part.value != "" {
			b.WriteString(", " + part.name + `="` + strings.Map(quotable, part.value) + `"`)
		}
	}
	return b.String()
}

// quotable keeps characters that need no escape between quotes.
func quotable(r rune) rune {
	if r < ' ' || r > '~' || r == '"' || r == '\\' {
		return '\''
	}
	return r
}

// Refused is the error of a rejected request, with its challenge.
type Refused struct {
	*fault.Fault
	Why Challenge
}

// Unwrap returns the fault.
func (r Refused) Unwrap() error { return r.Fault }

// Challenge is the value of WWW-Authenticate.
func (r Refused) Challenge() string { return r.Why.String() }

// Token returns the bearer token of a request, from its one Authorization header. Its
// error is Refused: unauthorized.
func Token(r *http.Request) (string, error) {
	header := r.Header.Values("Authorization")
	if len(header) == 0 {
		return "", Refused{fault.New(fault.Unauthorized, "a bearer token is needed"), Challenge{}}
	}
	scheme, token, _ := strings.Cut(header[0], " ")
	token = strings.TrimSpace(token)
	if len(header) > 1 || !strings.EqualFold(scheme, "Bearer") || token == "" || strings.IndexFunc(token, isNotTokenRune) >= 0 {
		return "", Refused{fault.New(fault.Unauthorized, "the Authorization header has no bearer token"), Challenge{Error: invalidRequest}}
	}
	return token, nil
}

// isNotTokenRune reports whether a token cannot have a character: it is not printable ASCII.
func isNotTokenRune(r rune) bool { return r <= ' ' || r > '~' }
