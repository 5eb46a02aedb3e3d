package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	stdent "entgo.io/ent"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/store"
	"github.com/koan-go/koan/tests/fixture/ent"
	"github.com/koan-go/koan/tests/fixture/ent/step"
	"github.com/koan-go/koan/tests/fixture/ent/todo"
	"github.com/koan-go/koan/tests/soak"
)

// copied is the data of a set, by entity and id. Links are labels of todos.
type copied struct {
	rows  map[string]map[string]map[string]any
	links map[[2]string]bool // todo, label
}

var kinds = []string{"Todo", "Step", "Person", "Label", "AuditLog"}

// data copies all there is.
func (a *app) data() *copied {
	a.Helper()
	c := &copied{rows: map[string]map[string]map[string]any{}, links: map[[2]string]bool{}}
	for _, k := range kinds {
		c.rows[k] = map[string]map[string]any{}
		for page := 1; ; page++ {
			got := a.call(k+".collection", fmt.Sprintf(`{"pageSize":200,"page":%d}`, page))["items"].([]any)
			for _, item := range got {
				row := item.(map[string]any)
				c.rows[k][row["id"].(string)] = row
			}
			if len(got) < 200 {
				break
			}
		}
	}
	rows, err := beside(a, a.place, "default").Query("SELECT todo_id, CAST(label_id AS TEXT) FROM todo_labels")
	require.NoError(a, err)
	defer rows.Close()
	for rows.Next() {
		var l [2]string
		require.NoError(a, rows.Scan(&l[0], &l[1]))
		c.links[l] = true
	}
	require.NoError(a, rows.Err())
	return c
}

// apply does to the copy what a run says that it did to the data, and holds what
// it says of before against the copy.
func (c *copied) apply(t *testing.T, changes []store.Change) {
	t.Helper()
	for _, ch := range changes {
		what := fmt.Sprint(ch.Action, " ", ch.Entity, " ", ch.ID)
		now, there := c.rows[ch.Entity][ch.ID]
		require.Equal(t, ch.Action != store.Create, there, what)
		before, linked := c.split(t, ch, ch.Before)
		require.Equal(t, now, before, what)
		if linked != nil {
			require.Equal(t, c.linked(ch.Entity, ch.ID), linked, what)
		}
	}
	for _, ch := range changes { // as a whole: a row may refer to one further down
		after, linked := c.split(t, ch, ch.After)
		if ch.Action == store.Delete {
			delete(c.rows[ch.Entity], ch.ID)
			c.link(ch.Entity, ch.ID, nil)
			continue
		}
		c.rows[ch.Entity][ch.ID] = after
		if linked != nil {
			c.link(ch.Entity, ch.ID, linked)
		}
	}
}

// split returns the row of an image and the ids of its many-to-many edge, nil if the
// image has none.
func (c *copied) split(t *testing.T, ch store.Change, image json.RawMessage) (row map[string]any, linked []string) {
	t.Helper()
	if image == nil {
		return nil, nil
	}
	require.NoError(t, json.Unmarshal(image, &row))
	name := map[string]string{"Todo": "labels", "Label": "todos"}[ch.Entity]
	if ids, ok := row[name].([]any); ok {
		linked = []string{}
		for _, id := range ids {
			linked = append(linked, id.(string))
		}
		slices.Sort(linked)
		delete(row, name)
	}
	return row, linked
}

func (c *copied) linked(entity, id string) []string {
	out := []string{}
	for l := range c.links {
		if entity == "Todo" && l[0] == id {
			out = append(out, l[1])
		} else if entity == "Label" && l[1] == id {
			out = append(out, l[0])
		}
	}
	slices.Sort(out)
	return out
}

func (c *copied) link(entity, id string, others []string) {
	for l := range c.links {
		if entity == "Todo" && l[0] == id || entity == "Label" && l[1] == id {
			delete(c.links, l)
		}
	}
	for _, other := range others {
		if entity == "Todo" {
			c.links[[2]string{id, other}] = true
		} else {
			c.links[[2]string{other, id}] = true
		}
	}
}

// name says which row an id is of, by what was chosen for it and never changes.
func (c *copied) name(entity, id string) string {
	row := c.rows[entity][id]
	if row == nil {
		return "?"
	}
	return fmt.Sprint(row[map[string]string{"Todo": "notes", "Step": "text", "Person": "email", "Label": "name", "AuditLog": "message"}[entity]])
}

// canonical returns the data without what two runs make differently: ids and times.
func (c *copied) canonical() []string {
	var out []string
	for _, k := range kinds {
		for id, row := range c.rows[k] {
			row := mapsClone(row)
			for field, entity := range map[string]string{"assignedUserId": "Person", "todoId": "Todo"} {
				if ref, ok := row[field].(string); ok {
					row[field] = c.name(entity, ref)
				}
			}
			for _, made := range []string{"id", "createdAt", "updatedAt"} {
				delete(row, made)
			}
			raw, _ := json.Marshal(row)
			out = append(out, k+" "+c.name(k, id)+" "+string(raw))
		}
	}
	for l := range c.links {
		out = append(out, "link "+c.name("Todo", l[0])+" "+c.name("Label", l[1]))
	}
	slices.Sort(out)
	return out
}

func mapsClone(m map[string]any) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}

// random makes calls of all kinds that write, with ids of the data and of what the
// same script stored before.
type random struct {
	*rand.Rand
	made int
	ids  map[string][]string
}

func (r *random) token(prefix string) string { r.made++; return fmt.Sprint(prefix, r.made) }

func (r *random) id(entity string) string {
	if ids := r.ids[entity]; len(ids) > 0 && r.IntN(12) > 0 {
		return ids[r.IntN(len(ids))]
	}
	return "0"
}

// list returns some ids; of labels only some that are numbers.
func (r *random) list(entity string) []string {
	out := []string{}
	for range r.IntN(4) {
		if id := r.id(entity); !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// edge is what a to-many edge can be set to.
func (r *random) edge(entity string) any {
	switch r.IntN(3) {
	case 0:
		return r.list(entity)
	case 1:
		return map[string]any{"$add": r.list(entity)}
	}
	return map[string]any{"$add": r.list(entity), "$remove": r.list(entity)}
}

func (r *random) fresh(entity string, prefix string, m map[string]any) map[string]any {
	if r.IntN(3) > 0 {
		id := r.token(prefix)
		m["id"] = id
		r.ids[entity] = append(r.ids[entity], id)
	}
	return m
}

func (r *random) todo(id string) map[string]any {
	m := map[string]any{"title": []string{"a", "b", "spread"}[r.IntN(3)], "views": r.IntN(4), "priority": []string{"low", "high"}[r.IntN(2)]}
	if id != "" {
		m["id"] = id
		delete(m, []string{"title", "views", "priority"}[r.IntN(3)])
		if len(m) == 1 {
			m["views"] = r.IntN(9)
		}
	} else {
		m = r.fresh("Todo", "t", m)
		m["notes"] = r.token("note")
	}
	if r.IntN(3) == 0 {
		m["labels"] = r.edge("Label")
	}
	if r.IntN(3) == 0 {
		m["assignedUser"] = []any{nil, r.id("Person"), r.id("Person")}[r.IntN(3)]
	}
	return m
}

func (r *random) filter() map[string]any {
	return []map[string]any{{"views": r.IntN(4)}, {"priority": "low", "title": "a"}, {"assignedUserId": r.id("Person")}, {"labels": map[string]any{"$some": map[string]any{"id": r.id("Label")}}}}[r.IntN(4)]
}

func (r *random) call() (op string, input map[string]any) {
	switch r.IntN(16) {
	case 0, 1:
		return "Todo.upsert", map[string]any{"model": r.todo("")}
	case 2:
		m := r.todo(r.id("Todo"))
		delete(m, "notes")
		return "Todo.upsert", map[string]any{"model": m}
	case 3:
		models := []any{}
		for range 1 + r.IntN(5) {
			id := ""
			if r.IntN(2) == 0 {
				id = r.id("Todo")
			}
			models = append(models, r.todo(id))
		}
		return "Todo.upsert-many", map[string]any{"models": models}
	case 4, 5:
		changes := r.todo("x")
		delete(changes, "id")
		if r.IntN(4) == 0 {
			changes["steps"] = map[string]any{"$add": r.list("Step")}
		}
		return "Todo.patch", map[string]any{"id": r.id("Todo"), "changes": changes}
	case 6:
		return "Todo.delete", map[string]any{"id": r.id("Todo")}
	case 7:
		return "Todo.delete-many", map[string]any{"ids": r.list("Todo")}
	case 8:
		return "Todo.update-by-query", map[string]any{"filter": r.filter(), "changes": map[string]any{"views": r.IntN(5), "title": "a"}}
	case 9:
		return "Todo.delete-by-query", map[string]any{"filter": map[string]any{"$and": []any{r.filter(), r.filter()}}}
	case 10, 11:
		return "Step.upsert", map[string]any{"model": r.fresh("Step", "s", map[string]any{"text": r.token("step"), "done": r.IntN(3) == 0, "todo": r.id("Todo")})}
	case 12:
		return "Step.patch", map[string]any{"id": r.id("Step"), "changes": map[string]any{"todo": r.id("Todo"), "done": r.IntN(2) == 0}}
	case 13:
		return "Person.upsert", map[string]any{"model": r.fresh("Person", "p", map[string]any{"name": "N", "email": r.token("mail"), "todos": r.list("Todo")})}
	case 14:
		if r.IntN(3) == 0 {
			return "Person.delete", map[string]any{"id": r.id("Person")}
		}
		return "Person.patch", map[string]any{"id": r.id("Person"), "changes": map[string]any{"todos": r.edge("Todo")}}
	}
	switch r.IntN(4) {
	case 0:
		return "Label.delete", map[string]any{"id": r.id("Label")}
	case 1:
		return "Label.patch", map[string]any{"id": r.id("Label"), "changes": map[string]any{"todos": r.edge("Todo")}}
	}
	return "Label.upsert", map[string]any{"model": map[string]any{"name": r.token("label"), "todos": r.list("Todo")}}
}

// spreading are hooks that write other rows, in bulk and one by one, and their own.
func spreading() ent.EntitiesOption {
	type within struct{}
	return onTodo(func(ctx context.Context, m *ent.TodoMutation, next stdent.Mutator) (stdent.Value, error) {
		title, _ := m.Title()
		if title != "spread" || ctx.Value(within{}) != nil {
			return next.Mutate(ctx, m)
		}
		ctx = context.WithValue(ctx, within{}, true)
		tx := ent.FromContext(ctx)
		if err := tx.Todo.Update().Where(todo.PriorityEQ(todo.PriorityLow), todo.ViewsLT(3)).AddViews(1).Exec(ctx); err != nil {
			return nil, err
		}
		v, err := next.Mutate(ctx, m)
		if err != nil {
			return nil, err
		}
		if err := tx.AuditLog.Create().SetMessage("spread").Exec(ctx); err != nil {
			return nil, err
		}
		if _, err := tx.Step.Delete().Where(step.DoneEQ(true)).Exec(ctx); err != nil {
			return nil, err
		}
		ids, err := tx.Todo.Query().Where(todo.TitleEQ("b"), todo.ViewsEQ(0)).Order(todo.ByNotes()).Limit(1).IDs(ctx)
		if err == nil && len(ids) > 0 {
			err = tx.Todo.UpdateOneID(ids[0]).ClearLabels().ClearAssignedUser().Exec(ctx)
		}
		if own, ok := m.ID(); err == nil && ok && m.Op().Is(stdent.OpCreate|stdent.OpUpdateOne) {
			err = tx.Todo.UpdateOneID(own).SetTitle("spread out").Exec(ctx)
		}
		return v, err
	})
}

// TestDryRunsSayWhatRunsDo makes random scripts: what a dry run says it would do is
// done to a copy of the data; then the script runs for real, and the data is as the
// copy.
func TestDryRunsSayWhatRunsDo(t *testing.T) {
	t.Parallel()
	if forEach(t, TestDryRunsSayWhatRunsDo) {
		return
	}
	t.Run("plain", func(t *testing.T) { dryRunsSayWhatRunsDo(t, ent.Entities(), soak.Rounds(20, 60)) })
	t.Run("hooks", func(t *testing.T) { dryRunsSayWhatRunsDo(t, ent.Entities(spreading()), soak.Rounds(14, 40)) })
}

// A row that a run deletes and creates again has none of its links from before, also
// where a hook writes it once more while it is being created.
func TestRowsCreatedAgainAreLinkedAnew(t *testing.T) {
	t.Parallel()
	if forEach(t, TestRowsCreatedAgainAreLinkedAnew) {
		return
	}
	a := start(t, ent.Entities(spreading()))
	a.call("Label.upsert-many", `{"models":[{"name":"one"},{"name":"two"}]}`)
	a.call("Todo.upsert", `{"model":{"id":"t","title":"x","labels":["1"]}}`)
	out := a.calls(run.Spec{DryRun: true},
		[2]string{"Todo.delete", `{"id":"t"}`},
		[2]string{"Todo.upsert", `{"model":{"id":"t","title":"spread","labels":["2"]}}`})
	first := out.Changes[0]
	require.Equal(t, store.Update, first.Action)
	require.Equal(t, []any{"1"}, member(t, first.Before, "labels"))
	require.Equal(t, []any{"2"}, member(t, first.After, "labels"))
}

func dryRunsSayWhatRunsDo(t *testing.T, shimmed *shim.App, scripts int) {
	t.Helper()
	a := start(t, shimmed)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := &random{Rand: rand.New(rand.NewPCG(seed, 1)), ids: map[string][]string{}}
	kept, written := 0, 0
	for n := 0; n < scripts || written <= scripts; n++ { // more of them where the first have written little
		now := a.data()
		for _, k := range kinds {
			r.ids[k] = nil
			for id := range now.rows[k] {
				r.ids[k] = append(r.ids[k], id)
			}
			slices.Sort(r.ids[k])
		}
		var calls [][2]string
		for range 1 + r.IntN(14) {
			op, input := r.call()
			calls = append(calls, [2]string{op, string(encode(t, input))})
		}
		dry, faults := a.catching(run.Spec{DryRun: true}, calls)
		require.Equal(t, now.canonical(), a.data().canonical(), "script %d: a dry run changed something", n)
		real, really := a.catching(run.Spec{Atomic: true, Record: n%2 == 0}, calls)
		require.Equal(t, faults, really, "script %d: %v", n, calls)
		after := a.data()

		found := []string{}
		for _, c := range real.Changes { // by the names of rows, which only one of the copies may have
			found = append(found, string(c.Action)+" "+c.Entity+" "+either(after, now, c))
		}
		copy := a.copyOf(now)
		copy.apply(t, dry.Changes)
		said := []string{}
		for _, c := range dry.Changes {
			said = append(said, string(c.Action)+" "+c.Entity+" "+either(copy, now, c))
		}
		require.Equal(t, copy.canonical(), after.canonical(), "script %d: %v", n, calls)
		// ent keeps what it links in maps, and generated ids order rows that one
		// statement writes: between two runs the order may differ.
		slices.Sort(said)
		slices.Sort(found)
		require.Equal(t, said, found, "script %d: %v", n, calls)
		require.Equal(t, len(said), total(store.Counts(real.Changes)))
		kept, written = kept+len(calls)-strings.Count(faults, " "), written+len(said)
	}
	t.Logf("%d calls that succeeded, %d rows changed", kept, written)
}

func either(one, other *copied, c store.Change) string {
	if name := one.name(c.Entity, c.ID); name != "?" {
		return name
	}
	return other.name(c.Entity, c.ID)
}

func total(counts []store.ChangeCount) (n int) {
	for _, c := range counts {
		n += c.Created + c.Updated + c.Deleted
	}
	return n
}

func (a *app) copyOf(c *copied) *copied {
	out := &copied{rows: map[string]map[string]map[string]any{}, links: map[[2]string]bool{}}
	for k, rows := range c.rows {
		out.rows[k] = map[string]map[string]any{}
		for id, row := range rows {
			out.rows[k][id] = row
		}
	}
	for l := range c.links {
		out.links[l] = true
	}
	return out
}

// catching makes calls as one script that catches what fails, and returns the codes.
func (a *app) catching(spec run.Spec, calls [][2]string) (*run.Outcome, string) {
	a.Helper()
	var faults string
	out, err := a.run(body(spec, func(ctx context.Context, r *run.Attempt) error {
		faults = ""
		for i, c := range calls {
			id, err := catalog.ParseID("koan::" + c[0])
			require.NoError(a, err)
			if _, err := r.Invoke(ctx, r.Next(), id, json.RawMessage(c[1])); run.Ends(err) {
				return err
			} else if err != nil {
				require.NotContains(a, []fault.Code{fault.Internal, fault.ServiceUnavailable}, fault.CodeOf(err), "%v", err)
				faults += fmt.Sprint(" ", i, ":", fault.CodeOf(err))
			}
		}
		return nil
	}))
	require.NoError(a, err)
	return out, faults
}
