package engine_test

import (
	"context"
	"fmt"
	"testing"

	stdent "entgo.io/ent"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/store"
	"github.com/koan-go/koan/tests/fixture/ent"
)

// todosWithSteps fills a place with todos that have steps, and one that has none.
func todosWithSteps(free *app) {
	free.call("Person.upsert-many", people)
	free.call("Todo.upsert-many", `{"models":[{"id":"t","title":"x","assignedUser":"p"},{"id":"u","title":"y"},{"id":"bare","title":"z"}]}`)
	free.call("Step.upsert-many", `{"models":[{"id":"s1","text":"a","todo":"t"},{"id":"s2","text":"b","todo":"u"}]}`)
}

// deletions are all the ways to delete a todo that has steps.
var deletions = [][2]string{
	{"Todo.delete", `{"id":"t"}`},
	{"Todo.delete-many", `{"ids":["bare","t"]}`},
	{"Todo.delete-many", `{"ids":["t","u"]}`},
	{"Todo.delete-by-query", `{"filter":{"id":{"$in":["bare","t"]}}}`},
}

// A foreign key deletes nothing that the caller might not delete.
func TestCascadesDeleteOnlyWhatTheirCallerMayDelete(t *testing.T) {
	t.Parallel()
	if forEach(t, TestCascadesDeleteOnlyWhatTheirCallerMayDelete) {
		return
	}
	const refusal = "Step entities would be deleted with it, and you may not delete them"
	for name, c := range map[string]struct {
		restrict func(*descriptor.Entity)
		says     string
	}{
		"read-only entity":      {func(e *descriptor.Entity) { e.Resource.ReadOnly = true }, refusal},
		"missing write scope":   {func(e *descriptor.Entity) { e.WriteScopes = []string{"step:write"} }, refusal},
		"missing delete scope":  {func(e *descriptor.Entity) { e.DeleteScopes = []string{"step:delete"} }, refusal},
		"no deleting operation": {func(e *descriptor.Entity) { e.Resource.Operations = []string{"collection", "patch"} }, refusal},
		"missing read scope":    {func(e *descriptor.Entity) { e.ReadScopes = []string{"step:read"} }, "rows that you may not see would be deleted or changed with it"},
	} {
		t.Run(name, func(t *testing.T) {
			at := place(t)
			free := startIn(t, at, ent.Entities())
			todosWithSteps(free)
			before := free.reads("Todo.collection", `{"with":"all"}`)
			start := func(cascades bool) *app {
				app := with(ent.Entities(), "Step", c.restrict)
				return startIn(t, at, with(app, "Todo", func(e *descriptor.Entity) { e.Resource.Cascades = cascades })).seenBy(exposure.Full, catalog.ScopeWrite)
			}
			a := start(false)
			for _, d := range deletions {
				for _, try := range []func(op, input string) error{
					func(op, input string) error { _, err := a.tool(op, input); return err },
					func(op, input string) error { _, err := a.scripted(atomic, op, input); return err },
					func(op, input string) error { _, err := a.scripted(run.Spec{DryRun: true}, op, input); return err },
				} {
					err := try(d[0], d[1])
					require.Equal(t, fault.Forbidden, fault.CodeOf(err), "%s %v", d[1], err)
					require.Contains(t, err.Error(), c.says)
					require.NotEmpty(t, fault.From(err).Hint)
				}
			}
			require.Equal(t, before, free.reads("Todo.collection", `{"with":"all"}`))
			_, err := a.tool("Todo.delete", `{"id":"bare"}`)
			require.NoError(t, err, "nothing goes with it")

			// The schema can allow it, and whoever deletes is told before.
			allowed := start(true)
			summary := allowed.view.At(catalog.SurfaceTools).Operation(catalog.EntityID("Todo", "delete")).Summary
			if hidden := name == "missing read scope"; hidden {
				require.Contains(t, summary, "Also deletes rows that are not shown here.")
				require.NotContains(t, summary, "Step")
			} else {
				require.Contains(t, summary, "Also deletes its Step entities.")
			}
			_, err = allowed.tool("Todo.delete", `{"id":"t"}`)
			require.NoError(t, err)
			require.EqualValues(t, 1, free.call("Step.count", `{}`)["count"])
		})
	}
}

// Nor does it clear a reference that the caller might not clear.
func TestCascadesClearOnlyWhatTheirCallerMayWrite(t *testing.T) {
	t.Parallel()
	if forEach(t, TestCascadesClearOnlyWhatTheirCallerMayWrite) {
		return
	}
	for name, restrict := range map[string]func(*descriptor.Entity){
		"read-only entity":    func(e *descriptor.Entity) { e.Resource.ReadOnly = true },
		"missing write scope": func(e *descriptor.Entity) { e.WriteScopes = []string{"todo:write"} },
		"read-only key":       func(e *descriptor.Entity) { e.Resource.Field("assignedUserId").ReadOnly = true },
		"immutable key":       func(e *descriptor.Entity) { e.Resource.Field("assignedUserId").Immutable = true },
	} {
		t.Run(name, func(t *testing.T) {
			at := place(t)
			free := startIn(t, at, ent.Entities())
			todosWithSteps(free)
			a := startIn(t, at, with(ent.Entities(), "Todo", restrict)).seenBy(exposure.Full, catalog.ScopeWrite)
			for _, d := range [][2]string{{"Person.delete", `{"id":"p"}`}, {"Person.delete-many", `{"ids":["q","p"]}`}, {"Person.delete-by-query", `{"filter":{},"all":true}`}} {
				_, err := a.tool(d[0], d[1])
				require.Equal(t, fault.Forbidden, fault.CodeOf(err), "%v", err)
				require.Contains(t, err.Error(), "Todo entities would be changed with it, and you may not change them")
			}
			require.EqualValues(t, 2, free.call("Person.count", `{}`)["count"])
			_, err := a.tool("Person.delete", `{"id":"q"}`)
			require.NoError(t, err, "nothing refers to it")
			allowed := startIn(t, at, with(with(ent.Entities(), "Todo", restrict), "Person", func(e *descriptor.Entity) { e.Resource.Cascades = true })).seenBy(exposure.Full, catalog.ScopeWrite)
			_, err = allowed.tool("Person.delete", `{"id":"p"}`)
			require.NoError(t, err)
			require.Contains(t, free.reads("Todo.get-by-id", `{"id":"t"}`), `"assignedUserId":null`)
		})
	}
}

// A run that names a few entities deletes rows of these alone.
func TestCascadesEndWhereOnlyEnds(t *testing.T) {
	t.Parallel()
	if forEach(t, TestCascadesEndWhereOnlyEnds) {
		return
	}
	a := start(t, ent.Entities())
	todosWithSteps(a)
	_, err := a.scripted(run.Spec{Atomic: true, Only: []string{"Todo"}}, "Todo.delete", `{"id":"t"}`)
	require.Equal(t, fault.Forbidden, fault.CodeOf(err))
	require.Contains(t, err.Error(), "Step entities would be deleted with it")
	_, err = a.scripted(run.Spec{Atomic: true, Only: []string{"Todo", "Step"}}, "Todo.delete", `{"id":"t"}`)
	require.NoError(t, err)
}

// The app's own code deletes what it likes: its hooks are not the caller.
func TestHooksCascadeFreely(t *testing.T) {
	t.Parallel()
	if forEach(t, TestHooksCascadeFreely) {
		return
	}
	at := place(t)
	todosWithSteps(startIn(t, at, ent.Entities()))
	app := with(ent.Entities(ent.OnClient(func(c *ent.Client) {
		c.Label.Use(func(next stdent.Mutator) stdent.Mutator {
			return stdent.MutateFunc(func(ctx context.Context, m stdent.Mutation) (stdent.Value, error) {
				if err := ent.FromContext(ctx).Todo.DeleteOneID("t").Exec(ctx); err != nil {
					return nil, err
				}
				return next.Mutate(ctx, m)
			})
		})
	})), "Step", func(e *descriptor.Entity) { e.ReadScopes = []string{"step:read"} })
	a := startIn(t, at, app).seenBy(exposure.Full, catalog.ScopeWrite)
	out, err := a.run(script(run.Spec{Atomic: true, Record: true}, func(call func(string, string) (map[string]any, error), _ *run.Attempt) error {
		_, err := call("Label.upsert", `{"model":{"name":"a"}}`)
		return err
	}))
	require.NoError(t, err)

	// Of an entity that the caller does not know of only the number is told.
	shown := store.Disclosed(out.Changes)
	require.Equal(t, []string{"create Label 1", "delete Todo t", "delete  "}, said(shown))
	require.Equal(t, []store.ChangeCount{{Entity: "Label", Set: "default", Created: 1}, {Entity: "Todo", Set: "default", Deleted: 1}, {Set: "default", Deleted: 1}}, store.Counts(shown))
	require.Equal(t, "Step", out.Changes[2].Entity, "records and rules of approval have it")
}

// A policy decides about rows that a write on the other side of an edge, or a foreign
// key, would change, as about any write to them.
func TestPoliciesDecideAboutRowsThatEdgesChange(t *testing.T) {
	t.Parallel()
	if forEach(t, TestPoliciesDecideAboutRowsThatEdgesChange) {
		return
	}
	o := openOffice(t)
	admin := o.people["admin"]
	auditor := o.people["auditor"] // who reads documents of all tenants, and writes none
	before := admin.reads("Folder.collection", `{"with":"documents"}`)
	for _, c := range [][2]string{
		{"Folder.patch", `{"id":"g","changes":{"documents":{"$add":["b1"]}}}`},
		{"Folder.patch", `{"id":"f","changes":{"documents":[]}}`},
		{"Folder.upsert", `{"model":{"id":"n","name":"x","documents":["a2"]}}`},
		{"Person.patch", `{"id":1,"changes":{"documents":{"$remove":["a1"]}}}`},
		{"Folder.delete", `{"id":"g"}`},
		{"Person.delete", `{"id":2}`},
	} {
		f := auditor.fails(fault.Forbidden, c[0], c[1])
		require.Contains(t, fmt.Sprint(f.Message), "Document entities", c[1])
	}
	require.Equal(t, before, admin.reads("Folder.collection", `{"with":"documents"}`))
	auditor.call("Folder.patch", `{"id":"f","changes":{"name":"Maps"}}`)
}
