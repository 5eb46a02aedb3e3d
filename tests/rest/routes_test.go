package rest

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/pgtest"
)

type (
	person struct {
		Name string `json:"name"`
	}
	greeting struct {
		Text string `json:"text"`
	}
)

func greet(_ context.Context, _ framework.Call, in person) (greeting, error) {
	return greeting{"Hello " + in.Name}, nil
}

func TestEntityLife(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestEntityLife) {
		return
	}
	s := serve(t, fixtureApp(), framework.HTTPOptions{})
	made := s.do("POST", "/api/todo", `{"title":"Buy milk"}`)
	row := made.object(http.StatusCreated)
	at := made.header.Get("Location")
	require.Equal(t, "/api/todo/"+row["id"].(string), at)
	require.Equal(t, `"1"`, made.header.Get("ETag"))
	require.NotEmpty(t, made.header.Get("Koan-Run"))
	got := s.do("GET", at, "")
	require.Equal(t, row, got.object(http.StatusOK))
	require.Equal(t, `"1"`, got.header.Get("ETag"))
	require.Equal(t, "nosniff", got.header.Get("X-Content-Type-Options"))

	require.Equal(t, http.StatusNotModified, s.do("GET", at, "", "If-None-Match", `"0", W/"1"`).status)
	require.Equal(t, http.StatusNotModified, s.do("GET", at, "", "If-None-Match", `"a,b" ,, "1"`).status)
	require.Equal(t, http.StatusOK, s.do("GET", at, "", "If-Match", `"a,b", "1"`).status)
	head := s.do("HEAD", at, "")
	require.Equal(t, http.StatusOK, head.status)
	require.Empty(t, head.body)
	require.Equal(t, `"1"`, head.header.Get("ETag"))

	patched := s.do("PATCH", at, `{"notes":"two","completed":true}`, "Content-Type", "application/merge-patch+json", "If-Match", `"1"`)
	require.Equal(t, "two", patched.object(http.StatusOK)["notes"])
	require.Equal(t, `"2"`, patched.header.Get("ETag"))
	stale := s.do("PATCH", at, `{"notes":"three"}`, "If-Match", `"1"`)
	require.Equal(t, "fix", stale.object(http.StatusPreconditionFailed)["retry"], "the same request fails again")
	code, path := stale.problem(http.StatusPreconditionFailed)
	require.Equal(t, "conflict", code)
	require.Empty(t, path)

	replaced := s.do("PUT", at, `{"title":"Buy bread"}`, "If-Match", `"7", "2"`).object(http.StatusOK)
	require.Nil(t, replaced["notes"], "what is absent is reset")
	require.Equal(t, false, replaced["completed"])
	require.Equal(t, http.StatusPreconditionFailed, s.do("PUT", at, `{"title":"x"}`, "If-None-Match", "*").status)
	fresh := s.do("PUT", "/api/todo/a%2Fb%3Ac", `{"title":"By id"}`, "If-None-Match", "*")
	require.Equal(t, "a/b:c", fresh.object(http.StatusCreated)["id"])
	require.Equal(t, "/api/todo/a%2Fb:c", fresh.header.Get("Location"))
	require.Equal(t, "By id", s.do("GET", "/api/todo/a%2Fb%3Ac", "").object(http.StatusOK)["title"])

	require.Equal(t, http.StatusPreconditionFailed, s.do("DELETE", at, "", "If-Match", `"1"`).status)
	require.EqualValues(t, 1, s.do("DELETE", at, "").object(http.StatusOK)["deleted"])
	code, path = s.do("GET", at, "").problem(http.StatusNotFound)
	require.Equal(t, []string{"not_found", "/id"}, []string{code, path})
	require.EqualValues(t, 0, s.do("DELETE", at, "").object(http.StatusOK)["deleted"], "as the tool says")
	for method, body := range map[string]string{"PATCH": `{"notes":"x"}`, "PUT": `{"title":"x"}`, "DELETE": ""} {
		code, path := s.do(method, at, body, "If-Match", `"4"`).problem(http.StatusPreconditionFailed)
		require.Equal(t, []string{"conflict", ""}, []string{code, path}, method+" of an entity that is gone")
	}
}

// What the body says is a call's own, and its fault that of every other surface: 412 is for headers.
func TestConditionsInTheBody(t *testing.T) {
	t.Parallel()
	s := serve(t, fixtureApp(), framework.HTTPOptions{})
	s.do("PUT", "/api/todo/1", `{"title":"a"}`)
	for tool, body := range map[string]string{
		"todo.patch":        `{"id":"1","changes":{"title":"b"},"ifVersion":9}`,
		"todo.delete":       `{"id":"1","ifVersion":9}`,
		"koan.code.execute": `{"code":"SDK.Entities.Todo.patch('1', {title: 'b'}, {ifVersion: 9})"}`,
	} {
		got := s.do("POST", "/tools/"+tool, body).object(http.StatusConflict)["error"].(map[string]any)
		require.Equal(t, []any{"conflict", "/ifVersion", "fix"}, []any{got["code"], got["path"], got["retry"]}, tool)
	}
	stale := s.do("PATCH", "/api/todo/1", `{"title":"b"}`, "Content-Type", "application/merge-patch+json", "If-Match", `"9"`).object(http.StatusPreconditionFailed)
	require.Equal(t, []any{"conflict", "fix"}, []any{stale["code"], stale["retry"]}, "as the other faces say")
	gone := s.do("POST", "/tools/todo.upsert", `{"model":{"id":"none","title":"b"},"ifVersion":1}`).object(http.StatusConflict)["error"].(map[string]any)
	require.Equal(t, []any{"conflict", "/ifVersion", "fix"}, []any{gone["code"], gone["path"], gone["retry"]}, "none is at a version")
	long := s.do("POST", "/tools/koan.code.execute", `{"code":"1","idempotencyKey":"`+strings.Repeat("k", 201)+`"}`).object(http.StatusBadRequest)
	require.Equal(t, "/idempotencyKey", long["error"].(map[string]any)["path"])
}

// An entity without a version has a digest as its tag, which writes compare in their
// transaction.
func TestETagOfUnversioned(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestETagOfUnversioned) {
		return
	}
	s := serve(t, fixtureApp(), framework.HTTPOptions{})
	made := s.do("POST", "/api/label", `{"name":"urgent"}`)
	made.object(http.StatusCreated)
	at, tag := made.header.Get("Location"), made.header.Get("ETag")
	require.Regexp(t, `^"[\w-]{20}"$`, tag)
	require.Equal(t, tag, s.do("GET", at, "").header.Get("ETag"))
	require.Equal(t, http.StatusNotModified, s.do("GET", at, "", "If-None-Match", tag).status)
	second := s.do("PATCH", at, `{"name":"later"}`, "If-Match", tag)
	second.object(http.StatusOK)
	for _, c := range []struct{ method, body string }{{"PATCH", `{"name":"x"}`}, {"PUT", `{"name":"x"}`}, {"DELETE", ""}} {
		code, path := s.do(c.method, at, c.body, "If-Match", tag).problem(http.StatusPreconditionFailed)
		require.Equal(t, "conflict", code, c.method)
		require.Empty(t, path)
	}
	require.Equal(t, "later", s.do("GET", at, "").object(http.StatusOK)["name"])
	require.Equal(t, http.StatusPreconditionFailed, s.do("PATCH", "/api/label/99", `{"name":"x"}`, "If-Match", "*").status)
	require.EqualValues(t, 1, s.do("DELETE", at, "", "If-Match", second.header.Get("ETag")).object(http.StatusOK)["deleted"])
}

func TestIDThatCannotBeOne(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestIDThatCannotBeOne) {
		return
	}
	s := serve(t, fixtureApp(), framework.HTTPOptions{})
	for _, c := range []struct{ method, body string }{{"GET", ""}, {"PATCH", `{"name":"x"}`}, {"PUT", `{"name":"x"}`}, {"DELETE", ""}} {
		code, path := s.do(c.method, "/api/label/seven", c.body).problem(http.StatusNotFound)
		require.Equal(t, []string{"not_found", "/id"}, []string{code, path}, c.method)
	}
	_, path := s.do("PUT", "/api/label/424242", `{"name":"x"}`).problem(http.StatusNotFound)
	require.Equal(t, "/id", path, "the database makes such ids")
}

func TestCollectionParameters(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestCollectionParameters) {
		return
	}
	s := serve(t, fixtureApp(), framework.HTTPOptions{})
	for _, title := range []string{"a", "b", "c", "d"} {
		s.do("POST", "/api/todo", `{"title":"`+title+`"}`).object(http.StatusCreated)
	}
	get := func(q url.Values) reply { return s.do("GET", "/api/todo?"+q.Encode(), "") }
	page := get(url.Values{"filter": {`{"title":{"$in":["a","b","c"]}}`}, "sort": {"-title"}, "pageSize": {"2"}, "fields": {"id,title"}})
	got := page.object(http.StatusOK)
	require.EqualValues(t, 3, got["totalCount"])
	require.Equal(t, "c", got["items"].([]any)[0].(map[string]any)["title"])
	links := page.header.Get("Link")
	require.Contains(t, links, `rel="next"`)
	require.Contains(t, links, `page=2`)
	next := s.do("GET", strings.Trim(strings.Split(links, ";")[0], "<>"), "")
	require.Len(t, next.object(http.StatusOK)["items"], 1)
	require.NotContains(t, next.header.Get("Link"), `rel="next"`)
	require.Contains(t, next.header.Get("Link"), `rel="prev"`)
	byCursor := get(url.Values{"sort": {"-title"}, "pageSize": {"2"}, "cursor": {got["nextCursor"].(string)}, "filter": {`{"title":{"$in":["a","b","c"]}}`}, "fields": {"id,title"}})
	require.Equal(t, next.object(http.StatusOK)["items"], byCursor.object(http.StatusOK)["items"])
	require.NotContains(t, get(url.Values{"count": {"false"}}).object(http.StatusOK), "totalCount")
	for name, c := range map[string]struct{ query, path string }{
		"unknown":       {"pagesize=1", "/pagesize"},
		"twice":         {"sort=a&sort=b", "/sort"},
		"no number":     {"page=one", "/page"},
		"no filter":     {"filter=title", "/filter"},
		"wrong field":   {"filter=" + url.QueryEscape(`{"titel":"x"}`), "/filter/titel"},
		"broken escape": {"q=%zz", ""},
		"repeated name": {"filter=" + url.QueryEscape(`{"title":"x","title":"y"}`), "/filter/title"},
		"both":          {"page=2&cursor=x", ""},
	} {
		r := s.do("GET", "/api/todo?"+c.query, "")
		code, path := r.problem(http.StatusBadRequest)
		require.Equal(t, "invalid_payload", code, name)
		if c.path != "" {
			require.Equal(t, c.path, path, "%s: %s", name, r.body)
		}
	}
	for query, said := range map[string]string{
		`filter={"title":"a",}`: "the query parameter \"filter\" is not JSON: invalid character '}' looking for beginning of object key string at byte 14",
		`filter={title:"a"}`:    "\"filter\" is not JSON: invalid character 't' looking for beginning of object key string at byte 2",
		`filter={"title":"a"`:   "\"filter\" is not JSON: unexpected end of JSON input at byte 12",
		`filter={"title":"a"}}`: "\"filter\" is not JSON: invalid character '}' after top-level value at byte 14",
		`filter="title":"a"}`:   "\"filter\" is not JSON: invalid character ':' after top-level value at byte 8",
		`with={`:                "\"with\" is not JSON: unexpected end of JSON input at byte 1",
		`fields=["title"`:       "\"fields\" is not JSON: unexpected end of JSON input at byte 8",
		`sort=[title]`:          "\"sort\" is not JSON: invalid character 'i' in literal true (expecting 'r') at byte 3",
		`page=[`:                "\"page\" is not JSON: unexpected end of JSON input at byte 1",
	} {
		name, value, _ := strings.Cut(query, "=")
		r := get(url.Values{name: {value}})
		code, path := r.problem(http.StatusBadRequest)
		require.Equal(t, []string{"invalid_payload", "/" + name}, []string{code, path}, query)
		require.Contains(t, r.object(http.StatusBadRequest)["message"], said, query)
		require.Contains(t, r.object(http.StatusBadRequest)["hint"], "encode", query)
	}
	require.EqualValues(t, "unknown_set", s.do("GET", "/api/todo?set=nowhere", "").object(http.StatusNotFound)["code"])
	require.Equal(t, http.StatusCreated, s.do("POST", "/api/todo?set=tenant-a", `{"title":"there"}`).status)
	require.EqualValues(t, 1, s.do("GET", "/api/todo?set=tenant-a&count=true", "").object(http.StatusOK)["totalCount"])
}

func TestFaultsOfRequests(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestFaultsOfRequests) {
		return
	}
	s := serve(t, fixtureApp(), framework.HTTPOptions{}, koantest.Setting{Key: "server.maxBufferBytes", Value: "5000"})
	for name, c := range map[string]struct {
		method, path, body string
		header             []string
		status             int
		code, at           string
	}{
		"form":               {"POST", "/api/todo", "title=x", []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, "invalid_request", ""},
		"text":               {"POST", "/api/todo", `{"title":"x"}`, []string{"Content-Type", "text/plain"}, 415, "invalid_request", ""},
		"no content type":    {"POST", "/api/todo:query", ``, nil, 415, "invalid_request", ""},
		"too large":          {"POST", "/api/todo", `{"title":"` + strings.Repeat("x", 5000) + `"}`, nil, 413, "invalid_request", ""},
		"not JSON":           {"POST", "/api/todo", `{"title":`, nil, 400, "parse_error", ""},
		"no object":          {"POST", "/api/todo", `[1]`, nil, 400, "invalid_payload", ""},
		"name twice":         {"POST", "/api/todo", `{"title":"a","title":"b"}`, nil, 400, "invalid_payload", "/title"},
		"unknown field":      {"POST", "/api/todo", `{"titel":"a"}`, nil, 400, "invalid_payload", "/titel"},
		"field of a patch":   {"PATCH", "/api/todo/1", `{"priority":"huge"}`, nil, 400, "invalid_payload", "/priority"},
		"field of a put":     {"PUT", "/api/todo/1", `{"title":""}`, nil, 400, "invalid_payload", "/title"},
		"other id":           {"PUT", "/api/todo/1", `{"id":"2","title":"x"}`, nil, 400, "invalid_payload", "/id"},
		"query's input":      {"POST", "/api/todo:query", `{"filter":{"titel":1}}`, nil, 400, "invalid_payload", "/filter/titel"},
		"parameter of query": {"POST", "/api/todo:query?page=1", `{}`, nil, 400, "invalid_payload", "/page"},
		"unique":             {"POST", "/api/label", `{"name":"taken"}`, nil, 409, "conflict", "/name"},
		"unknown entity":     {"GET", "/api/todos", ``, nil, 404, "tool_not_found", ""},
		"unknown suffix":     {"POST", "/api/todo:quary", `{}`, nil, 404, "tool_not_found", ""},
		"unknown path":       {"GET", "/api/todo/1/steps", ``, nil, 404, "not_found", ""},
		"slash at the end":   {"GET", "/api/todo/", ``, nil, 404, "not_found", ""},
		"encoded dots":       {"GET", "/api/todo/%2e%2e/1", ``, nil, 404, "not_found", ""},
		"method":             {"DELETE", "/api/todo", ``, nil, 405, "invalid_request", ""},
		"method of suffix":   {"GET", "/api/todo:query", ``, nil, 405, "invalid_request", ""},
		"read-only":          {"POST", "/api/audit-log", `{"message":"x"}`, nil, 405, "read_only", ""},
		"read-only item":     {"DELETE", "/api/audit-log/1", ``, nil, 405, "read_only", ""},
		"read-only suffix":   {"POST", "/api/audit-log:delete-many", `{"ids":[]}`, nil, 405, "read_only", ""},
		"weak key":           {"POST", "/api/todo", `{"title":"a"}`, []string{"Idempotency-Key", strings.Repeat("k", 201)}, 400, "invalid_payload", ""},
		"key of a read":      {"GET", "/api/todo", ``, []string{"Idempotency-Key", "k"}, 400, "invalid_payload", ""},
		"empty match":        {"PATCH", "/api/todo/1", `{"title":"a"}`, []string{"If-Match", ""}, 400, "invalid_request", ""},
		"match no tag":       {"PATCH", "/api/todo/1", `{"title":"a"}`, []string{"If-Match", `1`}, 400, "invalid_request", ""},
		"match all and one":  {"DELETE", "/api/todo/1", ``, []string{"If-Match", `*, "1"`}, 400, "invalid_request", ""},
		"match unclosed":     {"DELETE", "/api/todo/1", ``, []string{"If-Match", `"1", "2`}, 400, "invalid_request", ""},
		"weak match":         {"PATCH", "/api/todo/1", `{"title":"a"}`, []string{"If-Match", `W/"1"`}, 412, "conflict", ""},
		"match of a read":    {"GET", "/api/todo/1", ``, []string{"If-Match", `"0"`}, 412, "conflict", ""},
		"match of a query":   {"POST", "/api/todo:delete-many", `{"ids":[]}`, []string{"If-Match", `"1"`}, 400, "invalid_request", ""},
		"id in no UTF-8":     {"PUT", "/api/todo/%ff", `{"title":"a"}`, nil, 404, "not_found", "/id"},
		"text in no UTF-8":   {"GET", "/api/todo?q=%ff", ``, nil, 400, "invalid_payload", "/q"},
		"match of a create":  {"POST", "/api/todo", `{"title":"a"}`, []string{"If-Match", `"1"`}, 400, "invalid_request", ""},
		"no more than /api":  {"GET", "/api", "", nil, 404, "not_found", ""},
		"or than /tools":     {"POST", "/tools", `{}`, nil, 404, "not_found", ""},
		"unknown tool":       {"POST", "/api/actions/gret", `{}`, nil, 404, "tool_not_found", ""},
		"action's input":     {"POST", "/api/actions/greet", `{"name":1}`, nil, 400, "invalid_payload", "/name"},
		"unknown plugin":     {"POST", "/api/plugins/vision/detect", `{}`, nil, 404, "tool_not_found", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := *s
			s.t = t
			if name == "unique" {
				s.do("POST", "/api/label", c.body).object(http.StatusCreated)
			}
			r := s.do(c.method, c.path, c.body, c.header...)
			code, at := r.problem(c.status)
			require.Equal(t, c.code, code, "%s", r.body)
			require.Equal(t, c.at, at, "%s", r.body)
			if c.status == http.StatusMethodNotAllowed {
				require.NotEmpty(t, r.header.Get("Allow"))
			}
		})
	}
	options := s.do("OPTIONS", "/api/todo/1", "")
	require.Equal(t, http.StatusNoContent, options.status)
	require.Equal(t, "GET, HEAD, PUT, PATCH, DELETE, OPTIONS", options.header.Get("Allow"))
	require.Equal(t, "GET, HEAD, OPTIONS", s.do("OPTIONS", "/api/audit-log", "").header.Get("Allow"))
}

func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestIdempotencyKey) {
		return
	}
	s := serve(t, fixtureApp(), framework.HTTPOptions{})
	first := s.do("POST", "/api/todo", `{"title":"once"}`, "Idempotency-Key", "a")
	again := s.do("POST", "/api/todo", `{"title":"once"}`, "Idempotency-Key", "a")
	require.Equal(t, first.object(http.StatusCreated), again.object(http.StatusCreated))
	require.Equal(t, first.header.Get("Location"), again.header.Get("Location"))
	require.Equal(t, first.header.Get("Koan-Run"), again.header.Get("Koan-Run"))
	code, _ := s.do("POST", "/api/todo", `{"title":"other"}`, "Idempotency-Key", "a").problem(http.StatusConflict)
	require.Equal(t, "conflict", code)
	require.EqualValues(t, 1, s.do("POST", "/api/todo:count", `{"filter":{"title":"once"}}`).object(http.StatusOK)["count"])
	at := first.header.Get("Location")
	for range 2 {
		require.EqualValues(t, 1, s.do("DELETE", at, "", "Idempotency-Key", "b").object(http.StatusOK)["deleted"], "what the first one returned")
	}
	for range 2 {
		r := s.do("POST", "/api/actions/greet", `{"name":"Ann"}`, "Idempotency-Key", "c")
		require.Equal(t, `{"text":"Hello Ann"}`, string(r.body))
	}
}

func TestToolsEnvelope(t *testing.T) {
	t.Parallel()
	s := serve(t, fixtureApp(), framework.HTTPOptions{})
	ok := s.do("POST", "/tools/todo.count", `{}`).object(http.StatusOK)
	require.Equal(t, true, ok["ok"])
	require.EqualValues(t, 1, ok["result"].(map[string]any)["count"])
	meta := ok["_meta"].(map[string]any)
	for _, member := range []string{"schemaVersion", "toolVersion", "ts", "runId"} {
		require.NotEmpty(t, meta[member], member)
	}
	require.Equal(t, "Hello Ann", s.do("POST", "/tools/greet", `{"name":"Ann"}`).object(http.StatusOK)["result"].(map[string]any)["text"])
	require.Equal(t, "1", s.do("POST", "/tools/todo_get-by-id", `{"id":"1"}`).object(http.StatusOK)["result"].(map[string]any)["id"], "in either spelling")
	for _, c := range []struct {
		path, body string
		status     int
		code       string
	}{
		{"/tools/todo.count", `{"filter":{"titel":1}}`, 400, "invalid_payload"},
		{"/tools/todo.cuont", `{}`, 404, "tool_not_found"},
		{"/tools/todo.get-by-id", `{"id":"2"}`, 404, "not_found"},
		{"/tools/koan.code.execute", `{"code":"SDK.Out.info('x'); throw new Error('no')"}`, 422, "javascript_error"},
	} {
		got := s.do("POST", c.path, c.body).object(c.status)
		require.Equal(t, false, got["ok"], c.path)
		require.Equal(t, c.code, got["error"].(map[string]any)["code"])
		require.NotEmpty(t, got["_meta"])
		if c.status == 422 {
			require.Equal(t, false, got["result"].(map[string]any)["committed"])
			require.Len(t, got["result"].(map[string]any)["logs"], 1)
		}
	}
	stream := s.do("POST", "/tools/koan.code.execute", `{"code":"SDK.Out.progress(1,2,'half'); 7"}`, "Accept", "text/event-stream")
	require.Equal(t, "text/event-stream", stream.header.Get("Content-Type"))
	require.Equal(t, []string{"start", "progress", "result", "done"}, eventNames(string(stream.body)))
	require.Equal(t, "application/json", s.do("POST", "/tools/todo.count", `{}`, "Accept", "application/json, text/event-stream;q=0").header.Get("Content-Type"))
	failed := s.do("POST", "/tools/todo.get-by-id", `{"id":"2"}`, "Accept", "text/event-stream")
	require.Equal(t, []string{"start", "error", "done"}, eventNames(string(failed.body)))
	require.Equal(t, []string{"start", "result", "done"}, eventNames(string(s.do("GET", "/status/stream", "").body)))
	require.Equal(t, true, s.do("GET", "/status", "").object(http.StatusOK)["result"].(map[string]any)["status"].(map[string]any)["ready"])
	require.Contains(t, s.do("GET", "/health", "").object(http.StatusOK)["result"], "uptimeMs")
}

func eventNames(text string) (names []string) {
	for _, line := range strings.Split(text, "\n") {
		if name, ok := strings.CutPrefix(line, "event: "); ok {
			names = append(names, name)
		}
	}
	return names
}
