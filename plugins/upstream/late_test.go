package upstream_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
)

// fresh is an app whose server x takes a second to start, so that a first script calls tools
// that nobody has listed.
func fresh(t *testing.T, mode string, settings map[string]string) *koantest.Kit {
	t.Helper()
	settings["env."+delayVariable] = "1s"
	kit := koantest.New(t, framework.App{Name: "fresh"}, settingsOf(t, []row{{id: "x", mode: mode, settings: settings}})...)
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

// A script's name for a tool may be another tool's own.
func TestNamesLikeThoseOfUnlistedTools(t *testing.T) {
	t.Parallel()
	kit := fresh(t, "has odd names", map[string]string{"effects.with_blank": "read"})
	got := kit.Try(`SDK.Servers.x.with_blank({})`, koantest.Input{})
	require.Equal(t, fault.Conflict, got.Error.Code)
	require.Contains(t, got.Error.Message, "with_blank is the tool with blank")
	require.Equal(t, fault.DryRunBlocked, kit.Try(`SDK.Servers.x.with_blank({})`, koantest.Input{DryRun: true}).Error.Code)
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
		kit := unlisted(t, map[string]string{"env." + delayVariable: "1m", "startMs": "200"})
		out, err := operation("code::koan.search", map[string]any{"query": "work"})(kit)
		require.NoError(t, err)
		require.Contains(t, out, `"unlisted":["x"]`)
		for _, call := range []func(*koantest.Kit) (string, error){
			operation("code::gateway.schema", map[string]any{"id": workID}),
			operation("code::gateway.execute", map[string]any{"code": `return callTool("` + workID + `", {})`}),
		} {
			_, err = call(kit)
			require.Equal(t, fault.ServiceUnavailable, fault.CodeOf(err), "%v", err)
		}
	})
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
