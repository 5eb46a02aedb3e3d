package events

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/fixture"
	"github.com/koan-go/koan/tests/pgtest"
)

// Whatever commits is there: REST, tools, scripts with several rows and undo; what does not
// commit is not.
func TestChangesOfAllSurfaces(t *testing.T) {
	if pgtest.ForEach(t, TestChangesOfAllSurfaces) {
		return
	}
	t.Parallel()
	s := serve(t, fixture.App(), framework.HTTPOptions{})
	f := s.follow(nil)
	s.do(http.StatusCreated, "POST", "/api/todo", `{"id":"a","title":"Milk","secret":"s3cret","dueDate":"2026-01-02T03:04:05.678Z","tags":["x"],"effort":1.5,"completed":true}`)
	created := f.next()

	require.Equal(t, "create Todo default/a", created.brief())
	require.Nil(t, created.data["before"])
	require.Contains(t, created.data, "before")
	row := s.do(http.StatusOK, "GET", "/api/todo/a", "")
	require.Equal(t, row, created.data["after"], "as it is read")
	require.NotContains(t, fmt.Sprint(created.data), "s3cret")

	s.do(http.StatusOK, "PATCH", "/api/todo/a", `{"title":"Oat milk","notes":null}`)
	updated := f.next()
	require.Equal(t, "update Todo default/a", updated.brief())
	require.Equal(t, row, updated.data["before"])
	require.Equal(t, s.do(http.StatusOK, "GET", "/api/todo/a", ""), updated.data["after"])

	s.do(http.StatusOK, "POST", "/tools/todo.delete", `{"id":"a"}`)
	deleted := f.next()
	require.Equal(t, "delete Todo default/a", deleted.brief())
	require.Equal(t, updated.data["after"], deleted.data["before"])
	require.Nil(t, deleted.data["after"])

	// A dry run and a failed one leave nothing.
	s.kit.Run(`SDK.Entities.Todo.upsert({title: "no"})`, koantest.Input{DryRun: true})
	s.kit.Try(`SDK.Entities.Todo.upsert({title: "no"}); throw new Error("no")`, koantest.Input{})
	ran := s.kit.Run(`for (const id of ["b", "c"]) SDK.Entities.Todo.upsert({id, title: id});
		SDK.Entities.Todo.patch("b", {title: "B"}); SDK.Entities.Todo.upsert({id: "d", title: "d"}); SDK.Entities.Todo.delete("d")`, koantest.Input{})
	first, second := f.next(), f.next()
	require.Equal(t, []string{"create Todo default/b", "create Todo default/c"}, []string{first.brief(), second.brief()}, "one change for each row")
	require.Equal(t, "B", first.data["after"].(map[string]any)["title"])
	require.Equal(t, ran.RunID, first.data["runId"])
	s.do(http.StatusOK, "POST", "/tools/koan.code.undo", fmt.Sprintf(`{"runId":%q}`, ran.RunID))
	require.ElementsMatch(t, []string{"delete Todo default/b", "delete Todo default/c"}, f.briefs(2))
}

// A stream goes on behind any event, in the middle of a commit too.
func TestResumeBehindEachEvent(t *testing.T) {
	if pgtest.ForEach(t, TestResumeBehindEachEvent) {
		return
	}
	t.Parallel()
	s := serve(t, fixture.App(), framework.HTTPOptions{})
	f := s.follow(nil)
	start := f.lastID()
	s.kit.Run(`for (let i = 0; i < 3; i++) SDK.Entities.Todo.upsert({id: "x" + i, title: "x"})`, koantest.Input{})
	s.do(http.StatusOK, "PATCH", "/api/todo/x1", `{"title":"y"}`)
	s.do(http.StatusOK, "DELETE", "/api/todo/x0", "")
	var all []event
	for range 5 {
		all = append(all, f.next())
	}
	f.stop()
	ids := []string{start}
	for _, e := range all {
		ids = append(ids, e.id)
	}
	for n, id := range ids[:5] {
		again := s.follow(nil, "Last-Event-ID", id)
		byQuery := s.follow(url.Values{"lastEventId": {id}})
		for _, e := range all[n:] {
			for _, f := range []*follower{again, byQuery} {
				got := f.next()
				require.Equal(t, e.data, got.data, "behind %s", id)
				require.Equal(t, e.id, got.id)
			}
		}
		again.stop()
		byQuery.stop()
	}
	// The header is the newer one where both are there.
	f = s.follow(url.Values{"lastEventId": {start}}, "Last-Event-ID", ids[4])
	require.Equal(t, all[4].data, f.next().data)
}

func TestFilters(t *testing.T) {
	t.Parallel()
	s := serve(t, fixture.App(), framework.HTTPOptions{})
	all, todos := s.follow(nil), s.follow(url.Values{"entity": {"Todo"}})
	archive, both := s.follow(url.Values{"set": {"archive"}}), s.follow(url.Values{"set": {"archive,default"}, "entity": {"todo,Person"}})
	s.do(http.StatusCreated, "POST", "/api/label", `{"name":"red"}`)
	s.do(http.StatusCreated, "POST", "/api/todo", `{"id":"a","title":"a"}`)
	s.do(http.StatusCreated, "POST", "/api/todo?set=archive", `{"id":"b","title":"b"}`)
	// Sets are databases of their own, and their changes come in no order among each other.
	require.ElementsMatch(t, []string{"create Label default/1", "create Todo default/a", "create Todo archive/b"}, all.briefs(3))
	require.ElementsMatch(t, []string{"create Todo default/a", "create Todo archive/b"}, todos.briefs(2))
	require.Equal(t, []string{"create Todo archive/b"}, archive.briefs(1))
	require.ElementsMatch(t, []string{"create Todo default/a", "create Todo archive/b"}, both.briefs(2))
}

func TestWrongRequests(t *testing.T) {
	t.Parallel()
	s := serve(t, fixture.App(), framework.HTTPOptions{})
	f := s.follow(url.Values{"set": {"default"}})
	s.do(http.StatusCreated, "POST", "/api/todo", `{"id":"a","title":"a"}`)
	of := f.next().id
	for name, c := range map[string]struct {
		query, id  string
		status     int
		code, path string
	}{
		"entity":          {"entity=Tood", "", 400, "invalid_payload", "/entity"},
		"no entity":       {"entity=", "", 400, "invalid_payload", "/entity"},
		"set":             {"set=nowhere", "", 404, "unknown_set", "/set"},
		"no set":          {"set=", "", 404, "unknown_set", "/set"},
		"parameter":       {"sets=default", "", 400, "invalid_payload", "/sets"},
		"twice":           {"set=default&set=default", "", 400, "invalid_payload", "/set"},
		"id":              {"", "17", 400, "invalid_payload", "/lastEventId"},
		"id of one set":   {"", of, 400, "invalid_payload", "/lastEventId"},
		"id of other set": {"set=archive", of, 400, "invalid_payload", "/lastEventId"},
		"id of nothing":   {"set=default", "default:99:0123abcd", 410, "not_found", "/lastEventId"},
		"other history":   {"set=default", "default:1:00000000", 410, "not_found", "/lastEventId"},
		"changed id":      {"set=default", of[:len(of)-8] + "00000000", 400, "invalid_payload", "/lastEventId"},
	} {
		var header []string
		if c.id != "" {
			header = []string{"Last-Event-ID", c.id}
		}
		p := s.do(c.status, "GET", "/api/events?"+c.query, "", header...)
		require.Equal(t, []any{c.code, c.path}, []any{p["code"], p["path"]}, name)
		require.NotEmpty(t, p["hint"], name)
	}
	s.do(http.StatusMethodNotAllowed, "POST", "/api/events", `{}`)
	got, err := s.try("HEAD", "/api/events", "")
	require.NoError(t, err)
	require.Equal(t, "text/event-stream", got.header.Get("Content-Type"))
}
