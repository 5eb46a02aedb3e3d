package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
)

type input = map[string]any

func TestScriptResults(t *testing.T) {
	t.Parallel()
	p := newApp(t).serve()
	cases := map[string]struct {
		code   string
		extra  input
		answer any
		result any
	}{
		"last expression":       {"1; 2 + 3", nil, nil, 5.0},
		"top-level return":      {"return 4", nil, nil, 4.0},
		"a function expression": {"() => 6", nil, nil, 6.0},
		"an async function":     {"async () => { await null; return 7 }", nil, nil, 7.0},
		"a fence":               {"```js\n8\n```", nil, nil, 8.0},
		"top-level await":       {"const x = await Promise.resolve(9); x", nil, nil, 9.0},
		"TypeScript":            {"const x: number = 10; x as number", input{"language": "typescript"}, nil, 10.0},
		"entry function":        {"function main() { return 11 }", input{"entryFunction": "main"}, nil, 11.0},
		"run is called":         {"function run() { return 12 }", nil, nil, 12.0},
		"run was called":        {"let n = 0; function run() { n++ } run(); n", nil, nil, 1.0},
		"__codemode_result__":   {"globalThis.__codemode_result__ = 13; 1", nil, nil, 13.0},
		"globalThis.result":     {"globalThis.result = 14; 1", nil, nil, 14.0},
		"a promise is awaited":  {"Promise.resolve(15)", nil, nil, 15.0},
		"undefined is left out": {"undefined", nil, nil, nil},
		"null is a value":       {"null", nil, nil, nil},
		"the last answer wins":  {"SDK.Out.answer(1); SDK.Out.answer({a: [null]})", nil, map[string]any{"a": []any{nil}}, nil},
		"args":                  {"SDK.args.deep.x", input{"args": input{"deep": input{"x": 16}}}, nil, 16.0},
		"run is described":      {"[SDK.run.set, SDK.run.dryRun, typeof SDK.run.id]", nil, nil, []any{"default", false, "string"}},
		"timers":                {"await new Promise((r) => setTimeout(r, 50)); 17", nil, nil, 17.0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			e := p.execute(c.code, c.extra)
			require.True(t, e.Success, "%+v", e.Error)
			require.Equal(t, c.answer, e.Answer)
			if c.answer == nil {
				require.Equal(t, c.result, e.Result)
			}
		})
	}
	e := p.execute("console.log('a', {b: 1}); console.warn('w'); SDK.Out.info('i'); SDK.Out.error('e')")
	var lines []string
	for _, l := range e.Logs {
		lines = append(lines, fmt.Sprint(l["level"], ":", l["message"]))
	}
	require.Equal(t, []string{`info:a {"b":1}`, "warn:w", "info:i", "error:e"}, lines)
}

func TestSDK(t *testing.T) {
	p := newApp(t).serve()
	e := p.execute(`
const { Todo, Person, Label } = SDK.Entities;
const ada = Person.upsert({ name: "Ada", email: "ada@example.org" });
const labels = Label.upsertMany([{ name: "home" }, { name: "work" }]);
const made = Todo.upsertMany([
  { title: "b", assignedUserId: ada.id, labels: labels.map((l) => l.id) },
  { title: "a", priority: "high", dueDate: "2026-01-02T03:04:05Z" },
  { title: "c" },
]);
const b = Todo.getById(made[0].id, { with: "assignedUser,labels" });
const seen = [];
for (const t of Todo.each({ sort: "-title", pageSize: 2 })) seen.push(t.title);
const patched = Todo.patch(made[1].id, { notes: "n" });
const kept = Todo.upsert({ id: made[1].id, title: "a2" });
const replaced = Todo.upsert({ id: made[1].id, title: "a3" }, { replace: true });
({
  labelId: typeof labels[0].id,
  user: b.assignedUser.name, labels: b.labels.map((l) => l.name).sort(),
  seen, all: Todo.all().length, first: Todo.firstPage(2, { sort: "title" }).items.length, second: Todo.page(2, 3, { sort: "title" }).items.length,
  high: Todo.collection({ filter: { priority: "high" } }).totalCount,
  found: Todo.findById("nope"), count: Todo.count({ title: { $in: ["b", "c"] } }),
  kept: [kept.notes, kept.priority], replaced: [replaced.notes, replaced.priority],
  of: Todo.count({ assignedUser: { name: "Ada" } }), some: Todo.count({ labels: { $some: { name: "home" } } }),
  model: Todo.new().priority, deleted: [Todo.delete(made[2].id), Todo.delete(made[2].id), Todo.deleteMany([made[0].id, "x"])],
  mutators: [typeof SDK.Entities.AuditLog.collection, typeof SDK.Entities.AuditLog.upsert],
})`)
	require.True(t, e.Success, "%+v", e.Error)
	r := e.Result.(map[string]any)
	require.Equal(t, "string", r["labelId"], "every id is a string")
	require.Equal(t, "Ada", r["user"])
	require.Equal(t, []any{"home", "work"}, r["labels"])
	require.Equal(t, []any{"c", "b", "a", "Write tests"}, r["seen"])
	require.EqualValues(t, 4, r["all"])
	require.EqualValues(t, 2, r["first"])
	require.EqualValues(t, 1, r["second"])
	require.EqualValues(t, 0, r["high"], "replaced by the default")
	require.Nil(t, r["found"])
	require.EqualValues(t, 2, r["count"])
	require.Equal(t, []any{"n", "high"}, r["kept"], "absent fields keep their values")
	require.Equal(t, []any{nil, "medium"}, r["replaced"])
	require.EqualValues(t, 1, r["of"])
	require.EqualValues(t, 1, r["some"])
	require.Equal(t, "medium", r["model"])
	require.Equal(t, []any{1.0, 0.0, 1.0}, r["deleted"])
	require.Equal(t, []any{"function", "undefined"}, r["mutators"])
}

func TestFailuresTeach(t *testing.T) {
	t.Parallel()
	p := newApp(t).serve("--codeMode.maxSdkCalls", "20", "--sandbox.cpuMs", "3000") // to hold too much memory costs time, too
	cases := map[string]struct {
		code string
		want fault.Code
		line int
		text string
	}{
		"empty":                {"  \n ", fault.InvalidCode, 0, ""},
		"too long":             {"// " + strings.Repeat("ä", 50000), fault.CodeTooLong, 0, "50000"},
		"does not parse":       {"const a = 1;\nconst b = ;\n", fault.SyntaxError, 2, ""},
		"throws":               {"\n\nthrow new TypeError('bad');", fault.JavaScriptError, 3, "bad"},
		"throws in a function": {"function f() {\n  null.x;\n}\nf();", fault.JavaScriptError, 2, ""},
		"throws a string":      {"throw 'text'", fault.JavaScriptError, 0, "text"},
		"throws an object":     {"throw {code: 'x'}", fault.JavaScriptError, 0, ""},
		"throws in a module":   {"const x: number = 1;\nawait null;\nthrow new Error('late' + x);", fault.JavaScriptError, 3, "late1"},
		"loops":                {"1;\nfor (;;);", fault.Timeout, 0, ""},
		"eats memory":          {"let s = 'xxxxxxxx'; for (;;) s += s;", fault.MemoryExceeded, 0, ""},
		"recurses":             {"function f() { return f() + 1 } f()", fault.JavaScriptError, 0, ""},
		"calls too often":      {"for (;;) { try { SDK.Entities.Todo.count() } catch {} }", fault.SDKCallsExceeded, 1, "20"},
		"returns circular":     {"const a = {}; a.a = a; a", fault.JavaScriptError, 0, ""},
		"returns too much":     {"'x'.repeat(300000)", fault.ResultTooLarge, 0, ""},
		"answers too much":     {"SDK.Out.answer('x'.repeat(300000))", fault.ResultTooLarge, 0, ""},
		"never settles":        {"await 1;\nawait new Promise(() => {})", fault.NeverSettled, 2, ""},
		"rejects":              {"await Promise.reject(new Error('no'))", fault.JavaScriptError, 1, "no"},
		"unhandled rejection":  {"Promise.reject(new Error('lost')); 1", fault.JavaScriptError, 0, "lost"},
		"unknown entity":       {"SDK.Entities.Tdo.collection()", fault.JavaScriptError, 1, "Todo"},
		"unknown method":       {"SDK.Entities.Todo.colection()", fault.JavaScriptError, 1, "collection"},
		"read-only":            {"SDK.Entities.AuditLog.upsert({message: 'x'})", fault.JavaScriptError, 1, ""},
		"uncaught fault":       {"1;\n  SDK.Entities.Todo.getById('none')", fault.NotFound, 2, "none"},
		"unknown field":        {"SDK.Entities.Todo.collection({filter: {compelted: true}})", fault.InvalidPayload, 1, "completed"},
		"unknown set":          {"SDK.Entities.Todo.count({}, 'nowhere')", fault.UnknownSet, 1, ""},
		"two sets":             {"SDK.Entities.Todo.upsert({title: 'a'});\nSDK.Entities.Todo.upsert({title: 'a'}, 'archive')", fault.CrossSet, 2, ""},
		"fetch":                {"fetch('x')", fault.JavaScriptError, 1, "fetch"},
		"require":              {"require('fs')", fault.JavaScriptError, 1, "require"},
		"eval":                 {"eval('1')", fault.JavaScriptError, 1, ""},
		"Function":             {"new Function('return 1')()", fault.JavaScriptError, 1, ""},
		"constructor":          {"(() => {}).constructor('return 1')()", fault.JavaScriptError, 1, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			e := p.execute("SDK.Entities.Todo.count;" + strings.TrimPrefix(c.code, "\x00"))
			if c.want == fault.InvalidCode || c.want == fault.CodeTooLong {
				e = p.execute(c.code)
			}
			require.False(t, e.Success)
			require.Equal(t, string(c.want), e.Error.Code, "%+v", e.Error)
			if c.line > 0 {
				require.Equal(t, c.line, e.Error.Line, "%+v", e.Error)
				require.Positive(t, e.Error.Column)
			}
			require.Contains(t, e.Error.Message+e.Error.Hint, c.text)
			require.False(t, e.Committed)
			require.NotNil(t, e.Calls)
			require.NotNil(t, e.Logs)
			require.NotNil(t, e.Outside)
			require.NotContains(t, e.Error.Message, ".go:", "no host frames")
		})
	}
	require.EqualValues(t, 1, p.execute("SDK.Entities.Todo.count()").Result, "nothing of all that was committed")
}

func TestExecuteInput(t *testing.T) {
	p := newApp(t).serve()
	for name, args := range map[string]input{
		"absent": {}, "a number": {"code": 7}, "null": {"code": nil}, "unknown key": {"code": "1", "planId": "x"}, "include": {"code": "1", "include": []string{"everything"}},
		"language": {"code": "1", "language": "cobol"},
	} {
		t.Run(name, func(t *testing.T) {
			r := p.tool("koan.code.execute", args)
			require.True(t, r.IsError)
			require.Contains(t, string(r.Structured), string(fault.InvalidPayload))
			require.Contains(t, string(r.Structured), `"committed":false`, "a refused script says what every failed one says")
			var body, about struct{ RunID string }
			require.NoError(t, json.Unmarshal(r.Structured, &body))
			require.NoError(t, json.Unmarshal(r.Meta["dev.koan/run"], &about))
			require.NotEmpty(t, body.RunID)
			require.Equal(t, body.RunID, about.RunID)
			for _, list := range []string{`"calls":[]`, `"logs":[]`, `"outsideEffects":[]`} {
				require.Contains(t, string(r.Structured), list)
			}
		})
	}
	e := p.execute("1", input{"language": "python"})
	require.Equal(t, string(fault.CapabilityUnsupported), e.Error.Code, "nobody has configured it")
	require.Contains(t, e.Error.Hint, "codeMode.languages")
	e = p.execute("for (let i = 0; i < 10; i++) console.log('line', i); 1", input{"limits": input{"maxLogBytes": 20, "timeoutMs": 99999999, "nonsense": 1}})
	require.True(t, e.Success, "%+v", e.Error)
	require.Contains(t, fmt.Sprint(e.Logs), "timeoutMs", "a clamped limit is said in the logs: %v", e.Logs)
	e = p.execute("SDK.Entities.Todo.count(); SDK.Entities.Todo.count()", input{"limits": input{"maxToolCalls": 1}})
	require.Equal(t, string(fault.SDKCallsExceeded), e.Error.Code)
	for _, only := range [][]string{{"Todo"}, {}} {
		e = p.execute("SDK.Entities.Person.count()", input{"only": only})
		require.Equal(t, string(fault.JavaScriptError), e.Error.Code, "the name does not exist in this run")
		require.Contains(t, e.Error.Message, "there is no entity `Person`")
	}
	require.Equal(t, []any{"Todo"}, p.execute("Object.keys(SDK.Entities)", input{"only": []string{"Todo"}}).Result)
	e = p.execute(`SDK.Entities.Todo.all({ with: "assignedUser" })`, input{"only": []string{"Todo"}})
	require.Equal(t, string(fault.InvalidPayload), e.Error.Code, "a relationship leads nowhere else either")
	require.EqualValues(t, 1, p.execute(`SDK.Entities.Todo.all().length`, input{"only": []string{"Todo"}}).Result)
}

func TestFaultsCanBeCaught(t *testing.T) {
	p := newApp(t).serve()
	e := p.execute(`
let caught;
try { SDK.Entities.Todo.upsert({ title: 7 }) } catch (err) { caught = err }
SDK.Entities.Todo.upsert({ title: "fine" });
({ is: caught instanceof Error, name: caught.name, code: caught.code, hint: caught.hint.length > 0, path: caught.path, retry: caught.retry })`)
	require.True(t, e.Success, "%+v", e.Error)
	require.Equal(t, map[string]any{"is": true, "name": "KoanError", "code": string(fault.InvalidPayload), "hint": true, "path": "/model/title", "retry": "fix"}, e.Result)
	require.EqualValues(t, 2, p.execute("SDK.Entities.Todo.count()").Result)
}

func TestRequireAnswer(t *testing.T) {
	p := newApp(t).serve("--codeMode.requireAnswer", "true")
	e := p.execute("SDK.Entities.Todo.upsert({title: 'x'}); 1")
	require.Equal(t, string(fault.MissingAnswer), e.Error.Code)
	e = p.execute("SDK.Out.answer(SDK.Entities.Todo.count())")
	require.EqualValues(t, 1, e.Answer, "nothing was committed")
}

func TestDryRunShowsEveryChange(t *testing.T) {
	p := newApp(t).serve()
	e := p.execute(`
const t = SDK.Entities.Todo.upsert({ title: "new" });
SDK.Entities.Step.upsert({ text: "s", todo: t.id });
SDK.Entities.Todo.patch("1", { title: "between" });
SDK.Entities.Todo.patch("1", { title: "changed" });
const gone = SDK.Entities.Todo.upsert({ title: "gone" });
SDK.Entities.Step.upsert({ text: "gone", todo: gone.id });
SDK.Entities.Todo.delete(gone.id);`, input{"dryRun": true, "include": []string{"calls"}})
	require.True(t, e.Success, "%+v", e.Error)
	var got []string
	for _, c := range e.Changes {
		got = append(got, fmt.Sprint(c["entity"], " ", c["action"]))
	}
	require.Equal(t, []string{"Todo create", "Step create", "Todo update"}, got, "each row once, and none that came and went")
	require.Len(t, e.Calls, 7)
	require.Len(t, e.ChangeCounts, 2)
	for _, c := range e.Changes {
		if c["action"] == "update" {
			require.Equal(t, "Write tests", c["before"].(map[string]any)["title"])
			require.Equal(t, "changed", c["after"].(map[string]any)["title"])
		}
	}
	require.EqualValues(t, "Write tests", p.execute(`SDK.Entities.Todo.getById("1").title`).Result)
}

func TestSetsAreIsolated(t *testing.T) {
	p := newApp(t).serve()
	e := p.execute(`SDK.Entities.Todo.upsert({ id: "1", title: "other" }, "tenant-a")`, input{})
	require.True(t, e.Success, "%+v", e.Error)
	require.Equal(t, []any{"other", "Write tests", 0.0}, p.execute(`[SDK.Entities.Todo.getById("1", "tenant-a").title, SDK.Entities.Todo.getById("1").title, SDK.Entities.Todo.count({}, "archive")]`).Result)
	require.Equal(t, "other", p.execute(`SDK.Entities.Todo.getById("1").title`, input{"set": "tenant-a"}).Result)
}

// TestNoUpdateIsLost has clients change one row at once through scripts that read
// and then write, in one process and in two.
func TestNoUpdateIsLost(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	first, second := a.serve(), a.serve()
	const clients, times = 6, 8
	var wg sync.WaitGroup
	for n := range clients {
		p := first
		if n%2 == 1 {
			p = second
		}
		wg.Go(func() {
			for range times {
				r := p.tool("koan.code.execute", input{"code": `const t = SDK.Entities.Todo.getById("1"); SDK.Entities.Todo.patch("1", { views: t.views + 1 })`})
				if r.IsError {
					t.Errorf("%s", r.Structured)
				}
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, clients*times, first.execute(`SDK.Entities.Todo.getById("1").views`).Result)
}

func TestValidateTool(t *testing.T) {
	p := newApp(t).serve()
	for code, want := range map[string]string{
		"SDK.Entities.Todo.collection({ filter: { completed: false } })": "",
		"":                              "Code cannot be empty",
		"/* open":                       "",
		"SDK.Entities.Tod.collection()": "Todo",
		"for (;;);":                     "",
	} {
		r := p.tool("koan.code.validate", input{"code": code})
		require.False(t, r.IsError, "never an error envelope")
		if want != "" {
			require.Contains(t, string(r.Structured), want)
		}
		valid := strings.Contains(string(r.Structured), `"valid":true`)
		require.Equal(t, code == "for (;;);" || strings.Contains(code, "Todo."), valid, "%s: %s", code, r.Structured)
	}
	require.True(t, p.tool("koan.code.validate", input{}).IsError)
}

func TestSearchTool(t *testing.T) {
	p := newApp(t).serve()
	r := p.tool("koan.code.search", input{"query": "todo priority", "detail": "full", "limit": 3})
	require.Contains(t, string(r.Structured), `"id":"koan::Todo`)
	require.Contains(t, string(r.Structured), `"declaration"`)
	require.NotContains(t, string(p.tool("koan.code.search", input{"query": "draft"}).Structured), "Draft")
}

func TestValidateHintOfATextTooDeepToParse(t *testing.T) {
	t.Parallel()
	r := string(newApp(t).serve().tool("koan.code.validate", input{"code": strings.Repeat("(", 40_000)}).Structured)
	require.Contains(t, r, `"valid":false`)
	require.Contains(t, r, "Shorten the script or nest it less deeply")
	require.NotContains(t, r, "Read less at once")
}
