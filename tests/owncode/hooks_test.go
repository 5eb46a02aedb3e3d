package owncode

import (
	"context"
	"fmt"
	"sync"
	"testing"

	stdent "entgo.io/ent"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/fixture/ent"
	"github.com/koan-go/koan/tests/fixture/ent/auditlog"
	"github.com/koan-go/koan/tests/pgtest"
)

// audited is a hook that writes a row of the audit through the base client, and then fails for some.
func audited(s *shop, c *ent.Client) {
	c.Todo.Use(func(next stdent.Mutator) stdent.Mutator {
		return stdent.MutateFunc(func(ctx context.Context, m stdent.Mutation) (stdent.Value, error) {
			if err := c.AuditLog.Create().SetMessage("before").Exec(ctx); err != nil {
				return nil, err
			}
			v, err := next.Mutate(ctx, m)
			if err != nil {
				return nil, err
			}
			tx, err := c.Tx(ctx)
			if err != nil {
				return nil, err
			}
			if err := tx.AuditLog.Create().SetMessage("after").Exec(ctx); err != nil {
				return nil, err
			}
			if err := tx.Commit(); err != nil {
				return nil, err
			}
			if title, _ := m.Field("title"); title == "refused" {
				return nil, fmt.Errorf("this title is refused")
			}
			return v, nil
		})
	})
}

// Outside of all runs, a mutation and what its hooks do are kept or undone together, however many go
// on at once.
func TestHooksOutsideOfRunsLeaveNothing(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestHooksOutsideOfRunsLeaveNothing) {
		return
	}
	s := open(t, nil, audited)
	c, ctx := s.base("default"), t.Context()
	require.NoError(t, c.Todo.Create().SetID("1").SetTitle("first").Exec(ctx))
	refused := map[string]func() error{
		"create": func() error { return c.Todo.Create().SetTitle("refused").Exec(ctx) },
		"bulk": func() error {
			return c.Todo.CreateBulk(c.Todo.Create().SetTitle("a"), c.Todo.Create().SetTitle("refused"), c.Todo.Create().SetTitle("b")).Exec(ctx)
		},
		"bulk of which the first fails last": func() error {
			return c.Todo.CreateBulk(c.Todo.Create().SetTitle("refused"), c.Todo.Create().SetTitle("b")).Exec(ctx)
		},
		"update":         func() error { return c.Todo.UpdateOneID("1").SetTitle("refused").Exec(ctx) },
		"update of many": func() error { return c.Todo.Update().SetTitle("refused").Exec(ctx) },
	}
	for name, does := range refused {
		t.Run(name, func(t *testing.T) {
			require.EqualError(t, does(), "this title is refused")
			require.Equal(t, []string{"first"}, s.titles("default"))
			require.Equal(t, 2, c.AuditLog.Query().CountX(ctx))
		})
	}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if err := c.Todo.Create().SetTitle("refused").Exec(ctx); err == nil || err.Error() != "this title is refused" {
				t.Errorf("want a refusal, got %v", err)
			}
		})
	}
	all.Wait()
	require.Equal(t, []string{"first"}, s.titles("default"))
	require.Equal(t, 2, c.AuditLog.Query().CountX(ctx))
	require.NoError(t, c.Todo.CreateBulk(c.Todo.Create().SetTitle("b"), c.Todo.Create().SetTitle("c")).Exec(ctx))
	require.Equal(t, 6, c.AuditLog.Query().CountX(ctx))

	tx, err := c.Tx(ctx) // the app's own transaction, which it ends
	require.NoError(t, err)
	require.EqualError(t, tx.Todo.Create().SetTitle("refused").Exec(ctx), "this title is refused")
	require.NoError(t, tx.Rollback())
	require.Equal(t, []string{"b", "c", "first"}, s.titles("default"))
}

// In a run, what hooks write through base clients and in transactions of theirs goes with it.
func TestHooksInRuns(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestHooksInRuns) {
		return
	}
	s := open(t, nil, audited)
	_, err := s.Call("koan::Todo.upsert", map[string]any{"model": map[string]any{"title": "refused"}})
	require.Equal(t, fault.InvalidPayload, fault.CodeOf(err))
	require.Zero(t, s.base("default").AuditLog.Query().CountX(t.Context()))
	r := s.Run(`SDK.Entities.Todo.upsert({title: "kept"})`, koantest.Input{Include: []string{"changes"}})
	require.Len(t, r.Changes, 3)
	require.Equal(t, 2, s.base("default").AuditLog.Query().Where(auditlog.MessageIn("before", "after")).CountX(t.Context()))
}
