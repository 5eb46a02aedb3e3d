package rest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/fixture/ent"
	"github.com/koan-go/koan/tests/pgtest"
)

// seededApp has sets of tenants that begin with rows whose ids, times and order are others
// whenever they are made.
func seededApp() framework.App {
	app := fixtureApp()
	app.Entities = ent.Entities(ent.OnCreateSet(func(ctx context.Context, _ string, c *ent.Client) error {
		for _, n := range []string{"a", "b", "c", "d", "e"} {
			who, err := c.Person.Create().SetName(n).SetEmail(uuid.NewString()).Save(ctx)
			if err != nil {
				return err
			}
			label, err := c.Label.Create().SetName(uuid.NewString()).Save(ctx)
			if err != nil {
				return err
			}
			if err := c.Todo.Create().SetTitle(n + uuid.NewString()).SetAssignedUser(who).AddLabels(label).Exec(ctx); err != nil {
				return err
			}
		}
		return nil
	}))
	return app
}

// events follows the changes of a set.
func (s *server) events(set string) <-chan map[string]any {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), "GET", s.url+"/api/events?set="+set, nil)
	require.NoError(s.t, err)
	r.Header.Set("Authorization", "Bearer boss")
	resp, err := http.DefaultClient.Do(r)
	require.NoError(s.t, err)
	require.Equal(s.t, http.StatusOK, resp.StatusCode)
	s.t.Cleanup(func() { resp.Body.Close() })
	out := make(chan map[string]any, 100)
	go func() {
		lines := bufio.NewScanner(resp.Body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				var one map[string]any
				if json.Unmarshal([]byte(data), &one) == nil {
					out <- one
				}
			}
		}
	}()
	return out
}

// next is the next change that is reported.
func next(t *testing.T, events <-chan map[string]any) map[string]any {
	t.Helper()
	select {
	case e := <-events:
		return e
	case <-time.After(20 * time.Second):
		require.FailNow(t, "no event came")
		return nil
	}
}

// Whatever a caller has in his hands of a set that does not exist yet goes on to hold when
// somebody creates it: ids, entity tags, cursors, plans, and the stream of its changes.
func TestWhatWasReadHoldsWhenItsSetIsCreated(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestWhatWasReadHoldsWhenItsSetIsCreated) {
		return
	}
	who := bySubject(auth.Principal{Subject: "boss", Scopes: []string{auth.All, "koan:approve"}, Sets: []string{auth.All}})
	s := serve(t, seededApp(), framework.HTTPOptions{Authenticate: who}, koantest.Setting{Key: "approval.mode", Value: "destructive"}, koantest.Setting{Key: "journal.enabled", Value: "true"})
	do := func(method, path, body string, header ...string) reply {
		return s.do(method, path, body, append([]string{"Authorization", "Bearer boss"}, header...)...)
	}
	const in = "?set=tenant-1"
	list := func(more string) ([]map[string]any, string) {
		var page struct {
			Items      []map[string]any
			NextCursor string
		}
		got := do("GET", "/api/todo"+in+"&sort=title&with=labels,assignedUser&pageSize=2"+more, "")
		require.Equal(t, http.StatusOK, got.status, "%s", got.body)
		require.NoError(t, json.Unmarshal(got.body, &page))
		return page.Items, page.NextCursor
	}
	first, cursor := list("")
	require.Len(t, first, 2)
	second, _ := list("&cursor=" + url.QueryEscape(cursor))
	label := first[0]["labels"].([]any)[0].(map[string]any)["id"].(string)
	labelAt, personAt := "/api/label/"+label+in, "/api/person/"+first[1]["assignedUserId"].(string)+in
	labelTag, personTag := do("GET", labelAt, "").header.Get("ETag"), do("GET", personAt, "").header.Get("ETag")
	require.NotEmpty(t, labelTag)
	events := s.events("tenant-1")

	plan := func(id any) string {
		refused := do("POST", "/tools/koan.code.execute", fmt.Sprintf(`{"set":"tenant-1","code":"return SDK.Entities.Todo.delete('%s')"}`, id))
		var out struct {
			Error struct{ Details map[string]any }
		}
		require.NoError(t, json.Unmarshal(refused.body, &out))
		require.NotNil(t, out.Error.Details["planId"], "%s", refused.body)
		return out.Error.Details["planId"].(string)
	}
	kept := plan(second[0]["id"])
	creating := plan(second[1]["id"])

	// A plan that was made of rows of no set creates it.
	applied := do("POST", "/tools/koan.code.execute", `{"planId":"`+creating+`"}`).object(http.StatusOK)
	e := next(t, events)
	require.Equal(t, []any{"delete", second[1]["id"]}, []any{e["action"], e["id"]})

	// The set exists.
	again, _ := list("")
	require.Equal(t, first, again)
	again, _ = list("&cursor=" + url.QueryEscape(cursor))
	require.Equal(t, second[0], again[0], "the cursor goes on where the page ended")
	require.Equal(t, http.StatusNotModified, do("GET", labelAt, "", "If-None-Match", labelTag).status)
	require.Equal(t, http.StatusNotModified, do("GET", personAt, "", "If-None-Match", personTag).status)
	do("PATCH", labelAt, `{"name":"renamed"}`, "If-Match", labelTag).object(http.StatusOK)
	e = next(t, events)
	require.Equal(t, []any{"Label", "update", label}, []any{e["entity"], e["action"], e["id"]})
	require.NotEqual(t, label, do("POST", "/api/label"+in, `{"name":"new"}`).object(http.StatusCreated)["id"], "the database counts on behind the rows that were read")
	next(t, events)
	do("PATCH", "/api/todo/"+first[0]["id"].(string)+in, `{"notes":"n"}`, "If-Match", `"1"`).object(http.StatusOK)
	next(t, events)
	do("POST", "/tools/koan.code.execute", `{"planId":"`+kept+`"}`).object(http.StatusOK)
	e = next(t, events)
	require.Equal(t, []any{"delete", second[0]["id"]}, []any{e["action"], e["id"]})

	// The run that created the set is undone like any other: the set and what it begins with stay.
	undone := do("POST", "/tools/koan.code.undo", fmt.Sprintf(`{"runId":%q}`, applied["result"].(map[string]any)["runId"])).object(http.StatusOK)
	require.Equal(t, true, undone["ok"], "%v", undone)
	e = next(t, events)
	require.Equal(t, []any{"create", second[1]["id"]}, []any{e["action"], e["id"]})
	back := do("GET", "/api/todo/"+second[1]["id"].(string)+in+"&with=labels,assignedUser", "").object(http.StatusOK)
	second[1]["version"] = 2.0 // versions count on
	require.Equal(t, second[1], back)
}
