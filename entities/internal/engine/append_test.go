package engine_test

import (
	"context"
	"strconv"
	"testing"

	stdent "entgo.io/ent"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/fixture/ent"
	"github.com/koan-go/koan/tests/fixture/ent/predicate"
	"github.com/koan-go/koan/tests/fixture/ent/todo"
)

// A statement of ent's with more than the database takes is a fault that says what to do, and names the
// list to which too much is appended.
func TestStatementsThatAreTooLarge(t *testing.T) {
	t.Parallel()
	if forEach(t, TestStatementsThatAreTooLarge) {
		return
	}
	texts := make([]string, 70_000) // PostgreSQL's protocol takes 65,535 parameters, SQLite 32,766
	for i := range texts {
		texts[i] = strconv.Itoa(i)
	}
	for name, c := range map[string]struct {
		does     func(ctx context.Context, c *ent.Client) error
		postgres bool // it takes that
	}{
		"appended": {postgres: true, does: func(ctx context.Context, c *ent.Client) error {
			return c.Todo.UpdateOneID("a").AppendTags(texts[:2000]).Exec(ctx)
		}},
		"appended to many": {postgres: true, does: func(ctx context.Context, c *ent.Client) error {
			return c.Todo.Update().AppendTags(texts[:2000]).Exec(ctx)
		}},
		"read": {does: func(ctx context.Context, c *ent.Client) error {
			return c.Todo.Query().Where(todo.TitleIn(texts...)).Select(todo.FieldID).Scan(ctx, &[]string{})
		}},
		"updated": {does: func(ctx context.Context, c *ent.Client) error {
			return c.Todo.Update().Where(todo.TitleIn(texts...)).SetTitle("z").Exec(ctx)
		}},
		"deleted": {does: func(ctx context.Context, c *ent.Client) error {
			_, err := c.Todo.Delete().Where(todo.TitleIn(texts...)).Exec(ctx)
			return err
		}},
		"created": {does: func(ctx context.Context, c *ent.Client) error {
			return c.Todo.MapCreateBulk(texts[:9000], func(w *ent.TodoCreate, i int) { w.SetTitle(texts[i]) }).Exec(ctx)
		}},
		"conditions": {postgres: true, does: func(ctx context.Context, c *ent.Client) error {
			var any []predicate.Todo
			for _, s := range texts[:3000] {
				any = append(any, todo.Title(s))
			}
			return c.Todo.Update().Where(todo.Or(any...)).SetTitle("z").Exec(ctx)
		}},
	} {
		a, _ := working(t, c.does)
		a.call("Todo.upsert", `{"model":{"id":"a","title":"a","tags":["x"]}}`)
		err := a.work()
		if c.postgres && postgres(t) {
			require.NoError(t, err, name)
			continue
		}
		require.Equal(t, fault.InvalidPayload, fault.CodeOf(err), "%s: %v", name, err)
		f := fault.From(err)
		require.Contains(t, f.Hint, "in several steps", name)
		if name == "appended" || name == "appended to many" {
			require.Equal(t, "/tags", f.Path, name)
			require.Contains(t, f.Message, `more is appended to "tags" at once`, name)
		}
	}

	a := start(t, ent.Entities(onTodo(func(ctx context.Context, m *ent.TodoMutation, next stdent.Mutator) (stdent.Value, error) {
		if m.Op().Is(stdent.OpUpdateOne) {
			m.AppendTags(texts[:2000])
		}
		return next.Mutate(ctx, m)
	})))
	a.call("Todo.upsert", `{"model":{"id":"a","title":"a","tags":["x"]}}`)
	if postgres(t) {
		require.Len(t, a.call("Todo.patch", `{"id":"a","changes":{"title":"b"}}`)["tags"], 2001)
		return
	}
	f := a.fails(fault.InvalidPayload, "Todo.patch", `{"id":"a","changes":{"title":"b"}}`)
	require.Contains(t, f.Message, `more is appended to "tags" at once`)
}
