package owncode

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"

	stdent "entgo.io/ent"
	entsql "entgo.io/ent/dialect/sql"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/framework/run/store"
	"github.com/koan-go/koan/tests/fixture/ent"
	"github.com/koan-go/koan/tests/fixture/ent/label"
	"github.com/koan-go/koan/tests/fixture/ent/person"
	"github.com/koan-go/koan/tests/fixture/ent/todo"
	"github.com/koan-go/koan/tests/pgtest"
)

// everything is a script that returns all rows, but for versions, which count on.
const everything = `SDK.Out.answer([
	SDK.Entities.Todo.all({sort: "id", with: ["labels", "steps"]}).map(({version, updatedAt, ...t}) => t),
	SDK.Entities.Person.all({sort: "id"}), SDK.Entities.Label.all({sort: "id", with: "todos"}).map((l) => [l.id, l.name, l.todos.map((t) => t.id)]),
])`

// upserts are writes by ent's OnConflict to a set with the person p, the todo t and the label "home" of
// it, and what they report.
var upserts = map[string]struct {
	does                      func(ctx context.Context, c *ent.Client) error
	created, updated, deleted int
}{
	"one that is there": {updated: 1, does: func(ctx context.Context, c *ent.Client) error {
		return c.Person.Create().SetName("second").SetEmail("p@example.org").OnConflictColumns(person.FieldEmail).UpdateName().Exec(ctx)
	}},
	"one that is new": {created: 1, does: func(ctx context.Context, c *ent.Client) error {
		return c.Person.Create().SetName("second").SetEmail("q@example.org").OnConflictColumns(person.FieldEmail).UpdateName().Exec(ctx)
	}},
	"one by its id": {updated: 1, does: func(ctx context.Context, c *ent.Client) error {
		return c.Todo.Create().SetID("t").SetTitle("second").OnConflictColumns(todo.FieldID).UpdateNewValues().Exec(ctx)
	}},
	"many of both": {created: 2, updated: 2, does: func(ctx context.Context, c *ent.Client) error {
		one := func(name, email string) *ent.PersonCreate { return c.Person.Create().SetName(name).SetEmail(email) }
		if err := c.Person.CreateBulk(one("q", "q@example.org"), one("second", "p@example.org")).OnConflictColumns(person.FieldEmail).UpdateName().Exec(ctx); err != nil {
			return err
		}
		return c.Label.CreateBulk(c.Label.Create().SetName("home"), c.Label.Create().SetName("away")).OnConflict(entsql.ConflictColumns(label.FieldName), entsql.ResolveWith(func(u *entsql.UpdateSet) {
			u.Set(label.FieldName, entsql.ExprFunc(func(b *entsql.Builder) { b.WriteString("excluded.name || '!'") }))
		})).Exec(ctx)
	}},
	"one that is ignored": {does: func(ctx context.Context, c *ent.Client) error {
		return c.Person.Create().SetName("second").SetEmail("p@example.org").OnConflictColumns(person.FieldEmail).Ignore().Exec(ctx)
	}},
	"one of which nothing is done": {does: func(ctx context.Context, c *ent.Client) error {
		err := c.Person.Create().SetName("second").SetEmail("p@example.org").OnConflictColumns(person.FieldEmail).DoNothing().Exec(ctx)
		if !errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("want no rows, got %w", err)
		}
		return nil
	}},
	"many of which something is done for one": {created: 1, does: func(ctx context.Context, c *ent.Client) error {
		return c.Person.CreateBulk(
			c.Person.Create().SetID("p").SetName("second").SetEmail("p@example.org"), c.Person.Create().SetID("q").SetName("q").SetEmail("q@example.org"),
		).OnConflict(entsql.DoNothing()).Exec(ctx)
	}},
	"one with links": {created: 1, updated: 1, does: func(ctx context.Context, c *ent.Client) error {
		if err := c.Todo.Create().SetID("u").SetTitle("another").Exec(ctx); err != nil {
			return err
		}
		return c.Label.Create().SetName("home").AddTodoIDs("u").OnConflictColumns(label.FieldName).UpdateNewValues().Exec(ctx)
	}},
	"one that gets another id": {created: 1, deleted: 1, does: func(ctx context.Context, c *ent.Client) error {
		return c.Person.Create().SetID("q").SetName("second").SetEmail("p@example.org").OnConflict(entsql.ConflictColumns(person.FieldEmail), entsql.ResolveWithNewValues()).Exec(ctx)
	}},
	"one that was made before": {created: 1, does: func(ctx context.Context, c *ent.Client) error {
		if err := c.Label.Create().SetName("away").Exec(ctx); err != nil {
			return err
		}
		return c.Label.Create().SetName("away").OnConflictColumns(label.FieldName).UpdateNewValues().Exec(ctx)
	}},
	"one that was changed before": {updated: 1, does: func(ctx context.Context, c *ent.Client) error {
		if err := c.Person.UpdateOneID("p").SetName("between").Exec(ctx); err != nil {
			return err
		}
		return c.Person.Create().SetName("second").SetEmail("p@example.org").OnConflictColumns(person.FieldEmail).UpdateName().Exec(ctx)
	}},
	"one in a transaction": {updated: 1, does: func(ctx context.Context, c *ent.Client) error {
		tx, err := c.Tx(ctx)
		if err != nil {
			return err
		}
		if err := tx.Person.Create().SetName("second").SetEmail("p@example.org").OnConflictColumns(person.FieldEmail).UpdateName().Exec(ctx); err != nil {
			return err
		}
		return tx.Commit()
	}},
	"one in a hook of its own kind": {created: 1, updated: 1, does: func(ctx context.Context, c *ent.Client) error {
		return c.Person.Create().SetName("hooked").SetEmail("q@example.org").Exec(ctx)
	}},
}

// upserting is a hook that upserts a person where another one called "hooked" is created.
func upserting(_ *shop, c *ent.Client) {
	c.Person.Use(func(next stdent.Mutator) stdent.Mutator {
		return stdent.MutateFunc(func(ctx context.Context, m stdent.Mutation) (stdent.Value, error) {
			if name, _ := m.Field(person.FieldName); name == "hooked" && m.Op().Is(stdent.OpCreate) {
				if err := c.Person.Create().SetName("second").SetEmail("p@example.org").OnConflictColumns(person.FieldEmail).UpdateName().Exec(ctx); err != nil {
					return nil, err
				}
			}
			return next.Mutate(ctx, m)
		})
	})
}

// An upsert by ent's OnConflict is reported as what it did to each row, and an undo restores the rows
// that were there.
func TestUpsertsByEntAreUndone(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestUpsertsByEntAreUndone) {
		return
	}
	var does func(ctx context.Context, c *ent.Client) error
	s := open(t, func(ctx context.Context, s *shop, _ framework.Call) error { return does(ctx, s.base("default")) }, upserting)
	s.Run(`
		SDK.Entities.Person.upsert({id: "p", name: "first", email: "p@example.org"});
		const home = SDK.Entities.Label.upsert({name: "home"});
		SDK.Entities.Todo.upsert({id: "t", title: "first", labels: [home.id]});
		SDK.Entities.Todo.patch("t", {notes: "x"});`, koantest.Input{})
	first := s.Run(everything, koantest.Input{}).Answer
	version := func() int {
		one, err := s.base("default").Todo.Get(t.Context(), "t")
		require.NoError(t, err)
		return one.Version
	}
	for name, u := range upserts {
		t.Run(name, func(t *testing.T) {
			does = u.does
			before := version()
			for _, in := range []koantest.Input{{DryRun: true}, {}} {
				r := s.Run(`SDK.Actions.work({})`, in)
				created, updated, deleted := 0, 0, 0
				for _, c := range r.ChangeCounts {
					created, updated, deleted = created+c.Created, updated+c.Updated, deleted+c.Deleted
				}
				require.Equal(t, []int{u.created, u.updated, u.deleted}, []int{created, updated, deleted}, "%+v", r.ChangeCounts)
				for _, c := range r.Changes {
					require.Equal(t, c.Action != store.Create, c.Before != nil, "%+v", c)
				}
				if in.DryRun {
					continue
				}
				if name == "one by its id" {
					require.Greater(t, version(), before, "a version never comes again")
				}
				if u.created+u.updated+u.deleted == 0 {
					require.JSONEq(t, string(first), string(s.Run(everything, koantest.Input{}).Answer))
					continue
				}
				require.NotEqual(t, string(first), string(s.Run(everything, koantest.Input{}).Answer))
				undone, err := s.Call("code::koan.undo", map[string]any{"runId": r.RunID})
				require.NoError(t, err, string(undone))
				require.JSONEq(t, string(first), string(s.Run(everything, koantest.Input{}).Answer), "it was undone")
			}
		})
	}
}
