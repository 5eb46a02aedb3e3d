package upstream_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
)

// namesOfJavaScript are names of tools that mean something to the language.
var namesOfJavaScript = []string{"__proto__", "constructor", "then", "toString", "valueOf", "hasOwnProperty", "prototype", "default", "await", "eval", "arguments", "enum", "implements", "undefined", "NaN", "__meta__", "toJSON", "$resources", "name", "length", "class", "class_", "async", "get", "of", "let"}

func TestToolsWithNamesOfJavaScript(t *testing.T) {
	t.Parallel()
	kit := strange(t, "has names of JavaScript", nil)
	var names []string
	kit.Run(`Object.keys(SDK.Servers.x)`, koantest.Input{}).ResultInto(&names)
	require.Len(t, names, len(namesOfJavaScript))
	for _, name := range names {
		require.JSONEq(t, `"done"`, string(kit.Run(`SDK.Servers.x[SDK.args]({})`, koantest.Input{Args: name}).Result), name)
		require.JSONEq(t, `"done"`, string(kit.Run("import * as x from '@codemode/servers/x';\nglobalThis.result = await x[SDK.args]({});", koantest.Input{Args: name}).Result), name)
	}
	// Nothing that JavaScript calls by itself is a tool.
	for _, script := range []string{
		"const x = await import('@codemode/servers/x'); return typeof x.then_", "import * as x from '@codemode/servers/x';\nexport default typeof (await x).then_",
		"return typeof (await SDK.Servers.x).then_", "JSON.stringify(SDK.Servers.x); `${SDK.Servers.x}`; console.log(SDK.Servers.x); return typeof SDK.Servers.x.toJSON_",
	} {
		got := kit.Run(script, koantest.Input{})
		require.JSONEq(t, `"function"`, string(got.Result), script)
		require.Empty(t, got.Calls, script)
	}
}

func TestHardSchemas(t *testing.T) {
	t.Parallel()
	kit := strange(t, "has hard schemas", nil)
	for _, call := range []string{"cycle({a: 1})", "self({})", "tree({kids: [{kids: []}]})", "large({})", "choices({c: {kind: 'k499', n: 1}})", "deep({d: [[[]]]})", "defaults({n: 5})", "pattern({p: 'abc'})", "proto({constructor: 'x'})"} {
		require.JSONEq(t, `"done"`, string(kit.Run("SDK.Servers.x."+call, koantest.Input{}).Result), call)
	}
	for _, call := range []string{"tree({kids: [{kid: []}]})", "choices({c: {kind: 'k500'}})", "proto({})", "defaults({})"} {
		got := kit.Try("SDK.Servers.x."+call, koantest.Input{})
		require.False(t, got.Success, call)
		require.Equal(t, fault.InvalidPayload, got.Error.Code, "%s: %s", call, got.Error.Message)
	}
}

// What cannot be used of a schema is left out, and said; all else holds.
func TestUnusualSchemasHoldAsFarAsTheyCan(t *testing.T) {
	t.Parallel()
	settings := settingsOf(t, []row{{id: "x", mode: "has unusual schemas"}})
	kit := koantest.New(t, framework.App{Name: "unusual"}, append(settings, koantest.Setting{Key: "codeMode.faces", Value: "[koan, gateway]"})...)
	kit.Try(`SDK.Servers.x.dialect({a: "a"})`, koantest.Input{}) // its tools are known afterwards
	for name := range unusualProperties {
		require.JSONEq(t, `"done"`, string(kit.Run(`SDK.Servers.x[SDK.args]({a: "a"})`, koantest.Input{Args: name}).Result), name)
		require.Equal(t, fault.InvalidPayload, kit.Try(`SDK.Servers.x[SDK.args]({})`, koantest.Input{Args: name}).Error.Code, name)
		schema, err := kit.Call("code::gateway.schema", map[string]string{"id": "upstream::x::" + name})
		require.NoError(t, err)
		require.Contains(t, string(schema), "Not checked before a call, since it cannot be used: /properties/a/", name)
	}
	require.JSONEq(t, `"done"`, string(kit.Run(`SDK.Servers.x.dialect({a: 1})`, koantest.Input{}).Result))
}

// What a person has named comes before what is built in, which has a longer name that is always there.
func TestUpstreamsKeepTheirModules(t *testing.T) {
	t.Parallel()
	kit := koantest.New(t, framework.App{Name: "names"}, append(settingsOf(t, []row{{id: "files", mode: "behaves"}, {id: "koan", mode: "behaves"}}), koantest.Setting{Key: "files.dir", Value: t.TempDir()})...)
	const calls = `import { work } from "@codemode/servers/files"; import { work as other } from "@codemode/servers/koan"; import * as built from "@codemode/servers/koan-files";
		export default [await work({}), await other({}), typeof built.create];`
	require.JSONEq(t, `["done","done","function"]`, string(kit.Run(calls, koantest.Input{}).Result))
	alone := koantest.New(t, framework.App{Name: "names"}, koantest.Setting{Key: "files.dir", Value: t.TempDir()})
	require.JSONEq(t, `["function","function"]`, string(alone.Run(`import * as short from "@codemode/servers/files"; import * as long from "@codemode/servers/koan-files";
		export default [typeof short.create, typeof long.create];`, koantest.Input{}).Result))
}

// clientFile writes a client's file with servers that behave, by name, and returns the setting that names it.
func clientFile(t *testing.T, names ...string) koantest.Setting {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	servers := map[string]any{}
	for _, name := range names {
		servers[name] = map[string]any{"command": self, "env": map[string]string{modeVariable: "behaves"}}
	}
	raw, err := json.Marshal(map[string]any{"mcpServers": servers})
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "mcp.json")
	require.NoError(t, os.WriteFile(path, raw, 0o600))
	return koantest.Setting{Key: "mcp-config", Value: path}
}

// A server has one name in any script: below SDK.Servers, as a module, in discovery, searches and rules.
func TestServersWithNamesInAllScripts(t *testing.T) {
	t.Parallel()
	kit := koantest.New(t, framework.App{Name: "names"}, clientFile(t, "сервер", "ссылка", "données", "$x", "", "..."), koantest.Setting{Key: "upstreams.сервер.effects.work", Value: "read"})
	for _, name := range []string{"сервер", "ссылка", "données", "$x"} {
		require.JSONEq(t, `"done"`, string(kit.Run("SDK.Servers."+name+".work({})", koantest.Input{}).Result), name)
		require.JSONEq(t, `"done"`, string(kit.Run(`import { work } from "@codemode/servers/`+name+`"; export default await work({});`, koantest.Input{}).Result), name)
		require.JSONEq(t, `true`, string(kit.Run(`import { listServers, describeServer } from "@codemode/discovery";
			export default (await listServers()).some(s => s.serverId === SDK.args) && (await describeServer(SDK.args)).serverId === SDK.args;`, koantest.Input{Args: name}).Result), name)
		found, err := kit.Call("code::koan.search", map[string]any{"query": "work of " + name})
		require.NoError(t, err)
		require.Contains(t, string(found), "SDK.Servers."+name+".work", name)
	}
	require.JSONEq(t, `"done"`, string(kit.Run(`SDK.Servers["---"].work({})`, koantest.Input{}).Result))
}
