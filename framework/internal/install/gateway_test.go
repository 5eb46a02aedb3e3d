package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
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

// Of servers with one id behind the app those stay that it would leave out: the one that is called so moves,
// else the first.
func TestGatewayMovesTheServersThatTheAppTakes(t *testing.T) {
	const was = `{"mcpServers": {"my.notes": {"command": "/a"}, "my notes": {"command": "/b"}, "my-notes": {"command": "/c"}, "z z": {"command": "/d"}, "z.z": {"command": "/e"}}}`
	b := newBench(t, "cursor", was)
	b.options.Check = func(servers []byte) error {
		var file struct {
			Servers map[string]json.RawMessage `json:"mcpServers"`
		}
		require.NoError(t, json.Unmarshal(servers, &file))
		ids := map[string]bool{}
		for name := range file.Servers {
			id := catalog.UpstreamID(name)
			if ids[id] {
				return errors.New("two servers have one id")
			}
			ids[id] = true
		}
		return nil
	}
	out := b.must(gateway)
	for _, name := range []string{"my.notes", "my notes", "z.z"} {
		require.NotNil(t, b.server(name), name)
		require.Contains(t, out, name+" stays where it is: two servers have one id")
	}
	for _, name := range []string{"my-notes", "z z"} {
		require.Nil(t, b.server(name), name)
	}
	b.must(remove)
	require.Equal(t, was, b.read())
}

// elsewhere makes the settings, and with them the file that servers are moved to, lie in
// another folder.
func (b *bench) elsewhere() { b.env["XDG_CONFIG_HOME"] = filepath.Join(b.machine.Home, "other") }

// The entry says where its servers are, wherever others would be moved now.
func TestGatewayReturnsFromTheFileOfTheEntry(t *testing.T) {
	for _, id := range []string{"claude-code", "cursor", "gemini", "codex"} { // the file of each stays where it is
		was := sample(t, id)
		b := newBench(t, id, was)
		b.must(gateway)
		path := b.machine.storePath(b.client)
		once := b.read()
		b.elsewhere()
		require.NotEqual(t, path, b.machine.storePath(b.client))
		require.Contains(t, b.must(gateway), "Nothing to change", id)
		require.Contains(t, b.must(nil), "Nothing to change", "they stay behind it")
		_, err := b.run(func(o *Options) { o.Entry.Name, o.Gateway = "second", true })
		require.Equal(t, fault.Conflict, fault.CodeOf(err), id)
		require.ErrorContains(t, err, `behind "todo" already`)
		_, err = b.run(func(o *Options) { o.Entry.Args, o.Entry.URL = nil, "http://127.0.0.1:8080/mcp" })
		if b.client.url != "" {
			require.Equal(t, fault.Conflict, fault.CodeOf(err), id)
		}
		require.Equal(t, once, b.read(), id)
		require.Contains(t, b.must(remove), "Returned from "+path, id)
		require.Equal(t, was, b.read(), id)
		require.NoFileExists(t, path)
	}
}

// Without the file with the servers, their last trace is not taken away.
func TestGatewayWithoutItsFile(t *testing.T) {
	for name, lose := range map[string]func(path string) error{
		"gone":    os.Remove,
		"damaged": func(path string) error { return os.WriteFile(path, []byte("{"), 0o600) },
		"a folder": func(path string) error {
			return errors.Join(os.Remove(path), os.Mkdir(path, 0o700))
		},
	} {
		b := newBench(t, "cursor", sample(t, "cursor"))
		b.must(gateway)
		path, once := b.machine.storePath(b.client), b.read()
		require.NoError(t, lose(path))
		for _, elsewhere := range []bool{false, true} {
			if elsewhere {
				b.elsewhere()
			}
			for _, change := range []func(*Options){remove, gateway, nil} {
				_, err := b.run(change)
				require.ErrorContains(t, err, path, name)
				require.NotEmpty(t, fault.From(err).Hint, name)
				require.Equal(t, once, b.read(), name)
			}
		}
	}
}

// A file of the user's own, given with --mcp-config, is none that servers were moved to.
func TestRemoveEntryWithAFileOfTheUser(t *testing.T) {
	for _, text := range []string{"", "{", `{"mcpServers": {}}`} {
		b := newBench(t, "cursor", sample(t, "cursor"))
		own := filepath.Join(b.machine.Home, "mine.json")
		if text != "" {
			require.NoError(t, os.WriteFile(own, []byte(text), 0o600))
		}
		b.must(func(o *Options) { o.Entry.Args = []string{"gateway", "--mcp-config", own} })
		require.NotContains(t, b.must(remove), "Returned")
		require.Equal(t, sample(t, "cursor"), b.read())
		if text != "" {
			require.FileExists(t, own)
		}
	}
}

// The servers of a client's file that was copied are returned to both.
func TestGatewayReturnsToACopy(t *testing.T) {
	was := sample(t, "gemini")
	b := newBench(t, "gemini", was)
	b.must(gateway)
	path, first, once := b.machine.storePath(b.client), b.path, b.read()
	b.env["GEMINI_CLI_HOME"] = t.TempDir()
	b.path = b.client.file(b.machine)
	require.NoError(t, os.MkdirAll(filepath.Dir(b.path), 0o700))
	b.write(once)
	_, err := b.run(gateway)
	require.Equal(t, fault.Conflict, fault.CodeOf(err))
	b.must(remove)
	require.Equal(t, was, b.read())
	require.FileExists(t, path)
	b.path, b.env["GEMINI_CLI_HOME"] = first, ""
	b.must(remove)
	require.Equal(t, was, b.read())
	require.NoFileExists(t, path)
}

// What has not been done is not said to be done.
func TestGatewaySaysWhatItHasMoved(t *testing.T) {
	b := newBench(t, "cursor", sample(t, "cursor"))
	show := func(o *Options) { o.Print = true }
	out := b.must(func(o *Options) { gateway(o); show(o) })
	require.Contains(t, out, "Would move to "+b.machine.storePath(b.client)+": github, linear.")
	require.NotContains(t, out, "Moved to")
	require.NoError(t, os.Chmod(b.path, 0o400))
	out, err := b.run(gateway)
	require.Equal(t, fault.Forbidden, fault.CodeOf(err))
	require.NotContains(t, out, "Moved to")
	require.NoError(t, os.Chmod(b.path, 0o600))
	out = b.must(gateway)
	require.Contains(t, out, "Moved to "+b.machine.storePath(b.client)+": github, linear.")
	require.NotContains(t, out, "Would move")
	out = b.must(func(o *Options) { remove(o); show(o) })
	require.Contains(t, out, "Would return from "+b.machine.storePath(b.client))
	require.NotContains(t, out, "Returned from")
	require.Contains(t, b.must(remove), "Returned from "+b.machine.storePath(b.client))
}
