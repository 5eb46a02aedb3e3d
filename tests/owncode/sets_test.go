package owncode

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/fixture/ent"
	"github.com/koan-go/koan/tests/pgtest"
)

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
