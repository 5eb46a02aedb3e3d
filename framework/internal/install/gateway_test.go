package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
)

func gateway(o *Options) { o.Gateway = true }

// What the servers of each sample become, and which of them stay.
func TestGatewayMovesAndReturns(t *testing.T) {
	want := map[string]struct{ moved, stay string }{
		"claude-code": {moved: `{
			"github":{"type":"http","url":"https://api.githubcopilot.com/mcp/","headers":{"Authorization":"Bearer ${GITHUB_TOKEN}"}},
			"airtable":{"type":"stdio","command":"npx","args":["-y","airtable-mcp-server"],"env":{"AIRTABLE_API_KEY":"${AIRTABLE_API_KEY:-none}"}}}`},
		"claude-desktop": {moved: `{
			"filesystem":{"command":"npx","args":["-y","@modelcontextprotocol/server-filesystem","/Users/ann/Desktop"]},
			"brave-search":{"command":"npx","args":["-y","@modelcontextprotocol/server-brave-search"],"env":{"BRAVE_API_KEY":"BSA-not-a-real-key"}}}`},
		"cursor": {moved: `{
			"github":{"command":"npx","args":["-y","gh"],"env":{"GITHUB_TOKEN":"not-a-real-token"}},
			"linear":{"url":"https://mcp.linear.app/mcp","headers":{"Authorization":"Bearer ${env:LINEAR}"}}}`, stay: "local with-file"},
		"vscode": {moved: `{
			"playwright":{"command":"npx","args":["-y","@microsoft/mcp-server-playwright"]},
			"context7":{"type":"http","url":"https://mcp.context7.com/mcp","headers":{"X-Key":"${env:C7}"}}}`, stay: "perplexity"},
		"gemini": {moved: `{
			"pythonTools":{"command":"python","args":["-m","my_mcp_server","--port","8080"],"env":{"DATABASE_URL":"${env:DB_CONNECTION_STRING}","API_KEY":"${env:EXTERNAL_API_KEY}"},"timeout":15000},
			"httpServer":{"url":"http://localhost:3000/mcp","timeout":5000},
			"oldServer":{"type":"sse","url":"http://localhost:8080/sse"}}`, stay: "nearby filtered"},
		"codex": {moved: `{
			"github":{"command":"npx","args":["-y","gh"],"env":{"GITHUB_TOKEN":"${env:GITHUB_TOKEN}","LOG":"debug"}},
			"figma remote":{"url":"https://mcp.figma.com/mcp","headers":{"Authorization":"Bearer ${env:FIGMA_OAUTH_TOKEN}","X-Figma-Region":"us-east-1"},"timeout":45500}}`, stay: "off picked"},
	}
	for _, id := range Clients() {
		t.Run(id, func(t *testing.T) {
			was := sample(t, id)
			b := newBench(t, id, was)
			b.options.Entry.Args = []string{"gateway"}
			out := b.must(gateway)
			path := b.machine.storePath(b.client)
			info, err := os.Stat(path)
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
			raw, err := os.ReadFile(path)
			require.NoError(t, err)
			var kept struct {
				MCPServers json.RawMessage `json:"mcpServers"`
			}
			require.NoError(t, json.Unmarshal(raw, &kept))
			require.JSONEq(t, want[id].moved, string(kept.MCPServers))
			require.Equal(t, append(strings.Fields(want[id].stay), "todo"), b.names())
			for _, name := range strings.Fields(want[id].stay) {
				require.Contains(t, out, name+" stays where it is: ")
			}
			require.NotContains(t, out, "not-a-real", "values of env are not shown")
			require.Equal(t, []any{"gateway", "--mcp-config", path}, b.server("todo")["args"])

			once := b.read()
			require.Contains(t, b.must(gateway), "Nothing to change")
			require.Equal(t, once, b.read())
			b.must(remove)
			require.Equal(t, was, b.read())
			require.NoFileExists(t, path)
		})
	}
}

// The variables that moved servers refer to reach the gateway by name.
func TestGatewayNamesVariables(t *testing.T) {
	for id, want := range map[string]any{
		"claude-code": map[string]any{"GITHUB_TOKEN": "${GITHUB_TOKEN}"},
		"cursor":      map[string]any{"LINEAR": "${env:LINEAR}"},
		"vscode":      map[string]any{"C7": "${env:C7}"},
		"gemini":      map[string]any{"DB_CONNECTION_STRING": "$DB_CONNECTION_STRING", "EXTERNAL_API_KEY": "$EXTERNAL_API_KEY"},
		"codex":       []any{"FIGMA_OAUTH_TOKEN", "GITHUB_TOKEN"},
	} {
		b := newBench(t, id, sample(t, id))
		b.must(gateway)
		s := b.server("todo")
		if id == "codex" {
			require.Equal(t, want, s["env_vars"])
			continue
		}
		require.Equal(t, want, s["env"], id)
	}
}

// Servers that are added while others are behind the gateway stay, and can follow them.
func TestGatewayKeepsWhatIsAddedMeanwhile(t *testing.T) {
	for _, id := range Clients() {
		was := sample(t, id)
		b := newBench(t, id, was)
		b.must(gateway)
		add := func(name string) {
			d, err := b.client.open([]byte(b.read()))
			require.NoError(t, err)
			require.NoError(t, d.set(name, []member{{"command", "added"}}))
			b.write(string(d.bytes()))
		}
		add("late")
		with := b.names()
		b.must(remove)
		require.ElementsMatch(t, append(b.names(), "todo"), append(with, movedNames(t, id, was)...), id)
		require.Equal(t, "added", b.server("late")["command"])

		b.write(was)
		b.must(gateway)
		add("late")
		b.must(gateway)
		require.Nil(t, b.server("late"), "it has moved, too")
		b.must(remove)
		require.Equal(t, "added", b.server("late")["command"])
		b.must(func(o *Options) { o.Remove, o.Entry.Name, o.Entry.Command = true, "late", "/opt/added" })
		require.Equal(t, was, b.read(), id)
	}
}

func movedNames(t *testing.T, id, text string) (out []string) {
	b := newBench(t, id, text)
	before := b.names()
	b.must(gateway)
	after := b.names()
	for _, name := range before {
		if !strings.Contains(" "+strings.Join(after, " ")+" ", " "+name+" ") {
			out = append(out, name)
		}
	}
	return out
}

func TestGatewayReturnsNothingTwice(t *testing.T) {
	b := newBench(t, "cursor", sample(t, "cursor"))
	b.must(gateway)
	b.write(strings.Replace(b.read(), `"local"`, `"linear"`, 1))
	has := b.read()
	_, err := b.run(remove)
	require.Equal(t, fault.Conflict, fault.CodeOf(err))
	require.ErrorContains(t, err, "linear")
	require.Equal(t, has, b.read())
	require.FileExists(t, b.machine.storePath(b.client))
}

// A server that somebody has changed in Koan's file is returned as it was, and what it
// became is kept.
func TestGatewayKeepsChangedServers(t *testing.T) {
	b := newBench(t, "cursor", sample(t, "cursor"))
	b.must(gateway)
	path := b.machine.storePath(b.client)
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, bytes.Replace(raw, []byte(`"gh"`), []byte(`"other"`), 1), 0o600))
	out := b.must(remove)
	require.Contains(t, out, "kept in its copy: github")
	require.Equal(t, sample(t, "cursor"), b.read())
	kept, err := os.ReadFile(path + ".koan-20261123-073000")
	require.NoError(t, err)
	require.Contains(t, string(kept), `"other"`)
}

func TestGatewayLeavesWhatTheAppWouldNotRead(t *testing.T) {
	b := newBench(t, "cursor", sample(t, "cursor"))
	b.options.Check = func(servers []byte) error {
		if bytes.Contains(servers, []byte("linear")) {
			return errors.New("no such transport")
		}
		return nil
	}
	require.Contains(t, b.must(gateway), "linear stays where it is: no such transport.")
	require.NotNil(t, b.server("linear"))
	require.Nil(t, b.server("github"))
}
