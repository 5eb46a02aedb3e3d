package framework_test

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/fixture"
)

// Where tokens come from may be left open by a program that knows its callers by itself.
func TestHandlerOfOwnCallersNeedsNoAddress(t *testing.T) {
	i := koantest.New(t, fixture.App(), koantest.Setting{Key: "server.oauth.issuer", Value: "https://id.example.org"}).Instance()
	_, err := i.HTTPHandler(framework.HTTPOptions{})
	require.ErrorContains(t, err, "server.publicUrl")
	_, err = i.HTTPHandler(framework.HTTPOptions{Authenticate: func(*http.Request) (framework.Principal, error) { return framework.Principal{}, nil }})
	require.NoError(t, err)
}

// A program with a server of its own serves what the command serve does, to the callers of the
// configuration.
func TestHandlerServesEverything(t *testing.T) {
	const token = "a-token-for-the-tests-of-the-handler"
	tokens := filepath.Join(t.TempDir(), "tokens.yaml")
	require.NoError(t, os.WriteFile(tokens, fmt.Appendf(nil, "tokens:\n  - {subject: ann, sha256: %x, scopes: ['*'], sets: ['*']}\n", sha256.Sum256([]byte(token))), 0o600))
	app := fixture.App()
	app.Pages = func(*framework.Instance) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "a page") })
	}
	i := koantest.New(t, app, koantest.Setting{Key: "server.tokensFile", Value: tokens}, koantest.Setting{Key: "telemetry.metrics", Value: "true"}).Instance()
	_, err := i.HTTPHandler(framework.HTTPOptions{Console: true})
	require.ErrorContains(t, err, "HTTPOptions.URL")
	var lines []string
	h, err := i.HTTPHandler(framework.HTTPOptions{URL: "http://127.0.0.1:8080", Console: true, Print: func(line string) { lines = append(lines, line) }})
	require.NoError(t, err)
	h.Announce()
	require.Contains(t, strings.Join(lines, "\n"), "http://127.0.0.1:8080/console")

	ask := func(method, path, body, authorization string) (int, string) {
		r := httptest.NewRequest(method, "http://127.0.0.1:8080"+path, strings.NewReader(body))
		r.Header.Set("Authorization", authorization)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	for _, c := range []struct{ method, path, body, has string }{
		{"POST", "/mcp", initialize, `"serverInfo"`},
		{"GET", "/api/todo", "", `"items"`},
		{"GET", "/openapi.json", "", `"openapi"`},
		{"GET", "/status", "", `"ready"`},
		{"GET", "/anything", "", "a page"},
		{"GET", "/metrics", "", "koan_"},
	} {
		status, text := ask(c.method, c.path, c.body, "Bearer "+token)
		require.Equal(t, http.StatusOK, status, "%s: %s", c.path, text)
		require.Contains(t, text, c.has, c.path)
		status, _ = ask(c.method, c.path, c.body, "Bearer another")
		require.Equal(t, http.StatusUnauthorized, status, c.path)
	}
	for path, has := range map[string]string{"/healthz": "ok", "/readyz": "ready"} {
		status, text := ask("GET", path, "", "")
		require.Equal(t, http.StatusOK, status, path)
		require.Contains(t, text, has)
	}
	h.Shutdown(t.Context())
	status, text := ask("GET", "/readyz", "", "")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, text, "shutting down")
}
