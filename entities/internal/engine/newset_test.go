package engine_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	fixture "github.com/koan-go/koan/tests/fixture/ent"
	"github.com/koan-go/koan/tests/growth/v2/ent"
)

// tenants is an app with sets of tenants, each of which begins with one note.
func tenants(t *testing.T) *app {
	return start(t, ent.Entities(ent.OnCreateSet(func(ctx context.Context, set string, c *ent.Client) error {
		return c.Note.Create().SetID("first").SetTitle("of " + set).Exec(ctx)
	})))
}

// places are what lies in the app's place for data: the names of files, or of schemas.
func (a *app) places() []string {
	a.Helper()
	var out []string
	if folder, ok := strings.CutPrefix(a.place, "sqlite://"); ok {
		files, err := os.ReadDir(folder)
		require.NoError(a, err)
		for _, f := range files {
			if !strings.HasPrefix(f.Name(), "koan.ledger") { // the app's, and no set's
				out = append(out, f.Name())
			}
		}
		return out
	}
	_, prefix, _ := strings.Cut(a.place, "&schema_prefix=")
	prefix, _, _ = strings.Cut(prefix, "&")
	rows, err := beside(a, a.place, "default").Query("SELECT nspname FROM pg_namespace WHERE starts_with(nspname, $1)", prefix+".")
	require.NoError(a, err)
	defer rows.Close()
	for rows.Next() {
		var name string
		require.NoError(a, rows.Scan(&name))
		out = append(out, name)
	}
	require.NoError(a, rows.Err())
	return out
}

// sets are the tenants' sets that a place has, by the names in it.
func (a *app) sets() []string {
	var out []string
	for _, name := range a.places() {
		set := name[strings.LastIndexByte(strings.TrimSuffix(name, ".db"), '.')+1:]
		if set, ok := strings.CutSuffix(set, ".db"); strings.HasPrefix(set, "tenant-") && (ok || postgres(a)) {
			out = append(out, set)
		}
	}
	slices.Sort(out)
	return out
}

func (a *app) script(spec run.Spec, fn func(call func(op, input string) (map[string]any, error)) error) (*run.Outcome, error) {
	a.Helper()
	op := script(spec, func(call func(op, input string) (map[string]any, error), _ *run.Attempt) error { return fn(call) })
	_, out, err := a.engine.Invoke(context.Background(), run.Request{View: a.with(op), Principal: a.as, ID: op.ID, Surface: "app"})
	return out, err
}

// A set comes into being with its first committed write, and with nothing else.
func TestReadingMakesNoSet(t *testing.T) {
	t.Parallel()
	if forEach(t, TestReadingMakesNoSet) {
		return
	}
	a := tenants(t)
	before := a.places()
	for n := range 20 {
		set := fmt.Sprintf("tenant-%d", n)
		require.EqualValues(t, 1, a.call("Note.count", fmt.Sprintf(`{"set":%q}`, set))["count"], "it is read as it would be made")
		require.Equal(t, "of "+set, a.call("Note.get-by-id", fmt.Sprintf(`{"id":"first","set":%q}`, set))["title"])
	}
	write := func(call func(op, input string) (map[string]any, error)) error {
		if _, err := call("Note.upsert", `{"model":{"id":"n","title":"new"},"set":"tenant-w"}`); err != nil {
			return err
		}
		got, err := call("Note.count", `{"set":"tenant-w"}`)
		require.NoError(t, err)
		require.EqualValues(t, 2, got["count"])
		return nil
	}
	out, err := a.script(run.Spec{DryRun: true}, write)
	require.NoError(t, err)
	require.Len(t, out.Changes, 1)
	_, err = a.script(atomic, func(call func(op, input string) (map[string]any, error)) error {
		require.NoError(t, write(call))
		return errors.New("the script fails")
	})
	require.Error(t, err)
	_, err = a.script(atomic, func(call func(op, input string) (map[string]any, error)) error {
		_, err := call("Note.delete", `{"id":"absent","set":"tenant-w"}`)
		return err
	})
	require.NoError(t, err, "it wrote nothing")
	a.fails("invalid_payload", "Note.upsert", `{"model":{"id":"n"},"set":"tenant-w"}`)
	require.ElementsMatch(t, before, a.places(), "nothing is left of any of it")

	out, err = a.script(atomic, write)
	require.NoError(t, err)
	require.True(t, out.Committed)
	require.Equal(t, []string{"tenant-w"}, a.sets())
	require.EqualValues(t, 2, a.call("Note.count", `{"set":"tenant-w"}`)["count"])
	require.Equal(t, "new", a.call("Note.get-by-id", `{"id":"n","set":"tenant-w"}`)["title"])
	again := startIn(t, a.place, ent.Entities())
	require.EqualValues(t, 2, again.call("Note.count", `{"set":"tenant-w"}`)["count"], "other processes have it")
}

// A call that fails after a write that was caught leaves its savepoint, not the draft.
func TestDraftOfASetSurvivesAFailedCall(t *testing.T) {
	t.Parallel()
	if forEach(t, TestDraftOfASetSurvivesAFailedCall) {
		return
	}
	a := tenants(t)
	_, err := a.script(atomic, func(call func(op, input string) (map[string]any, error)) error {
		_, err := call("Folder.upsert-many", `{"models":[{"id":"a","name":"same"},{"id":"b","name":"same"}],"set":"tenant-1"}`)
		require.Error(t, err)
		_, err = call("Folder.upsert", `{"model":{"id":"a","name":"one"},"set":"tenant-1"}`)
		return err
	})
	require.NoError(t, err)
	require.EqualValues(t, 1, a.call("Folder.count", `{"set":"tenant-1"}`)["count"])
	require.EqualValues(t, 1, a.call("Note.count", `{"set":"tenant-1"}`)["count"])
}

// Runs of two processes make the same set at the same time: one does, and the others
// write to what it made.
func TestSetIsMadeOnce(t *testing.T) {
	t.Parallel()
	if forEach(t, TestSetIsMadeOnce) {
		return
	}
	one := tenants(t)
	two := startIn(t, one.place, ent.Entities(ent.OnCreateSet(func(ctx context.Context, set string, c *ent.Client) error {
		return c.Note.Create().SetID("first").SetTitle("of " + set).Exec(ctx)
	})))
	const writers = 6
	for _, spec := range []run.Spec{atomic, {}} {
		set := fmt.Sprintf("tenant-%t", spec.Atomic)
		var group sync.WaitGroup
		for n := range writers {
			a := []*app{one, two}[n%2]
			group.Go(func() {
				_, err := a.script(spec, func(call func(op, input string) (map[string]any, error)) error {
					if _, err := call("Note.count", fmt.Sprintf(`{"set":%q}`, set)); err != nil {
						return err
					}
					_, err := call("Note.upsert", fmt.Sprintf(`{"model":{"id":"n%d","title":"t"},"set":%q}`, n, set))
					return err
				})
				require.NoError(t, err)
			})
		}
		group.Wait()
		require.EqualValues(t, writers+1, two.call("Note.count", fmt.Sprintf(`{"set":%q}`, set))["count"], "none of them is lost")
	}
	require.Equal(t, []string{"tenant-false", "tenant-true"}, one.sets())
}

// On PostgreSQL one run writes to sets that exist and to ones that do not.
func TestSetIsMadeBesideOthers(t *testing.T) {
	t.Parallel()
	if forEach(t, TestSetIsMadeBesideOthers) {
		return
	}
	a := tenants(t)
	read := func(set string) func(func(op, input string) (map[string]any, error)) error {
		return func(call func(op, input string) (map[string]any, error)) error {
			if _, err := call("Note.count", `{"set":"tenant-read"}`); err != nil {
				return err
			}
			_, err := call("Note.upsert", fmt.Sprintf(`{"model":{"id":"n","title":"t"},"set":%q}`, set))
			return err
		}
	}
	for _, set := range []string{"default", "tenant-1"} {
		_, err := a.script(atomic, read(set))
		require.NoError(t, err)
		require.EqualValues(t, 2, a.call("Note.count", fmt.Sprintf(`{"set":%q}`, set))["count"])
	}
	if postgres(t) {
		_, err := a.script(atomic, func(call func(op, input string) (map[string]any, error)) error {
			for _, set := range []string{"tenant-2", "default", "tenant-3"} {
				if _, err := call("Note.upsert", fmt.Sprintf(`{"model":{"id":"m","title":"t"},"set":%q}`, set)); err != nil {
					return err
				}
			}
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, []string{"tenant-1", "tenant-2", "tenant-3"}, a.sets())
		return
	}
	require.Equal(t, []string{"tenant-1"}, a.sets())
}

// One caller brings a bounded number of sets into being; reading them, and writing to
// those that exist, is free. Sets that are gone do not count.
func TestNewSetsPerCallerAreBounded(t *testing.T) {
	t.Parallel()
	if forEach(t, TestNewSetsPerCallerAreBounded) {
		return
	}
	at := place(t)
	open := func() *app {
		return startOn(t, configured{host{at}, map[string]int{"sets.perCaller": 3}}, ent.Entities())
	}
	a := open()
	write := func(n int) string { return fmt.Sprintf(`{"model":{"id":"n","title":"t"},"set":"tenant-%d"}`, n) }
	for n := range 3 {
		a.call("Note.upsert", write(n))
		a = open() // it holds across restarts
	}
	f := a.fails(fault.Forbidden, "Note.upsert", write(3))
	require.Equal(t, "/set", f.Path)
	require.Contains(t, f.Hint, "sets.perCaller")
	_, err := a.script(run.Spec{}, func(call func(op, input string) (map[string]any, error)) error {
		_, err := call("Note.upsert", write(3))
		return err
	})
	require.Equal(t, fault.Forbidden, fault.CodeOf(err), "also where calls commit by themselves")
	a.call("Note.upsert", write(2))
	require.EqualValues(t, 0, a.call("Note.count", `{"set":"tenant-3"}`)["count"])
	require.Equal(t, []string{"tenant-0", "tenant-1", "tenant-2"}, a.sets())

	a.as.Subject = "somebody else"
	a.call("Note.upsert", write(4))
	if folder, ok := strings.CutPrefix(at, "sqlite://"); ok {
		require.NoError(t, a.provider.Stop(t.Context()))
		require.NoError(t, os.Remove(filepath.Join(folder, "tenant-0.db")))
		open().call("Note.upsert", write(5))
	}
}

// unrepeatable fills sets with rows whose ids, times and order are others whenever it runs.
func unrepeatable(ctx context.Context, set string, c *fixture.Client) error {
	for name := range map[string]bool{"Ada": true, "Bob": true, "Cem": true, "Dee": true} {
		who, err := c.Person.Create().SetName(name).SetEmail(uuid.NewString()).Save(ctx)
		if err != nil {
			return err
		}
		label, err := c.Label.Create().SetName(uuid.NewString()).Save(ctx)
		if err != nil {
			return err
		}
		title := name + " in " + set + " " + uuid.NewString()
		if err := c.Todo.Create().SetTitle(title).SetAssignedUser(who).AddLabels(label).SetTags([]string{title}).SetEffort(0.1).Exec(ctx); err != nil {
			return err
		}
	}
	return nil
}

// everything is what an app reads of a set that unrepeatable filled.
func (a *app) everything(set string) map[string]any {
	a.Helper()
	return a.call("Todo.collection", fmt.Sprintf(`{"sort":"title","with":"all","set":%q}`, set))
}

// Sets that are declared by name are there from the start, and count as nobody's.
func TestDeclaredSetsExistFromTheStart(t *testing.T) {
	t.Parallel()
	if forEach(t, TestDeclaredSetsExistFromTheStart) {
		return
	}
	at := place(t)
	open := func() *app {
		return startOn(t, configured{host{at}, map[string]int{"sets.perCaller": 1}}, fixture.Entities(fixture.OnCreateSet(unrepeatable)))
	}
	var apps [3]*app
	var group sync.WaitGroup
	for i := range apps {
		group.Go(func() { apps[i] = open() }) // several processes make them at once
	}
	group.Wait()
	for _, set := range []string{"default", "archive"} {
		require.True(t, slices.ContainsFunc(apps[0].places(), func(name string) bool { return name == set+".db" || strings.HasSuffix(name, "."+set) }), set)
	}
	read := apps[0].everything("archive")
	require.Len(t, read["items"], 4)
	apps[1].call("Todo.upsert", `{"model":{"id":"zz","title":"zz"},"set":"archive"}`)
	apps[1].call("Todo.upsert", `{"model":{"id":"zz","title":"zz"},"set":"tenant-1"}`)
	apps[2].call("Todo.delete", `{"id":"zz","set":"archive"}`)
	require.Equal(t, read, open().everything("archive"))
}

// What was read of a set that does not exist yet stays true when the set is made: by any
// process, after a restart too, and whatever the seeds would make by then.
func TestSetIsMadeAsItWasRead(t *testing.T) {
	t.Parallel()
	if forEach(t, TestSetIsMadeAsItWasRead) {
		return
	}
	at := place(t)
	open := func() *app { return startIn(t, at, fixture.Entities(fixture.OnCreateSet(unrepeatable))) }
	a, b := open(), open()
	for _, spec := range []run.Spec{atomic, {}} {
		set := fmt.Sprintf("tenant-%t", spec.Atomic)
		var group sync.WaitGroup
		var read [6]map[string]any
		for i := range read {
			group.Go(func() { read[i] = []*app{a, b}[i%2].everything(set) })
		}
		group.Wait()
		for _, r := range read {
			require.Equal(t, read[0], r, "all who read it read the same")
		}
		first := read[0]["items"].([]any)[0].(map[string]any)
		patch := func(call func(op, input string) (map[string]any, error)) error {
			_, err := call("Todo.patch", fmt.Sprintf(`{"id":%q,"changes":{"title":"0"},"ifVersion":1,"set":%q}`, first["id"], set))
			return err
		}
		out, err := b.script(run.Spec{DryRun: true, Atomic: true}, patch)
		require.NoError(t, err)
		require.Len(t, out.Changes, 1)
		_, err = open().script(spec, patch)
		require.NoError(t, err)
		require.Contains(t, a.sets(), set)

		first["title"], first["version"] = "0", 2.0
		now := a.everything(set)
		first["updatedAt"] = now["items"].([]any)[0].(map[string]any)["updatedAt"]
		require.Equal(t, read[0], now)
		require.Equal(t, now, b.everything(set))
	}
	unread := a.everything("tenant-3")
	require.NotEqual(t, unread, a.everything("tenant-4"))
	require.NotContains(t, a.sets(), "tenant-3")
}
