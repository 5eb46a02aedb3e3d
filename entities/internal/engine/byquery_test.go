package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	stdent "entgo.io/ent"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/tests/fixture/ent"
)

// todos stores todos t0, t1, ... of alternating priorities.
func todos(a *app, n int) {
	a.Helper()
	for from := 0; from < n; from += 1000 {
		var models []map[string]any
		for i := from; i < min(from+1000, n); i++ {
			models = append(models, map[string]any{"id": fmt.Sprintf("t%04d", i), "title": fmt.Sprintf("Todo %d", i), "priority": []string{"low", "high"}[i%2]})
		}
		a.call("Todo.upsert-many", string(encode(a, map[string]any{"models": models})))
	}
}

func TestUpdatesByQuery(t *testing.T) {
	t.Parallel()
	if forEach(t, TestUpdatesByQuery) {
		return
	}
	a := start(t, ent.Entities())
	todos(a, 6)
	a.call("Person.upsert", `{"model":{"id":"ann","name":"Ann","email":"a"}}`)
	a.call("Label.upsert", `{"model":{"name":"home"}}`)

	require.EqualValues(t, 3, a.call("Todo.update-by-query", `{"filter":{"priority":"high"},"changes":{"completed":true,"notes":null,"assignedUser":"ann","labels":{"$add":[1]}}}`)["updated"])
	require.EqualValues(t, 3, a.call("Todo.count", `{"filter":{"completed":true,"assignedUser":{"name":"Ann"},"labels":{"$some":{"name":"home"}}}}`)["count"])
	require.EqualValues(t, 2, a.call("Todo.get-by-id", `{"id":"t0001"}`)["version"], "versions count up")
	require.EqualValues(t, 1, a.call("Todo.get-by-id", `{"id":"t0000"}`)["version"])

	require.EqualValues(t, 3, a.call("Todo.update-by-query", `{"filter":{"priority":"high"},"changes":{"priority":"low"}}`)["updated"], "a change may end the match")
	require.EqualValues(t, 0, a.call("Todo.update-by-query", `{"filter":{"priority":"high"},"changes":{"priority":"low"}}`)["updated"])
	require.EqualValues(t, 6, a.call("Todo.update-by-query", `{"filter":{},"all":true,"changes":{"priority":"high"}}`)["updated"], "{} is every one")
	require.EqualValues(t, 0, a.call("Todo.update-by-query", `{"filter":{},"all":true,"changes":{"priority":"high"},"set":"archive"}`)["updated"], "sets are separate")
}

func TestDeletesByQuery(t *testing.T) {
	t.Parallel()
	if forEach(t, TestDeletesByQuery) {
		return
	}
	a := start(t, ent.Entities())
	todos(a, 4)
	a.call("Step.upsert-many", `{"models":[{"id":"s1","text":"1","todo":"t0000"},{"id":"s2","text":"2","todo":"t0001"}]}`)
	raw, out, err := a.try("Todo.delete-by-query", `{"filter":{"priority":"low"}}`)
	require.NoError(t, err)
	require.JSONEq(t, `{"deleted":2}`, string(raw))
	require.ElementsMatch(t, []string{"delete Todo t0000", "delete Step s1", "delete Todo t0002"}, said(out.Changes), "cascades are among the changes")
	require.EqualValues(t, 1, a.call("Step.delete-by-query", `{"filter":{"todo":{"title":"Todo 1"}}}`)["deleted"])
	require.EqualValues(t, 2, a.call("Todo.delete-by-query", `{"filter":{},"all":true}`)["deleted"])
	require.EqualValues(t, 0, a.call("Todo.delete-by-query", `{"filter":{},"all":true}`)["deleted"])
}

func TestNothingBeyondMaxAffected(t *testing.T) {
	t.Parallel()
	if forEach(t, TestNothingBeyondMaxAffected) {
		return
	}
	a := start(t, ent.Entities())
	todos(a, 1001)
	for _, c := range []struct {
		op, input    string
		matched, max int
	}{
		{"Todo.update-by-query", `{"filter":{"priority":"low"},"changes":{"title":"x"},"maxAffected":500}`, 501, 500},
		{"Todo.update-by-query", `{"filter":{"id":{"$ne":"none"}},"changes":{"title":"x"}}`, 1001, 1000},
		{"Todo.delete-by-query", `{"filter":{"title":{"$ne":"x"}},"maxAffected":1}`, 1001, 1},
		{"Todo.delete-by-query", `{"filter":{"id":{"$ne":"none"}}}`, 1001, 1000},
	} {
		f := a.fails(fault.InvalidPayload, c.op, c.input)
		require.Equal(t, "/maxAffected", f.Path)
		require.Equal(t, fault.Fix, f.Retry)
		require.Equal(t, map[string]any{"matched": c.matched, "maxAffected": c.max}, f.Details)
	}
	require.EqualValues(t, 1001, a.call("Todo.count", `{"filter":{"title":{"$ne":"x"}}}`)["count"])
	require.EqualValues(t, 501, a.call("Todo.update-by-query", `{"filter":{"priority":"low"},"changes":{"title":"x"},"maxAffected":501}`)["updated"])
	require.EqualValues(t, 1001, a.call("Todo.delete-by-query", `{"filter":{},"maxAffected":1001}`)["deleted"])
}

func TestRefusesBadQueries(t *testing.T) {
	t.Parallel()
	if forEach(t, TestRefusesBadQueries) {
		return
	}
	a := start(t, ent.Entities())
	todos(a, 2)
	a.call("Person.upsert-many", `{"models":[{"id":"ann","name":"Ann","email":"a"},{"id":"bob","name":"Bob","email":"b"}]}`)
	for _, c := range []struct {
		name, op, input string
		code            fault.Code
		path, says      string
	}{
		{"no filter", "Todo.update-by-query", `{"changes":{"title":"x"}}`, fault.InvalidPayload, "/filter", "{} with all: true matches every Todo"},
		{"no filter to delete", "Todo.delete-by-query", `{}`, fault.InvalidPayload, "/filter", "{} with all: true matches every Todo"},
		{"null is no filter", "Todo.delete-by-query", `{"filter":null}`, fault.InvalidPayload, "/filter", "object"},
		{"unknown field", "Todo.delete-by-query", `{"filter":{"titel":"x"}}`, fault.InvalidPayload, "/filter/titel", `did you mean "title"`},
		{"filter of a secret", "Todo.delete-by-query", `{"filter":{"secret":"x"}}`, fault.InvalidPayload, "/filter/secret", "unknown field"},
		{"no condition", "Todo.update-by-query", `{"filter":{},"changes":{"title":"x"}}`, fault.InvalidPayload, "/filter", "all: true"},
		{"no condition to delete", "Todo.delete-by-query", `{"filter":{}}`, fault.InvalidPayload, "/filter", "all: true"},
		{"all false", "Todo.delete-by-query", `{"filter":{},"all":false}`, fault.InvalidPayload, "/filter", "all: true"},
		{"all of another kind", "Todo.delete-by-query", `{"filter":{},"all":"yes"}`, fault.InvalidPayload, "/all", "true or false"},
		{"not in an empty list", "Todo.delete-by-query", `{"filter":{"id":{"$nin":[]}}}`, fault.InvalidPayload, "/filter", "no condition"},
		{"an empty text", "Todo.delete-by-query", `{"filter":{"title":{"$contains":""}}}`, fault.InvalidPayload, "/filter", "no condition"},
		{"empty groups", "Todo.delete-by-query", `{"filter":{"$and":[{},{"$or":[{"title":"x"},{}]}]}}`, fault.InvalidPayload, "/filter", "no condition"},
		{"every one of none", "Person.delete-by-query", `{"filter":{"todos":{"$every":{}}}}`, fault.InvalidPayload, "/filter", "no condition"},
		{"no changes", "Todo.update-by-query", `{"filter":{},"all":true}`, fault.InvalidPayload, "/changes", "required"},
		{"nothing to change", "Todo.update-by-query", `{"filter":{},"all":true,"changes":{}}`, fault.InvalidPayload, "/changes", "nothing to change"},
		{"only what the system keeps", "Todo.update-by-query", `{"filter":{},"all":true,"changes":{"createdAt":"2026-01-01T00:00:00Z"}}`, fault.InvalidPayload, "/changes/createdAt", "createdAt is read-only"},
		{"changes of the id", "Todo.update-by-query", `{"filter":{},"all":true,"changes":{"id":"x"}}`, fault.InvalidPayload, "/changes/id", "cannot be changed"},
		{"unknown change", "Todo.update-by-query", `{"filter":{},"all":true,"changes":{"priorty":"low"}}`, fault.InvalidPayload, "/changes/priorty", `did you mean "priority"`},
		{"limit of a field", "Todo.update-by-query", `{"filter":{},"all":true,"changes":{"title":""}}`, fault.InvalidPayload, "/changes/title", "at least 1"},
		{"changes when deleting", "Todo.delete-by-query", `{"filter":{},"all":true,"changes":{}}`, fault.InvalidPayload, "/changes", "unknown input"},
		{"maxAffected 0", "Todo.delete-by-query", `{"filter":{},"maxAffected":0}`, fault.InvalidPayload, "/maxAffected", "from 1 to 100000"},
		{"maxAffected too large", "Todo.delete-by-query", `{"filter":{},"maxAffected":100001}`, fault.InvalidPayload, "/maxAffected", "from 1 to 100000"},
		{"maxAffected of text", "Todo.delete-by-query", `{"filter":{},"maxAffected":"5"}`, fault.InvalidPayload, "/maxAffected", "integer"},
		{"reference to nothing", "Todo.update-by-query", `{"filter":{},"all":true,"changes":{"assignedUserId":"nobody"}}`, fault.InvalidPayload, "/changes/assignedUserId", "no Person"},
		{"unique", "Person.update-by-query", `{"filter":{},"all":true,"changes":{"email":"same"}}`, fault.Conflict, "/changes/email", `Person "bob": another Person already has this email`},
		{"app's own rule", "Person.update-by-query", `{"filter":{},"all":true,"changes":{"name":"root"}}`, fault.InvalidPayload, "/changes", "nobody is called root"},
		{"unknown set", "Todo.delete-by-query", `{"filter":{},"all":true,"set":"archiv"}`, fault.UnknownSet, "/set", `did you mean "archive"`},
		{"read-only", "AuditLog.delete-by-query", `{"filter":{},"all":true}`, fault.ToolNotFound, "", ""},
		{"read-only update", "AuditLog.update-by-query", `{"filter":{},"all":true,"changes":{"message":"x"}}`, fault.ToolNotFound, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := *a
			a.TB = t
			f := a.fails(c.code, c.op, c.input)
			require.Equal(t, c.path, f.Path, f.Error())
			require.Contains(t, f.Message, c.says)
		})
	}
	require.EqualValues(t, 2, a.call("Todo.count", `{"filter":{"title":{"$startsWith":"Todo"},"version":1}}`)["count"], "nothing was changed")
	require.EqualValues(t, 2, a.call("Person.count", `{"filter":{"email":{"$in":["a","b"]}}}`)["count"])
}

func TestHooksHoldForQueries(t *testing.T) {
	t.Parallel()
	if forEach(t, TestHooksHoldForQueries) {
		return
	}
	a := start(t, ent.Entities(onTodo(func(ctx context.Context, m *ent.TodoMutation, next stdent.Mutator) (stdent.Value, error) {
		id, _ := m.ID()
		switch {
		case m.Op().Is(stdent.OpDeleteOne) && id == "t0000": // marked instead of deleted
			return 1, ent.FromContext(ctx).Todo.UpdateOneID(id).SetCompleted(true).Exec(ctx)
		case m.Op().Is(stdent.OpUpdateOne) && id == "t0001": // kept as it is
			return ent.FromContext(ctx).Todo.Get(ctx, id)
		case m.Op().Is(stdent.OpUpdateOne) && id == "t0002": // takes another one along
			if err := ent.FromContext(ctx).Todo.DeleteOneID("t0003").Exec(ctx); err != nil {
				return nil, err
			}
		}
		return next.Mutate(ctx, m)
	})))
	todos(a, 5)
	raw, out, err := a.try("Todo.update-by-query", `{"filter":{},"all":true,"changes":{"notes":"n"}}`)
	require.NoError(t, err)
	require.JSONEq(t, `{"updated":3}`, string(raw), "t0001 was kept as it is, t0003 was gone")
	require.Equal(t, []string{"update Todo t0000", "update Todo t0002", "delete Todo t0003", "update Todo t0004"}, said(out.Changes))
	require.EqualValues(t, 3, a.call("Todo.count", `{"filter":{"notes":"n"}}`)["count"])

	raw, out, err = a.try("Todo.delete-by-query", `{"filter":{},"all":true}`)
	require.NoError(t, err)
	require.JSONEq(t, `{"deleted":3}`, string(raw), "t0000 was marked instead")
	require.Equal(t, []string{"update Todo t0000", "delete Todo t0001", "delete Todo t0002", "delete Todo t0004"}, said(out.Changes))
	require.EqualValues(t, 1, a.call("Todo.count", `{"filter":{"completed":true}}`)["count"])
}

func TestDryRunShowsEachChangeOfAQuery(t *testing.T) {
	t.Parallel()
	if forEach(t, TestDryRunShowsEachChangeOfAQuery) {
		return
	}
	a := start(t, ent.Entities())
	todos(a, 4)
	out, err := a.run(script(run.Spec{DryRun: true}, func(call func(string, string) (map[string]any, error), _ *run.Attempt) error {
		m, err := call("Todo.update-by-query", `{"filter":{"priority":"low"},"changes":{"title":"new"}}`)
		require.NoError(t, err)
		require.EqualValues(t, 2, m["updated"])
		_, err = call("Todo.delete-by-query", `{"filter":{"title":"Todo 3"}}`)
		return err
	}))
	require.NoError(t, err)
	require.Equal(t, []string{"update Todo t0000", "update Todo t0002", "delete Todo t0003"}, said(out.Changes))
	require.Contains(t, string(out.Changes[0].Before), `"title":"Todo 0"`)
	require.Contains(t, string(out.Changes[0].After), `"title":"new"`)
	require.Contains(t, string(out.Changes[2].Before), `"title":"Todo 3"`)
	require.EqualValues(t, 4, a.call("Todo.count", `{"filter":{"title":{"$startsWith":"Todo"}}}`)["count"])
}

func TestAggregates(t *testing.T) {
	t.Parallel()
	if forEach(t, TestAggregates) {
		return
	}
	a := start(t, ent.Entities())
	todos(a, 5)
	a.call("Todo.patch", `{"id":"t0000","changes":{"effort":1.5,"views":"9007199254740993","dueDate":"2026-03-01T10:00:00+02:00"}}`)
	rows := func(input string) any { return a.call("Todo.aggregate", input)["rows"] }
	require.Equal(t, []any{map[string]any{"priority": "low", "count": 3.0, "sumEffort": 1.5}, map[string]any{"priority": "high", "count": 2.0, "sumEffort": nil}},
		rows(`{"groupBy":"priority","count":true,"sum":"effort","sort":"-count"}`))
	require.Equal(t, []any{map[string]any{"dueDateMonth": "2026-03-01T00:00:00Z", "maxViews": "9007199254740993"}},
		rows(`{"filter":{"dueDate":{"$null":false}},"groupBy":[{"field":"dueDate","by":"month"}],"max":"views"}`))
	require.Equal(t, []any{map[string]any{"count": 0.0}}, rows(`{"set":"archive"}`))
	a.call("Step.upsert-many", `{"models":[{"text":"1","todo":"t0001"},{"text":"2","todo":"t0001"}]}`)
	require.Equal(t, []any{map[string]any{"todo": "t0001", "count": 2.0}}, a.call("Step.aggregate", `{"groupBy":"todo"}`)["rows"])
	f := a.fails(fault.InvalidPayload, "Todo.aggregate", `{"groupBy":"secret","max":"secret"}`)
	require.Contains(t, f.Message, `unknown field "secret"`)
	a.fails(fault.UnknownSet, "Todo.aggregate", `{"set":"nowhere"}`)
	require.Equal(t, 1, len(a.call("AuditLog.aggregate", `{}`)["rows"].([]any)), "what can be read can be aggregated")
}

func TestAggregateSeesItsOwnRun(t *testing.T) {
	t.Parallel()
	if forEach(t, TestAggregateSeesItsOwnRun) {
		return
	}
	a := start(t, ent.Entities())
	todos(a, 3)
	_, err := a.run(script(atomic, func(call func(string, string) (map[string]any, error), _ *run.Attempt) error {
		if _, err := call("Todo.delete-by-query", `{"filter":{"priority":"high"}}`); err != nil {
			return err
		}
		m, err := call("Todo.aggregate", `{"groupBy":"priority"}`)
		require.Equal(t, []any{map[string]any{"priority": "low", "count": 2.0}}, m["rows"])
		return err
	}))
	require.NoError(t, err)
}

func BenchmarkAggregate(b *testing.B) {
	a, db := filled(b)
	s, err := db.Prepare("SELECT priority, substr(due_date, 1, 7), count(*), avg(effort) FROM todos WHERE completed = ? GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2")
	require.NoError(b, err)
	inScript(b, a, "aggregate", func(invoke func(string)) {
		compare(b, func(int) {
			invoke(`{"filter":{"completed":true},"groupBy":["priority",{"field":"dueDate","by":"month"}],"count":true,"avg":"effort","sort":"-count"}`)
		}, func(int) {
			found, err := s.Query(true)
			require.NoError(b, err)
			var out []any
			for found.Next() {
				var priority, month string
				var n int64
				var avg float64
				require.NoError(b, found.Scan(&priority, &month, &n, &avg))
				out = append(out, map[string]any{"priority": priority, "month": month, "count": n, "avg": avg})
			}
			require.NoError(b, found.Close())
			_, err = json.Marshal(out)
			require.NoError(b, err)
		})
	})
}

// BenchmarkUpdateByQuery is one call for 1,000 rows, against as many UPDATEs by
// hand in a transaction.
func BenchmarkUpdateByQuery(b *testing.B) {
	a, _ := filled(b)
	_, db := filled(b)
	tx, err := db.Begin()
	require.NoError(b, err)
	s, err := tx.Prepare("UPDATE todos SET notes = ?, version = version + 1, updated_at = datetime() WHERE id = ?")
	require.NoError(b, err)
	ids := make([]string, 1000)
	for i := range ids {
		ids[i] = fmt.Sprintf("todo-%d", i)
	}
	list := string(encode(b, ids))
	inScript(b, a, "update-by-query", func(invoke func(string)) {
		compare(b, func(i int) {
			invoke(fmt.Sprintf(`{"filter":{"id":{"$in":%s}},"changes":{"notes":"%s"}}`, list, strings.Repeat("x", i%9)))
		}, func(i int) {
			for _, id := range ids {
				_, err := s.Exec(strings.Repeat("x", i%9), id)
				require.NoError(b, err)
			}
		})
	})
	require.NoError(b, tx.Rollback())
}
