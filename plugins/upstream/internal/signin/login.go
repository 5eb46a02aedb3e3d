package signin

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

// Login is one sign-in of a person.
type Login struct {
	Store     *Store
	Upstream  Upstream
	User      string
	Challenge Challenge // what the upstream said to a request without a token
	Scopes    []string  // asked for beside those of the last sign-in
	// Show shows the person the link to open.
	Show func(link string)
	// Pasted has addresses that the person's browser has ended at, if it is on another
	// machine. It may be nil.
	Pasted <-chan string
	Wait   time.Duration // for the person
}

// Bounds of a sign-in.
const (
	prepareTime = 30 * time.Second // of what comes before the person
	redirectTo  = "/callback"
)

// Run signs in, and keeps the tokens. Until the last step nothing is kept, so that an end of
// the context leaves the last sign-in as it is.
func (l *Login) Run(ctx context.Context) (*Record, error) {
	hc := l.Store.http
	prepare, cancel := context.WithTimeoutCause(ctx, prepareTime, fmt.Errorf("the authorization server of %s did not answer in %s", l.Upstream.ID, prepareTime))
	defer cancel()
	where, err := discover(prepare, hc, l.Upstream.URL, l.Challenge)
	if err != nil {
		return nil, cause(prepare, err)
	}
	last, err := l.last(where)
	if err != nil {
		return nil, err
	}
	ln, err := l.listen(last)
	if err != nil {
		return nil, err
	}
	defer ln.Close()
	port := ln.Addr().(*net.TCPAddr).Port
	redirect := fmt.Sprintf("http://127.0.0.1:%d%s", port, redirectTo)
	client, err := l.client(prepare, hc, where.meta, last, redirect, port)
	if err != nil {
		return nil, cause(prepare, err)
	}
	scopes := l.scopes(where, last)
	config := client.config(where.meta.TokenEndpoint, where.meta.AuthorizationEndpoint, redirect, scopes)
	verifier, state := oauth2.GenerateVerifier(), rand.Text()
	options := []oauth2.AuthCodeOption{oauth2.S256ChallengeOption(verifier), oauth2.SetAuthURLParam("resource", where.resource)}
	if slices.Contains(scopes, offline) {
		options = append(options, oauth2.SetAuthURLParam("prompt", "consent")) // OpenID Connect Core, section 11
	}
	code, err := l.code(ctx, ln, &expected{state: state, issuer: where.meta.Issuer, always: where.meta.AuthorizationResponseIssParameterSupported}, config.AuthCodeURL(state, options...))
	if err != nil {
		return nil, err
	}
	exchange, cancel := context.WithTimeout(withHTTP(ctx, hc), prepareTime)
	defer cancel()
	token, err := config.Exchange(exchange, code, oauth2.VerifierOption(verifier), oauth2.SetAuthURLParam("resource", where.resource))
	if err != nil {
		return nil, &UnavailableError{Server: where.meta.Issuer, Err: tokenFailure(where.meta.Issuer, err)}
	}
	r := &Record{
		ID: rand.Text(), Upstream: l.Upstream.ID, User: l.User, URL: l.Upstream.URL, Resource: where.resource, Issuer: where.meta.Issuer,
		TokenURL: where.meta.TokenEndpoint, RevokeURL: where.meta.RevocationEndpoint, Client: *client, Scopes: scopes, SignedInAt: time.Now().UTC(),
	}
	if !client.Registered {
		r.Client.Secret = "" // the configuration has it
	}
	if err := r.take(token); err != nil {
		return nil, &UnavailableError{Server: where.meta.Issuer, Err: err}
	}
	return r, l.keep(ctx, r)
}

// cause returns why a context ended, if it did.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// last returns the last sign-in if it was to the same authorization server, nil if not.
func (l *Login) last(where *authority) (*Record, error) {
	r, _, err := l.Store.read(l.Upstream.ID, l.User)
	if needed := (*Needed)(nil); errors.As(err, &needed) {
		return nil, nil // it is going to be replaced
	}
	if err != nil || r == nil || r.URL != l.Upstream.URL || r.Issuer != where.meta.Issuer {
		return nil, err
	}
	return r, nil
}

// listen opens the port of the redirect: the configured one, else that of the registered
// client if it is free, else any.
func (l *Login) listen(last *Record) (net.Listener, error) {
	port := l.Upstream.RedirectPort
	if port == 0 && last != nil {
		port = last.Client.RedirectPort
	}
	ln, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil && l.Upstream.RedirectPort == 0 && port != 0 {
		ln, err = net.Listen("tcp4", "127.0.0.1:0")
	}
	if err != nil {
		return nil, fmt.Errorf("the port of the redirect cannot be opened: %w", err)
	}
	return ln, nil
}

// client returns the configured client, or the one registered for this redirect, or
// registers one.
func (l *Login) client(ctx context.Context, hc *http.Client, meta *oauthex.AuthServerMeta, last *Record, redirect string, port int) (*Client, error) {
	if c := configuredClient(&l.Upstream, meta); c != nil {
		return c, nil
	}
	if last != nil && last.Client.Registered && last.Client.RedirectPort == port && (last.Client.Expires.IsZero() || time.Now().Before(last.Client.Expires)) {
		c := last.Client
		return &c, nil
	}
	return register(ctx, hc, meta, redirect, port)
}

// offline is the scope for refresh tokens, where an authorization server has one.
const offline = "offline_access"

// scopes returns what to ask for: the configured scopes, those of the last sign-in, and those
// that are wanted now. If that is none, what the upstream's challenge names, or else all that
// it has.
func (l *Login) scopes(where *authority, last *Record) []string {
	out := union(l.Upstream.Scopes, l.Scopes)
	if last != nil {
		out = union(out, last.Scopes)
	}
	if len(out) == 0 {
		out = l.Challenge.Scopes
	}
	if len(out) == 0 {
		out = where.scopes
	}
	if slices.Contains(where.meta.ScopesSupported, offline) {
		out = union(out, []string{offline})
	}
	return out
}

// code shows the link, and waits for the code.
func (l *Login) code(ctx context.Context, ln net.Listener, want *expected, link string) (string, error) {
	wait := cmp.Or(l.Wait, 5*time.Minute)
	ctx, cancel := context.WithTimeoutCause(ctx, wait, fmt.Errorf("nobody signed in within %s", wait))
	defer cancel()
	answers := make(chan answer, 1)
	server := &http.Server{Handler: want.handler(answers), ReadHeaderTimeout: 5 * time.Second, MaxHeaderBytes: 64 << 10}
	go func() { _ = server.Serve(ln) }()
	defer func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second) // for the page that is being sent
		defer cancel()
		_ = server.Shutdown(last)
		_ = server.Close()
	}()
	l.Show(link)
	pasted := l.Pasted
	for {
		select {
		case a := <-answers:
			return a.code, a.err
		case address, ok := <-pasted:
			if !ok {
				pasted = nil
				continue
			}
			if a, ok := want.read(pastedQuery(address)); ok {
				return a.code, a.err
			}
			return "", errors.New("that is not the address at which this sign-in ended: it has another `state`, or none")
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

// keep writes the sign-in.
func (l *Login) keep(ctx context.Context, r *Record) error {
	unlock, err := l.Store.lock(ctx, r.Upstream, r.User)
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := l.Store.write(r); err != nil {
		return fmt.Errorf("the tokens cannot be kept: %w", err)
	}
	return nil
}
