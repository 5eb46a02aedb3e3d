package e2e

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/plugins/kit"
)

// napDomain is the plugin that this test binary is under that name.
const napDomain = "nap"

type napIn struct {
	Ms   int  `json:"ms"`
	Fail bool `json:"fail,omitempty"`
}

type napOut struct {
	Ms int `json:"ms" jsonschema:"minimum=0"`
}

func napPlugin() kit.Plugin {
	nap := func(ctx context.Context, _ kit.Call, in napIn) (napOut, error) {
		select {
		case <-time.After(time.Duration(in.Ms) * time.Millisecond):
		case <-ctx.Done():
			return napOut{}, ctx.Err()
		}
		if in.Fail {
			return napOut{}, fault.New(fault.UpstreamError, "a bad dream")
		}
		return napOut{in.Ms}, nil
	}
	return kit.Plugin{
		Domain: napDomain, Version: "1.0.0", Description: "Sleeps.",
		Functions: []kit.Function{kit.Func("take", "Sleep for some milliseconds.", nap, kit.ReadOnly(), kit.Example(napIn{Ms: 1})), kit.Func("elsewhere", "Sleep in another place.", nap, kit.Outside())},
	}
}

// withNap returns an app with the plugin.
func withNap(t *testing.T) *app {
	t.Helper()
	a := newApp(t)
	dir := t.TempDir()
	self, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(self, filepath.Join(dir, napDomain)))
	a.env = append(a.env, "KOAN_PLUGINS_DIR="+dir)
	return a
}

// runResult is what codemode.run returns.
type runResult struct {
	Logs        []map[string]any
	Result      any
	Diagnostics []map[string]any
	ToolTrace   []map[string]any
}

// runModule calls codemode.run, which is never an error.
func (p *peer) runModule(args any) runResult {
	p.t.Helper()
	r := p.tool("codemode.run", args)
	require.False(p.t, r.IsError, "%s", r.Structured)
	var out runResult
	require.NoError(p.t, json.Unmarshal(r.Structured, &out))
	return out
}

func TestCodemodeRun(t *testing.T) {
	t.Parallel()
	p := withNap(t).serve("--codeMode.faces", "codemode", "--exposure", "code")
	require.Equal(t, []string{"codemode_run"}, toolNames(t, p), "exactly one tool")

	ok := p.runModule(map[string]any{"requestedCapabilities": []string{"koan", "nap"}, "code": `
import { listServers } from "@codemode/discovery";
import * as koan from "@codemode/servers/koan";
import { take } from "@codemode/servers/nap";
const before: number = (await koan.todo_count({})).count;
const [stored] = await Promise.all([koan.todo_upsert({ model: { title: "Sleep" } }), take({ ms: 20 })]);
console.log("stored", stored.title);
globalThis.__codemode_result__ = { before, after: (await koan.todo_count({})).count, servers: (await listServers()).map((s) => s.serverId) };`})
	require.Empty(t, ok.Diagnostics)
	require.Equal(t, map[string]any{"before": 1.0, "after": 2.0, "servers": []any{"koan", "files", "nap"}}, ok.Result)
	require.Equal(t, "log", ok.Logs[0]["level"])
	require.Len(t, ok.ToolTrace, 4)

	for code, diagnostic := range map[string]string{
		"let a = ;":         "SYNTAX_ERROR",
		"throw new Error()": "UNCAUGHT_EXCEPTION",
		"import x from 'x'": "IMPORT_FAILURE",
		"for (;;);":         "SANDBOX_LIMIT",
		"import { take } from '@codemode/servers/nap'; await take({ ms: 60000 })":                                        "SANDBOX_LIMIT",
		"import { take } from '@codemode/servers/nap'; await take({ ms: 1, fail: true })":                                "UNCAUGHT_EXCEPTION",
		"import { todo_upsert } from '@codemode/servers/koan'; await todo_upsert({ model: { title: 'gone' } }); throw 1": "UNCAUGHT_EXCEPTION",
	} {
		r := p.runModule(map[string]any{"code": code, "limits": map[string]any{"timeoutMs": 2500}})
		require.Nil(t, r.Result)
		require.NotEmpty(t, r.Diagnostics, code)
		require.Equal(t, diagnostic, r.Diagnostics[0]["code"], "%s: %v", code, r.Diagnostics)
	}
	require.NotEmpty(t, p.runModule(map[string]any{}).Diagnostics, "nor is a bad request an error")
	count := p.runModule(map[string]any{"code": `import { todo_count } from "@codemode/servers/koan"; globalThis.__codemode_result__ = (await todo_count({})).count`})
	require.Equal(t, 2.0, count.Result, "nothing of the failed runs was kept")
}

// TestPluginCallsInParallel has ten calls of 50 ms to a plugin's process, which
// take 500 ms one after another.
func TestPluginCallsInParallel(t *testing.T) {
	p := withNap(t).serve()
	const code = `import { take } from "@codemode/servers/nap";
await take({ ms: 1 });
const all = await Promise.all(Array.from({ length: 10 }, () => take({ ms: 50 })));
SDK.Out.answer(all.length);`
	began := time.Now()
	e := p.execute(code)
	require.True(t, e.Success, "%+v", e.Error)
	require.Equal(t, 10.0, e.Answer)
	require.Less(t, time.Since(began), 490*time.Millisecond)

	e = p.execute(`import { take } from "@codemode/servers/nap"; await Promise.all(Array.from({ length: 300 }, () => take({ ms: 1 })))`)
	require.True(t, e.Success, "those beyond the limit wait: %+v", e.Error)
}

// A run that is cancelled with calls in flight stops them, and holds nothing.
func TestCancelWithCallsInFlight(t *testing.T) {
	t.Parallel()
	p := withNap(t).serve()
	_, answer := p.post("tools/call", map[string]any{"name": "koan.code.execute", "arguments": map[string]any{
		"code": `import { take } from "@codemode/servers/nap"; SDK.Entities.Todo.upsert({ title: "x" }); await Promise.all([take({ ms: 50000 }), take({ ms: 60000 })])`,
	}})
	time.Sleep(time.Second)
	began := time.Now()
	p.notify("notifications/cancelled", map[string]any{"requestId": p.next.Load()})
	made := p.tool("todo.upsert", map[string]any{"model": map[string]any{"title": "y"}})
	require.False(t, made.IsError)
	require.JSONEq(t, `{"count":2}`, string(p.tool("todo.count", map[string]any{}).Structured))
	require.Less(t, time.Since(began), 5*time.Second)
	select {
	case m := <-answer:
		t.Fatalf("nothing more is sent about a cancelled call, but: %s", m.Result)
	case <-time.After(200 * time.Millisecond):
	}
}
