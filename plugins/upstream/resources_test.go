package upstream_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/needs"
)

// everything is an app over the real server of that name, and one that is not there.
func everything(t *testing.T) *koantest.Kit {
	t.Helper()
	needs.Node(t)
	program, err := filepath.Abs("../../tests/npm/node_modules/@modelcontextprotocol/server-everything/dist/index.js")
	require.NoError(t, err)
	command, err := json.Marshal([]string{"node", program})
	require.NoError(t, err)
	return koantest.New(t, framework.App{Name: "reader"},
		koantest.Setting{Key: "upstreams.everything.command", Value: string(command)},
		koantest.Setting{Key: "upstreams.absent.command", Value: "[/does/not/exist]"})
}

// The first run knows nothing of the server yet, the second one what it has.
func TestResourcesAndPromptsOfARealServer(t *testing.T) {
	t.Parallel()
	kit := everything(t)
	for range 2 {
		var got struct {
			Listed, Templates, Prompts int
			Text, Dynamic, Blob, Said  string
			ByName, ByObject           string
		}
		kit.Run(`
			const { $resources, $prompts } = SDK.Servers.everything;
			const { resources } = $resources.list();
			const text = $resources.read(resources[0].uri).contents[0];
			return {
				listed: resources.length, templates: $resources.templates().resourceTemplates.length, prompts: $prompts.list().prompts.length,
				text: text.mimeType, dynamic: $resources.read({ uri: "demo://resource/dynamic/text/1" }).contents[0].text,
				blob: $resources.read("demo://resource/dynamic/blob/1").contents[0].blob,
				said: $prompts.get("simple-prompt").messages[0].content.text,
				byName: $prompts.get("args-prompt", { city: "Bonn" }).messages[0].content.text,
				byObject: $prompts.get({ name: "args-prompt", arguments: { city: "Bonn" } }).messages[0].content.text,
			}`, koantest.Input{DryRun: true}).ResultInto(&got)
		require.Positive(t, got.Listed)
		require.Positive(t, got.Templates)
		require.Positive(t, got.Prompts)
		require.NotEmpty(t, got.Text)
		require.Contains(t, got.Dynamic, "Resource 1")
		require.NotEmpty(t, got.Blob)
		require.NotEmpty(t, got.Said)
		require.Contains(t, got.ByName, "Bonn")
		require.Equal(t, got.ByName, got.ByObject)
	}
	var got []string
	kit.Run(`
		import { $resources, $prompts } from "@codemode/servers/everything";
		import { listServers, listTools } from "@codemode/discovery";
		const [page, prompt, servers, tools] = await Promise.all([$resources.list(), $prompts.get("simple-prompt"), listServers(), listTools("everything")]);
		globalThis.result = [page.resources[0].uri, prompt.messages[0].role, servers.find((s) => s.serverId === "everything").capabilities.join(), String(tools.some((t) => t.toolName[0] === "$"))];
	`, koantest.Input{}).ResultInto(&got)
	require.True(t, strings.HasPrefix(got[0], "demo://"), got)
	require.Equal(t, []string{"user", "tools,prompts,resources", "false"}, got[1:])

	id := catalog.ID{Kind: catalog.KindUpstream, Owner: "everything", Op: "$resources.read"}
	op := kit.Instance().Snapshot().Operation(id)
	require.Equal(t, catalog.Effects{Outside: true, ReadOnly: true, Idempotent: true}, op.Effects)
	require.True(t, op.Untrusted, "what it reads is a stranger's text, as what tools return")
	var out json.RawMessage
	_, err := kit.Instance().Invoke(t.Context(), auth.Local(), "code::koan.search", map[string]any{"query": "read a resource of everything", "detail": "full"}, &out)
	require.NoError(t, err)
	require.Contains(t, string(out), "SDK.Servers.everything.$resources.read")
}

func TestFaultsOfResourcesAndPrompts(t *testing.T) {
	t.Parallel()
	kit := everything(t)
	kit.Run(`SDK.Servers.everything.echo({ message: "hello" })`, koantest.Input{})
	for _, c := range []struct {
		script string
		code   fault.Code
		path   string
	}{
		{`SDK.Servers.everything.$resources.read("demo://resource/dynamic/text/none")`, fault.UpstreamError, ""},
		{`SDK.Servers.everything.$resources.read({})`, fault.InvalidPayload, "/uri"},
		{`SDK.Servers.everything.$resources.read(7)`, fault.InvalidPayload, ""},
		{`SDK.Servers.everything.$resources.list({ page: 2 })`, fault.InvalidPayload, "/page"},
		{`SDK.Servers.everything.$prompts.get("args-prompt")`, fault.InvalidPayload, ""},
		{`SDK.Servers.everything.$prompts.get("no-such-prompt")`, fault.InvalidPayload, ""},
		{`SDK.Servers.everything.$prompts.write("x")`, fault.JavaScriptError, ""},
		{`SDK.Servers.absent.$resources.list()`, fault.ServiceUnavailable, ""},
		{`SDK.Servers.nobody.$resources.list()`, fault.JavaScriptError, ""},
	} {
		got := kit.Try(c.script, koantest.Input{})
		require.False(t, got.Success, c.script)
		require.Equal(t, c.code, got.Error.Code, "%s: %s", c.script, got.Error.Message)
		require.NotEmpty(t, got.Error.Hint, c.script)
		if c.path != "" {
			require.Equal(t, c.path, got.Error.Path, c.script)
		}
	}
}

// A server without resources has no $resources, one that does not know a URI says so, and
// pages are followed by their cursor.
func TestResourcesOverHTTP(t *testing.T) {
	t.Parallel()
	m := server.NewMCPServer("papers", "1", server.WithResourceCapabilities(false, false), server.WithPaginationLimit(2))
	for _, name := range []string{"a", "b", "c"} {
		m.AddResource(mcp.NewResource("paper://"+name, name), func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			return []mcp.ResourceContents{mcp.TextResourceContents{URI: "paper://" + name, Text: "about " + name}}, nil
		})
	}
	s := httptest.NewServer(server.NewStreamableHTTPServer(m, server.WithStateful(true)))
	t.Cleanup(s.Close)
	kit := koantest.New(t, framework.App{Name: "caller"}, koantest.Setting{Key: "upstreams.x.url", Value: s.URL})
	require.JSONEq(t, `["a","b","c"]`, string(kit.Run(`
		const names = [];
		for (let cursor; ;) {
			const page = SDK.Servers.x.$resources.list({ cursor });
			names.push(...page.resources.map((r) => r.name));
			if (!(cursor = page.nextCursor)) return names;
		}`, koantest.Input{}).Result))
	require.JSONEq(t, `"about b"`, string(kit.Run(`SDK.Servers.x.$resources.read("paper://b").contents[0].text`, koantest.Input{}).Result))
	got := kit.Try(`SDK.Servers.x.$resources.read("paper://none")`, koantest.Input{})
	require.Contains(t, []fault.Code{fault.NotFound, fault.UpstreamError}, got.Error.Code)
	require.Contains(t, got.Error.Message, "paper://none")
	require.JSONEq(t, `"undefined"`, string(kit.Run(`typeof SDK.Servers.x.$prompts`, koantest.Input{}).Result))
}
