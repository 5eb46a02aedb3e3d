package sandbox

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/wire"
)

// What makes TypeScript of a script: one that is left out of it, and one that only the
// whole compiler knows.
const (
	leftOut  = "\n;type Ours = 1;"
	compiled = "\n;type Theirs<T> = T extends [infer U extends string] ? U : 1;"
)

// TestStrippedIsThePlainScript runs scripts that the engine knows as they are again as
// TypeScript: they give the same, at the same places.
func TestStrippedIsThePlainScript(t *testing.T) {
	codes := map[string]string{}
	for name, c := range resultCases {
		codes["result: "+name] = c.code
	}
	for name, c := range faultCases {
		codes["fault: "+name] = c.code
	}
	codes["stack"] = "function f() {\n  throw new Error('deep')\n}\nconst g = () => f();\ntry { g() } catch (e) { e.stack }"
	for _, other := range []string{"anonymous function", "fence", "result before value"} { // nothing can stand behind them, or they have globals
		delete(codes, "result: "+other)
	}
	for _, name := range slices.Sorted(maps.Keys(codes)) {
		t.Run(name, func(t *testing.T) {
			compare(t, runInProcess(t, codes[name]), runInProcess(t, codes[name]+leftOut), true)
		})
	}
}

// TestStrippedIsTheCompiledModule runs modules as what is left of them without their
// types, and as what the compiler makes of them. The compiler keeps fewer places.
func TestStrippedIsTheCompiledModule(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(moduleCases)) {
		t.Run(name, func(t *testing.T) {
			compare(t, runInProcess(t, moduleCases[name]+compiled), runInProcess(t, moduleCases[name]+leftOut), false)
		})
	}
}

func runInProcess(t *testing.T, code string) *wire.Result {
	j := job(code)
	j.Args = []byte(`{"a":[1,2]}`)
	return execute(t, NewInProcess(), j, newHost())
}

func compare(t *testing.T, want, got *wire.Result, places bool) {
	require.Equal(t, string(want.Result), string(got.Result))
	require.Equal(t, want.Logs, got.Logs)
	require.Equal(t, want.Fault == nil, got.Fault == nil, "%v %v", want.Fault, got.Fault)
	if want.Fault == nil {
		return
	}
	require.Equal(t, []any{want.Fault.Code, want.Fault.Line, want.Fault.Message}, []any{got.Fault.Code, got.Fault.Line, got.Fault.Message})
	if places {
		require.Equal(t, want.Fault.Column, got.Fault.Column)
		if got.Fault.Details != nil { // a value that is thrown has a stack only where nothing waits for it
			require.Equal(t, want.Fault.Details, got.Fault.Details)
		}
	}
}

var moduleCases = map[string]string{
	"default of a function":   "export default function main() { return [1, this === undefined] }",
	"default without a name":  "export default async function () { return 2 }",
	"default of a class":      "export default class { static x = 1 }; 3",
	"default before a use":    "const f = () => a; export default f; const a = 4",
	"default by a list":       "const f = () => 5; export { f as default }",
	"default and a value":     "6; export default 7",
	"run beside a default":    "export function run() { return 8 } export default () => 9",
	"named":                   "export const a = 1, b = 2; export { a as c }; a + b",
	"not declared":            "export { nowhere }",
	"one arrow function":      "async () => 11",
	"return in a branch":      "if (SDK.args.a) { return 12 }\n13",
	"return that is not met":  "if (!SDK.args.a) return 14\nreturn",
	"enum":                    "enum Kind { A = 'a', B = 'b' } Object.values(Kind)",
	"class with fields":       "class P { x = 1; static #n = 2; static get n() { return P.#n } } [new P().x, P.n]",
	"wide characters":         "const ä = '😀'; throw new Error(ä)",
	"loop without a body":     "const a = [1];\n  for (const x of null);",
	"begins with a fault":     "nowhere().then()",
	"begins with no global":   "fetch('x')",
	"begins with a throw":     "throw { a: 1 }",
	"mark before an import":   "\ufeffimport { KoanError } from '@codemode/errors';\nif (SDK.args.a) { return KoanError.name }",
	"wide line end":           "const a = 1\u2028import { KoanError } from '@codemode/errors';\nif (SDK.args.a) { return KoanError.name }",
	"rejection":               "await Promise.reject(new TypeError('no'))",
	"console":                 "console.log({ a: 1 }); console.error('b')",
	"errors of a module":      "import { KoanError as K } from '@codemode/errors'; try { SDK.Entities.Todo.getById('9') } catch (e) { e instanceof K }",
	"whole module":            "import * as e from '@codemode/errors'; [Object.keys(e).sort(), e.default.KoanError === e.KoanError, 'nope' in e]",
	"default of a module":     "import e from '@codemode/errors'; Object.keys(e).length",
	"import behind its use":   "const k = typeof KoanError2;\nimport { KoanError as KoanError2 } from '@codemode/errors'; k",
	"import that is assigned": "import { KoanError } from '@codemode/errors';\nKoanError = 1",
	"import that is hidden":   "import { KoanError } from '@codemode/errors';\nfunction f(KoanError: any) { KoanError = 2; return KoanError } f(1)",
	"import of nothing":       "import { Nope } from '@codemode/errors';\nNope",
	"import of a type":        "import { Types } from '@codemode/errors'; const a: Types.X = 1; a",
	"imported twice":          "import { KoanError } from '@codemode/errors';\nimport { KoanError } from '@codemode/errors';",
	"frozen":                  "import * as e from '@codemode/errors'; try { e.KoanError = 1 } catch (x) { x.name }",
}
