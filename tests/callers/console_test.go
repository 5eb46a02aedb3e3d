package callers

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"testing"

	"github.com/koan-go/koan/tests/needs"
	"github.com/stretchr/testify/require"
)

// withPeople is an authorization server at which people sign in to the console.
func withPeople(t *testing.T, ttl int) *issued {
	t.Helper()
	clients := `{"console": {"scope": "member:read", "redirect": "http://127.0.0.1/console/sign-in/done"}}`
	address, stop := program(t, "issuer.mjs", "0", clients, fmt.Sprintf(`{"ttl":%d}`, ttl))
	return &issued{t: t, url: address, stop: stop}
}

// withConsole is the club with a console to which people sign in at an issuer.
func withConsole(t *testing.T, issuer string) (base string) {
	t.Helper()
	s := serve(t, t.TempDir(), "--server.oauth.issuer", issuer, "--server.oauth.clientId", "console", "--server.oauth.scopes", "member:read")
	return strings.TrimSuffix(s.url, "/mcp")
}

// fetched is what a browser gets for a request of the console's page.
func fetched(t *testing.T, browser *http.Client, at string) (int, map[string]any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at, nil)
	require.NoError(t, err)
	r.Header.Set("Koan-Console", "1")
	resp, err := browser.Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NotRegexp(t, webToken, string(raw), "tokens stay on the server")
	out := map[string]any{}
	require.NoError(t, json.Unmarshal(raw, &out), "%s", raw)
	return resp.StatusCode, out
}

func follow(*http.Request) bool { return false }

func TestPeopleSignInToTheConsoleAtTheIssuer(t *testing.T) {
	t.Parallel()
	id := withPeople(t, 5) // so that the token is renewed at each request
	base := withConsole(t, id.url)
	browser := newBrowser(t, follow)
	_, before := fetched(t, browser, base+"/console/session")
	require.Equal(t, map[string]any{"app": "club", "signedIn": false, "by": "issuer", "issuer": strings.TrimPrefix(id.url, "http://")}, before)

	at, body := browseIn(t, browser, base+"/console/sign-in/issuer?to="+url.QueryEscape("/console/runs?q=a%20b"), "ann")
	require.True(t, strings.HasPrefix(at, base+"/console/sign-in/done?"), at)
	require.Contains(t, body, `content="0; url=/console/runs?q=a%20b"`)
	_, after := fetched(t, browser, base+"/console/session")
	require.Equal(t, true, after["signedIn"])
	require.Equal(t, "ann", after["subject"])
	status, overview := fetched(t, browser, base+"/api/console/overview")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, []any{"member:read"}, overview["caller"].(map[string]any)["scopes"])
	require.Positive(t, id.grants()["refresh_token"])
	where, err := url.Parse(base)
	require.NoError(t, err)
	for _, c := range browser.Jar.Cookies(where) {
		require.NotRegexp(t, webToken, c.Value)
	}

	resp, err := browser.Get(at)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusForbidden, resp.StatusCode, "an answer is good once")
	for _, evil := range []string{"https://evil.example/", "//evil.example/console", `/\evil.example`, "/console/../mcp", "/consoles", "javascript:alert(1)", "/console/sign-in/issuer"} {
		other := newBrowser(t, follow)
		_, body := browseIn(t, other, base+"/console/sign-in/issuer?to="+url.QueryEscape(evil), "bob")
		require.NotContains(t, body, "evil")
		require.Regexp(t, `url=/console"`, body, evil)
	}

	id.stop()
	status, _ = fetched(t, browser, base+"/api/console/overview")
	require.Equal(t, http.StatusServiceUnavailable, status, "the token cannot be renewed, and nobody is signed out for it")
}

// Browsers keep cookies back that this server must not depend on, and leave out none that it does.
func TestABrowserSignsInToTheConsoleAtTheIssuer(t *testing.T) {
	needs.Browser(t)
	t.Parallel()
	base := withConsole(t, withPeople(t, 60).url)
	cmd := exec.CommandContext(t.Context(), "node", "console-issuer.mjs", base)
	cmd.Dir = "../npm"
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// The console is of the only set that somebody may name, as all calls are that name none.
func TestConsoleOfACallerOfOneSet(t *testing.T) {
	needs.Browser(t)
	t.Parallel()
	dir := t.TempDir()
	s := serve(t, dir, "--server.tokensFile", write(t, dir, "tokens.yaml", "tokens:\n"+token("branch", "'*'", "branch-a")))
	cmd := exec.CommandContext(t.Context(), "node", "console-oneset.mjs", strings.TrimSuffix(s.url, "/mcp"), "branch")
	cmd.Dir = "../npm"
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// Whatever goes wrong, nobody is signed in, and the page says what to do.
func TestSigningInToTheConsoleFails(t *testing.T) {
	t.Parallel()
	id := withPeople(t, 60)
	base := withConsole(t, id.url)
	done := base + "/console/sign-in/done"
	begin := func() (*http.Client, string) { // a browser that has been led to the issuer
		browser := newBrowser(t, func(*http.Request) bool { return true })
		resp, err := browser.Get(base + "/console/sign-in/issuer")
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, http.StatusSeeOther, resp.StatusCode)
		to, err := url.Parse(resp.Header.Get("Location"))
		require.NoError(t, err)
		require.Equal(t, "S256", to.Query().Get("code_challenge_method"))
		require.Equal(t, base+"/mcp", to.Query().Get("resource"))
		return browser, to.Query().Get("state")
	}
	get := func(browser *http.Client, query url.Values) (int, string) {
		resp, err := browser.Get(done + "?" + query.Encode())
		require.NoError(t, err)
		defer resp.Body.Close()
		raw, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		_, state := fetched(t, browser, base+"/console/session")
		require.Equal(t, false, state["signedIn"])
		return resp.StatusCode, string(raw)
	}
	for name, c := range map[string]struct {
		answer url.Values
		status int
		says   []string
	}{
		"the person does not agree": {url.Values{"error": {"access_denied"}}, http.StatusUnauthorized, []string{"access_denied", "You did not agree", "/console/sign-in/issuer"}},
		"an invented code":          {url.Values{"code": {"invented"}}, http.StatusUnauthorized, []string{"invalid_grant", "Sign in again"}},
		"no code":                   {url.Values{}, http.StatusUnauthorized, []string{"Sign in again"}},
		"another issuer":            {url.Values{"code": {"x"}, "iss": {"https://evil.example"}}, http.StatusUnauthorized, []string{"the answer is not from"}},
		"a message with a script":   {url.Values{"error": {"<script>alert(1)</script>"}}, http.StatusUnauthorized, []string{"&lt;script&gt;"}},
	} {
		browser, state := begin()
		c.answer.Set("state", state)
		status, body := get(browser, c.answer)
		require.Equal(t, c.status, status, "%s: %s", name, body)
		for _, text := range c.says {
			require.Contains(t, body, text, name)
		}
	}
	browser, _ := begin()
	status, body := get(browser, url.Values{"code": {"x"}, "state": {"of somebody else"}})
	require.Equal(t, http.StatusForbidden, status)
	require.Contains(t, body, "this browser has not begun to sign in")
	_, state := begin()
	status, _ = get(newBrowser(t, follow), url.Values{"code": {"x"}, "state": {state}})
	require.Equal(t, http.StatusForbidden, status, "an address that somebody else sends signs nobody in")

	id.stop()
	browser, base = newBrowser(t, follow), withConsole(t, id.url)
	resp, err := browser.Get(base + "/console/sign-in/issuer")
	require.NoError(t, err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
	require.Contains(t, string(raw), "does not answer as it should")
	require.Contains(t, string(raw), "Try again")
}
