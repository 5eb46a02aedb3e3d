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
