package oauth

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"
)

const resource = "https://tools.example.org/mcp"

// issuer is an authorization server that publishes keys over HTTP, and signs
// whatever it is told to.
type issuer struct {
	t      testing.TB
	url    string
	name   string // `issuer` in its metadata
	asked  atomic.Int64
	broken atomic.Bool

	mu   sync.Mutex
	keys []jose.JSONWebKey
}

// Keys are slow to make.
var rsaKey, otherKey = sync.OnceValue(made), sync.OnceValue(made)

func made() *rsa.PrivateKey {
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return k
}

func ecKey(t testing.TB) *ecdsa.PrivateKey {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return k
}

func newIssuer(t testing.TB, path string) *issuer {
	i := &issuer{t: t}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if i.broken.Load() {
			http.Error(w, "down", http.StatusBadGateway)
			return
		}
		i.mu.Lock()
		defer i.mu.Unlock()
		switch r.URL.Path {
		case path:
			_ = json.NewEncoder(w).Encode(map[string]any{"issuer": i.name, "jwks_uri": i.url + "/keys"})
		case "/keys":
			i.asked.Add(1)
			var public []any
			for _, k := range i.keys {
				public = append(public, k.Public())
			}
			public = append(public, map[string]any{"kty": "new", "kid": "unknown"}, map[string]any{"kty": "oct", "k": "c2VjcmV0", "kid": "shared"})
			_ = json.NewEncoder(w).Encode(map[string]any{"keys": public})
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	i.url, i.name = server.URL, server.URL
	i.publish("one", rsaKey())
	return i
}

// publish replaces the keys.
func (i *issuer) publish(id string, key any) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys = []jose.JSONWebKey{{Key: key, KeyID: id, Use: "sig"}}
}

type claims map[string]any

// claims are those of a token that is all right, with changes; nil leaves one out.
func (i *issuer) claims(changes claims) claims {
	out := claims{
		"iss": i.name, "sub": "bob", "aud": resource, "exp": time.Now().Add(time.Minute).Unix(), "iat": time.Now().Unix(),
		"scope": "todo.read todo.write", "sets": []string{"default", "tenant-a"},
	}
	for k, v := range changes {
		if out[k] = v; v == nil {
			delete(out, k)
		}
	}
	return out
}

// sign makes a token.
func (i *issuer) sign(key any, alg jose.SignatureAlgorithm, header map[string]any, c claims) string {
	i.t.Helper()
	payload, err := json.Marshal(c)
	require.NoError(i.t, err)
	return i.signRaw(key, alg, header, payload)
}

// payload makes a token whose claims have a member more, as it is written.
func (i *issuer) payload(c claims, member string) string {
	i.t.Helper()
	payload, err := json.Marshal(c)
	require.NoError(i.t, err)
	return i.signRaw(rsaKey(), jose.RS256, nil, append(append(payload[:len(payload)-1:len(payload)-1], ","+member...), '}'))
}

func (i *issuer) signRaw(key any, alg jose.SignatureAlgorithm, header map[string]any, payload []byte) string {
	i.t.Helper()
	o := &jose.SignerOptions{ExtraHeaders: map[jose.HeaderKey]any{"typ": "at+jwt", "kid": "one"}}
	for k, v := range header {
		if o.ExtraHeaders[jose.HeaderKey(k)] = v; v == nil {
			delete(o.ExtraHeaders, jose.HeaderKey(k))
		}
	}
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, o)
	require.NoError(i.t, err)
	signed, err := s.Sign(payload)
	require.NoError(i.t, err)
	out, err := signed.CompactSerialize()
	require.NoError(i.t, err)
	return out
}

func (i *issuer) token(changes claims) string {
	i.t.Helper()
	return i.sign(rsaKey(), jose.RS256, nil, i.claims(changes))
}
