package undo

import (
	"context"
	"database/sql"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	stdent "entgo.io/ent"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/fixture"
	"github.com/koan-go/koan/tests/fixture/ent"
	"github.com/koan-go/koan/tests/pgtest"
)

// paths are the places that a fault names.
func paths(t testing.TB, err error) (out []string) {
	t.Helper()
	f := fault.From(err)
	require.NotEmpty(t, f.Hint)
	details, _ := f.Details.([]fault.Detail)
	for _, d := range details {
		out = append(out, d.Path)
	}
	return out
}

func (a *app) refused(code fault.Code, input map[string]any) error {
	a.Helper()
	before := a.dump("default")
	_, err := a.tryUndo(input)
	require.Error(a, err)
	require.Equal(a, code, fault.CodeOf(err), err.Error())
	require.NotEmpty(a, fault.From(err).Hint)
	require.Equal(a, before, a.dump("default"), "a refused undo changes nothing")
	return err
}

func TestConflictNamesEachPlace(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestConflictNamesEachPlace) {
		return
	}
	a := start(t)
	a.Run(`SDK.Entities.Todo.upsertMany([{id: "a", title: "A", views: 1}, {id: "b", title: "B"}])`, koantest.Input{})
	first := a.Run(`
		SDK.Entities.Todo.patch("a", {title: "A2", views: 2, notes: "n"});
		SDK.Entities.Todo.delete("b");
		SDK.Entities.Todo.upsert({id: "c", title: "C"});
		SDK.Entities.Person.upsert({id: "p", name: "P", email: "p@example.org"});
	`, koantest.Input{})
	a.Run(`
		SDK.Entities.Todo.patch("a", {title: "A3", notes: "m"});
		SDK.Entities.Todo.upsert({id: "b", title: "another B"});
		SDK.Entities.Step.upsert({id: "s", text: "of C", todo: "c"});
		SDK.Entities.Person.delete("p");
	`, koantest.Input{})
	err := a.refused(fault.Conflict, map[string]any{"runId": first.RunID})
	require.ElementsMatch(t, []string{"/Todo/a/title", "/Todo/a/notes", "/Todo/b", "/Todo/c", "/Person/p"}, paths(t, err))
	require.Contains(t, err.Error(), "5 places")

	before := a.dump("default")
	dry, err := a.tryUndo(map[string]any{"runId": first.RunID, "onConflict": "skip", "dryRun": true})
	require.NoError(t, err)
	require.Len(t, dry.Changes, 1)
	require.Equal(t, before, a.dump("default"))
	skipped, err := a.tryUndo(map[string]any{"runId": first.RunID, "onConflict": "skip"})
	require.NoError(t, err)
	require.Len(t, skipped.Result.Skipped, 5)
	require.Equal(t, 1, skipped.ChangeCounts[0].Updated)
	var todo struct {
		Title string `json:"title"`
		Notes string `json:"notes"`
		Views int    `json:"views"`
	}
	raw, err := a.Call("koan::Todo.get-by-id", map[string]any{"id": "a"})
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &todo))
	require.Equal(t, "A3", todo.Title, "what was changed since stays")
	require.Equal(t, "m", todo.Notes)
	require.Equal(t, 1, todo.Views, "what was not is restored")
}

func TestConflictsOfRules(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestConflictsOfRules) {
		return
	}
	a := start(t)
	a.Run(`
		SDK.Entities.Person.upsertMany([{id: "p", name: "P", email: "p@example.org"}, {id: "q", name: "Q", email: "q@example.org"}]);
		SDK.Entities.Todo.upsert({id: "a", title: "A", assignedUser: "q"});
		SDK.Entities.Todo.upsert({id: "b", title: "B"});
		SDK.Entities.Step.upsert({id: "s", text: "S", todo: "b"});
	`, koantest.Input{})
	taken := a.Run(`SDK.Entities.Person.delete("p")`, koantest.Input{})
	a.Run(`SDK.Entities.Person.upsert({id: "r", name: "R", email: "p@example.org"})`, koantest.Input{})
	require.Equal(t, []string{"/Person/p/email"}, paths(t, a.refused(fault.Conflict, map[string]any{"runId": taken.RunID})))

	orphan := a.Run(`SDK.Entities.Step.delete("s")`, koantest.Input{})
	parent := a.Run(`SDK.Entities.Todo.delete("b")`, koantest.Input{})
	require.Equal(t, []string{"/Step/s/todo"}, paths(t, a.refused(fault.Conflict, map[string]any{"runId": orphan.RunID})))
	a.undo(parent.RunID)
	a.undo(orphan.RunID)

	moved := a.Run(`SDK.Entities.Todo.patch("a", {assignedUser: null, title: "A2"})`, koantest.Input{})
	a.Run(`SDK.Entities.Person.delete("q")`, koantest.Input{})
	require.Equal(t, []string{"/Todo/a/assignedUserId"}, paths(t, a.refused(fault.Conflict, map[string]any{"runId": moved.RunID})))
	out, err := a.tryUndo(map[string]any{"runId": moved.RunID, "onConflict": "skip"})
	require.NoError(t, err)
	require.Equal(t, "assignedUserId", out.Result.Skipped[0].Field)

	linked := a.Run(`SDK.Entities.Label.upsert({name: "red"})`, koantest.Input{})
	a.Run(`SDK.Entities.Todo.patch("a", {labels: [SDK.Entities.Label.collection({}).items[0].id]})`, koantest.Input{})
	require.Contains(t, paths(t, a.refused(fault.Conflict, map[string]any{"runId": linked.RunID}))[0], "/Label/")
}

func TestRunsThatCannotBeUndone(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestRunsThatCannotBeUndone) {
		return
	}
	a := start(t)
	ann := a.As(auth.Principal{Subject: "ann", Scopes: []string{"*"}, Sets: []string{"default"}})
	bob := &app{t, a.As(auth.Principal{Subject: "bob", Scopes: []string{"todo:read"}, Sets: []string{"default"}}), a.place}
	mine := ann.Run(`SDK.Entities.Todo.patch("1", {title: "by Ann"})`, koantest.Input{})

	unknown := bob.refused(fault.NotFound, map[string]any{"runId": "01a1f9af-86a5-7c6b-96f4-1eb5600f6428"})
	others := bob.refused(fault.NotFound, map[string]any{"runId": mine.RunID})
	require.Equal(t, strings.ReplaceAll(unknown.Error(), "01a1f9af-86a5-7c6b-96f4-1eb5600f6428", mine.RunID), others.Error())
	require.Contains(t, fault.From(others).Hint, "journal.retentionDays")
	for _, id := range []string{"no-run", "'; DROP TABLE todos; --", strings.Repeat("a", 199)} {
		a.refused(fault.NotFound, map[string]any{"runId": id})
	}
	for _, input := range []map[string]any{{}, {"runId": ""}, {"runId": 1}, {"runId": mine.RunID, "onConflict": "overwrite"}, {"runId": mine.RunID, "more": 1}} {
		a.refused(fault.InvalidPayload, input)
	}

	reads := a.Run(`SDK.Entities.Todo.collection({})`, koantest.Input{})
	require.Contains(t, a.refused(fault.InvalidPayload, map[string]any{"runId": reads.RunID}).Error(), "changed nothing")
	same := a.Run(`SDK.Entities.Todo.upsert({id: "x", title: "X"}); SDK.Entities.Todo.delete("x")`, koantest.Input{})
	require.Contains(t, a.refused(fault.InvalidPayload, map[string]any{"runId": same.RunID}).Error(), "left every row as it was")
	a.Run(`SDK.Entities.Step.upsert({id: "s", text: "first", todo: "1"})`, koantest.Input{})
	for _, script := range []string{
		`SDK.Entities.Step.patch("s", {text: "other"}); SDK.Entities.Step.patch("s", {text: was})`,
		`SDK.Entities.Step.patch("s", {text: was})`,
		`SDK.Entities.Step.delete("s"); SDK.Entities.Step.upsert({...row, todo: "1"})`,
	} {
		back := a.Run(`const row = SDK.Entities.Step.getById("s"); const was = row.text; `+script, koantest.Input{})
		require.Equal(t, 1, back.ChangeCounts[0].Updated, script)
		require.Contains(t, a.refused(fault.InvalidPayload, map[string]any{"runId": back.RunID}).Error(), "left every row as it was", script)
	}
	failed := a.Try(`SDK.Entities.Todo.patch("1", {title: "no"}); throw new Error("no")`, koantest.Input{})
	require.Contains(t, a.refused(fault.InvalidPayload, map[string]any{"runId": failed.RunID}).Error(), "javascript_error")
	dry := a.Run(`SDK.Entities.Todo.patch("1", {title: "dry"})`, koantest.Input{DryRun: true})
	require.Contains(t, a.refused(fault.InvalidPayload, map[string]any{"runId": dry.RunID}).Error(), "dry run")
}

// A second undo of a run says which run undid it, as long as that one is not undone itself.
func TestSecondUndoNamesTheFirst(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestSecondUndoNamesTheFirst) {
		return
	}
	a := start(t)
	ann := &app{t, a.As(auth.Principal{Subject: "ann", Scopes: []string{"*"}, Sets: []string{"default"}}), a.place}
	a.Run(`SDK.Entities.Todo.upsertMany([{id: "a", title: "A"}, {id: "b", title: "B"}])`, koantest.Input{})
	done := ann.Run(`SDK.Entities.Todo.patch("a", {title: "A2"}); SDK.Entities.Todo.delete("b"); SDK.Entities.Todo.upsert({id: "c", title: "C"})`, koantest.Input{})
	again := map[string]any{"runId": done.RunID}
	first := ann.undo(done.RunID)
	for _, who := range []*app{a, ann} {
		err := who.refused(fault.Conflict, again)
		require.Contains(t, err.Error(), "is undone already: run "+first.RunID+" undid it")
		require.Equal(t, "/runId", fault.From(err).Path)
		require.Contains(t, fault.From(err).Hint, "undo run "+first.RunID)
		require.Len(t, paths(t, err), 3)
	}

	redone := a.undo(first.RunID)
	require.Contains(t, a.refused(fault.Conflict, map[string]any{"runId": first.RunID}).Error(), redone.RunID)
	second := a.undo(done.RunID)
	require.Contains(t, a.refused(fault.Conflict, again).Error(), "run "+second.RunID+" undid it")
	require.NotContains(t, ann.refused(fault.Conflict, again).Error(), second.RunID, "ann may not read the run of somebody else")

	a.undo(second.RunID)
	a.Run(`SDK.Entities.Todo.patch("a", {title: "A3"})`, koantest.Input{})
	require.Contains(t, a.refused(fault.Conflict, again).Error(), "/Todo/a/title: it was changed since")
	_, err := a.tryUndo(map[string]any{"runId": done.RunID, "onConflict": "skip"})
	require.NoError(t, err)
	require.Contains(t, a.refused(fault.Conflict, again).Error(), "3 places", "the undo left one of them")
}

func TestUndoNeedsTheRightsToEachChange(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestUndoNeedsTheRightsToEachChange) {
		return
	}
	fx := fixture.App()
	fx.GoActions = []framework.GoAction{framework.Action("close", "Closes a todo.", func(ctx context.Context, c framework.Call, in struct{}) (struct{}, error) {
		return struct{}{}, c.Invoke(ctx, "koan::Todo.patch", map[string]any{"id": "1", "changes": map[string]any{"title": "closed"}}, nil)
	}, framework.AppRights("default"))}
	a := startIn(t, place(t), fx)
	all := auth.Principal{Subject: "ann", Scopes: []string{"*"}, Sets: []string{"default", "archive"}}
	few := all
	few.Sets = []string{"archive"}
	r := a.As(all).Run(`SDK.Entities.Todo.patch("1", {title: "T"})`, koantest.Input{})
	_, err := (&app{t, a.As(few), a.place}).tryUndo(map[string]any{"runId": r.RunID})
	require.Equal(t, fault.Forbidden, fault.CodeOf(err), "%v", err)
	require.Contains(t, fault.From(err).Hint, "rights to each of its changes")
	(&app{t, a.As(all), a.place}).undo(r.RunID)

	caller := &app{t, a.As(few), a.place}
	o, err := a.Instance().Invoke(t.Context(), few, "action::close", nil, nil)
	require.NoError(t, err)
	before := a.dump("default")
	_, err = caller.tryUndo(map[string]any{"runId": o.Run})
	require.Equal(t, fault.Forbidden, fault.CodeOf(err), "%v", err)
	require.Equal(t, before, a.dump("default"))
	a.undo(o.Run)
}

// Neither the journal's tables nor any result has the value of a sensitive field, and an undo
// restores it all the same, in another process too.
func TestSensitiveValuesAreSealed(t *testing.T) {
	if pgtest.ForEach(t, TestSensitiveValuesAreSealed) {
		return
	}
	at := place(t)
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	i := start0(t, at)
	const was, is = "what-nobody-reads", "what-it-became"
	i.Run(`SDK.Entities.Todo.upsert({id: "a", title: "A", secret: "`+was+`"})`, koantest.Input{})
	before := i.dump("default")
	r := i.Run(`SDK.Entities.Todo.patch("a", {secret: "`+is+`"}); SDK.Entities.Todo.delete("a")`, koantest.Input{})
	require.NoError(t, i.Instance().Stop(t.Context()))

	db := i.openLedger()
	var images []byte
	require.NoError(t, db.QueryRow("SELECT images FROM koan_journal WHERE id = '"+r.RunID+"'").Scan(&images))
	require.NoError(t, db.Close())
	require.NotEmpty(t, images)
	require.Contains(t, string(images), `"title"`)
	require.NotContains(t, string(images), was)

	j := start0(t, at)
	out := j.undo(r.RunID)
	require.Equal(t, before, j.dump("default"))
	raw, err := json.Marshal(out)
	require.NoError(t, err)
	require.NotContains(t, string(raw), was)
}

func start0(t testing.TB, place string) *app { return startIn(t, place, fixture.App()) }

func (a *app) openLedger() *sql.DB {
	a.Helper()
	if folder, ok := strings.CutPrefix(a.place, "sqlite://"); ok {
		db, err := sql.Open("sqlite3", "file:"+filepath.Join(folder, "koan.ledger")+"?_busy_timeout=5000")
		require.NoError(a, err)
		return db
	}
	server, prefix, _ := strings.Cut(a.place, "&schema_prefix=")
	db, err := sql.Open("pgx", server+"&search_path=%22"+prefix+"%22")
	require.NoError(a, err)
	return db
}

func TestRunsWithoutChanges(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestRunsWithoutChanges) {
		return
	}
	a := start(t, koantest.Setting{Key: "journal.changes", Value: "false"})
	r := a.Run(`SDK.Entities.Todo.patch("1", {title: "T"})`, koantest.Input{})
	err := a.refused(fault.CapabilityUnsupported, map[string]any{"runId": r.RunID})
	require.Contains(t, err.Error(), "journal.changes was false")
	warns(t, r, "journal.changes is false")
	require.Empty(t, a.Run(`SDK.Entities.Todo.count()`, koantest.Input{}).Logs, "it changed nothing")

	none := startIn(t, place(t), fixture.App(), koantest.Setting{Key: "journal.enabled", Value: "false"})
	none.refused(fault.CapabilityUnsupported, map[string]any{"runId": r.RunID})

	small := startIn(t, place(t), fixture.App(), koantest.Setting{Key: "run.maxBytes", Value: "1048576"})
	large := small.Run(pieces+`
		for (let i = 0; i < 60; i++) SDK.Entities.Todo.upsert({title: "t", notes: piece(i, 10000)});
	`, koantest.Input{Args: map[string]any{"noise": noise(1)}})
	err = small.refused(fault.CapabilityUnsupported, map[string]any{"runId": large.RunID})
	require.Contains(t, err.Error(), "run.maxBytes")
	warns(t, large, "run.maxBytes")
	require.Empty(t, small.Run(`SDK.Entities.Todo.patch("1", {title: "T"})`, koantest.Input{}).Logs)
}

// warns requires that a run's own result says why it cannot be undone, and nothing else.
func warns(t *testing.T, r *koantest.Result, why string) {
	t.Helper()
	require.Len(t, r.Logs, 1)
	require.Equal(t, "warn", r.Logs[0].Level)
	require.Contains(t, r.Logs[0].Message, "cannot be undone: ")
	require.Contains(t, r.Logs[0].Message, why)
}

// Where runs have to be undoable, one that would not be keeps nothing.
func TestRunsHaveToBeUndoable(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestRunsHaveToBeUndoable) {
		return
	}
	const many = pieces + `for (let i = 0; i < 60; i++) SDK.Entities.Todo.upsert({title: "t", notes: piece(i, 10000)});`
	args := map[string]any{"noise": noise(1)}
	requires := koantest.Setting{Key: "run.requireUndo", Value: "true"}
	call := func(a *app, input map[string]any) error {
		_, err := a.Call("code::koan.execute", input)
		return err
	}
	small := start(t, requires, koantest.Setting{Key: "run.maxBytes", Value: "1048576"})
	before := small.dump("default")
	require.Equal(t, fault.CallTooLarge, fault.CodeOf(call(small, map[string]any{"code": many, "args": args})))
	require.Equal(t, before, small.dump("default"), "nothing is kept")
	require.Equal(t, fault.CallTooLarge, fault.CodeOf(call(small, map[string]any{"code": many, "args": args, "atomic": false})), "the first call that would be too much")
	require.NoError(t, call(small, map[string]any{"code": many, "args": args, "dryRun": true}))

	for _, off := range []string{"journal.changes", "journal.enabled"} {
		a := start(t, requires, koantest.Setting{Key: off, Value: "false"})
		before := a.dump("default")
		_, err := a.Call("koan::Todo.patch", map[string]any{"id": "1", "changes": map[string]any{"title": "T"}})
		require.Equal(t, fault.CapabilityUnsupported, fault.CodeOf(err), off)
		require.Contains(t, fault.From(err).Hint, "run.requireUndo")
		require.Equal(t, before, a.dump("default"))
		require.NoError(t, call(a, map[string]any{"code": "SDK.Entities.Todo.count()"}), "reading can be undone")
	}
}

// What hooks do in an undo, and what an undo says of them.
func TestHooksKnowThatItIsAnUndo(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestHooksKnowThatItIsAnUndo) {
		return
	}
	fx := fixture.App()
	var seen []bool
	fx.Entities = ent.Entities(ent.OnClient(func(c *ent.Client) {
		c.Todo.Use(func(next stdent.Mutator) stdent.Mutator {
			return stdent.MutateFunc(func(ctx context.Context, m stdent.Mutation) (stdent.Value, error) {
				seen = append(seen, framework.Undoing(ctx))
				if tx := ent.FromContext(ctx); tx != nil && !framework.Undoing(ctx) {
					if err := tx.Draft.Create().SetText("noted").Exec(ctx); err != nil {
						return nil, err
					}
				}
				return next.Mutate(ctx, m)
			})
		})
	}))
	a := startIn(t, place(t), fx)
	a.Run(`SDK.Entities.Todo.upsert({id: "1", title: "first"})`, koantest.Input{})
	before := a.dump("default")
	seen = nil
	r := a.Run(`SDK.Entities.Todo.patch("1", {title: "T"})`, koantest.Input{})
	out := a.undo(r.RunID)
	require.Equal(t, []bool{false, true}, seen)
	require.Len(t, out.Result.Not, 1)
	require.Contains(t, out.Result.Not[0].Message, "wrote once to tables that no entity has")
	after := a.dump("default")
	require.Len(t, after, len(before)+1, "the draft is of no entity")
}
