package owncode

import (
	"context"
	"errors"
	"fmt"
	"testing"

	stdent "entgo.io/ent"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/tests/fixture"
	"github.com/koan-go/koan/tests/fixture/ent"
	"github.com/koan-go/koan/tests/fixture/ent/person"
	"github.com/koan-go/koan/tests/pgtest"
)

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
