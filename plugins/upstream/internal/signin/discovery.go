package signin

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// requestTime bounds one request to an authorization server.
const requestTime = 10 * time.Second

// newHTTPClient makes the client for metadata and tokens. It follows no redirect to another
// host, since what it sends and reads is meant for one.
func newHTTPClient() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxResponseHeaderBytes = 64 << 10
	return &http.Client{
		Transport: transport, Timeout: requestTime,
		CheckRedirect: func(to *http.Request, via []*http.Request) error {
			if first := via[0].URL; to.URL.Scheme != first.Scheme || to.URL.Host != first.Host {
				return fmt.Errorf("it redirects to another server, %s", quoted(to.URL.Host))
			}
			if len(via) > 3 {
				return errors.New("it redirects in circles")
			}
			return nil
		},
	}
}

// authority is what is known of the authorization server of an upstream.
type authority struct {
	resource string   // the upstream's name there (RFC 8707)
	scopes   []string // that the upstream has
	meta     *oauthex.AuthServerMeta
}

// discover finds the authorization server of an upstream, by its challenge or at the
// well-known addresses. Its errors say which server is wrong in what.
func discover(ctx context.Context, client *http.Client, server string, c Challenge) (*authority, error) {
	if err := secure(server, server); err != nil {
		return nil, fmt.Errorf("tokens are not sent to %s: %w", server, err)
	}
	noting := &documents{next: client.Transport}
	own := *client
	own.Transport = noting
	out, issuer, err := protectedResource(ctx, &own, server, c)
	switch {
	case err != nil && (c.Metadata != "" || noting.found.Load() || ctx.Err() != nil):
		return nil, &UndescribedError{err}
	case err != nil:
		// Servers of 2025-03-26 are their own authorization servers.
		meta, other := authorizationServer(ctx, client, origin(server), server)
		if other != nil {
			return nil, &UndescribedError{fmt.Errorf("%w; as an authorization server of its own, %w", err, other)}
		}
		return &authority{resource: server, meta: meta}, nil
	}
	if out.meta, err = authorizationServer(ctx, client, issuer, server); err != nil {
		return nil, &UnavailableError{Server: issuer, Err: err}
	}
	return out, nil
}

// documents notes whether a server has sent a JSON document: one that is wrong must not be
// taken for one that is missing, and the library's errors do not tell them apart.
type documents struct {
	next  http.RoundTripper
	found atomic.Bool
}

// RoundTrip implements http.RoundTripper.
func (d *documents) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := d.next.RoundTrip(r)
	if err == nil && resp.StatusCode == http.StatusOK {
		kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
		d.found.CompareAndSwap(false, kind == "application/json")
	}
	return resp, err
}

// protectedResource reads the metadata of an upstream.
func protectedResource(ctx context.Context, client *http.Client, server string, c Challenge) (*authority, string, error) {
	var problems []error
	for _, at := range resourceMetadataAt(server, c.Metadata) {
		prm, err := resourceMetadata(ctx, client, at, server)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		if len(prm.AuthorizationServers) == 0 {
			return nil, "", fmt.Errorf("%s names no authorization server", at)
		}
		issuer := prm.AuthorizationServers[0]
		if err := secure(issuer, server); err != nil {
			return nil, "", fmt.Errorf("its authorization server %s: %w", quoted(issuer), err)
		}
		return &authority{resource: prm.Resource, scopes: parseScopes(strings.Join(prm.ScopesSupported, " "))}, issuer, nil
	}
	return nil, "", inOneLine(problems)
}

// inOneLine joins errors.
func inOneLine(problems []error) error {
	var texts []string
	for _, err := range problems {
		texts = append(texts, err.Error())
	}
	return errors.New(strings.Join(texts, "; "))
}

// resourceMetadata reads the metadata at an address, which must be that of the server under
// one of its names. The error is the one for its URL.
func resourceMetadata(ctx context.Context, client *http.Client, at, server string) (*oauthex.ProtectedResourceMetadata, error) {
	if err := secure(at, server); err != nil {
		return nil, fmt.Errorf("%s: %w", quoted(at), err)
	}
	var first error
	for _, name := range namesOf(server) {
		prm, err := oauthex.GetProtectedResourceMetadata(ctx, at, name, client)
		if err == nil {
			return prm, nil
		}
		if first == nil {
			first = shortened(err)
		}
		if network := (*url.Error)(nil); errors.As(err, &network) {
			break
		}
	}
	return nil, first
}

// namesOf returns the names by which a server may call itself: its URL, with or without a
// slash at its end, or its origin (as servers do that are one resource with several paths).
func namesOf(server string) []string {
	out := []string{server}
	for _, name := range []string{strings.TrimSuffix(server, "/"), strings.TrimSuffix(server, "/") + "/", origin(server), origin(server) + "/"} {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// resourceMetadataAt returns where the metadata of a protected resource may be (RFC 9728,
// section 3.1): where the challenge says, else at the well-known addresses.
func resourceMetadataAt(server, challenged string) []string {
	if challenged != "" {
		return []string{challenged}
	}
	u, err := url.Parse(server)
	if err != nil {
		return nil
	}
	const wellKnown = "/.well-known/oauth-protected-resource"
	out := []string{origin(server) + wellKnown}
	if path := strings.TrimSuffix(u.EscapedPath(), "/"); path != "" {
		out = append([]string{origin(server) + wellKnown + path}, out...)
	}
	return out
}

// authorizationServer reads the metadata of an authorization server.
func authorizationServer(ctx context.Context, client *http.Client, issuer, server string) (*oauthex.AuthServerMeta, error) {
	for _, at := range issuerMetadataAt(issuer) {
		meta, err := oauthex.GetAuthServerMeta(ctx, at, issuer, client)
		switch {
		case err != nil:
			return nil, shortened(err)
		case meta == nil:
			continue // 4xx
		}
		return meta, usable(meta, server)
	}
	return nil, errors.New("it has no metadata at the well-known addresses (RFC 8414, OpenID Connect Discovery)")
}

// issuerMetadataAt returns where an authorization server's metadata may be (RFC 8414,
// OpenID Connect Discovery).
func issuerMetadataAt(issuer string) []string {
	u, err := url.Parse(issuer)
	if err != nil {
		return nil
	}
	root, path := u.Scheme+"://"+u.Host, strings.TrimSuffix(u.EscapedPath(), "/")
	out := []string{root + "/.well-known/oauth-authorization-server" + path, root + "/.well-known/openid-configuration" + path}
	if path != "" {
		out = append(out, root+path+"/.well-known/openid-configuration")
	}
	return out
}

// usable checks what the library does not.
func usable(meta *oauthex.AuthServerMeta, server string) error {
	for name, at := range map[string]string{"authorization_endpoint": meta.AuthorizationEndpoint, "token_endpoint": meta.TokenEndpoint} {
		if at == "" {
			return fmt.Errorf("its metadata has no %s", name)
		}
	}
	for name, at := range map[string]string{
		"authorization_endpoint": meta.AuthorizationEndpoint, "token_endpoint": meta.TokenEndpoint,
		"registration_endpoint": meta.RegistrationEndpoint, "revocation_endpoint": meta.RevocationEndpoint,
	} {
		if at == "" {
			continue
		}
		if err := secure(at, server); err != nil {
			return fmt.Errorf("its %s %s: %w", name, quoted(at), err)
		}
	}
	if !slices.Contains(meta.CodeChallengeMethodsSupported, "S256") {
		return errors.New("it does not offer PKCE with S256, which protects codes from theft")
	}
	return nil
}

// secure checks an address that an upstream or its authorization server names: it must use
// TLS. Addresses of this machine are only for upstreams on this machine, so that no other
// server can make Koan or a browser talk to what runs here.
func secure(address, upstream string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.Fragment != "":
		return errors.New("it is not a URL that can be used")
	case loopback(u.Hostname()):
		if home, err := url.Parse(upstream); err != nil || !loopback(home.Hostname()) {
			return errors.New("it is on this machine, but the server is not")
		}
		if u.Scheme != "http" && u.Scheme != "https" {
			return errors.New("it is not a URL of http or https")
		}
		return nil
	case u.Scheme != "https":
		return errors.New("it does not use https")
	}
	return nil
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// origin returns the beginning of a URL, without its path.
func origin(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Scheme + "://" + u.Host
}

// ofLibrary matches what the library puts before an error.
var ofLibrary = regexp.MustCompile(`^Get\w+\("([^"]*)"\): (bad status (\d+))?`)

// shortened is an error of a library as it can be shown. It never has a response's body of
// an endpoint for tokens: those errors are handled by tokenFailure.
func shortened(err error) error {
	const most = 300
	text := ofLibrary.ReplaceAllStringFunc(err.Error(), func(prefix string) string {
		m := ofLibrary.FindStringSubmatch(prefix)
		if m[3] != "" {
			return m[1] + " has HTTP status " + m[3]
		}
		return m[1] + ": "
	})
	if len(text) > most {
		text = text[:most] + "…"
	}
	return errors.New(strings.ToValidUTF8(strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, text), "?"))
}
