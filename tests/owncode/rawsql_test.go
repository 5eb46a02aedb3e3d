package owncode

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/fixture/ent"
	"github.com/koan-go/koan/tests/pgtest"
)

// viaAction is a script that calls the action and has something of its own to undo.
const viaAction = `SDK.Actions.work({}); SDK.Entities.Todo.upsert({id: "own", title: "own"})`

// What code writes in SQL of its own, no undo knows: the run's own result says so, and a run that has to
// be undoable is refused.
func TestSQLOfTheAppIsNotUndone(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestSQLOfTheAppIsNotUndone) {
		return
	}
	exec := func(statement string) func(ctx context.Context, c *ent.Client) error {
		return func(ctx context.Context, c *ent.Client) error {
			_, err := c.ExecContext(ctx, statement)
			return err
		}
	}
	query := func(statement string) func(ctx context.Context, c *ent.Client) error {
		return func(ctx context.Context, c *ent.Client) error {
			rows, err := c.QueryContext(ctx, statement)
			if err != nil {
				return err
			}
			for rows.Next() {
				continue
			}
			return rows.Close()
		}
	}
	cases := map[string]struct {
		does   func(ctx context.Context, c *ent.Client) error
		wrote  string // the title of t afterwards
		only   string // the database that has it
		silent bool
	}{
		"a statement":              {does: exec(`UPDATE todos SET title = 'raw' WHERE id = 't'`), wrote: "raw"},
		"one that returns rows":    {does: query(`UPDATE todos SET title = 'raw' WHERE id = 't' RETURNING id`), wrote: "raw"},
		"behind a name":            {does: exec(`WITH chosen AS (SELECT 't' AS id) UPDATE todos SET title = 'raw' WHERE id IN (SELECT id FROM chosen)`), wrote: "raw"},
		"an analysed one":          {does: query(`EXPLAIN ANALYZE UPDATE todos SET title = 'raw' WHERE id = 't'`), wrote: "raw", only: "PostgreSQL"},
		"the second of several":    {does: exec(`SELECT 1; UPDATE todos SET title = 'raw' WHERE id = 't'`), wrote: "raw"},
		"one that reads":           {does: query(`SELECT title FROM todos`), wrote: "t", silent: true},
		"one that reads by a name": {does: query(`WITH chosen AS (SELECT updated_at FROM todos) SELECT * FROM chosen`), wrote: "t", silent: true},
		"a hidden entity":          {does: func(ctx context.Context, c *ent.Client) error { return c.Draft.Create().SetText("d").Exec(ctx) }, wrote: "t"},
		"a transaction of its own": {wrote: "raw", does: func(ctx context.Context, c *ent.Client) error {
			tx, err := c.Tx(ctx)
			if err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, `UPDATE todos SET title = 'raw' WHERE id = 't'`); err != nil {
				return err
			}
			return tx.Commit()
		}},
		"one that is taken back": {wrote: "t", silent: true, does: func(ctx context.Context, c *ent.Client) error {
			tx, err := c.Tx(ctx)
			if err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, `UPDATE todos SET title = 'raw' WHERE id = 't'`); err != nil {
				return err
			}
			return tx.Rollback()
		}},
	}
	for name, c := range cases {
		if c.only != "" && (c.only == "PostgreSQL") != pgtest.Here(t) {
			continue
		}
		work := func(ctx context.Context, s *shop, _ framework.Call) error { return c.does(ctx, s.base("default")) }
		s := open(t, work)
		s.Run(`SDK.Entities.Todo.upsert({id: "t", title: "t"})`, koantest.Input{})
		done := s.Run(viaAction, koantest.Input{})
		require.Contains(t, s.titles("default"), c.wrote, name)
		if c.silent {
			require.Empty(t, done.Logs, name)
			continue
		}
		require.Len(t, done.Logs, 1, name)
		require.Equal(t, "warn", done.Logs[0].Level, name)
		require.Contains(t, done.Logs[0].Message, "a part of what this run changed cannot be undone: the app's code wrote once in SQL of its own", name)
		_, err := s.Call("code::koan.undo", map[string]any{"runId": done.RunID})
		require.NoError(t, err, name)
		require.Equal(t, []string{c.wrote}, s.titles("default"), "%s: the rest is undone", name)

		s = openWith(t, work, koantest.Setting{Key: "run.requireUndo", Value: "true"})
		s.Run(`SDK.Entities.Todo.upsert({id: "t", title: "t"})`, koantest.Input{})
		_, err = s.Call("code::koan.execute", map[string]any{"code": viaAction})
		require.Equal(t, fault.CapabilityUnsupported, fault.CodeOf(err), "%s: %v", name, err)
		_, err = s.TryAction("work", nothing{})
		require.Equal(t, fault.CapabilityUnsupported, fault.CodeOf(err), "%s: %v", name, err)
		require.Equal(t, []string{"t"}, s.titles("default"), "%s: nothing is kept", name)
	}
}
