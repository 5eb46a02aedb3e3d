package bind

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
)

func viewOf(t *testing.T, ids ...catalog.ID) *catalog.View {
	t.Helper()
	var ops []*catalog.Operation
	for _, id := range ids {
		ops = append(ops, &catalog.Operation{
			ID:       id,
			Contract: catalog.Contract{Input: json.RawMessage(`{"type":"object"}`), Output: json.RawMessage(`{}`)},
			Listing:  catalog.Listing{Summary: "Does it.", Reach: catalog.ReachScript},
			Work: catalog.Work{
				Handler: func(context.Context, catalog.Call) (json.RawMessage, error) { return json.RawMessage(`{}`), nil },
			},
		})
	}
	s, err := catalog.NewSnapshot(catalog.Offer{Operations: ops})
	require.NoError(t, err)
	return s.View(auth.Local(), exposure.Full, false)
}

func upstream(server, tool string) catalog.ID {
	return catalog.ID{Kind: catalog.KindUpstream, Owner: server, Op: tool}
}

func TestModulePaths(t *testing.T) {
	for in, want := range map[string]string{
		"vision": "vision", "GoogleDrive": "googledrive", "google_drive": "google-drive", "a.b c": "a-b-c", "a__b--c": "a-b-c", "--a--": "a", "_x_": "x",
		"Ünïcode": "ünïcode", "сервер": "сервер", "моя.служба": "моя-служба", "$x": "$x", "123": "123", "___": "server",
	} {
		require.Equal(t, want, moduleID(in, map[string]bool{}), in)
	}
	taken := map[string]bool{}
	require.Equal(t, []string{"my-server", "my-server--2", "my-server--3"}, []string{moduleID("my-server", taken), moduleID("my_server", taken), moduleID("My Server", taken)})
}

func TestCollidingServers(t *testing.T) {
	v := viewOf(t, upstream("my_server", "a"), upstream("my-server", "b"), catalog.PluginID("koan", "c"))
	var got []string
	for _, s := range Servers(v, App{Name: "app"}) {
		for _, tool := range s.Tools {
			got = append(got, s.ID+" "+tool.Name)
		}
	}
	require.Equal(t, []string{"koan-koan c", "my-server b", "my-server--2 a"}, got)
	v = viewOf(t, upstream("GitHub", "a"), upstream("github", "b")) // who is called as the module comes first
	ids := map[string]string{}
	for _, s := range Servers(v, App{Name: "app"}) {
		ids[s.Name] = s.ID
	}
	require.Equal(t, map[string]string{"GitHub": "github--2", "github": "github"}, ids)
}

func TestExports(t *testing.T) {
	names := map[string]string{
		"plain": "plain", "with-dash": "with_dash", "with.dot/slash": "with_dot_slash", "123tool": "_123tool", "__meta__": "__meta____2", "$resources": "$resources__2", "$prompts": "$prompts__2", "$other": "$other",
		"a-b": "a_b__2", "a.b": "a_b__3", "a_b": "a_b", "class_": "class_", "eval": "eval", "undefined": "undefined",
	}
	for _, w := range []string{
		"break", "case", "class", "const", "continue", "debugger", "default", "delete", "do", "else", "export", "extends", "false", "finally", "for", "function", "if",
		"import", "in", "instanceof", "new", "null", "return", "super", "switch", "this", "throw", "true", "try", "typeof", "var", "void", "while", "with", "yield", "let", "static", "await",
		"catch", "enum", "implements", "interface", "package", "private", "protected", "public",
	} {
		names[w] = w + "_"
	}
	names["class"] = "class___2" // another tool has the name itself
	var ids []catalog.ID
	for name := range names { // in any order
		ids = append(ids, upstream("s", name))
	}
	servers := Servers(viewOf(t, ids...), App{Name: "app"})
	require.Len(t, servers, 1, "there are no entities")
	s := servers[0]
	got := map[string]string{}
	for i, tool := range s.Tools {
		got[tool.Name] = tool.Export
		require.Equal(t, tool.ID, s.Operations[i].ID.String())
		if i > 0 {
			require.Less(t, s.Tools[i-1].Name, tool.Name, "alphabetical by the tool's name")
		}
	}
	require.Equal(t, names, got)
	by, op := s.Tool("a_b")
	require.Equal(t, "a_b", by.Name, "the tool's own name comes before an export")
	require.Equal(t, "a_b", op.ID.Op)
}

func TestImporting(t *testing.T) {
	v := viewOf(t, upstream("one", "a"), upstream("two", "b"))
	tools := func(may func(string) bool) map[string]int {
		out := map[string]int{}
		for _, s := range Importing(v, App{Name: "app"}, may).Servers {
			out[s.ID] = len(s.Tools)
		}
		return out
	}
	require.Empty(t, tools(nil))
	require.Equal(t, map[string]int{"one": 0, "two": 0}, tools(func(string) bool { return false }))
	require.Equal(t, map[string]int{"one": 1, "two": 0}, tools(func(path string) bool { return path == "@codemode/servers/one" }))
	require.Equal(t, map[string]int{"one": 1, "two": 1}, tools(func(string) bool { return true }))
}

func FuzzExports(f *testing.F) {
	f.Add("tool", "tool.x")
	f.Add("1", "_1")
	f.Add("class", "class_")
	f.Fuzz(func(t *testing.T, a, b string) {
		taken := map[string]bool{}
		for _, name := range []string{a, b, a} {
			id := moduleID(name, taken)
			require.Regexp(t, `^[a-z0-9]+(-[a-z0-9]+)*(--\d+)?$`, id)
		}
		require.Len(t, taken, 3)
		export := catalog.Exports([]string{a})[0]
		require.NotEqual(t, wire.MetaExport, export)
		require.NotEmpty(t, wire.ModuleServers+export)
	})
}
