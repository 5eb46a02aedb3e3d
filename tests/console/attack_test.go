package console

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/fixture"
)

// site is a console that is served in this process.
type site struct {
	t     *testing.T
	url   string
	lines []string // that it has printed
}

func mount(t *testing.T, authenticate func(*http.Request) (framework.Principal, error), settings ...koantest.Setting) *site {
	t.Helper()
	i := koantest.New(t, fixture.App(), settings...).Instance()
	server := httptest.NewUnstartedServer(nil)
	s := &site{t: t, url: "http://" + server.Listener.Addr().String()}
	handler, err := i.HTTPHandler(framework.HTTPOptions{
		URL: s.url, Authenticate: authenticate, Console: true, Print: func(line string) { s.lines = append(s.lines, line) },
	})
	require.NoError(t, err)
	server.Config.Handler = handler
	server.Start()
	t.Cleanup(func() { handler.Shutdown(context.Background()); server.Close() })
	handler.Announce()
	return s
}

// link is the last one that was printed.
func (s *site) link() string {
	s.t.Helper()
	m := announced.FindStringSubmatch(s.lines[len(s.lines)-1])
	require.NotNil(s.t, m, "%v", s.lines)
	return m[1]
}

// do sends a request with headers, given as names and values, and does not follow redirects.
func (s *site) do(method, at, body string, header ...string) (*http.Response, string) {
	s.t.Helper()
	if !strings.HasPrefix(at, "http") {
		at = s.url + at
	}
	r, err := http.NewRequestWithContext(s.t.Context(), method, at, strings.NewReader(body))
	require.NoError(s.t, err)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		} else {
			r.Header.Set(header[i], header[i+1])
		}
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	require.NoError(s.t, err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	require.NoError(s.t, err)
	return resp, string(raw)
}

// signIn uses the link and returns the cookie.
func (s *site) signIn() string {
	s.t.Helper()
	resp, _ := s.do("GET", s.link(), "")
	require.Equal(s.t, http.StatusSeeOther, resp.StatusCode)
	require.Equal(s.t, "/console", resp.Header.Get("Location"))
	set := resp.Header.Get("Set-Cookie")
	for _, part := range []string{"HttpOnly", "SameSite=Strict", "Path=/"} {
		require.Contains(s.t, set, part)
	}
	cookie, _, _ := strings.Cut(set, ";")
	return cookie
}

const own = "Koan-Console"

func TestLinkSignsInOnce(t *testing.T) {
	t.Parallel()
	s := mount(t, nil)
	link := s.link()
	cookie := s.signIn()
	resp, page := s.do("GET", link, "")
	require.Equal(t, http.StatusForbidden, resp.StatusCode)
	require.Contains(t, page, "Print a new link")
	require.Empty(t, resp.Header.Get("Set-Cookie"))
	resp, _ = s.do("GET", "/console/sign-in?key=AAAAAAAAAAAAAAAAAAAAAAAAAA", "")
	require.Equal(t, http.StatusForbidden, resp.StatusCode)

	resp, _ = s.do("POST", "/console/link", "", own, "1")
	require.Equal(t, http.StatusNoContent, resp.StatusCode)
	require.NotEqual(t, link, s.link())
	resp, _ = s.do("POST", "/console/link", "", own, "1")
	require.Equal(t, http.StatusTooManyRequests, resp.StatusCode)

	_, body := s.do("GET", "/console/session", "", own, "1", "Cookie", cookie)
	require.JSONEq(t, `{"app":"fixture","signedIn":true,"subject":"local","by":"link"}`, body)
	resp, _ = s.do("DELETE", "/console/session", "", own, "1", "Cookie", cookie)
	require.Equal(t, http.StatusNoContent, resp.StatusCode)
	resp, _ = s.do("GET", "/api/console/plans", "", own, "1", "Cookie", cookie)
	require.Equal(t, http.StatusUnauthorized, resp.StatusCode)
}

// A session counts for what the page itself sends. Otherwise the request is anybody's, who may
// not decide about plans.
func TestForgedRequestsHaveNoSession(t *testing.T) {
	t.Parallel()
	s := mount(t, nil, koantest.Setting{Key: "server.allowedOrigins", Value: "https://friend.example.org"})
	cookie := s.signIn()
	resp, body := s.do("GET", "/api/console/plans", "", own, "1", "Cookie", cookie)
	require.Equal(t, http.StatusOK, resp.StatusCode, body)
	same := []string{"Origin", s.url, "Sec-Fetch-Site", "same-origin"}
	resp, body = s.do("GET", "/api/console/plans", "", append([]string{own, "1", "Cookie", cookie}, same...)...)
	require.Equal(t, http.StatusOK, resp.StatusCode, body)

	forged := map[string][]string{
		"no header":                {"Cookie", cookie},
		"another site":             {"Cookie", cookie, own, "1", "Origin", "https://evil.example.org"},
		"an allowed site":          {"Cookie", cookie, own, "1", "Origin", "https://friend.example.org"},
		"another port":             {"Cookie", cookie, own, "1", "Origin", "http://127.0.0.1:1"},
		"no origin":                {"Cookie", cookie, own, "1", "Origin", "null"},
		"said by the browser":      {"Cookie", cookie, own, "1", "Sec-Fetch-Site", "cross-site"},
		"the same site":            {"Cookie", cookie, own, "1", "Sec-Fetch-Site", "same-site"},
		"a rebound name":           {"Cookie", cookie, own, "1", "Host", "evil.example.org"},
		"no cookie":                {own, "1"},
		"a guessed cookie":         {own, "1", "Cookie", "koan-console-80=AAAA"},
		"with an own token beside": {"Cookie", cookie, own, "1", "Authorization", "Bearer x"},
	}
	for name, header := range forged {
		resp, body := s.do("GET", "/api/console/plans", "", header...)
		require.Contains(t, []int{http.StatusForbidden, http.StatusUnauthorized}, resp.StatusCode, "%s: %s", name, body)
		resp, body = s.do("POST", "/api/console/plans/x/approve", "{}", header...)
		require.Contains(t, []int{http.StatusForbidden, http.StatusUnauthorized, http.StatusNotFound}, resp.StatusCode, "%s: %s", name, body)
		require.NotContains(t, resp.Header.Get("Access-Control-Allow-Headers"), own, name)
		require.Empty(t, resp.Header.Get("Access-Control-Allow-Credentials"), name)
	}
	for _, at := range []string{"/console/session", "/console/link"} {
		resp, _ := s.do("POST", at, "{}", "Cookie", cookie, "Origin", "https://friend.example.org", own, "1")
		require.Equal(t, http.StatusForbidden, resp.StatusCode, at)
	}
	resp, _ = s.do("OPTIONS", "/api/todo", "", "Origin", "https://friend.example.org", "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", own)
	require.NotContains(t, strings.ToLower(resp.Header.Get("Access-Control-Allow-Headers")), strings.ToLower(own))
}

func TestPageIsClosed(t *testing.T) {
	t.Parallel()
	s := mount(t, nil)
	for _, at := range []string{"/console", "/console/runs/x", "/console/assets/app.js", "/console/assets/types.js", "/console/assets/app.css", "/console/sign-in", "/console/sign-in?key=x", "/console/assets/none.js"} {
		resp, body := s.do("GET", at, "", "Accept-Encoding", "gzip")
		policy := resp.Header.Get("Content-Security-Policy")
		require.Contains(t, policy, "default-src 'none'", at)
		require.Contains(t, policy, "frame-ancestors 'none'", at)
		require.NotContains(t, policy, "unsafe", at)
		require.Equal(t, "nosniff", resp.Header.Get("X-Content-Type-Options"), at)
		require.Equal(t, "DENY", resp.Header.Get("X-Frame-Options"), at)
		if resp.StatusCode != http.StatusOK {
			continue
		}
		require.Equal(t, "gzip", resp.Header.Get("Content-Encoding"), at)
		tag := resp.Header.Get("ETag")
		require.NotEmpty(t, tag, at)
		resp, _ = s.do("GET", at, "", "If-None-Match", tag)
		require.Equal(t, http.StatusNotModified, resp.StatusCode, at)
		resp, plain := s.do("GET", at, "", "Accept-Encoding", "identity")
		require.Empty(t, resp.Header.Get("Content-Encoding"), at)
		require.Greater(t, len(plain), len(body), at)
		require.NotContains(t, plain, "<script>", "%s: a script in the page needs an exception from the policy", at)
	}
	resp, _ := s.do("POST", "/console", "x")
	require.Equal(t, http.StatusMethodNotAllowed, resp.StatusCode)
	resp, _ = s.do("GET", "/console", "", "Host", "evil.example.org")
	require.Equal(t, http.StatusForbidden, resp.StatusCode)
}

// With tokens, a session can do what its token can do, and ends when the token is taken back.
func TestTokenSignsIn(t *testing.T) {
	t.Parallel()
	good := true
	s := mount(t, func(r *http.Request) (framework.Principal, error) {
		if !good || r.Header.Get("Authorization") != "Bearer secret" {
			return framework.Principal{}, fmt.Errorf("refused")
		}
		return framework.Principal{Subject: "ann", Scopes: []string{"*"}, Sets: []string{"default"}}, nil
	})
	require.NotContains(t, s.lines[0], "key=", "nobody signs in by a link")
	resp, _ := s.do("POST", "/console/session", `{"token":"wrong"}`, own, "1")
	require.GreaterOrEqual(t, resp.StatusCode, 400)
	require.Empty(t, resp.Header.Get("Set-Cookie"))
	resp, _ = s.do("POST", "/console/session", `{"token":"secret"}`, own, "1")
	require.Equal(t, http.StatusNoContent, resp.StatusCode)
	cookie, _, _ := strings.Cut(resp.Header.Get("Set-Cookie"), ";")
	require.NotContains(t, cookie, "secret")
	resp, body := s.do("GET", "/api/console/overview", "", own, "1", "Cookie", cookie)
	require.Equal(t, http.StatusOK, resp.StatusCode, body)
	var seen struct{ Caller struct{ Subject string } }
	require.NoError(t, json.NewDecoder(bytes.NewReader([]byte(body))).Decode(&seen))
	require.Equal(t, "ann", seen.Caller.Subject)
	resp, _ = s.do("GET", "/api/console/plans", "", own, "1", "Cookie", cookie)
	require.Equal(t, http.StatusForbidden, resp.StatusCode, "* does not grant the scope to approve")
	resp, _ = s.do("POST", "/console/link", "", own, "1")
	require.GreaterOrEqual(t, resp.StatusCode, 400)
	require.Len(t, s.lines, 1)
	good = false
	resp, _ = s.do("GET", "/api/console/overview", "", own, "1", "Cookie", cookie)
	require.GreaterOrEqual(t, resp.StatusCode, 400)
}

// TestConsoleIsClosedToOtherMachines starts servers beyond loopback.
func TestConsoleIsClosedToOtherMachines(t *testing.T) {
	t.Parallel()
	tokens := filepath.Join(t.TempDir(), "tokens.yaml")
	require.NoError(t, os.WriteFile(tokens, []byte("tokens:\n  - {subject: ann, sha256: 2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b, scopes: ['*'], sets: ['*']}\n"), 0o600))
	at, _ := serve(t, "--http", "0.0.0.0:0", "--server.tokensFile", tokens, "--console", "true")
	require.NotContains(t, at, "key=")
	for name, args := range map[string][]string{
		"not asked for":       {"--http", "0.0.0.0:0", "--server.tokensFile", tokens},
		"switched off":        {"--http", "127.0.0.1:0", "--console", "false"},
		"insecure, by itself": {"--http", "0.0.0.0:0", "--insecure"},
	} {
		at, _ := start(t, listening, args...)
		u, err := url.Parse(at)
		require.NoError(t, err)
		resp, err := http.Get("http://127.0.0.1:" + u.Port() + "/console")
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, http.StatusNotFound, resp.StatusCode, name)
	}
	out := refused(t, "--http", "0.0.0.0:0", "--insecure", "--console", "true")
	require.Contains(t, out, "server.tokensFile")
}
