package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
)

// stock fills the fixture app with todos of two people.
const stock = `
const { Todo, Person } = SDK.Entities;
Todo.deleteByQuery({}, { all: true });
const [ann, bob] = Person.upsertMany([{ id: "ann", name: "Ann", email: "a" }, { id: "bob", name: "Bob", email: "b" }]);
Todo.upsertMany([
  { id: "a1", title: "one", effort: 2, dueDate: "2026-01-31T23:30:00-01:00", assignedUserId: ann.id },
  { id: "a2", title: "two", effort: 4, dueDate: "2026-02-28T12:00:00Z", assignedUserId: ann.id, completed: true },
  { id: "b1", title: "three", effort: 0.5, dueDate: "2026-01-05T00:00:00Z", assignedUserId: bob.id, priority: "high" },
  { id: "x1", title: "four", views: "9007199254740993" },
]);
`

func TestAScriptAggregates(t *testing.T) {
	p := newApp(t).serve()
	require.True(t, p.execute(stock).Success)
	e := p.execute(`
const { Todo, Step } = SDK.Entities;
({
  total: Todo.aggregate(),
  people: Todo.aggregate({ groupBy: "assignedUserId", count: true, sum: "effort", avg: ["effort"], sort: "-count,assignedUserId" }),
  months: Todo.aggregate({ filter: { dueDate: { $null: false } }, groupBy: [{ field: "dueDate", by: "month" }], max: "title" }),
  weeks: Todo.aggregate({ groupBy: { field: "dueDate", by: "week", as: "week" }, having: { week: { $gte: "2026-02-01T00:00:00Z" } }, count: false }),
  different: Todo.aggregate({ count: { all: true, distinct: "assignedUser" }, max: "views" }),
  busy: Todo.aggregate({ groupBy: "assignedUser", having: { count: { $gt: 1 }, sumEffort: { $between: [5, 7] } }, count: true, sum: "effort", limit: 1 }),
  none: Todo.aggregate("archive"),
})`)
	require.True(t, e.Success, "%+v", e.Error)
	row := func(more ...any) map[string]any {
		m := map[string]any{}
		for i := 0; i < len(more); i += 2 {
			m[more[i].(string)] = more[i+1]
		}
		return m
	}
	require.Equal(t, map[string]any{
		"total": []any{row("count", 4.0)},
		"people": []any{
			row("assignedUserId", "ann", "count", 2.0, "sumEffort", 6.0, "avgEffort", 3.0),
			row("assignedUserId", nil, "count", 1.0, "sumEffort", nil, "avgEffort", nil),
			row("assignedUserId", "bob", "count", 1.0, "sumEffort", 0.5, "avgEffort", 0.5),
		},
		"months":    []any{row("dueDateMonth", "2026-01-01T00:00:00Z", "maxTitle", "three"), row("dueDateMonth", "2026-02-01T00:00:00Z", "maxTitle", "two")},
		"weeks":     []any{row("week", "2026-02-23T00:00:00Z")},
		"different": []any{row("count", 4.0, "distinctAssignedUser", 2.0, "maxViews", "9007199254740993")},
		"busy":      []any{row("assignedUser", "ann", "count", 2.0, "sumEffort", 6.0)},
		"none":      []any{row("count", 0.0)},
	}, e.Result)
}

func TestAScriptChangesByQuery(t *testing.T) {
	p := newApp(t).serve()
	require.True(t, p.execute(stock).Success)
	const change = `
const { Todo } = SDK.Entities;
({
  updated: Todo.updateByQuery({ completed: false }, { completed: true, notes: "done" }, { maxAffected: 3 }),
  deleted: Todo.deleteByQuery({ notes: "done", assignedUser: { name: "Ann" } }),
  left: Todo.aggregate({ groupBy: "completed" }),
})`
	dry := p.execute(change, input{"dryRun": true})
	require.True(t, dry.Success, "%+v", dry.Error)
	require.Len(t, dry.Changes, 3, "each row that the run writes")
	actions := map[any]int{}
	for _, c := range dry.Changes {
		actions[c["action"]]++
	}
	require.Equal(t, map[any]int{"update": 2, "delete": 1}, actions)
	e := p.execute(change)
	require.True(t, e.Success, "%+v", e.Error)
	require.Equal(t, map[string]any{"updated": 3.0, "deleted": 1.0, "left": []any{map[string]any{"completed": true, "count": 3.0}}}, e.Result)
	require.Equal(t, []map[string]any{{"entity": "Todo", "set": "default", "created": 0.0, "updated": 2.0, "deleted": 1.0}}, e.ChangeCounts)

	e = p.execute(`
const { Todo } = SDK.Entities;
let caught;
try { Todo.deleteByQuery({}, { maxAffected: 2 }) } catch (err) { caught = { code: err.code, path: err.path, details: err.details } }
({ caught, left: Todo.count() })`)
	require.True(t, e.Success, "%+v", e.Error)
	require.Equal(t, map[string]any{
		"caught": map[string]any{"code": string(fault.InvalidPayload), "path": "/maxAffected", "details": map[string]any{"matched": 3.0, "maxAffected": 2.0}},
		"left":   3.0,
	}, e.Result)

	e = p.execute("SDK.Entities.Todo.deleteByQuery()")
	require.False(t, e.Success)
	require.Equal(t, "/filter", e.Error.Path)
	require.Contains(t, e.Error.Message, "{} with all: true means every Todo")
	e = p.execute("typeof SDK.Entities.AuditLog.updateByQuery + typeof SDK.Entities.AuditLog.deleteByQuery + typeof SDK.Entities.AuditLog.aggregate")
	require.Equal(t, "undefinedundefinedfunction", e.Result)
}

func TestQueriesAreTools(t *testing.T) {
	p := newApp(t).serve()
	require.True(t, p.execute(stock).Success)
	require.JSONEq(t, `{"rows":[{"priority":"medium","count":3}],"truncated":true}`, string(p.tool("todo.aggregate", input{"groupBy": "priority", "sort": "-count", "limit": 1}).Structured))
	require.JSONEq(t, `{"updated":2}`, string(p.tool("todo.update-by-query", input{"filter": input{"assignedUserId": "ann"}, "changes": input{"priority": "low"}}).Structured))
	require.JSONEq(t, `{"deleted":2}`, string(p.tool("todo.delete-by-query", input{"filter": input{"priority": "low"}, "maxAffected": 2}).Structured))
	r := p.tool("todo.aggregate", input{"groupBy": "secret", "sort": "x"})
	require.True(t, r.IsError)
	require.Contains(t, string(r.Structured), `"path":"/groupBy"`)
	require.Contains(t, string(r.Structured), `"path":"/sort"`)
}

func TestAggregatesHoldUnderTSC(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	sdk := a.exec("", "sdk")
	require.Zero(t, sdk.status, sdk.stderr)
	a.script("koan.d.ts", sdk.stdout)
	a.script("good.ts", `
const rows = SDK.Entities.Todo.aggregate({ filter: { completed: false }, groupBy: ["priority", { field: "dueDate", by: "month", as: "m" }], count: { all: true, distinct: "assignedUser" }, sum: "effort,views", avg: ["effort"], having: { count: { $gt: 1 } }, sort: "-count", limit: 3, set: "archive" });
for (const row of rows) console.log(row.priority, row["sumEffort"]);
SDK.Entities.Todo.aggregate({ groupBy: "assignedUser" });
SDK.Entities.Label.aggregate();
SDK.Entities.AuditLog.aggregate({ groupBy: { field: "createdAt", by: "day" } });
const n: number = SDK.Entities.Todo.updateByQuery({ completed: true }, { notes: null }, { maxAffected: 5 }) + SDK.Entities.Todo.deleteByQuery({}, { all: true, set: "archive" });
console.log(n);
`)
	out, err := typecheck(t, a.dir, "koan.d.ts", "good.ts")
	require.NoError(t, err, out)
	refused(t, sdk.stdout, map[string]string{
		"a wrong group":          `SDK.Entities.Todo.aggregate({ groupBy: "prioriti" });`,
		"a wrong bucket":         `SDK.Entities.Todo.aggregate({ groupBy: { field: "dueDate", by: "hour" } });`,
		"the sum of a secret":    `SDK.Entities.Todo.aggregate({ sum: ["secret"] });`,
		"an update with a query": `SDK.Entities.Todo.updateByQuery({ compelted: true }, {});`,
		"a mutator of read-only": `SDK.Entities.AuditLog.deleteByQuery({});`,
	})
}
