package undo

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/pgtest"
	"github.com/koan-go/koan/tests/soak"
)

// some is enough rows for several pages of images and several calls of an undo.
const some = 400

// fill stores so many todos, in calls that each have as many as one may.
const fill = `for (let i = 0; i < SDK.args.rows; i += 1000) SDK.Entities.Todo.upsertMany(
	Array.from({length: Math.min(1000, SDK.args.rows - i)}, (_, n) => ({id: "t" + (i + n), title: "todo " + (i + n), secret: "s" + n, notes: SDK.args.text})))`

// A run over many pages of images is restored in its order, row by row as a small one: its undo can be
// undone itself, and what was changed since on any of its pages is found or left.
func TestUndoOverManyPages(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestUndoOverManyPages) {
		return
	}
	a := start(t, koantest.Setting{Key: "run.requireUndo", Value: "true"})
	empty := a.dump("default")
	filled := a.Run(fill, koantest.Input{Args: map[string]any{"rows": some, "text": strings.Repeat("old ", 100)}})
	before := a.dump("default")
	changed := a.Run(`const E = SDK.Entities, text = "new ".repeat(100);
		E.Todo.updateByQuery({title: {$startsWith: "todo"}}, {notes: text, secret: "other"}, {all: true});
		E.Todo.deleteByQuery({title: {$startsWith: "todo 10"}}, {all: true});
		for (let i = 0; i < 150; i++) E.Todo.upsert({id: "n" + i, title: "new " + i});
		E.Todo.patch("t5", {title: "twice"});`, koantest.Input{})
	require.Empty(t, changed.Logs)
	after := a.dump("default")

	dry, err := a.tryUndo(map[string]any{"runId": changed.RunID, "dryRun": true})
	require.NoError(t, err)
	out := a.undo(changed.RunID)
	require.Equal(t, dry.ChangeCounts, out.ChangeCounts)
	require.Equal(t, before, a.dump("default"))
	const gone = 1 + 10 // t10, t100 to t109
	counts := out.ChangeCounts[0]
	require.Equal(t, [3]int{gone, some - gone, 150}, [3]int{counts.Created, counts.Updated, counts.Deleted})
	require.Empty(t, out.Result.Skipped)

	again := a.undo(out.RunID)
	require.Equal(t, after, a.dump("default"), "the undo of an undo does it again")
	a.undo(again.RunID)
	require.Equal(t, before, a.dump("default"))

	later := a.Run(`SDK.Entities.Todo.updateByQuery({title: {$startsWith: "todo"}}, {notes: "later".repeat(50)}, {all: true})`, koantest.Input{})
	mine := []string{"t0", "t200", "t399"}
	a.Run(`for (const id of SDK.args) SDK.Entities.Todo.patch(id, {notes: "mine"})`, koantest.Input{Args: mine})
	held := a.dump("default")
	refused := a.refused(fault.Conflict, map[string]any{"runId": later.RunID})
	require.Contains(t, refused.Error(), "3 places cannot be restored")
	require.Equal(t, held, a.dump("default"), "a conflict on one page leaves all of them")
	skipped, err := a.tryUndo(map[string]any{"runId": later.RunID, "onConflict": "skip"})
	require.NoError(t, err)
	var left []string
	for _, s := range skipped.Result.Skipped {
		require.Equal(t, "notes", s.Field)
		left = append(left, s.ID)
	}
	require.ElementsMatch(t, mine, left)
	a.Run(`for (const id of SDK.args.ids) SDK.Entities.Todo.patch(id, {notes: SDK.args.text})`, koantest.Input{Args: map[string]any{"ids": mine, "text": strings.Repeat("old ", 100)}})
	a.undo(filled.RunID)
	require.Equal(t, empty, a.dump("default"))
}

// A run of 100,000 rows can be undone at the limits that a server has by default, in memory that is
// bounded by them.
func TestUndoOf100000Rows(t *testing.T) {
	soak.Proof(t)
	if pgtest.ForEach(t, TestUndoOf100000Rows) {
		return
	}
	const rows, batch = 100_000, 5_000
	a := start(t, koantest.Setting{Key: "run.requireUndo", Value: "true"}, koantest.Setting{Key: "server.toolTimeoutMs", Value: "1200000"}, koantest.Setting{Key: "sandbox.timeoutMs", Value: "1200000"})
	for i := 0; i < rows; i += batch {
		a.Run(`for (let i = SDK.args; i < SDK.args + 5000; i += 1000) SDK.Entities.Todo.upsertMany(
			Array.from({length: 1000}, (_, n) => ({id: "t" + (i + n), title: "todo " + (i + n), notes: "old"})))`, koantest.Input{Args: i})
	}
	before := a.dump("default")
	for name, script := range map[string]string{
		"updates": `SDK.Entities.Todo.updateByQuery({title: {$startsWith: "todo"}}, {notes: "new"}, {all: true})`,
		"deletes": `SDK.Entities.Todo.deleteByQuery({title: {$startsWith: "todo"}}, {all: true})`,
	} {
		peak := watchHeap(t)
		began := time.Now()
		raw, err := a.Call("code::koan.execute", map[string]any{"code": script})
		require.NoError(t, err, name)
		ran := time.Since(began)
		used := peak()
		var done struct{ RunID string }
		require.NoError(t, json.Unmarshal(raw, &done))
		peak = watchHeap(t)
		began = time.Now()
		require.EventuallyWithT(t, func(c *assert.CollectT) { // the journal takes seconds to write it
			_, err := a.tryUndo(map[string]any{"runId": done.RunID})
			require.NoError(c, err)
		}, 10*time.Minute, time.Second, name)
		undoing := peak()
		t.Logf("%s: %v with %d MB, its undo %v with %d MB", name, ran, used>>20, time.Since(began), undoing>>20)
		require.Less(t, max(used, undoing), uint64(128<<20), name)
		require.Equal(t, before, a.dump("default"))
	}
}

// watchHeap returns a function that returns by how much the live heap has grown at most, since it was called.
func watchHeap(t *testing.T) func() uint64 {
	t.Helper()
	live := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	at, most, stop, stopped := live(), uint64(0), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Second):
				most = max(most, live())
			}
		}
	}()
	return func() uint64 {
		close(stop)
		<-stopped
		return max(most, at) - at
	}
}
