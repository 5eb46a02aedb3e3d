package signin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/plugins/upstream/internal/authtest"
)

func newStore(t testing.TB) *Store {
	dir := t.TempDir()
	s := NewStore(filepath.Join(dir, "sign-ins"), filepath.Join(dir, "config", "key"), nil)
	s.http.Timeout = 2 * time.Second
	return s
}

// newLogin is a sign-in of ann, whose browser agrees.
func newLogin(s *Store, as *authtest.Server) *Login {
	return &Login{Store: s, Upstream: Upstream{ID: "guarded", URL: as.MCP}, User: "ann", Show: func(link string) { go authtest.Browse(link) }, Wait: 20 * time.Second}
}

func TestLogin(t *testing.T) {
	t.Parallel()
	as, s := authtest.New(t), newStore(t)
	r, err := newLogin(s, as).Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"read", "write"}, r.Scopes, "without others, all that the server has")
	require.Equal(t, as.MCP, as.Last().Get("resource"))
	require.NotContains(t, fmt.Sprintf("%v %+v %#v %s", r, r, r, r), r.Access)
	token, err := s.Credentials(Upstream{ID: "guarded", URL: as.MCP}, "ann").Token(t.Context())
	require.NoError(t, err)
	require.Equal(t, r.Access, token)
	users, err := s.Users("guarded")
	require.NoError(t, err)
	require.Equal(t, []string{"ann"}, users)

	t.Run("again", func(t *testing.T) {
		l := newLogin(s, as)
		l.Scopes, l.Challenge = []string{"delete"}, Challenge{Scopes: []string{"unused"}}
		again, err := l.Run(t.Context())
		require.NoError(t, err)
		require.Equal(t, []string{"delete", "read", "write"}, again.Scopes)
		require.Equal(t, r.Client, again.Client)
		require.NotEqual(t, r.ID, again.ID)
		require.Equal(t, 1, as.Count("register"))
	})
	t.Run("the port of the client is taken", func(t *testing.T) {
		taken := httptest.NewUnstartedServer(nil)
		defer taken.Close()
		ln, err := newLogin(s, as).listen(r)
		require.NoError(t, err)
		defer ln.Close()
		_, err = newLogin(s, as).Run(t.Context())
		require.NoError(t, err)
		require.Equal(t, 2, as.Count("register"), "the redirect is part of a registration")
	})
}

// TestUnusableAuthorizationServers: each is named, nothing is kept, and no page is opened.
func TestUnusableAuthorizationServers(t *testing.T) {
	const prm, asm = "/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-authorization-server"
	edit := func(path, name string, value any) func(*authtest.Server) {
		return func(s *authtest.Server) {
			s.Edit = func(at string, doc map[string]any) {
				if at == path {
					if doc[name] = value; value == nil {
						delete(doc, name)
					}
				}
			}
		}
	}
	take := func(path string, f http.HandlerFunc) func(*authtest.Server) {
		return func(s *authtest.Server) {
			s.Take = func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path == path {
					f(w, r)
				}
				return r.URL.Path == path
			}
		}
	}
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	for name, c := range map[string]struct {
		change func(*authtest.Server)
		says   string
	}{
		"no PKCE":                        {edit(asm, "code_challenge_methods_supported", nil), "does not implement PKCE"},
		"PKCE without a hash":            {edit(asm, "code_challenge_methods_supported", []string{"plain"}), "it does not offer PKCE with S256"},
		"another issuer":                 {edit(asm, "issuer", "https://evil.example"), `"https://evil.example" does not match`},
		"another resource":               {edit(prm, "resource", "https://bank.example/mcp"), `got metadata resource "https://bank.example/mcp"`},
		"no authorization server":        {edit(prm, "authorization_servers", []string{}), "names no authorization server"},
		"tokens without TLS":             {edit(asm, "token_endpoint", "http://evil.example/token"), "evil.example"},
		"revocation without TLS":         {edit(asm, "revocation_endpoint", "http://evil.example/revoke"), "its revocation_endpoint"},
		"a script for a page":            {edit(asm, "authorization_endpoint", "javascript:alert(1)"), "disallowed scheme"},
		"a file for a page":              {edit(asm, "authorization_endpoint", "file:///etc/passwd"), "authorization_endpoint"},
		"no page":                        {edit(asm, "authorization_endpoint", nil), "its metadata has no authorization_endpoint"},
		"no registration":                {edit(asm, "registration_endpoint", nil), "register one there by hand, and set oauth.clientId"},
		"metadata of another host":       {take(asm, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL, http.StatusFound) }), "it redirects to another server"},
		"a registration of another host": {take("/register", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL, http.StatusFound) }), "it redirects to another server"},
		"metadata without end": {take(asm, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"issuer":"` + strings.Repeat("a", 4<<20)))
		}), "the authorization server http://127.0.0.1"},
		"a slow one":         {take(asm, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }), "Client.Timeout exceeded"},
		"one that is broken": {take(asm, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }), "502"},
		"a refused client": {take("/register", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"error":"invalid_client_metadata","error_description":"no\u001b[31m"}`))
		}), `"invalid_client_metadata": "no\x1b[31m"`},
		"a garbled client": {take("/register", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusCreated)
			_, _ = w.Write([]byte(`{"client_secret":"top-secret",`))
		}), "its answer to the registration of a client cannot be used"},
		"a client with a certificate": {edit("/register", "token_endpoint_auth_method", "tls_client_auth"), `authenticate by "tls_client_auth"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			as, s := authtest.New(t), newStore(t)
			as.Change(c.change)
			l := newLogin(s, as)
			l.Show = func(link string) { t.Errorf("the page was opened: %s", link) }
			_, err := l.Run(t.Context())
			require.ErrorContains(t, err, c.says)
			require.NotContains(t, err.Error(), "top-secret")
			require.NotContains(t, err.Error(), "\x1b")
			require.Less(t, len(err.Error()), 2000)
			require.False(t, s.Has("guarded", "ann"))
		})
	}
	t.Cleanup(func() { require.Zero(t, elsewhere.Load()) })
}

func TestDeadAuthorizationServerIsNamed(t *testing.T) {
	t.Parallel()
	as, s := authtest.New(t), newStore(t)
	dead := httptest.NewServer(http.NotFoundHandler())
	dead.Close()
	as.Change(func(s *authtest.Server) {
		s.Edit = func(path string, doc map[string]any) {
			if strings.Contains(path, "protected-resource") {
				doc["authorization_servers"] = []string{dead.URL}
			}
		}
	})
	_, err := newLogin(s, as).Run(t.Context())
	require.ErrorContains(t, err, "the authorization server "+dead.URL+" cannot be used")
}

// Addresses of this machine are for upstreams on this machine.
func TestAddressesOfRemoteServers(t *testing.T) {
	t.Parallel()
	for address, says := range map[string]string{
		"https://id.example.org/token": "", "http://127.0.0.1/token": "on this machine", "https://localhost/token": "on this machine", "http://[::1]:80/": "on this machine",
		"http://id.example.org": "does not use https", "ftp://id.example.org": "does not use https", "https://a:b@id.example.org": "can be used", "id.example.org": "can be used", "": "can be used",
	} {
		err := secure(address, "https://mcp.example.org/mcp")
		if says == "" {
			require.NoError(t, err, address)
			continue
		}
		require.ErrorContains(t, err, says, address)
	}
	require.NoError(t, secure("http://127.0.0.1:1/", "http://localhost:2/mcp"))
	require.Error(t, secure("file://localhost/etc", "http://localhost:2/mcp"))
}

// TestRedirectsThatAreRefused: no code is sent to the authorization server.
func TestRedirectsThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		edit func(answer map[string]any)
		says string
	}{
		"another issuer": {func(a map[string]any) { a["iss"] = "https://evil.example" }, `another authorization server, "https://evil.example"`},
		"no issuer":      {func(a map[string]any) { delete(a, "iss") }, "does not say that it is from"},
		"no code":        {func(a map[string]any) { delete(a, "code") }, "has no code"},
		"a refusal":      {func(a map[string]any) { a["error"] = "access_denied" }, `refused: "access_denied"`},
	} {
		t.Run(name, func(t *testing.T) {
			as, s := authtest.New(t), newStore(t)
			as.Change(func(s *authtest.Server) {
				s.Edit = func(path string, doc map[string]any) {
					if path == "/authorize" {
						c.edit(doc)
					}
				}
			})
			_, err := newLogin(s, as).Run(t.Context())
			require.ErrorContains(t, err, c.says)
			require.Zero(t, as.Count("authorization_code"))
			require.False(t, s.Has("guarded", "ann"))
		})
	}
}

func TestGuessedRedirectsAreIgnored(t *testing.T) {
	t.Parallel()
	as, s := authtest.New(t), newStore(t)
	l := newLogin(s, as)
	l.Show = func(link string) {
		u, err := url.Parse(link)
		require.NoError(t, err)
		for _, q := range []string{"", "?code=x", "?code=x&state=guess", "?error=x&state=", "?code=x&state=a&state=" + u.Query().Get("state")} {
			resp, err := http.Get(u.Query().Get("redirect_uri") + q)
			require.NoError(t, err)
			resp.Body.Close()
			require.Equal(t, http.StatusBadRequest, resp.StatusCode, q)
		}
		go authtest.Browse(link)
	}
	_, err := l.Run(t.Context())
	require.NoError(t, err)
}

// A code of another sign-in is refused by the authorization server, since it belongs to
// another verifier.
func TestCodeOfAnotherSignIn(t *testing.T) {
	t.Parallel()
	as, s := authtest.New(t), newStore(t)
	stolen := make(chan string, 1)
	as.Change(func(s *authtest.Server) {
		s.Edit = func(path string, doc map[string]any) {
			if path != "/authorize" {
				return
			}
			select {
			case other := <-stolen:
				doc["code"] = other
			default:
				stolen <- doc["code"].(string)
				doc["state"] = "lost"
			}
		}
	})
	l := newLogin(s, as)
	l.Show = func(link string) {
		go func() {
			authtest.Browse(link)
			authtest.Browse(strings.Replace(link, "code_challenge=", "code_challenge=x", 1))
		}()
	}
	stolenFrom := newLogin(newStore(t), as)
	stolenFrom.Wait = 300 * time.Millisecond
	_, err := stolenFrom.Run(t.Context())
	require.ErrorContains(t, err, "nobody signed in within 300ms")
	_, err = l.Run(t.Context())
	require.ErrorContains(t, err, `"invalid_grant"`)
	require.False(t, s.Has("guarded", "ann"))
}

func TestTokensThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		name  string
		value any
		says  string
	}{
		"of another type":           {"token_type", "mac", `of the type "MAC"`},
		"with a line break":         {"access_token", "a\r\nX-Evil: 1", "a token that cannot be sent"},
		"that is no string":         {"access_token", map[string]any{}, "cannot be used"},
		"with an error that is 200": {"error", "server_error", `"server_error"`},
	} {
		t.Run(name, func(t *testing.T) {
			as, s := authtest.New(t), newStore(t)
			as.Change(func(s *authtest.Server) {
				s.Edit = func(path string, doc map[string]any) {
					if path == "/token" {
						doc[c.name] = c.value
					}
				}
			})
			_, err := newLogin(s, as).Run(t.Context())
			require.ErrorContains(t, err, c.says)
			require.NotContains(t, err.Error(), "refresh-")
			require.False(t, s.Has("guarded", "ann"))
		})
	}
}

func TestClients(t *testing.T) {
	t.Parallel()
	run := func(t *testing.T, up Upstream, methods ...string) (*authtest.Server, *Record, string) {
		as, s := authtest.New(t), newStore(t)
		var header string
		as.Change(func(s *authtest.Server) {
			s.Edit = func(path string, doc map[string]any) {
				if path == "/.well-known/oauth-authorization-server" {
					doc["client_id_metadata_document_supported"] = true
					if methods != nil {
						doc["token_endpoint_auth_methods_supported"] = methods
					}
				}
			}
			s.Take = func(_ http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path == "/token" {
					header = r.Header.Get("Authorization")
				}
				return false
			}
		})
		l := newLogin(s, as)
		up.ID, up.URL = "guarded", as.MCP
		l.Upstream = up
		r, err := l.Run(t.Context())
		require.NoError(t, err)
		return as, r, header
	}
	t.Run("a document", func(t *testing.T) {
		as, r, _ := run(t, Upstream{MetadataURL: "https://example.org/koan.json"})
		require.Equal(t, "https://example.org/koan.json", r.Client.ID)
		require.Equal(t, r.Client.ID, as.Last().Get("client_id"))
		require.Zero(t, as.Count("register"))
	})
	t.Run("a configured one", func(t *testing.T) {
		as, r, header := run(t, Upstream{ClientID: "koan", ClientSecret: "s3cret"})
		require.Empty(t, as.Last().Get("client_secret"))
		require.True(t, strings.HasPrefix(header, "Basic "), header)
		kept, err := json.Marshal(r)
		require.NoError(t, err)
		require.NotContains(t, string(kept), "s3cret", "the configuration has it")
	})
	t.Run("a configured one that posts", func(t *testing.T) {
		as, _, header := run(t, Upstream{ClientID: "koan", ClientSecret: "s3cret"}, "client_secret_post")
		require.Equal(t, "s3cret", as.Last().Get("client_secret"))
		require.Empty(t, header)
	})
	t.Run("a configured public one", func(t *testing.T) {
		as, _, header := run(t, Upstream{ClientID: "koan"})
		require.Equal(t, "koan", as.Last().Get("client_id"))
		require.Empty(t, header)
	})
}

func TestEndedLoginKeepsNothing(t *testing.T) {
	t.Parallel()
	as, s := authtest.New(t), newStore(t)
	_, err := newLogin(s, as).Run(t.Context())
	require.NoError(t, err)
	before, err := os.ReadFile(s.stem("guarded", "ann") + suffix)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	l := newLogin(s, as)
	var redirect string
	l.Show = func(link string) {
		u, err := url.Parse(link)
		require.NoError(t, err)
		redirect = u.Query().Get("redirect_uri")
		cancel()
	}
	_, err = l.Run(ctx)
	require.ErrorIs(t, err, context.Canceled)
	after, err := os.ReadFile(s.stem("guarded", "ann") + suffix)
	require.NoError(t, err)
	require.Equal(t, before, after)
	_, err = http.Get(redirect)
	require.Error(t, err, "the port is closed")
}

// TestOldServers: those of 2025-03-26 have no metadata of their own as resources.
func TestOldServers(t *testing.T) {
	t.Parallel()
	as, s := authtest.New(t), newStore(t)
	as.Change(func(s *authtest.Server) {
		s.Take = func(w http.ResponseWriter, r *http.Request) bool {
			if strings.Contains(r.URL.Path, "oauth-protected-resource") {
				http.NotFound(w, r)
				return true
			}
			return false
		}
	})
	r, err := newLogin(s, as).Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, as.MCP, r.Resource)
	l := newLogin(s, as)
	l.Challenge.Metadata = as.URL + "/.well-known/oauth-protected-resource/mcp"
	_, err = l.Run(t.Context())
	require.ErrorContains(t, err, "the server does not say how to sign in", "what it names must be there")
}
