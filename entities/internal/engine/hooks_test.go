package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	stdent "entgo.io/ent"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/store"
	"github.com/koan-go/koan/tests/fixture/ent"
	"github.com/koan-go/koan/tests/fixture/ent/step"
	"github.com/koan-go/koan/tests/fixture/ent/todo"
)

// onTodo has fn called around each mutation of a todo.
func onTodo(fn func(ctx context.Context, m *ent.TodoMutation, next stdent.Mutator) (stdent.Value, error)) ent.EntitiesOption {
	return ent.OnClient(func(c *ent.Client) {
		c.Todo.Use(func(next stdent.Mutator) stdent.Mutator {
			return stdent.MutateFunc(func(ctx context.Context, m stdent.Mutation) (stdent.Value, error) {
				return fn(ctx, m.(*ent.TodoMutation), next)
			})
		})
	})
}

// recorded makes one call as a script that records.
func (a *app) recorded(op, input string) ([]store.Change, error) {
	out, err := a.run(script(run.Spec{Atomic: true, Record: true}, func(call func(string, string) (map[string]any, error), _ *run.Attempt) error {
		_, err := call(op, input)
		return err
	}))
	return out.Changes, err
}

func TestWhatHooksWriteInBulkIsRecorded(t *testing.T) {
	t.Parallel()
	if forEach(t, TestWhatHooksWriteInBulkIsRecorded) {
		return
	}
	a := start(t, ent.Entities(onTodo(func(ctx context.Context, m *ent.TodoMutation, next stdent.Mutator) (stdent.Value, error) {
		v, err := next.Mutate(ctx, m)
		if title, _ := m.Title(); err != nil || title != "go" {
			return v, err
		}
		tx := ent.FromContext(ctx)
		if _, err := tx.AuditLog.CreateBulk(tx.AuditLog.Create().SetID("log1").SetMessage("a"), tx.AuditLog.Create().SetID("log2").SetMessage("b")).Save(ctx); err != nil {
			return nil, err
		}
		if err := tx.Todo.Update().Where(todo.TitleEQ("old")).SetViews(5).Exec(ctx); err != nil {
			return nil, err
		}
		_, err = tx.Step.Delete().Where(step.TextEQ("gone")).Exec(ctx)
		return v, err
	})))
	a.call("Todo.upsert-many", `{"models":[{"id":"o1","title":"old"},{"id":"o2","title":"old"},{"id":"n","title":"new"}]}`)
	a.call("Step.upsert-many", `{"models":[{"id":"s1","text":"gone","todo":"o1"},{"id":"s2","text":"stays","todo":"o1"}]}`)
	changes, err := a.recorded("Todo.patch", `{"id":"n","changes":{"title":"go"}}`)
	require.NoError(t, err)
	require.Equal(t, []string{"update Todo n", "create AuditLog log1", "create AuditLog log2", "update Todo o1", "update Todo o2", "delete Step s1"}, said(changes))
	require.Contains(t, string(changes[0].Before), `"title":"new"`)
	require.Contains(t, string(changes[0].After), `"title":"go"`)
	require.Contains(t, string(changes[3].Before), `"views":0`)
	require.Contains(t, string(changes[3].After), `"views":5`)
	require.Contains(t, string(changes[3].After), `"version":2`, "updates in bulk count versions too")
	require.Contains(t, string(changes[5].Before), `"text":"gone"`)
	require.Empty(t, changes[5].After)
	require.Contains(t, string(changes[1].After), `"message":"a"`)
}

func TestHookMayDoSomethingElseInstead(t *testing.T) {
	t.Parallel()
	if forEach(t, TestHookMayDoSomethingElseInstead) {
		return
	}
	a := start(t, ent.Entities(onTodo(func(ctx context.Context, m *ent.TodoMutation, next stdent.Mutator) (stdent.Value, error) {
		title, _ := m.Title()
		switch {
		case m.Op().Is(stdent.OpDeleteOne): // marked instead of deleted
			id, _ := m.ID()
			return 1, ent.FromContext(ctx).Todo.UpdateOneID(id).SetCompleted(true).Exec(ctx)
		case m.Op().Is(stdent.OpUpdateOne) && title == "ignore me":
			id, _ := m.ID()
			return ent.FromContext(ctx).Todo.Get(ctx, id)
		}
		return next.Mutate(ctx, m)
	})))
	a.call("Todo.upsert", `{"model":{"id":"t","title":"x"}}`)
	changes, err := a.recorded("Todo.delete", `{"id":"t"}`)
	require.NoError(t, err)
	require.Equal(t, []string{"update Todo t"}, said(changes))
	changes, err = a.recorded("Todo.patch", `{"id":"t","changes":{"title":"ignore me"}}`)
	require.NoError(t, err)
	require.Empty(t, changes)
	require.Equal(t, "x", a.call("Todo.get-by-id", `{"id":"t"}`)["title"])
}

func TestFailingHookLeavesNothing(t *testing.T) {
	t.Parallel()
	if forEach(t, TestFailingHookLeavesNothing) {
		return
	}
	a := start(t, ent.Entities(onTodo(func(ctx context.Context, m *ent.TodoMutation, next stdent.Mutator) (stdent.Value, error) {
		if err := ent.FromContext(ctx).AuditLog.Create().SetMessage("before").Exec(ctx); err != nil {
			return nil, err
		}
		if _, err := next.Mutate(ctx, m); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("not today: %w", errors.New("it is sunday"))
	})))
	f := a.fails(fault.InvalidPayload, "Todo.upsert", `{"model":{"title":"x"}}`)
	require.Equal(t, "not today: it is sunday", f.Message)
	require.EqualValues(t, 0, a.call("AuditLog.count", `{}`)["count"])
	require.EqualValues(t, 0, a.call("Todo.count", `{}`)["count"])
}

func TestAfterCommitIsForWhatGoesOutside(t *testing.T) {
	t.Parallel()
	if forEach(t, TestAfterCommitIsForWhatGoesOutside) {
		return
	}
	told := 0
	a := start(t, ent.Entities(onTodo(func(ctx context.Context, m *ent.TodoMutation, next stdent.Mutator) (stdent.Value, error) {
		run.AfterCommit(ctx, func(context.Context) { told++ })
		return next.Mutate(ctx, m)
	})))
	a.call("Todo.upsert", `{"model":{"title":"x"}}`)
	require.NoError(t, a.engine.WaitAfterCommit(t.Context()))
	require.Equal(t, 1, told)
	_, err := a.run(script(run.Spec{DryRun: true}, func(call func(string, string) (map[string]any, error), _ *run.Attempt) error {
		_, err := call("Todo.upsert", `{"model":{"title":"x"}}`)
		return err
	}))
	require.NoError(t, err)
	require.NoError(t, a.engine.WaitAfterCommit(t.Context()))
	require.Equal(t, 1, told)
}

func TestEdgesMoveRowsOfOthers(t *testing.T) {
	t.Parallel()
	if forEach(t, TestEdgesMoveRowsOfOthers) {
		return
	}
	a := start(t, ent.Entities())
	a.call("Todo.upsert-many", `{"models":[{"id":"t1","title":"1"},{"id":"t2","title":"2"}]}`)
	changes, err := a.recorded("Person.upsert", `{"model":{"id":"ann","name":"Ann","email":"a","todos":["t1","t2"]}}`)
	require.NoError(t, err)
	require.Equal(t, []string{"create Person ann", "update Todo t1", "update Todo t2"}, said(changes))
	require.Contains(t, string(changes[1].Before), `"assignedUserId":null`)
	require.Contains(t, string(changes[1].After), `"assignedUserId":"ann"`)
	changes, err = a.recorded("Person.patch", `{"id":"ann","changes":{"todos":["t2"]}}`)
	require.NoError(t, err)
	require.Equal(t, []string{"update Person ann", "update Todo t1"}, said(changes), "what stays is not touched")
	require.Nil(t, a.call("Todo.get-by-id", `{"id":"t1"}`)["assignedUserId"])
	require.Equal(t, "ann", a.call("Todo.get-by-id", `{"id":"t2"}`)["assignedUserId"])
}

// A hook that panics after its row was written, in a call whose fault the script
// catches, leaves nothing of the call.
func TestAPanicOfAHookLeavesNothing(t *testing.T) {
	t.Parallel()
	if forEach(t, TestAPanicOfAHookLeavesNothing) {
		return
	}
	a := start(t, ent.Entities(onTodo(func(ctx context.Context, m *ent.TodoMutation, next stdent.Mutator) (stdent.Value, error) {
		v, err := next.Mutate(ctx, m)
		if title, _ := m.Title(); err == nil && title == "panic" {
			panic("a mistake of the app")
		}
		return v, err
	})))
	for _, spec := range []run.Spec{{Atomic: true}, {Atomic: true, Record: true}, {}} {
		out, err := a.run(script(spec, func(call func(op, input string) (map[string]any, error), _ *run.Attempt) error {
			_, err := call("Todo.upsert-many", `{"models":[{"id":"a","title":"panic"},{"id":"b","title":"x"}]}`)
			require.Equal(t, fault.Internal, fault.CodeOf(err))
			_, err = call("Todo.upsert", `{"model":{"id":"c","title":"x"}}`)
			require.NoError(t, err)
			_, err = call("Todo.delete", `{"id":"c"}`)
			return err
		}))
		require.NoError(t, err)
		require.True(t, out.Committed)
		require.Zero(t, a.call("Todo.count", `{}`)["count"])
	}
}

func TestHooksMayUseAnyClientOfTheirs(t *testing.T) {
	t.Parallel()
	if forEach(t, TestHooksMayUseAnyClientOfTheirs) {
		return
	}
	var base *ent.Client
	a := start(t, ent.Entities(ent.OnClient(func(c *ent.Client) {
		base = c
		c.Todo.Use(func(next stdent.Mutator) stdent.Mutator {
			return stdent.MutateFunc(func(ctx context.Context, m stdent.Mutation) (stdent.Value, error) {
				v, err := next.Mutate(ctx, m)
				if err != nil {
					return v, err
				}
				if err := c.AuditLog.Create().SetMessage("base").Exec(ctx); err != nil {
					return v, err
				}
				if err := m.(*ent.TodoMutation).Client().AuditLog.Create().SetMessage("mutation").Exec(ctx); err != nil {
					return v, err
				}
				tx, err := m.(*ent.TodoMutation).Tx()
				if err != nil {
					return v, err
				}
				if err := tx.Commit(); err == nil {
					return v, errors.New("a hook could commit the run's transaction")
				}
				return v, nil
			})
		})
	})))
	_, out, err := a.try("Todo.upsert", `{"model":{"id":"x","title":"x"}}`)
	require.NoError(t, err)
	require.Len(t, out.Changes, 3)
	require.NotNil(t, base)
	_, err = a.run(script(atomic, func(call func(string, string) (map[string]any, error), _ *run.Attempt) error {
		if _, err := call("Todo.upsert", `{"model":{"title":"y"}}`); err != nil {
			return err
		}
		return errors.New("boom")
	}))
	require.Error(t, err)
	require.EqualValues(t, 2, a.call("AuditLog.count", `{}`)["count"], "what hooks wrote went with the run")
}

func TestInterceptorsAreRefused(t *testing.T) {
	t.Parallel()
	if forEach(t, TestInterceptorsAreRefused) {
		return
	}
	p := entities.Provide(ent.Entities(ent.OnClient(func(c *ent.Client) {
		c.Todo.Intercept(stdent.InterceptFunc(func(next stdent.Querier) stdent.Querier { return next }))
	})), entities.Options{})
	require.ErrorContains(t, p.Start(context.Background(), host{place(t)}), "Todo")
}

// What a hook leaves for after the commit is dropped with the write that it stands around, where an action
// goes on after an error or rolls back a transaction of its own.
func TestAfterCommitIsDroppedWithItsSavepoint(t *testing.T) {
	t.Parallel()
	if forEach(t, TestAfterCommitIsDroppedWithItsSavepoint) {
		return
	}
	var told []string
	tell := func(c *ent.Client) {
		c.Todo.Use(func(next stdent.Mutator) stdent.Mutator {
			return stdent.MutateFunc(func(ctx context.Context, m stdent.Mutation) (stdent.Value, error) {
				title, _ := m.(*ent.TodoMutation).Title()
				run.AfterCommit(ctx, func(context.Context) { told = append(told, title) })
				v, err := next.Mutate(ctx, m)
				if err == nil && title == "bad" {
					err = errors.New("it is bad")
				}
				return v, err
			})
		})
	}
	a, _ := working(t, func(ctx context.Context, c *ent.Client) error {
		tell(c)
		for _, title := range []string{"first", "bad", "last"} {
			if err := c.Todo.Create().SetTitle(title).Exec(ctx); (err != nil) != (title == "bad") {
				return fmt.Errorf("%s: %w", title, err)
			}
		}
		tx, err := c.Tx(ctx)
		if err != nil {
			return err
		}
		if err := tx.Todo.Create().SetTitle("rolled back").Exec(ctx); err != nil {
			return err
		}
		return tx.Rollback()
	})
	require.NoError(t, a.work())
	require.NoError(t, a.engine.WaitAfterCommit(t.Context()))
	require.Equal(t, []string{"first", "last"}, told)
	require.EqualValues(t, 2, a.call("Todo.count", `{}`)["count"])
}
