package undo

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/fixture"
	"github.com/koan-go/koan/tests/pgtest"
)

// offering is the fixture app with some operations of labels and todos alone.
func offering(operations ...string) framework.App {
	a := fixture.App()
	for _, e := range a.Entities.Graph.Entities {
		if slices.Contains([]string{"Label", "Todo"}, e.Resource.Name) {
			e.Resource.Operations = append([]string{"collection", "get-by-id"}, operations...)
		}
	}
	return a
}

// Where rows can be created and not changed, they are created again as they were by create, ids that the
// database makes included.
func TestUndoOfWhatCanOnlyBeCreated(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestUndoOfWhatCanOnlyBeCreated) {
		return
	}
	a := startIn(t, place(t), offering("create", "delete"))
	made := a.Run(`SDK.Entities.Todo.create({id: "a", title: "A", tags: ["x"]}); SDK.Entities.Label.create({name: "red"}).id`, koantest.Input{})
	before := a.dump("default")
	gone := a.Run(`SDK.Entities.Todo.delete("a"); SDK.Entities.Label.delete(SDK.args)`, koantest.Input{Args: made.Result})
	require.NotEqual(t, before, a.dump("default"))
	a.undo(gone.RunID)
	require.Equal(t, before, a.dump("default"))
	a.undo(made.RunID)
	require.Empty(t, a.Run(`SDK.Entities.Label.all()`, koantest.Input{}).Changes)

	b := startIn(t, place(t), offering("create"))
	made = b.Run(`SDK.Entities.Todo.create({title: "B"})`, koantest.Input{})
	require.ErrorContains(t, b.refused(fault.Forbidden, map[string]any{"runId": made.RunID}), "undoing the run would delete a Todo, and no operation of it does that")
}
