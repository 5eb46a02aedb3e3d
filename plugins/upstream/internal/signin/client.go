package signin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

// Client is how Koan is known to an authorization server.
type Client struct {
	ID     string `json:"id"`
	Secret string `json:"secret,omitempty"` // of a registered one; that of a configured one is not kept
	Method string `json:"method"`           // how it authenticates: none, client_secret_post or client_secret_basic
	// Registered says that Koan has registered it, for the redirect to RedirectPort.
	Registered   bool      `json:"registered,omitempty"`
	RedirectPort int       `json:"redirectPort,omitempty"`
	Expires      time.Time `json:"expires,omitzero"` // of the secret
}

// Ways of a client to authenticate (RFC 7591, section 2).
const (
	methodNone  = "none"
	methodPost  = "client_secret_post"
	methodBasic = "client_secret_basic"
)

// config makes the library's configuration.
func (c *Client) config(tokenURL, authURL, redirect string, scopes []string) *oauth2.Config {
	style := oauth2.AuthStyleInParams
	if c.Method == methodBasic {
		style = oauth2.AuthStyleInHeader
	}
	return &oauth2.Config{
		ClientID: c.ID, ClientSecret: c.Secret, RedirectURL: redirect, Scopes: scopes,
		Endpoint: oauth2.Endpoint{AuthURL: authURL, TokenURL: tokenURL, AuthStyle: style},
	}
}

// configuredClient returns the client of the configuration, nil if there is none. A client
// that is described by a document is one only where the authorization server reads such
// documents.
func configuredClient(up *Upstream, meta *oauthex.AuthServerMeta) *Client {
	switch {
	case up.ClientID != "" && up.ClientSecret == "":
		return &Client{ID: up.ClientID, Method: methodNone}
	case up.ClientID != "":
		// RFC 8414: without the member, basic is what a server takes.
		methods := meta.TokenEndpointAuthMethodsSupported
		if slices.Contains(methods, methodPost) && !slices.Contains(methods, methodBasic) {
			return &Client{ID: up.ClientID, Secret: up.ClientSecret, Method: methodPost}
		}
		return &Client{ID: up.ClientID, Secret: up.ClientSecret, Method: methodBasic}
	case up.MetadataURL != "" && meta.ClientIDMetadataDocumentSupported:
		return &Client{ID: up.MetadataURL, Method: methodNone}
	}
	return nil
}

// register registers a client (RFC 7591) for the redirect to a port.
func register(ctx context.Context, hc *http.Client, meta *oauthex.AuthServerMeta, redirect string, port int) (*Client, error) {
	if meta.RegistrationEndpoint == "" {
		return nil, fmt.Errorf("the authorization server %s registers no clients: register one there by hand, and set oauth.clientId", meta.Issuer)
	}
	grants := []string{"authorization_code", "refresh_token"}
	if known := meta.GrantTypesSupported; len(known) > 0 && !slices.Contains(known, "refresh_token") {
		grants = grants[:1]
	}
	got, err := oauthex.RegisterClient(ctx, meta.RegistrationEndpoint, &oauthex.ClientRegistrationMetadata{
		RedirectURIs: []string{redirect}, TokenEndpointAuthMethod: methodNone, GrantTypes: grants, ResponseTypes: []string{"code"},
		ClientName: "Koan", ApplicationType: "native",
	}, hc)
	if err != nil {
		return nil, registrationFailure(meta.Issuer, err)
	}
	c := &Client{ID: got.ClientID, Secret: got.ClientSecret, Method: got.TokenEndpointAuthMethod, Registered: true, RedirectPort: port, Expires: got.ClientSecretExpiresAt}
	switch c.Method {
	case methodNone, methodPost, methodBasic:
	case "":
		if c.Method = methodNone; c.Secret != "" {
			c.Method = methodBasic // the default of RFC 7591
		}
	default:
		return nil, fmt.Errorf("the authorization server %s has registered a client that must authenticate by %s, which Koan cannot", meta.Issuer, quoted(c.Method))
	}
	return c, nil
}

// registrationFailure drops what the library quotes of a response, which may hold a secret.
func registrationFailure(issuer string, err error) error {
	var refused *oauthex.ClientRegistrationError
	var network *url.Error
	switch {
	case errors.As(err, &refused):
		return fmt.Errorf("the authorization server %s refused to register a client: %s: %s. Register one there by hand, and set oauth.clientId", issuer, quoted(refused.ErrorCode), quoted(refused.ErrorDescription))
	case errors.As(err, &network):
		return &UnavailableError{Server: issuer, Err: network.Err}
	}
	return &UnavailableError{Server: issuer, Err: errors.New("its answer to the registration of a client cannot be used")}
}
