package sandbox

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/fault"
)

// imported returns a job with two servers: koan, whose calls are ordered, and vision.
func imported(code string) *wire.Job {
	j := job(code)
	j.Bindings.Servers = []wire.Server{
		{ID: "koan", Name: "todo", Version: "1.2.3", Ordered: true, Tools: []wire.Tool{
			{Name: "todo.delete", Export: "todo_delete", ID: "koan::Todo.delete"},
			{Name: "todo.get-by-id", Export: "todo_get_by_id", ID: "koan::Todo.get-by-id", Description: "Reads one."},
		}},
		{ID: "vision", Name: "vision", Tools: []wire.Tool{{Name: "detect", Export: "detect", ID: "plugin::vision.detect"}}},
	}
	return j
}

// slowHost returns a host that answers a plugin call after the delay in its input.
func slowHost() *todoHost {
	h := newHost()
	h.serve = map[string]func(context.Context, json.RawMessage) (string, error){
		"plugin::vision.detect": func(ctx context.Context, in json.RawMessage) (string, error) {
			var q struct {
				Ms   int
				Fail string
			}
			if err := json.Unmarshal(in, &q); err != nil {
				return "", fault.Invalid(fault.Detail{Path: "/ms", Message: "ms must be a number", Expected: "number", Received: "string"})
			}
			select {
			case <-time.After(time.Duration(q.Ms) * time.Millisecond):
			case <-ctx.Done():
				return "", ctx.Err()
			}
			if q.Fail != "" {
				return "", fault.New(fault.Code(q.Fail), "it failed")
			}
			return string(in), nil
		},
	}
	return h
}

func TestModules(t *testing.T) {
	cases := map[string]struct{ code, result string }{
		"named":                    {`import { detect } from "@codemode/servers/vision"; const r = await detect({a: 1}); r`, `{"a":1}`},
		"namespace":                {`import * as vision from "@codemode/servers/vision"; (await vision.detect({a: 1})).a`, `1`},
		"renamed":                  {`import { detect as see } from "@codemode/servers/vision"; (await see({a: 2})).a`, `2`},
		"default is the namespace": {`import vision from "@codemode/servers/vision"; (await vision.detect({a: 3})).a`, `3`},
		"dynamic":                  {`const v = await import("@codemode/servers/vision"); (await v.detect({a: 4})).a`, `4`},
		"computed":                 {`const id = "vision"; const v = await import("@codemode/servers/" + id); (await v["detect"]({a: 5})).a`, `5`},
		"unknown modules reject":   {`const tried = []; for (const path of ["fs", "@codemode/servers/nope"]) await import(path).catch(e => tried.push(e.code)); await import("lodash").catch(e => tried.push(e.code)); try { await import("@codemode/servers/visoin") } catch (e) { tried.push(e.code, e.message.includes("vision")) } tried`, `["capability_unsupported","server_not_found","capability_unsupported","server_not_found",true]`},
		"exported again":           {`export { detect } from "@codemode/servers/vision"; export * from "@codemode/errors"; 1`, `1`},
		"types only":               {`import type { ToolDefinition } from "@codemode/discovery"; import { type ServerInfo, specVersion } from "@codemode/discovery"; const s: ServerInfo[] = []; specVersion.split(".").length + s.length`, `3`},
		"for its effect":           {`import "@codemode/errors"; 6`, `6`},
		"several servers":          {`import * as k from "@codemode/servers/koan"; import * as v from "@codemode/servers/vision"; const t = await k.todo_get_by_id({id: "1"}); (await v.detect({title: t.title})).title`, `"Milk"`},
		"both kinds in one script": {`import { todo_get_by_id } from "@codemode/servers/koan"; const a = SDK.Entities.Todo.getById("1"); const b = await todo_get_by_id({id: "1"}); const c = SDK.Vision.detect({x: 1}); [a.title === b.title, c.x]`, `[true,1]`},
		"in a function":            {`import { detect } from "@codemode/servers/vision"; async function run() { return (await detect({a: 7})).a }`, `7`},
		"with a top-level return":  {`const { detect } = await import("@codemode/servers/vision"); return (await detect({a: 8})).a`, `8`},
		"with imports and a return": {`import { detect } from "@codemode/servers/vision"; import type { A } from "@codemode/discovery";
import {
  CodemodeError,
} from "@codemode/errors";
if (CodemodeError) return (await detect({a: 9})).a as number`, `9`},
		"one function of TypeScript": {`async (n: number = 3) => n`, `3`},
		"one with imports":           {`import { detect } from "@codemode/servers/vision"; async function main(): Promise<number> { return (await detect({a: 5})).a }`, `5`},
		"one arrow with imports":     {`import { detect } from "@codemode/servers/vision"; async () => (await detect({a: 6})).a`, `6`},
		"no argument":                {`import { detect } from "@codemode/servers/vision"; await detect()`, `{}`},
		"meta":                       {`import { __meta__ as m } from "@codemode/servers/koan"; m`, `{"serverId":"koan","serverName":"todo","serverVersion":"1.2.3","tools":[{"toolName":"todo.delete","exportName":"todo_delete"},{"toolName":"todo.get-by-id","exportName":"todo_get_by_id","description":"Reads one."}]}`},
		"keys":                       {`import * as v from "@codemode/servers/vision"; Object.keys(v).sort()`, `["__meta__","default","detect"]`},
		"it gives a promise":         {`import { detect } from "@codemode/servers/vision"; detect({}) instanceof Promise`, `true`},
		"a rejection can be caught":  {`import { todo_get_by_id } from "@codemode/servers/koan"; try { await todo_get_by_id({id: "9"}) } catch (e) { globalThis.result = [e.name, e.code, e instanceof KoanError, e.hint.length > 0, e.toolName, e.exportName, e.serverId] }`, `["ToolCallError","not_found",true,true,"todo.get-by-id","todo_get_by_id","koan"]`},
		"classes":                    {`import { CodemodeError, ToolCallError, SchemaValidationError } from "@codemode/errors"; import { detect } from "@codemode/servers/vision"; const o = []; for (const fail of ["upstream_error", "forbidden", "rate_limited", "execution_error"]) await detect({ms: 0, fail}).catch(e => o.push([e instanceof CodemodeError, e instanceof ToolCallError, e.name])); await detect({ms: "x"}).catch(e => o.push([e instanceof SchemaValidationError, e.path, e.expected, e.received])); o`, `[[true,true,"ToolCallError"],[true,true,"AuthenticationError"],[true,true,"ToolCallError"],[true,true,"ToolCallError"],[true,"/ms","number","string"]]`},
		"classes can be made":        {`import { ToolCallError, CodemodeError } from "@codemode/errors"; try { throw new ToolCallError("x", {code: "mine"}) } catch (e) { globalThis.result = [e.name, e.message, e.code, e instanceof CodemodeError, e instanceof Error, e.hint.length > 0] }`, `["ToolCallError","x","mine",true,true,true]`},
		"what has no JSON rejects":   {`import { detect } from "@codemode/servers/vision"; const a = {}; a.a = a; let thrown = false; let p; try { p = detect(a) } catch { thrown = true } [thrown, await p.catch(e => e.name)]`, `[false,"SchemaValidationError"]`},
		"all":                        {`import { detect } from "@codemode/servers/vision"; (await Promise.all([30, 10, 20].map(ms => detect({ms})))).map(r => r.ms)`, `[30,10,20]`},
		"stack of a call":            {"import { detect } from '@codemode/servers/vision';\nconst e = await detect({ms: 1, fail: 'conflict'}).catch(e => e); e.stack", `"ToolCallError: it failed\n    at script:2:23"`},
		"allSettled":                 {`import { detect } from "@codemode/servers/vision"; (await Promise.allSettled([detect({ms: 1}), detect({ms: 2, fail: "conflict"})])).map(r => r.status)`, `["fulfilled","rejected"]`},
		"race":                       {`import { detect } from "@codemode/servers/vision"; (await Promise.race([detect({ms: 300}), detect({ms: 1})])).ms`, `1`},
		"any":                        {`import { detect } from "@codemode/servers/vision"; (await Promise.any([detect({ms: 1, fail: "conflict"}), detect({ms: 20})])).ms`, `20`},
		"in the order of their ends": {`import { detect } from "@codemode/servers/vision"; const o = []; await Promise.all([150, 10, 80].map(async ms => o.push((await detect({ms})).ms))); o`, `[10,80,150]`},
		"for await":                  {`import { detect } from "@codemode/servers/vision"; async function* g() { for (const n of [1, 2]) yield detect({n}) } let s = 0; for await (const r of g()) s += r.n; s`, `3`},
		"a call beats a timer":       {`import { detect } from "@codemode/servers/vision"; await Promise.race([detect({ms: 1}).then(() => "call"), new Promise(r => setTimeout(() => r("timer"), 5000))])`, `"call"`},
		"a timer beats a call":       {`import { detect } from "@codemode/servers/vision"; await Promise.race([detect({ms: 400}).then(() => "call"), new Promise(r => setTimeout(() => r("timer"), 5))])`, `"timer"`},
		"what nobody awaits ends":    {`import { detect } from "@codemode/servers/vision"; detect({ms: 20}).then(() => { globalThis.result = "done" }); 1`, `"done"`},
		"started by a timer":         {`import { detect } from "@codemode/servers/vision"; setTimeout(() => detect({ms: 1, n: 9}).then(r => { globalThis.result = r.n }), 10); 1`, `9`},
		"the clock moves":            {`import { detect } from "@codemode/servers/vision"; const a = Date.now(); await detect({ms: 1}); Date.now() > a`, `true`},
		"tampering is in vain":       {`import * as v from "@codemode/servers/vision"; const ns = await import("@codemode/servers/vision"); try { ns.detect = () => "mine" } catch {} try { Object.defineProperty(ns, "detect", {value: () => "mine"}) } catch {} try { ns.default.detect = () => "mine" } catch {} const again = await import("@codemode/servers/vision"); [JSON.stringify(await v.detect({a: 1})), JSON.stringify(await again.detect({a: 1}))]`, `["{\"a\":1}","{\"a\":1}"]`},
		"classes are fixed":          {`import * as e from "@codemode/errors"; const ns = await import("@codemode/errors"); let r = "kept"; try { ns.default.ToolCallError = 1; } catch { } typeof (await import("@codemode/errors")).ToolCallError`, `"function"`},
		"pollution does not reach":   {`import { detect } from "@codemode/servers/vision"; Promise.prototype.then = function () { throw 1 }; globalThis.Promise = null; Object.defineProperty(Object.prototype, "a", {set() { throw 2 }}); JSON.stringify = () => "x"; await detect({a: 1})`, `{"a":1}`},
	}
	executors(t, func(t *testing.T, x wire.Executor) {
		for name, c := range cases {
			t.Run(name, func(t *testing.T) {
				r := execute(t, x, imported(c.code), slowHost())
				require.Nil(t, r.Fault, "%+v", r.Fault)
				require.JSONEq(t, c.result, string(r.Result))
			})
		}
	})
}

func TestFailedImports(t *testing.T) {
	cases := map[string]struct {
		code     string
		fault    fault.Code
		line     int
		contains string
	}{
		"unknown module":          {"1;\nimport { x } from '@codemode/discovry'", fault.CapabilityUnsupported, 2, `did you mean "@codemode/discovery"`},
		"unknown server":          {"1;\nimport * as v from '@codemode/servers/visoin'", fault.ServerNotFound, 2, `did you mean "@codemode/servers/vision"`},
		"unknown export":          {"import { detct } from '@codemode/servers/vision';\nawait detct({})", fault.ToolNotFound, 2, `did you mean "detect"`},
		"unknown discovery":       {"import { listServer } from '@codemode/discovery';\nawait listServer()", fault.CapabilityUnsupported, 2, `did you mean "listServers"`},
		"package":                 {"1;\nimport fs from 'fs'; fs.x()", fault.CapabilityUnsupported, 2, "no packages and no files"},
		"file":                    {"1;\nimport x from './etc/passwd'", fault.CapabilityUnsupported, 2, ""},
		"address":                 {"1;\nimport x from 'https://esm.sh/lodash'", fault.CapabilityUnsupported, 2, ""},
		"dynamic":                 {"1;\nawait import('@codemode/servers/nope')", fault.ServerNotFound, 2, ""},
		"computed":                {"1;\nconst n = 'f' + 's'; await import(n)", fault.CapabilityUnsupported, 2, `no module "fs"`},
		"computed server":         {"1;\nconst n = 'nope'; await import(`@codemode/servers/${n}`)", fault.ServerNotFound, 2, ""},
		"with a return":           {"1;\nimport * as v from '@codemode/servers/visoin'\nreturn 1", fault.ServerNotFound, 2, `did you mean "@codemode/servers/vision"`},
		"export with a return":    {"import { detct } from '@codemode/servers/vision'\nreturn detct({})", fault.ToolNotFound, 2, `did you mean "detect"`},
		"assignment to an import": {"import { detect } from '@codemode/servers/vision';\ndetect = 1", fault.SyntaxError, 2, ""},
	}
	executors(t, func(t *testing.T, x wire.Executor) {
		for name, c := range cases {
			t.Run(name, func(t *testing.T) {
				h := newHost()
				r := execute(t, x, imported(c.code), h)
				require.NotNil(t, r.Fault)
				require.Equal(t, c.fault, r.Fault.Code, r.Fault.Message)
				require.Equal(t, c.line, r.Fault.Line, r.Fault.Message)
				require.Contains(t, r.Fault.Message, c.contains)
				require.NotEmpty(t, r.Fault.Hint)
				require.Empty(t, h.calls)
			})
		}
	})
}

func TestCallsInFlightFail(t *testing.T) {
	cases := map[string]struct {
		code     string
		fault    fault.Code
		line     int
		contains string
	}{
		"not caught":           {"import { detect } from '@codemode/servers/vision';\nawait detect({ms: 1, fail: 'conflict'})", fault.Conflict, 2, "it failed"},
		"not awaited":          {"import { detect } from '@codemode/servers/vision';\ndetect({ms: 1, fail: 'conflict'}); 1", fault.Conflict, 2, "it failed"},
		"one of all":           {"import { detect } from '@codemode/servers/vision';\nawait Promise.all([detect({ms: 1}),\n  detect({ms: 2, fail: 'conflict'})])", fault.Conflict, 3, "it failed"},
		"throws meanwhile":     {"import { detect } from '@codemode/servers/vision';\nconst p = detect({ms: 5000});\nthrow new Error('no')", fault.JavaScriptError, 3, "no"},
		"never settles":        {"import { detect } from '@codemode/servers/vision';\nawait detect({ms: 1});\nawait new Promise(() => {})", fault.NeverSettled, 3, ""},
		"quota":                {"import { todo_get_by_id } from '@codemode/servers/koan';\nawait Promise.all(Array.from({length: 9}, () => todo_get_by_id({id: '1'})))", fault.SDKCallsExceeded, 2, ""},
		"loop while in flight": {"import { detect } from '@codemode/servers/vision';\nconst p = detect({ms: 60000});\nfor (;;);", fault.Timeout, 3, ""},
	}
	executors(t, func(t *testing.T, x wire.Executor) {
		for name, c := range cases {
			t.Run(name, func(t *testing.T) {
				h := slowHost()
				h.maxCalls = 8
				j := imported(c.code)
				if c.fault == fault.Timeout {
					j.Limits.CPUMs = 300
				}
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel() // ends the calls in flight
				r, _ := x.Execute(ctx, j, h)
				require.NotNil(t, r.Fault)
				require.Equal(t, c.fault, r.Fault.Code, r.Fault.Message)
				if c.fault != fault.Timeout || r.Fault.Line != 0 { // a worker that got no CPU in time cannot name the line
					require.Equal(t, c.line, r.Fault.Line, r.Fault.Message)
				}
				require.Contains(t, r.Fault.Message, c.contains)
			})
		}
	})
}

func TestWaitingForCallsIsNotCPUTime(t *testing.T) {
	executors(t, func(t *testing.T, x wire.Executor) {
		j := imported(`import { detect } from "@codemode/servers/vision"; await Promise.all([detect({ms: 400}), detect({ms: 600})]); 1`)
		j.Limits.CPUMs = 100
		r := execute(t, x, j, slowHost())
		require.Nil(t, r.Fault, "%+v", r.Fault)
	})
}

func TestTenCallsAtOnce(t *testing.T) {
	executors(t, func(t *testing.T, x wire.Executor) {
		h := slowHost()
		r := execute(t, x, imported(`import { detect } from "@codemode/servers/vision"; await Promise.all(Array.from({length: 10}, () => detect({ms: 50}))); 1`), h)
		require.Nil(t, r.Fault, "%+v", r.Fault)
		require.Equal(t, 10, h.started.most)
	})
}

func TestCancellationWhileInFlight(t *testing.T) {
	executors(t, func(t *testing.T, x wire.Executor) {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		began := time.Now()
		_, err := x.Execute(ctx, imported(`import { detect } from "@codemode/servers/vision"; await detect({ms: 60000})`), slowHost())
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Less(t, time.Since(began), 3*time.Second)
	})
}

// TestModuleSemantics runs code as codemode.run does.
func TestModuleSemantics(t *testing.T) {
	cases := map[string]struct{ code, result string }{
		"the result is assigned":    {`globalThis.__codemode_result__ = {a: 1}; 2`, `{"a":1}`},
		"the last one counts":       {`globalThis.__codemode_result__ = 1; globalThis.__codemode_result__ = 2`, `2`},
		"by its bare name":          {`__codemode_result__ = 3`, `3`},
		"a promise is awaited":      {`globalThis.__codemode_result__ = Promise.resolve(4)`, `4`},
		"from a timer":              {`setTimeout(() => { globalThis.__codemode_result__ = 5 }, 10)`, `5`},
		"nothing else counts":       {`globalThis.result = 1; 2`, ``},
		"a return does not count":   {`return 1`, ``},
		"strict":                    {`let r; try { undeclared = 1; r = "sloppy" } catch (e) { r = e.name } globalThis.__codemode_result__ = r`, `"ReferenceError"`},
		"this is undefined":         {`globalThis.__codemode_result__ = this === undefined`, `true`},
		"names are no globals":      {`var a = 1; function f() {} globalThis.__codemode_result__ = [typeof globalThis.a, typeof globalThis.f]`, `["undefined","undefined"]`},
		"top-level await":           {`const a = await Promise.resolve(6); globalThis.__codemode_result__ = a`, `6`},
		"import and export":         {`import { specVersion } from "@codemode/discovery"; export const v = specVersion; globalThis.__codemode_result__ = v`, `"1.0.0"`},
		"TypeScript":                {`enum E { A = 7 } const e: E = E.A; globalThis.__codemode_result__ = e as number`, `7`},
		"a lone function is called": {`async () => { globalThis.__codemode_result__ = 8 }`, `8`},
		"a declared one too":        {`async function main() { globalThis.__codemode_result__ = 9 }`, `9`},
		"run is called":             {`const n = 10; async function run() { globalThis.__codemode_result__ = n }`, `10`},
		"a fence":                   {"```ts\nglobalThis.__codemode_result__ = 11 as number\n```", `11`},
		"strict with imports":       {`import "@codemode/errors"; let r; try { undeclared = 1; r = "sloppy" } catch (e) { r = e.name } globalThis.__codemode_result__ = r`, `"ReferenceError"`},
		"decorators":                {`function twice(v: any, _: any) { return function (this: any) { return 2 * v.call(this) } } class A { @twice six() { return 6 } } globalThis.__codemode_result__ = new A().six()`, `12`},
	}
	executors(t, func(t *testing.T, x wire.Executor) {
		for name, c := range cases {
			t.Run(name, func(t *testing.T) {
				j := imported(c.code)
				j.Module = true
				r := execute(t, x, j, newHost())
				require.Nil(t, r.Fault, "%+v", r.Fault)
				if c.result == "" {
					require.Nil(t, r.Result)
					return
				}
				require.JSONEq(t, c.result, string(r.Result))
			})
		}
	})
}

func TestErrorClasses(t *testing.T) {
	executors(t, func(t *testing.T, x wire.Executor) {
		r := execute(t, x, imported(`import * as errors from "@codemode/errors";
const names = ["SchemaValidationError", "ToolNotFoundError", "ServerNotFoundError", "ToolCallError", "AuthenticationError", "SandboxLimitError"];
names.map((n) => { const e = new errors[n]("x"); return e.name === n && e instanceof errors[n] && e instanceof errors.CodemodeError && e instanceof Error && typeof e.hint === "string" && e.hint.length > 0; });`), newHost())
		require.Nil(t, r.Fault, "%v", r.Fault)
		require.JSONEq(t, `[true,true,true,true,true,true]`, string(r.Result))
	})
}

// Objects of functions show in logs that they have some, and a promise what to do with it.
func TestFunctionsInLogs(t *testing.T) {
	r := execute(t, box(t), job("console.log(SDK.Vision, { f: () => 1, n: 1, later: Promise.resolve(1) }, [function g() {}], SDK.Vision.detect)"), newHost())
	require.Nil(t, r.Fault)
	require.Equal(t, `{"detect":"[function]"} {"f":"[function]","n":1,"later":"[a promise: await it first]"} ["[function g]"] [function detect]`, r.Logs[0].Message)
}
