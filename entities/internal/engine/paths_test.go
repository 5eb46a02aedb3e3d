package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/store"
	"github.com/koan-go/koan/tests/fixture/ent"
)

// TestBothWaysOfWritingAgree makes the same random calls in two apps. One stores
// them by the engine's own statements; in the other every row goes through ent's
// builders. Answers, faults, counts and rows must be the same, but for the times and
// ids that were made, whether or not the run records.
func TestBothWaysOfWritingAgree(t *testing.T) {
	t.Parallel()
	if forEach(t, TestBothWaysOfWritingAgree) {
		return
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	byEnt := ent.Entities()
	for _, k := range byEnt.Kinds {
		k.Plain = false
	}
	fast, slow := start(t, ent.Entities()), start(t, byEnt)
	for _, a := range []*app{fast, slow} {
		a.call("Label.upsert-many", `{"models":[{"name":"a"},{"name":"b"},{"name":"c"}]}`)
		a.call("Person.upsert-many", `{"models":[{"id":"ann","name":"Ann","email":"a"},{"id":"bob","name":"Bob","email":"b"}]}`)
	}
	calls := 400
	if postgres(t) {
		calls = 150
	}
	for n := range calls {
		op, input := randomWrite(r)
		one, oneCounts := outcome(fast, op, input, run.Spec{Atomic: true, Record: n%2 == 0})
		two, twoCounts := outcome(slow, op, input, run.Spec{Atomic: true, Record: n%2 == 0})
		require.Equal(t, one, two, "call %d: %s %s", n, op, input)
		require.ElementsMatch(t, oneCounts, twoCounts, "call %d: %s %s", n, op, input)
	}
	for _, entity := range []string{"Todo", "Step", "Label", "Person"} {
		// In any order: the ids that are made, by which rows are sorted, come in another one.
		all := func(a *app) any {
			return unmade(a.call(entity+".collection", `{"pageSize":200,"with":"all"}`)).(map[string]any)["items"]
		}
		require.ElementsMatch(t, all(fast), all(slow), entity)
	}
}

// outcome makes a call in a run and returns what a caller sees of it.
func outcome(a *app, op, input string, spec run.Spec) (any, []store.ChangeCount) {
	name, verb, _ := strings.Cut(op, ".")
	var raw json.RawMessage
	var failed error
	out, err := a.run(body(spec, func(ctx context.Context, r *run.Attempt) error {
		raw, failed = r.Invoke(ctx, r.Next(), catalog.EntityID(name, verb), json.RawMessage(input))
		if run.Ends(failed) {
			return failed
		}
		return nil
	}))
	require.NoError(a, err)
	if failed != nil {
		f := fault.From(failed)
		require.NotEqual(a, fault.Internal, f.Code, "%s %s: %v", op, input, f.Unwrap())
		return []any{f.Code, f.Path, madeID.ReplaceAllString(f.Message, "…"), f.Details}, store.Counts(out.Changes)
	}
	var answer any
	require.NoError(a, json.Unmarshal(raw, &answer))
	return unmade(answer), store.Counts(out.Changes)
}

var madeID = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// unmade takes out what was generated: times, and ids that the caller did not
// choose.
func unmade(v any) any {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "createdAt")
		delete(v, "updatedAt")
		if id, ok := v["id"].(string); ok && len(id) == 36 {
			delete(v, "id")
		}
		for name, inner := range v {
			v[name] = unmade(inner)
		}
	case []any:
		for i := range v {
			v[i] = unmade(v[i])
		}
	}
	return v
}

// randomWrite makes a call of any writing operation, right or wrong.
func randomWrite(r *rand.Rand) (op, input string) {
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	id := func() string { return fmt.Sprintf(`"t%d"`, r.IntN(12)) }
	field := func() string {
		return pick(`"title":"x"`, `"title":"y"`, `"title":""`, `"completed":true`, `"priority":"high"`, `"priority":"none"`, `"dueDate":null`,
			`"dueDate":"2026-03-01T10:00:00+02:00"`, `"notes":"ünïcode 🎉"`, `"notes":null`, `"tags":["a","b"]`, `"tags":[]`, `"tags":null`, `"effort":1.25`, `"effort":-1`,
			`"views":9007199254740993`, `"secret":"s"`, `"assignedUserId":"ann"`, `"assignedUserId":"nobody"`, `"assignedUser":"bob"`, `"assignedUser":null`,
			`"labels":["1"]`, `"labels":{"$add":["2"]}`, `"labels":["9"]`, `"version":7`, `"createdAt":"2020-01-01T00:00:00Z"`)
	}
	fields := func() string {
		names := map[string]string{}
		for range r.IntN(4) {
			f := field()
			names[strings.SplitN(f, ":", 2)[0]] = f
		}
		var all []string
		for _, f := range names {
			all = append(all, f)
		}
		return strings.Join(all, ",")
	}
	model := func() string {
		parts := []string{}
		if r.IntN(4) > 0 {
			parts = append(parts, `"id":`+id())
		}
		if f := fields(); f != "" {
			parts = append(parts, f)
		}
		if s := strings.Join(parts, ","); r.IntN(3) > 0 && !strings.Contains(s, `"title"`) {
			parts = append(parts, `"title":"z"`)
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	many := func(one func() string) string {
		var all []string
		for range 1 + r.IntN(6) {
			all = append(all, one())
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	step := func() string {
		return fmt.Sprintf(`{"id":"s%d","text":%s,"todo":%s}`, r.IntN(9), pick(`"a"`, `"b"`, `""`), id())
	}
	version := pick("", "", fmt.Sprintf(`,"ifVersion":%d`, r.IntN(4)))
	filter := pick(`{"completed":true}`, `{"priority":"high"}`, `{"id":{"$in":["t1","t2","t3"]}}`, `{"steps":{"$some":{}}}`, `{"notes":null}`)
	switch r.IntN(11) {
	case 0, 1, 2:
		return "Todo.upsert", `{"model":` + model() + pick("", `,"replace":true`) + version + `}`
	case 3:
		return "Todo.upsert-many", `{"models":` + many(model) + `}`
	case 4, 5:
		return "Todo.patch", `{"id":` + id() + `,"changes":{` + fields() + `}` + version + `}`
	case 6:
		return "Todo.update-by-query", `{"filter":` + filter + `,"changes":{` + fields() + `}}`
	case 7:
		return pick("Todo.delete-many", "Step.delete-many"), `{"ids":` + many(id) + `}`
	case 8:
		return "Todo.delete-by-query", `{"filter":` + filter + `,"maxAffected":` + pick("1", "100") + `}`
	case 9:
		return "Step.upsert-many", `{"models":` + many(step) + `}`
	}
	return "Todo.delete", `{"id":` + id() + version + `}`
}
