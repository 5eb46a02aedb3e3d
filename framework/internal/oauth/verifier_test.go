package oauth

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/fault"
)

func verifier(t testing.TB, i *issuer, change func(*Options)) *Verifier {
	t.Helper()
	o := Options{Issuer: i.name, Resource: resource, SetsClaim: "sets", Sets: []string{"default"}}
	if change != nil {
		change(&o)
	}
	v, err := New(o)
	require.NoError(t, err)
	return v
}

func TestTokensBecomePrincipals(t *testing.T) {
	i := newIssuer(t, "/.well-known/openid-configuration")
	v := verifier(t, i, nil)
	both, two := []string{"todo.read", "todo.write"}, []string{"default", "tenant-a"}
	whole := auth.Principal{Subject: "bob", Scopes: both, Sets: two}
	for name, c := range map[string]struct {
		token string
		want  auth.Principal
	}{
		"all of it":          {i.token(nil), whole},
		"other capitals":     {i.token(claims{"Aud": "other", "ISS": "https://evil.example", "Sub": "root", "Scope": "admin", "EXP": 1}), whole},
		"several audiences":  {i.token(claims{"aud": []string{"other", resource}}), whole},
		"scp as a list":      {i.token(claims{"scope": nil, "scp": both}), whole},
		"scp as a text":      {i.token(claims{"scope": nil, "scp": "todo.read"}), auth.Principal{Subject: "bob", Scopes: []string{"todo.read"}, Sets: two}},
		"no scope, no sets":  {i.token(claims{"scope": nil, "sets": nil}), auth.Principal{Subject: "bob", Scopes: []string{}, Sets: []string{"default"}}},
		"no set at all":      {i.token(claims{"sets": []string{}}), auth.Principal{Subject: "bob", Scopes: both, Sets: []string{}}},
		"a star is no scope": {i.token(claims{"scope": "* todo.read", "sets": "*"}), auth.Principal{Subject: "bob", Scopes: []string{"todo.read"}, Sets: []string{"*"}}},
		"within the skew":    {i.token(claims{"exp": time.Now().Add(-20 * time.Second).Unix(), "nbf": time.Now().Add(20 * time.Second).Unix()}), whole},
		"a plain JWT":        {i.sign(rsaKey(), jose.PS256, map[string]any{"typ": "JWT"}, i.claims(nil)), whole},
		"a long type":        {i.sign(rsaKey(), jose.RS256, map[string]any{"typ": "application/AT+JWT"}, i.claims(nil)), whole},
		"no key id, no type": {i.sign(rsaKey(), jose.RS256, map[string]any{"typ": nil, "kid": nil}, i.claims(nil)), whole},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := v.Verify(t.Context(), c.token)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

// forged are tokens that nobody may get in with.
func forged(i *issuer) map[string]string {
	good := i.token(nil)
	parts := strings.Split(good, ".")
	encode := func(v any) string {
		raw, _ := json.Marshal(v)
		return base64.RawURLEncoding.EncodeToString(raw)
	}
	der, _ := x509.MarshalPKIXPublicKey(&rsaKey().PublicKey)
	text := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	own, _ := json.Marshal(jose.JSONWebKey{Key: &otherKey().PublicKey, KeyID: "one"})
	return map[string]string{
		"none":                   encode(map[string]any{"alg": "none", "typ": "at+jwt"}) + "." + parts[1] + ".",
		"None":                   encode(map[string]any{"alg": "None", "typ": "at+jwt", "kid": "one"}) + "." + parts[1] + "." + parts[2],
		"no signature":           parts[0] + "." + parts[1] + ".",
		"HS256 with the PEM":     i.sign(text, jose.HS256, nil, i.claims(nil)),
		"HS256 with the DER":     i.sign(der, jose.HS256, nil, i.claims(nil)),
		"a published shared key": i.sign([]byte("secretsecretsecretsecretsecretse"), jose.HS256, map[string]any{"kid": "shared"}, i.claims(nil)),
		"another key":            i.sign(otherKey(), jose.RS256, nil, i.claims(nil)),
		"a key of its own":       i.sign(otherKey(), jose.RS256, map[string]any{"jwk": json.RawMessage(own)}, i.claims(nil)),
		"a key from elsewhere":   i.sign(otherKey(), jose.RS256, map[string]any{"jku": "https://evil.example/keys"}, i.claims(nil)),
		"an unknown key":         i.sign(otherKey(), jose.RS256, map[string]any{"kid": "two"}, i.claims(nil)),
		"an algorithm left out":  i.sign(rsaKey(), jose.RS512, nil, i.claims(nil)),
		"an unknown crit":        i.sign(rsaKey(), jose.RS256, map[string]any{"crit": []string{"x"}, "x": 1}, i.claims(nil)),
		"an ID token":            i.sign(rsaKey(), jose.RS256, map[string]any{"typ": "id_token+jwt"}, i.claims(nil)),
		"a logout token":         i.sign(rsaKey(), jose.RS256, map[string]any{"typ": "logout+jwt"}, i.claims(nil)),
		"another audience":       i.token(claims{"aud": "https://other.example.org/mcp"}),
		"almost the audience":    i.token(claims{"aud": resource + "/"}),
		"no audience":            i.token(claims{"aud": nil}),
		"another issuer":         i.token(claims{"iss": "https://evil.example"}),
		"almost the issuer":      i.token(claims{"iss": i.name + "/"}),
		"no issuer":              i.token(claims{"iss": nil}),
		"issuer in capitals":     i.token(claims{"iss": nil, "ISS": i.name}),
		"audience in capitals":   i.token(claims{"aud": nil, "Aud": resource}),
		"another Audience":       i.token(claims{"aud": "https://other.example.org/mcp", "AUD": resource}),
		"subject in capitals":    i.token(claims{"sub": nil, "Sub": "bob"}),
		"end in capitals":        i.token(claims{"exp": nil, "Exp": time.Now().Add(time.Minute).Unix()}),
		"two subjects":           i.payload(i.claims(nil), `"sub":"root"`),
		"two audiences":          i.payload(i.claims(claims{"aud": "https://other.example.org/mcp"}), `"aud":"`+resource+`"`),
		"two members inside":     i.payload(i.claims(nil), `"act":{"sub":"a","sub":"b"}`),
		"a number as type":       i.sign(rsaKey(), jose.RS256, map[string]any{"typ": 7}, i.claims(nil)),
		"a list as type":         i.sign(rsaKey(), jose.RS256, map[string]any{"typ": []string{"at+jwt"}}, i.claims(nil)),
		"an empty type":          i.sign(rsaKey(), jose.RS256, map[string]any{"typ": ""}, i.claims(nil)),
		"no claims":              i.signRaw(rsaKey(), jose.RS256, nil, []byte(`"claims"`)),
		"an audience of numbers": i.token(claims{"aud": []any{7, resource}}),
		"expired":                i.token(claims{"exp": time.Now().Add(-time.Minute).Unix()}),
		"no end":                 i.token(claims{"exp": nil}),
		"an end that is no time": i.token(claims{"exp": 1e300}),
		"an end in words":        i.token(claims{"exp": "tomorrow"}),
		"not yet valid":          i.token(claims{"nbf": time.Now().Add(time.Minute).Unix()}),
		"made in the future":     i.token(claims{"iat": time.Now().Add(time.Hour).Unix()}),
		"no subject":             i.token(claims{"sub": nil}),
		"an empty subject":       i.token(claims{"sub": ""}),
		"a very long subject":    i.token(claims{"sub": strings.Repeat("a", 300)}),
		"scopes of a wrong kind": i.token(claims{"scope": 7}),
		"sets of a wrong kind":   i.token(claims{"sets": map[string]any{"a": 1}}),
		"very many sets":         i.token(claims{"sets": strings.Repeat("a ", 1001)}),
		"changed claims":         parts[0] + "." + encode(i.claims(claims{"sub": "root"})) + "." + parts[2],
		"changed signature":      parts[0] + "." + parts[1] + "." + parts[2][:len(parts[2])-4] + "AAAA",
		"truncated":              good[:len(good)-20],
		"half":                   good[:len(good)/2],
		"a header alone":         parts[0],
		"two parts":              parts[0] + "." + parts[1],
		"four parts":             good + ".x",
		"five parts":             good + ".x.y",
		"huge":                   i.token(claims{"pad": strings.Repeat("x", 20<<10)}),
		"deep":                   parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(strings.Repeat("[", 5000))) + "." + parts[2],
		"text":                   "secret", "dots": "...", "empty": "",
		"as JSON": fmt.Sprintf(`{"payload":%q,"protected":%q,"signature":%q}`, parts[1], parts[0], parts[2]),
	}
}

func TestForgedTokens(t *testing.T) {
	i := newIssuer(t, "/.well-known/openid-configuration")
	var log bytes.Buffer
	v := verifier(t, i, func(o *Options) {
		o.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	_, err := v.Verify(t.Context(), i.token(nil))
	require.NoError(t, err)
	for name, token := range forged(i) {
		t.Run(name, func(t *testing.T) {
			p, err := v.Verify(t.Context(), token)
			require.Equal(t, fault.Unauthorized, fault.CodeOf(err), "%v", err)
			require.Zero(t, p)
			require.NotContains(t, err.Error(), "bob")
			if len(token) > 10 {
				require.NotContains(t, log.String(), token)
			}
		})
	}
	require.EqualValues(t, 1, i.asked.Load(), "invented tokens make nobody ask the issuer again")
}

func TestMetadataByRFC8414(t *testing.T) {
	i := newIssuer(t, "/.well-known/oauth-authorization-server/tenant")
	i.name = i.url + "/tenant"
	v := verifier(t, i, nil)
	_, err := v.Verify(t.Context(), i.token(nil))
	require.NoError(t, err)
}

func TestUnexpectedIssuerIsRejected(t *testing.T) {
	i := newIssuer(t, "/.well-known/openid-configuration")
	v := verifier(t, i, nil)
	token := i.token(nil)
	i.name = "https://evil.example"
	_, err := v.Verify(t.Context(), token)
	require.Equal(t, fault.ServiceUnavailable, fault.CodeOf(err))
	require.ErrorContains(t, v.Ready(t.Context()), "https://evil.example")
}

func TestKeyRotation(t *testing.T) {
	i := newIssuer(t, "/.well-known/openid-configuration")
	now := time.Now()
	var mu sync.Mutex
	later := func(d time.Duration) { mu.Lock(); defer mu.Unlock(); now = now.Add(d) }
	v := verifier(t, i, func(o *Options) {
		o.Now = func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	})
	day := claims{"exp": now.Add(24 * time.Hour).Unix()}
	old := i.sign(rsaKey(), jose.RS256, nil, i.claims(day))
	_, err := v.Verify(t.Context(), old)
	require.NoError(t, err)

	ec := ecKey(t)
	i.publish("two", ec)
	fresh := i.sign(ec, jose.ES256, map[string]any{"kid": "two"}, i.claims(day))
	_, err = v.Verify(t.Context(), fresh)
	require.Equal(t, fault.Unauthorized, fault.CodeOf(err), "the issuer was asked a moment ago")
	later(pauseTime)
	_, err = v.Verify(t.Context(), fresh)
	require.NoError(t, err)
	_, err = v.Verify(t.Context(), old)
	require.Equal(t, fault.Unauthorized, fault.CodeOf(err), "a key that the issuer took back")

	later(freshTime)
	i.broken.Store(true)
	_, err = v.Verify(t.Context(), fresh)
	require.NoError(t, err, "an issuer that is away for a moment")
	require.NoError(t, v.Ready(t.Context()))
	later(staleTime)
	_, err = v.Verify(t.Context(), fresh)
	require.Equal(t, fault.ServiceUnavailable, fault.CodeOf(err))
	require.ErrorContains(t, v.Ready(t.Context()), "502")
	i.broken.Store(false)
	later(pauseTime)
	require.NoError(t, v.Ready(t.Context()))
	_, err = v.Verify(t.Context(), fresh)
	require.NoError(t, err)
}

// TestConcurrentVerification: the first tokens after the start wait for one question.
func TestConcurrentVerification(t *testing.T) {
	i := newIssuer(t, "/.well-known/openid-configuration")
	v := verifier(t, i, nil)
	good, unknown := i.token(nil), i.sign(otherKey(), jose.RS256, map[string]any{"kid": "two"}, i.claims(nil))
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			_, err := v.Verify(context.Background(), good)
			require.NoError(t, err)
		})
		group.Go(func() {
			_, err := v.Verify(context.Background(), unknown)
			require.Equal(t, fault.Unauthorized, fault.CodeOf(err))
		})
	}
	group.Wait()
	require.EqualValues(t, 1, i.asked.Load())
}

func TestOptionsAreValidated(t *testing.T) {
	err := Options{Issuer: "http://id.example.org", Resource: "tools#x", Algorithms: []string{"HS256", "none"}}.Check()
	for _, part := range []string{"issuer: ", "resource: ", `"HS256"`, `"none"`} {
		require.ErrorContains(t, err, part)
	}
	require.NoError(t, Options{Issuer: "http://127.0.0.1:1", Resource: "http://localhost:1/mcp"}.Check())
	_, err = New(Options{Issuer: "https://id.example.org"})
	require.Error(t, err)
}

func FuzzVerify(f *testing.F) {
	i := newIssuer(f, "/.well-known/openid-configuration")
	v := verifier(f, i, nil)
	for _, token := range forged(i) {
		f.Add(token)
	}
	f.Fuzz(func(t *testing.T, token string) {
		p, err := v.Verify(t.Context(), token)
		if err == nil {
			t.Fatalf("%q let %v in", token, p)
		}
	})
}
