// Package owncode tests what an app's Go code does beside the calls that it makes: through ent's
// clients, in actions, hooks, jobs and outside of all runs, over both databases.
package owncode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	stdent "entgo.io/ent"
	"github.com/stretchr/testify/require"

	_ "github.com/koan-go/koan/codemode/worker"
	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/tests/fixture"
	"github.com/koan-go/koan/tests/fixture/ent"
	"github.com/koan-go/koan/tests/fixture/ent/auditlog"
	"github.com/koan-go/koan/tests/fixture/ent/person"
	"github.com/koan-go/koan/tests/fixture/ent/todo"
	"github.com/koan-go/koan/tests/pgtest"
)

// shop is an app whose code keeps the base client of each set, as an existing project does.
type shop struct {
	*koantest.Kit
	t *testing.T

	mu      sync.Mutex
	clients map[string]*ent.Client
}

// base returns the base client of a set.
func (s *shop) base(set string) *ent.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	require.NotNil(s.t, s.clients[set], "the set %s is not open", set)
	return s.clients[set]
}

type nothing struct{}

// open starts the fixture app with one action, "work", that does what work does, and with hooks.
func open(t *testing.T, work func(ctx context.Context, s *shop, call framework.Call) error, hooks ...func(s *shop, c *ent.Client)) *shop {
	t.Helper()
	s := &shop{t: t, clients: map[string]*ent.Client{}}
	app := fixture.App()
	app.Entities = ent.Entities(ent.OnClient(func(set string, c *ent.Client) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.clients[set] = c
		for _, hook := range hooks {
			hook(s, c)
		}
	}))
	app.GoActions = []framework.GoAction{framework.Action("work", "Does what the test says.", func(ctx context.Context, call framework.Call, _ nothing) (nothing, error) {
		return nothing{}, work(ctx, s, call)
	})}
	settings := []koantest.Setting{{Key: "journal.enabled", Value: "true"}}
	if pgtest.Here(t) {
		settings = append(settings, koantest.Setting{Key: "database", Value: pgtest.Place(t)})
	}
	s.Kit = koantest.NewConfined(t, app, settings...)
	return s
}

// titles returns the titles of all todos of a set, in their order.
func (s *shop) titles(set string) []string {
	s.t.Helper()
	raw, err := s.Call("koan::Todo.collection", map[string]any{"set": set, "sort": "title"})
	require.NoError(s.t, err)
	var page struct{ Items []struct{ Title string } }
	require.NoError(s.t, json.Unmarshal(raw, &page))
	out := []string{}
	for _, item := range page.Items {
		out = append(out, item.Title)
	}
	return out
}

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

// A client of another set joins the run, where a run can write to both, and is refused where not.
func TestOwnWritesToAnotherSet(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestOwnWritesToAnotherSet) {
		return
	}
	fails := errors.New("no")
	for name, work := range map[string]func(ctx context.Context, s *shop, call framework.Call) error{
		"base client": func(ctx context.Context, s *shop, _ framework.Call) error {
			return s.base("archive").Todo.Create().SetTitle("there").Exec(ctx)
		},
		"client of In": func(ctx context.Context, s *shop, call framework.Call) error {
			ctx, err := call.In(ctx, "archive")
			if err != nil {
				return err
			}
			c, err := ent.ClientOf(ctx)
			if err != nil {
				return err
			}
			return c.Todo.Create().SetTitle("there").Exec(ctx)
		},
	} {
		t.Run(name, func(t *testing.T) {
			end := fails
			s := open(t, func(ctx context.Context, s *shop, call framework.Call) error {
				if err := s.base("default").Todo.Create().SetTitle("here").Exec(ctx); err != nil {
					return err
				}
				if err := work(ctx, s, call); err != nil {
					return err
				}
				return end
			})
			_, err := s.Call("koan::Todo.upsert", map[string]any{"model": map[string]any{"id": "1", "title": "first"}, "set": "archive"})
			require.NoError(t, err)
			_, err = s.TryAction("work", nothing{})
			require.Error(t, err)
			require.Empty(t, s.titles("default"))
			require.Equal(t, []string{"first"}, s.titles("archive"))
			end = nil
			_, err = s.TryAction("work", nothing{})
			if !pgtest.Here(t) {
				require.Equal(t, fault.CrossSet, fault.CodeOf(err), "a file for each set: %v", err)
				require.Empty(t, s.titles("default"))
				return
			}
			require.NoError(t, err)
			require.Equal(t, []string{"here"}, s.titles("default"))
			require.Equal(t, []string{"first", "there"}, s.titles("archive"))
		})
	}
}

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

// Code after the commit is on its own, and so is a job; Tx makes a run of one.
func TestCodeOutsideOfActions(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestCodeOutsideOfActions) {
		return
	}
	wrote := make(chan error, 1)
	s := open(t, func(ctx context.Context, s *shop, _ framework.Call) error {
		run.AfterCommit(ctx, func(ctx context.Context) {
			wrote <- s.base("default").Todo.Create().SetTitle("after the commit").Exec(ctx)
		})
		return s.base("default").Todo.Create().SetTitle("in the run").Exec(ctx)
	})
	s.Action("work", nothing{}, nil)
	require.NoError(t, <-wrote)
	require.Equal(t, []string{"after the commit", "in the run"}, s.titles("default"))

	job := framework.Principal{Subject: "job", Sets: []string{"default"}, Scopes: []string{"*"}}
	fails := errors.New("not today")
	_, err := s.Instance().Tx(t.Context(), job, "", func(ctx context.Context, _ framework.Call) error {
		s.base("default").Todo.Create().SetTitle("of a job").ExecX(ctx)
		return fails
	})
	require.ErrorIs(t, err, fails)
	require.Len(t, s.titles("default"), 2)
	out, err := s.Instance().Tx(t.Context(), job, "", func(ctx context.Context, call framework.Call) error {
		c, err := ent.ClientOf(ctx)
		if err != nil {
			return err
		}
		if err := c.Todo.Update().SetViews(7).Exec(ctx); err != nil {
			return err
		}
		return call.Invoke(ctx, "koan::Todo.upsert", map[string]any{"model": map[string]any{"title": "of a job"}}, nil)
	})
	require.NoError(t, err)
	require.True(t, out.Committed)
	require.Equal(t, 1, out.Counts[0].Created)
	require.Equal(t, 2, out.Counts[0].Updated)
	_, err = s.Call("code::koan.undo", map[string]any{"runId": out.Run})
	require.NoError(t, err)
	require.Len(t, s.titles("default"), 2)
	_, err = s.Instance().Tx(t.Context(), job, "archive", func(context.Context, framework.Call) error { return nil })
	require.Equal(t, fault.UnknownSet, fault.CodeOf(err))
	_, err = s.Instance().Tx(t.Context(), job, "", func(ctx context.Context, _ framework.Call) error {
		_, err := s.base("default").Person.Query().Where(person.Name("nobody")).Only(ctx)
		return err
	})
	require.True(t, ent.IsNotFound(err), "%v", err)
}

// The viewer of ent's rules is the caller of the action, and the rules of a read-only action hold for
// its own writes.
func TestOwnCodeHasTheCallersViewer(t *testing.T) {
	t.Parallel()
	type key struct{}
	s := &shop{t: t}
	app := fixture.App()
	app.Entities = ent.Entities(ent.OnClient(func(_ string, c *ent.Client) {
		c.Todo.Intercept(stdent.TraverseFunc(func(ctx context.Context, q stdent.Query) error {
			if who, _ := ctx.Value(key{}).(string); who != "ann" && who != "local" {
				return fmt.Errorf("the viewer is %q", who)
			}
			return nil
		}))
	}))
	app.Viewer = func(ctx context.Context, p framework.Principal) context.Context {
		if ent.FromContext(ctx) == nil {
			t.Error("the viewer cannot ask the database")
		}
		return context.WithValue(ctx, key{}, p.Subject)
	}
	read := func(ctx context.Context, _ framework.Call, _ nothing) (nothing, error) {
		c, err := ent.ClientOf(ctx)
		if err != nil {
			return nothing{}, err
		}
		_, err = c.Todo.Query().Count(ctx)
		return nothing{}, err
	}
	write := func(ctx context.Context, _ framework.Call, _ nothing) (nothing, error) {
		c, err := ent.ClientOf(ctx)
		if err != nil {
			return nothing{}, err
		}
		return nothing{}, c.Todo.Create().SetTitle("x").Exec(ctx)
	}
	app.GoActions = []framework.GoAction{
		framework.Action("read", "Reads.", read, framework.ActionEffects("readOnly")),
		framework.Action("write", "Writes, although it says that it does not.", write, framework.ActionEffects("readOnly")),
	}
	s.Kit = koantest.New(t, app).As(auth.Principal{Subject: "ann", Scopes: []string{"*"}, Sets: []string{"*"}})
	s.Action("read", nothing{}, nil)
	_, err := s.TryAction("write", nothing{})
	require.Equal(t, fault.Forbidden, fault.CodeOf(err), "%v", err)
	require.Empty(t, s.titles("default"))
}
