package console

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/needs"
)

// people are callers by their tokens.
var people = map[string]framework.Principal{
	"ann":   {Subject: "ann", Scopes: []string{"*", "koan:journal"}, Sets: []string{"default"}},
	"bob":   {Subject: "bob", Scopes: []string{"*", "koan:approve"}, Sets: []string{"default"}},
	"guest": {Subject: "guest", Sets: []string{"default"}},
}

func byName(r *http.Request) (framework.Principal, error) {
	p, ok := people[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	if !ok {
		return p, fault.New(fault.Unauthorized, "nobody knows you")
	}
	return p, nil
}

// as sends a request as one of the people, and returns the body of a response with this status.
func (s *site) as(who, method, at, body string, status int) map[string]any {
	s.t.Helper()
	resp, text := s.do(method, at, body, "Authorization", "Bearer "+who)
	require.Equal(s.t, status, resp.StatusCode, "%s %s: %s", method, at, text)
	var out map[string]any
	require.NoError(s.t, json.Unmarshal([]byte(text), &out))
	return out
}

func (s *site) runs(who, query string) (ids []string, next any) {
	s.t.Helper()
	page := s.as(who, "GET", "/api/console/runs?"+query, "", http.StatusOK)
	for _, r := range page["runs"].([]any) {
		ids = append(ids, r.(map[string]any)["id"].(string))
	}
	return ids, page["next"]
}

// execute runs a script and returns the run's id.
func (s *site) execute(who, code string) string {
	s.t.Helper()
	input, err := json.Marshal(map[string]string{"code": code})
	require.NoError(s.t, err)
	_, text := s.do("POST", "/tools/koan.code.execute", string(input), "Authorization", "Bearer "+who)
	var out struct {
		Meta struct{ RunID string } `json:"_meta"`
	}
	require.NoError(s.t, json.Unmarshal([]byte(text), &out), text)
	require.NotEmpty(s.t, out.Meta.RunID, text)
	return out.Meta.RunID
}

func TestRunsAreListedToWhoeverMayReadThem(t *testing.T) {
	t.Parallel()
	s := mount(t, byName, koantest.Setting{Key: "journal.enabled", Value: "true"})
	made := s.execute("ann", `SDK.Entities.Todo.patch("1", { title: "New" })`)
	failed := s.execute("ann", `SDK.Entities.Todo.getById("no such todo")`)
	read := s.as("ann", "GET", "/api/todo/1", "", http.StatusOK)
	require.Equal(t, "New", read["title"])
	_ = s.execute("guest", `1 + 1`)

	all, _ := s.runs("ann", "")
	require.Len(t, all, 4, "ann may read the runs of others")
	some, _ := s.runs("bob", "")
	require.Empty(t, some, "* alone does not hold that scope")
	require.True(t, slices.IsSortedFunc(all, func(a, b string) int { return strings.Compare(b, a) }), "the latest first")
	own, _ := s.runs("guest", "")
	require.Len(t, own, 1)
	for query, want := range map[string][]string{
		"changed=true": {made}, "outcome=!ok": {failed}, "outcome=not_found": {failed}, "q=TITLE": {made}, "q=no+SUCH": {failed}, "reads=false&limit=1&before=" + failed: {made},
	} {
		got, _ := s.runs("ann", query)
		require.Equal(t, want, got, query)
	}
	without, _ := s.runs("ann", "reads=false")
	require.Len(t, without, 3, "without the call that only read")
	first, next := s.runs("ann", "limit=2")
	second, end := s.runs("ann", "limit=2&before="+next.(string))
	require.Equal(t, all, append(first, second...))
	if end != nil { // whether there is more shows when it is asked for
		rest, none := s.runs("ann", "before="+end.(string))
		require.Empty(t, rest)
		require.Nil(t, none)
	}

	report := s.as("ann", "GET", "/api/console/runs/"+made, "", http.StatusOK)
	require.Equal(t, "todo.patch", report["calls"].([]any)[0].(map[string]any)["tool"])
	require.Equal(t, "not_found", s.as("guest", "GET", "/api/console/runs/"+made, "", http.StatusNotFound)["code"])
	for query, path := range map[string]string{"limit=0": "/limit", "limit=x": "/limit", "limit=201": "/limit", "changed=perhaps": "/changed", "reads=2": "/reads", "colour=red": "/colour", "q=a&q=b": "/q"} {
		wrong := s.as("ann", "GET", "/api/console/runs?"+query, "", http.StatusBadRequest)
		require.Equal(t, "invalid_payload", wrong["code"], query)
		require.Equal(t, path, wrong["details"].([]any)[0].(map[string]any)["path"], query)
	}
	odd, _ := s.runs("ann", "before=%27%20OR%201=1")
	require.Empty(t, odd)
}

// What is kept of a run is what its caller has read, so nobody else replays it.
func TestReplayIsForWhoeverMadeTheRun(t *testing.T) {
	t.Parallel()
	s := mount(t, byName, koantest.Setting{Key: "journal.enabled", Value: "true"}, koantest.Setting{Key: "replay.keep", Value: "all"})
	id := s.execute("ann", `SDK.Entities.Todo.getById("1").title`)
	at := "/api/console/runs/" + id + "/replay"
	same := s.as("ann", "POST", at, `{}`, http.StatusOK)
	require.Equal(t, true, same["identical"])
	require.Equal(t, "not_found", s.as("bob", "POST", at, `{}`, http.StatusNotFound)["code"])
	require.Equal(t, "invalid_payload", s.as("ann", "POST", at, `{"data":"yes"}`, http.StatusBadRequest)["code"])
	s.as("ann", "PATCH", "/api/todo/1", `{"title":"Another"}`, http.StatusOK)
	differs := s.as("ann", "POST", at, `{"data":true}`, http.StatusOK)
	require.Equal(t, false, differs["identical"])
}

// The page of a plan colours its script as what it is.
func TestPlanNamesTheLanguageOfItsScript(t *testing.T) {
	t.Parallel()
	needs.Program(t, "python3")
	s := mount(t, byName, koantest.Setting{Key: "approval.mode", Value: "destructive"}, koantest.Setting{Key: "codeMode.languages", Value: "javascript,python"})
	for name, c := range map[string]struct{ input, language string }{
		"by default": {`{"code":"SDK.Entities.Todo.delete(\"1\")"}`, "javascript"},
		"named":      {`{"code":"SDK.Entities.Todo.delete(\"1\")","language":"python"}`, "python"},
		"fenced":     {`{"code":"` + "```py" + `\nSDK.Entities.Todo.delete(\"1\")\n` + "```" + `"}`, "python"},
	} {
		problem := s.as("ann", "POST", "/tools/koan.code.execute", c.input, http.StatusForbidden)
		plan := problem["error"].(map[string]any)["details"].(map[string]any)["planId"].(string)
		require.Equal(t, c.language, s.as("ann", "GET", "/api/console/plans/"+plan, "", http.StatusOK)["language"], name)
	}
}

func TestPlansAreDecidedByApprovers(t *testing.T) {
	t.Parallel()
	s := mount(t, byName, koantest.Setting{Key: "approval.mode", Value: "destructive"})
	ask := func() string {
		problem := s.as("ann", "DELETE", "/api/todo/1", "", http.StatusForbidden)
		require.Equal(t, "approval_required", problem["code"])
		return problem["details"].(map[string]any)["planId"].(string)
	}
	id := ask()
	at := "/api/console/plans/" + id
	require.Equal(t, "forbidden", s.as("ann", "GET", "/api/console/plans", "", http.StatusForbidden)["code"])
	require.Equal(t, "waiting", s.as("ann", "GET", at, "", http.StatusOK)["state"], "whoever made it may look at it")
	require.Equal(t, "approval_required", s.as("ann", "POST", at+"/approve", `{}`, http.StatusForbidden)["code"])
	require.Contains(t, []any{"forbidden", "not_found"}, s.as("ann", "POST", at+"/deny", `{}`, http.StatusForbidden)["code"])
	require.Equal(t, "not_found", s.as("guest", "GET", at, "", http.StatusNotFound)["code"])

	waiting := s.as("bob", "GET", "/api/console/plans", "", http.StatusOK)["plans"].([]any)
	require.Len(t, waiting, 1)
	require.Equal(t, id, waiting[0].(map[string]any)["id"])
	whole := s.as("bob", "GET", at, "", http.StatusOK)
	require.Equal(t, "delete", whole["changes"].([]any)[0].(map[string]any)["action"])
	require.Contains(t, whole["text"], "Deletes 1 row")
	require.Equal(t, "invalid_payload", s.as("bob", "POST", at+"/deny", `{"why":"x"}`, http.StatusBadRequest)["code"])
	require.Equal(t, "denied", s.as("bob", "POST", at+"/deny", `{}`, http.StatusOK)["state"])
	require.Equal(t, "approval_denied", s.as("bob", "POST", at+"/approve", `{}`, http.StatusForbidden)["code"])
	s.as("ann", "GET", "/api/todo/1", "", http.StatusOK)

	at = "/api/console/plans/" + ask()
	done := s.as("bob", "POST", at+"/approve", `{}`, http.StatusOK)
	require.Equal(t, "applied", done["state"])
	require.Equal(t, map[string]any{"deleted": float64(1)}, done["result"])
	s.as("ann", "GET", "/api/todo/1", "", http.StatusNotFound)
}

func TestOverviewIsWhatTheCallerSees(t *testing.T) {
	t.Parallel()
	s := mount(t, byName)
	o := s.as("ann", "GET", "/api/console/overview", "", http.StatusOK)
	var todo, step map[string]any
	for _, e := range o["entities"].([]any) {
		switch e := e.(map[string]any); e["name"] {
		case "Todo":
			todo = e
		case "Step":
			step = e
		}
		require.NotEqual(t, "Draft", e.(map[string]any)["name"], "it is not exposed")
	}
	require.Equal(t, "/api/todo", todo["path"])
	require.Equal(t, []any{map[string]any{"name": "todo", "target": "Todo", "many": false, "required": true}}, step["relationships"])
	for _, f := range todo["fields"].([]any) {
		if f := f.(map[string]any); f["name"] == "title" {
			require.Contains(t, f["operators"], "$icontains")
		}
	}
	_, text := s.do("GET", "/api/console/koan.d.ts", "", "Authorization", "Bearer ann")
	require.Contains(t, text, "interface Todo")
	checks := s.as("ann", "GET", "/api/console/checks", "", http.StatusOK)
	require.NotEmpty(t, checks["checks"])
	for _, l := range checks["limits"].([]any) {
		require.NotContains(t, l.(map[string]any)["key"], "secret")
	}
	require.Equal(t, "forbidden", s.as("guest", "GET", "/api/console/checks", "", http.StatusForbidden)["code"])
	for _, at := range []string{"overview", "koan.d.ts", "checks", "runs", "plans"} {
		require.Equal(t, "unauthorized", s.as("nobody", "GET", "/api/console/"+at, "", http.StatusUnauthorized)["code"], at)
		resp, _ := s.do("DELETE", "/api/console/"+at, "", "Authorization", "Bearer ann")
		require.Equal(t, http.StatusMethodNotAllowed, resp.StatusCode, at)
	}
}
