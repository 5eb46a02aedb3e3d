package undo

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/pgtest"
	"github.com/koan-go/koan/tests/soak"
)

// Where no transaction spans sets, a run whose calls committed to several cannot be undone, and its own
// result says so.
func TestRunsOverSeveralSetsSayIfTheyCanBeUndone(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestRunsOverSeveralSetsSayIfTheyCanBeUndone) {
		return
	}
	const two = `SDK.Entities.Todo.upsert({id: "a", title: "a"}); SDK.Entities.Todo.upsert({id: "b", title: "b"}, {set: "archive"});`
	input := map[string]any{"code": two, "atomic": false}
	a := start(t)
	before := a.dump("default")
	r := a.eachCall(two)
	if pgtest.Here(t) {
		require.Empty(t, r.Logs)
		a.undo(r.RunID)
		require.Equal(t, before, a.dump("default"))
		require.Zero(t, a.count("archive"))
		return
	}
	warns(t, r, "it changed rows in several sets")
	require.Contains(t, a.refused(fault.CrossSet, map[string]any{"runId": r.RunID}).Error(), "several sets")
	one := a.eachCall(`SDK.Entities.Todo.upsert({id: "c", title: "c"}); SDK.Entities.Todo.count({}, {set: "archive"});`)
	require.Empty(t, one.Logs)
	a.undo(one.RunID)

	b := start(t, koantest.Setting{Key: "run.requireUndo", Value: "true"})
	kept := b.count("default")
	_, err := b.Call("code::koan.execute", input)
	require.Equal(t, fault.CrossSet, fault.CodeOf(err), "%v", err)
	require.Equal(t, kept+1, b.count("default"), "what its calls have committed before can be undone")
	require.Zero(t, b.count("archive"))
}

// eachCall runs a script whose calls commit by themselves.
func (a *app) eachCall(script string) *koantest.Result {
	a.Helper()
	raw, err := a.Call("code::koan.execute", map[string]any{"code": script, "atomic": false})
	require.NoError(a, err)
	out := &koantest.Result{}
	require.NoError(a, json.Unmarshal(raw, out))
	return out
}

// count returns how many todos a set has.
func (a *app) count(set string) int {
	a.Helper()
	r := a.Run(`SDK.Entities.Todo.count({}, {set: SDK.args})`, koantest.Input{Args: set})
	var n int
	_, err := fmt.Sscan(string(r.Result), &n)
	require.NoError(a, err, string(r.Result))
	return n
}

// noise makes text that hardly gets smaller when it is compressed; scripts take pieces of it.
func noise(seed uint64) string {
	from := rand.New(rand.NewPCG(seed, 1))
	b := make([]byte, 150<<10)
	for i := range b {
		b[i] = byte('#' + from.IntN(90))
	}
	return string(b)
}

// pieces has a function piece(i, length) that returns another piece of the noise for each i.
const pieces = `const {noise, args} = SDK.args, piece = (i, length) => { const at = i * length % (noise.length - length); return noise.slice(at, at + length); };
`

// A run that may be kept although runs have to be undoable can be undone in the same memory, also the
// largest one.
func TestTheLargestUndoableRunCanBeUndone(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestTheLargestUndoableRunCanBeUndone) {
		return
	}
	const most, batch = 320, 20
	text := noise(1)
	for name, c := range soak.Part(2, map[string]struct{ before, does string }{
		"created": {`null`, `for (let i = 0; i < args; i++) SDK.Entities.Todo.upsert({id: "t" + i, title: "t", notes: piece(i, 2000)})`},
		"new":     {`null`, `for (let i = 0; i < args; i++) SDK.Entities.Todo.create({title: "t", notes: piece(i, 2000)})`},
		"changed": {
			`SDK.Entities.Todo.upsertMany(args.map((i) => ({id: "t" + i, title: "t", notes: piece(i, 1200)})))`,
			`for (let i = 0; i < args; i++) SDK.Entities.Todo.patch("t" + i, {notes: piece(i + 1, 1200)})`,
		},
		"deleted": {
			`SDK.Entities.Todo.upsertMany(args.map((i) => ({id: "t" + i, title: "t", notes: piece(i, 2000)})))`,
			`for (let i = 0; i < args; i++) SDK.Entities.Todo.delete("t" + i)`,
		},
		"linked": {
			`args[0] === 0 && SDK.Entities.Label.upsert({name: "l"})`,
			`const [l] = SDK.Entities.Label.all(); for (let i = 0; i < args; i++) SDK.Entities.Todo.upsert({id: "t" + i, title: "t", labels: [l.id], notes: piece(i, 2000)})`,
		},
	}) {
		a := start(t, koantest.Setting{Key: "run.requireUndo", Value: "true"}, koantest.Setting{Key: "run.maxBytes", Value: "1048576"})
		for i := 0; i < most; i += batch {
			some := make([]int, batch)
			for n := range some {
				some[n] = i + n
			}
			a.Run(pieces+c.before, koantest.Input{Args: map[string]any{"noise": text, "args": some}})
		}
		before := a.dump("default")
		fits, refused := 0, most+1
		for refused-fits > 1 {
			n := (fits + refused) / 2
			raw, err := a.Call("code::koan.execute", map[string]any{"code": pieces + c.does, "args": map[string]any{"noise": text, "args": n}})
			if err != nil {
				require.Equal(t, fault.CallTooLarge, fault.CodeOf(err), "%s: %v", name, err)
				refused = n
				continue
			}
			var done struct{ RunID string }
			require.NoError(t, json.Unmarshal(raw, &done))
			_, err = a.tryUndo(map[string]any{"runId": done.RunID})
			require.NoError(t, err, "%s: %d rows", name, n)
			require.Equal(t, before, a.dump("default"), name)
			fits = n
		}
		require.Greater(t, fits, 80, "%s: nothing is counted more often than an undo keeps it", name)
		require.Less(t, fits, most, name)
	}
}
