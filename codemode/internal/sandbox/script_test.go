package sandbox

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/codemode/languages"
	"github.com/koan-go/koan/framework/fault"
)

// executors are both ways to run a script; they must not differ.
func executors(t *testing.T, f func(t *testing.T, x wire.Executor)) {
	t.Run("confined", func(t *testing.T) { f(t, box(t)) })
	t.Run("in process", func(t *testing.T) { f(t, NewInProcess(languages.All)) })
}

var resultCases = map[string]struct{ code, result string }{
	"last expression":              {`1; 2 + 3`, `5`},
	"undefined is no result":       {`const a = 1`, ``},
	"null":                         {`null`, `null`},
	"function is no result":        {`const f = () => 1; f`, ``},
	"entry wins over expression":   {`function run(){ return "r" } 7`, `"r"`},
	"run is called":                {`async function run(){ return {a: await 1} }`, `{"a":1}`},
	"run as a const":               {`const run = () => 5;`, `5`},
	"run was called by the script": {`let n = 0; function run(){ return ++n } run(); n`, `1`},
	"arrow":                        {`async () => { return [1,2] }`, `[1,2]`},
	"anonymous function":           {`function () { return 3 }`, `3`},
	"top-level return":             {`const x = 4; return x * 2`, `8`},
	"top-level await":              {`const x = await Promise.resolve(4); x * 2`, `8`},
	"await and return":             {"const x = await 1\nif (x) return {x}\nreturn 0", `{"x":1}`},
	"fence":                        {"```js\nreturn 1\n```", `1`},
	"TypeScript":                   {`interface A { b: number }; const a: A = { b: 2 }; a.b as number`, `2`},
	"TypeScript with return":       {`const a: number = 2; return a`, `2`},
	"enum":                         {`enum E { A = 7 } E.A`, `7`},
	"export default function":      {`export default async function () { return "d" }`, `"d"`},
	"export default value":         {`export default {v: 1}`, `{"v":1}`},
	"exported run":                 {`export async function run() { return 9 }`, `9`},
	"async generator":              {`async function* g(){ yield 1; yield 2 } let s = 0; for await (const x of g()) s += x; s`, `3`},
	"promise is awaited":           {`(async () => 6)()`, `6`},
	"thenable is data":             {`globalThis.__codemode_result__ = {then(r){ r(1) }, a: 1}`, `{"a":1}`},
	"thenable as last value":       {`({then(r){ r(1) }, a: 1})`, `{"a":1}`},
	"__codemode_result__ first":    {`globalThis.result = 1; globalThis.__codemode_result__ = 2; 3`, `2`},
	"result before value":          {`var result = 1; 3`, `1`},
	"const result at the end":      {`SDK.Entities.Todo.count(); const result = [1];`, `[1]`},
	"let result, with await":       {`const a = await 4; let b = 1, result = a * 2`, `8`},
	"const result, typed":          {`const result: number = 3`, `3`},
	"const result in between":      {`const result = 1; 3`, `3`},
	"result is awaited":            {`globalThis.result = Promise.resolve(5)`, `5`},
	"timer":                        {`new Promise(r => setTimeout(() => r("t"), 60000))`, `"t"`},
	"timers in order":              {`const o = []; setTimeout(() => o.push(2), 20); setTimeout(() => o.push(1), 10); setTimeout((a) => { o.push(a); globalThis.result = o }, 30, 3)`, `[1,2,3]`},
	"cleared timer":                {`let n = 0; clearTimeout(setTimeout(() => n++, 1)); setTimeout(() => { globalThis.result = n }, 5)`, `0`},
	"clock moves with timers":      {`const a = Date.now(); await new Promise(r => setTimeout(r, 1000)); Date.now() - a`, `1000`},
	"clock starts at the job's":    {`Date.now()`, `1750000000000`},
	"clock moves with calls":       {`SDK.Entities.Todo.count(); Date.now()`, `1750000000010`},
	"busy wait ends":               {`const a = Date.now(); while (Date.now() < a + 20); "done"`, `"done"`},
	"microtasks":                   {`const o = []; queueMicrotask(() => o.push(2)); o.push(1); await null; o`, `[1,2]`},
	"args":                         {`SDK.args.a[1]`, `2`},
	"run":                          {`[SDK.run.id, SDK.run.set, SDK.run.dryRun]`, `["run-1","default",false]`},
	"KoanError is an Error":        {`try { SDK.Entities.Todo.getById("9") } catch (e) { [e instanceof Error, e instanceof KoanError, e.name, e.code, e.hint.length > 0, e.path, e.retry] }`, `[true,true,"KoanError","not_found",true,"/id","fix"]`},
	"findById":                     {`[SDK.Entities.Todo.findById("9"), SDK.Entities.Todo.findById("1").title]`, `[null,"Milk"]`},
	"read-only has no mutators":    {`[typeof SDK.Entities.Product.upsert, typeof SDK.Entities.Product.collection]`, `["undefined","function"]`},
	"what is not there":            {`[typeof fetch, typeof require, typeof process, typeof setInterval, typeof WebSocket, typeof GoError]`, `["undefined","undefined","undefined","undefined","undefined","undefined"]`},
	"each":                         {`let n = 0; for (const t of SDK.Entities.Todo.each()) n += Number(t.id); n`, `15`},
	"each stops":                   {`for (const t of SDK.Entities.Todo.each({pageSize: 2})) { globalThis.result = t.id; if (t.id == 3) break }`, `"3"`},
	"all":                          {`SDK.Entities.Todo.all().length`, `5`},
	"all over pages":               {`SDK.Entities.Todo.all({pageSize: 2}).map(t => t.id)`, `["1","2","3","4","5"]`},
	"count":                        {`SDK.Entities.Todo.count()`, `5`},
	"delete":                       {`[SDK.Entities.Todo.delete("1"), SDK.Entities.Todo.deleteMany(["1","2"])]`, `[1,2]`},
	"upsertMany":                   {`SDK.Entities.Todo.upsertMany([{title:"a"}])`, `[{"title":"a"}]`},
	"domain":                       {`SDK.Vision.detect({path: "x", skip: undefined})`, `{"path":"x"}`},
	"domain without input":         {`SDK.Vision.detect()`, `{}`},
	"prototype pollution":          {`Object.defineProperty(Object.prototype, "title", {set(){ throw 1 }}); JSON.stringify = () => "x"; Array.prototype.toJSON = () => 0; delete Array.prototype.toJSON; SDK.Entities.Todo.getById("1").title`, `"Milk"`},
	"__proto__ stays data":         {`const r = SDK.Vision.detect(JSON.parse('{"__proto__":{"x":1}}')); [r.x === undefined, Object.keys(r)]`, `[true,["__proto__"]]`},
	"unicode":                      {`SDK.Vision.detect({s: "äöü😀\u0001\"\\"}).s`, `"äöü😀\u0001\"\\"`},
	"numbers":                      {`SDK.Vision.detect({a: -0.5, b: 1e21, c: 9007199254740993, e: -7})`, `{"a":-0.5,"b":1e+21,"c":9007199254740992,"e":-7}`},
	"function names are clean":     {`SDK.Entities.Todo.getById.name`, `"getById"`},
}

func TestResults(t *testing.T) {
	executors(t, func(t *testing.T, x wire.Executor) {
		for name, c := range resultCases {
			t.Run(name, func(t *testing.T) {
				j := job(c.code)
				j.Args = []byte(`{"a":[1,2]}`)
				r := execute(t, x, j, newHost())
				require.Nil(t, r.Fault)
				if c.result == "" {
					require.Nil(t, r.Result)
				} else {
					require.Equal(t, c.result, string(r.Result))
				}
			})
		}
	})
}

var faultCases = map[string]struct {
	code         string
	fault        fault.Code
	line, column int
	message      string
}{
	"throw":                     {"\nthrow new Error('boom')", fault.JavaScriptError, 2, 7, "boom"},
	"throw a string":            {"\n\n  throw 'boom'", fault.JavaScriptError, 3, 3, "boom"},
	"TypeError":                 {"let a;\na.b", fault.JavaScriptError, 2, 3, "TypeError: "},
	"in a function":             {"function f() {\n  null.x\n}\nf()", fault.JavaScriptError, 2, 8, "TypeError"},
	"uncaught fault":            {"const a = 1;\nSDK.Entities.Todo.getById('9')", fault.NotFound, 2, 26, "no Todo"},
	"rethrown fault":            {"try {\nSDK.Entities.Todo.getById('9')\n} catch (e) {\n throw e }", fault.NotFound, 2, 26, "no Todo"},
	"fault in async":            {"\n(async () => { SDK.Entities.Todo.getById('9') })()", fault.NotFound, 2, 41, "no Todo"},
	"unhandled rejection":       {"Promise.reject(new Error('lost')); 1", fault.JavaScriptError, 1, 16, "lost"},
	"late handler":              {"const p = Promise.reject(new Error('lost')); setTimeout(() => p.catch(() => {}), 1); await new Promise(() => {})", fault.NeverSettled, 1, 0, ""},
	"timer throws":              {"setTimeout(() => {\n  throw new Error('late') }, 1)", fault.JavaScriptError, 2, 9, "late"},
	"never settled":             {"1;\n  await new Promise(() => {})", fault.NeverSettled, 2, 9, ""},
	"never settled in a call":   {"async function f() {\n  await Promise.race([new Promise(() => {})]) }\nasync function g() { await 1; await f() }\nawait g()", fault.NeverSettled, 2, 9, ""},
	"never settled in a plain":  {"const f = async () => {\n  await new Promise(() => {}) }\nf()", fault.NeverSettled, 2, 9, ""},
	"never settled in a module": {"const a: number = 1;\n\nawait new Promise<void>(() => {})", fault.NeverSettled, 3, 7, ""},
	"settled, then never":       {"await new Promise(r => setTimeout(r, 1));\nawait new Promise(() => {})", fault.NeverSettled, 2, 7, ""},
	"thrown past a using":       {"{ using r = {[Symbol.dispose]() {}};\n\n throw 'text' }", fault.JavaScriptError, 3, 2, "text"},
	"null taken apart":          {"let a;\nconst {b} = null", fault.JavaScriptError, 2, 13, "TypeError"},
	"a number gone through":     {"let a;\nfor (const b of 5) a", fault.JavaScriptError, 2, 17, "not iterable"},
	"null as a list":            {"let a;\n[a] = [1]; const [c] = null", fault.JavaScriptError, 2, 24, "TypeError"},
	"syntax":                    {"let a = 1\nlet b = = 2", fault.SyntaxError, 2, 9, "let b = = 2"},
	"import":                    {"\nimport { x } from '@codemode/discoverie'", fault.CapabilityUnsupported, 2, 19, "there is no module"},
	"in TypeScript":             {"const a: number = 1;\n\nthrow new Error(`n${a}`)", fault.JavaScriptError, 3, 7, "n1"},
	"in a body":                 {"await 1; null.x", fault.JavaScriptError, 1, 15, "TypeError"},
	"recursion":                 {"function f() { f() }\nf()", fault.JavaScriptError, 1, 0, "recursed deeper than 512"},
	"unknown entity":            {"\nSDK.Entities.Tdo.collection()", fault.JavaScriptError, 2, 0, "Todo"},
	"unknown method":            {"\nSDK.Entities.Todo.colection()", fault.JavaScriptError, 2, 0, "collection"},
	"read-only":                 {"\nSDK.Entities.Product.upsert({})", fault.JavaScriptError, 2, 0, "Product"},
	"circular":                  {"const a = {}; a.a = a; a", fault.JavaScriptError, 0, 0, "not JSON"},
	"huge result":               {"'x'.repeat(300000)", fault.ResultTooLarge, 0, 0, "262144"},
	"circular answer":           {"const a = {}; a.a = a;\nSDK.Out.answer(a)", fault.JavaScriptError, 2, 15, "the answer"},
	"all() is bounded":          {"SDK.Entities.Todo.all({set:'big'})", fault.ResultTooLarge, 1, 0, "10000"},
	"fetch":                     {"\nfetch('http://x')", fault.JavaScriptError, 2, 1, "`fetch` does not exist in the sandbox (ReferenceError"},
	"eval":                      {"eval('1')", fault.JavaScriptError, 1, 1, "`eval` does not exist in the sandbox (ReferenceError"},
	"eval as a value":           {"let a;\n[1].map(eval)", fault.JavaScriptError, 2, 9, "`eval` does not exist in the sandbox"},
	"behind a field called get": {"class C { get = 1 }\n\nnull.x", fault.JavaScriptError, 3, 6, "TypeError"},
	"behind the last character": {"const a = '\\u{10FFFF}';\n\nnull.x", fault.JavaScriptError, 3, 6, "TypeError"},
	"default in a default":      {"1;\nconst f = ({a}, [b = 1] = []) => a", fault.SyntaxError, 2, 18, "Invalid destructuring"},
	"flag v":                    {"1;\nconst r = /[\\p{L}--[a-z]]/v", fault.SyntaxError, 2, 11, "flag v"},
	"flag v in TypeScript":      {"type T = 1;\nconst r: RegExp = /[a-z]/gv", fault.SyntaxError, 2, 19, "flag v"},
	"emoji property":            {"1;\n'x'.match(/\\p{RGI_Emoji}/u)", fault.SyntaxError, 2, 11, "RGI_Emoji"},
	"Function":                  {"new Function('return 1')()", fault.JavaScriptError, 1, 0, "Function"},
	"constructor":               {"(() => {}).constructor('return 1')()", fault.JavaScriptError, 1, 0, "Function"},
	"async constructor":         {"(async () => {}).constructor('return 1')()", fault.JavaScriptError, 1, 0, "Function"},
	"generator constructor":     {"(function*(){}).constructor('return 1')()", fault.JavaScriptError, 1, 0, "Function"},
	"require":                   {"require('fs')", fault.JavaScriptError, 1, 0, "require"},
	"process":                   {"process.exit()", fault.JavaScriptError, 1, 0, "process"},
	"wrong options":             {"SDK.Entities.Todo.getById('1', 5)", fault.InvalidPayload, 1, 26, "options"},
	"option given twice":        {"SDK.Entities.Todo.getById('1', {id: '2'})", fault.InvalidPayload, 1, 26, "twice"},
	"toString throws":           {"throw {toString(){ throw 1 }}", fault.JavaScriptError, 1, 1, "cannot be converted"},
	"closing bracket":           {"}); (function(){", fault.SyntaxError, 1, 1, ""},
	"call too large":            {"SDK.Vision.detect({a: 'x'.repeat(2e6)})", fault.CallTooLarge, 1, 18, "1048576"},
	"an Error from elsewhere":   {"const e = new Error('made here');\nthrow e", fault.JavaScriptError, 1, 11, "made here"},
	"catching does not undo it": {"try { null.x } catch {}\nthrow new RangeError('r')", fault.JavaScriptError, 2, 7, "RangeError: r"},
}

func TestFaults(t *testing.T) {
	executors(t, func(t *testing.T, x wire.Executor) {
		for name, c := range faultCases {
			t.Run(name, func(t *testing.T) {
				h := newHost()
				if name == "all() is bounded" {
					h.rows = 10_001
				}
				j := job(c.code)
				j.Limits.MaxCallBytes = 1 << 20
				r := execute(t, x, j, h)
				require.NotNil(t, r.Fault)
				require.Equal(t, c.fault, r.Fault.Code, "%v", r.Fault)
				require.Contains(t, r.Fault.Message, c.message)
				require.NotEmpty(t, r.Fault.Hint)
				require.Nil(t, r.Result)
				require.Equal(t, c.line, r.Fault.Line, "%v", r.Fault)
				if c.column > 0 {
					require.Equal(t, c.column, r.Fault.Column, "%v", r.Fault)
				}
				require.NotContains(t, r.Fault.Message, "github.com")
			})
		}
	})
}

func TestHintsForMisplacedNames(t *testing.T) {
	for code, hint := range map[string]string{
		"Todo.count()":                          "Write SDK.Entities.Todo.",
		"1;\nEntities.Todo.count()":             "Write SDK.Entities.",
		"Vision.detect({})":                     "Write SDK.Vision.",
		"throw new ToolCallError('x')":          "@codemode/errors",
		"\nconsole.nope([1])":                   "Write with console.log",
		"SDK.Entities.Todo.getById('1').then()": "Calls of SDK are synchronous",
		"SDK.Entities.Todo.page(1).then()":      "Calls of SDK are synchronous",
		"new Intl.Segmenter('en')":              "Intl has NumberFormat",
		"self.name":                             "globalThis",
		"SDK.args.content[0].text":              "without `content`",
		"JSON.parse({a: 1})":                    "a value already",
		"SDK.args.table([1])":                   "log it with console.log",
		"nope.count()":                          "Declare it",
		"undefinedFn()":                         "Declare it",
		"NaM":                                   "Declare it",
		"new AbortController()":                 "Promise.race",
		"const m = 'f' + 's'; await import(m)":  "Import one of these: @codemode/discovery",
	} {
		r := execute(t, NewInProcess(languages.All), job(code), newHost())
		require.NotNil(t, r.Fault, code)
		require.Contains(t, r.Fault.Hint, hint, "%s: %s", code, r.Fault)
	}
}

func TestInputs(t *testing.T) {
	cases := map[string]struct{ code, input string }{
		"collection":       {`T.collection({filter: {done: false}, sort: "-id", set: undefined})`, `{"filter":{"done":false},"sort":"-id"}`},
		"collection bare":  {`T.collection()`, `{}`},
		"set":              {`T.collection("other")`, `{"set":"other"}`},
		"firstPage":        {`T.firstPage(10, {filter: {a: 1}})`, `{"page":1,"pageSize":10,"filter":{"a":1}}`},
		"firstPage params": {`T.firstPage({sort: "a"})`, `{"page":1,"sort":"a"}`},
		"page":             {`T.page(3, 20, "other")`, `{"page":3,"pageSize":20,"set":"other"}`},
		"getById":          {`T.getById("1", "other")`, `{"id":"1","set":"other"}`},
		"getById options":  {`T.getById("1", {with: "a", fields: ["b"]})`, `{"id":"1","with":"a","fields":["b"]}`},
		"count":            {`T.count({a: 1}, "other")`, `{"filter":{"a":1},"set":"other"}`},
		"count of a set":   {`T.count("other")`, `{"set":"other"}`},
		"new":              {`T.new("other")`, `{"set":"other"}`},
		"upsert":           {`T.upsert({title: "a", x: undefined}, {replace: true, ifVersion: 3})`, `{"model":{"title":"a"},"replace":true,"ifVersion":3}`},
		"upsertMany":       {`T.upsertMany([{a: 1}], "other")`, `{"models":[{"a":1}],"set":"other"}`},
		"patch":            {`T.patch("1", {a: 1}, {set: "other"})`, `{"id":"1","changes":{"a":1},"set":"other"}`},
		"updateByQuery":    {`T.updateByQuery({a: 1}, {b: 2}, {maxAffected: 5})`, `{"filter":{"a":1},"changes":{"b":2},"maxAffected":5}`},
		"deleteByQuery":    {`T.deleteByQuery({a: 1}, {maxAffected: 5})`, `{"filter":{"a":1},"maxAffected":5}`},
		"delete":           {`T.delete(7)`, `{"id":7}`},
		"deleteMany":       {`T.deleteMany(["1"], "other")`, `{"ids":["1"],"set":"other"}`},
		"aggregate":        {`T.aggregate({groupBy: ["a"], count: true})`, `{"groupBy":["a"],"count":true}`},
		"each":             {`for (const x of T.each({filter: {a: 1}})) break`, `{"filter":{"a":1},"page":1,"pageSize":200,"count":false}`},
		"each behind":      {`for (const x of T.each({cursor: "c"})) break`, `{"cursor":"c","pageSize":200,"count":false}`},
		"all":              {`T.all("other")`, `{"set":"other","page":1,"pageSize":200,"count":true}`},
		"dates":            {`T.upsert({at: new Date(0)})`, `{"model":{"at":"1970-01-01T00:00:00.000Z"}}`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			h := newHost()
			r := execute(t, NewInProcess(languages.All), job("const T = SDK.Entities.Todo;\n"+c.code), h)
			require.Nil(t, r.Fault)
			require.NotEmpty(t, h.inputs)
			require.Equal(t, c.input, h.inputs[0])
		})
	}
}

func TestConsole(t *testing.T) {
	executors(t, func(t *testing.T, x wire.Executor) {
		r := execute(t, x, job(`console.table([{a: 1}]); console.dir({a: 1}, 2); console.group("g", 1); console.group(); console.groupEnd(); console.trace("t");
console.assert(1, "never"); console.assert(0, "said", {a: 1}); console.assert();
console.count(); console.count("x"); console.count("x"); console.countReset("x"); console.count("x");
console.time("t"); setTimeout(() => { console.timeLog("t"); console.timeEnd("t"); console.timeEnd("t") }, 30)`), newHost())
		require.Nil(t, r.Fault)
		var got []string
		for _, l := range r.Logs {
			got = append(got, l.Level+" "+l.Message)
		}
		require.Equal(t, []string{
			`info [{"a":1}]`, `info {"a":1} 2`, "info g 1", "debug t", `error Assertion failed: said {"a":1}`, "error Assertion failed",
			"info default: 1", "info x: 1", "info x: 2", "info x: 1", "info t: 30 ms", "info t: 30 ms",
		}, got)
	})
}

func TestLogs(t *testing.T) {
	executors(t, func(t *testing.T, x wire.Executor) {
		r := execute(t, x, job(`console.log("a", 1, {b: [2]}, null, undefined, () => 1, new TypeError("t"), 5n, Symbol("s")); console.debug("d"); console.warn("w"); SDK.Out.error("e"); SDK.Out.info("i"); const c = {}; c.c = c; console.log(c)`), newHost())
		require.Nil(t, r.Fault)
		var got []string
		for _, l := range r.Logs {
			got = append(got, l.Level+" "+l.Message)
		}
		require.Equal(t, []string{
			`info a 1 {"b":[2]} null undefined [function ] TypeError: t 5 Symbol(s)`, "debug d", "warn w", "error e", "info i", "info [Unserializable Object]",
		}, got)

		r = execute(t, x, job(`console.log(new Map([["a", {b: new Set([1])}]]), new Set(), {at: /x/g, why: new TypeError("t"), m: new Map()});
			Map.prototype[Symbol.iterator] = () => { throw 1 }; console.log(new Map())`), newHost())
		require.Nil(t, r.Fault)
		require.Equal(t, `[["a",{"b":[1]}]] [] {"at":"/x/g","why":"TypeError: t","m":[]}`, r.Logs[0].Message)
		require.Equal(t, "[Unserializable Object]", r.Logs[1].Message)

		r = execute(t, x, job(`for (let i = 0; i < 300; i++) console.log(i)`), newHost())
		require.Len(t, r.Logs, 201)
		require.Equal(t, "warn", r.Logs[200].Level)
		require.Contains(t, r.Logs[200].Message, "200 entries")

		long := job(`for (let i = 0; i < 3; i++) console.log("x".repeat(50000))`)
		long.Limits.MaxLogMessageBytes = 50000
		r = execute(t, x, long, newHost())
		require.Len(t, r.Logs, 3)
		require.Len(t, r.Logs[1].Message, 65536-50000)
		require.Equal(t, "warn", r.Logs[2].Level)
	})
}

func TestLogsOfKilledScript(t *testing.T) {
	j := job(`console.log("before"); Array.prototype.forEach.call({length:2**53-1}, Math.abs)`)
	j.Limits.CPUMs = 100
	r := execute(t, box(t), j, newHost())
	require.Equal(t, fault.Timeout, r.Fault.Code)
	require.Equal(t, []wire.Log{{Level: "info", Message: "before"}}, r.Logs)
}

func TestProgressAndAnswer(t *testing.T) {
	executors(t, func(t *testing.T, x wire.Executor) {
		h := newHost()
		r := execute(t, x, job(`SDK.Out.progress(1, 2, "half"); const a = {n: 1}; SDK.Out.answer(a); a.n = 2; undefined`), h)
		require.Nil(t, r.Fault)
		require.Equal(t, []string{"1/2 half"}, h.progress)
		require.JSONEq(t, `{"n":1}`, string(r.Answer))
		require.Nil(t, r.Result)
	})
}

func TestEmit(t *testing.T) {
	executors(t, func(t *testing.T, x wire.Executor) {
		h := newHost()
		r := execute(t, x, job(`const a = {n: 1}; SDK.Out.emit(a); a.n = 2; SDK.Entities.Todo.count(); SDK.Out.emit(a); SDK.Out.emit(); SDK.Out.emit(1n); 7`), h)
		require.Nil(t, r.Fault)
		require.Equal(t, []string{`0 {"n":1}`, `1 {"n":2}`, `2 null`, `3 1`}, h.emitted, "each as it was at that moment")
		require.Len(t, r.Emitted, 4)
		for code, want := range map[string]fault.Code{
			`for (let i = 0; i < 1000; i++) try { SDK.Out.emit(i) } catch {}`:                                fault.ResultTooLarge,
			`for (let i = 0; i < 9; i++) SDK.Out.emit("x".repeat(50_000))`:                                   fault.ResultTooLarge,
			`SDK.Out.emit("x".repeat(1_000_000))`:                                                            fault.ResultTooLarge,
			`SDK.Out.emit({get a() { throw new Error("mine") }})`:                                            fault.JavaScriptError,
			`const a = []; a.push(a); SDK.Out.emit(a)`:                                                       fault.JavaScriptError,
			`SDK.Out.emit({toJSON() { SDK.Out.emit("inner"); return "outer" }}); throw new Error("the end")`: fault.JavaScriptError,
		} {
			h := newHost()
			j := job(code)
			j.Limits.MaxResultBytes = 256 << 10
			r := execute(t, x, j, h)
			require.NotNil(t, r.Fault, code)
			require.Equal(t, want, r.Fault.Code, code)
			require.Len(t, h.emitted, len(r.Emitted), code)
			require.LessOrEqual(t, len(r.Emitted), wire.MaxEmitted)
		}
	})
}

func TestQuotaEndsTheScript(t *testing.T) {
	executors(t, func(t *testing.T, x wire.Executor) {
		for name, code := range map[string]string{
			"caught":  "const T = SDK.Entities.Todo;\nfor (;;) try { T.count() } catch {} finally { console.log('f') }",
			"native":  "const T = SDK.Entities.Todo;\nArray.from({length: 7}, T.aggregate)",
			"promise": "const T = SDK.Entities.Todo;\n(async () => { for (;;) try { await T.count() } catch {} })()",
		} {
			t.Run(name, func(t *testing.T) {
				h := newHost()
				h.maxCalls = 3
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				r, err := x.Execute(ctx, job(code), h)
				require.Error(t, err)
				require.Equal(t, fault.SDKCallsExceeded, fault.CodeOf(err))
				require.NotNil(t, r.Fault)
				require.Equal(t, fault.SDKCallsExceeded, r.Fault.Code)
				require.Equal(t, 2, r.Fault.Line)
				require.Len(t, h.calls, 4)
			})
		}
	})
}

func TestDeterminism(t *testing.T) {
	code := `const t = Date.now(); SDK.Entities.Todo.count(); setTimeout(() => {}, 5); [Math.random(), Math.random(), t, new Date().toISOString(), new Date(0).getTimezoneOffset()]`
	a := execute(t, box(t), job(code), newHost())
	b := execute(t, box(t), job(code), newHost())
	require.Nil(t, a.Fault)
	require.Equal(t, string(a.Result), string(b.Result))
	other := job(code)
	other.Seed = 43
	c := execute(t, box(t), other, newHost())
	require.NotEqual(t, string(a.Result), string(c.Result))
}

func TestValidate(t *testing.T) {
	executors(t, func(t *testing.T, x wire.Executor) {
		for name, c := range map[string]struct {
			code string
			want [][3]any
		}{
			"fine":           {"SDK.Entities.Todo.collection()", nil},
			"parse":          {"let a = 1\nlet b = = 1", [][3]any{{"parse", 2, 9}}},
			"unknown":        {"\nSDK.Entities.Tdo.collection()", [][3]any{{"unknown_entity", 2, 14}}},
			"in TypeScript":  {"const a: number = 1\nSDK.Entities.Todo.colection(a)", [][3]any{{"unknown_method", 2, 19}}},
			"in a fence":     {"```js\nSDK.Entities.Todo.colection()\n```", [][3]any{{"unknown_method", 2, 19}}},
			"does not run":   {"for(;;);", nil},
			"a lone fn":      {"function () { SDK.Entities.Todo.colection() }", [][3]any{{"unknown_method", 1, 33}}},
			"require":        {"const a: number = 1;\nrequire('fs')", [][3]any{{"forbidden_global", 2, 1}}},
			"with a return":  {"return SDK.Entities.Todo.colection()", [][3]any{{"unknown_method", 1, 26}}},
			"import refused": {"import x from '@codemode/discoverie'", [][3]any{{"unknown_module", 1, 15}}},
		} {
			t.Run(name, func(t *testing.T) {
				j := job(c.code)
				j.Task = wire.Validate
				r := execute(t, x, j, newHost())
				require.Nil(t, r.Fault)
				var got [][3]any
				for _, d := range r.Diagnostics {
					got = append(got, [3]any{d.Code, d.Line, d.Column})
				}
				require.Equal(t, c.want, got, "%+v", r.Diagnostics)
			})
		}
	})
}
