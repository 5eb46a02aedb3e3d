package install

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Servers of Codex that have no table of their own stay as they are, whatever they are called.
func TestInstallBesideServersWithoutATable(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"[mcp_servers]\ninline = { command = \"node\", args = [\"x\"] }\n",
		"[mcp_servers]\nother = { command = \"node\" }\n",
		"mcp_servers.inline = { command = \"node\" }\n",
		"[mcp_servers]\ninline.command = \"node\"\n",
	} {
		b := newBench(t, "codex", text)
		b.must(nil)
		require.Len(t, b.names(), 2, b.read())
		b.must(remove)
		require.Equal(t, text, b.read())
	}
}
