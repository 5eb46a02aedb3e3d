package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/plugins/kit"
	"github.com/koan-go/koan/tests/soak"
)

// bulkDomain is the plugin that this test binary is under that name: it returns as
// much as it is asked for.
const bulkDomain = "bulk"

type bulkIn struct {
	Size int    `json:"size"           jsonschema:"minimum=0"`
	Fill string `json:"fill,omitempty"`
}

type bulkOut struct {
	Text string `json:"text"`
}

func bulkPlugin() kit.Plugin {
	give := func(_ context.Context, _ kit.Call, in bulkIn) (bulkOut, error) {
		return bulkOut{strings.Repeat("x", in.Size)}, nil
	}
	return kit.Plugin{
		Domain: bulkDomain, Version: "1.0.0", Description: "Returns text.",
		Functions: []kit.Function{kit.Func("give", "Returns so many characters.", give, kit.ReadOnly(), kit.Example(bulkIn{Size: 1}))},
	}
}

// withBulk returns an app the plugin.
func withBulk(t *testing.T, a *app) {
	t.Helper()
	dir := t.TempDir()
	self, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(self, filepath.Join(dir, bulkDomain)))
	a.env = append(a.env, "KOAN_PLUGINS_DIR="+dir)
}

// mostGrowth is how many bytes a run may add to what the host has resident when it is idle, at its
// highest: what it may hold (run.maxBytes, 24 MiB here), as much again that is garbage before the collector
// begins, and what comes while it runs, which on a busy machine is as much as both.
const mostGrowth = 96 << 20

// mostRest is how many bytes of that may stay.
const mostRest = 32 << 20

// way is one way by which a script, or who sends it, makes the host hold memory.
type way struct {
	name  string
	code  string
	input input        // beside the code
	args  func() any   // of the script: made when they are needed, since the host is this program too
	ends  []fault.Code // how it may end; none is success
	data  bool         // it is driven on both databases, which read and bind rows their own ways
}

// The scripts begin with one of these.
const (
	wide    = `const wide = "y".repeat(4e6); `
	modules = `import * as koan from "@codemode/servers/koan"; import { give } from "@codemode/servers/bulk"; const soon = () => new Promise(r => setTimeout(r, 300)); `
)

var (
	dry      = input{"dryRun": true}
	recorded = input{"include": []string{"changes"}}
	tooMuch  = []fault.Code{fault.MemoryExceeded}
	// refusedValue is what an aggregate of texts that are too long ends in.
	refusedValue = []fault.Code{fault.InvalidPayload}
	// overflow is what a script may end in that has the data in its own memory too.
	overflow = []fault.Code{"", fault.MemoryExceeded, fault.JavaScriptError}
)

// stocked are scripts that make the rows which the ways are about: 200 small todos, 60
// of half a megabyte, a person with 4,000 todos, a todo with 20,000 steps, 20,000 labels.
var stocked = []string{
	`SDK.Entities.Todo.upsertMany(Array.from({length: 200}, (_, i) => ({id: "t" + i, title: "t"}))); SDK.Bulk.give({size: 1}); 1`,
	`for (let i = 0; i < 60; i++) SDK.Entities.Todo.upsert({id: "w" + i, title: "w", notes: "y".repeat(5e5)}); 1`,
	`SDK.Entities.Person.upsert({id: "q", name: "q", email: "q"}); SDK.Entities.Person.upsert({id: "p", name: "p", email: "p"}); SDK.Entities.Todo.upsertMany(Array.from({length: 4000}, (_, i) => ({id: "r" + i, title: "r", assignedUserId: "p"}))); 1`,
	`SDK.Entities.Todo.upsert({id: "c", title: "c"}); for (let i = 0; i < 2; i++) SDK.Entities.Step.upsertMany(Array.from({length: 10000}, () => ({text: "x", todo: "c"}))); 1`,
	`for (let i = 0; i < 2; i++) SDK.Entities.Label.upsertMany(Array.from({length: 10000}, (_, j) => ({name: "l" + i + "-" + j}))); 1`,
}

// widest are scripts that make 60 todos of one to two megabytes, of which 40 differ at
// their start.
func widest() (out []string) {
	for first := 0; first < 60; first += 10 {
		out = append(out, fmt.Sprintf(`for (let i = %d; i < %d; i++) SDK.Entities.Todo.upsert({id: "v" + i, title: "v", assignedUserId: "q", notes: i %% 40 + "v v ".repeat(2e5 + i * 5000)}); 1`, first, first+10))
	}
	return out
}

var ways = []way{
	{name: "update by query makes wide rows, dry", data: true, code: `SDK.Entities.Todo.updateByQuery({title: "t"}, {notes: "y".repeat(4e6)})`, input: dry, ends: tooMuch},
	{name: "update by query makes wide rows, recorded", code: `SDK.Entities.Todo.updateByQuery({title: "t"}, {notes: "y".repeat(4e6)})`, input: recorded, ends: tooMuch},
	{name: "patches make wide rows, dry", data: true, code: wide + `for (let i = 0; i < 40; i++) SDK.Entities.Todo.patch("t" + i, {notes: wide})`, input: dry, ends: tooMuch},
	{name: "patches make wide rows", data: true, code: wide + `for (let i = 0; i < 4; i++) SDK.Entities.Todo.patch("t" + i, {notes: wide}); throw 1`, ends: []fault.Code{fault.JavaScriptError}},
	{name: "new wide rows, dry", data: true, code: wide + `for (let i = 0; i < 40; i++) SDK.Entities.Todo.upsert({title: "n", notes: wide})`, input: dry, ends: tooMuch},
	{name: "upsertMany of wide rows, dry", data: true, code: `for (let i = 0; i < 10; i++) SDK.Entities.Todo.upsertMany(Array.from({length: 6}, () => ({title: "n", notes: "z".repeat(1e6)})))`, input: dry, ends: tooMuch},
	{name: "upsertMany of many rows", code: `for (let i = 0; i < 3; i++) SDK.Entities.Label.upsertMany(Array.from({length: 10000}, (_, j) => ({name: "n" + i + "-" + j}))); throw 1`, ends: []fault.Code{fault.JavaScriptError}},
	{name: "wide rows are deleted, recorded", data: true, code: `SDK.Entities.Todo.deleteMany(Array.from({length: 60}, (_, i) => "w" + i))`, input: recorded, ends: tooMuch},
	{name: "wide rows are deleted by query, dry", code: `SDK.Entities.Todo.deleteByQuery({title: "w"})`, input: dry, ends: tooMuch},
	{name: "many rows are deleted, dry", code: `SDK.Entities.Label.deleteByQuery({}, {maxAffected: 100000})`, input: dry, ends: []fault.Code{fault.ResultTooLarge, fault.MemoryExceeded}},
	{name: "many rows are deleted", code: `SDK.Entities.Label.deleteByQuery({}, {maxAffected: 100000}); throw 1`, ends: []fault.Code{fault.JavaScriptError}},
	{name: "a cascade, dry", data: true, code: `SDK.Entities.Todo.delete("c")`, input: dry, ends: []fault.Code{fault.ResultTooLarge, fault.MemoryExceeded}},
	{name: "links of many to many, dry", code: `const ids = []; for (const l of SDK.Entities.Label.each({pageSize: 200, fields: "id"})) if (ids.push(l.id) == 1000) break; for (let i = 0; i < 30; i++) SDK.Entities.Todo.patch("t" + i, {labels: ids})`, input: dry, ends: append(tooMuch, fault.ResultTooLarge)},
	{name: "a plan", code: `for (let i = 0; i < 60; i++) SDK.Entities.Todo.patch("w" + i, {title: "v"})`, input: input{"approval": "always"}, ends: tooMuch},
	{name: "pages of wide rows", data: true, code: `for (let i = 0; i < 4; i++) SDK.Entities.Todo.collection({filter: {title: "w"}, pageSize: 200})`, ends: overflow},
	{name: "pages sorted by wide texts", code: `SDK.Entities.Todo.collection({filter: {title: "w"}, sort: "notes", pageSize: 5})`, ends: []fault.Code{fault.CallTooLarge}},
	{name: "all wide rows", code: `SDK.Entities.Todo.all({filter: {title: "w"}})`, ends: overflow},
	{name: "relations of relations", data: true, code: `SDK.Entities.Todo.collection({filter: {title: "r"}, pageSize: 200, fields: "id", with: {assignedUser: {fields: "id", with: {todos: {fields: "id"}}}}})`, ends: overflow},
	{name: "aggregates of many groups", code: `for (let i = 0; i < 3; i++) SDK.Entities.Step.aggregate({groupBy: ["id", "text"], count: true, limit: 10000})`, ends: overflow},
	{name: "aggregate by wide texts", data: true, code: `SDK.Entities.Todo.aggregate({groupBy: "notes", limit: 1})`, ends: refusedValue},
	{name: "aggregate of different wide texts", data: true, code: `SDK.Entities.Todo.aggregate({count: {distinct: "notes"}})`, ends: refusedValue},
	{name: "aggregate of different wide texts in groups", data: true, code: `SDK.Entities.Todo.aggregate({groupBy: "priority", count: {distinct: "notes"}})`, ends: refusedValue},
	{name: "aggregate of the first wide text in groups", data: true, code: `SDK.Entities.Todo.aggregate({groupBy: "priority", min: "notes"})`, ends: refusedValue},
	{name: "aggregate of the last wide text", data: true, code: `SDK.Entities.Todo.aggregate({max: "notes"})`},
	{name: "ids sorted by wide texts", data: true, code: `SDK.Entities.Todo.collection({filter: {title: "v"}, sort: "-notes", pageSize: 30, fields: "id"})`, ends: []fault.Code{fault.CallTooLarge}},
	{name: "wide rows sorted by another field", data: true, code: `SDK.Entities.Todo.collection({sort: "-title", pageSize: 200, fields: "notes"})`, ends: overflow},
	{name: "wide rows with sorted relations", data: true, code: `SDK.Entities.Todo.collection({sort: "-title", pageSize: 200, fields: "notes", with: {labels: {sort: "-name"}}})`, ends: overflow},
	{name: "wide rows behind one another", data: true, code: `SDK.Entities.Todo.collection({filter: {title: {$in: ["v", "w"]}}, sort: "title", page: 3, pageSize: 40, fields: "notes"})`, ends: overflow},
	{name: "relation of wide rows", data: true, code: `SDK.Entities.Person.getById("q", {with: "todos"})`, ends: []fault.Code{fault.CallTooLarge}},
	{name: "relation of wide rows by another field", data: true, code: `SDK.Entities.Person.getById("q", {with: {todos: {sort: "-title"}}})`, ends: []fault.Code{fault.CallTooLarge}},
	{name: "relation sorted by wide texts", data: true, code: `SDK.Entities.Person.getById("q", {with: {todos: {sort: "-notes", fields: "id"}}})`},
	{name: "first of a relation sorted by wide texts", data: true, code: `SDK.Entities.Person.getById("q", {with: {todos: {sort: "-notes", fields: "id", limit: 3}}})`, ends: []fault.Code{fault.CallTooLarge}},
	{name: "first wide rows of a relation", data: true, code: `SDK.Entities.Person.getById("q", {with: {todos: {limit: 60}}})`, ends: []fault.Code{fault.CallTooLarge}},
	{name: "plugin results, one after the other", code: `for (let i = 0; i < 300; i++) SDK.Bulk.give({size: 1e6})`, ends: tooMuch},
	{name: "plugin results, in parallel", code: modules + `await Promise.all(Array.from({length: 60}, () => give({size: 1e6})))`, ends: tooMuch},
	{name: "plugin results, not awaited", code: modules + `for (let i = 0; i < 60; i++) give({size: 4e6}); await soon()`, ends: tooMuch},
	{name: "plugin inputs, in parallel", code: modules + `const fill = "z".repeat(1e6); await Promise.all(Array.from({length: 60}, () => give({size: 1, fill})))`, ends: tooMuch},
	{name: "results of entities, not awaited", code: modules + `for (let i = 0; i < 60; i++) koan.todo_get_by_id({id: "w" + i}); await soon()`, ends: append(overflow, fault.MemoryExceeded)},
	{name: "inputs of entities, not awaited", code: modules + `const notes = "z".repeat(1e6); for (let i = 0; i < 60; i++) koan.todo_upsert({model: {title: "n", notes}}); await soon()`, ends: tooMuch},
	{name: "refused inputs", code: wide + `for (let i = 0; i < 6; i++) try { SDK.Entities.Todo.upsert({title: "n", wrong: wide}) } catch {}`, ends: overflow},
	{name: "inputs of many values", code: `for (let i = 0; i < 2; i++) try { SDK.Entities.Todo.upsert({title: "n", tags: Array.from({length: 4e5}, () => "")}) } catch {}`, ends: overflow},
	{name: "arguments of many values", code: `1`, args: func() any { return make([]int, 3_500_000) }, ends: []fault.Code{fault.CallTooLarge}},
	{name: "arguments of many objects", code: `1`, args: func() any { return make([]struct{}, 2_000_000) }, ends: []fault.Code{fault.CallTooLarge}},
	{name: "long arguments", code: `1`, args: func() any { return strings.Repeat("a", 8<<20-1000) }, ends: overflow},
	{name: "calls without end", code: `for (;;) SDK.Entities.Todo.findById("none")`, ends: []fault.Code{fault.MemoryExceeded, fault.Timeout}},
	{name: "failing calls", code: `for (let i = 0; i < 2000; i++) try { SDK.Entities.Todo.getById("none".repeat(1000)) } catch {}`},
	{name: "logs", code: `for (let i = 0; i < 1e4; i++) console.log("y".repeat(1e4))`},
	{name: "progress", code: `for (let i = 0; i < 3e3; i++) SDK.Out.progress(i, 3e3, "y".repeat(1e4))`},
	{name: "statements of many shapes", code: `for (let i = 0; i < 40; i++) SDK.Entities.Todo.count({title: {$in: Array.from({length: 4000 - i}, (_, j) => "t" + j)}})`},
	{name: "discovery, not awaited", code: `import { listTools } from "@codemode/discovery"; for (let i = 0; i < 1000; i++) listTools("koan", {detail: "full"}); await new Promise(r => setTimeout(r, 300))`, ends: []fault.Code{fault.MemoryExceeded, fault.ParallelCallsExceeded}},
}

// TestRunsHoldLittleMemory drives every way by which a script, or who sends it, makes the
// host hold memory, and looks at the host's most resident bytes.
func TestRunsHoldLittleMemory(t *testing.T) {
	soak.Proof(t)
	t.Parallel()
	for place, env := range map[string]func(*testing.T) []string{
		"SQLite": func(*testing.T) []string { return nil }, "PostgreSQL": func(t *testing.T) []string { return onPostgres(t).env },
	} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			a, look := vitalsApp(t)
			withBulk(t, a)
			a.env = append(a.env, env(t)...)
			p := a.serve("--codeMode.maxSdkCalls", "0", "--sandbox.cpuMs", "20000", "--sandbox.timeoutMs", "120000", "--run.maxBytes", strconv.Itoa(24<<20))
			for _, code := range slices.Concat(stocked, widest()) {
				e := p.execute(code)
				require.True(t, e.Success, "%+v", e.Error)
			}
			first := look(p.cmd)
			for _, w := range ways {
				if !w.data && place != "SQLite" {
					continue
				}
				idle := look(p.cmd)
				grown := w.drive(t, p, idle)
				require.Less(t, grown, int64(mostGrowth), "%s: the host grew by %d MB", w.name, grown>>20)
			}
			require.Eventually(t, func() bool { return look(p.cmd).resident < first.resident+mostRest }, time.Minute, 50*time.Millisecond, "nothing of it stays")
		})
	}
}

// drive runs the way's script and returns by how many bytes the host grew at most.
func (w way) drive(t *testing.T, p *peer, idle vitals) int64 {
	t.Helper()
	pid := p.cmd.Process.Pid
	require.NoError(t, os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)) // the peak begins anew
	extra := input{}
	if w.args != nil {
		extra["args"] = w.args()
	}
	begun := time.Now()
	e := p.execute(w.code+"\n;1", w.input, extra)
	took := time.Since(begun)
	var ended fault.Code
	if !e.Success {
		ended = fault.Code(e.Error.Code)
	}
	if len(w.ends) == 0 {
		w.ends = []fault.Code{""}
	}
	require.True(t, slices.Contains(w.ends, ended), "%s: %+v", w.name, e.Error)
	if ended == fault.MemoryExceeded {
		require.Empty(t, e.Committed, w.name)
	}
	grown := peakOf(t, pid) - idle.resident
	t.Logf("%-45s %5.1f MB %5d ms %s", w.name, float64(grown)/(1<<20), took.Milliseconds(), ended)
	return grown
}

// peakOf is the most resident bytes of a process since that was reset.
func peakOf(t *testing.T, pid int) int64 {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(raw), "VmHWM:")
	require.True(t, ok)
	kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	require.NoError(t, err)
	return kb << 10
}

// The fault of a run's budget differs from that of its script's memory, and says what to do.
func TestHostBudgetFault(t *testing.T) {
	t.Parallel()
	p := newApp(t).serve("--run.maxBytes", "2097152")
	require.True(t, p.execute(`for (let i = 0; i < 3; i++) SDK.Entities.Todo.upsert({id: "t" + i, title: "t", notes: "y".repeat(1e6)}); 1`).Success, "nothing is kept of rows that nobody wants to see")
	e := p.execute(`try { SDK.Entities.Todo.deleteMany(["t0", "t1", "t2"]) } catch (e) { } "caught"`, dry)
	require.False(t, e.Success)
	require.Equal(t, string(fault.MemoryExceeded), e.Error.Code, "it ends the run even when caught")
	require.Equal(t, map[string]any{"limit": "host", "limitBytes": 2097152.0}, e.Error.Details)
	require.Equal(t, "fix", e.Error.Retry)
	require.Contains(t, e.Error.Hint, "dryRun")
	require.EqualValues(t, 4, p.execute(`SDK.Entities.Todo.count()`).Result)
	require.EqualValues(t, 3, p.execute(`SDK.Entities.Todo.deleteMany(["t0", "t1", "t2"])`).Result, "without images it has room")
}

// A rule of approval records what a run changes, so that a batch may be too large for it
// which is within the bounds of one call.
func TestHostBudgetFaultOfABatch(t *testing.T) {
	t.Parallel()
	const batch = `SDK.Entities.Label.upsertMany(Array.from({length: 2000}, (_, i) => ({name: "l" + i}))).length`
	e := newApp(t).serve("--run.maxBytes", "2097152", "--approval.mode", "destructive").execute(batch)
	require.False(t, e.Success)
	require.Equal(t, string(fault.MemoryExceeded), e.Error.Code)
	require.Equal(t, "fix", e.Error.Retry)
	require.Contains(t, e.Error.Hint, "smaller batches")
	require.Contains(t, e.Error.Hint, "approval")
	e = newApp(t).serve("--run.maxBytes", "2097152").execute(batch)
	require.True(t, e.Success, "%+v", e.Error)
}

// A run's time holds also where the host reads what the run has changed.
func TestTimeLimitWhileChangesAreRead(t *testing.T) {
	p := newApp(t).serve("--run.maxBytes", "1073741824")
	require.True(t, p.execute(`SDK.Entities.Todo.upsertMany(Array.from({length: 120}, () => ({title: "t"}))); 1`).Success)
	begun := time.Now()
	e := p.execute(`SDK.Entities.Todo.updateByQuery({title: "t"}, {notes: "y".repeat(4e6)})`, dry, input{"limits": input{"timeoutMs": 1000}})
	require.Less(t, time.Since(begun), 3*time.Second)
	require.False(t, e.Success)
	require.Equal(t, string(fault.Timeout), e.Error.Code)
}
