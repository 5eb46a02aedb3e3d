package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/soak"
)

const readingStock = `
const { Todo, Person, Label } = SDK.Entities;
const ada = Person.upsert({ name: "Ada", email: "ada@example.org" });
const labels = Label.upsertMany([{ name: "home" }, { name: "work" }]);
Todo.deleteMany(["1"]);
Todo.upsertMany([
  { id: "t1", title: "Buy milk", notes: "The milk from the farm.", tags: ["food", "shop"], assignedUserId: ada.id, labels: labels.map((l) => l.id) },
  { id: "t2", title: "Milk", tags: ["food"], effort: 2 },
  { id: "t3", title: "Call the milkman", tags: [], dueDate: "2026-01-02T03:04:05Z", labels: [labels[0].id] },
  { id: "t4", title: "Sleep", notes: "without milk" },
  { id: "t5", title: "Buttermilk" },
]);
`

func TestReadingScript(t *testing.T) {
	p := newApp(t).serve()
	e := p.execute(readingStock)
	require.True(t, e.Success, "%+v", e.Error)
	e = p.execute(`
const { Todo, Person } = SDK.Entities;
const ids = (query) => Todo.collection({ ...query, fields: "id" }).items.map((t) => t.id).join(" ");
const walk = (query) => {
  const seen = [];
  let cursor;
  do {
    const page = Todo.collection({ ...query, pageSize: 2, ...(cursor ? { cursor } : {}) });
    seen.push(page.items.map((t) => t.id).join(" "));
    cursor = page.nextCursor;
  } while (cursor);
  return seen;
};
const first = Todo.collection({ pageSize: 2 });
({
  ranked: ids({ q: "milk" }), sorted: ids({ q: "milk", sort: "title" }), both: ids({ q: "MILK bu" }), none: ids({ q: "ilk" }),
  search: ids({ filter: { $or: [{ $search: "sleep" }, { assignedUser: { $search: "ada" } }] } }),
  has: ids({ filter: { tags: { $has: "food" } } }), all: ids({ filter: { tags: { $all: ["food", "shop"] } } }), size: ids({ filter: { tags: { $size: 0 } } }),
  at: ids({ filter: { tags: { $path: { "[0]": "food", "[1]": { $null: true } } } } }), untagged: ids({ filter: { tags: null } }),
  walk: walk({ sort: "-dueDate,effort" }), found: walk({ q: "milk" }),
  counts: [first.totalCount, Todo.collection({ cursor: first.nextCursor }).totalCount === undefined, Todo.collection({ cursor: first.nextCursor, count: true }).totalCount],
  page: Todo.collection({ cursor: first.nextCursor }).page, rest: [...Todo.each({ cursor: first.nextCursor, pageSize: 2 })].map((t) => t.id),
  nested: Todo.collection({ filter: { id: "t1" }, fields: ["title", "assignedUser.name", "labels.name"] }).items[0],
  narrowed: Todo.getById("t1", { fields: "title", with: { labels: { limit: 1, sort: "-name", fields: "name" } } }),
  of: Person.collection({ with: { todos: { fields: "title", filter: { tags: { $has: "shop" } } } }, fields: "name" }).items[0].todos.length,
})`)
	require.True(t, e.Success, "%+v", e.Error)
	r := e.Result.(map[string]any)
	require.Equal(t, "t2 t1 t3 t4", r["ranked"], "what is the word itself first, then titles before notes")
	require.Equal(t, "t1 t3 t2 t4", r["sorted"])
	require.Equal(t, "t1", r["both"])
	require.Equal(t, "", r["none"], "words are found by their beginning")
	require.Equal(t, "t1 t4", r["search"])
	require.Equal(t, "t1 t2", r["has"])
	require.Equal(t, "t1", r["all"])
	require.Equal(t, "t3", r["size"])
	require.Equal(t, "t2", r["at"])
	require.Equal(t, "t4 t5", r["untagged"])
	require.Equal(t, []any{"t3 t1", "t4 t5", "t2"}, r["walk"])
	require.Equal(t, []any{"t2 t1", "t3 t4"}, r["found"])
	require.Equal(t, []any{5.0, true, 5.0}, r["counts"])
	require.Equal(t, 2.0, r["page"])
	require.Equal(t, []any{"t3", "t4", "t5"}, r["rest"])
	nested := r["nested"].(map[string]any)
	require.Len(t, nested, 4)
	require.Equal(t, "Ada", nested["assignedUser"].(map[string]any)["name"])
	require.Equal(t, []any{map[string]any{"id": "1", "name": "home"}, map[string]any{"id": "2", "name": "work"}}, nested["labels"])
	require.Equal(t, map[string]any{"id": "t1", "title": "Buy milk", "labels": []any{map[string]any{"id": "2", "name": "work"}}}, r["narrowed"])
	require.Equal(t, 1.0, r["of"])
}

func TestToolsPageByCursor(t *testing.T) {
	p := newApp(t).serve("--exposure", "full")
	require.True(t, p.execute(readingStock).Success)
	type page struct {
		Items      []struct{ ID string }
		Page       int
		TotalCount *int
		NextCursor *string
	}
	read := func(args input) page {
		r := p.tool("todo.collection", args)
		require.False(t, r.IsError, string(r.Structured))
		require.Contains(t, string(r.Structured), `"nextCursor":`, "always there")
		var out page
		require.NoError(t, json.Unmarshal(r.Structured, &out))
		return out
	}
	first := read(input{"pageSize": 3, "sort": "-id"})
	require.NotNil(t, first.NextCursor)
	require.Equal(t, 5, *first.TotalCount)
	// The set may be named or not; it is the same query.
	second := read(input{"pageSize": 3, "sort": "-id", "set": "default", "cursor": *first.NextCursor})
	require.Equal(t, "t2", second.Items[0].ID)
	require.Nil(t, second.NextCursor)
	require.Nil(t, second.TotalCount)
	for name, args := range map[string]input{
		"another sort":   {"sort": "id", "cursor": *first.NextCursor},
		"another filter": {"sort": "-id", "filter": input{"completed": false}, "cursor": *first.NextCursor},
		"another set":    {"sort": "-id", "set": "archive", "cursor": *first.NextCursor},
		"cut off":        {"sort": "-id", "cursor": (*first.NextCursor)[:20]},
		"made up":        {"sort": "-id", "cursor": "eyJpZCI6InQxIn0"},
		"no text":        {"cursor": 7},
	} {
		t.Run(name, func(t *testing.T) {
			r := p.tool("todo.collection", args)
			require.True(t, r.IsError)
			var out struct{ Error executionFailure }
			require.NoError(t, json.Unmarshal(r.Structured, &out))
			require.Equal(t, string(fault.InvalidPayload), out.Error.Code)
			require.Contains(t, string(r.Structured), `"/cursor"`)
		})
	}
	r := p.tool("person.collection", input{"filter": input{"name": input{"$has": "x"}}})
	require.True(t, r.IsError)
	require.Contains(t, string(r.Structured), "does not apply")
}

// What a script deletes and inserts while it goes through the items moves none of
// them.
func TestEachDuringConcurrentChanges(t *testing.T) {
	p := newApp(t).serve("--codeMode.maxSdkCalls", "0")
	e := p.execute(`
const { Todo } = SDK.Entities;
Todo.deleteMany(["1"]);
Todo.upsertMany(Array.from({ length: 95 }, (_, i) => ({ id: "t" + String(i).padStart(3, "0"), title: "T" })));
const seen = [];
for (const t of Todo.each({ pageSize: 10, fields: "id" })) {
  seen.push(t.id);
  Todo.delete(t.id);
  if (t.id < "u") Todo.upsert({ id: "a" + t.id, title: "behind" });
}
({ seen: seen.length, ordered: seen.every((id, i) => i == 0 || seen[i - 1] < id), left: Todo.count() })`)
	require.True(t, e.Success, "%+v", e.Error)
	require.Equal(t, map[string]any{"seen": 95.0, "ordered": true, "left": 95.0}, e.Result)
}

// Many rows pass through a worker that has room for few: neither it nor the host
// keeps what it has seen.
func TestEachOverManyRowsStaysFlat(t *testing.T) {
	soak.Proof(t)
	t.Parallel()
	const rows = 20_000
	p := newApp(t).serve("--exposure", "full", "--sandbox.cpuMs", "60000", "--sandbox.timeoutMs", "60000", "--server.toolTimeoutMs", "70000")
	text := strings.Repeat("words and words ", 128) // 2 KiB, 40 MB in all, where no index of words has work with it
	for from := 0; from < rows; from += 1000 {
		models := make([]input, 1000)
		for i := range models {
			models[i] = input{"id": fmt.Sprintf("t%05d", from+i), "title": "T", "tags": []string{text}}
		}
		require.False(t, p.tool("todo.upsert-many", input{"models": models}).IsError)
	}
	const code = `
let n = 0, bytes = 0;
for (const t of SDK.Entities.Todo.each({ filter: { id: { $gte: "t" } } })) { n++; bytes += t.tags[0].length; }
[n, bytes]`
	e := p.execute(code, input{"limits": input{"maxMemoryBytes": 32 << 20}})
	require.True(t, e.Success, "%+v", e.Error)
	require.Equal(t, []any{float64(rows), float64(rows * len(text))}, e.Result)
}

func TestFiltersOfJSONHoldUnderTSC(t *testing.T) {
	soak.Proof(t)
	t.Parallel()
	a := newApp(t)
	sdk := a.exec("", "sdk")
	require.Zero(t, sdk.status, sdk.stderr)
	a.script("koan.d.ts", sdk.stdout)
	a.script("good.ts", `
const { Todo } = SDK.Entities;
let cursor: string | null | undefined;
do {
  const page = Todo.collection({ q: "milk", filter: { tags: { $has: "food", $all: ["a", "b"], $size: 2 }, $search: "x" }, pageSize: 200, ...(cursor ? { cursor } : {}) });
  cursor = page.nextCursor;
} while (cursor);
Todo.count({ tags: { $path: { "[0]": "food", "a.b[1]": { $in: [1, "x", null], $contains: "y", $size: 3 } } } });
Todo.count({ tags: null, $not: { tags: { $null: false, $ne: null } } });
Todo.collection({ fields: ["title", "assignedUser.name"], with: { labels: { limit: 3, sort: "-name" } } });
`)
	out, err := typecheck(t, a.dir, "koan.d.ts", "good.ts")
	require.NoError(t, err, out)
	refused(t, sdk.stdout, map[string]string{
		"an element of another type": `SDK.Entities.Todo.count({ tags: { $has: 7 } });`,
		"a list as a value":          `SDK.Entities.Todo.count({ tags: ["food"] });`,
		"elements of a text":         `SDK.Entities.Todo.count({ title: { $has: "x" } });`,
		"an operator of a path":      `SDK.Entities.Todo.count({ tags: { $path: { "[0]": { $contain: "x" } } } });`,
		"a cursor of a number":       `SDK.Entities.Todo.collection({ cursor: 7 });`,
	})
}

// Every example in the tables of the reference of filters runs as it stands.
func TestExamplesOfFiltersRun(t *testing.T) {
	doc, err := os.ReadFile("../../docs/reference/filter.md")
	require.NoError(t, err)
	var examples []string
	for line := range strings.Lines(string(doc)) {
		for i, code := range strings.Split(line, "`") {
			if strings.HasPrefix(line, "|") && i%2 == 1 && strings.HasPrefix(code, "{") {
				examples = append(examples, code)
			}
		}
	}
	require.Greater(t, len(examples), 25)
	p := newApp(t).serve()
	require.True(t, p.execute(readingStock).Success)
	e := p.execute("const counts = [" + strings.Join(examples, ",\n") + "].map((f) => SDK.Entities.Todo.count(f)); counts.length")
	require.True(t, e.Success, "%+v", e.Error)
	require.Equal(t, float64(len(examples)), e.Result)
}

// Related rows that a script read with a limit or a filter are not written back, which would
// unlink the others; all of them, and arrays that the script made, are.
func TestRelationsReadInPartAreNotWritten(t *testing.T) {
	t.Parallel()
	p := newApp(t).serve()
	require.True(t, p.execute(readingStock).Success)
	const begin = `const { Todo, Person } = SDK.Entities, ada = Person.firstPage(1).items[0].id; `
	run := func(code string) execution {
		if load, rest, ok := strings.Cut(code, "; "); ok && strings.HasPrefix(load, "import ") {
			return p.execute(load + "; " + begin + rest)
		}
		return p.execute(begin + code)
	}
	for code, path := range map[string]string{
		`const t = Todo.getById("t1", {with: {labels: {limit: 1}}}); t.title = "x"; Todo.upsert(t)`:                                                "/model/labels",
		`const t = Todo.findById("t1", {with: {labels: {filter: {name: "home"}}}}); Todo.upsert({...t, title: "x"})`:                               "/model/labels",
		`const t = Todo.getById("t1", {with: {labels: {filter: {name: "none"}}}}); Todo.patch("t1", {labels: t.labels})`:                           "/changes/labels",
		`Todo.upsertMany(Todo.all({filter: {id: "t1"}, with: {labels: {limit: 1}}}))`:                                                              "/models/0/labels",
		`for (const t of Todo.each({filter: {id: "t1"}, with: {labels: {limit: 2}}})) { t.labels.push(t.labels[0]); Todo.upsert(t) }`:              "/model/labels",
		`Todo.upsert(Todo.firstPage(1, {filter: {id: "t1"}, with: {labels: {sort: "name", limit: 1}}}).items[0])`:                                  "/model/labels",
		`Todo.upsert(Person.getById(ada, {with: {todos: {with: {labels: {limit: 1}}}}}).todos[0])`:                                                 "/model/labels",
		`Person.upsert(Todo.getById("t1", {with: {assignedUser: {with: {todos: {filter: {title: "none"}}}}}}).assignedUser)`:                       "/model/todos",
		`Todo.upsert(Todo.getById("t1", {with: {labels: {limit: 3, sort: "name"}}}))`:                                                              "",
		`Todo.upsert(Todo.getById("t1", {with: {labels: {filter: {}, fields: "name"}}}))`:                                                          "",
		`const t = Todo.getById("t1", {with: {labels: {limit: 1}}}); Todo.upsert({id: "copy", title: "x", labels: t.labels}); Todo.delete("copy")`: "",
		`const t = Todo.getById("t1", {with: {labels: {limit: 1}}}); Todo.patch("t1", {labels: {$add: t.labels}})`:                                 "",
		`const t = Todo.getById("t1", {with: {labels: {limit: 1}}}); Todo.patch("t1", {labels: {$set: t.labels}})`:                                 "/changes/labels/$set",
		`Todo.upsert(Todo.getById("t1", {with: "labels"}))`:                                                                                        "",
		`const { labels, ...t } = Todo.getById("t1", {with: {labels: {limit: 1}}}); Todo.upsert(t)`:                                                "",
		// Of one row a filter leaves null.
		`const t = Todo.getById("t1", {with: {assignedUser: {filter: {name: "none"}}}}); t.title = "x"; Todo.upsert(t)`:                                              "/model/assignedUser",
		`const t = Todo.getById("t1", {with: {assignedUser: {filter: {name: "none"}}}}); Todo.upsert({...t, title: "x"})`:                                            "/model/assignedUser",
		`const t = Todo.getById("t1", {with: {assignedUser: {filter: {name: "none"}}}}); Todo.upsertMany([JSON.parse(JSON.stringify(t))])`:                           "/models/0/assignedUser",
		`Todo.patch("t1", Todo.getById("t1", {with: {assignedUser: {filter: {name: "none"}}}}))`:                                                                     "/changes/assignedUser",
		`const [t] = Todo.all({with: {assignedUser: {filter: {name: "none"}}}, filter: {id: "t1"}}); t.assignedUser = t.assignedUserId = ada; Todo.upsert(t)`:        "",
		`const t = Todo.getById("t1", {with: {assignedUser: {filter: {name: "none"}}}}); delete t.assignedUser; Todo.upsert(t)`:                                      "",
		`const t = Todo.getById("t1", {with: {assignedUser: {filter: {name: "Ada"}}}}); Todo.upsert(t)`:                                                              "",
		`const t = Todo.getById("t1", {with: {assignedUser: {filter: {name: "none"}}}}); Todo.upsert({...t, id: "copy", assignedUserId: null}); Todo.delete("copy")`: "",
		// A null that the script writes itself unlinks.
		`const t = Todo.getById("t1", {with: {assignedUser: {filter: {name: "none"}}}}); t.assignedUser = t.assignedUserId = null; Todo.upsert(t); Todo.patch("t1", {assignedUser: ada})`:                              "",
		`Todo.getById("t1", {with: {assignedUser: {filter: {name: "none"}}}}); Todo.upsert({id: "t1", assignedUser: null}); Todo.patch("t1", {assignedUser: ada})`:                                                     "",
		`Todo.getById("t1", {with: {assignedUser: {filter: {name: "none"}}}}); Todo.patch("t1", {assignedUser: null}); Todo.upsert(Todo.getById("t1", {with: "assignedUser"})); Todo.patch("t1", {assignedUser: ada})`: "",
		// Whichever way it is read and written.
		`import * as koan from "@codemode/servers/koan"; const t = await koan.todo_get_by_id({id: "t1", with: {labels: {limit: 1}}}); await koan.todo_upsert({model: t})`:                                            "/model/labels",
		`import * as koan from "@codemode/servers/koan"; const p = await koan.todo_collection({filter: {id: "t1"}, with: {assignedUser: {filter: {name: "none"}}}}); await koan.todo_upsert_many({models: p.items})`: "/models/0/assignedUser",
		`import * as koan from "@codemode/servers/koan"; const t = Todo.getById("t1", {with: {labels: {limit: 1}}}); await koan.todo_patch({id: "t1", changes: {labels: t.labels}})`:                                 "/changes/labels",
		`const t = Todo.getById("t1", {with: {labels: {limit: 1}}}); t.labels = [...Todo.getById("t1", {with: "labels"}).labels]; Todo.upsert(t)`:                                                                    "",
	} {
		e := run(code)
		require.Equal(t, path == "", e.Success, "%s: %+v", code, e.Error)
		if path != "" {
			require.Equal(t, []string{string(fault.InvalidPayload), path}, []string{e.Error.Code, e.Error.Path}, code)
			require.Regexp(t, "without (limit and|the) filter", e.Error.Hint)
		}
		left := p.execute(begin + `[Todo.getById("t1", {with: "labels"}).labels.length, Todo.count({assignedUser: {id: ada}})].join()`)
		require.Equal(t, "2,1", left.Result, code)
	}
}
