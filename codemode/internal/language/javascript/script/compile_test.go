package script

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestShapes(t *testing.T) {
	for name, c := range map[string]struct {
		code  string
		shape Shape
		lone  bool
		entry string
	}{
		"plain":                      {"1+1", Plain, false, ""},
		"await inside async":         {"(async()=>{ await 1 })()", Plain, false, ""},
		"top-level await":            {"const x = await SDK.f(); x", Body, false, ""},
		"await of a parenthesis":     {"await (async()=>1)()", Body, false, ""},
		"a member called await":      {"({await:1}).await", Plain, false, ""},
		"top-level return":           {"const x = 1\nreturn x", Body, false, ""},
		"arrow":                      {"async () => { return 1 }", Plain, true, ""},
		"arrow with semicolon":       {"() => 1;", Plain, true, ""},
		"anonymous function":         {"function () { return 1 }", Plain, true, ""},
		"anonymous async function":   {"async function () { return 1 };\n", Plain, true, ""},
		"one declaration":            {"function main() { return 1 }", Plain, false, "main"},
		"run":                        {"const a = 1; function run() { return 1 }", Plain, false, "run"},
		"run that was called":        {"function run() { return 1 }\nrun()", Plain, false, "run"}, // it is counted at run time
		"run handed over":            {"function run() { return 1 }\nsetTimeout(run, 1)", Plain, false, "run"},
		"run that cannot be watched": {"const run = (() => () => 1)();\nrun()", Plain, false, ""},
		"run that calls itself":      {"let a; function run(n) { return n ? run(n-1) : 1 }", Plain, false, "run"},
		"TypeScript":                 {"const x: number = 1; x", Body, false, ""},
		"TypeScript and return":      {"const x: number = 1; return x", Body, false, ""},
		"export":                     {"export async function run() { return 1 }", Body, false, "run"},
		"export default":             {"export default async () => 1", Body, false, ""},
		"async generator":            {"async function* g(){ yield 1 } for await (const x of g()) x", Body, false, ""},
		"fence":                      {"```js\nreturn 1\n```", Body, false, ""},
		"fence with information":     {"```js title=\"x\"\nreturn 1\n```", Body, false, ""},
		"fence of four":              {"````js\nreturn 1\n````\n", Body, false, ""},
		"fence of tildes":            {"~~~\nreturn 1\n~~~", Body, false, ""},
		"fence behind a BOM":         {"\uFEFF```js\nreturn 1\n```", Body, false, ""},
		"empty fence":                {"```\n```", Plain, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Compile(Source{Code: c.code})
			require.NoError(t, err)
			require.Equal(t, c.shape, p.Shape)
			require.Equal(t, c.lone, p.Lone)
			require.Equal(t, c.entry, p.Entry)
		})
	}
}

func TestSyntaxErrors(t *testing.T) {
	for name, c := range map[string]struct {
		code         string
		line, column int
		contains     string
	}{
		"plain":            {"const a = 1\nconst b = = 2", 2, 11, "const b = = 2"},
		"in a fence":       {"```js\nlet x = ;\n```", 2, 9, "let x = ;"},
		"unclosed":         {"function f() {\n  return 1", 2, 11, "return 1"},
		"second let":       {"let a = 1\nlet a = 2", 2, 5, "let a = 2"},
		"after wide chars": {"'äöü😀'; let x = ;", 1, 18, ""},
		"with return":      {"return 1 +", 1, 11, ""},
		"new.target":       {"let a = 1\nlet b = 2\na + new.target", 3, 5, "a + new.target"},
		"closing bracket":  {"}); (function(){", 1, 1, ""},
		"TypeScript":       {"const x: number = 1\nconst y: = 2", 2, 10, "const y: = 2"},
		"one bracket more": {"const x: number = 1\nreturn x }", 2, 10, "return x }"},
		"namespace":        {"namespace N { export const a = ; }\nN.a", 1, 32, "namespace N"},
		"closes a body":    {"const x: number = 1\n}); (function(){ return x", 2, 1, "}); (function"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Compile(Source{Code: c.code})
			var e *Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, [2]int{c.line, c.column}, [2]int{e.Line, e.Column}, e.Message)
			require.Contains(t, e.Message, c.contains)
			require.False(t, e.Unsupported)
		})
	}
}

func TestUnknownImportsAreRejected(t *testing.T) {
	for name, code := range map[string]string{
		"codemode": "1;\nimport { listServers } from '@codemode/discovery'", // where there are no modules
		"node":     "1;\nimport fs from 'fs'; fs.readFileSync('/etc/passwd')",
		"file":     "1;\nimport x from './etc/passwd'",
		"absolute": "1;\nimport '/etc/passwd'",
		"dynamic":  "1;\nawait import('fs')",
		"starter":  "1;\nimport * as me from 'script'",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Compile(Source{Code: code})
			var e *Error
			require.ErrorAs(t, err, &e)
			require.True(t, e.Unsupported, e.Message)
			require.Equal(t, 2, e.Line)
			require.NotEmpty(t, e.Hint)
		})
	}
}

func TestLanguage(t *testing.T) {
	_, err := Compile(Source{Code: "let x: number = 1", Language: "javascript"})
	require.Error(t, err)
	_, err = Compile(Source{Code: "let x: number = 1", Language: "typescript"})
	require.NoError(t, err)
}

func TestUnfence(t *testing.T) {
	for in, want := range map[string]string{
		"a":                           "a",
		"```js\na\n```":               "\na",
		"\n ```\r\na\r\nb\r\n```  \n": "\n\na\r\nb",
		"```js\n```":                  "\n",
		"```js\na":                    "```js\na",
		"`x`":                         "`x`",
		"Here it is:\n\n```js\na\n```\nIt counts.": "\n\n\na\n",
		"Text\n```\na\n```":                        "\n\na\n",
		"one\n```\na\n```\ntwo\n```\nb\n```":       "one\n```\na\n```\ntwo\n```\nb\n```",
		"f(`\n```js\na\n```\n`)":                   "f(`\n```js\na\n```\n`)",
		"SDK.f(1)\n```\na\n```":                    "SDK.f(1)\n```\na\n```",
		"a = 1\n```js\na\n```":                     "a = 1\n```js\na\n```",
	} {
		require.Equal(t, want, Unfence(in), "%q", in)
	}
}

func TestNamespaceWithReturn(t *testing.T) {
	_, err := Compile(Source{Code: "namespace N { export const a = 1 }\nreturn N.a"})
	var e *Error
	require.ErrorAs(t, err, &e)
	require.Contains(t, e.Hint, "end the script with an expression")
}

func FuzzCompile(f *testing.F) {
	for _, s := range []string{
		"1", "return 1", "await x", "function(){}", "async () => {", "```js\nreturn await 1\n```", "export default 1",
		"import 'x'", "let x: number", "}); (", "//# sourceMappingURL=/etc/passwd", "run()", "function run(){}", "\u2028äö",
		"enum A { B }", "for await (const a of b) c", "`${", "/[/", "<a>b</a>", "var a;\n;$koan$(1)",
	} {
		f.Add(s, "run")
	}
	f.Fuzz(func(t *testing.T, code, entry string) {
		if len(code) > 2000 {
			return
		}
		p, err := Compile(Source{Code: code, Entry: entry})
		if err != nil {
			e, ok := err.(*Error)
			require.True(t, ok)
			require.NotEmpty(t, e.Message)
			require.LessOrEqual(t, e.Line, 1+strings.Count(code, "\n")+strings.Count(code, "\r")+strings.Count(code, "\u2028")+strings.Count(code, "\u2029"))
			return
		}
		require.NotNil(t, p.Code)
	})
}
