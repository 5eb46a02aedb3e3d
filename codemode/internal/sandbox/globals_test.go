package sandbox

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/fault"
)

// TestGlobals uses every global of codemode-run-spec section 3.5 for what it is
// there for.
func TestGlobals(t *testing.T) {
	cases := map[string]struct{ code, result string }{
		"JSON":              {`JSON.stringify(JSON.parse('{"a":[1]}'))`, `"{\"a\":[1]}"`},
		"Math":              {`Math.max(1, Math.floor(2.7))`, `2`},
		"Date":              {`new Date(0).toISOString()`, `"1970-01-01T00:00:00.000Z"`},
		"URL":               {`new URL("/b?x=1", "https://a.de").href`, `"https://a.de/b?x=1"`},
		"URLSearchParams":   {`new URLSearchParams({a: "1 2"}).toString()`, `"a=1+2"`},
		"Promise":           {`await Promise.all([1, Promise.resolve(2)])`, `[1,2]`},
		"Map":               {`new Map([["a", 1]]).get("a")`, `1`},
		"Set":               {`new Set([1, 1, 2]).size`, `2`},
		"WeakMap":           {`const k = {}; new WeakMap([[k, 3]]).get(k)`, `3`},
		"WeakSet":           {`const k = {}; new WeakSet([k]).has(k)`, `true`},
		"Symbol":            {`typeof Symbol("a")`, `"symbol"`},
		"Proxy":             {`new Proxy({}, {get: () => 4}).x`, `4`},
		"Reflect":           {`Reflect.ownKeys({a: 1})`, `["a"]`},
		"RegExp":            {`new RegExp("b+").exec("abbc")[0]`, `"bb"`},
		"Error":             {`new Error("x").message`, `"x"`},
		"Array":             {`Array.from({length: 2}, (_, i) => i)`, `[0,1]`},
		"Object":            {`Object.entries({a: 1})`, `[["a",1]]`},
		"String":            {`String(12).padStart(4, "0")`, `"0012"`},
		"Number":            {`Number("1e3")`, `1000`},
		"Boolean":           {`Boolean("")`, `false`},
		"BigInt":            {`String(BigInt(2) ** 64n)`, `"18446744073709551616"`},
		"parseInt":          {`parseInt("12px", 10)`, `12`},
		"parseFloat":        {`parseFloat("1.5x")`, `1.5`},
		"isNaN":             {`isNaN("x")`, `true`},
		"isFinite":          {`isFinite(1)`, `true`},
		"Infinity":          {`1 / Infinity`, `0`},
		"NaN":               {`Object.is(NaN, 0 / 0)`, `true`},
		"undefined":         {`typeof undefined`, `"undefined"`},
		"TextEncoder":       {`[...new TextEncoder().encode("é")]`, `[195,169]`},
		"TextDecoder":       {`new TextDecoder().decode(new Uint8Array([195, 169]))`, `"é"`},
		"ArrayBuffer":       {`new ArrayBuffer(8).byteLength`, `8`},
		"DataView":          {`const d = new DataView(new ArrayBuffer(2)); d.setInt16(0, 258); d.getUint8(1)`, `2`},
		"Uint8Array":        {`new Uint8Array([256, 1])[0]`, `0`},
		"Int8Array":         {`new Int8Array([255])[0]`, `-1`},
		"Uint16Array":       {`new Uint16Array([65537])[0]`, `1`},
		"Int16Array":        {`new Int16Array([65535])[0]`, `-1`},
		"Uint32Array":       {`new Uint32Array([-1])[0]`, `4294967295`},
		"Int32Array":        {`new Int32Array([4294967295])[0]`, `-1`},
		"Float32Array":      {`new Float32Array([1.5])[0]`, `1.5`},
		"Float64Array":      {`new Float64Array([0.1])[0]`, `0.1`},
		"setTimeout":        {`await new Promise((r) => setTimeout(r, 5, "late"))`, `"late"`},
		"clearTimeout":      {`let n = 0; clearTimeout(setTimeout(() => n++, 1)); await new Promise((r) => setTimeout(r, 5)); n`, `0`},
		"console.log":       {`typeof console.log`, `"function"`},
		"console.debug":     {`typeof console.debug`, `"function"`},
		"console.warn":      {`typeof console.warn`, `"function"`},
		"console.error":     {`typeof console.error`, `"function"`},
		"__codemode_result": {`["__codemode_result__" in globalThis, globalThis.__codemode_result__ === undefined]`, `[true,true]`},
	}
	executors(t, func(t *testing.T, x wire.Executor) {
		for name, c := range cases {
			t.Run(name, func(t *testing.T) {
				r := execute(t, x, job(c.code), newHost())
				require.Nil(t, r.Fault, "%v", r.Fault)
				require.JSONEq(t, c.result, string(r.Result))
			})
		}
	})
}

// TestRestrictions has what the same section forbids: it is not there, and using
// it fails with a hint to what works here.
func TestRestrictions(t *testing.T) {
	absent := []string{
		"eval", "fetch", "XMLHttpRequest", "WebSocket", "EventSource", "navigator", "setInterval", "process", "require", "Buffer", "global", "module", "exports",
		"__dirname", "__filename", "setImmediate", "Deno", "Bun", "window", "document", "localStorage", "importScripts", "Worker",
	}
	executors(t, func(t *testing.T, x wire.Executor) {
		for _, name := range absent {
			t.Run(name, func(t *testing.T) {
				r := execute(t, x, job("[typeof "+name+", '"+name+"' in globalThis]"), newHost())
				require.Nil(t, r.Fault, "%v", r.Fault)
				require.JSONEq(t, `["undefined",false]`, string(r.Result))

				r = execute(t, x, job("1;\n"+name+"('x')"), newHost())
				require.NotNil(t, r.Fault)
				require.Equal(t, fault.JavaScriptError, r.Fault.Code)
				require.Equal(t, 2, r.Fault.Line)
				require.NotEmpty(t, r.Fault.Hint)
			})
		}
		for name, code := range map[string]string{
			"eval":               `eval("1")`,
			"indirect eval":      `(0, eval)("1")`,
			"Function":           `new Function("return 1")()`,
			"Function, no new":   `Function("return 1")()`,
			"constructor":        `(() => {}).constructor("return 1")()`,
			"async constructor":  `(async () => {}).constructor("return 1")()`,
			"generator":          `(function* () {}).constructor("yield 1")()`,
			"through Reflect":    `Reflect.construct(Function, ["return 1"])()`,
			"through a module":   `import * as v from "@codemode/servers/vision"; v.detect.constructor("return 1")()`,
			"through an error":   `import { CodemodeError } from "@codemode/errors"; CodemodeError.constructor("return 1")()`,
			"a timer of text":    `setTimeout("globalThis.x = 1", 1)`,
			"import of a file":   `await import("/etc/passwd")`,
			"import of an url":   `await import("data:text/javascript,1")`,
			"import of built-in": `await import("node:fs")`,
		} {
			t.Run(name, func(t *testing.T) {
				r := execute(t, x, imported(code), newHost())
				require.NotNil(t, r.Fault, "%s", r.Result)
				require.Contains(t, []fault.Code{fault.JavaScriptError, fault.CapabilityUnsupported}, r.Fault.Code, r.Fault.Message)
				require.Equal(t, 1, r.Fault.Line)
				require.NotEmpty(t, r.Fault.Hint)
			})
		}
	})
}
