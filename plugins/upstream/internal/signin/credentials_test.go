package signin

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/plugins/upstream/internal/authtest"
)

// asRefresher makes this test binary a process that gets a token.
const asRefresher = "KOANTEST_REFRESHER"

func TestMain(m *testing.M) {
	if given := os.Getenv(asRefresher); given != "" {
		var in struct{ Dir, Key, URL string }
		if err := json.Unmarshal([]byte(given), &in); err != nil {
			panic(err)
		}
		token, err := NewStore(in.Dir, in.Key, nil).Credentials(Upstream{ID: "guarded", URL: in.URL}, "ann").Token(context.Background())
		if err != nil {
			os.Stderr.WriteString(err.Error())
			os.Exit(1)
		}
		os.Stdout.WriteString(token)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// signedIn is a sign-in of ann.
func signedIn(t *testing.T) (*authtest.Server, *Store, *Credentials) {
	as, s := authtest.New(t), newStore(t)
	_, err := newLogin(s, as).Run(t.Context())
	require.NoError(t, err)
	return as, s, s.Credentials(Upstream{ID: "guarded", URL: as.MCP}, "ann")
}

// age makes the kept tokens older.
func age(t *testing.T, s *Store, by time.Duration) {
	t.Helper()
	unlock, err := s.lock(t.Context(), "guarded", "ann")
	require.NoError(t, err)
	defer unlock()
	r, _, err := s.read("guarded", "ann")
	require.NoError(t, err)
	r.ObtainedAt, r.Expiry = r.ObtainedAt.Add(-by), r.Expiry.Add(-by)
	_, err = s.write(r)
	require.NoError(t, err)
}

// atOnce gets a hundred tokens at the same time, which must be the same one.
func atOnce(t *testing.T, get func() (string, error)) string {
	t.Helper()
	tokens, errs := make([]string, 100), make([]error, 100)
	var all sync.WaitGroup
	for i := range tokens {
		all.Go(func() { tokens[i], errs[i] = get() })
	}
	all.Wait()
	for i := range tokens {
		require.NoError(t, errs[i])
		require.Equal(t, tokens[0], tokens[i])
	}
	return tokens[0]
}

func TestOneRefreshForAll(t *testing.T) {
	t.Parallel()
	as, s, c := signedIn(t)
	first, err := c.Token(t.Context())
	require.NoError(t, err)
	age(t, s, time.Hour-30*time.Second) // ahead of the expiry
	second := atOnce(t, func() (string, error) { return c.Token(t.Context()) })
	require.NotEqual(t, first, second)
	require.Equal(t, 1, as.Count("refresh_token"))
	require.Equal(t, as.MCP, as.Last().Get("resource"))

	age(t, s, time.Minute)
	third := atOnce(t, func() (string, error) { return c.Renew(t.Context(), second) })
	require.NotEqual(t, second, third)
	require.Equal(t, 2, as.Count("refresh_token"))
	require.Zero(t, as.Count("reuse"))

	_, err = c.Renew(t.Context(), third)
	var needed *Needed
	require.ErrorAs(t, err, &needed, "a new token that is rejected is not refreshed again and again")
	require.Equal(t, 2, as.Count("refresh_token"))
	require.Subset(t, c.Known(), []string{second, third})
}

// The refresh goes on when the call that wanted it ends.
func TestRefreshOutlivesItsCall(t *testing.T) {
	t.Parallel()
	as, s, c := signedIn(t)
	age(t, s, 2*time.Hour)
	hold := make(chan struct{})
	as.Change(func(s *authtest.Server) {
		s.Take = func(_ http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/token" {
				<-hold
			}
			return false
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := c.Token(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	close(hold)
	_, err = c.Token(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, as.Count("refresh_token"))
}

func TestProcessesShareARefresh(t *testing.T) {
	t.Parallel()
	as, s, c := signedIn(t)
	self, err := os.Executable()
	require.NoError(t, err)
	for range 3 {
		age(t, s, 2*time.Hour)
		before := as.Count("refresh_token")
		given, err := json.Marshal(map[string]string{"Dir": s.dir, "Key": s.keyFile, "URL": as.MCP})
		require.NoError(t, err)
		tokens := make(chan string, 4)
		for range 3 {
			go func() {
				cmd := exec.CommandContext(t.Context(), self)
				cmd.Env = append(os.Environ(), asRefresher+"="+string(given))
				out, err := cmd.CombinedOutput()
				if err != nil {
					out = []byte(err.Error() + string(out))
				}
				tokens <- string(out)
			}()
		}
		go func() { token, _ := c.Token(t.Context()); tokens <- token }()
		first := <-tokens
		require.Contains(t, first, "access-")
		for range 3 {
			require.Equal(t, first, <-tokens)
		}
		require.Equal(t, before+1, as.Count("refresh_token"))
	}
	require.Zero(t, as.Count("reuse"))
}

func TestRefusedRefresh(t *testing.T) {
	t.Parallel()
	as, s, c := signedIn(t)
	as.EndSignIns()
	age(t, s, 2*time.Hour)
	for range 3 {
		_, err := c.Token(t.Context())
		var needed *Needed
		require.ErrorAs(t, err, &needed)
		require.Contains(t, needed.Reason, `"invalid_grant" ("because")`)
	}
	require.Equal(t, 1, as.Count("refresh_token"))
	_, err := newLogin(s, as).Run(t.Context())
	require.NoError(t, err)
	_, err = c.Token(t.Context())
	require.NoError(t, err, "a new sign-in holds at once")
}

// An authorization server that has forgotten its clients gets another one.
func TestForgottenClient(t *testing.T) {
	t.Parallel()
	as, s, c := signedIn(t)
	as.Change(func(s *authtest.Server) {
		s.Take = func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/token" {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusUnauthorized)
				_, _ = w.Write([]byte(`{"error":"invalid_client"}`))
			}
			return r.URL.Path == "/token"
		}
	})
	age(t, s, 2*time.Hour)
	_, err := c.Token(t.Context())
	var needed *Needed
	require.ErrorAs(t, err, &needed)
	as.Change(func(s *authtest.Server) { s.Take = nil })
	_, err = newLogin(s, as).Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, as.Count("register"))
}

func TestAuthorizationServerIsAway(t *testing.T) {
	t.Parallel()
	as, s, c := signedIn(t)
	away := func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/token" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return r.URL.Path == "/token"
	}
	as.Change(func(s *authtest.Server) { s.Take = away })
	age(t, s, time.Hour-30*time.Second)
	_, err := c.Token(t.Context())
	require.NoError(t, err, "the old token still holds")
	age(t, s, time.Minute)
	time.Sleep(pause)
	start := time.Now()
	for range 20 {
		_, err = c.Token(t.Context())
		var unavailable *UnavailableError
		require.ErrorAs(t, err, &unavailable)
		require.Equal(t, as.URL, unavailable.Server)
		require.ErrorContains(t, err, "503")
	}
	require.Less(t, time.Since(start), pause, "calls do not wait one after the other")
	as.Change(func(s *authtest.Server) { s.Take = nil })
	require.Eventually(t, func() bool { _, err := c.Token(t.Context()); return err == nil }, 3*pause, 50*time.Millisecond)
}

func TestSignInsAreBound(t *testing.T) {
	t.Parallel()
	as, s, _ := signedIn(t)
	ann := s.stem("guarded", "ann") + suffix
	raw, err := os.ReadFile(ann)
	require.NoError(t, err)
	require.NotContains(t, string(raw), "access-")
	var needed *Needed

	t.Run("to a url", func(t *testing.T) {
		c := s.Credentials(Upstream{ID: "guarded", URL: as.MCP + "/other"}, "ann")
		_, err := c.Token(t.Context())
		require.ErrorAs(t, err, &needed)
		require.ErrorContains(t, err, "for another url")
		r, err := c.Current()
		require.NoError(t, err)
		require.Nil(t, r)
	})
	t.Run("to a user", func(t *testing.T) {
		require.NoError(t, os.WriteFile(s.stem("guarded", "bob")+suffix, raw, 0o600))
		_, err := s.Credentials(Upstream{ID: "guarded", URL: as.MCP}, "bob").Token(t.Context())
		require.ErrorAs(t, err, &needed)
		require.ErrorContains(t, err, "sealed with another key")
	})
	t.Run("to a server", func(t *testing.T) {
		require.NoError(t, os.MkdirAll(filepath.Join(s.dir, "other"), 0o700))
		require.NoError(t, os.WriteFile(s.stem("other", "ann")+suffix, raw, 0o600))
		_, err := s.Credentials(Upstream{ID: "other", URL: as.MCP}, "ann").Token(t.Context())
		require.ErrorContains(t, err, "sealed with another key")
	})
	t.Run("to a client", func(t *testing.T) {
		l := newLogin(newStore(t), as)
		l.Upstream.ClientID = "one"
		_, err := l.Run(t.Context())
		require.NoError(t, err)
		age(t, l.Store, 2*time.Hour)
		_, err = l.Store.Credentials(Upstream{ID: "guarded", URL: as.MCP, ClientID: "two"}, "ann").Token(t.Context())
		require.ErrorAs(t, err, &needed)
		require.ErrorContains(t, err, "oauth.clientId")
	})
	t.Run("to a key", func(t *testing.T) {
		other := NewStore(s.dir, filepath.Join(t.TempDir(), "key"), nil)
		_, err := other.Credentials(Upstream{ID: "guarded", URL: as.MCP}, "ann").Token(t.Context())
		require.ErrorContains(t, err, "the key of the sign-in is gone")
		require.NoFileExists(t, other.keyFile)
		other.secrets = []string{strings.Repeat("k", 32)}
		_, err = other.Credentials(Upstream{ID: "guarded", URL: as.MCP}, "ann").Token(t.Context())
		require.ErrorContains(t, err, "sealed with another key")
		both := NewStore(s.dir, s.keyFile, other.secrets)
		_, err = both.Credentials(Upstream{ID: "guarded", URL: as.MCP}, "ann").Token(t.Context())
		require.NoError(t, err, "what the file's key has sealed before there was a secret")
	})
	t.Run("to the user of the system", func(t *testing.T) {
		require.NoError(t, os.Chmod(ann, 0o644))
		_, err := s.Credentials(Upstream{ID: "guarded", URL: as.MCP}, "ann").Token(t.Context())
		require.ErrorContains(t, err, "chmod 600")
	})
}

func TestDamagedFile(t *testing.T) {
	t.Parallel()
	as, s, c := signedIn(t)
	path := s.stem("guarded", "ann") + suffix
	for name, raw := range map[string]string{"empty": "", "text": "hello", "another format": `{"format":7}`, "cut": `{"format":1,"user":"ann","sealed":"AAAA"}`} {
		require.NoError(t, os.WriteFile(path, []byte(raw), 0o600))
		_, err := c.Token(t.Context())
		var needed *Needed
		require.ErrorAs(t, err, &needed, name)
	}
	_, err := newLogin(s, as).Run(t.Context())
	require.NoError(t, err)
	_, err = c.Token(t.Context())
	require.NoError(t, err)
}

func TestLogout(t *testing.T) {
	t.Parallel()
	as, s, c := signedIn(t)
	up := Upstream{ID: "guarded", URL: as.MCP}
	found, revoke, err := s.Logout(t.Context(), up, "bob")
	require.NoError(t, errors.Join(revoke, err))
	require.False(t, found)
	found, revoke, err = s.Logout(t.Context(), up, "ann")
	require.NoError(t, errors.Join(revoke, err))
	require.True(t, found)
	require.Equal(t, 1, as.Count("revoke"))
	_, err = c.Token(t.Context())
	var needed *Needed
	require.ErrorAs(t, err, &needed)

	as, s, c = signedIn(t)
	up.URL = as.MCP
	as.Change(func(s *authtest.Server) {
		s.Take = func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/revoke" {
				http.Error(w, "no", http.StatusInternalServerError)
			}
			return r.URL.Path == "/revoke"
		}
	})
	found, revoke, err = s.Logout(t.Context(), up, "ann")
	require.NoError(t, err)
	require.True(t, found)
	require.ErrorContains(t, revoke, "did not revoke the token: HTTP status 500")
	require.False(t, s.Has("guarded", "ann"), "it is deleted in any case")
	_, err = c.Token(t.Context())
	require.ErrorAs(t, err, &needed)
}

// A refresh that was under way does not bring a sign-in back.
func TestLogoutDuringRefresh(t *testing.T) {
	t.Parallel()
	as, s, c := signedIn(t)
	age(t, s, 2*time.Hour)
	begun, hold := make(chan struct{}), make(chan struct{})
	as.Change(func(s *authtest.Server) {
		s.Take = func(_ http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/token" {
				close(begun)
				<-hold
			}
			return false
		}
	})
	go func() { _, _ = c.Token(context.WithoutCancel(t.Context())) }()
	<-begun
	done := make(chan error, 1)
	go func() {
		_, revoke, err := s.Logout(context.WithoutCancel(t.Context()), Upstream{ID: "guarded", URL: as.MCP}, "ann")
		done <- errors.Join(revoke, err)
	}()
	time.Sleep(50 * time.Millisecond)
	close(hold)
	require.NoError(t, <-done)
	require.False(t, s.Has("guarded", "ann"))
	require.Equal(t, 1, as.Count("revoke"))
}
