package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/once"
	"github.com/koan-go/koan/framework/run/store"
	"github.com/koan-go/koan/tests/fixture/ent"
)

// A dry run lists the changes of each set. Where sets are files, it refuses a second one
// as the run itself would, unless that commits call by call.
func TestDryRunAcrossSets(t *testing.T) {
	t.Parallel()
	if forEach(t, TestDryRunAcrossSets) {
		return
	}
	a := start(t, ent.Entities())
	a.call("Todo.upsert", `{"model":{"id":"t","title":"old"},"set":"tenant-a"}`)
	across := func(call func(op, input string) (map[string]any, error)) error {
		for _, c := range [][2]string{
			{"Todo.count", `{"set":"archive"}`},
			{"Todo.upsert", `{"model":{"id":"t","title":"new"}}`},
			{"Todo.patch", `{"id":"t","changes":{"title":"changed"},"set":"tenant-a"}`},
			{"Todo.upsert", `{"model":{"id":"u","title":"new"},"set":"tenant-b"}`},
		} {
			if _, err := call(c[0], c[1]); err != nil {
				return err
			}
		}
		got, err := call("Todo.get-by-id", `{"id":"t","set":"tenant-a"}`)
		require.NoError(t, err)
		require.Equal(t, "changed", got["title"], "it reads what it wrote")
		return nil
	}
	for _, atomic := range []bool{true, false} {
		out, err := a.script(run.Spec{DryRun: true, Atomic: atomic}, across)
		if atomic && !postgres(t) {
			require.Equal(t, fault.CrossSet, fault.CodeOf(err))
			require.False(t, out.Committed)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, []store.ChangeCount{
			{Entity: "Todo", Set: "default", Created: 1}, {Entity: "Todo", Set: "tenant-a", Updated: 1}, {Entity: "Todo", Set: "tenant-b", Created: 1},
		}, store.Counts(out.Changes))
		require.Contains(t, string(out.Changes[1].Before), `"old"`)
		require.Contains(t, string(out.Changes[1].After), `"changed"`)
	}
	require.EqualValues(t, 0, a.call("Todo.count", `{}`)["count"])
	require.EqualValues(t, 0, a.call("Todo.count", `{"set":"tenant-b"}`)["count"])
	require.Equal(t, "old", a.call("Todo.get-by-id", `{"id":"t","set":"tenant-a"}`)["title"])
}

// A plan over several sets is applied as a whole, or not at all.
func TestPlanAcrossSets(t *testing.T) {
	t.Parallel()
	if forEach(t, TestPlanAcrossSets) {
		return
	}
	across := func(call func(id, input string) (string, error), _ *run.Attempt) (string, error) {
		if _, err := call(upsert, `{"model":{"id":"new","title":"x"}}`); err != nil {
			return "", err
		}
		_, err := call("koan::Todo.update-by-query", `{"filter":{"id":"t"},"changes":{"title":"changed"},"all":true,"set":"tenant-a"}`)
		return "done", err
	}
	place, jobs := place(t), map[string]job{"across": across}
	free, o := newProcess(t, place, &world{}, once.Options{}), newDesk(t, place, &world{}, asksWrites, jobs)
	free.call("Todo.upsert", `{"model":{"id":"t","title":"old"},"set":"tenant-a"}`)
	titles := func() []any {
		return []any{free.call("Todo.count", `{}`)["count"], free.call("Todo.get-by-id", `{"id":"t","set":"tenant-a"}`)["title"]}
	}
	if !postgres(t) {
		_, _, err := o.run(nil, "across")
		require.Equal(t, fault.CrossSet, fault.CodeOf(err))
		require.Equal(t, []any{0.0, "old"}, titles())
		return
	}
	id := o.plan("across")
	text := o.guard.WholePlanText(o.find(id))
	require.Contains(t, text, "default")
	require.Contains(t, text, "tenant-a")
	free.call("Todo.patch", `{"id":"t","changes":{"title":"meanwhile"},"set":"tenant-a"}`)
	_, outcome, err := o.approve(id, boss)
	next := o.planned(outcome, err)
	require.Equal(t, []any{0.0, "meanwhile"}, titles(), "nothing of either set")
	_, _, err = o.approve(next, boss)
	require.NoError(t, err)
	require.Equal(t, []any{1.0, "changed"}, titles())
}
