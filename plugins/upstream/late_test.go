package upstream_test

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/framework/run/approve"
)

// fresh is an app whose server x takes a second to start, so that a first script calls tools
// that nobody has listed.
func fresh(t *testing.T, mode string, settings map[string]string, more ...koantest.Setting) *koantest.Kit {
	t.Helper()
	with := map[string]string{"env." + delayVariable: "1s"}
	maps.Copy(with, settings)
	app := framework.App{Name: "fresh"}
	if len(more) > 0 {
		app.Ledger = true // for plans
	}
	kit := koantest.New(t, app, append(settingsOf(t, []row{{id: "x", mode: mode, settings: with}}), more...)...)
	require.Nil(t, kit.Instance().Snapshot().Operation(parse(t, workID)))
	return kit
}

// What is configured of a tool by its name counts before the server is known.
func TestConfiguredEffectsOfUnlistedTools(t *testing.T) {
	t.Parallel()
	kit := fresh(t, "behaves", map[string]string{"effects.work": "read"})
	got := kit.Try(callsWork, koantest.Input{DryRun: true})
	require.True(t, got.Success, got.Error)

	kit = fresh(t, "behaves", map[string]string{})
	require.Equal(t, fault.DryRunBlocked, kit.Try(callsWork, koantest.Input{DryRun: true}).Error.Code, "nothing is known of it")
}

// A tool is what it is, whatever a script calls it.
func TestNamesLikeThoseOfUnlistedTools(t *testing.T) {
	t.Parallel()
	kit := fresh(t, "has odd names", map[string]string{"effects.with_blank": "read"})
	require.Equal(t, fault.DryRunBlocked, kit.Try(`SDK.Servers.x.with_blank({})`, koantest.Input{DryRun: true}).Error.Code, "its name is another one")
	require.JSONEq(t, `"done"`, string(kit.Run(`SDK.Servers.x.with_blank({})`, koantest.Input{}).Result))
}

// rulesOf returns settings that make an app ask about some calls.
func rulesOf(t *testing.T, mode, operation string) []koantest.Setting {
	t.Helper()
	return []koantest.Setting{
		{Key: "database", Value: "sqlite://" + t.TempDir()},
		{Key: "approval.mode", Value: mode},
		{Key: "approval.rules", Value: `[{"operation": "` + operation + `", "mode": "always"}]`},
		{Key: "codeMode.faces", Value: "[koan, gateway]"},
	}
}

// Rules of approval are about the tool that is called, also while nobody knows it yet.
func TestRulesNameUnlistedTools(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ mode, rule string }{
		"by its name":            {"never", workID},
		"by a pattern":           {"destructive", "upstream::x::wo*"},
		"as functions are named": {"never", "upstream::x.work"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kit := fresh(t, "counts", map[string]string{"effects.*": "write"}, rulesOf(t, c.mode, c.rule)...)
			got := kit.Try(callsWork, koantest.Input{Include: []string{"calls"}})
			require.False(t, got.Success)
			require.Equal(t, fault.ApprovalRequired, got.Error.Code, got.Error)
			require.Contains(t, got.Error.Message, "the call of x.work")
		})
	}
}

// callTool waits for tools as SDK.Servers does, by each name that they have.
func TestRulesHoldForIDsOfUnlistedTools(t *testing.T) {
	t.Parallel()
	for _, call := range []string{`callTool("upstream::x::work", {})`, `callTool(["upstream", "x", "work"].join("::"), {})`} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			kit := fresh(t, "counts", nil, rulesOf(t, "never", workID)...)
			_, err := kit.Call("code::gateway.execute", map[string]string{"code": call})
			require.Equal(t, fault.ApprovalRequired, fault.CodeOf(err), err)
		})
	}
}

// A call is recorded as one of the tool that was called.
func TestUnlistedToolsAreRecordedByName(t *testing.T) {
	t.Parallel()
	kit := fresh(t, "counts", map[string]string{"effects.work": "write"})
	got := kit.Try(callsWork+"; throw new Error('afterwards')", koantest.Input{})
	require.Len(t, got.Calls, 1)
	require.Equal(t, "x.work", got.Calls[0].ToolName)
	require.Len(t, got.OutsideEffects, 1)
	require.Equal(t, "x.work", got.OutsideEffects[0].ToolName)
}

// So are those of a server that nobody can reach.
func TestToolsOfUnreachableServersAreRecordedByName(t *testing.T) {
	t.Parallel()
	for _, code := range []string{`import { work } from "@codemode/servers/x"; await work({})`, callsWork} {
		kit := fresh(t, "", map[string]string{"command": "[/does/not/exist]"})
		got := kit.Try(code, koantest.Input{})
		require.Equal(t, fault.ServiceUnavailable, got.Error.Code, got.Error)
		require.Len(t, got.Calls, 1)
		require.Equal(t, []string{"x", "x.work"}, []string{got.Calls[0].ServerID, got.Calls[0].ToolName}, code)
	}
}

// What is wrong with a call comes before the question whether it may be made.
func TestNobodyIsAskedAboutCallsThatCannotBe(t *testing.T) {
	t.Parallel()
	for _, dry := range []bool{false, true} {
		absent := fresh(t, "", map[string]string{"command": "[/does/not/exist]"}, rulesOf(t, "destructive", "upstream::x::*")...)
		got := absent.Run(`try { SDK.Servers.x.work({}) } catch (e) { e.code + " " + e.retry }`, koantest.Input{DryRun: dry})
		require.JSONEq(t, `"service_unavailable safe"`, string(got.Result))
		kit := fresh(t, "counts", nil, rulesOf(t, "destructive", "upstream::x::*")...)
		require.Equal(t, fault.ToolNotFound, kit.Try(`SDK.Servers.x.absent({})`, koantest.Input{DryRun: dry}).Error.Code)
	}
}

// A plan of a run that began before the tools were known can be approved once they are.
func TestPlansOfUnlistedToolsAreApplied(t *testing.T) {
	t.Parallel()
	file := writeTool(t, filepath.Join(t.TempDir(), "tool"), workTool)
	for name, c := range map[string]struct {
		tool string
		code fault.Code
	}{
		"the tool is as it was":       {workTool, ""},
		"the tool is now another one": {strings.Replace(workTool, "Works.", "Deletes.", 1), fault.ApprovalRequired},
	} {
		t.Run(name, func(t *testing.T) {
			rules := rulesOf(t, "never", workID)
			settings := map[string]string{"env." + toolFileVariable: file}
			writeTool(t, file, workTool)
			got := fresh(t, "is redefined", settings, rules...).Try(callsWork, koantest.Input{})
			details, _ := got.Error.Details.(map[string]any)
			plan, _ := details["planId"].(string)
			require.NotEmpty(t, plan, got.Error)

			writeTool(t, file, c.tool)
			later := koantest.New(t, framework.App{Name: "fresh", Ledger: true}, append(settingsOf(t, []row{{id: "x", mode: "is redefined", settings: settings}}), rules...)...)
			require.Eventually(t, func() bool { return later.Instance().Snapshot().Operation(parse(t, workID)) != nil }, timeout, tick)
			_, err := later.As(boss()).Call("code::koan.execute", map[string]string{"planId": plan})
			require.Equal(t, c.code, fault.CodeOf(err), err)
		})
	}
}

// boss may approve, and do everything else.
func boss() auth.Principal {
	return auth.Principal{Subject: "boss", Scopes: []string{auth.All, approve.Scope}, Sets: []string{auth.All}}
}

// What names a tool of a server, or looks for one, waits until the server has been listed.
func TestUnlistedToolsAreAwaited(t *testing.T) {
	t.Parallel()
	faces := koantest.Setting{Key: "codeMode.faces", Value: "koan,codemode,gateway"}
	unlisted := func(t *testing.T, settings map[string]string) *koantest.Kit {
		t.Helper()
		kit := koantest.New(t, framework.App{Name: "fresh"}, append(settingsOf(t, []row{{id: "x", mode: "behaves", settings: settings}}), faces)...)
		require.Nil(t, kit.Instance().Snapshot().Operation(parse(t, workID)))
		return kit
	}
	for name, call := range map[string]func(kit *koantest.Kit) (string, error){
		"an import":    running(`import { work } from "@codemode/servers/x"; export default await work({})`),
		"a namespace":  running(`import * as x from "@codemode/servers/x"; export default await x.work({})`),
		"discovery":    running(`import { searchTools } from "@codemode/discovery"; export default (await searchTools("work")).results.length`),
		"koan search":  operation("code::koan.search", map[string]any{"query": "work"}),
		"code_search":  operation("code::gateway.search", map[string]any{"query": "work", "upstream": "x"}),
		"code_schema":  operation("code::gateway.schema", map[string]any{"id": workID}),
		"code_execute": operation("code::gateway.execute", map[string]any{"code": `return callTool("` + workID + `", {})`}),
		"a check":      operation("code::koan.validate", map[string]any{"code": `import { work } from "@codemode/servers/x"; await work({})`}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := call(unlisted(t, map[string]string{"env." + delayVariable: "300ms"}))
			require.NoError(t, err)
			require.NotEqual(t, "0", out)
			require.NotContains(t, out, `"results":[]`)
			require.NotContains(t, out, `"valid":false`)
		})
	}
	t.Run("a server that cannot be listed", func(t *testing.T) {
		t.Parallel()
		kit := unlisted(t, map[string]string{"env." + delayVariable: "1m", "startMs": "400"})
		out, err := operation("code::koan.search", map[string]any{"query": "work"})(kit)
		require.NoError(t, err)
		require.Contains(t, out, `"unlisted":["x"]`)
		before := time.Now()
		for range 10 {
			_, err := operation("code::koan.search", map[string]any{"query": "work"})(kit)
			require.NoError(t, err)
		}
		require.Less(t, time.Since(before), time.Second, "nobody waits again for a server that did not start")
		for _, call := range []func(*koantest.Kit) (string, error){
			operation("code::gateway.schema", map[string]any{"id": workID}),
			operation("code::gateway.execute", map[string]any{"code": `return callTool("` + workID + `", {})`}),
		} {
			_, err = call(kit)
			require.Equal(t, fault.ServiceUnavailable, fault.CodeOf(err), "%v", err)
		}
	})
}

// A module of a server that cannot be reached is there, and its functions say what became of the
// server; one that starts meanwhile is waited for, in files of actions too.
func TestModulesOfUnlistedServers(t *testing.T) {
	t.Parallel()
	const caught = ` catch (e) { return [e.code, e.retry, e instanceof ToolCallError] } }; export default await run();`
	for name, code := range map[string]string{
		"a name":                    `import { work } from "@codemode/servers/x"; const run = async () => { try { return await work({}) }`,
		"another name for it":       `import { work as w } from "@codemode/servers/x"; const run = async () => { try { return await w({}) }`,
		"a namespace":               `import * as x from "@codemode/servers/x"; const run = async () => { try { return await x.work({}) }`,
		"a namespace in TypeScript": `import * as x from "@codemode/servers/x"; const run = async (): Promise<any> => { try { return await x.work({}) }`,
		"a group":                   `import { $resources } from "@codemode/servers/x"; const run = async () => { try { return await $resources.list() }`,
		"a computed import":         `const run = async () => { try { return await (await import("@codemode/servers/" + "x")).work({}) }`,
		"a literal import":          `const run = async () => { try { const { work } = await import("@codemode/servers/x"); return await work({}) }`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			absent := fresh(t, "", map[string]string{"command": "[/does/not/exist]"})
			got := absent.Run(`import { ToolCallError } from "@codemode/errors"; `+code+caught, koantest.Input{})
			require.JSONEq(t, `["service_unavailable", "safe", true]`, string(got.Result))
		})
	}
	t.Run("a file of an action", func(t *testing.T) {
		t.Parallel()
		file := `import { work } from "@codemode/servers/x";
export const action = { description: "Works.", input: { type: "object" }, rights: "caller" };
export default async () => work({});`
		app := framework.App{Name: "fresh", Actions: fstest.MapFS{"busy.ts": {Data: []byte(file)}}}
		kit := koantest.New(t, app, settingsOf(t, []row{{id: "x", mode: "behaves", settings: map[string]string{"env." + delayVariable: "1s", "effects.work": "read"}}})...)
		require.JSONEq(t, `"done"`, string(kit.Run(`SDK.Actions.busy({})`, koantest.Input{}).Result))
	})
}

// A run that began before a server's tools were known is replayed as it was once they are.
func TestRunsOfUnlistedToolsAreReplayed(t *testing.T) {
	t.Parallel()
	kit := fresh(t, "behaves", map[string]string{"effects.*": "read"},
		koantest.Setting{Key: "database", Value: "sqlite://" + t.TempDir()}, koantest.Setting{Key: "replay.keep", Value: "all"})
	got := kit.Run(`[SDK.Servers.x.work({}), SDK.Servers.x.$call("work").content.length, (() => { try { SDK.Servers.x.absent({}) } catch (e) { return e.code } })()]`, koantest.Input{})
	require.JSONEq(t, `["done", 1, "tool_not_found"]`, string(got.Result))
	require.NotNil(t, kit.Instance().Snapshot().Operation(parse(t, workID)))
	require.EventuallyWithT(t, func(c *assert.CollectT) { // it is written beside the run
		again, err := kit.Instance().Replay(t.Context(), got.RunID, false)
		require.NoError(c, err)
		require.True(c, again.Identical, "%+v", again.Difference)
	}, timeout, tick)
}

func running(code string) func(*koantest.Kit) (string, error) {
	return func(kit *koantest.Kit) (string, error) {
		got := kit.Try(code, koantest.Input{})
		if !got.Success {
			return "", got.Error
		}
		return string(got.Result), nil
	}
}

func operation(id string, input map[string]any) func(*koantest.Kit) (string, error) {
	return func(kit *koantest.Kit) (string, error) {
		out, err := kit.Call(id, input)
		return string(out), err
	}
}

// A call that a server's tool fails has one class, however the tool is called.
func TestFailuresHaveOneClass(t *testing.T) {
	t.Parallel()
	kit := koantest.New(t, framework.App{Name: "fresh"}, settingsOf(t, []row{{id: "x", mode: "fails without a word"}})...)
	got := kit.Run(`import { work } from "@codemode/servers/x"; import { ToolCallError } from "@codemode/errors";
		const of = async (f) => { try { await f({}) } catch (e) { return [e instanceof ToolCallError, e instanceof KoanError, e.code] } };
		export default [await of(work), await of(SDK.Servers.x.work)]`, koantest.Input{})
	require.JSONEq(t, `[[true,true,"upstream_error"],[true,true,"upstream_error"]]`, string(got.Result))
}

// Whole results of tools that nobody has listed, too; rules are about the tool.
func TestWholeResultsOfUnlistedTools(t *testing.T) {
	t.Parallel()
	kit := fresh(t, "sends text and structure", map[string]string{})
	want := `{"content":[{"type":"text","text":"one"}],"structuredContent":{"n":1}}`
	require.JSONEq(t, want, string(kit.Run(`SDK.Servers.x.$call("work")`, koantest.Input{}).Result))

	kit = fresh(t, "sends text and structure", map[string]string{})
	require.JSONEq(t, want, string(kit.Run("import { work } from '@codemode/servers/x';\nglobalThis.result = (await work({})).$raw;", koantest.Input{}).Result))

	kit = fresh(t, "counts", map[string]string{"effects.*": "write"}, rulesOf(t, "never", workID)...)
	require.Equal(t, fault.ApprovalRequired, kit.Try(`SDK.Servers.x.$call("work", {})`, koantest.Input{}).Error.Code)
}

// What cannot be reached is not claimed to be there, and who asks for it is told why.
func TestUnreachableServersClaimNothing(t *testing.T) {
	t.Parallel()
	rows := []row{{id: "gone", mode: "", settings: map[string]string{"command": "[/does/not/exist]"}}, {id: "here", mode: "behaves"}}
	kit := koantest.New(t, framework.App{Name: "partly"}, append(settingsOf(t, rows), koantest.Setting{Key: "codeMode.faces", Value: "[koan, codemode]"})...)
	servers := "import { listServers } from '@codemode/discovery';\nglobalThis.__codemode_result__ = (await listServers()).map(s => [s.serverId, s.capabilities, s.unavailable ?? null]);"
	var said string
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		out, err := kit.Call("code::codemode.run", map[string]any{"code": servers, "requestedCapabilities": []string{"here", "gone"}})
		require.NoError(c, err)
		said = string(out)
		require.Contains(c, said, `["gone",[],"the server gone cannot be reached: `)
		require.Contains(c, said, `"CAPABILITY_UNAVAILABLE"`)
	}, timeout, tick)
	require.Contains(t, said, `["here",["tools"`)
	require.Contains(t, said, `"path":"/requestedCapabilities/1"`)
	require.NotContains(t, said, `"path":"/requestedCapabilities/0"`)
}

// Calls of callTool that are made at the same time return what the others do, pictures as files too, and
// are replayed.
func TestPromisesOfCallToolAreReplayed(t *testing.T) {
	t.Parallel()
	kit := fresh(t, "sends a picture", map[string]string{"effects.*": "read"}, koantest.Setting{Key: "codeMode.faces", Value: "gateway"},
		koantest.Setting{Key: "database", Value: "sqlite://" + t.TempDir()}, koantest.Setting{Key: "replay.keep", Value: "all"}, koantest.Setting{Key: "files.dir", Value: t.TempDir()})
	out, err := kit.Call("code::gateway.execute", map[string]any{"code": `const [a, b] = await Promise.all([1, 2].map(() => callTool("` + workID + `", {})));
		return [a[0], SDK.Files.text(b[1].$file)]`})
	require.NoError(t, err)
	var got struct {
		RunID  string
		Result json.RawMessage
	}
	require.NoError(t, json.Unmarshal(out, &got))
	require.JSONEq(t, `["look","hi"]`, string(got.Result))
	require.EventuallyWithT(t, func(c *assert.CollectT) { // it is written beside the run
		again, err := kit.Instance().Replay(t.Context(), got.RunID, false)
		require.NoError(c, err)
		require.True(c, again.Identical, "%+v", again.Difference)
	}, timeout, tick)
}
