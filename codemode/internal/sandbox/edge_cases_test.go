package sandbox

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/fault"
)

func TestEntryIsCalledWhenNothingCalledIt(t *testing.T) {
	cases := map[string]struct{ code, entry, result string }{
		"through call":         {`let n = 0; function run(){ return ++n } run.call(null); n`, "", `1`},
		"through another name": {`let n = 0; function run(){ return ++n } const r = run; r(); n`, "", `1`},
		"as an arrow":          {`let n = 0; const run = () => ++n; [1].forEach(() => run()); n`, "", `1`},
		"by a timer":           {`globalThis.n = 0; function run(){ globalThis.result = ++n } setTimeout(() => run(), 5); 1`, "", `1`},
		"by a promise":         {`globalThis.n = 0; async function run(){ globalThis.result = ++n } Promise.resolve().then(run)`, "", `1`},
		"in a body":            {`let n = 0; function run(){ return ++n } await run.call(null); return n`, "", `1`},
		"in TypeScript":        {`let n: number = 0; function run(){ return ++n } run.call(null); return n`, "", `1`},
		"in a module":          {`let n: number = 0; export function run(){ return ++n } run.call(null); n`, "", `1`},
		"never reached":        {`let n = 0; function run(){ return ++n } function other(){ run() } n`, "", `1`},
		"in a dead branch":     {`let n = 0; function run(){ return "r" + ++n } if (false) run(); n`, "", `"r1"`},
		"strict":               {`function run(){ "use strict"; return this === undefined } 1`, "", `true`},
		"named and called":     {`globalThis.n = 0; function run(){ return ++n } run()`, "run", `2`},
		"unicode name":         {`let x = 1; function größe(){ return 7 }`, "größe", `7`},
		"its own toString":     {`let x = 1; function toString(){ return "mine" }`, "toString", `"mine"`},
		"thenable":             {`return {then(r){ r(43) }, a: 1}`, "", `{"a":1}`},
		"thenable in a block":  {`if (SDK.args) { return {then(r){ r(43) }, a: 1} }`, "", `{"a":1}`},
		"thenable, typed":      {`const a: number = 1; return {then(r: any){ r(43) }, a}`, "", `{"a":1}`},
		"promise is awaited":   {`return Promise.resolve(5)`, "", `5`},
		"directive":            {"'use strict';\nreturn (function(){ return this === undefined })()", "", `true`},
		"directive, await":     {"// x\n\"use strict\"\nawait 1; return (function(){ return this === undefined })()", "", `true`},
		"no directive":         {"return (function(){ return this === globalThis })()", "", `true`},
		"four backticks":       {"````js\nreturn 1\n````", "", `1`},
		"BOM before a fence":   {"\ufeff```js title=\"x\"\nreturn 1\n```", "", `1`},
		"pollution of lists":   {`Array.prototype[Symbol.iterator] = function(){ throw new Error("it") }; SDK.Entities.Todo.all().length`, "", `5`},
		"pollution of options": {`Object.prototype.pageSize = 1; Object.prototype.count = false; SDK.Entities.Todo.all().length`, "", `5`},
		"lone surrogates":      {`["\ud800", "a\udc00b", "\\ud800", {"\udbff": 1}]`, "", "[\"\ufffd\",\"a\ufffdb\",\"\\\\ud800\",{\"\ufffd\":1}]"},
		"lone surrogate":       {`"\ud83d\ude00\ud83d"`, "", "\"\U0001F600\ufffd\""},
		"pair in a call":       {`SDK.Vision.detect({a: "\ud83d\ude00", b: {c: ["\\ud800", "\ufffd"]}})`, "", "{\"a\":\"\U0001F600\",\"b\":{\"c\":[\"\\\\ud800\",\"\ufffd\"]}}"},
		"surrogate in a call":  {`[() => SDK.Vision.detect({b: {c: ["\ud800"]}}), () => SDK.Vision.detect({"\udc00": 1}), () => SDK.Entities.Todo.getById("\ud800"), () => SDK.Entities.Todo.count({title: "x\udc00"}), () => SDK.Entities.Todo.all({set: "\ud83dx"})].map((f) => { try { f(); return "sent" } catch (e) { return e.code + " " + e.path } })`, "", "[\"invalid_payload /b/c/0\",\"invalid_payload /\ufffd\",\"invalid_payload /id\",\"invalid_payload /filter/title\",\"invalid_payload /set\"]"},
		"members made later":   {`const E = SDK.Entities, once = E.Todo; [once === E.Todo, Object.keys(E).includes("Todo"), "Todo" in E, Object.values(E).every((e) => typeof e === "object"), JSON.stringify(Object.getOwnPropertyDescriptor(E, "Todo")), E.Todo.getById.name, E.nothing === undefined, (() => { "use strict"; try { E.Todo = 1 } catch (e) { return e.name } })(), E.Todo === once]`, "", `[true,true,true,true,"{\"value\":{},\"writable\":false,\"enumerable\":true,\"configurable\":true}","getById",true,"TypeError",true]`},
		"members of a frozen":  {`Object.freeze(SDK.Entities); Object.freeze(SDK); const d = SDK.Vision; [SDK.Entities.Todo === SDK.Entities.Todo, SDK.Entities.Todo.all().length, d === SDK.Vision]`, "", `[true,5,true]`},
		"members redefined":    {`Object.defineProperty(SDK.Entities, "Todo", {value: 7, configurable: true}); const was = SDK.Entities.Todo; delete SDK.Entities.Todo; [was, SDK.Entities.Todo === undefined]`, "", `[7,true]`},
		"loops keep the value": {`let i = 0; while (i < 3) { i++; i * 2 }`, "", `6`},
	}
	executors(t, func(t *testing.T, x wire.Executor) {
		for name, c := range cases {
			t.Run(name, func(t *testing.T) {
				j := job(c.code)
				j.EntryFunction = c.entry
				r := execute(t, x, j, newHost())
				require.Nil(t, r.Fault)
				require.Equal(t, c.result, string(r.Result))
			})
		}
	})
}

func TestFailurePositions(t *testing.T) {
	cases := map[string]struct {
		code         string
		fault        fault.Code
		line, column int
		message      string
	}{
		"getter throws":              {"\n({get a(){\n throw new Error('g') }})", fault.JavaScriptError, 3, 0, "g"},
		"getter throws a string":     {"\n({get a(){\n throw 'g' }})", fault.JavaScriptError, 3, 0, "g"},
		"toJSON throws":              {"\n({toJSON(){\n null.x }})", fault.JavaScriptError, 3, 0, "TypeError"},
		"getter in an answer":        {"SDK.Out.answer(\n{get a(){\n throw new Error('g') }})", fault.JavaScriptError, 3, 0, "g"},
		"engine throws in toJSON":    {"\n({toJSON(){\n JSON.parse('{') }})", fault.JavaScriptError, 3, 0, "SyntaxError"},
		"circular":                   {"const a = {}; a.a = a; a", fault.JavaScriptError, 0, 0, "not JSON"},
		"string after await":         {"await null;\n throw 'x'", fault.JavaScriptError, 2, 2, "x"},
		"string in async run":        {"const a = 1;\nasync function run(){\n throw 'No items' }", fault.JavaScriptError, 3, 2, "No items"},
		"object in async run":        {"const a = 1;\nasync function run(){\n throw {a} }", fault.JavaScriptError, 3, 2, `{"a":1}`},
		"rejected with null":         {"\nPromise.reject(null)", fault.JavaScriptError, 2, 0, "null"},
		"string, typed":              {"const a: number = 1;\nawait null;\nthrow 'x'", fault.JavaScriptError, 3, 1, "x"},
		"all rejected":               {"\nawait Promise.any([\n Promise.reject(new Error('one'))])", fault.JavaScriptError, 3, 0, "one"},
		"called by a promise":        {"\nPromise.resolve('zz').then(SDK.Entities.Todo.getById)", fault.NotFound, 2, 0, "no Todo"},
		"called by a timer":          {"\n\nsetTimeout(SDK.Entities.Todo.getById, 1, 'zz')", fault.NotFound, 3, 0, "no Todo"},
		"engine called by a promise": {"\nPromise.resolve('{').then(JSON.parse)", fault.JavaScriptError, 2, 0, "SyntaxError"},
		"proxy of an error":          {"\nthrow new Proxy({}, {getPrototypeOf(){ throw 1 }})", fault.JavaScriptError, 2, 0, ""},
		"huge number":                {"throw 7n**300000n", fault.JavaScriptError, 1, 0, "…"},
		"huge string":                {"throw 'x'.repeat(1e5)", fault.JavaScriptError, 1, 0, "…"},
		"huge message":               {"throw new Error('x'.repeat(1e5))", fault.JavaScriptError, 1, 0, "…"},
		"a result that grows":        {"let o = 1;\nfor (let i = 0; i < 6; i++) { for (let j = 0; j < 400; j++) o = {o}; o = SDK.Vision.detect(o) }", fault.CallTooLarge, 2, 0, "deeper than 2000"},
		"a large answer, caught":     {"\ntry { SDK.Out.answer('x'.repeat(300000)) } catch {}\nSDK.Entities.Todo.delete('1')", fault.ResultTooLarge, 2, 0, "the answer"},
		"a large answer, at the end": {"setTimeout(SDK.Out.answer, 1, 'x'.repeat(300000))", fault.ResultTooLarge, 1, 0, "the answer"},
	}
	executors(t, func(t *testing.T, x wire.Executor) {
		for name, c := range cases {
			t.Run(name, func(t *testing.T) {
				h := newHost()
				r := execute(t, x, job(c.code), h)
				require.NotNil(t, r.Fault)
				require.Equal(t, c.fault, r.Fault.Code, r.Fault.Message)
				require.Equal(t, c.line, r.Fault.Line, r.Fault.Message)
				if c.column > 0 {
					require.Equal(t, c.column, r.Fault.Column)
				}
				require.Contains(t, r.Fault.Message, c.message)
				require.Less(t, len(r.Fault.Message), 2200)
				require.NotContains(t, h.calls, "entity::Todo.delete")
			})
		}
	})
}

func TestInvalidEntryFunctions(t *testing.T) {
	executors(t, func(t *testing.T, x wire.Executor) {
		for _, name := range []string{"toString", "constructor", "parseInt", "setTimeout", "o.main", "class", "missing", "a b", "1"} {
			for _, code := range []string{"const o = {main(){ return 1 }}", "await 1", "return 1", "const a: number = 1"} {
				j := job(code)
				j.EntryFunction = name
				r := execute(t, x, j, newHost())
				require.NotNil(t, r.Fault, name)
				require.Equal(t, fault.InvalidPayload, r.Fault.Code, name)
				require.Equal(t, "/entryFunction", r.Fault.Path)
			}
		}
	})
}

func TestTimeoutNamesTheLoop(t *testing.T) {
	executors(t, func(t *testing.T, x wire.Executor) {
		for code, lines := range map[string]struct{ loop, before int }{
			"\n\n\nwhile(true);":                                  {4, 0},
			"Math.max(1);\n\nfor(;;);":                            {3, 1},
			"function f() {\n  Math.max(1);\n  for(;;){}\n}\nf()": {3, 2},
			"\nlet i = 0;\ndo {} while (true)":                    {3, 2},
			"const a: number = 1;\n\nwhile (true);":               {3, 1},
			"await 1;\nwhile (true) {\n}":                         {2, 1},
			"let n = 0;\nfor (;;)\n  n++;":                        {3, 1},
		} {
			// The engine has positions for few instructions: if the script is stopped at the
			// first one of the loop, the line is the one before the loop, or 0.
			loop := 0
			for range 4 {
				j := job(code)
				j.Limits.CPUMs = 50
				r := execute(t, x, j, newHost())
				require.NotNil(t, r.Fault)
				require.Equal(t, fault.Timeout, r.Fault.Code)
				require.Contains(t, []int{lines.loop, lines.before, 0}, r.Fault.Line, code)
				if r.Fault.Line == lines.loop {
					loop++
				}
			}
			if !strings.Contains(code, "do") {
				require.Positive(t, loop, "the loop's line never showed: %s", code)
			}
		}
	})
}

// TestThrownValuesThatLoop throws values that run an endless loop of the script when they are
// inspected.
func TestThrownValuesThatLoop(t *testing.T) {
	for _, trap := range []string{"getPrototypeOf", "get", "has", "ownKeys", "getOwnPropertyDescriptor"} {
		for _, code := range []string{
			"throw new Proxy({}, {" + trap + "(){ for(;;); }})",
			"(async () => { throw new Proxy({}, {" + trap + "(){ for(;;); }}) })()",
			"setTimeout(() => { throw new Proxy(new Error('x'), {" + trap + "(){ for(;;); }}) })",
			"({get a(){ throw new Proxy({}, {" + trap + "(){ for(;;); }}) }})",
		} {
			j := job(code)
			j.Limits.CPUMs = 60
			r := execute(t, box(t), j, newHost())
			require.NotNil(t, r.Fault)
			require.Contains(t, []fault.Code{fault.Timeout, fault.JavaScriptError}, r.Fault.Code, code)
			if trap == "getPrototypeOf" {
				t.Log(r.Fault)
			}
		}
	}
}
