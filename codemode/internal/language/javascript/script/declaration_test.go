package script

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/internal/wire"
)

func declare(code string) (*wire.Declaration, error) {
	p, err := Compile(Source{Code: code, Action: true})
	if err != nil {
		return nil, err
	}
	return p.Declaration()
}

func TestDeclarationReturnsJSON(t *testing.T) {
	const run = "\nexport default (input) => input;\n"
	for name, test := range map[string]struct{ code, want string }{
		"literal":        {`export const action = { description: "Does it.", n: -1.5, ok: true, none: null, list: [1, "a", {}], "a-b": 'x', 3: "three" };` + run, `{"description":"Does it.","n":-1.5,"ok":true,"none":null,"list":[1,"a",{}],"a-b":"x","3":"three"}`},
		"typescript":     {"type In = { a: string };\nexport const action = { description: `one\ntwo`, rights: \"app\" as const } satisfies object;\nexport default ({ a }: In): string => a;", `{"description":"one\ntwo","rights":"app"}`},
		"joined strings": {`export const action = { description: "one " + "two " + 'three' };` + run, `{"description":"one two three"}`},
		"named later":    {`const it = { description: "x" }; function work() {} export { it as action, work as default };`, `{"description":"x"}`},
		"default export": {`export const action = { description: "x" }; export default async function run(i) { return 1 }`, `{"description":"x"}`},
		"after the work": {"export default () => 1;\nexport const action = { description: 'x' };", `{"description":"x"}`},
		"imports":        {"import { NotFoundError } from '@codemode/errors';\nexport const action = { description: 'x' };\nexport default () => { throw new NotFoundError('no') };", `{"description":"x"}`},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Compile(Source{Code: test.code, Action: true, Modules: errorsOnly{}})
			require.NoError(t, err)
			d, err := p.Declaration()
			require.NoError(t, err)
			require.Equal(t, test.want, string(d.Action))
		})
	}
}

// errorsOnly has only the module @codemode/errors.
type errorsOnly struct{}

func (errorsOnly) Paths() []string { return []string{"@codemode/errors"} }

func (errorsOnly) Exports(path string) ([]string, bool) {
	return []string{"NotFoundError"}, path == "@codemode/errors"
}

func TestDeclarationHasPositions(t *testing.T) {
	d, err := declare("// an action\nexport const action = {\n  description: \"x\",\n  input: {\n    type: \"objekt\",\n  },\n};\nexport default () => 1;")
	require.NoError(t, err)
	require.Equal(t, 5, d.Places["/input/type"].Line)
	require.Equal(t, 3, d.Places["/description"].Line)
}

func TestDeclarationMustBeLiteral(t *testing.T) {
	const run = "\nexport default (input) => input;\n"
	for name, test := range map[string]struct {
		code, want string
		line       int
	}{
		"none":           {"export default () => 1", "exports no `action`", 0},
		"not exported":   {"const action = { description: 'x' };" + run, "exports no `action`", 0},
		"no work":        {"export const action = { description: 'x' };", "no default export", 0},
		"getter":         {"export const action = {\n  get description() { return 'x' },\n};" + run, "a getter", 2},
		"method":         {"export const action = {\n  description() {},\n};" + run, "a getter", 2},
		"spread":         {"const more = { a: 1 };\nexport const action = {\n ...more };" + run, "a spread", 3},
		"spread array":   {"const more = [1];\nexport const action = {\n a: [...more] };" + run, "/a/0 is an expression", 3},
		"computed":       {"export const action = {\n [\"a\" + 1]: 1 };" + run, "a computed name", 2},
		"proto":          {"export const action = {\n __proto__: { rights: 'app' } };" + run, "__proto__", 2},
		"quoted proto":   {"export const action = {\n \"__proto__\": 1 };" + run, "__proto__", 2},
		"nested proto":   {"export const action = {\n input: { __proto__: { type: 'object' } } };" + run, "__proto__", 2},
		"twice":          {"export const action = {\n a: 1,\n a: 2 };" + run, "occurs twice", 3},
		"call":           {"export const action = {\n a: String(1) };" + run, "/a is a call", 2},
		"variable":       {"const a = 1;\nexport const action = { b: a };" + run, "/b is a variable", 2},
		"short":          {"const a = 1;\nexport const action = { a };" + run, "a variable", 2},
		"function":       {"export const action = { a: () => 1 };" + run, "/a is a function", 1},
		"template":       {"const x = 1;\nexport const action = { a: `x${x}` };" + run, "template with expressions", 2},
		"hole":           {"export const action = { a: [1,,2] };" + run, "empty element", 1},
		"big integer":    {"export const action = { a: 1n };" + run, "no big integers", 1},
		"infinite":       {"export const action = { a: 1e999 };" + run, "/a is a variable", 1},
		"undefined":      {"export const action = { a: undefined };" + run, "/a is", 1},
		"frozen":         {"export const action = Object.freeze({ a: 1 });" + run, "not an object literal", 1},
		"list":           {"export const action = [];" + run, "not an object literal", 1},
		"function as it": {"export function action() {}" + run, "not a constant", 0},
		"syntax":         {"export const action = { a: 1 \nexport default 1", "Expected", 2},
		"deep":           {"export const action = { a: " + strings.Repeat("[", 100) + strings.Repeat("]", 100) + "};" + run, "nested more than 64 deep", 1},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := declare(test.code)
			var e *Error
			require.ErrorAs(t, err, &e)
			require.Contains(t, e.Message, test.want)
			require.Equal(t, test.line, e.Line, e.Message)
		})
	}
}

func FuzzDeclaration(f *testing.F) {
	f.Add("export const action = { description: 'x', input: { type: 'object' } }; export default () => 1;")
	f.Add("const a = { b: [1, -2, `x`, null] }; export { a as action }; export default function () {}")
	f.Add("export const action = { get a() { return 1 }, ...b, ['c']: 1, __proto__: null }; export default 1;")
	f.Fuzz(func(t *testing.T, code string) {
		if len(code) > 4000 {
			return
		}
		d, err := declare(code)
		if err != nil {
			var e *Error
			require.True(t, errors.As(err, &e), "%T", err)
			return
		}
		require.True(t, json.Valid(d.Action), string(d.Action))
		require.Equal(t, byte('{'), d.Action[0])
	})
}
