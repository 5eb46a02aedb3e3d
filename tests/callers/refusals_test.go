package callers

import (
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRefusalsBeforeARunAreLogged: whoever runs the server learns of calls that no journal has.
func TestRefusalsBeforeARunAreLogged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tokens := write(t, dir, "tokens.yaml", "tokens:\n"+token("ann", "'*'", "'*'")+token("bob", "'*'", "'*'"))
	s := serve(t, dir, "--server.tokensFile", tokens, "--server.requestsPerMinute", "3")
	require.Equal(t, http.StatusUnauthorized, s.ask("nobody", "tools/list", nil).status)
	status, _ := s.rest("nobody", "GET", "/api/event", "")
	require.Equal(t, http.StatusUnauthorized, status)
	require.Equal(t, "tool_not_found", s.tool("ann", "make-coffee", nil).code)
	for range 3 {
		s.rest("bob", "GET", "/api/event", "")
	}
	status, _ = s.rest("bob", "GET", "/api/event", "")
	require.Equal(t, http.StatusTooManyRequests, status)
	for _, line := range []string{
		`code=unauthorized reason=".+" subject="" surface=http path=/mcp`, `code=unauthorized reason=".+" subject="" surface=http path=/api/event`,
		`code=tool_not_found reason=".*make-coffee.*" subject=ann surface=mcp tool=make-coffee`, `code=rate_limited reason=".+" subject=bob surface=http path=/api/event`,
	} {
		shape := regexp.MustCompile(line)
		s.eventually(func() bool { return shape.MatchString(s.stderr.String()) }, line)
	}
}

// TestConfiguredSecretsAreInNoFailure: neither as they are nor encoded, in what callers get or in the log.
func TestConfiguredSecretsAreInNoFailure(t *testing.T) {
	t.Parallel()
	const secret = `correct horse "battery" staple of this server`
	s := serve(t, t.TempDir(), "--server.secret", secret, "--log.level", "debug")
	said := ""
	for _, text := range []string{secret, base64.StdEncoding.EncodeToString([]byte("user:" + secret)), hex.EncodeToString([]byte(secret))} {
		a := s.tool("", "koan.code.execute", map[string]any{"code": `console.log(SDK.args); throw new Error("x " + SDK.args)`, "args": text, "correlationId": text})
		require.Equal(t, "javascript_error", a.fault())
		said += a.raw
		said += s.ask("", "resources/read", map[string]any{"uri": "koan://runs/" + a.data()["runId"].(string)}).raw
	}
	said += s.stderr.String()
	require.Contains(t, said, "[redacted]")
	for _, form := range []string{"battery", base64.StdEncoding.EncodeToString([]byte("r:" + secret))[4:40], hex.EncodeToString([]byte("battery"))} {
		require.NotContains(t, said, form)
	}
}
