package owncode

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/fixture/ent"
	"github.com/koan-go/koan/tests/fixture/ent/todo"
	"github.com/koan-go/koan/tests/pgtest"
)

// ways are the ways in which app code writes a todo "x" through a client.
var ways = map[string]func(ctx context.Context, c *ent.Client) error{
	"create": func(ctx context.Context, c *ent.Client) error { return c.Todo.Create().SetTitle("x").Exec(ctx) },
	"bulk": func(ctx context.Context, c *ent.Client) error {
		return c.Todo.CreateBulk(c.Todo.Create().SetTitle("x"), c.Todo.Create().SetTitle("y")).Exec(ctx)
	},
	"update": func(ctx context.Context, c *ent.Client) error {
		return c.Todo.UpdateOneID("1").SetTitle("x").Exec(ctx)
	},
	"update of many": func(ctx context.Context, c *ent.Client) error {
		return c.Todo.Update().Where(todo.Title("first")).SetTitle("x").Exec(ctx)
	},
	"update of a loaded entity": func(ctx context.Context, c *ent.Client) error {
		one, err := c.Todo.Query().Only(ctx)
		if err != nil {
			return err
		}
		return one.Update().SetTitle("x").Exec(ctx)
	},
	"delete": func(ctx context.Context, c *ent.Client) error { return c.Todo.DeleteOneID("1").Exec(ctx) },
	"delete of many": func(ctx context.Context, c *ent.Client) error {
		_, err := c.Todo.Delete().Exec(ctx)
		return err
	},
	"transaction": func(ctx context.Context, c *ent.Client) error {
		tx, err := c.Tx(ctx)
		if err != nil {
			return err
		}
		if err := tx.Todo.Create().SetTitle("x").Exec(ctx); err != nil {
			return err
		}
		return tx.Commit()
	},
	"transaction with options": func(ctx context.Context, c *ent.Client) error {
		tx, err := c.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		if err := tx.Todo.Create().SetTitle("x").Exec(ctx); err != nil {
			return err
		}
		return tx.Commit()
	},
	"entity that is not exposed": func(ctx context.Context, c *ent.Client) error {
		if err := c.Draft.Create().SetText("x").Exec(ctx); err != nil {
			return err
		}
		return c.Todo.Create().SetTitle("x").Exec(ctx)
	},
}

// What app code writes through any client is a part of the run: it goes with the run's error and
// with a dry run, it is reported, and it can be undone.
func TestOwnWritesArePartOfTheRun(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestOwnWritesArePartOfTheRun) {
		return
	}
	clients := map[string]func(ctx context.Context, s *shop) (*ent.Client, error){
		"base": func(_ context.Context, s *shop) (*ent.Client, error) { return s.base("default"), nil },
		"run":  func(ctx context.Context, _ *shop) (*ent.Client, error) { return ent.ClientOf(ctx) },
		"tx":   func(ctx context.Context, _ *shop) (*ent.Client, error) { return ent.FromContext(ctx), nil },
	}
	for name, client := range clients {
		t.Run(name, func(t *testing.T) {
			var way func(ctx context.Context, c *ent.Client) error
			fails := errors.New("no")
			var end error
			s := open(t, func(ctx context.Context, s *shop, _ framework.Call) error {
				c, err := client(ctx, s)
				if err != nil {
					return err
				}
				if err := way(ctx, c); err != nil {
					return err
				}
				return end
			})
			_, err := s.Call("koan::Todo.upsert", map[string]any{"model": map[string]any{"id": "1", "title": "first"}})
			require.NoError(t, err)
			for what, does := range ways {
				if name == "tx" && (what == "transaction" || what == "transaction with options") {
					continue // ent has one at a time
				}
				t.Run(what, func(t *testing.T) {
					way, end = does, fails
					_, err := s.TryAction("work", nothing{})
					require.Equal(t, fault.ExecutionError, fault.CodeOf(err), "%v", err)
					require.Equal(t, []string{"first"}, s.titles("default"), "the action failed")

					r := s.Run(`try { SDK.Actions.work({}) } catch (e) { SDK.Out.answer(e.code) }`, koantest.Input{Include: []string{"changes"}})
					require.JSONEq(t, `"execution_error"`, string(r.Answer))
					require.Empty(t, r.Changes)
					require.Equal(t, []string{"first"}, s.titles("default"), "a script caught the error")

					end = nil
					r = s.Run(`SDK.Actions.work({}); SDK.Out.answer(SDK.Entities.Todo.all({sort: "title"}).map((t) => t.title))`, koantest.Input{DryRun: true})
					require.NotEqual(t, `["first"]`, string(r.Answer), "the script sees it")
					require.NotEmpty(t, r.Changes)
					require.Equal(t, []string{"first"}, s.titles("default"), "a dry run")

					dry := r.ChangeCounts
					r = s.Run(`SDK.Actions.work({})`, koantest.Input{})
					require.NotEqual(t, []string{"first"}, s.titles("default"))
					require.NotEmpty(t, r.ChangeCounts)
					require.Equal(t, dry, r.ChangeCounts)

					if what == "entity that is not exposed" {
						_, err = s.Call("koan::Todo.delete-by-query", map[string]any{"filter": map[string]any{"title": "x"}, "all": true})
						require.NoError(t, err)
						return
					}
					undone, err := s.Call("code::koan.undo", map[string]any{"runId": r.RunID})
					require.NoError(t, err, string(undone))
					require.Equal(t, []string{"first"}, s.titles("default"), "it was undone")
				})
			}
		})
	}
}

// App code sees what the run wrote, through every client, and scripts see what it wrote.
func TestOwnReadsSeeTheRun(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestOwnReadsSeeTheRun) {
		return
	}
	s := open(t, func(ctx context.Context, s *shop, call framework.Call) error {
		base := s.base("default")
		before, err := base.Todo.Query().Count(ctx)
		if err != nil {
			return err
		}
		if err := call.Invoke(ctx, "koan::Todo.upsert", map[string]any{"model": map[string]any{"id": "called", "title": "called"}}, nil); err != nil {
			return err
		}
		one, err := base.Todo.Get(ctx, "called")
		if err != nil {
			return err
		}
		if err := base.Step.Create().SetText("s").SetTodoID("called").Exec(ctx); err != nil {
			return err
		}
		steps, err := one.QuerySteps().Count(ctx) // of an entity that was loaded before
		if err != nil {
			return err
		}
		after, err := base.Todo.Query().WithSteps().All(ctx)
		if err != nil {
			return err
		}
		if steps != 1 || len(after) != before+1 || len(after[len(after)-1].Edges.Steps) != 1 {
			return fmt.Errorf("%d steps, %d todos before and %d after", steps, before, len(after))
		}
		var seen struct{ Count int }
		if err := call.Invoke(ctx, "koan::Step.count", map[string]any{}, &seen); err != nil || seen.Count != 1 {
			return fmt.Errorf("%d steps are seen by calls: %w", seen.Count, err)
		}
		return nil
	})
	s.Action("work", nothing{}, nil)
}

// An error that the app's code catches leaves nothing of its mutation, and the transaction usable.
func TestCaughtErrorsOfOwnWrites(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestCaughtErrorsOfOwnWrites) {
		return
	}
	s := open(t, func(ctx context.Context, s *shop, _ framework.Call) error {
		base := s.base("default")
		if err := base.Person.Create().SetName("a").SetEmail("a@example.org").Exec(ctx); err != nil {
			return err
		}
		err := base.Person.Create().SetName("b").SetEmail("a@example.org").Exec(ctx)
		if !ent.IsConstraintError(err) || fault.CodeOf(err) != fault.Conflict {
			return fmt.Errorf("want a constraint error, got %w", err)
		}
		if err := base.Todo.UpdateOneID("none").SetTitle("x").Exec(ctx); !ent.IsNotFound(err) {
			return fmt.Errorf("want not found, got %w", err)
		}
		if err := base.Todo.Create().SetTitle("").Exec(ctx); !ent.IsValidationError(err) {
			return fmt.Errorf("want a validation error, got %w", err)
		}
		if err := base.Person.Create().SetName("root").SetEmail("r").Exec(ctx); fault.CodeOf(err) != fault.InvalidPayload || fault.From(err).Message != "nobody is called root" {
			return fmt.Errorf("want the hook's refusal, got %w", err)
		}
		tx, err := base.Tx(ctx)
		if err != nil {
			return err
		}
		if err := tx.Todo.Create().SetTitle("rolled back").Exec(ctx); err != nil {
			return err
		}
		if err := tx.Rollback(); err != nil {
			return err
		}
		return base.Todo.Create().SetTitle("after all").Exec(ctx)
	})
	r := s.Run(`SDK.Actions.work({})`, koantest.Input{Include: []string{"changes"}})
	require.Len(t, r.Changes, 2)
	require.Equal(t, []string{"after all"}, s.titles("default"))
}

// With a context that is not the run's, the run's own client refuses to write: nobody would hear of it.
func TestOwnWritesNeedTheContextOfTheRun(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestOwnWritesNeedTheContextOfTheRun) {
		return
	}
	var leaked context.Context
	s := open(t, func(ctx context.Context, s *shop, _ framework.Call) error {
		leaked = ctx
		return ent.FromContext(ctx).Todo.Create().SetTitle("x").Exec(context.Background())
	})
	_, err := s.TryAction("work", nothing{})
	require.Equal(t, fault.InvalidRequest, fault.CodeOf(err), "%v", err)
	require.Empty(t, s.titles("default"))
	err = s.base("default").Todo.Create().SetTitle("late").Exec(leaked)
	require.Equal(t, fault.InvalidRequest, fault.CodeOf(err), "the run is over: %v", err)
	_, err = ent.ClientOf(t.Context())
	require.Equal(t, fault.InvalidRequest, fault.CodeOf(err), "no run: %v", err)
	require.Empty(t, s.titles("default"))
}
