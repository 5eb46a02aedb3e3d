package rest

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/tests/needs"
	"github.com/koan-go/koan/tests/soak"
)

// fileOf writes the document of an app into a file.
func fileOf(t *testing.T, s *server) string {
	t.Helper()
	doc := s.do("GET", "/openapi.json", "")
	require.Equal(t, http.StatusOK, doc.status)
	file := filepath.Join(t.TempDir(), "openapi.json")
	require.NoError(t, os.WriteFile(file, doc.body, 0o600))
	return file
}

// npm runs a program of the packages in tests/npm.
func npm(t *testing.T, args ...string) []byte {
	t.Helper()
	needs.Node(t)
	cmd := exec.Command("node", args...)
	cmd.Dir = "../npm"
	out, err := cmd.Output()
	if err != nil {
		var failed *exec.ExitError
		if ok := asExit(err, &failed); ok {
			t.Fatalf("%v: %v\n%s%s", args, err, out, failed.Stderr)
		}
		t.Fatal(err)
	}
	return out
}

func asExit(err error, to **exec.ExitError) bool {
	e, ok := err.(*exec.ExitError) //nolint:errorlint // as exec returns it
	*to = e
	return ok
}

func TestOpenAPILints(t *testing.T) {
	soak.Proof(t)
	t.Parallel()
	broken := filepath.Join(t.TempDir(), "openapi.json")
	require.NoError(t, os.WriteFile(broken, []byte(`{"openapi":"3.1.0","info":{"title":"x","version":"1"},"paths":{"/a":{"get":{"responses":{}}}}}`), 0o600))
	require.Contains(t, string(npm(t, "openapi.mjs", "lint", broken)), "operation-operationId", "the linter finds what is wrong")
	for name, app := range described {
		t.Run(name, func(t *testing.T) {
			out := npm(t, "openapi.mjs", "lint", fileOf(t, serve(t, app(), framework.HTTPOptions{})))
			require.Equal(t, "[]", strings.TrimSpace(string(out)))
		})
	}
}

// A client of the generated types passes tsc --strict, and one with mistakes does not.
func TestOpenAPITypeScript(t *testing.T) {
	soak.Proof(t)
	t.Parallel()
	dir := t.TempDir()
	for name, app := range described {
		types := npm(t, "openapi.mjs", "types", fileOf(t, serve(t, app(), framework.HTTPOptions{})))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+".ts"), types, 0o600))
	}
	args := []string{"node_modules/typescript/bin/tsc", "--strict", "--noEmit", "--skipDefaultLibCheck", "--target", "es2022", "--module", "esnext", "--moduleResolution", "bundler"}
	for name, text := range map[string]string{
		"right.ts": `
export async function first(): Promise<Todo | undefined> {
  type Page = paths["/api/todo"]["get"]["responses"]["200"]["content"]["application/json"];
  const page = (await (await fetch("/api/todo")).json()) as Page;
  return page.items[0];
}
export const model: components["schemas"]["TodoModel"] = { title: "x", priority: "low" };
export function nameOf(t: Todo): string { return t.title ?? t.id; }
type Schemas = components["schemas"];
export const filter: Schemas["TodoFilter"] = {
  title: { $startsWith: "x" }, priority: "low", effort: { $between: [1, 2] }, $or: [{ completed: true }, { $not: { title: { $in: ["a"] } } }],
  assignedUser: { name: { $icontains: "a" } }, steps: { $some: { done: false, todo: { title: "x" } }, $exists: true }, dueDate: null,
};
export const related: Schemas["TodoWith"] = { steps: { limit: 2, sort: "-text", filter: { done: true }, with: "todo" }, assignedUser: true };
export const groups: paths["/api/todo:aggregate"]["post"]["requestBody"]["content"]["application/json"] = { groupBy: "priority", count: true, having: { count: { $gt: 1 }, $or: [{ count: 3 }] } };
export function steps(t: Todo): (string | undefined)[] { return [...(t.steps ?? []).map((s) => s.todo?.assignedUser?.name), t.labels?.[0]?.todos?.[0]?.title]; }
export const query: NonNullable<paths["/api/todo"]["get"]["parameters"]["query"]> = { filter: JSON.stringify({ title: "x" }) };
`,
		"pantry.ts": `
import type { components as pantry, paths as routes } from "./pantrypal";
type Pantry = pantry["schemas"];
export const items: Pantry["PantryItemFilter"] = {
  name: { $icontains: "milk" }, place: "fridge", amount: { $gt: 1 }, food: { name: { $startsWith: "m" } }, $or: [{ bestBefore: null }, { bestBefore: { $lt: "2026-01-01" } }],
};
export const foods: Pantry["PantryItemWith"] = { food: { fields: "name", filter: { name: "x" } }, product: true };
export const places: routes["/api/pantry-item:aggregate"]["post"]["requestBody"]["content"]["application/json"] = { groupBy: "place", count: true, having: { count: { $gt: 1 } }, filter: items };
export function food(i: Pantry["PantryItem"]): string | undefined { return i.food?.name; }
export function box(d: Pantry["Detection"], h: Pantry["Household"]): unknown[] { return [d.box, h.members, h.removed?.[0]?.toUpperCase()]; }
`,
		"items.ts":    `export const filter: import("./pantrypal").components["schemas"]["PantryItemFilter"] = { food: { naem: "x" } };`,
		"filter.ts":   `export const filter: components["schemas"]["TodoFilter"] = { titel: "x" };`,
		"operator.ts": `export const filter: components["schemas"]["TodoFilter"] = { title: { $gte: 1 } };`,
		"edge.ts":     `export const filter: components["schemas"]["TodoFilter"] = { steps: { $some: { txt: "x" } } };`,
		"with.ts":     `export const related: components["schemas"]["TodoWith"] = { step: true };`,
		"read.ts":     `export function text(t: Todo): number | undefined { return t.steps?.[0]?.text; }`,
		"type.ts":     `export const model: components["schemas"]["TodoModel"] = { title: 1 };`,
		"name.ts":     `export function nameOf(t: Todo): string { return t.titel; }`,
	} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(`import type { paths, components } from "./fixture";
type Todo = components["schemas"]["Todo"];
`+text), 0o600))
		args = append(args, path)
	}
	// All at once: what takes the compiler's time is the document's types.
	cmd := exec.Command("node", args...)
	cmd.Dir = "../npm"
	out, err := cmd.Output()
	require.Error(t, err)
	wrong := map[string]int{}
	for line := range strings.Lines(string(out)) {
		if at := strings.Index(line, ": error TS"); at >= 0 {
			file, _, _ := strings.Cut(filepath.Base(line[:at]), "(")
			wrong[file]++
		}
	}
	require.Equal(t, map[string]int{"items.ts": 1, "filter.ts": 1, "operator.ts": 1, "edge.ts": 1, "with.ts": 1, "read.ts": 1, "type.ts": 1, "name.ts": 1}, wrong, "%s", out)
}

// document is an OpenAPI document, as far as tests read it.
type document struct {
	Paths map[string]map[string]operation
}

type operation struct {
	OperationID string
	Parameters  []struct {
		Name, In    string
		Description string
		Example     any
		Schema      map[string]any
	}
	RequestBody struct {
		Content map[string]struct {
			Schema  map[string]any
			Example json.RawMessage
		}
	}
	Responses map[string]struct {
		Headers map[string]any
	}
}

// parameter is the description of a parameter, "" for one that is not there.
func (o operation) parameter(in, name string) string {
	for _, p := range o.Parameters {
		if p.In == in && p.Name == name {
			return p.Description
		}
	}
	return ""
}

func documentOf(t testing.TB, s *server) document {
	var d document
	require.NoError(t, json.Unmarshal(s.do("GET", "/openapi.json", "").body, &d))
	return d
}

// Every example in the document runs.
func TestOpenAPIExamples(t *testing.T) {
	t.Parallel()
	for name, app := range described {
		t.Run(name, func(t *testing.T) {
			s := serve(t, app(), framework.HTTPOptions{})
			ran := 0
			for path, item := range documentOf(t, s).Paths {
				for method, op := range item {
					query := url.Values{}
					for _, p := range op.Parameters {
						if p.In == "query" && p.Example != nil {
							text, ok := p.Example.(string)
							if !ok {
								raw, err := json.Marshal(p.Example)
								require.NoError(t, err)
								text = string(raw)
							}
							query.Set(p.Name, text)
						}
					}
					bodies := op.RequestBody.Content
					if len(bodies) == 0 && len(query) == 0 {
						continue
					}
					for media, body := range bodies {
						if len(body.Example) == 0 {
							continue
						}
						r := s.do(strings.ToUpper(method), path, string(body.Example), "Content-Type", media)
						require.Less(t, r.status, 300, "%s %s %s: %s", method, path, body.Example, r.body)
						ran++
					}
					if len(query) > 0 {
						r := s.do(strings.ToUpper(method), path+"?"+query.Encode(), "")
						require.Equal(t, http.StatusOK, r.status, "%s %s: %s", path, query, r.body)
						ran++
					}
				}
			}
			require.Greater(t, ran, 20)
		})
	}
}

func TestDocsPage(t *testing.T) {
	t.Parallel()
	s := serve(t, fixtureApp(), framework.HTTPOptions{})
	page := s.do("GET", "/docs", "")
	require.Equal(t, http.StatusOK, page.status)
	require.Equal(t, "text/html; charset=utf-8", page.header.Get("Content-Type"))
	policy := page.header.Get("Content-Security-Policy")
	require.NotContains(t, policy, "unsafe")
	require.Contains(t, policy, "default-src 'none'")
	for _, text := range []string{"GET /api/todo/{id}", "POST /api/actions/greet", "A thing somebody has to do.", "openapi.json"} {
		require.Contains(t, string(page.body), text)
	}
	for _, foreign := range []string{"src=", "href=\"http", "<script", "style=\""} {
		require.False(t, strings.Contains(string(page.body), foreign), foreign)
	}
	doc := s.do("GET", "/openapi.json", "")
	require.Equal(t, http.StatusNotModified, s.do("GET", "/openapi.json", "", "If-None-Match", doc.header.Get("ETag")).status)
}

// The document has the headers on which a request may depend, and those that come back.
func TestOpenAPIConditions(t *testing.T) {
	t.Parallel()
	paths := documentOf(t, serve(t, fixtureApp(), framework.HTTPOptions{})).Paths
	item, all := paths["/api/todo/{id}"], paths["/api/todo"]
	require.NotEmpty(t, item["get"].parameter("header", "If-None-Match"))
	require.Contains(t, item["get"].Responses, "304")
	require.Contains(t, item["get"].Responses["304"].Headers, "ETag")
	require.Contains(t, item["put"].parameter("header", "If-None-Match"), "`*`")
	require.Empty(t, item["patch"].parameter("header", "If-None-Match"), "which is rejected")
	require.Empty(t, item["delete"].parameter("header", "If-None-Match"))
	for _, method := range []string{"put", "patch", "delete"} {
		require.NotEmpty(t, item[method].parameter("header", "If-Match"), method)
	}
	for _, op := range []operation{all["post"], item["put"], item["patch"], item["get"]} {
		require.Contains(t, op.Responses["200"].Headers, "ETag", op.OperationID)
	}
	require.Contains(t, all["post"].Responses["201"].Headers, "Location")
	require.NotContains(t, all["get"].parameter("query", "cursor"), "null", "which is a text in a query")
}

// The document has the routes that are no entity's. The console's own are private to it.
func TestOpenAPIOtherRoutes(t *testing.T) {
	t.Parallel()
	paths := documentOf(t, serve(t, fixtureApp(), framework.HTTPOptions{})).Paths
	for _, route := range []string{"get /api/events", "post /api/files", "get /api/files/{id}", "post /tools/{name}", "get /health", "get /status", "get /status/stream"} {
		method, path, _ := strings.Cut(route, " ")
		require.Contains(t, paths[path], method, route)
	}
	for path := range paths {
		require.False(t, strings.HasPrefix(path, "/api/console"), path)
	}
}

// Who opens the bare address in a browser comes to something to read; programs get a fault.
func TestBareAddress(t *testing.T) {
	t.Parallel()
	browser := []string{"Accept", "text/html,application/xhtml+xml,*/*;q=0.8"}
	with := serve(t, fixtureApp(), framework.HTTPOptions{Console: true, URL: "http://localhost"})
	led := with.do("GET", "/", "", browser...)
	require.Equal(t, []any{http.StatusSeeOther, "/console"}, []any{led.status, led.header.Get("Location")})

	without := serve(t, fixtureApp(), framework.HTTPOptions{})
	page := without.do("GET", "/", "", browser...)
	require.Equal(t, []any{http.StatusOK, "text/html; charset=utf-8"}, []any{page.status, page.header.Get("Content-Type")})
	require.Contains(t, page.header.Get("Content-Security-Policy"), "default-src 'none'")
	links := regexp.MustCompile(`href="([^"]+)"`).FindAllStringSubmatch(string(page.body), -1)
	require.Len(t, links, 2)
	for _, link := range links {
		require.Equal(t, http.StatusOK, without.do("GET", "/"+link[1], "", browser...).status, link[1])
	}
	for name, r := range map[string]reply{
		"a program":    without.do("GET", "/", "", "Accept", "*/*"),
		"another path": without.do("GET", "/nothing", "", browser...),
		"a form":       with.do("POST", "/", "{}", browser...),
	} {
		require.Equal(t, []any{http.StatusNotFound, "application/problem+json"}, []any{r.status, r.header.Get("Content-Type")}, name)
	}
}
