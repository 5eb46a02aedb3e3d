// Package undo tests the undo of runs in a whole app, over both databases. What rows were is
// known from copies of all tables, which no code under test has made.
package undo

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/koan-go/koan/codemode/languages"
	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/framework/run/store"
	"github.com/koan-go/koan/tests/fixture"
	"github.com/koan-go/koan/tests/pgtest"
)

// app is an app under test, and its tables.
type app struct {
	testing.TB
	*koantest.Kit
	place string // as the setting database has it
}

func place(t testing.TB) string {
	if pgtest.Here(t) {
		return pgtest.Place(t)
	}
	return "sqlite://" + t.TempDir()
}

func start(t testing.TB, settings ...koantest.Setting) *app {
	return startIn(t, place(t), fixture.App(), settings...)
}

func startIn(t testing.TB, place string, a framework.App, settings ...koantest.Setting) *app {
	t.Helper()
	settings = append([]koantest.Setting{{Key: "database", Value: place}, {Key: "journal.enabled", Value: "true"}}, settings...)
	return &app{t, koantest.New(t, a, settings...), place}
}

// open opens the tables of a set beside the app.
func (a *app) open(set string) *sql.DB {
	a.Helper()
	if folder, ok := strings.CutPrefix(a.place, "sqlite://"); ok {
		db, err := sql.Open("sqlite3", "file:"+filepath.Join(folder, set+".db")+"?_busy_timeout=5000")
		require.NoError(a, err)
		return db
	}
	server, prefix, _ := strings.Cut(a.place, "&schema_prefix=")
	db, err := sql.Open("pgx", server+"&search_path=%22"+prefix+"."+set+"%22")
	require.NoError(a, err)
	return db
}

// dump copies all tables of the app in a set. Versions are left out: they count on.
func (a *app) dump(set string) []string {
	a.Helper()
	db := a.open(set)
	defer db.Close()
	names := "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'koan_%' AND name NOT LIKE 'sqlite_%'"
	if pgtest.Here(a) {
		names = "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema() AND table_name NOT LIKE 'koan_%'"
	}
	var out []string
	for _, table := range texts(a, db, names) {
		if strings.Contains(table, "_words") {
			continue
		}
		rows, err := db.Query(`SELECT * FROM "` + table + `"`)
		require.NoError(a, err)
		columns, err := rows.Columns()
		require.NoError(a, err)
		for rows.Next() {
			values, into := make([]any, len(columns)), make([]any, len(columns))
			for i := range values {
				into[i] = &values[i]
			}
			require.NoError(a, rows.Scan(into...))
			line := table
			for i, c := range columns {
				if c != "version" {
					line += fmt.Sprintf(" %s=%T:%v", c, values[i], values[i])
				}
			}
			out = append(out, line)
		}
		require.NoError(a, rows.Err())
		require.NoError(a, rows.Close())
	}
	slices.Sort(out)
	return out
}

func texts(t testing.TB, db *sql.DB, query string) (out []string) {
	rows, err := db.Query(query)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var s string
		require.NoError(t, rows.Scan(&s))
		out = append(out, s)
	}
	require.NoError(t, rows.Err())
	return out
}

// undone is the result of an undo.
type undone struct {
	Success bool   `json:"success"`
	RunID   string `json:"runId"`
	Result  struct {
		Undone  string `json:"undone"`
		Skipped []struct{ Entity, Set, ID, Field, Message string }
		Not     []struct{ ToolName, Outcome, Message string } `json:"notUndone"`
	} `json:"result"`
	ChangeCounts []store.ChangeCount `json:"changeCounts"`
	Changes      []store.Change      `json:"changes"`
}

func (a *app) undo(run string) *undone {
	a.Helper()
	out, err := a.tryUndo(map[string]any{"runId": run})
	if err != nil {
		a.Fatalf("the undo failed: %v\n%v\n%s", err, fault.From(err).Details, fault.From(err).Hint)
	}
	return out
}

func (a *app) tryUndo(input map[string]any) (*undone, error) {
	a.Helper()
	raw, err := a.Call("code::koan.undo", input)
	out := &undone{}
	if raw != nil {
		require.NoError(a, json.Unmarshal(raw, out))
	}
	return out, err
}

func TestUndoRestoresEverything(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestUndoRestoresEverything) {
		return
	}
	a := start(t)
	a.Run(`
		const ann = SDK.Entities.Person.upsert({id: "ann", name: "Ann", email: "ann@example.org"});
		const [red, blue] = SDK.Entities.Label.upsertMany([{name: "red"}, {name: "blue"}]);
		SDK.Entities.Todo.upsert({id: "a", title: "A", secret: "hush", tags: ["x"], effort: 0.1, dueDate: "2026-03-04T05:06:07.089Z", notes: "ä\u0000".replace("\u0000", "'"), assignedUser: ann.id, labels: [red.id, blue.id]});
		SDK.Entities.Todo.upsert({id: "b", title: "B", completed: true, labels: [red.id]});
		SDK.Entities.Step.upsertMany([{id: "s1", text: "one", todo: "a"}, {id: "s2", text: "two", todo: "a", done: true}]);
	`, koantest.Input{})
	before := a.dump("default")
	script := a.Run(`
		const E = SDK.Entities;
		const red = E.Label.collection({filter: {name: "red"}}).items[0];
		E.Todo.delete("a");
		E.Todo.patch("b", {title: "changed", secret: "told", completed: false, tags: ["y", "z"], labels: []});
		const green = E.Label.upsert({name: "green"});
		E.Todo.upsert({id: "c", title: "C", labels: [green.id, red.id]});
		E.Step.upsert({id: "s3", text: "three", todo: "c"});
		E.Label.delete(red.id);
		E.Person.delete("ann");
		E.Todo.updateByQuery({}, {views: 7, priority: "high"}, {all: true});
		E.Todo.deleteByQuery({id: "1"}, {all: true});
	`, koantest.Input{})
	after := a.dump("default")
	require.NotEqual(t, before, after)
	out := a.undo(script.RunID)
	require.Equal(t, before, a.dump("default"))
	require.Empty(t, out.Result.Skipped)
	require.Empty(t, out.Result.Not)
	require.Equal(t, script.RunID, out.Result.Undone)

	again := a.undo(out.RunID)
	require.Equal(t, after, a.dump("default"), "the undo of an undo does it again")
	a.undo(again.RunID)
	require.Equal(t, before, a.dump("default"))
}

// Values of a unique column that changed places have no order in which they can go back.
func TestUndoOfExchangedUniqueValues(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestUndoOfExchangedUniqueValues) {
		return
	}
	a := start(t)
	a.Run(`SDK.Entities.Label.upsertMany([{name: "a"}, {name: "b"}, {name: "c"}])`, koantest.Input{})
	before := a.dump("default")
	script := a.Run(`
		const L = SDK.Entities.Label, [a, b, c] = ["a", "b", "c"].map(name => L.collection({filter: {name}}).items[0].id);
		L.patch(a, {name: "free"});
		L.patch(b, {name: "a"});
		L.patch(c, {name: "b"});
		L.patch(a, {name: "c"});
	`, koantest.Input{})
	after := a.dump("default")
	require.NotEqual(t, before, after)
	out := a.undo(script.RunID)
	require.Equal(t, before, a.dump("default"))
	require.Equal(t, 3, out.ChangeCounts[0].Updated)
	again := a.undo(out.RunID)
	require.Equal(t, after, a.dump("default"))

	// With skip a row may stay as it is, and must not do so with a temporary value.
	skipped, err := a.tryUndo(map[string]any{"runId": again.RunID, "onConflict": "skip"})
	require.NoError(t, err)
	require.Len(t, skipped.Result.Skipped, 3)
	require.Contains(t, skipped.Result.Skipped[0].Message, "another row that the run changed has this value now")
	require.Equal(t, after, a.dump("default"))

	// One of them that was changed since is what keeps all from being restored.
	a.Run(`const L = SDK.Entities.Label; L.patch(L.collection({filter: {name: "c"}}).items[0].id, {name: "mine"})`, koantest.Input{})
	require.Contains(t, a.refused(fault.Conflict, map[string]any{"runId": again.RunID}).Error(), "it was changed since")
}
