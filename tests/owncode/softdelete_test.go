package owncode

import (
	"context"
	"testing"

	stdent "entgo.io/ent"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/framework/run/store"
	"github.com/koan-go/koan/tests/fixture"
	"github.com/koan-go/koan/tests/fixture/ent"
	"github.com/koan-go/koan/tests/fixture/ent/todo"
	"github.com/koan-go/koan/tests/pgtest"
)

// softDelete makes deletes of todos updates, as ent's documentation has it, and hides what is deleted.
func softDelete(c *ent.Client) {
	c.Todo.Use(func(next stdent.Mutator) stdent.Mutator {
		return stdent.MutateFunc(func(ctx context.Context, m stdent.Mutation) (stdent.Value, error) {
			mx, ok := m.(*ent.TodoMutation)
			if !ok || !m.Op().Is(stdent.OpDelete|stdent.OpDeleteOne) {
				return next.Mutate(ctx, m)
			}
			mx.SetOp(stdent.OpUpdate)
			mx.SetNotes("deleted")
			return mx.Client().Mutate(ctx, m)
		})
	})
	c.Todo.Intercept(stdent.TraverseFunc(func(_ context.Context, q stdent.Query) error {
		if tq, ok := q.(*ent.TodoQuery); ok {
			tq.Where(todo.Or(todo.NotesIsNil(), todo.NotesNEQ("deleted")))
		}
		return nil
	}))
}

// A delete that a hook makes an update counts what is gone for the caller, and is an update in the changes.
// Its undo would write to rows that the caller may not see any more, as he may not those that he has given
// to somebody else: it is refused.
func TestSoftDeletes(t *testing.T) {
	if pgtest.ForEach(t, TestSoftDeletes) {
		return
	}
	t.Parallel()
	app := fixture.App()
	app.Entities = ent.Entities(ent.OnClient(softDelete))
	k := koantest.New(t, app, koantest.Setting{Key: "database", Value: where(t)}, koantest.Setting{Key: "journal.enabled", Value: "true"})
	k.Run(`for (const id of ["a", "b", "c", "d", "e"]) SDK.Entities.Todo.upsert({id, title: id})`, koantest.Input{})
	left := func() (out []string) {
		k.Run(`SDK.Entities.Todo.all({sort: "id"}).map(t => t.id)`, koantest.Input{}).ResultInto(&out)
		return out
	}
	r := k.Run(`
		const { Todo } = SDK.Entities;
		const one = Todo.delete("a"), many = Todo.deleteMany(["b", "c", "none"]), some = Todo.deleteByQuery({id: "d"});
		[one, many, some, Todo.delete("a"), Todo.count()]`, koantest.Input{Include: []string{"changes"}})
	require.JSONEq(t, `[1, 2, 1, 0, 1]`, string(r.Result))
	require.Equal(t, []store.ChangeCount{{Entity: "Todo", Set: "default", Updated: 4}}, r.ChangeCounts)
	for _, c := range r.Changes {
		require.Nil(t, c.After, "what the caller may not see")
	}
	require.Equal(t, []string{"e"}, left())
	_, err := k.Call("code::koan.undo", map[string]any{"runId": r.RunID})
	require.Equal(t, fault.Conflict, fault.CodeOf(err), "%v", err)
	require.Equal(t, []string{"e"}, left())
}

func where(t testing.TB) string {
	if pgtest.Here(t) {
		return pgtest.Place(t)
	}
	return "sqlite://" + t.TempDir()
}
