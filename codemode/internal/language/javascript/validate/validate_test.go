package validate_test

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/internal/language/javascript/script"
	"github.com/koan-go/koan/codemode/internal/language/javascript/validate"
	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/catalog"
)

var all = catalog.EntityOperationNames()

func bindings() wire.Bindings {
	return wire.Bindings{
		Entities: []wire.Entity{
			{Name: "Todo", Ops: all, Fields: []string{"id", "title", "completed", "assigneeId", "meta"}, Edges: []string{"assignee", "tags"}, Sets: []string{"default", "tenant-*"}},
			{Name: "Product", Ops: []string{"collection", "get-by-id", "count"}, ReadOnly: true, Fields: []string{"id", "gtin"}},
		},
		Domains: []wire.Domain{{Name: "Vision", Functions: []wire.Function{{Name: "detect", ID: "plugin::vision.detect"}}}},
	}
}

// testModules has the modules that the scripts of these tests import.
type testModules struct{}

func (testModules) Paths() []string { return []string{"@codemode/discovery", "@codemode/servers/koan"} }

func (testModules) Exports(path string) ([]string, bool) {
	names, ok := map[string][]string{"@codemode/discovery": {"listServers"}, "@codemode/servers/koan": {"x"}}[path]
	return names, ok
}

// found returns the findings about a script; the error means that it does not compile.
func found(src string, b wire.Bindings) ([]wire.Diagnostic, error) {
	p, err := script.Compile(script.Source{Code: src, Modules: testModules{}})
	if err != nil {
		return nil, err
	}
	return validate.Check(p, b, nil), nil
}

func check(t *testing.T, src string, b wire.Bindings) []wire.Diagnostic {
	t.Helper()
	out, err := found(src, b)
	require.NoError(t, err)
	return out
}

func TestFindings(t *testing.T) {
	tests := []struct {
		name, src, code string
		line, column    int
		says            string
	}{
		{"entity", "SDK.Entities.Tood.collection()", wire.DiagnosticUnknownEntity, 1, 14, `did you mean "Todo"`},
		{"entity by destructuring", "const {Todo, Prodct} = SDK.Entities;", wire.DiagnosticUnknownEntity, 1, 14, `"Product"`},
		{"entity by alias", "const E = SDK.Entities;\nE.Tood.count()", wire.DiagnosticUnknownEntity, 2, 3, "Todo"},
		{"entity in literal brackets", "SDK.Entities['Tood'].count()", wire.DiagnosticUnknownEntity, 1, 14, "Todo"},
		{"entity through globalThis", "globalThis.SDK.Entities.Tood.all()", wire.DiagnosticUnknownEntity, 1, 25, "Todo"},
		{"entity inside an arrow", "const f = () => SDK.Entities.Tood.all(); f()", wire.DiagnosticUnknownEntity, 1, 30, "Todo"},
		{"domain", "SDK.Vison.detect({})", wire.DiagnosticUnknownDomain, 1, 5, `"Vision"`},
		{"entity without Entities", "SDK.Todo.all()", wire.DiagnosticUnknownDomain, 1, 5, "no member"},
		{"method", "SDK.Entities.Todo.colection()", wire.DiagnosticUnknownMethod, 1, 19, `"collection"`},
		{"method of an alias", "const T = SDK.Entities.Todo\nT.fetchAll()", wire.DiagnosticUnknownMethod, 2, 3, "fetchAll"},
		{"method of a renamed binding", "const {Todo: T} = SDK.Entities; T.gett('1')", wire.DiagnosticUnknownMethod, 1, 35, "gett"},
		{"method on optional chain", "SDK.Entities.Todo?.colection()", wire.DiagnosticUnknownMethod, 1, 20, "collection"},
		{"function of a domain", "SDK.Vision.detct({})", wire.DiagnosticUnknownMethod, 1, 12, `"detect"`},
		{"function of Out", "SDK.Out.anser(1)", wire.DiagnosticUnknownMethod, 1, 9, `"answer"`},
		{"read-only", "SDK.Entities.Product.upsert({})", wire.DiagnosticReadOnlyEntity, 1, 22, "read-only"},
		{"set", "SDK.Entities.Todo.collection({set: 'defalt'})", wire.DiagnosticUnknownSet, 1, 36, `"default"`},
		{"set as a bare string", "SDK.Entities.Todo.getById('1', 'x')", wire.DiagnosticUnknownSet, 1, 32, "no set"},
		{"set of an entity without sets", "SDK.Entities.Product.count({}, {set: 'other'})", wire.DiagnosticUnknownSet, 1, 38, "no set"},
		{"field in a filter", "SDK.Entities.Todo.collection({filter: {compelted: true}})", wire.DiagnosticUnknownField, 1, 40, `"completed"`},
		{"field in a nested filter", "SDK.Entities.Todo.count({$or: [{title: 'a'}, {titel: 'b'}]})", wire.DiagnosticUnknownField, 1, 47, "title"},
		{"field in sort", "SDK.Entities.Todo.all({sort: '-titel'})", wire.DiagnosticUnknownField, 1, 30, "title"},
		{"field in fields", "SDK.Entities.Todo.all({fields: ['id', 'titel']})", wire.DiagnosticUnknownField, 1, 39, "title"},
		{"field of a model", "SDK.Entities.Todo.upsert({titel: 'x'})", wire.DiagnosticUnknownField, 1, 27, "title"},
		{"field of one of several models", "SDK.Entities.Todo.upsertMany([{title: 'x'}, {compelted: true}])", wire.DiagnosticUnknownField, 1, 46, "completed"},
		{"field of changes", "SDK.Entities.Todo.patch('1', {compelted: true})", wire.DiagnosticUnknownField, 1, 31, "completed"},
		{"operator", "SDK.Entities.Todo.collection({filter: {title: {$contain: 'x'}}})", wire.DiagnosticUnknownOperator, 1, 48, `"$contains"`},
		{"logic operator", "SDK.Entities.Todo.collection({filter: {$adn: []}})", wire.DiagnosticUnknownOperator, 1, 40, `"$and"`},
		{"relationship", "SDK.Entities.Todo.getById('1', {with: 'asignee'})", wire.DiagnosticUnknownRelationship, 1, 39, `"assignee"`},
		{"relationship in an object", "SDK.Entities.Todo.all({with: {tag: {limit: 3}}})", wire.DiagnosticUnknownRelationship, 1, 31, `"tags"`},
		{"group of an aggregate", "SDK.Entities.Todo.aggregate({groupBy: ['titel']})", wire.DiagnosticUnknownField, 1, 40, `"title"`},
		{"bucket of an aggregate", "SDK.Entities.Todo.aggregate({groupBy: {field: 'titel', by: 'day'}, sort: 'titelDay'})", wire.DiagnosticUnknownField, 1, 47, `"title"`},
		{"sum of an aggregate", "SDK.Entities.Todo.aggregate({sum: 'compelted', having: {sumCompelted: {$gt: 1}}})", wire.DiagnosticUnknownField, 1, 35, `"completed"`},
		{"distinct of an aggregate", "SDK.Entities.Todo.aggregate({count: {distinct: 'asignee'}})", wire.DiagnosticUnknownField, 1, 48, `"assignee"`},
		{"filter of an aggregate", "SDK.Entities.Todo.aggregate({filter: {titel: 1}})", wire.DiagnosticUnknownField, 1, 39, `"title"`},
		{"sort of an aggregate", "SDK.Entities.Todo.aggregate({groupBy: 'title', sort: '-cuont'})", wire.DiagnosticUnknownField, 1, 54, `"count"`},
		{"having of an aggregate", "SDK.Entities.Todo.aggregate({groupBy: 'title', having: {$or: [{count: 1}, {cont: 2}]}})", wire.DiagnosticUnknownField, 1, 76, `"count"`},
		{"operator in having", "SDK.Entities.Todo.aggregate({having: {count: {$gtt: 1}}})", wire.DiagnosticUnknownOperator, 1, 47, `"$gt"`},
		{"set of an aggregate", "SDK.Entities.Todo.aggregate('defalt')", wire.DiagnosticUnknownSet, 1, 29, `"default"`},
		{"filter of an update", "SDK.Entities.Todo.updateByQuery({titel: 1}, {title: 'x'})", wire.DiagnosticUnknownField, 1, 34, `"title"`},
		{"changes of an update", "SDK.Entities.Todo.updateByQuery({}, {titel: 'x'}, {maxAffected: 5})", wire.DiagnosticUnknownField, 1, 38, `"title"`},
		{"set of a deletion", "SDK.Entities.Todo.deleteByQuery({}, {set: 'defalt'})", wire.DiagnosticUnknownSet, 1, 43, `"default"`},
		{"alias by let", "let T = SDK.Entities.Todo; T.fetchAll()", wire.DiagnosticUnknownMethod, 1, 30, "fetchAll"},
		{"alias by var", "var {Todo} = SDK.Entities; function f() { return Todo.fetchAll() }", wire.DiagnosticUnknownMethod, 1, 55, "fetchAll"},
		{"method taken by itself", "const {count} = SDK.Entities.Todo; count({titel: 1})", wire.DiagnosticUnknownField, 1, 43, `"title"`},
		{"nested pattern", "const {Entities: {Todo: {count: n}}} = SDK; n({titel: 1})", wire.DiagnosticUnknownField, 1, 48, `"title"`},
		{"method by another name", "SDK.Entities.Todo.insert({})", wire.DiagnosticUnknownMethod, 1, 19, `did you mean "create"`},
		{"option by another name", "SDK.Entities.Todo.collection({where: {}})", wire.DiagnosticUnknownOption, 1, 31, `did you mean "filter"`},
		{"page as an array", "SDK.Entities.Todo.collection().map(t => t.id)", wire.DiagnosticUnknownMethod, 1, 32, "returns a page"},
		{"page by a name", "const todos = await SDK.Entities.Todo.firstPage(5);\ntodos.forEach(f)", wire.DiagnosticUnknownMethod, 2, 7, "firstPage returns a page"},
		{"length of a page", "const r = SDK.Entities.Todo.collection(); if (r.length === 0) f()", wire.DiagnosticUnknownMethod, 1, 49, "`length`"},
		{"page by a pattern", "const {data} = SDK.Entities.Todo.collection()", wire.DiagnosticUnknownMethod, 1, 8, "`data`"},
		{"for of a page", "for (const t of SDK.Entities.Todo.collection()) f(t)", wire.DiagnosticUnknownMethod, 1, 17, "iterated"},
		{"page spread into a list", "const p = SDK.Entities.Product.page(2); f([...p])", wire.DiagnosticUnknownMethod, 1, 47, "Product.page"},
		{"filter by a name", "const f = {titel: 1};\nSDK.Entities.Todo.collection({filter: f})", wire.DiagnosticUnknownField, 1, 12, `"title"`},
		{"filter used twice", "const filter = {titel: 1}; SDK.Entities.Todo.all({filter}); SDK.Entities.Todo.count(filter)", wire.DiagnosticUnknownField, 1, 17, `"title"`},
		{"options by a name", "let o = {set: 'defalt'}; SDK.Entities.Todo.all(o)", wire.DiagnosticUnknownSet, 1, 15, `"default"`},
		{"one branch of two", "SDK.Entities.Todo.count(x ? {title: 1} : {titel: 1})", wire.DiagnosticUnknownField, 1, 43, `"title"`},
		{"set by a name", "const set = `defalt`; SDK.Entities.Todo.count({}, set)", wire.DiagnosticUnknownSet, 1, 13, `"default"`},
		{"model by a name", "const m = {titel: 'x'}; SDK.Entities.Todo.upsertMany([m])", wire.DiagnosticUnknownField, 1, 12, `"title"`},
		{"template as text", "SDK.Entities.Todo.all({with: `asignee`})", wire.DiagnosticUnknownRelationship, 1, 30, `"assignee"`},
		{"misplaced operator", "SDK.Entities.Todo.count({$gt: 1})", wire.DiagnosticUnknownOperator, 1, 26, "belongs to a field"},
		{"in a class", "class A { static x = SDK.Entities.Tood; }", wire.DiagnosticUnknownEntity, 1, 35, "Todo"},
		{"in a template", "`${SDK.Entities.Tood.count()}`", wire.DiagnosticUnknownEntity, 1, 17, "Todo"},
		{"global", "fetch('http://x')", wire.DiagnosticForbiddenGlobal, 1, 1, "fetch"},
		{"global by globalThis", "globalThis.process.exit()", wire.DiagnosticForbiddenGlobal, 1, 12, "process"},
		{"global of another runtime", "new AbortController()", wire.DiagnosticForbiddenGlobal, 1, 5, "AbortController"},
		{"CommonJS", "module.exports = 1", wire.DiagnosticForbiddenGlobal, 1, 1, "module"},
		{"servers of an app without any", "SDK.Servers.github.create_issue({})", wire.DiagnosticUnknownDomain, 1, 5, "name servers under upstreams in koan.yaml, or with --mcp-config"},
		{"actions of an app without any", "SDK.Actions.tidy()", wire.DiagnosticUnknownDomain, 1, 5, "they are files in the folder actions.dir"},
		{"eval", "eval('1')", wire.DiagnosticForbiddenGlobal, 1, 1, "eval"},
		{"new Function", "new Function('return 1')()", wire.DiagnosticForbiddenGlobal, 1, 5, "Function"},
		{"behind top-level return", "if (SDK.args) return 1;\nSDK.Entities.Tood.all()", wire.DiagnosticUnknownEntity, 2, 14, "Todo"},
		{"first line with top-level await", "await null; SDK.Entities.Tood.all()", wire.DiagnosticUnknownEntity, 1, 26, "Todo"},
		{"characters, not bytes", "'äöü€'; SDK.Entities.Tood", wire.DiagnosticUnknownEntity, 1, 22, "Todo"},
		{"in TypeScript", "const a: number = 1;\nSDK.Entities.Tood", wire.DiagnosticUnknownEntity, 2, 14, "Todo"},
		{"in TypeScript with a return", "const a: number = 1; const x = SDK.Entities.Todo.colection();\nreturn x", wire.DiagnosticUnknownMethod, 1, 50, "collection"},
		{"in a module", "import { listServers } from '@codemode/discovery';\nSDK.Entities.Todo.getById('1', {with: 'asignee'})", wire.DiagnosticUnknownRelationship, 2, 39, "assignee"},
		{"characters in TypeScript", "const s = 'äöü€' as string; SDK.Entities.Tood", wire.DiagnosticUnknownEntity, 1, 42, "Todo"},
		{"after CRLF", "1;\r\nSDK.Entities.Tood", wire.DiagnosticUnknownEntity, 2, 14, "Todo"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := check(t, tt.src+resultOf, bindings())
			require.Len(t, got, 1, "%v", got)
			d := got[0]
			require.Equal(t, tt.code, d.Code)
			require.Equal(t, wire.SeverityError, d.Severity)
			require.Contains(t, d.Message, tt.says)
			require.NotEmpty(t, d.Hint)
			require.Equal(t, [2]int{tt.line, tt.column}, [2]int{d.Line, d.Column})
		})
	}
}

func TestNoFalsePositives(t *testing.T) {
	for name, src := range map[string]string{
		"ordinary":             "const p = SDK.Entities.Todo.collection({filter: {completed: false, assignee: {name: 'x'}, tags: {$some: {anything: 1}}}, with: 'assignee,tags.owner', sort: ['-title'], set: 'tenant-7'}); SDK.Out.answer(p.items.length)",
		"all methods":          "const T = SDK.Entities.Todo; [T.collection, T.firstPage, T.page, T.each, T.all, T.getById, T.findById, T.count, T.aggregate, T.new, T.upsert, T.upsertMany, T.patch, T.updateByQuery, T.deleteByQuery, T.delete, T.deleteMany]",
		"aggregate":            "SDK.Entities.Todo.aggregate({filter: {completed: true}, groupBy: ['assigneeId', {field: 'title', as: 't'}], count: {all: true, distinct: 'title'}, max: 'title', having: {count: {$gt: 1}, t: null}, sort: '-count,distinctTitle,t,maxTitle', limit: 5})",
		"aggregate by itself":  "SDK.Entities.Todo.aggregate(); SDK.Entities.Todo.aggregate({sort: 'count'})",
		"aggregate, unknown":   "SDK.Entities.Todo.aggregate({groupBy: g, sort: 'x'}); SDK.Entities.Todo.aggregate({...o, sort: 'x'}); SDK.Entities.Todo.aggregate({count: c, sort: 'x'})",
		"shadowed by var":      "var SDK = {Entities: {Foo: 1}}; SDK.Entities.Foo.bar()",
		"shadowed parameter":   "function f(SDK, fetch) { return SDK.Entities.Foo(fetch('x')) }",
		"shadowed later":       "function f() { return SDK.Whatever } let SDK = {}",
		"shadowed in a block":  "{ const SDK = mine(); SDK.x.y() }",
		"shadowed by catch":    "try {} catch (SDK) { SDK.foo.bar() }",
		"shadowed loop":        "for (const SDK of [1]) SDK.foo()",
		"shadowed pattern":     "const {a: {fetch}, ...process} = x; fetch(); process.exit()",
		"shadowed function":    "function fetch() {} fetch()",
		"shadowed class":       "class Buffer {} new Buffer()",
		"own global":           "globalThis.fetch = () => 1; fetch()",
		"undeclared own":       "process = 3; process.x",
		"reassigned alias":     "let T = SDK.Entities.Todo; T = {foo() {}}; T.foo()",
		"var reassigned":       "var T = SDK.Entities.Todo; T = x; T.foo",
		"var declared twice":   "if (a) { var T = SDK.Entities.Todo } else { var T = x } T.foo",
		"let in a loop":        "for (let T = SDK.Entities.Todo; T; T = T.next) T.foo",
		"let by pattern":       "let T = SDK.Entities.Todo; [T] = x; T.foo",
		"let in for of":        "let T = SDK.Entities.Todo; for (T of x) T.foo",
		"let incremented":      "let T = SDK.Entities.Todo; T++; T.foo",
		"literal reassigned":   "let f = {nope: 1}; f = {}; SDK.Entities.Todo.count(f)",
		"literal carved":       "const f = {nope: 1}; delete f.nope; SDK.Entities.Todo.count(f)",
		"literal shadowed":     "const f = {nope: 1}; { const f = mine(); SDK.Entities.Todo.count(f) }",
		"literal of a branch":  "const f = x ? {title: 'a'} : {completed: true}; SDK.Entities.Todo.count(f, `tenant-1`)",
		"literal of itself":    "const f = {$and: [f, f, f]}; SDK.Entities.Todo.count(f)",
		"template with parts":  "SDK.Entities.Todo.all({sort: `-${x}`, with: `assignee${x}`, set: `x${y}`})",
		"spread literal":       "const o = {...base}; SDK.Entities.Todo.all({...o, filter: {...f, title: 'x'}})",
		"as parameter":         "const f = {nope: 1}; ((f) => SDK.Entities.Todo.count(f))({})",
		"optional entity":      "SDK.Entities.Foo?.collection()",
		"optional method":      "SDK.Entities.Todo.foo?.()",
		"optional domain":      "SDK.Audio?.listen({})",
		"computed":             "for (const n of ['Todo', 'Foo']) SDK.Entities[n].collection(); SDK.Entities['To' + 'do'].all()",
		"computed filter":      "const f = 'x'; SDK.Entities.Todo.collection({filter: {[f]: 1, [`$${f}`]: 2}, set: SDK.args.set, ...SDK.args})",
		"typeof entity":        "if (typeof SDK.Entities.Foo !== 'undefined') SDK.Entities.Foo.all()",
		"typeof global":        "const ok = typeof fetch === 'function'; if (ok) fetch('x')",
		"guarded":              "if (SDK.Entities.Foo) SDK.Entities.Foo.all()",
		"compared":             "SDK.Entities.Foo === undefined || SDK.Entities.Foo.all()",
		"in":                   "'Foo' in SDK.Entities && SDK.Entities.Foo.all()",
		"inherited":            "SDK.Entities.hasOwnProperty('x'); SDK.toString()",
		"not SDK's":            "const x = {SDK: {Foo: 1}}; x.SDK.Foo; ({fetch: 1}).fetch",
		"label and property":   "process: for (;;) { break process }\nconst o = {process: 1, fetch() {}}; o.process",
		"with":                 "with (SDK.args) { fetch('x'); SDK.foo.bar }",
		"servers":              "if (SDK.Servers) SDK.Servers.github.create_issue({})",
		"run and args":         "SDK.args.photo; SDK.run.id",
		"model spread":         "SDK.Entities.Todo.upsert({...old, title: 'x'})",
		"set from the run":     "SDK.Entities.Todo.all({set: ''})",
		"json field":           "SDK.Entities.Todo.count({meta: {colour: {deep: 1}}})",
		"instanceof Function":  "SDK.args instanceof Function; Function.prototype.call",
		"timers":               "setTimeout(() => console.log(1), 5)",
		"module":               "import {x} from '@codemode/servers/koan'; await x({})",
		"typescript":           "const a: number = 1; enum E { A } namespace N { export const b = 1 } class C { constructor(private d: E) {} }; (x as any).y",
		"hidden by the script": "function __toESM(a: any) { return a } __toESM(SDK.Entities.Todo).all()",
		"empty":                "",
		"default in pattern":   "const {Foo = null} = SDK.Entities",
		"parts of a page":      "const p = SDK.Entities.Todo.collection(); p.items.map(f); [p.totalCount, p.page, p.pageSize, p.nextCursor, p.truncated, p.mine, {...p}]; for (const k in p) p[k]",
		"maybe a page":         "const p = SDK.Entities.Todo.collection(); Array.isArray(p) ? p : p.items; const l = p.items ?? p; l.length; p.map ? p.map(f) : p.items.map(f)",
		"arrays of entities":   "SDK.Entities.Todo.all().map(f); for (const t of SDK.Entities.Todo.each()) f(t); [...SDK.Entities.Todo.each()]; SDK.Entities.Todo.aggregate({count: true}).length",
		"page made an array":   "let p = SDK.Entities.Todo.collection(); p = p.items; p.map(f); const q = SDK.Entities.Todo.page(1); q.length = 2; q.map = f; q.map()",
		"spread arguments":     "SDK.Entities.Todo.getById(...a, 'whatever')",
	} {
		t.Run(name, func(t *testing.T) {
			require.Empty(t, check(t, src+resultOf, bindings()))
		})
	}
}

// resultOf declares, after the snippets, the names that they use for any value.
const resultOf = "\n;globalThis.f = globalThis.a = globalThis.c = globalThis.g = globalThis.o = globalThis.x = globalThis.y = globalThis.old = globalThis.base = globalThis.mine = 1"

func TestFindingsAreBoundedAndSorted(t *testing.T) {
	got := check(t, strings.Repeat("SDK.Entities.Nope.x()\n", 500), bindings())
	require.Len(t, got, 50)
	for i, d := range got {
		require.Equal(t, i+1, d.Line)
	}
}

func FuzzCheck(f *testing.F) {
	for _, s := range []string{
		"SDK.Entities.Tood.collection({filter: {a: {$b: 1}}})", "const {Todo: {upsert: u = 1}} = SDK.Entities; class A extends SDK.X { static { fetch() } #p = 1; m() { return this.#p } }",
		"switch (1) { case SDK.Foo: default: }", "for (SDK.Entities.x in y); do ; while (typeof z)", "`${SDK.A}`; a?.[b]?.c(); new.target", "label: { break label }", "return await x", "async function* f() { yield* g }", "var {a, ...b} = c; [d, ...e] = f", "const f = {steps: {$some: {recipe: {$or: [f]}}}, 'meta.a': 1, tags: {$has: 1}}; SDK.Entities.Recipe.all({filter: x ? f : {}, with: {steps: {with: `recipe`}}, sort: ['-name'], ...o})",
		"let {Todo: {count}} = SDK.Entities; count({titel: 1}, `x`); delete f.a[0].b", "SDK.Entities.Recipe.aggregate({groupBy: [{field: 'name', by: 'day'}], having: {$or: [{count: 1}]}, sort: `-count`})", "\xff\xfe", "x\u2028SDK.y",
	} {
		f.Add(s)
	}
	b := bindings()
	b.Entities = append(b.Entities, related().Entities...)
	f.Fuzz(func(t *testing.T, src string) {
		diagnostics, _ := found(src, b)
		for _, d := range diagnostics {
			if d.Line < 1 || d.Column < 1 || d.Message == "" || d.Hint == "" {
				t.Fatalf("incomplete: %+v", d)
			}
		}
	})
}

// What is suggested is what the entity has.
func TestSuggestionsAreMethodsOfTheEntity(t *testing.T) {
	without := func(ops ...string) wire.Bindings {
		return wire.Bindings{Entities: []wire.Entity{{
			Name: "Todo", Fields: []string{"id"},
			Ops: slices.DeleteFunc(slices.Clone(all), func(op string) bool { return slices.Contains(ops, op) }),
		}}}
	}
	for _, name := range []string{"create", "insert", "add", "insertOne", "createOne"} {
		require.Contains(t, check(t, "SDK.Entities.Todo."+name+"({})", without("create"))[0].Message, `did you mean "upsert"?`, name)
	}
	for _, name := range []string{"upsert", "save", "put"} {
		require.Contains(t, check(t, "SDK.Entities.Todo."+name+"({})", without("upsert", "upsert-many"))[0].Message, `did you mean "create"?`, name)
	}
	require.Contains(t, check(t, "SDK.Entities.Todo.insert({})", without())[0].Message, `did you mean "create"?`)
}

// TestCheckTimeIsBounded checks scripts that could take a checker very long.
func TestCheckTimeIsBounded(t *testing.T) {
	b := bindings()
	for i := range 200 {
		b.Entities = append(b.Entities, wire.Entity{Name: "Something" + strings.Repeat("x", i%50), Ops: all})
	}
	for name, src := range map[string]string{
		"many findings":         strings.Repeat("SDK.Entities.Somethink.x;", 2000),
		"literals of literals":  "const a = {$or: [a, a]}; const b = {$and: [a, a, b, b]}; " + strings.Repeat("SDK.Entities.Todo.count({$and: [a, b]});", 1000),
		"doubling literals":     doubling(40) + "SDK.Entities.Todo.count(a40)",
		"nested functions":      strings.Repeat("(()=>{", 4000) + "SDK.x" + strings.Repeat("})()", 4000),
		"long sum":              strings.Repeat("x+", 20000) + "1",
		"long chain":            "SDK" + strings.Repeat(".a", 20000),
		"names of many letters": "SDK.Entities." + strings.Repeat("a", 49000),
		"conditions":            strings.Repeat("x?", 5000) + "1" + strings.Repeat(":SDK.y", 5000),
	} {
		p, err := script.Compile(script.Source{Code: src})
		require.NoError(t, err)
		before := computed(t)
		validate.Check(p, b, nil)
		require.Less(t, computed(t)-before, 5*time.Second, name)
	}
}

// computed returns the CPU time of this process, which does not depend on other load.
func computed(t *testing.T) time.Duration {
	var r syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &r))
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// doubling declares literals that each refer to the previous one twice.
func doubling(n int) string {
	text := "const a0 = {title: 1}; "
	for i := 1; i <= n; i++ {
		text += fmt.Sprintf("const a%d = {$and: [a%d, a%d]}; ", i, i-1, i-1)
	}
	return text
}

// Members of rows, as far as it is obvious that they are rows.
func TestFieldsOfRows(t *testing.T) {
	b := bindings()
	b.Entities[0].Targets, b.Entities[0].Many = map[string]string{"assignee": "Product", "tags": "Product"}, []string{"tags"}
	const wrong = "titel"
	for _, src := range []string{
		"const t = SDK.Entities.Todo.getById('1'); t.titel",
		"const t = SDK.Entities.Todo.findById('1'); SDK.Out.answer(t?.titel)",
		"const t = SDK.Entities.Todo.upsert({title: 'a'}); t['titel']",
		"let t = SDK.Entities.Todo.patch('1', {title: 'a'}); `${t.titel}`",
		"for (const t of SDK.Entities.Todo.each()) { SDK.Out.info(t.titel) }",
		"for (const t of SDK.Entities.Todo.collection().items) SDK.Out.info(t.titel)",
		"for (const {titel} of SDK.Entities.Todo.all()) SDK.Out.info(titel)",
		"const {items} = SDK.Entities.Todo.collection(); items.map(t => t.titel)",
		"const page = SDK.Entities.Todo.firstPage(3); page.items.filter(t => t.completed).map(function (t) { return t.titel })",
		"SDK.Entities.Todo.all().sort((x, y) => x.titel - 1)", "SDK.Entities.Todo.all().sort((x, y) => 1 - y.titel)",
		"SDK.Entities.Todo.all().forEach(({titel}) => titel)", "SDK.Entities.Todo.all()[0].titel", "SDK.Entities.Todo.all().find(t => t.completed).titel",
		"const t = SDK.Entities.Todo.getById('1'); t.assignee.titel", "SDK.Entities.Todo.getById('1', {with: 'tags'}).tags.map(p => p.titel)",
		"const t = await SDK.Entities.Todo.getById('1'); t.titel",
	} {
		got := check(t, src, b)
		require.Len(t, got, 1, src)
		require.Equal(t, wire.DiagnosticUnknownField, got[0].Code, src)
		require.Contains(t, got[0].Message, " has no field `"+wrong+"`", src)
		require.NotEmpty(t, got[0].Hint, src)
	}
	require.Contains(t, check(t, "SDK.Entities.Todo.getById('1').titel", b)[0].Message, `did you mean "title"?`)
	for _, src := range []string{
		"const t = SDK.Entities.Todo.getById('1'); t.title + t.meta.anything.at.all + t.tags.length + t.assignee?.gtin",
		"const t = SDK.Entities.Todo.getById('1'); t.extra = 1; t.extra", "const t = SDK.Entities.Todo.getById('1'); mark(t); t.extra; function mark(x) { x.extra = 1 }",
		"for (const t of SDK.Entities.Todo.each()) { t['extra'] = 1; SDK.Out.info(t.extra) }", "const t = SDK.Entities.Todo.getById('1'); for (const k of ['extra']) t[k] = 1; t.extra",
		"const t = SDK.Entities.Todo.getById('1'); Object.assign(t, {extra: 1}); t.extra", "const t = {...SDK.Entities.Todo.getById('1'), extra: 1}; t.extra",
		"const t = SDK.Entities.Todo.getById('1'); if (t.extra) t.extra()", "const t = SDK.Entities.Todo.getById('1'); t.extra?.x; typeof t.more; 'much' in t",
		"const t = SDK.Entities.Todo.getById('1'); const {extra = 1} = t; extra", "let t = SDK.Entities.Todo.getById('1'); t = {extra: 1}; t.extra",
		"const f = t => t.extra; SDK.Entities.Todo.all().map(f)", "SDK.Entities.Todo.all().map(t => ({...t, extra: 1})).filter(t => t.extra)",
		"SDK.Entities.Todo.all().map(t => { t = {extra: 1}; return t.extra })", "SDK.Entities.Todo.aggregate({groupBy: 'title', count: true}).map(r => r.count)",
		"SDK.Entities.Todo.all().reduce((sum, t) => sum + t.extra, 0)", "SDK.Entities.Todo.all().map((t, i) => i.extra)", "const m = SDK.Entities.Todo.new(); m.extra",
		"const t = SDK.Entities.Todo.getById('1'); t.toString() + t.hasOwnProperty('x') + t.constructor.name", "for (const {title, ...rest} of SDK.Entities.Todo.each()) rest.extra",
		"const Todo = {getById: () => ({extra: 1})}; Todo.getById('1').extra", "[...SDK.Entities.Todo.all(), {extra: 1}].map(t => t.extra)", "for (var t of SDK.Entities.Todo.all()) t.title; t = {extra: 1}; t.extra",
	} {
		require.Empty(t, check(t, src, b), src)
	}
}
