package install

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is shown has no secrets, wherever a server has them.
func TestNoSecretsAreShown(t *testing.T) {
	for id, text := range map[string]string{
		"cursor": `{"mcpServers": {
  "a": {"command": "npx", "args": ["-y", "server", "--api-key", "S3CRET-a", "GITHUB_TOKEN=S3CRET-b", "postgresql://bob:S3@host", "--port", "8080"]},
  "b": {"url": "https://example.org/mcp?key=S3CRET-c"},
  "c": {"command": "npx", "args": ["mcp-remote", "https://example.org/mcp", "--header", "Authorization: Bearer S3CRET-d"]},
  "d": {"url": "https://example.org/mcp", "auth": {"CLIENT_ID": "x", "CLIENT_SECRET": "S3CRET-\u0065"}},
  "e": {"url": "https:\/\/bob:S3@example.org"}
}}`,
		"codex": `[mcp_servers.a]
command = "npx"
args = ["-y", "server", "--api-key", 'S3CRET-a', "GITHUB_TOKEN=S3CRET-b", 'postgresql://bob:S3@host', "--port", "8080"]
[mcp_servers.b]
url = "https://example.org/mcp?key=S3CRET-c"
`,
	} {
		b := newBench(t, id, text)
		out := b.must(func(o *Options) { o.Gateway, o.Print = true, true })
		require.NotContains(t, out, "S3", id)
		for _, shown := range []string{"--api-key", "GITHUB_TOKEN=***", "postgresql://bob:***@host", `"--port", "8080"`, "https://example.org/mcp?key=***"} {
			require.Contains(t, out, shown, id)
		}
		require.Equal(t, strings.Count(text, "S3CRET"), strings.Count(b.read(), "S3CRET"))
	}
}

// Values of env and headers are hidden however short they are, and texts that only equal
// one are names.
func TestShortValuesAreHidden(t *testing.T) {
	for id, text := range map[string]string{
		"cursor": `{"mcpServers": {
  "a": {"command": "npx", "env": {"P3": "123", "abc": "abc", "TOKEN": "x\"", "PIN": 77, "LONG": 771234, "NONE": "", "REF": "$A"}},
  "b": {"url": "https://example.org", "headers": {"X-Key": "z9"}}
}}`,
		"codex": `[mcp_servers.a]
command = "npx"
env = { P3 = "123", abc = 'abc', TOKEN = "x\"", PIN = 77, LONG = 771234 }
[mcp_servers.b]
url = "https://example.org"
http_headers = { X-Key = "z9" }
`,
	} {
		b := newBench(t, id, text)
		out := b.must(func(o *Options) { o.Remove, o.Entry.Name, o.Entry.Command, o.Print = true, "a", "/bin/npx", true })
		out += b.must(func(o *Options) { o.Print = true })
		out = strings.ReplaceAll(out, b.path, "FILE") // the folder's name has digits of chance
		for _, secret := range []string{`123"`, `"abc",`, `'abc'`, `x\"`, "77", `"z9"`} {
			require.NotContains(t, out, secret, id)
		}
		for _, shown := range []string{"P3", "abc", "TOKEN", "X-Key", `"npx"`, "@@ -1,"} {
			require.Contains(t, out, shown, id)
		}
	}
}

// Names of variables are shown, and what somebody has put in their place is not.
func TestNamesOfVariablesAreShown(t *testing.T) {
	b := newBench(t, "codex", `[mcp_servers.a]
url = "https://example.org/mcp"
bearer_token_env_var = "EXAMPLE_TOKEN"
env_vars = ["GITHUB_TOKEN", "API_KEY"]
[mcp_servers.b]
url = "https://example.org/mcp"
bearer_token_env_var = "ghp_S3CRETs3cret"
`)
	out := b.must(func(o *Options) { o.Gateway, o.Print = true, true })
	require.NotContains(t, out, "S3CRET")
	for _, shown := range []string{"EXAMPLE_TOKEN", `"GITHUB_TOKEN", "API_KEY"`} {
		require.Contains(t, out, shown)
	}
}
