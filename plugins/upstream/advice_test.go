package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/plugins/internal/queue"
	"github.com/koan-go/koan/plugins/upstream/internal/signin"
)

// newBroken is a server of a client's file in the gateway.
func newBroken(t *testing.T, c Config) *server {
	t.Helper()
	c.ID, c.Place = "broken", "my files/mcp.json: broken"
	require.NoError(t, c.complete())
	dir := t.TempDir()
	life, cancel := context.WithCancel(context.Background())
	s := &server{
		version: "1", cache: &cache{}, queue: queue.New(c.MaxParallel), changed: func() {}, life: lifetime{ctx: life, stop: cancel},
		sessions: map[string]*session{},
		results: results{log: slog.New(slog.DiscardHandler), faults: faults{cfg: c, people: &people{
			command: "koan gateway", clientFile: "my files/mcp.json", known: map[[2]string]*signin.Credentials{},
			store: signin.NewStore(filepath.Join(dir, "sign-ins"), filepath.Join(dir, "key"), nil),
		}}},
	}
	t.Cleanup(s.close)
	return s
}

// answering is a server over HTTP that gives one answer to everything.
func answering(t *testing.T, status int, header http.Header) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = nil // which is not guessed then
		for name, values := range header {
			w.Header()[name] = values
		}
		w.WriteHeader(status)
		if status != http.StatusAccepted {
			fmt.Fprint(w, "<p>Hello")
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// What `upstream check` says of a server that cannot be used, and what to do about it.
func TestWhatCheckSays(t *testing.T) {
	t.Setenv("userHome", "/home/ann")
	for name, c := range map[string]struct {
		config       Config
		detail, hint string
	}{
		"slow": {
			Config{Command: []string{"sleep", "60"}, Start: 100 * time.Millisecond},
			"it did not start in 100ms",
			"Run the command in a terminal: `sleep 60`. If it is only slow, as a first start with npx is, set upstreams.broken.startMs.",
		},
		"ends": {Config{Command: []string{"sh", "-c", "exit 3"}}, "it ended with exit status 3", "Run the command in a terminal: `sh -c 'exit 3'`."},
		"secret of an editor": {
			Config{Command: []string{"node", "${workspaceFolder}/x.js"}, Env: map[string]string{"KEY": "${input:key}", "PLACE": "${userHome}"}},
			"${workspaceFolder}: editors fill this in themselves, and it has no value here; ${input:key}: editors fill this in themselves, and it has no value here",
			"Write something else for ${workspaceFolder} in my files/mcp.json: broken: ${env:NAME} or ${file:PATH} for a secret, an absolute path for a folder.",
		},
		"no variable": {Config{Command: []string{"${KOAN_TEST_NONE}"}}, "${KOAN_TEST_NONE}: the environment has no such variable", "Give ${KOAN_TEST_NONE} a value where this program is started."},
		"no kind":     {Config{Command: []string{"${vault:x}"}}, "${vault:x}: only ${env:NAME} and ${file:PATH} can be used here", "Write something else for ${vault:x} in my files/mcp.json: broken: ${env:NAME} or ${file:PATH} for a secret, an absolute path for a folder."},
		"accepted":    {Config{URL: answering(t, http.StatusAccepted, nil)}, "it answered with HTTP status 202 and nothing else, in place of JSON or a stream of events", "Check the url and the headers of my files/mcp.json: broken."},
		"page":        {Config{URL: answering(t, http.StatusOK, http.Header{"Content-Type": {"text/html"}})}, "it answered with text/html, in place of JSON or a stream of events", "Check the url and the headers of my files/mcp.json: broken."},
		"not there": {
			Config{URL: answering(t, http.StatusNotFound, nil)},
			"it answered with HTTP status 404 (Not Found): <p>Hello",
			"Check the url and the headers of my files/mcp.json: broken.",
		},
		"failing": {Config{URL: answering(t, http.StatusInternalServerError, nil)}, "it answered with HTTP status 500 (Internal Server Error): <p>Hello", "Check the url and the headers of my files/mcp.json: broken."},
		"busy": {
			Config{URL: answering(t, http.StatusTooManyRequests, http.Header{"Retry-After": {"7"}})},
			"the server broken takes no more connections now: it answered with HTTP status 429 (Too Many Requests): <p>Hello", "Try again in 7s.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := overview{newBroken(t, c.config)}.check(t.Context())
			require.False(t, got.OK)
			require.Equal(t, c.detail, got.Detail)
			require.Equal(t, c.hint, got.Hint)
		})
	}
}

// A server that takes no connections for a while is left alone as long.
func TestRateLimitedConnections(t *testing.T) {
	t.Parallel()
	s := newBroken(t, Config{URL: answering(t, http.StatusTooManyRequests, http.Header{"Retry-After": {"70"}})})
	for range 2 {
		_, err := s.acquire(t.Context(), localUser)
		f := fault.From(err)
		require.Equal(t, fault.RateLimited, f.Code)
		require.Equal(t, fault.Safe, f.Retry)
		require.Equal(t, "Try again in 1m10s.", f.Hint)
		details, err := json.Marshal(f.Details)
		require.NoError(t, err)
		require.JSONEq(t, `{"retryAfterMs": 70000}`, string(details))
	}
	require.Greater(t, s.pause(localUser), time.Minute, "it is not asked before that")
}

// Faults name commands as one types them in front of this file of servers.
func TestFaultsNameTheCommand(t *testing.T) {
	t.Parallel()
	s := newBroken(t, Config{Command: []string{"/does/not/exist"}})
	_, err := s.acquire(t.Context(), localUser)
	require.Equal(t, "It is tried again in 1s; `koan gateway upstream check --mcp-config 'my files/mcp.json'` says what is wrong.", fault.From(err).Hint)
	require.Equal(t, "Try again shortly; `koan gateway upstream check --mcp-config 'my files/mcp.json'` says what is wrong.", s.unavailable(context.Canceled).Hint)
}

func TestFailedSignIns(t *testing.T) {
	t.Parallel()
	url := answering(t, http.StatusNotFound, nil)
	s := newBroken(t, Config{URL: url + "/mcp"})
	up, err := s.cfg.upstream()
	require.NoError(t, err)
	_, err = (&signin.Login{Store: s.people.store, Upstream: *up, User: localUser, Wait: time.Second}).Run(t.Context())
	f := fault.From(s.signInFailure(err))
	require.Equal(t, fault.Unauthorized, f.Code)
	require.Equal(t, "nobody was signed in to broken: the server does not say how to sign in: "+
		url+"/.well-known/oauth-protected-resource/mcp has HTTP status 404; "+url+"/.well-known/oauth-protected-resource has HTTP status 404; "+
		"as an authorization server of its own, it has no metadata at the well-known addresses (RFC 8414, OpenID Connect Discovery)", f.Message)
	require.Equal(t, "Check the url of my files/mcp.json: broken. If the server wants a token that it gives out elsewhere, set upstreams.broken.headers, for example Authorization: \"Bearer ${env:TOKEN}\".", f.Hint)
	f = fault.From(s.signInFailure(&signin.UnavailableError{Server: "https://as", Err: context.DeadlineExceeded}))
	require.Equal(t, "Sign in later, or tell whoever runs the authorization server what is wrong.", f.Hint)
	require.Equal(t, fault.Cancelled, fault.CodeOf(s.signInFailure(context.Canceled)))
}
