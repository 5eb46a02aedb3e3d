package engine_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	stdent "entgo.io/ent"
	"entgo.io/ent/dialect"
	"entgo.io/ent/dialect/sql"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/observe"
	"github.com/koan-go/koan/tests/fixture/ent"
	"github.com/koan-go/koan/tests/soak"
)

// tagsOf are n tags. Some 655,000 are as many as a script can hold; REST could return a million.
func tagsOf(n int) []string { return slices.Repeat([]string{"x"}, n) }

// todosBeside is ent's own client of the todos that the app keeps.
func (a *app) todosBeside(t *testing.T) *ent.TodoClient {
	name := dialect.SQLite
	if postgres(t) {
		name = dialect.Postgres
	}
	return ent.NewClient(ent.Driver(sql.OpenDB(name, beside(t, a.place, "default")))).Todo
}

// What hooks add to what an input has is weighed with it, and so is what they write to other rows: the
// fault names entity and field, and nothing stays.
func TestWhatHooksWriteIsWeighed(t *testing.T) {
	t.Parallel()
	if forEach(t, TestWhatHooksWriteIsWeighed) {
		return
	}
	long := slices.Repeat([]string{strings.Repeat("y", 50_000)}, 40) // half of what a row may have
	updates := map[string]string{
		"Todo.patch":           `{"id":"id","changes":{"title":"go"}}`,
		"Todo.update-by-query": `{"filter":{"id":"id"},"maxAffected":1,"changes":{"title":"go"}}`,
	}
	creations := map[string]string{
		"Todo.upsert":      `{"model":{"title":"go"}}`,
		"Todo.upsert-many": `{"models":[{"title":"go"}]}`,
	}
	for name, c := range map[string]struct {
		before, after func(context.Context, *ent.TodoMutation) error
		calls         map[string]string
		why           string
	}{
		"sets it": {
			before: func(_ context.Context, m *ent.TodoMutation) error { m.SetTags(tagsOf(700_000)); return nil },
			calls:  creations, why: `lists, objects and members than a script can hold and could not be read back: most of it is its "tags"`,
		},
		"appends to it": {
			before: func(_ context.Context, m *ent.TodoMutation) error { m.AppendTags(long); return nil },
			calls:  updates, why: `larger than 4194304 bytes and could not be read back: most of it is its "tags"`,
		},
		"writes another row": {
			before: func(ctx context.Context, _ *ent.TodoMutation) error {
				return ent.FromContext(ctx).Todo.Create().SetTitle("another").SetNotes(strings.Repeat("n", 5<<20)).Exec(ctx)
			},
			calls: creations, why: `larger than 4194304 bytes and could not be read back: most of it is its "notes"`,
		},
		"appends to another row": {
			after: func(ctx context.Context, _ *ent.TodoMutation) error {
				return ent.FromContext(ctx).Todo.UpdateOneID("other").AppendTags(long).Exec(ctx)
			},
			calls: updates, why: `larger than 4194304 bytes and could not be read back: most of it is its "tags"`,
		},
	} {
		a := start(t, ent.Entities(onTodo(func(ctx context.Context, m *ent.TodoMutation, next stdent.Mutator) (stdent.Value, error) {
			title, _ := m.Title()
			if title == "go" && c.before != nil {
				if err := c.before(ctx, m); err != nil {
					return nil, err
				}
			}
			v, err := next.Mutate(ctx, m)
			if err == nil && title == "go" && c.after != nil {
				err = c.after(ctx, m)
			}
			return v, err
		})))
		a.call("Todo.count", `{}`)
		for id, title := range map[string]string{"other": "other", "id": "x"} {
			a.todosBeside(t).Create().SetID(id).SetTitle(title).SetTags(slices.Repeat(long, 2)[:60]).SaveX(t.Context())
		}
		for op, input := range c.calls {
			f := a.fails(fault.CallTooLarge, op, input)
			require.Contains(t, f.Message, "one Todo would", "%s, %s", name, op)
			require.Contains(t, f.Message, c.why, "%s, %s", name, op)
		}
		require.EqualValues(t, 2, a.call("Todo.count", `{"filter":{"title":{"$in":["x","other"]}}}`)["count"], name)
		require.EqualValues(t, 2, a.call("Todo.count", `{}`)["count"], name)
	}
}

// statements counts those of SQL.
type statements struct {
	mu sync.Mutex
	n  int
}

func (*statements) Run(ctx context.Context, _ observe.Run) (context.Context, func(observe.RunEnd, error)) {
	return ctx, func(observe.RunEnd, error) {}
}

func (*statements) Attempt(ctx context.Context, _ int) (context.Context, func(error)) {
	return ctx, func(error) {}
}

func (*statements) Call(ctx context.Context, _ catalog.ID, _ run.Position) (context.Context, func(error)) {
	return ctx, func(error) {}
}

func (s *statements) Statement(context.Context, string) func(error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	return func(error) {}
}

func (*statements) Part(context.Context, observe.Part) {}

func (*statements) Measure(context.Context, observe.Metric, float64) {}

func (*statements) AfterCommit(context.Context, string) {}

func (*statements) Outgoing(_ context.Context, parent observe.TraceContext) observe.TraceContext {
	return parent
}

// working starts the app with an action whose code works with ent's client of the run.
func working(t *testing.T, work func(ctx context.Context, c *ent.Client) error) (*app, *statements) {
	a := start(t, ent.Entities(), &catalog.Operation{
		ID: catalog.ActionID("work"),
		Contract: catalog.Contract{
			Input: json.RawMessage(`{"type":"object"}`), Output: json.RawMessage(`{"type":"object"}`),
		},
		Listing: catalog.Listing{Title: "Work", Summary: "Works.", Reach: catalog.Everywhere},
		Work: catalog.Work{
			Nested: true,
			Handler: func(ctx context.Context, _ catalog.Call) (json.RawMessage, error) {
				ctx, err := run.NestOf(ctx).Enter(ctx, "default")
				if err != nil {
					return nil, err
				}
				c, err := ent.ClientOf(ctx)
				if err == nil {
					err = work(ctx, c)
				}
				return json.RawMessage(`{}`), err
			},
		},
	})
	s := &statements{}
	a.engine.UseData(a.provider)
	a.engine.Observe(s)
	return a, s
}

// work calls the action.
func (a *app) work() error {
	_, _, err := a.engine.Invoke(context.Background(), run.Request{View: a.view, Principal: a.as, ID: catalog.ActionID("work"), Input: json.RawMessage(`{}`), Surface: "app"})
	return err
}

// What the code of an action writes is weighed when it has written much, and when it has ended, however
// little each write has.
func TestWhatActionsWriteIsWeighed(t *testing.T) {
	t.Parallel()
	if forEach(t, TestWhatActionsWriteIsWeighed) {
		return
	}
	part := []string{strings.Repeat("y", 100_000)}
	var did int
	a, _ := working(t, func(ctx context.Context, c *ent.Client) error {
		for did = 0; did < 50; did++ {
			if err := c.Todo.UpdateOneID("a").AppendTags(part).Exec(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	a.call("Todo.upsert", `{"model":{"id":"a","title":"a"}}`)
	err := a.work()
	require.Equal(t, fault.CallTooLarge, fault.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, `one Todo would be larger than 4194304 bytes and could not be read back: most of it is its "tags"`)
	require.Equal(t, 50, did, "it is looked at when the code has ended")
	require.EqualValues(t, 1, a.call("Todo.get-by-id", `{"id":"a"}`)["version"], "nothing stays")

	var inside error
	a, _ = working(t, func(ctx context.Context, c *ent.Client) error {
		inside = c.Todo.Create().SetTitle("b").SetTags(tagsOf(700_000)).Exec(ctx)
		return c.Todo.Create().SetTitle("c").Exec(ctx)
	})
	require.NoError(t, a.work())
	require.Equal(t, fault.CallTooLarge, fault.CodeOf(inside), "the code is told of a large write at once, and may go on")
	require.EqualValues(t, 1, a.call("Todo.count", `{}`)["count"])
}

// Weighing takes a statement for many rows, and not one for each.
func TestRowsOfActionsAreWeighedTogether(t *testing.T) {
	t.Parallel()
	if forEach(t, TestRowsOfActionsAreWeighedTogether) {
		return
	}
	made := func(rows, size int) int {
		a, s := working(t, func(ctx context.Context, c *ent.Client) error {
			for range rows {
				if err := c.Todo.Create().SetTitle("a").SetNotes(strings.Repeat("n", size)).Exec(ctx); err != nil {
					return err
				}
			}
			return nil
		})
		require.NoError(t, a.work())
		require.EqualValues(t, rows, a.call("Todo.count", `{}`)["count"])
		return s.n
	}
	few, small, large := made(1, 10), made(301, 10), made(301, 20_000)
	each := (small - few) / 300
	require.LessOrEqual(t, large, few+300*each+60, "%d and %d statements for one row and for 301, %d for large ones", few, small, large)
	require.Less(t, small, few+300*each+10)
}

// Writes by query that make rows too large together with what they have are refused.
func TestChangesByQueryAreWeighed(t *testing.T) {
	t.Parallel()
	if forEach(t, TestChangesByQueryAreWeighed) {
		return
	}
	for name, opts := range map[string][]ent.EntitiesOption{"plain": nil, "hooked": {ent.OnClient(func(c *ent.Client) { c.Use(passing) })}} {
		a := start(t, ent.Entities(opts...))
		notes := strings.Repeat("n", 3<<20)
		a.call("Todo.upsert", `{"model":{"id":"b","title":"b"}}`)
		a.todosBeside(t).Create().SetID("a").SetTitle("a").SetTags([]string{notes[:2<<20]}).SaveX(t.Context())
		f := a.fails(fault.CallTooLarge, "Todo.update-by-query", `{"filter":{},"all":true,"changes":{"notes":"`+notes+`"}}`)
		require.Contains(t, f.Message, `"notes"`, name)
		require.Nil(t, a.call("Todo.get-by-id", `{"id":"b"}`)["notes"], "%s: nothing stays", name)
		a.call("Todo.update-by-query", `{"filter":{"id":"b"},"maxAffected":1,"changes":{"notes":"`+notes+`"}}`)
	}
}

// What a row was before an update is asked only in tables where one was too large once.
func TestUpdatesDoNotAskForSizes(t *testing.T) {
	t.Parallel()
	if forEach(t, TestUpdatesDoNotAskForSizes) {
		return
	}
	s := &statements{}
	a := start(t, ent.Entities())
	a.engine.Observe(s)
	counted := func(op, input string) int {
		before := s.n
		a.call(op, input)
		return s.n - before
	}
	a.call("Todo.upsert", `{"model":{"id":"a","title":"a"}}`)
	const want = 3 // SQLite: with the change log and the receipt; PostgreSQL: with the row's place
	patch := counted("Todo.patch", `{"id":"a","changes":{"title":"x"}}`)
	require.Equal(t, want, patch)

	a.todosBeside(t).Create().SetID("heavy").SetTitle("heavy").SetNotes(strings.Repeat("n", 9<<19)).SaveX(t.Context())
	require.Equal(t, patch, counted("Todo.patch", `{"id":"a","changes":{"title":"y"}}`))
	a.call("Todo.patch", `{"id":"heavy","changes":{"title":"changed"}}`)
	require.Equal(t, patch+1, counted("Todo.patch", `{"id":"a","changes":{"title":"z"}}`), "now it is known that there are such rows")
	a.fails(fault.CallTooLarge, "Todo.patch", `{"id":"a","changes":{"notes":"`+strings.Repeat("y", 5<<20)+`"}}`)
}

// Rows that another program made too large for scripts, or for everybody, can be deleted, and changed
// where that does not make them worse.
func TestForeignBurdensCanBeChangedAndDeleted(t *testing.T) {
	t.Parallel()
	if forEach(t, TestForeignBurdensCanBeChangedAndDeleted) {
		return
	}
	passed := ent.OnClient(func(c *ent.Client) { c.Use(passing) })
	notes := func(c *ent.TodoCreate) { c.SetNotes(strings.Repeat("n", 9<<19)) }
	for name, c := range soak.Part(2, map[string]struct {
		opts []ent.EntitiesOption
		set  func(c *ent.TodoCreate)
		back string
	}{
		"notes, plain":  {nil, notes, `{"notes":null}`},
		"notes, hooked": {[]ent.EntitiesOption{passed}, notes, `{"notes":"short"}`},
		"tags, plain":   {nil, func(c *ent.TodoCreate) { c.SetTags(tagsOf(700_000)) }, `{"tags":[]}`},
	}) {
		a, ctx := start(t, ent.Entities(c.opts...)), t.Context()
		a.call("Todo.upsert", `{"model":{"id":"light","title":"light"}}`)
		beside := a.todosBeside(t)
		for _, id := range []string{"a", "b", "c", "d"} {
			w := beside.Create().SetID(id).SetTitle(id)
			c.set(w)
			w.SaveX(ctx)
		}
		require.Equal(t, map[string]any{"id": "a"}, a.call("Todo.patch", `{"id":"a","changes":{"title":"changed"}}`), name)
		require.Equal(t, map[string]any{"id": "a"}, a.call("Todo.upsert", `{"model":{"id":"a","priority":"low"}}`), name)
		require.Equal(t, []any{map[string]any{"id": "a"}}, a.call("Todo.upsert-many", `{"models":[{"id":"a","views":5}]}`)["items"], name)
		require.EqualValues(t, 5, a.call("Todo.update-by-query", `{"filter":{},"all":true,"changes":{"effort":2}}`)["updated"], name)
		require.EqualValues(t, 5, a.call("Todo.count", `{"filter":{"effort":2}}`)["count"], name)
		require.EqualValues(t, 1, a.call("Todo.count", `{"filter":{"title":"changed","priority":"low","views":5}}`)["count"], name)
		changes, err := a.recorded("Todo.patch", `{"id":"a","changes":{"title":"recorded"}}`)
		require.NoError(t, err, name)
		require.Len(t, changes, 1, name)

		a.fails(fault.CallTooLarge, "Todo.patch", `{"id":"a","changes":{"notes":"`+strings.Repeat("y", 5<<20)+`"}}`)
		mended := a.call("Todo.patch", `{"id":"a","changes":`+c.back+`}`)
		require.Equal(t, "recorded", mended["title"], name)
		require.Equal(t, mended, a.call("Todo.get-by-id", `{"id":"a"}`), name)

		require.EqualValues(t, 1, a.call("Todo.delete", `{"id":"b"}`)["deleted"], name)
		require.EqualValues(t, 1, a.call("Todo.delete-many", `{"ids":["c"]}`)["deleted"], name)
		require.EqualValues(t, 1, a.call("Todo.delete-by-query", `{"filter":{"id":"d"},"maxAffected":1}`)["deleted"], name)
		require.EqualValues(t, 2, a.call("Todo.count", `{}`)["count"], name)
	}
}

// An undo brings back a row as it was, also where nobody can read it.
func TestUndoRestoresForeignBurdens(t *testing.T) {
	t.Parallel()
	if forEach(t, TestUndoRestoresForeignBurdens) {
		return
	}
	at := place(t)
	kit := koantest.New(t, framework.App{Name: "heavy", Entities: ent.Entities()},
		koantest.Setting{Key: "database", Value: at}, koantest.Setting{Key: "journal.enabled", Value: "true"}, koantest.Setting{Key: "run.maxBytes", Value: "268435456"})
	kit.Run(`SDK.Entities.Todo.create({id: "light", title: "light"})`, koantest.Input{})
	a := &app{place: at}
	a.todosBeside(t).Create().SetID("heavy").SetTitle("heavy").SetNotes(strings.Repeat("n", 9<<19)).SaveX(t.Context())
	gone := kit.Run(`SDK.Entities.Todo.delete("heavy")`, koantest.Input{})
	undone := func() (json.RawMessage, error) {
		return kit.Call("code::koan.undo", map[string]any{"runId": gone.RunID})
	}
	raw, err := undone()
	// The record of a row as heavy as this takes a while on a busy machine.
	for deadline := time.Now().Add(time.Minute); fault.CodeOf(err) == fault.InProgress && time.Now().Before(deadline); raw, err = undone() {
		time.Sleep(10 * time.Millisecond)
	}
	require.NoError(t, err, "%s", raw)
	require.JSONEq(t, `2`, string(kit.Run(`SDK.Entities.Todo.count()`, koantest.Input{}).Result))
}
