package callers

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/koan-go/koan/tests/needs"
	"github.com/stretchr/testify/require"
)

// issued is a real authorization server, of which the clients are: reader may read
// members, keeper may do everything with them in all sets.
type issued struct {
	t    *testing.T
	url  string
	stop func()
}

const clients = `{"reader": {"scope": "member:read", "sets": ["default"]}, "keeper": {"scope": "member:read member:write member:delete member:phone", "sets": ["*"]},
	"nobody": {"scope": "member:read"}, "ann": {"scope": "member:read"}}`

func issuer(t *testing.T, port string) *issued {
	t.Helper()
	address, stop := program(t, "issuer.mjs", port, clients)
	return &issued{t: t, url: address, stop: stop}
}

// token gets an access token for a resource by client credentials.
func (i *issued) token(client, resource, scope string) string {
	i.t.Helper()
	form := url.Values{"grant_type": {"client_credentials"}, "resource": {resource}, "scope": {scope}}
	r, err := http.NewRequestWithContext(i.t.Context(), http.MethodPost, i.url+"/token", strings.NewReader(form.Encode()))
	require.NoError(i.t, err)
	r.SetBasicAuth(client, client)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := http.DefaultClient.Do(r)
	require.NoError(i.t, err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	require.NoError(i.t, err)
	var out struct {
		Token string `json:"access_token"`
	}
	require.NoError(i.t, json.Unmarshal(raw, &out))
	require.NotEmpty(i.t, out.Token, "%s", raw)
	return out.Token
}

func TestIssuerTokens(t *testing.T) {
	t.Parallel()
	id := issuer(t, "0")
	s := serve(t, t.TempDir(), "--server.oauth.issuer", id.url, "--tools.style", "perEntity")

	t.Run("a stranger is led to the issuer", func(t *testing.T) {
		got := s.ask("", "tools/list", nil)
		require.Equal(t, http.StatusUnauthorized, got.status)
		challenge := got.header.Get("WWW-Authenticate")
		where := strings.TrimSuffix(s.url, "/mcp") + "/.well-known/oauth-protected-resource"
		require.Contains(t, challenge, `resource_metadata="`+where+`/mcp"`)
		require.Contains(t, challenge, `scope="entities:write member:delete member:phone member:read member:write plugins:call"`)
		require.NotContains(t, challenge, "error=")
		for _, path := range []string{"/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"} {
			status, body := s.get(path)
			require.Equal(t, http.StatusOK, status)
			var about map[string]any
			require.NoError(t, json.Unmarshal([]byte(body), &about))
			require.Equal(t, s.url, about["resource"])
			require.Equal(t, []any{id.url}, about["authorization_servers"])
		}
	})
	t.Run("a token has its rights", func(t *testing.T) {
		reader := id.token("reader", s.url, "member:read")
		require.EqualValues(t, 1, s.tool(reader, "member.count", nil).data()["count"])
		require.Equal(t, "unknown_set", s.tool(reader, "member.count", map[string]any{"set": "branch-a"}).fault())
		tools := s.ask(reader, "tools/list", nil).names(t, "tools", "name")
		require.Contains(t, tools, "member_collection")
		require.NotContains(t, tools, "member_delete")
		keeper := id.token("keeper", s.url, "member:read member:write member:delete")
		require.Contains(t, s.ask(keeper, "tools/list", nil).names(t, "tools", "name"), "member_delete")
		require.EqualValues(t, 0, s.tool(keeper, "member.count", map[string]any{"set": "branch-a"}).data()["count"])
		nobody := id.token("nobody", s.url, "member:read")
		require.Equal(t, "tool_not_found", s.tool(nobody, "member.count", nil).code, "without the claim there is no set, and no entity")
	})
	t.Run("a scope that is missing can be asked for", func(t *testing.T) {
		reader := id.token("reader", s.url, "member:read")
		got := s.tool(reader, "member.delete", map[string]any{"id": "ann"})
		require.Equal(t, http.StatusForbidden, got.status)
		require.Equal(t, "tool_not_found", got.code)
		challenge := got.header.Get("WWW-Authenticate")
		require.Contains(t, challenge, `error="insufficient_scope"`)
		require.Contains(t, challenge, `scope="member:read member:write member:delete"`)
		require.Contains(t, challenge, "resource_metadata=")
		got = s.tool(reader, "event.upsert", map[string]any{"model": map[string]any{"id": "x", "title": "x"}})
		require.Equal(t, http.StatusForbidden, got.status)
		require.Contains(t, got.header.Get("WWW-Authenticate"), `scope="entities:write"`)
		got = s.tool(reader, "member.fly", nil)
		require.Equal(t, http.StatusBadRequest, got.status)
		require.Equal(t, "tool_not_found", got.code)
		require.Empty(t, got.header.Get("WWW-Authenticate"))

		// So it is if the entity is an argument: an entity that does not exist leads to the
		// same answer without the challenge.
		count := func(who, entity string) answer {
			return s.tool(who, "entities_count", map[string]any{"entity": entity})
		}
		guest := id.token("reader", s.url, "")
		got = count(guest, "Member")
		require.Equal(t, http.StatusForbidden, got.status)
		require.Equal(t, "invalid_payload", got.fault())
		require.Contains(t, got.header.Get("WWW-Authenticate"), `scope="member:read"`)
		unknown := count(guest, "Members")
		require.Equal(t, http.StatusOK, unknown.status)
		require.Equal(t, "invalid_payload", unknown.fault())
		require.Empty(t, unknown.header.Get("WWW-Authenticate"))
		got = s.tool(reader, "entities_delete", map[string]any{"entity": "Member", "id": "ann"})
		require.Equal(t, "tool_not_found", got.code, "the reader may delete from no entity")
		require.Contains(t, got.header.Get("WWW-Authenticate"), `scope="member:read member:write member:delete"`)
	})
	t.Run("tokens for somebody else are refused", func(t *testing.T) {
		for name, token := range map[string]string{
			"another resource": id.token("reader", "https://other.example.org/mcp", "member:read"),
			"the root":         id.token("reader", strings.TrimSuffix(s.url, "mcp"), "member:read"),
			"nonsense":         "secret",
		} {
			got := s.ask(token, "tools/list", nil)
			require.Equal(t, http.StatusUnauthorized, got.status, name)
			require.Equal(t, "unauthorized", got.code)
			require.Contains(t, got.header.Get("WWW-Authenticate"), `error="invalid_token"`)
			require.NotContains(t, s.stderr.String(), token)
		}
	})
	t.Run("the official client finds its way", func(t *testing.T) {
		needs.Node(t)
		modules, err := filepath.Abs("../npm")
		require.NoError(t, err)
		cmd := exec.CommandContext(t.Context(), "node", filepath.Join(modules, "authorized.mjs"), s.url, id.url, "keeper", "keeper", "member:read member:write member:delete")
		out, err := cmd.Output()
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			t.Fatalf("%v\n%s", err, failed.Stderr)
		}
		require.NoError(t, err)
		var saw struct {
			Tools   []string
			Members struct{ Count int }
		}
		require.NoError(t, json.Unmarshal(out, &saw))
		require.Contains(t, saw.Tools, "member_delete")
		require.Equal(t, 1, saw.Members.Count)
	})
}

// TestRightsAreThoseOfEachRequest: a session of the older era belongs to a
// subject, and what a request may do is what its own token says.
func TestRightsAreThoseOfEachRequest(t *testing.T) {
	t.Parallel()
	id := issuer(t, "0")
	s := serve(t, t.TempDir(), "--server.oauth.issuer", id.url, "--tools.style", "perEntity")
	wide, narrow := id.token("keeper", s.url, "member:read member:write member:delete"), id.token("keeper", s.url, "member:read")
	other := id.token("reader", s.url, "member:read")
	opened := s.post(wide, "initialize", map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "x", "version": "1"}}, nil)
	require.Equal(t, http.StatusOK, opened.status, opened.raw)
	session := map[string]string{"Mcp-Session-Id": opened.header.Get("Mcp-Session-Id")}
	remove := map[string]any{"name": "member.delete", "arguments": map[string]any{"id": "none"}}
	require.Equal(t, http.StatusOK, s.post(wide, "tools/call", remove, session).status)
	got := s.post(narrow, "tools/call", remove, session)
	require.Equal(t, http.StatusForbidden, got.status, got.raw)
	require.Contains(t, got.header.Get("WWW-Authenticate"), "insufficient_scope")
	require.NotContains(t, s.post(narrow, "tools/list", nil, session).raw, "member_delete")
	require.Contains(t, s.post(wide, "tools/list", nil, session).raw, "member_delete")
	require.Equal(t, http.StatusNotFound, s.post(other, "tools/list", nil, session).status, "somebody else's session")
}

func TestTokensAndAnIssuer(t *testing.T) {
	t.Parallel()
	id := issuer(t, "0")
	dir := t.TempDir()
	tokens := write(t, dir, "tokens.yaml", "tokens:\n"+token("ann", "", "default"))
	s := serve(t, dir, "--server.oauth.issuer", id.url, "--server.tokensFile", tokens)
	require.Equal(t, http.StatusOK, s.ask("ann", "tools/list", nil).status)
	require.Equal(t, http.StatusOK, s.ask(id.token("reader", s.url, "member:read"), "tools/list", nil).status)
	require.Equal(t, http.StatusUnauthorized, s.ask(id.token("ann", s.url, "member:read"), "tools/list", nil).status, "two callers of one name")
	got := s.tool("ann", "member.count", nil)
	require.Equal(t, http.StatusBadRequest, got.status, "a static token gets no other scopes, so that nothing is said of them")
	require.Equal(t, s.tool("ann", "nothing.count", nil).code, got.code)
}

// TestIssuerIsUnavailable: the server starts, says what is missing, and serves as
// soon as the issuer is there; and it follows new keys.
func TestIssuerIsUnavailable(t *testing.T) {
	t.Parallel()
	id := issuer(t, "0")
	u, err := url.Parse(id.url)
	require.NoError(t, err)
	s := serve(t, t.TempDir(), "--server.oauth.issuer", id.url)
	first := id.token("reader", s.url, "member:read")
	require.Equal(t, http.StatusOK, s.ask(first, "tools/list", nil).status)
	id.stop()
	require.Equal(t, http.StatusOK, s.ask(first, "tools/list", nil).status, "its keys are known")

	late := serve(t, t.TempDir(), "--server.oauth.issuer", id.url)
	status, why := late.get("/readyz")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, why, id.url)
	got := late.ask(first, "tools/list", nil)
	require.Equal(t, http.StatusServiceUnavailable, got.status)
	require.Equal(t, "service_unavailable", got.code)
	require.NotEmpty(t, got.header.Get("Retry-After"))
	status, _ = late.get("/healthz")
	require.Equal(t, http.StatusOK, status)

	again := issuer(t, u.Port())
	require.Eventually(t, func() bool { status, _ := late.get("/readyz"); return status == http.StatusOK }, 20*time.Second, 200*time.Millisecond)
	require.Equal(t, http.StatusOK, late.ask(again.token("reader", late.url, "member:read"), "tools/list", nil).status)
	fresh := again.token("reader", s.url, "member:read")
	require.Eventually(t, func() bool { return s.ask(fresh, "tools/list", nil).status == http.StatusOK }, 20*time.Second, 200*time.Millisecond,
		"keys that the issuer changed are fetched")
	require.Equal(t, http.StatusUnauthorized, s.ask(first, "tools/list", nil).status, "the old ones are gone")
}

func TestOAuthConfigurationErrors(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"no address": {[]string{"--http", ":0", "--server.oauth.issuer", "https://id.example.org"}, []string{"server.publicUrl is needed"}},
		"everything": {
			[]string{"--http", "127.0.0.1:0", "--server.oauth.issuer", "http://id.example.org", "--server.publicUrl", "tools", "--server.oauth.algorithms", "HS256", "--server.tokensFile", "none.yaml"},
			[]string{"https://", `"tools"`, `"HS256"`, "none.yaml"},
		},
		"no issuer": {[]string{"--http", "127.0.0.1:0", "--server.oauth.audience", "x"}, []string{"server.oauth.audience has no meaning without server.oauth.issuer"}},
		"misspelt":  {[]string{"--http", "127.0.0.1:0", "--server.oauth.isuer", "x"}, []string{`did you mean "server.oauth.issuer"?`}},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := command(t, t.TempDir(), append([]string{"serve"}, c.args...)...)
			out, err := cmd.CombinedOutput()
			require.Error(t, err)
			require.Equal(t, 2, cmd.ProcessState.ExitCode(), "%s", out)
			for _, w := range c.want {
				require.Contains(t, string(out), w)
			}
		})
	}
}
