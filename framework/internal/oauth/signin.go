package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sync"

	"golang.org/x/oauth2"

	"github.com/koan-go/koan/framework/fault"
)

// Client is the OAuth client as which people sign in to pages of this server.
type Client struct {
	ID       string
	Secret   string // "" of a public client
	Redirect string // the URL at which signing in ends
}

// SignIn has people sign in at the issuer: by an authorization code with PKCE (RFC 7636), for a token
// for this server (RFC 8707). It is safe for concurrent use.
type SignIn struct {
	verifier *Verifier
	client   Client
	mu       sync.Mutex
	config   *oauth2.Config // nil until the issuer was asked
}

// SignIn returns the way in for a client.
func (v *Verifier) SignIn(c Client) *SignIn { return &SignIn{verifier: v, client: c} }

// Name is the issuer, for people.
func (s *SignIn) Name() string {
	if u, err := url.Parse(s.verifier.opts.Issuer); err == nil {
		return u.Host
	}
	return s.verifier.opts.Issuer
}

// Secret returns what only the one who begins to sign in knows, for Address and Redeem.
func (s *SignIn) Secret() string { return oauth2.GenerateVerifier() }

// Address returns where a person signs in. The issuer returns state. The error is
// service_unavailable if the issuer does not answer, or cannot do it.
func (s *SignIn) Address(_ context.Context, state, secret string) (string, error) {
	c, err := s.ask()
	if err != nil {
		return "", err
	}
	return c.AuthCodeURL(state, oauth2.S256ChallengeOption(secret), s.resource()), nil
}

func (s *SignIn) resource() oauth2.AuthCodeOption {
	return oauth2.SetAuthURLParam("resource", s.verifier.opts.Resource)
}

// Token returns the access token of somebody who has signed in, a new one when the last one has
// ended. The error is unauthorized when there are no more.
type Token func(ctx context.Context) (string, error)

// Redeem returns the token for which the issuer's answer stands. The error is unauthorized: its
// message says why nobody has signed in.
func (s *SignIn) Redeem(ctx context.Context, answer url.Values, secret string) (Token, error) {
	if iss := answer.Get("iss"); iss != "" && iss != s.verifier.opts.Issuer { // RFC 9207
		return nil, fault.Newf(fault.Unauthorized, "the answer is not from %s", s.Name())
	}
	if code := answer.Get("error"); code != "" {
		return nil, refusal(s.Name(), code, answer.Get("error_description"))
	}
	c, err := s.ask()
	if err != nil {
		return nil, err
	}
	ctx = s.over(ctx)
	first, err := c.Exchange(ctx, answer.Get("code"), oauth2.VerifierOption(secret), s.resource())
	if err != nil {
		return nil, s.failed(err)
	}
	tokens := c.TokenSource(s.over(context.Background()), first)
	return func(context.Context) (string, error) {
		t, err := tokens.Token()
		if err != nil {
			return "", s.failed(err)
		}
		return t.AccessToken, nil
	}, nil
}

func (s *SignIn) over(ctx context.Context) context.Context {
	return context.WithValue(ctx, oauth2.HTTPClient, s.verifier.opts.Client)
}

// failed is the fault of a request for a token.
func (s *SignIn) failed(err error) *fault.Fault {
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) && refused.ErrorCode != "" {
		return refusal(s.Name(), refused.ErrorCode, refused.ErrorDescription).Because(err)
	}
	return s.away(err)
}

func (s *SignIn) away(err error) *fault.Fault {
	s.verifier.opts.Log.Warn("nobody can sign in: the authorization server does not answer as it should", "issuer", s.verifier.opts.Issuer, "error", err)
	return fault.Newf(fault.ServiceUnavailable, "%s does not answer as it should", s.Name()).WithHint("Try again. The log of this server says what is wrong.").Because(err)
}

// refusal is the fault for an error code of RFC 6749, with what to do.
func refusal(name, code, description string) *fault.Fault {
	message := fmt.Sprintf("%s answered %s", name, shorten(code))
	if description != "" {
		message += ": " + shorten(description)
	}
	f := fault.New(fault.Unauthorized, message)
	switch code {
	case "access_denied":
		return f.WithHint("You did not agree, or may not use this app. Sign in again, as somebody else if need be.")
	case "invalid_client", "unauthorized_client":
		return f.WithHint("The operator of this server checks server.oauth.clientId and server.oauth.clientSecret, and how the client is registered.")
	case "invalid_scope":
		return f.WithHint("The operator of this server lists in server.oauth.scopes what the client may ask for.")
	case "invalid_target":
		return f.WithHint("The operator of this server makes server.publicUrl a resource that the authorization server knows.")
	}
	return f.WithHint("Sign in again.")
}

// ask returns where the issuer's pages are, which it says itself.
func (s *SignIn) ask() (*oauth2.Config, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.config == nil {
		about, err := s.verifier.keys.about()
		if err != nil {
			return nil, s.away(err)
		}
		if s.config, err = s.configured(about); err != nil {
			return nil, s.away(err)
		}
	}
	c := *s.config
	c.Scopes = s.verifier.opts.Scopes()
	return &c, nil
}

func (s *SignIn) configured(about map[string]json.RawMessage) (*oauth2.Config, error) {
	pages, _ := text(about["authorization_endpoint"])
	tokens, _ := text(about["token_endpoint"])
	for name, at := range map[string]string{"authorization_endpoint": pages, "token_endpoint": tokens} {
		u, err := url.Parse(at)
		if err == nil {
			u.RawQuery = "" // which such an address may have
			err = address(u.String())
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	var methods, styles []string
	if raw := about["code_challenge_methods_supported"]; raw != nil && (json.Unmarshal(raw, &methods) != nil || !slices.Contains(methods, "S256")) {
		return nil, errors.New("it does not take PKCE with S256")
	}
	style := oauth2.AuthStyleInParams
	if raw := about["token_endpoint_auth_methods_supported"]; s.client.Secret != "" && (json.Unmarshal(raw, &styles) != nil || slices.Contains(styles, "client_secret_basic")) {
		style = oauth2.AuthStyleInHeader
	}
	return &oauth2.Config{
		ClientID: s.client.ID, ClientSecret: s.client.Secret, RedirectURL: s.client.Redirect,
		Endpoint: oauth2.Endpoint{AuthURL: pages, TokenURL: tokens, AuthStyle: style},
	}, nil
}
