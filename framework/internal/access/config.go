package access

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/internal/bearer"
	"github.com/koan-go/koan/framework/internal/oauth"
)

const (
	keyTokens     = "server.tokensFile"
	keyPublic     = "server.publicUrl"
	keyIssuer     = "server.oauth.issuer"
	keyAudience   = "server.oauth.audience"
	keyScopes     = "server.oauth.scopes"
	keySetsClaim  = "server.oauth.setsClaim"
	keySets       = "server.oauth.sets"
	keyAlgorithms = "server.oauth.algorithms"
	keyTypes      = "server.oauth.tokenTypes"
	keySkew       = "server.oauth.clockSkewMs"
	keyClient     = "server.oauth.clientId"
	keySecret     = "server.oauth.clientSecret"
)

// Settings are the keys of the configuration that this package reads.
func Settings() []catalog.Setting {
	return []catalog.Setting{
		{Key: keyTokens, Default: "", Live: true, Help: "YAML file with the digests of the bearer tokens that may call over HTTP"},
		{Key: keyPublic, Default: "", Help: "URL by which clients know the MCP endpoint, such as https://tools.example.org/mcp; empty is the address that --http names, where that is this machine's own"},
		{Key: keyIssuer, Default: "", Help: "authorization server whose access tokens may call over HTTP, such as https://id.example.org"},
		{Key: keyAudience, Default: []string{}, Help: "values of `aud`, of which an access token must have one; empty is server.publicUrl"},
		{Key: keyScopes, Default: []string{}, Help: "scopes to advertise in the metadata and in challenges; unset advertises all that the app's operations need"},
		{Key: keySetsClaim, Default: "sets", Help: "claim of an access token with the sets that the caller may name"},
		{Key: keySets, Default: []string{}, Help: "sets of access tokens without that claim"},
		{Key: keyAlgorithms, Default: []string{"RS256", "PS256", "ES256", "EdDSA"}, Help: "accepted signature algorithms of access tokens: " + strings.Join(oauth.Algorithms, ", ")},
		{Key: keyTypes, Default: []string{"at+jwt", "JWT"}, Help: "accepted values of the header `typ` of an access token"},
		{Key: keySkew, Default: 30_000, Min: 1, Max: 600_000, Unit: "ms", Help: "how far the authorization server's clock may be from this one"},
		{Key: keyClient, Default: "", Help: "client of the authorization server as which people sign in to the console and the app's pages; empty: they paste a token. Its redirect URI ends in /console/sign-in/done"},
		{Key: keySecret, Secret: true, Default: "", Help: "secret of that client, if it has one; set it as KOAN_SERVER_OAUTH_CLIENTSECRET"},
	}
}

// Config is who may call, as configured and checked.
type Config struct {
	tokens *bearer.Tokens // nil without server.tokensFile
	oauth  *oauth.Options // nil without server.oauth.issuer
	client oauth.Client   // without an ID nobody signs in at the issuer
}

// Read reads and checks the configuration of a server that listens on an address,
// which is this machine's own or not. The error names every problem with its key.
func Read(v catalog.Values, local bool) (Config, error) {
	var c Config
	var problems []error
	c.tokens, problems = readTokens(v)
	issuer := v.String(keyIssuer)
	if issuer == "" {
		for _, key := range []string{keyAudience, keyScopes, keySets, keyClient, keySecret} {
			if v.IsSet(key) {
				problems = append(problems, fmt.Errorf("%s has no meaning without %s", key, keyIssuer))
			}
		}
		return c, errors.Join(problems...)
	}
	c.oauth = &oauth.Options{
		Issuer: issuer, Resource: v.String(keyPublic), Algorithms: v.Strings(keyAlgorithms), Types: v.Strings(keyTypes),
		SetsClaim: v.String(keySetsClaim), Sets: v.Strings(keySets), Skew: time.Duration(v.Int(keySkew)) * time.Millisecond,
	}
	c.client = oauth.Client{ID: v.String(keyClient), Secret: v.String(keySecret)}
	if c.client.ID == "" && c.client.Secret != "" {
		problems = append(problems, fmt.Errorf("%s has no meaning without %s", keySecret, keyClient))
	}
	if given := v.Strings(keyAudience); len(given) > 0 {
		c.oauth.Audiences = given
	}
	if v.IsSet(keyScopes) {
		scopes := v.Strings(keyScopes)
		c.oauth.Scopes = func() []string { return scopes }
	}
	if err := c.oauth.Check(); err != nil {
		problems = append(problems, fmt.Errorf("server.oauth: %w", err))
	}
	if c.oauth.Resource == "" && !local {
		problems = append(problems, fmt.Errorf("%s is needed with %s: clients ask for tokens for that URL", keyPublic, keyIssuer))
	}
	if len(c.oauth.Algorithms) == 0 || len(c.oauth.Types) == 0 {
		problems = append(problems, fmt.Errorf("with no %s or no %s nobody could ever call", keyAlgorithms, keyTypes))
	}
	return c, errors.Join(problems...)
}

func readTokens(v catalog.Values) (*bearer.Tokens, []error) {
	path := v.String(keyTokens)
	if path == "" {
		return nil, nil
	}
	t, err := bearer.Load(path)
	if err != nil {
		return nil, []error{fmt.Errorf("%s: %w", keyTokens, err)}
	}
	return t, nil
}

// Anybody reports whether callers do not authenticate.
func (c Config) Anybody() bool { return c.tokens == nil && c.oauth == nil }
