package oauth

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// Algorithms are the signatures that this package verifies. Shared secrets and unsigned
// tokens are not among them.
var Algorithms = []string{
	string(jose.RS256), string(jose.RS384), string(jose.RS512), string(jose.PS256), string(jose.PS384), string(jose.PS512),
	string(jose.ES256), string(jose.ES384), string(jose.ES512), string(jose.EdDSA),
}

// Options configure a Verifier. Issuer and Resource are required.
type Options struct {
	// Issuer is the authorization server's identifier: the `iss` of its tokens, and
	// where its metadata is found (RFC 8414, or OpenID Connect Discovery).
	Issuer string
	// Resource is the URL by which clients know this server (RFC 8707), as
	// https://tools.example.org/mcp. It has no fragment.
	Resource string
	// Audiences are the values of `aud` of which a token needs one; nil means Resource.
	Audiences []string
	// Algorithms are the accepted signatures; nil means RS256, PS256, ES256 and EdDSA.
	Algorithms []string
	// Types are the accepted values of the header `typ`, in any case and without
	// "application/"; nil means at+jwt (RFC 9068) and JWT, which many issuers write.
	Types []string
	// SetsClaim names the claim with the sets that a caller may name: a list, or one
	// string with spaces between the names. Sets are for tokens without it.
	SetsClaim string
	Sets      []string
	// Scopes are the scopes that are published in the metadata and in challenges; nil
	// publishes none.
	Scopes func() []string
	// Name is the server's name, for people.
	Name string
	// Skew is how far the issuer's clock may be from this one; 0 means 30 s.
	Skew time.Duration

	Client *http.Client     // for the issuer; nil makes one with time-outs
	Log    *slog.Logger     // nil drops; it never gets a token
	Now    func() time.Time // nil is time.Now
}

// Check returns all problems of the options. A Resource that is not known yet may be
// empty.
func (o Options) Check() error {
	var problems []error
	if err := address(o.Issuer); err != nil {
		problems = append(problems, fmt.Errorf("issuer: %w", err))
	}
	if o.Resource != "" {
		if u, err := url.Parse(o.Resource); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.Fragment != "" || u.User != nil || u.RawQuery != "" {
			problems = append(problems, fmt.Errorf("resource: %q is not a URL of this server, such as https://tools.example.org/mcp", o.Resource))
		}
	}
	for _, a := range o.Algorithms {
		if !slices.Contains(Algorithms, a) {
			problems = append(problems, fmt.Errorf("algorithms: %q is not one of %s", a, strings.Join(Algorithms, ", ")))
		}
	}
	return errors.Join(problems...)
}

// address checks a URL of the issuer. Its content decides who has access, so it must use
// TLS or be on this machine.
func address(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Fragment != "" || u.RawQuery != "" || u.User != nil {
		return fmt.Errorf("%q is not the URL of an authorization server", text)
	}
	if u.Scheme != "https" && !(u.Scheme == "http" && loopback(u.Hostname())) {
		return fmt.Errorf("%q must begin with https://; http is only for this machine's own addresses", text)
	}
	return nil
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

func (o *Options) fill() {
	if o.Audiences == nil {
		o.Audiences = []string{o.Resource}
	}
	if o.Algorithms == nil {
		o.Algorithms = []string{string(jose.RS256), string(jose.PS256), string(jose.ES256), string(jose.EdDSA)}
	}
	if o.Types == nil {
		o.Types = []string{"at+jwt", "JWT"}
	}
	if o.Skew == 0 {
		o.Skew = 30 * time.Second
	}
	if o.Scopes == nil {
		o.Scopes = func() []string { return nil }
	}
	if o.Client == nil {
		o.Client = &http.Client{Timeout: fetchTime, CheckRedirect: checkRedirect}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
}

// checkRedirect follows redirects of the issuer to URLs that would be accepted for it.
func checkRedirect(r *http.Request, via []*http.Request) error {
	if len(via) > 3 {
		return errors.New("too many redirects")
	}
	u := *r.URL
	u.RawQuery = ""
	return address(u.String())
}
