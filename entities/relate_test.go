package entities_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/tests/fixture/ent"
)

// TestEdgesFromTheOtherSideCountVersions: who holds a version must learn of a
// change that came through an edge.
func TestEdgesFromTheOtherSideCountVersions(t *testing.T) {
	if forEach(t, TestEdgesFromTheOtherSideCountVersions) {
		return
	}
	a := start(t, ent.Entities())
	a.call("Todo.upsert", `{"model":{"id":"t","title":"x"}}`)
	a.call("Person.upsert", `{"model":{"id":"p","name":"Ann","email":"a"}}`)
	a.call("Person.patch", `{"id":"p","changes":{"todos":{"$add":["t"]}}}`)
	require.EqualValues(t, 2, a.call("Todo.get-by-id", `{"id":"t"}`)["version"])
	a.fails(fault.Conflict, "Todo.patch", `{"id":"t","changes":{"title":"y"},"ifVersion":1}`)
	a.call("Person.patch", `{"id":"p","changes":{"todos":["t"]}}`)
	require.EqualValues(t, 2, a.call("Todo.get-by-id", `{"id":"t"}`)["version"], "nothing changed")
	a.call("Person.delete", `{"id":"p"}`)
	require.EqualValues(t, 3, a.call("Todo.get-by-id", `{"id":"t"}`)["version"])
}

func TestRequiredInverse(t *testing.T) {
	if forEach(t, TestRequiredInverse) {
		return
	}
	a := start(t, ent.Entities())
	a.call("Todo.upsert-many", `{"models":[{"id":"t1","title":"1"},{"id":"t2","title":"2"}]}`)
	a.call("Step.upsert-many", `{"models":[{"id":"s1","text":"a","todo":"t1"},{"id":"s2","text":"b","todo":"t2"}]}`)
	whole := a.call("Todo.get-by-id", `{"id":"t1","with":"all"}`)
	a.call("Todo.upsert", string(encode(t, map[string]any{"model": whole})))
	a.call("Todo.patch", `{"id":"t1","changes":{"steps":["s1"]}}`)

	f := a.fails(fault.InvalidPayload, "Todo.patch", `{"id":"t1","changes":{"steps":[]}}`)
	require.Equal(t, "/changes/steps", f.Path)
	require.Contains(t, f.Message, "a Step cannot be without its todo")
	f = a.fails(fault.InvalidPayload, "Todo.patch", `{"id":"t1","changes":{"steps":["s1","nope"]}}`)
	require.Equal(t, "/changes/steps/1", f.Path)
	require.Contains(t, f.Message, `there is no Step with id "nope"`)
	f = a.fails(fault.InvalidPayload, "Todo.patch", `{"id":"t1","changes":{"labels":{"$add":[7]}}}`)
	require.Equal(t, "/changes/labels/$add/0", f.Path)
	f = a.fails(fault.Conflict, "Todo.patch", `{"id":"t1","changes":{"steps":["s1","s2"]}}`)
	require.Equal(t, fault.Fix, f.Retry)
	require.Contains(t, f.Hint, "Move it from its own side")
}

func TestWhatIsTakenHasToBeChanged(t *testing.T) {
	if forEach(t, TestWhatIsTakenHasToBeChanged) {
		return
	}
	a := start(t, ent.Entities())
	a.call("Person.upsert", `{"model":{"name":"Ann","email":"a"}}`)
	f := a.fails(fault.Conflict, "Person.upsert", `{"model":{"name":"Bob","email":"a"}}`)
	require.Equal(t, fault.Fix, f.Retry)
	f = a.fails(fault.InvalidPayload, "Todo.upsert", `{"model":{"title":"`+strings.Repeat("é", 101)+`"}}`)
	require.Contains(t, f.Message, "at most 200 bytes of UTF-8, not 202")
}

func TestChangesShowManyToManyEdges(t *testing.T) {
	if forEach(t, TestChangesShowManyToManyEdges) {
		return
	}
	a := start(t, ent.Entities())
	a.call("Label.upsert-many", `{"models":[{"name":"a"},{"name":"b"},{"name":"c"}]}`)
	a.call("Todo.upsert", `{"model":{"id":"t","title":"x","labels":[1,2]}}`)
	dry, err := a.run(body(run.Spec{DryRun: true}, func(ctx context.Context, r *run.Attempt) error {
		for _, call := range [][2]string{
			{"patch", `{"id":"t","changes":{"labels":{"$add":[3],"$remove":[1]}}}`},
			{"patch", `{"id":"t","changes":{"labels":[]}}`},
			{"upsert", `{"model":{"id":"new","title":"y","labels":["3"]}}`},
			{"patch", `{"id":"t","changes":{"views":1}}`},
		} {
			if _, err := r.Invoke(ctx, r.Next(), catalog.EntityID("Todo", call[0]), json.RawMessage(call[1])); err != nil {
				return err
			}
		}
		return nil
	}))
	require.NoError(t, err)
	labels := func(raw json.RawMessage) any {
		var m map[string]any
		if raw != nil {
			require.NoError(t, json.Unmarshal(raw, &m))
		}
		return m["labels"]
	}
	var shown [][2]any
	for _, c := range dry.Changes {
		shown = append(shown, [2]any{labels(c.Before), labels(c.After)})
	}
	require.Equal(t, [][2]any{{[]any{"1", "2"}, []any{"2", "3"}}, {[]any{"2", "3"}, []any{}}, {nil, []any{"3"}}, {nil, nil}}, shown)
	require.Equal(t, []string{"1", "2"}, labelsOf(a, "t"))
}
