package sandbox

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/codemode/languages"
)

// typed, appended to a script, makes it TypeScript.
const typed = "\n;type Ours = 1;"

// TestTypeScriptMatchesPlainScript runs plain scripts again as TypeScript: results and
// positions must be the same.
func TestTypeScriptMatchesPlainScript(t *testing.T) {
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
			compare(t, runInProcess(t, codes[name]), runInProcess(t, codes[name]+typed))
		})
	}
}

// TestModulesOfTypeScript runs what modules consist of.
func TestModulesOfTypeScript(t *testing.T) {
	for name, c := range moduleCases {
		t.Run(name, func(t *testing.T) {
			r := runInProcess(t, c.code+typed)
			if c.message == "" {
				require.Nil(t, r.Fault)
				require.Equal(t, c.result, string(r.Result))
				return
			}
			require.NotNil(t, r.Fault)
			require.Equal(t, [2]int{c.line, c.column}, [2]int{r.Fault.Line, r.Fault.Column}, r.Fault.Message)
			require.Contains(t, r.Fault.Message, c.message)
		})
	}
}

func runInProcess(t *testing.T, code string) *wire.Result {
	j := job(code)
	j.Args = []byte(`{"a":[1,2]}`)
	return execute(t, NewInProcess(languages.All), j, newHost())
}

func compare(t *testing.T, want, got *wire.Result) {
	require.Equal(t, string(want.Result), string(got.Result))
	require.Equal(t, want.Logs, got.Logs)
	require.Equal(t, want.Fault == nil, got.Fault == nil, "%v %v", want.Fault, got.Fault)
	if want.Fault == nil {
		return
	}
	require.Equal(t, []any{want.Fault.Code, want.Fault.Line, want.Fault.Message}, []any{got.Fault.Code, got.Fault.Line, got.Fault.Message})
	require.Equal(t, want.Fault.Column, got.Fault.Column)
	if got.Fault.Details != nil { // a value that is thrown has a stack only where nothing waits for it
		require.Equal(t, want.Fault.Details, got.Fault.Details)
	}
}

var moduleCases = map[string]struct {
	code, result string
	line, column int
	message      string
}{
	"default of a function":   {code: "export default function main() { return [1, this === undefined] }", result: `[1,false]`},
	"default without a name":  {code: "export default async function () { return 2 }", result: `2`},
	"default of a class":      {"export default class { static x = 1 }; 3", ``, 0, 0, `TypeError: Class constructor cannot be invoked without 'new'`},
	"default before a use":    {code: "const f = () => a; export default f; const a = 4", result: `4`},
	"default by a list":       {code: "const f = () => 5; export { f as default }", result: `5`},
	"default and a value":     {code: "6; export default 7", result: `7`},
	"run beside a default":    {code: "export function run() { return 8 } export default () => 9", result: `8`},
	"named":                   {code: "export const a = 1, b = 2; export { a as c }; a + b", result: `3`},
	"not declared":            {code: "export { nowhere }"},
	"one arrow function":      {code: "async () => 11", result: `11`},
	"return in a branch":      {code: "if (SDK.args.a) { return 12 }\n13", result: `12`},
	"const before its value":  {"f();\nconst a: number = 1;\nfunction f() { return a + 1 }", ``, 3, 23, "Cannot access"},
	"const of a module":       {code: "import '@codemode/errors';\nconst before = typeof a;\nconst a = 1;\nbefore", result: `"undefined"`},
	"const in a block":        {code: "const fs: any[] = []; for (let i = 0; i < 2; i++) fs.push(() => i); fs.map((f) => f())", result: `[0,1]`},
	"value behind a return":   {code: "if (!SDK.args.a) return 0;\n(SDK.args.a as number[]).length", result: `2`},
	"value of a branch":       {code: "1; if (SDK.args.a as any) { 5 } else { 6 }", result: `5`},
	"branch of a module":      {code: "import '@codemode/errors'; if (!SDK.args.a) 5; else { try { 6 } finally { 7 } }", result: `6`},
	"and an import":           {code: "import { KoanError } from '@codemode/errors';\nif (!SDK.args.a) return 0;\nKoanError.name", result: `"KoanError"`},
	"require":                 {code: "typeof require", result: `"undefined"`},
	"computed require":        {"require(SDK.args.a)", ``, 1, 1, "`require` does not exist in the sandbox"},
	"return that is not met":  {code: "if (!SDK.args.a) return 14\nreturn"},
	"enum":                    {code: "enum Kind { A = 'a', B = 'b' } Object.values(Kind)", result: `["a","b"]`},
	"class with fields":       {code: "class P { x = 1; static #n = 2; static get n() { return P.#n } } [new P().x, P.n]", result: `[1,2]`},
	"wide characters":         {"const ä = '😀'; throw new Error(ä)", ``, 1, 23, `😀`},
	"loop without a body":     {"const a = [1];\n  for (const x of null);", ``, 2, 19, `TypeError: Cannot convert undefined or null to object`},
	"begins with a fault":     {"nowhere().then()", ``, 1, 1, "`nowhere` is not declared (ReferenceError: nowhere is not defined)"},
	"begins with no global":   {"fetch('x')", ``, 1, 1, "`fetch` does not exist in the sandbox (ReferenceError: fetch is not defined)"},
	"begins with a throw":     {"throw { a: 1 }", ``, 1, 1, `{"a":1} was thrown`},
	"mark before an import":   {code: "\ufeffimport { KoanError } from '@codemode/errors';\nif (SDK.args.a) { return KoanError.name }", result: `"KoanError"`},
	"wide line end":           {code: "const a = 1\u2028import { KoanError } from '@codemode/errors';\nif (SDK.args.a) { return KoanError.name }", result: `"KoanError"`},
	"rejection":               {"await Promise.reject(new TypeError('no'))", ``, 1, 22, `TypeError: no`},
	"console":                 {code: "console.log({ a: 1 }); console.error('b')"},
	"errors of a module":      {code: "import { KoanError as K } from '@codemode/errors'; try { SDK.Entities.Todo.getById('9') } catch (e) { e instanceof K }", result: `true`},
	"whole module":            {code: "import * as e from '@codemode/errors'; [Object.keys(e).sort(), e.default.KoanError === e.KoanError, 'nope' in e]", result: `[["AuthenticationError","CodemodeError","KoanError","SandboxLimitError","SchemaValidationError","ServerNotFoundError","ToolCallError","ToolNotFoundError","default"],true,false]`},
	"default of a module":     {code: "import e from '@codemode/errors'; Object.keys(e).length", result: `8`},
	"import behind its use":   {code: "const k = typeof KoanError2;\nimport { KoanError as KoanError2 } from '@codemode/errors'; k", result: `"function"`},
	"import that is assigned": {"import { KoanError } from '@codemode/errors';\nKoanError = 1", ``, 2, 1, `Cannot assign to import "KoanError"`},
	"import that is hidden":   {code: "import { KoanError } from '@codemode/errors';\nfunction f(KoanError: any) { KoanError = 2; return KoanError } f(1)", result: `2`},
	"import of nothing":       {"import { Nope } from '@codemode/errors';\nNope", ``, 2, 1, `the module "@codemode/errors" has no export "Nope"`},
	"import of a type":        {code: "import { Types } from '@codemode/errors'; const a: Types.X = 1; a", result: `1`},
	"imported twice":          {code: "import { KoanError } from '@codemode/errors';\nimport { KoanError } from '@codemode/errors';"},
	"frozen":                  {"import * as e from '@codemode/errors'; try { e.KoanError = 1 } catch (x) { x.name }", ``, 1, 48, `Cannot assign to import "KoanError"`},
}
