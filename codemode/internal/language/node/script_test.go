package node_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/soak"
)

func TestResults(t *testing.T) {
	t.Parallel()
	for name, c := range soak.Part(8, map[string]struct{ code, result string }{
		"an assigned result":          {`globalThis.result = {a: 1}`, `{"a":1}`},
		"a result by its name":        {`result = 2`, `2`},
		"the specification's result":  {`globalThis.__codemode_result__ = 3; globalThis.result = 4`, `3`},
		"the last expression":         {"const x = 2;\nx * 21", `42`},
		"a last expression, nested":   {"if (1 < 2) { 'yes' } else { 'no' }", `"yes"`},
		"an awaited last expression":  {"const f = async () => { await null; return 5 };\nf()", `5`},
		"a top-level await":           {"const x = await new Promise((r) => setTimeout(() => r(7), 10_000));\nx", `7`},
		"a top-level return":          {"for (let i = 0; i < 5; i++) {\n  if (i === 3) return i;\n}", `3`},
		"a return among imports":      {"import { basename } from 'node:path';\nif (basename('/a/b') === 'b') return 'b';\n'other'", `"b"`},
		"a return that is not caught": {"try { return 1 } catch { }\n2", `1`},
		"a function run":              {"function run() { return 'r' }", `"r"`},
		"a run that is called":        {"const run = async () => { globalThis.result = 1; return 2 };\nawait run()", `1`},
		"one function":                {"async () => ({ a: [1n, null, undefined] })", `{"a":[1,null,null]}`},
		"one function without a name": {"async function () {\n  return 8;\n}", `8`},
		"one declaration":             {"function anything() { return 9 }", `9`},
		"a default export":            {"export default async () => 'd'", `"d"`},
		"a code fence":                {"```js\n1 + 2\n```", `3`},
		"nothing":                     {"const x = 1;", ``},
		"exact integers":              {"[2n ** 53n, 2n ** 53n + 1n, -1n]", `[9007199254740992,"9007199254740993",-1]`},
		"dates":                       {"[new Date(0), new Date('2026-01-02T03:04:05Z')]", `["1970-01-01T00:00:00.000Z","2026-01-02T03:04:05.000Z"]`},
		"numbers that are none":       {"[NaN, Infinity]", `[null,null]`},
		"process.exit(0)":             {"globalThis.result = 1;\nprocess.exit(0);\nglobalThis.result = 2", `1`},
		"arguments":                   {"[SDK.args.name, SDK.args.list[0].a, SDK.run.set, SDK.run.dryRun]", `["Koan",1,"default",false]`},
		"the clock":                   {"[new Date().toISOString(), Date.now(), Math.floor(performance.timeOrigin), new Date() instanceof Date]", `["2023-11-14T22:13:20.000Z",1700000000000,1700000000000,true]`},
		"timers in their order":       {"const out = [];\nsetTimeout(() => out.push('b'), 20); setTimeout(() => out.push('a'), 10); const t = setInterval(() => { if (out.push('i') > 4) clearInterval(t) }, 15);\nglobalThis.result = out", `["a","i","b","i","i"]`},
		"promised timers":             {"import { setTimeout as wait } from 'node:timers/promises';\nawait wait(60_000, 'x')", `"x"`},
		"a file":                      {"import { writeFile, readFile } from 'node:fs/promises';\nawait writeFile('/workspace/x', 'hi');\nawait readFile('x', 'utf8')", `"hi"`},
		"work of Node's own":          {"import { gzip, gunzipSync } from 'node:zlib';\nimport { promisify } from 'node:util';\ngunzipSync(await promisify(gzip)('koan')).toString()", `"koan"`},
		"a module of its own":         {"import { writeFileSync } from 'node:fs';\nwriteFileSync('part.js', 'export const n = 5');\n(await import('./part.js')).n", `5`},
		"require":                     {"const path = require('path');\npath.join('a', 'b')", `"a/b"`},
		"a package":                   {"import { hello } from 'greeting';\nhello('you')", `"hello you"`},
		"a package of a scope":        {"import { greet } from '@scope/pure';\ngreet('you')", `"HELLO YOU"`},
		"a package by require":        {"require('greeting').hello('me')", `"hello me"`},
		"random numbers":              {"import { randomUUID, randomBytes, randomInt } from 'node:crypto';\n[typeof Math.random(), randomUUID().length, randomBytes(4).length, randomInt(3) < 3, crypto.getRandomValues(new Uint8Array(2)).length, crypto.randomUUID()[14]]", `["number",36,4,true,2,"4"]`},
		"an event emitter":            {"import { EventEmitter, once } from 'node:events';\nconst e = new EventEmitter();\nsetImmediate(() => e.emit('x', 1));\nawait once(e, 'x')", `[1]`},
		"methods of each":             {"const each = () => SDK.Entities.Todo.each();\nconst ids = each().map((t) => t.id).toArray();\n[each().filter((t, i) => i === 0).toArray().length, each().flatMap((t) => [t.id, t.id]).drop(1).take(1).toArray()[0] === ids[0], each().reduce((n) => n + 1, 0) === ids.length, each().some((t) => t.id === ids[0]), each().every((t) => t.id), each().find((t, i) => i === 1)?.id === ids[1], each().take(0).toArray(), each().reduce((a) => a).id === ids[0], [...each()].length === ids.length, typeof each().forEach(() => {})]", `[1,true,true,true,true,true,[],true,true,"undefined"]`},
		"a declared result":           {"const a = 1;\nconst result = { a };", `{"a":1}`},
		"a declared result, returned": {"if (SDK.args.none) return 1;\nlet result = 2;", `2`},
		"an exported result":          {"export const result = 3;", `3`},
		"a time limit":                {"const s = AbortSignal.timeout(60_000);\nawait new Promise((ok) => s.addEventListener('abort', ok));\ns.reason.name", `"TimeoutError"`},
		"prototypes with members":     {"Object.prototype.fault = { code: 'internal' };\nObject.prototype.set = 'x';\n1", `1`},
		"members of a server":         {"Object.keys(SDK.Servers.github)", `["listIssues"]`},
		"the environment":             {"Object.keys(process.env).filter((n) => /KOAN|TOKEN/.test(n))", `[]`},
	}) {
		t.Run(name, func(t *testing.T) {
			r, _ := execute(t, job(c.code))
			require.Nil(t, r.Fault, "%+v", r.Fault)
			require.Equal(t, c.result, string(r.Result))
		})
	}
}

func TestCalls(t *testing.T) {
	t.Parallel()
	for name, c := range soak.Part(12, map[string]struct {
		code, result string
		calls        []string
	}{
		"options":            {`SDK.Entities.Todo.collection({filter: {done: false}, sort: "-title", pageSize: 10}).items[0].title`, `"milk"`, []string{`koan::Todo.collection {"filter":{"done":false},"sort":"-title","pageSize":10}`}},
		"a filter":           {`SDK.Entities.Todo.count({done: true})`, `2`, []string{`koan::Todo.count {"filter":{"done":true}}`}},
		"a lone set":         {`SDK.Entities.Todo.count("other")`, `2`, []string{`koan::Todo.count {"set":"other"}`}},
		"patch":              {`SDK.Entities.Todo.patch("1", {title: "x"}, {ifVersion: 2}).big`, `"9007199254740993"`, []string{`koan::Todo.patch {"id":"1","changes":{"title":"x"},"ifVersion":2}`}},
		"large integers":     {`SDK.Entities.Todo.patch(12345678901234567890n, {a: 2 ** 60}).id`, `"1"`, []string{`koan::Todo.patch {"id":12345678901234567890,"changes":{"a":1.152921504606847e+18}}`}},
		"first page":         {`SDK.Entities.Todo.firstPage(2).items.length`, `2`, []string{`koan::Todo.collection {"page":1,"pageSize":2}`}},
		"all":                {`SDK.Entities.Todo.all({filter: {a: 1}}).map((t) => t.id)`, `["1","2"]`, []string{`koan::Todo.collection {"filter":{"a":1},"pageSize":200,"page":1,"count":true}`}},
		"each":               {`[...SDK.Entities.Todo.each()].map((t) => t.id)`, `["1","2"]`, []string{`koan::Todo.collection {"pageSize":200,"page":1,"count":false}`}},
		"each is lazy":       {`SDK.Entities.Todo.each(); 1`, `1`, nil},
		"findById":           {`SDK.Entities.Todo.findById("9") === null`, `true`, []string{`koan::Todo.get-by-id {"id":"9"}`}},
		"a caught fault":     {"try { SDK.Entities.Todo.getById('9') } catch (e) { globalThis.result = [e instanceof KoanError, e.code, e.retry, e.hint.includes('findById')] }", `[true,"not_found","fix",true]`, []string{`koan::Todo.get-by-id {"id":"9"}`}},
		"the guide's module": {"import * as github from './servers/github/index.js';\nconst [a, b] = await Promise.all([github.listIssues({state: 'open'}), github.search({q: 'x'})]);\n[a, b.total]", `[[{"number":1}],"12345678901234567890"]`, []string{`start upstream::github::list-issues {"state":"open"}`, `start upstream::github::search {"q":"x"}`}},
		"a module by its id": {"import { listIssues } from '@codemode/servers/github';\nawait listIssues()", `[{"number":1}]`, []string{`start upstream::github::list-issues {}`}},
		"a dynamic import":   {"const { listIssues } = await import('./servers/github/index.js');\nawait listIssues({a: 1})", `[{"number":1}]`, []string{`start upstream::github::list-issues {"a":1}`}},
		"the guide's client": {"import { callTool } from './client/mcp_client.js';\nawait callTool({ serverId: 'github', name: 'list-issues', arguments: { state: 'all' } })", `[{"number":1}]`, []string{`start upstream::github::list-issues {"state":"all"}`}},
		"a failed wrapper":   {"import { fail } from './servers/github/index.js';\nimport { ToolCallError } from '@codemode/errors';\ntry { await fail() } catch (e) { globalThis.result = [e instanceof ToolCallError, e.name, e.code, e.serverId, e.toolName] }", `[true,"ToolCallError","upstream_error","github","fail"]`, []string{`start upstream::github::fail {}`}},
		"upstreams":          {`SDK.Servers.github.listIssues({state: "all"})[0].number`, `1`, []string{`upstream::github::list-issues {"state":"all"}`}},
		"meta":               {"import { __meta__ } from './servers/github/index.js';\n[__meta__.serverId, __meta__.tools[0].exportName]", `["github","listIssues"]`, nil},
		"a call and a timer": {"import { search } from './servers/github/index.js';\nlet n = 0;\nsetTimeout(() => n++, 5);\nconst r = await search({});\n[typeof r.total, n]", `["string",0]`, []string{`start upstream::github::search {}`}},
	}) {
		t.Run(name, func(t *testing.T) {
			r, h := execute(t, job(c.code))
			require.Nil(t, r.Fault, "%+v", r.Fault)
			require.Equal(t, c.result, string(r.Result))
			require.Equal(t, c.calls, h.calls)
		})
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for name, c := range soak.Part(9, map[string]struct {
		code, message string
		of            fault.Code
		line, column  int
	}{
		"an exception":                 {"const f = () => {\n  throw new RangeError('no');\n};\nf()", "RangeError: no", fault.ScriptError, 2, 9},
		"an exception in the value":    {"const x = 1;\nx.a.b", "TypeError: Cannot read properties of undefined (reading 'b')", fault.ScriptError, 2, 5},
		"an exception behind return":   {"if (SDK.args.none) return 1; null.x", "TypeError: Cannot read properties of null (reading 'x')", fault.ScriptError, 1, 35},
		"a thrown text":                {"throw 'text'", "text", fault.ScriptError, 1, 1},
		"a thrown text in a function":  {"const f = () => {\n  if (1) throw ('a', 'text');\n};\nf()", "text", fault.ScriptError, 2, 10},
		"a text thrown later":          {"setTimeout(() => {\n  throw 'a', 'text' // ;\n}, 5)", "text", fault.ScriptError, 2, 3},
		"a text thrown and rejected":   {"const f = async () => {\n  1;  throw await 'text';\n};\nawait f()", "text", fault.ScriptError, 2, 7},
		"a text rejected with later":   {"try {\n  throw 'text'\n} catch {}\nawait Promise.reject('text')", "text", fault.ScriptError, 0, 0},
		"a text thrown again":          {"try {\n  throw 'text'\n} catch (e) {\n  throw e\n}", "text", fault.ScriptError, 4, 3},
		"a text in a lone function":    {"(() => { throw 'text' })", "text", fault.ScriptError, 1, 10},
		"a text in one without a name": {"function () { throw 'text' }", "text", fault.ScriptError, 1, 15},
		"an error behind an await":     {"const x = await 1 + await null; null.x", "TypeError: Cannot read properties of null (reading 'x')", fault.ScriptError, 1, 38},
		"a text and another":           {"try {\n  throw 'other'\n} catch {}\nawait Promise.reject('text')", "text", fault.ScriptError, 0, 0},
		"a syntax error":               {"const x = 1;\nconst y = (;", "SyntaxError: Unexpected token", fault.SyntaxError, 2, 12},
		"a syntax error in a fence":    {"```js\nlet let = 1\n```", "SyntaxError: The keyword 'let' is reserved", fault.SyntaxError, 2, 5},
		"an uncaught fault":            {"\n  SDK.Entities.Todo.getById('9')", `no Todo has the id "9"`, fault.NotFound, 2, 21},
		"a rejected promise":           {"const f = async () => { throw new Error('late') };\nf();\n1", "Error: late", fault.ScriptError, 1, 31},
		"an error in a timer":          {"setTimeout(() => {\n  throw new Error('later');\n}, 5)", "Error: later", fault.ScriptError, 2, 9},
		"an error of an event":         {"import { EventEmitter } from 'node:events';\nnew EventEmitter().emit('error', new Error('event'))", "Error: event", fault.ScriptError, 2, 34},
		"an absent package":            {"import _ from 'lodash'", `there is no module "lodash"`, fault.CapabilityUnsupported, 1, 1},
		"an absent package, later":     {"await import('lodash')", `there is no module "lodash"`, fault.CapabilityUnsupported, 0, 0},
		"an absent server":             {"\nimport { x } from './servers/gitub/index.js'", `there is no module "./servers/gitub/index.js"; did you mean "./servers/github/index.js"?`, fault.ServerNotFound, 2, 1},
		"an absent tool":               {"import { listIssue } from './servers/github/index.js'", `the module "./servers/github/index.js" does not export "listIssue"; did you mean "listIssues"?`, fault.ToolNotFound, 1, 10},
		"a limit, even caught":         {"try {\n  SDK.Entities.Todo.create({})\n} catch { }\nresult = 1", "too many calls", fault.SDKCallsExceeded, 2, 21},
		"an exit with a status":        {"process.exit(3)", "the script ended with the status 3", fault.ScriptError, 1, 9},
		"an exit code":                 {"process.exitCode = 4; 1", "the script ended with the status 4", fault.ScriptError, 0, 0},
		"an abort":                     {"process.abort()", "the script aborted its process", fault.ScriptError, 1, 9},
		"a wait without an end":        {"await new Promise(() => {})", "the script waits for something that never happens", fault.NeverSettled, 1, 1},
		"a wait behind another":        {"const f = async () => { await 1; };\nawait f();\n1; await (new Promise(() => {})) // it", "the script waits for something that never happens", fault.NeverSettled, 3, 4},
		"a wait in a function":         {"async function run() {\n  await new Promise(() => {});\n}", "the script waits for something that never happens", fault.NeverSettled, 2, 3},
		"an absent entry function":     {"1", "", "", 0, 0},
		"a circular result":            {"const a = {}; a.a = a; a", "", fault.ScriptError, 0, 0},
		"a function as input":          {"SDK.Entities.Todo.create({f() {}})", "a function is not data", fault.InvalidPayload, 1, 19},
		"undefined as a condition":     {"SDK.Entities.Todo.count({done: undefined})", "undefined is not a condition", fault.InvalidPayload, 1, 19},
		"a class as input":             {"SDK.Entities.Todo.create(new (class A { x = 1 })())", "only plain objects and arrays are data, not an instance of a class or an object with a prototype of its own", fault.InvalidPayload, 1, 19},
		"a large result":               {"'x'.repeat(300000)", "the result is larger than 262144 bytes", fault.ResultTooLarge, 0, 0},
		"a large input":                {"SDK.Entities.Todo.count({a: 'x'.repeat(9 << 20)})", "the arguments of this call are larger than 8388608 bytes", fault.CallTooLarge, 1, 19},
		"recursion":                    {"const f = () => f();\nf()", "RangeError: Maximum call stack size exceeded", fault.ScriptError, 1, 0},
		"an error that is no error":    {"throw new KoanError('x', {code: 'nonsense'})", "KoanError: x", fault.ScriptError, 1, 7},
		"an endless loop":              {"for (;;) { try { } catch { } }", "", fault.Timeout, 0, 0},
		"memory":                       {"const x = [];\nfor (;;) x.push(new Array(1000).fill(x.length))", "", fault.MemoryExceeded, 0, 0},
		"memory outside of the heap":   {"const x = [];\nfor (;;) x.push(Buffer.alloc(1 << 20, 1))", "", fault.MemoryExceeded, 0, 0},
		"one large allocation":         {"Buffer.alloc(2 ** 31)", "", fault.MemoryExceeded, 0, 0},
		"microtasks without an end":    {"const f = () => queueMicrotask(f);\nf()", "", fault.Timeout, 0, 0},
		"ticks without an end":         {"const f = () => process.nextTick(f);\nf();\nawait 1", "", fault.Timeout, 0, 0},
		"an interval without an end":   {"setInterval(() => {}, 1)", "", fault.Timeout, 0, 0},
		"immediates without an end":    {"const f = () => setImmediate(f);\nf()", "", fault.Timeout, 0, 0},
		"a wait for shared memory":     {"Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)", "", fault.Timeout, 0, 0},
		"a regular expression":         {"/^(a+)+$/.test('a'.repeat(40) + 'b')", "", fault.Timeout, 0, 0},
	}) {
		t.Run(name, func(t *testing.T) {
			j := job(c.code)
			if c.of == fault.Timeout {
				j.Limits.CPUMs = 500
			}
			r, _ := execute(t, j)
			if c.of == "" {
				return
			}
			require.NotNil(t, r.Fault, "%s", r.Result)
			require.Equal(t, c.of, r.Fault.Code, "%+v", r.Fault)
			if c.message != "" {
				require.Equal(t, c.message, r.Fault.Message)
			}
			if c.line > 0 {
				require.Equal(t, c.line, r.Fault.Line, "%+v", r.Fault)
			}
			if c.column > 0 {
				require.Equal(t, c.column, r.Fault.Column, "%+v", r.Fault)
			}
		})
	}
}

// What a script has listen for the end of its process runs as part of it, however it ends.
func TestListenersAtTheEnd(t *testing.T) {
	t.Parallel()
	const later = "process.on('exit', (status) => console.log('exit', status, SDK.Entities.Todo.count()));\n"
	for name, c := range map[string]struct {
		code, result, fault string
		logs                []string
	}{
		"a value":                 {later + "1", "1", "", []string{"info: exit 0 2"}},
		"process.exit":            {later + "globalThis.result = 1; process.exit()", "1", "", []string{"info: exit 0 2"}},
		"another status":          {later + "process.exit(3)", "", "the script ended with the status 3", []string{"info: exit 3 2"}},
		"an exit code":            {later + "process.exitCode = 4", "", "the script ended with the status 4", []string{"info: exit 4 2"}},
		"an exception":            {later + "null.x", "", "TypeError: Cannot read properties of null (reading 'x')", []string{"info: exit 1 2"}},
		"a rejection":             {later + "Promise.reject(new Error('no')); 1", "", "Error: no", []string{"info: exit 1 2"}},
		"one that throws":         {"process.on('exit', () => { throw new Error('at the end') }); 1", "", "Error: at the end", nil},
		"one that exits":          {"process.on('exit', () => process.exit(5)); 1", "", "the script ended with the status 5", nil},
		"one that fails it":       {"process.on('exit', () => { process.exitCode = 6 }); 1", "", "the script ended with the status 6", nil},
		"taken back":              {"const f = () => console.log('no'); process.on('exit', f); process.off('exit', f); 1", "1", "", nil},
		"beforeExit":              {"process.on('beforeExit', () => console.log('before'));\n" + later + "1", "1", "", []string{"info: before", "info: exit 0 2"}},
		"beforeExit that goes on": {"process.once('beforeExit', async () => { await new Promise((ok) => setTimeout(ok, 5)); globalThis.result = 7 });\n1", "7", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			r, h := execute(t, job(c.code))
			if c.fault == "" {
				require.Nil(t, r.Fault, "%+v", r.Fault)
			} else {
				require.NotNil(t, r.Fault)
				require.Contains(t, r.Fault.Message, c.fault)
			}
			require.Equal(t, c.result, string(r.Result))
			require.Equal(t, c.logs, h.logs)
		})
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for name, c := range soak.Part(10, map[string]struct {
		code string
		of   string // the code of the diagnostic, "" for none
		line int
	}{
		"a valid script":       {"import fs from 'node:fs';\nimport { listIssues } from './servers/github/index.js';\nSDK.Entities.Todo.collection({filter: {a: 1}});\nawait listIssues()", "", 0},
		"a syntax error":       {"1 +", "parse", 1},
		"an unknown entity":    {"\nSDK.Entities.Tudo.all()", wire.DiagnosticUnknownEntity, 2},
		"an unknown method":    {"SDK.Entities.Todo.colection()", wire.DiagnosticUnknownMethod, 1},
		"an unknown domain":    {"SDK.Wether.forecast()", wire.DiagnosticUnknownDomain, 1},
		"an unknown server":    {"SDK.Servers['gitub'].x()", wire.DiagnosticUnknownServer, 1},
		"a tested member":      {"typeof SDK.Wether === 'undefined' || SDK.Wether?.x", "", 0},
		"an unknown module":    {"import x from './servers/nobody/index.js'", wire.DiagnosticUnknownModule, 1},
		"an unknown package":   {"import x from 'lodash'", wire.DiagnosticUnknownModule, 1},
		"an unknown export":    {"import {x} from '@codemode/servers/github'", wire.DiagnosticUnknownExport, 1},
		"a rejected input":     {"const id = '9';\nSDK.Entities.Todo.getById(id)", wire.DiagnosticInvalidArgument, 2},
		"an input of no data":  {"SDK.Entities.Todo.count({filter: {a: undefined}})", wire.DiagnosticInvalidArgument, 1},
		"an input of its own":  {"SDK.Entities.Todo.getById(SDK.args.id)", "", 0},
		"an unknown out":       {"SDK.Out.print(1)", wire.DiagnosticUnknownMethod, 1},
		"a return at the top":  {"return 1", "", 0},
		"one function, fenced": {"```js\nasync function () { return SDK.Entities.Tudo }\n```", wire.DiagnosticUnknownEntity, 2},
	}) {
		t.Run(name, func(t *testing.T) {
			j := job(c.code)
			j.Task = wire.Validate
			r, _ := execute(t, j)
			require.Nil(t, r.Fault, "%+v", r.Fault)
			if c.of == "" {
				require.Empty(t, r.Diagnostics)
				return
			}
			require.NotEmpty(t, r.Diagnostics)
			require.Equal(t, c.of, r.Diagnostics[0].Code, "%+v", r.Diagnostics)
			require.Equal(t, c.line, r.Diagnostics[0].Line, "%+v", r.Diagnostics)
		})
	}
}

func TestConfinementHoldsFromTheInside(t *testing.T) {
	t.Parallel()
	checks, err := newSandbox(t).SelfTest(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, checks)
	for _, c := range checks {
		require.True(t, c.OK, c.Name)
	}
}

func TestAnotherAttemptSeesTheSame(t *testing.T) {
	t.Parallel()
	const code = `import { randomBytes, randomUUID, randomInt, randomFillSync } from "node:crypto";
import { search } from "./servers/github/index.js";
await search({});
await new Promise((r) => setTimeout(r, 1234.5));
[Math.random(), randomUUID(), crypto.randomUUID(), randomBytes(8).toString("hex"), randomInt(1000), Buffer.from(randomFillSync(new Uint8Array(4))).toString("hex"),
  Buffer.from(crypto.getRandomValues(new Uint8Array(4))).toString("hex"), Date.now(), new Date(), performance.now(), process.hrtime.bigint(), process.uptime()]`
	first, _ := execute(t, job(code))
	require.Nil(t, first.Fault, "%+v", first.Fault)
	second, _ := execute(t, job(code))
	require.Equal(t, string(first.Result), string(second.Result))
	other := job(code)
	other.Seed = 1 << 63
	third, _ := execute(t, other)
	require.Nil(t, third.Fault, "%+v", third.Fault)
	require.NotEqual(t, string(first.Result), string(third.Result))
}

// A script's logs say what it has left behind without a word, and what is written to the standard streams.
func TestWhatIsLeftBehindIsLogged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		code string
		logs []string
	}{
		"a call that is not awaited":   {"import { search } from './servers/github/index.js';\nsearch({ q: 'x' });\nglobalThis.result = 1", []string{"warn: Nothing has awaited the promise of search(...) in line 2, so the script went on without its result. Write await before the call, unless that is meant."}},
		"calls that are awaited":       {"import { search } from './servers/github/index.js';\nconst a = search({ q: 'x' });\nawait Promise.all([a, search({}).then(() => 1)]);\nawait a;\nglobalThis.result = 1", nil},
		"a result with half a letter":  {"({ 'a/b': ['\\ud800'] })", []string{`warn: in the result, at "/a~1b/0": the text is not valid Unicode: it has half of a surrogate pair, or bytes that are not UTF-8. U+FFFD takes its place.`}},
		"an assertion":                 {"console.assert(false, 'no'); console.assert(true)", []string{"error: Assertion failed: no"}},
		"what descriptors are written": {"import fs from 'node:fs';\nfs.writeFileSync(1, 'a\\n');\nawait new Promise((ok) => fs.write(2, 'b\\n', ok))", []string{"info: a", "warn: b"}},
	} {
		t.Run(name, func(t *testing.T) {
			r, h := execute(t, job(c.code))
			require.Nil(t, r.Fault, "%+v", r.Fault)
			require.Equal(t, c.logs, h.logs)
		})
	}
}

// An error of the system about what scripts do not have says what they have.
func TestConfinementIsExplained(t *testing.T) {
	t.Parallel()
	for _, code := range []string{
		"import fs from 'node:fs';\nfs.readFileSync('/etc/passwd')", "await fetch('http://192.0.2.1/')", "import { execSync } from 'node:child_process';\nexecSync('ls')",
	} {
		r, _ := execute(t, job(code))
		require.NotNil(t, r.Fault)
		require.Contains(t, r.Fault.Hint, "Scripts have no network", code)
	}
	r, _ := execute(t, job("import fs from 'node:fs';\nfs.readFileSync('absent')"))
	require.NotNil(t, r.Fault)
	require.NotContains(t, r.Fault.Hint, "Scripts have no network")
}
