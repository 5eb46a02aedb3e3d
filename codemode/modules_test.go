package codemode_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/internal/bind"
	"github.com/koan-go/koan/codemode/internal/language/sources"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/tests/typescript"
)

// The declarations cover what can be imported, and hold under tsc: right uses do,
// and wrong ones do not.
func TestModuleDeclarations(t *testing.T) {
	m := newModules(t, nil)
	all := sources.All()[0].Types().Modules(m.view, bind.App{Name: "house", Version: "test"})
	for _, s := range bind.Servers(m.view, bind.App{Name: "house", Version: "test"}) {
		for _, tool := range s.Tools {
			require.Contains(t, all, "export function "+tool.Export+"(")
		}
	}
	found := typescript.Check(t, map[string]string{
		"modules.d.ts": all,
		"right.ts": `import { of } from "@codemode/servers/square";
import * as koan from "@codemode/servers/koan";
import { listTools, searchTools, specVersion, type ToolDefinition } from "@codemode/discovery";
import { CodemodeError, SchemaValidationError, ToolCallError } from "@codemode/errors";
const n: number | undefined = (await of({ n: 1, ms: 2 })).n;
const all: ToolDefinition[] = await listTools("koan", { detail: "full" });
const hits = (await searchTools("x", { limit: 1 })).results.map((r) => r.serverId + r.exportName);
try { await koan.note_get_by_id({ id: "1" }) } catch (e) {
  if (e instanceof SchemaValidationError) e.expected?.length;
  if (e instanceof ToolCallError) e.toolName?.length;
  if (e instanceof CodemodeError) e.hint.length;
}
export const out = [n, all, hits, specVersion, koan.__meta__.tools.map((t) => t.exportName)];
`,
		"wrong-input.ts":  `import { of } from "@codemode/servers/square"; await of({ n: "1" }); export {};`,
		"wrong-export.ts": `import { off } from "@codemode/servers/square"; export const x = off;`,
		"no-await.ts":     `import { of } from "@codemode/servers/square"; export const n: number = of({ n: 1 }).n;`,
		"wrong-module.ts": `import * as x from "@codemode/servers/nope"; export const y = x;`,
		"wrong-detail.ts": `import { listTools } from "@codemode/discovery"; await listTools("koan", { detail: "all" }); export {};`,
	})
	require.Empty(t, found["right.ts"])
	require.Empty(t, found["modules.d.ts"])
	for _, file := range []string{"wrong-input.ts", "wrong-export.ts", "no-await.ts", "wrong-module.ts", "wrong-detail.ts"} {
		require.Len(t, found[file], 1, file)
	}
}

// changed is the house's view with another plugin beside square.
func (m *modules) changed(t *testing.T, during func()) *catalog.View {
	t.Helper()
	late := func(name string) *catalog.Operation {
		return &catalog.Operation{
			ID:       catalog.PluginID("late", name),
			Contract: catalog.Contract{Input: schema(""), Output: json.RawMessage(`{}`)},
			Listing:  catalog.Listing{Summary: "Came later.", Reach: catalog.Everywhere},
			Work: catalog.Work{
				Handler: func(context.Context, catalog.Call) (json.RawMessage, error) {
					if during != nil {
						during()
					}
					return json.RawMessage(`{}`), nil
				},
			},
		}
	}
	ops := []*catalog.Operation{late("one")}
	if during == nil {
		ops = append(ops, late("two"))
	}
	snapshot, err := catalog.NewSnapshot(m.library.offer(), m.square.offer(), catalog.Offer{Operations: ops}, m.provider.Offer())
	require.NoError(t, err)
	return snapshot.View(auth.Local(), exposure.Full, false)
}

// A rejected import() names what can be imported, servers too.
func TestRejectedImportsNameTheModules(t *testing.T) {
	m := newModules(t, nil)
	require.JSONEq(t, `"Import one of these: @codemode/discovery, @codemode/errors, @codemode/servers/koan, @codemode/servers/mail, @codemode/servers/square."`, m.gives(`await import("lodash").catch((e) => { globalThis.__codemode_result__ = e.hint })`))
	require.Contains(t, m.gives(`await import("lod" + "ash").catch((e) => { globalThis.__codemode_result__ = e.hint })`), "@codemode/servers/square")
}

// A change of the tools shows in the next run, and not in the one under way.
func TestToolListChanges(t *testing.T) {
	m := newModules(t, nil)
	next := m.changed(t, nil)
	m.view = m.changed(t, func() { m.view = next })
	const look = `import * as late from "@codemode/servers/late"; import { listTools } from "@codemode/discovery";
await late.one();
globalThis.__codemode_result__ = [Object.keys(late).sort(), (await listTools("late", { detail: "name" })).length];`
	require.JSONEq(t, `[["__meta__","default","one"],1]`, m.gives(look))
	require.JSONEq(t, `[["__meta__","default","one","two"],2]`, m.gives(look))
}

// One failing call fails itself alone.
func TestFailuresOfCallsAreExceptions(t *testing.T) {
	m := newModules(t, nil)
	e := m.module(`import * as koan from "@codemode/servers/koan"; import { of } from "@codemode/servers/square"; import { ToolCallError } from "@codemode/errors";
const settled = await Promise.allSettled([of({ n: 2 }), of({ n: -1 }), koan.note_get_by_id({ id: "9" }), koan.note_get_by_id({ id: "1" })]);
globalThis.__codemode_result__ = settled.map((s) => s.status === "fulfilled" ? (s.value.n ?? s.value.text) : [s.reason instanceof ToolCallError, s.reason.code]);`)
	require.JSONEq(t, `[4,[true,"upstream_error"],[true,"not_found"],"first"]`, string(e.Result))
	require.Equal(t, 4, len(e.ToolTrace))
	for _, c := range e.ToolTrace {
		raw, err := json.Marshal(c)
		require.NoError(t, err)
		var keys map[string]any
		require.NoError(t, json.Unmarshal(raw, &keys))
		for k := range keys {
			require.Contains(t, []string{"serverId", "toolName", "durationMs", "ok", "error"}, k)
		}
		require.Contains(t, []string{"koan", "square"}, c.ServerID)
	}
}

// Whoever forgets await is told so: where a promise has not what is read of it, where it is taken for a
// text or a number, and in the logs where it is only tested.
func TestForgottenAwait(t *testing.T) {
	m := newModules(t, nil)
	const imports = `import * as koan from "@codemode/servers/koan"; import { of } from "@codemode/servers/square";`
	for code, message := range map[string]string{
		`globalThis.x = of({ n: 2 }).n`:                         "return a promise, which has no `n`",
		`const { n } = of({ n: 2 });`:                           "return a promise, which has no `n`",
		`globalThis.x = koan.note_collection({}).items?.length`: "return a promise, which has no `items`",
		`const p = of({ n: 2 }); globalThis.x = p[0]`:           "return a promise, which has no `0`",
		"globalThis.x = `${of({ n: 2 })}`":                      "return a promise, which is neither a text nor a number",
		`globalThis.x = of({ n: 2 }) + 1`:                       "return a promise, which is neither a text nor a number",
		`globalThis.x = of({ n: 2 }) == "4"`:                    "return a promise, which is neither a text nor a number",
	} {
		e := m.module(imports + code)
		require.Len(t, e.errors(), 1, code)
		require.Contains(t, e.Diagnostics[0].Message, message, code)
		require.Contains(t, e.Diagnostics[0].Hint, "Await it first", code)
	}
	for _, code := range []string{
		`if (of({ n: 2 })) globalThis.__codemode_result__ = 1`, `globalThis.__codemode_result__ = of({ n: 2 }) === 4`, `of({ n: 2 }); globalThis.__codemode_result__ = 1`, `for (let i = 0; i < 3; i++) of({ n: i }); globalThis.__codemode_result__ = 1`, `console.log(of({ n: 2 }))`,
	} {
		e := m.module(imports + code)
		require.Empty(t, e.errors(), code)
		require.NotEmpty(t, e.Logs, code)
		last := e.Logs[len(e.Logs)-1]
		if !strings.Contains(code, "console") {
			require.Len(t, e.Logs, 1, code)
		}
		require.Equal(t, "Nothing has awaited the promise of of(...) in line 1, so the script went on without its result. Write await before the call, unless that is meant.", last.Message, code)
	}
	for _, code := range []string{
		`await of({ n: 2 })`, `of({ n: 2 }).then(() => {})`, `const f = async () => of({ n: 2 }); await f()`, `await Promise.all([of({ n: 2 }), koan.note_collection({})])`,
		`for await (const x of [of({ n: 2 })]) ;`, `const p = of({ n: 2 }); if (p instanceof Promise && p.constructor === Promise && Promise.resolve(p) === p) await p; else throw new Error("not native")`,
		`const p = of({ n: 2 }); if (!p.done) p.then(() => { p.done = true }); await p; globalThis.__codemode_result__ = p.done`,
		`globalThis.__codemode_result__ = of({ n: 2 })`, `await Promise.race([of({ n: 2 })])`, `try { await of({ n: -1 }) } catch {}`, `await Promise.allSettled([of({ n: -1 })])`,
	} {
		e := m.module(imports + code)
		require.Empty(t, e.errors(), code)
		require.Empty(t, e.Logs, code)
	}
}

// What a run can only warn of, a check finds.
func TestChecksFindForgottenAwait(t *testing.T) {
	m := newModules(t, nil)
	check := func(code string) string {
		raw, err := json.Marshal(in{"code": `import { of } from "@codemode/servers/square";` + code})
		require.NoError(t, err)
		out, _, err := m.engine.Invoke(t.Context(), run.Request{View: m.view, Principal: auth.Local(), ID: catalog.CodeID("koan", "validate"), Input: raw, Surface: "test", Via: catalog.SurfaceTools})
		require.NoError(t, err)
		return string(out)
	}
	for _, code := range []string{
		`if (of({ n: 2 })) 1`, `of({ n: 2 }) ? 1 : 2`, `!of({ n: 2 })`, `while (of({ n: 2 })) 1`, `for (; of({ n: 2 }); ) 1`, `do 1; while (of({ n: 2 }))`, `of({ n: 2 }) && 1`,
		`of({ n: 2 }) ?? 1`, `of({ n: 2 }) === 4`, `4 == of({ n: 2 })`, `of({ n: 2 }) + 1`, `1 < of({ n: 2 })`, "`${of({ n: 2 })}`", `const p = of({ n: 2 }); if (p) 1`,
	} {
		require.Contains(t, check(code), `"unawaited_promise"`, code)
	}
	for _, code := range []string{
		`if (await of({ n: 2 })) 1`, `const p = of({ n: 2 }); p instanceof Promise`, `typeof of({ n: 2 })`, `const x = 1 && of({ n: 2 }); await x`, `const f = async () => of({ n: 2 }); if (f()) 1`,
		`let p; if (!p) p = of({ n: 2 }); if (p) await p;`,
		`const p = of({ n: 2 }); const q = of({ n: 3 }); if (await Promise.race([p, q]) && p === q) 1; [p, q].filter((x) => x !== p)`, `const all = [of({ n: 2 })]; if (all.length) await Promise.all(all)`,
	} {
		require.Equal(t, `{"valid":true}`, check(code), code)
	}
}

// A request that is refused before it is a run is in the journal like any other.
func TestRefusedModulesAreReported(t *testing.T) {
	m := newModules(t, nil)
	for _, raw := range []string{`{}`, `{"code":5}`, `{"code":""}`, `{"code":"1","more":1}`} {
		e := m.request(t.Context(), raw)
		require.NotEmpty(t, e.errors(), raw)
		require.NotNil(t, e.outcome, raw)
		require.True(t, e.outcome.Refused, raw)
	}
	require.False(t, m.request(t.Context(), `{"code":"1"}`).outcome.Refused)
}
