package codemode

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/fixture"
)

// What a run would refuse for its arguments, validate says beforehand, and where.
func TestValidateChecksArguments(t *testing.T) {
	t.Parallel()
	k := koantest.New(t, fixture.App())
	for name, tt := range map[string]struct{ code, diagnostic, path, says string }{
		"unknown enum value in a filter": {`SDK.Entities.Todo.collection({filter: {priority: "urgent"}})`, "invalid_argument", "/filter/priority", "low"},
		"unknown enum value in a model":  {`SDK.Entities.Todo.upsert({title: "x", priority: "urgent"})`, "invalid_argument", "/model/priority", "low"},
		"wrong type in a filter":         {`SDK.Entities.Todo.count({effort: {$gt: "much"}})`, "invalid_argument", "/filter/effort/$gt", "number"},
		"wrong type in a model":          {`SDK.Entities.Todo.upsert({title: 5})`, "invalid_argument", "/model/title", "string"},
		"page too long":                  {`SDK.Entities.Todo.collection({pageSize: 500})`, "invalid_argument", "/pageSize", "from 1 to 200"},
		"page too long, by a method":     {`SDK.Entities.Todo.firstPage(500)`, "invalid_argument", "/pageSize", "from 1 to 200"},
		"no id":                          {`SDK.Entities.Todo.getById()`, "invalid_argument", "/id", "getById(id,"},
		"no changes":                     {`SDK.Entities.Todo.patch("1")`, "invalid_argument", "/changes", "patch(id, changes,"},
		"no required field":              {`SDK.Entities.Todo.upsert({})`, "invalid_argument", "/model/title", "required"},
		"filter as text":                 {`SDK.Entities.Todo.count("title = 'x'", {})`, "invalid_argument", "/filter", "object"},
		"filter as text, as an option":   {`SDK.Entities.Todo.collection({filter: "title = 'x'"})`, "invalid_argument", "/filter", "object"},
		"literal behind a name":          {"const filter = {priority: 'urgent'};\nSDK.Entities.Todo.collection({filter})", "invalid_argument", "/filter/priority", "low"},
		"beside what the run computes":   {`SDK.Entities.Todo.collection({filter: {priority: "urgent", title: SDK.args.title}})`, "invalid_argument", "/filter/priority", "low"},
		"through a module":               {"import { todo_collection } from '@codemode/servers/koan';\nawait todo_collection({pageSize: 500})", "invalid_argument", "/pageSize", "from 1 to 200"},
		"undeclared global":              {`Koan.Entities.Todo.collection()`, "unknown_global", "", "SDK.Entities"},
		"misspelt entity":                {`Tood.count()`, "unknown_global", "", "did you mean \"SDK.Entities.Todo\""},
		"misspelt declared name":         {`const { Todo } = SDK.Entities; Tood.count()`, "unknown_global", "", "did you mean \"Todo\""},
		"misspelt variable":              {`const total = 1; totl + 1`, "unknown_global", "", "did you mean \"total\""},
		"undeclared name":                {`const a = totl + 1`, "unknown_global", "", "totl"},
		"global of another runtime":      {`eval("1")`, "forbidden_global", "", "write the code itself"},
	} {
		t.Run(name, func(t *testing.T) {
			v := validated(t, k, tt.code)
			require.False(t, v.Valid)
			require.Len(t, v.Diagnostics, 1, "%+v", v)
			d := v.Diagnostics[0]
			require.Equal(t, []string{tt.diagnostic, tt.path}, []string{d.Code, d.Path})
			require.Contains(t, d.Message+" "+d.Hint, tt.says)
			require.NotEmpty(t, d.Hint)
			require.False(t, k.Try(tt.code, koantest.Input{}).Success, "the run refuses it too")
		})
	}
}

// What only the run knows, validate leaves alone.
func TestValidateSkipsRuntimeDecisions(t *testing.T) {
	t.Parallel()
	k := koantest.New(t, fixture.App())
	for name, code := range map[string]string{
		"argument":                  `SDK.Entities.Todo.collection({filter: SDK.args.filter, pageSize: SDK.args.n})`,
		"spread over a wrong value": `SDK.Entities.Todo.upsert({title: 5, ...SDK.args})`,
		"spread before what lacks":  `SDK.Entities.Todo.upsert({...SDK.args})`,
		"spread arguments":          `SDK.Entities.Todo.getById(...SDK.args)`,
		"changed literal":           `const f = {priority: "urgent"}; f.priority = "low"; SDK.Entities.Todo.count(f)`,
		"literal changed elsewhere": `const f = {priority: "urgent"}; SDK.args.mend(f); SDK.Entities.Todo.count(f)`,
		"computed name":             `SDK.Entities.Todo.count({[SDK.args.field]: "urgent"})`,
		"model that may exist":      `SDK.Entities.Todo.upsert({id: "1"})`,
		"computed permission":       `SDK.Entities.Todo.deleteByQuery({}, SDK.args.options)`,
		"failure that is caught":    `try { SDK.Entities.Todo.upsert({}) } catch (e) { e.code }`,
		"global made by the script": `total = 1; function f() { later = 2 } f(); total + later`,
		"global made on globalThis": `globalThis.total = 1; total`,
		"global that is asked for":  `typeof helper === "function" ? helper() : 1`,
		"function declared below":   `sum(1); function sum(n) { return n }`,
		"names of patterns":         `const {a: {b}, ...rest} = SDK.args; const [c, , d = b] = rest.list; for (const [k, v] of Object.entries(c)) d(k, v)`,
		"names of a class":          `class A { static n = 1; #p = A.n; get p() { return this.#p } } new A().p`,
		"parameter of a catch":      `try { SDK.args.f() } catch ({message}) { message }`,
		"label and arguments":       `outer: for (;;) { (function () { return arguments[0] })(1); break outer }`,
		"type of TypeScript":        `const n: number = 1; interface P { a: string } const p = {a: "x"} as P; p.a + n`,
		"errors of the module":      "import { ToolCallError } from '@codemode/errors'; try { SDK.args.f() } catch (e) { e instanceof ToolCallError }",
		"entry function":            `async function run(args) { return args }`,
		"all that a sandbox has":    `[structuredClone, crypto, performance, TextEncoder, URL, Intl, WeakRef, queueMicrotask, atob, console, Proxy, Reflect, BigInt, Iterator, KoanError]`,
	} {
		t.Run(name, func(t *testing.T) {
			require.True(t, validated(t, k, code).Valid, "%+v", validated(t, k, code))
		})
	}
}
