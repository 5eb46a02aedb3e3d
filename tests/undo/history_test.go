package undo

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	stdent "entgo.io/ent"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/tests/fixture"
	"github.com/koan-go/koan/tests/fixture/ent"
	"github.com/koan-go/koan/tests/pgtest"
)

// tables copies the tables of a set.
func (h *history) tables(set string) cells {
	out := cells{}
	for table := range maps.Keys(merged(relations.entities, map[string]string{"todo_labels": "", "drafts": ""})) {
		out[table] = map[string]map[string]string{}
		rows, err := h.dbs[set].Query(`SELECT * FROM "` + table + `"`)
		require.NoError(h, err)
		columns, err := rows.Columns()
		require.NoError(h, err)
		for rows.Next() {
			values, into := make([]any, len(columns)), make([]any, len(columns))
			for i := range values {
				into[i] = &values[i]
			}
			require.NoError(h, rows.Scan(into...))
			row := map[string]string{}
			for i, c := range columns {
				row[c] = null
				if b, ok := values[i].([]byte); ok {
					values[i] = string(b)
				}
				if values[i] != nil {
					row[c] = fmt.Sprint(values[i])
				}
			}
			key := row["id"]
			if table == "todo_labels" {
				key = row["todo_id"] + " " + row["label_id"]
			}
			out[table][key] = row
		}
		require.NoError(h, rows.Err())
		require.NoError(h, rows.Close())
	}
	return out
}

// history makes random runs in an app, and undoes some of them in any order.
type history struct {
	*app
	*rand.Rand
	dbs  map[string]*sql.DB
	made int
	// How the undos ended.
	undone, refused int
}

// step is a call of a run.
type step struct {
	Op    string         `json:"op"`
	Input map[string]any `json:"input"`
}

type script struct {
	Steps []step `json:"steps"`
}

// do makes the calls of a run as part of one, whatever becomes of each.
func do(ctx context.Context, c framework.Call, in script) (struct{}, error) {
	for _, s := range in.Steps {
		if err := c.Invoke(ctx, "koan::"+s.Op, s.Input, nil); err != nil && run.Ends(err) {
			return struct{}{}, err
		}
	}
	return struct{}{}, nil
}

// hooked is the fixture app with rules: a todo's changes are noted in it, and audited, and who
// gets a step has more views. In an undo they leave alone what the undo does not restore.
func hooked(hooks bool) framework.App {
	a := fixture.App()
	a.GoActions = []framework.GoAction{framework.Action("do", "Makes calls.", do)}
	if hooks {
		a.Entities = ent.Entities(ent.OnClient(func(c *ent.Client) {
			c.Todo.Use(func(next stdent.Mutator) stdent.Mutator {
				return stdent.MutateFunc(func(ctx context.Context, m stdent.Mutation) (stdent.Value, error) {
					if todo, ok := m.(*ent.TodoMutation); ok && !m.Op().Is(stdent.OpDelete|stdent.OpDeleteOne) {
						todo.SetNotes(fmt.Sprint("noted by a hook, in an undo: ", run.Undoing(ctx)))
						todo.SetEffort(float64(len(m.Fields())))
					}
					v, err := next.Mutate(ctx, m)
					if tx := ent.FromContext(ctx); err == nil && tx != nil && !run.Undoing(ctx) {
						err = tx.AuditLog.Create().SetMessage(m.Op().String()).Exec(ctx)
					}
					return v, err
				})
			})
			c.Step.Use(func(next stdent.Mutator) stdent.Mutator {
				return stdent.MutateFunc(func(ctx context.Context, m stdent.Mutation) (stdent.Value, error) {
					v, err := next.Mutate(ctx, m)
					s, ok := m.(*ent.StepMutation)
					if todo, linked := s.TodoID(); err == nil && ok && linked {
						if tx := ent.FromContext(ctx); tx != nil && !run.Undoing(ctx) {
							err = tx.Todo.UpdateOneID(todo).AddViews(100).Exec(ctx)
						}
					}
					return v, err
				})
			})
		}))
	}
	return a
}

func newHistory(t testing.TB, hooks bool, seed uint64) *history {
	a := startIn(t, place(t), hooked(hooks))
	h := &history{app: a, Rand: rand.New(rand.NewPCG(seed, 7)), dbs: map[string]*sql.DB{}}
	for _, set := range []string{"default", "archive"} {
		_, err := a.Call("koan::Todo.upsert", map[string]any{"model": map[string]any{"title": "first"}, "set": set})
		require.NoError(t, err)
		h.dbs[set] = a.open(set)
		t.Cleanup(func() { _ = h.dbs[set].Close() })
	}
	return h
}

func (h *history) token(prefix string) string {
	h.made++
	return prefix + strconv.Itoa(h.made)
}

// pick returns the key of a row, "none" where there is none.
func (h *history) pick(c cells, table string) string {
	keys := slices.Sorted(maps.Keys(c[table]))
	if len(keys) == 0 {
		return "0"
	}
	return keys[h.IntN(len(keys))]
}

func (h *history) labels(c cells) (out []string) {
	for range h.IntN(3) {
		if id := h.pick(c, "labels"); id != "0" && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return append([]string{}, out...)
}

// step makes a call; fresh are the ids of rows that the same run has made.
func (h *history) step(c cells, fresh map[string][]string) step {
	id := func(table string) string {
		if made := fresh[table]; len(made) > 0 && h.IntN(2) == 0 {
			return made[h.IntN(len(made))]
		}
		return h.pick(c, table)
	}
	create := func(table, prefix string, m map[string]any) map[string]any {
		made := h.token(prefix)
		fresh[table] = append(fresh[table], made)
		m["id"] = made
		return map[string]any{"model": m}
	}
	todo := func() map[string]any {
		m := map[string]any{"title": []string{"a", "b"}[h.IntN(2)], "views": h.IntN(4), "secret": h.token("hush"), "tags": []string{h.token("t")}}
		for _, name := range []string{"title", "views", "secret", "tags"} {
			if h.IntN(2) == 0 {
				delete(m, name)
			}
		}
		switch h.IntN(4) {
		case 0:
			m["labels"] = h.labels(c)
		case 1:
			m["labels"] = map[string]any{"$add": h.labels(c)}
		}
		if h.IntN(3) == 0 {
			m["assignedUser"] = []any{nil, id("persons")}[h.IntN(2)]
		}
		return m
	}
	switch h.IntN(16) {
	case 0, 1:
		m := todo()
		m["title"] = "new"
		return step{"Todo.upsert", create("todos", "t", m)}
	case 2, 3, 4:
		return step{"Todo.patch", map[string]any{"id": id("todos"), "changes": todo()}}
	case 5:
		return step{"Todo.delete", map[string]any{"id": id("todos")}}
	case 6, 7:
		return step{"Step.upsert", create("steps", "s", map[string]any{"text": h.token("text"), "todo": id("todos")})}
	case 8:
		return step{"Step.patch", map[string]any{"id": id("steps"), "changes": map[string]any{"done": h.IntN(2) == 0, "todo": id("todos")}}}
	case 9:
		return step{"Person.upsert", create("persons", "p", map[string]any{"name": "P", "email": "mail" + strconv.Itoa(h.IntN(20))})}
	case 10:
		return step{"Person.patch", map[string]any{"id": id("persons"), "changes": map[string]any{"email": "mail" + strconv.Itoa(h.IntN(20)), "todos": []string{id("todos")}}}}
	case 11:
		return step{"Person.delete", map[string]any{"id": id("persons")}}
	case 12:
		return step{"Label.upsert", map[string]any{"model": map[string]any{"name": "label" + strconv.Itoa(h.IntN(12))}}}
	case 13:
		return step{"Label.delete", map[string]any{"id": id("labels")}}
	case 14:
		return step{"Todo.update-by-query", map[string]any{"filter": map[string]any{"views": h.IntN(4)}, "changes": map[string]any{"views": h.IntN(4), "completed": h.IntN(2) == 0}, "all": true}}
	}
	return step{"Todo.delete-by-query", map[string]any{"filter": map[string]any{"views": h.IntN(4), "title": "a"}, "all": true}}
}

// run makes a run, nil for one that changed nothing.
func (h *history) run(set string) *done {
	before := h.tables(set)
	var in script
	fresh := map[string][]string{}
	for range 1 + h.IntN(6) {
		s := h.step(before, fresh)
		s.Input["set"] = set
		in.Steps = append(in.Steps, s)
	}
	if len(before["todos"]) > 12 {
		in.Steps = append(in.Steps, step{"Todo.delete-by-query", map[string]any{"filter": map[string]any{"views": map[string]any{"$lt": 3}}, "all": true, "set": set}})
	}
	o, err := h.Instance().Invoke(context.Background(), auth.Local(), "action::do", in, nil)
	require.NoError(h, err)
	after := h.tables(set)
	if fmt.Sprint(before) == fmt.Sprint(after) {
		return nil
	}
	return &done{o.Run, set, before, after}
}

// undo undoes a run, and holds what that did against what it should do.
func (h *history) undo(r *done) *done {
	before := h.tables(r.set)
	want, places, unfit := expected(r, before)
	out, err := h.tryUndo(map[string]any{"runId": r.id})
	after := h.tables(r.set)
	if err != nil {
		f := fault.From(err)
		about := fmt.Sprint(r.id, ": ", f, "\n", f.Details, "\n", places, "\n", unfit)
		switch {
		case f.Code == fault.Forbidden && r.changed("audit_logs"): // what is left of it nobody may write
		case f.Code == fault.InvalidPayload && fmt.Sprint(r.before.without()) == fmt.Sprint(r.after.without()): // it counted versions alone
		case f.Code != fault.Conflict:
			h.Fatal("the undo failed: ", about)
		case len(places) == 0 && unfit == "":
			h.Fatal("nothing stands in the way of this undo: ", about)
		}
		require.Equal(h, before, after, "a refused undo changes nothing")
		details, _ := f.Details.([]fault.Detail)
		for _, p := range places {
			p = strings.NewReplacer("/assigned_user_id", "/assignedUserId", "/todo_steps", "/todo", "/created_at", "/createdAt").Replace(p)
			if strings.HasPrefix(p, "//") { // a link: its rows are named
				continue
			}
			require.True(h, slices.ContainsFunc(details, func(d fault.Detail) bool { return d.Path == p }), "%s is not named: %s", p, about)
		}
		h.refused++
		return nil
	}
	if len(places) > 0 || unfit != "" {
		h.Fatal("the undo overwrote what was changed since: ", places, unfit)
	}
	require.Equal(h, want.without(), after.without())
	for key, row := range after["todos"] {
		was, there := before["todos"][key]
		if !there {
			was = r.before["todos"][key]
		}
		then, err1 := strconv.Atoi(was["version"])
		now, err2 := strconv.Atoi(row["version"])
		require.True(h, err1 == nil && err2 == nil && now >= then, "the version of %s went from %d to %d", key, then, now)
	}
	h.undone++
	return &done{out.RunID, r.set, before, after}
}

// play makes a few runs and undoes some of them, and of the undos some again.
func (h *history) play() {
	var runs []*done
	set := []string{"default", "default", "archive"}[h.IntN(3)]
	for range 1 + h.IntN(4) {
		if r := h.run(set); r != nil {
			runs = append(runs, r)
		}
	}
	if h.IntN(3) == 0 { // in order: everything is as it was
		for _, r := range slices.Backward(runs) {
			if h.undo(r) == nil && !r.changed("audit_logs") {
				h.Fatal("the last run could not be undone")
			}
		}
		return
	}
	for range 1 + h.IntN(4) {
		if len(runs) == 0 {
			return
		}
		i := h.IntN(len(runs))
		r := runs[i]
		if h.IntN(4) > 0 {
			runs = slices.Delete(runs, i, i+1)
		}
		if u := h.undo(r); u != nil {
			runs = append(runs, u)
		}
	}
}

// TestRandomHistories undoes random runs in any order. KOAN_HISTORIES is how many there are.
func TestRandomHistories(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestRandomHistories) {
		return
	}
	n := 60
	if pgtest.Here(t) {
		n = 20
	}
	if more, err := strconv.Atoi(os.Getenv("KOAN_HISTORIES")); err == nil {
		n = more
	}
	for _, hooks := range []bool{false, true} {
		t.Run(fmt.Sprintf("hooks=%t", hooks), func(t *testing.T) {
			h := newHistory(t, hooks, seed())
			for range n {
				h.play()
			}
			t.Logf("%d undone, %d refused", h.undone, h.refused)
			require.Greater(t, h.undone, n/4)
			require.Greater(t, h.refused, n/20)
		})
	}
}

// seed is that of the random histories: KOAN_SEED, else always the same.
func seed() uint64 {
	if n, err := strconv.ParseUint(os.Getenv("KOAN_SEED"), 10, 64); err == nil {
		return n
	}
	return 1
}
