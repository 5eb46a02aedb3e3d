package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/pgtest"
)

// napApp returns the app with the plugin that sleeps, on the database that the test runs on,
// and the place of its data.
func napApp(t *testing.T) (a *app, place string) {
	t.Helper()
	a = withNap(t)
	place = "sqlite://" + a.data
	if pgtest.Here(t) {
		place = pgtest.Place(t)
		a.env = append(a.env, "KOAN_DATABASE="+place)
	}
	return a, place
}

// written is what each of these scripts does before it ends badly: rows that are
// stored, changed, linked and deleted, by statements of every kind.
const written = `
import { take } from "@codemode/servers/nap";
const { Todo, Label, Step } = SDK.Entities;
Todo.upsert({ title: "never" });
Todo.upsertMany([{ title: "never" }, { title: "never" }]);
Todo.patch("1", { views: 5 });
Step.upsert({ text: "never", todo: "1" });
Label.upsert({ name: "never", todos: ["1"] });
Todo.updateByQuery({ title: "kept" }, { notes: "never" });
Todo.deleteByQuery({ title: "going" });
`

// ends are all ways in which a run can end other than by returning.
var ends = []struct {
	name, code string
	want       fault.Code
	input      input
	sqlite     bool // only there
}{
	{"throws", `throw new Error("on purpose")`, fault.JavaScriptError, nil, false},
	{"rejects", `await Promise.reject(new Error("on purpose"))`, fault.JavaScriptError, nil, false},
	{"recurses", `(function f() { f() })()`, fault.JavaScriptError, nil, false},
	{"a fault that nobody catches", `Todo.getById("none")`, fault.NotFound, nil, false},
	{"a refused write", `Todo.upsert({ title: "" })`, fault.InvalidPayload, nil, false},
	{"a taken value", `Label.upsertMany([{ name: "twice" }, { name: "twice" }])`, fault.Conflict, nil, false},
	{"a plugin that fails", `await take({ ms: 1, fail: true })`, fault.UpstreamError, nil, false},
	{"too many calls, caught", `for (;;) try { Todo.count() } catch {}`, fault.SDKCallsExceeded, input{"limits": input{"maxToolCalls": 12}}, false},
	{"CPU time, caught", `try { for (;;); } catch {}`, fault.Timeout, nil, false},
	{"time by the clock", `await take({ ms: 60000 })`, fault.Timeout, input{"limits": input{"timeoutMs": 1200}}, false},
	{"memory", `const all = []; for (;;) all.push("x".repeat(1e6) + all.length)`, fault.MemoryExceeded, nil, false},
	{"never settles", `await new Promise(() => {})`, fault.NeverSettled, nil, false},
	{"a result too large", `globalThis.result = "x".repeat(300000)`, fault.ResultTooLarge, nil, false},
	{"one call too large", `Todo.upsert({ title: "x", notes: "x".repeat(9e6) })`, fault.CallTooLarge, nil, false},
	{"too many calls at once", `await Promise.all(Array.from({ length: 1200 }, () => take({ ms: 300 })))`, fault.SDKCallsExceeded, nil, false},
	{"no such entry", `0`, fault.InvalidPayload, input{"entryFunction": "nothing"}, false},
	{"a second set", `Todo.upsert({ title: "never" }, "archive")`, fault.CrossSet, nil, true},
	{"an unknown set", `Todo.upsert({ title: "never" }, "nowhere")`, fault.UnknownSet, nil, false},
}

// TestFailedRunsLeaveNoTrace ends runs in every way that is not a return, after they
// have written: what was there is there, and nothing else; no receipt, no lock.
func TestFailedRunsLeaveNoTrace(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestFailedRunsLeaveNoTrace) {
		return
	}
	a, place := napApp(t)
	p := a.serve()
	require.True(t, p.execute(`SDK.Entities.Todo.upsertMany([{ id: "kept", title: "kept" }, { id: "going", title: "going" }])`).Success)
	before, had := stateOf(t, place)
	for _, end := range ends {
		if end.sqlite && pgtest.Here(t) {
			continue
		}
		e := p.execute(written+end.code, end.input)
		require.False(t, e.Success, end.name)
		require.Equal(t, string(end.want), e.Error.Code, "%s: %+v", end.name, e.Error)
		require.False(t, e.Committed, end.name)
		after, has := stateOf(t, place)
		require.Equal(t, before, after, end.name)
		require.Equal(t, had, has, "%s: no receipt", end.name)
	}
	strict := a.serve("--codeMode.requireAnswer", "true")
	e := strict.execute(written)
	require.Equal(t, string(fault.MissingAnswer), e.Error.Code)
	after, has := stateOf(t, place)
	require.Equal(t, before, after)
	require.Equal(t, had, has)
	require.True(t, strict.execute(written+`SDK.Out.answer("done")`).Success, "nobody holds a lock")
	after, _ = stateOf(t, place)
	require.NotEqual(t, before, after)
}

// stateOf is all data of the set, as it lies there, and how many receipts.
func stateOf(t *testing.T, place string) (data []string, receipts int) {
	t.Helper()
	db := openSet(t, place)
	for _, query := range []string{
		"SELECT 'todo ' || id || ' ' || title || ' ' || CAST(views AS TEXT) || ' ' || CAST(version AS TEXT) || coalesce(notes, ''), 1 FROM todos ORDER BY 1",
		"SELECT 'step ' || text || todo_steps, 1 FROM steps ORDER BY 1",
		"SELECT 'label ' || name, 1 FROM labels ORDER BY 1",
		"SELECT 'link ' || todo_id, label_id FROM todo_labels ORDER BY 1",
	} {
		for row := range pairs(t, db, query) {
			data = append(data, row)
		}
	}
	slices.Sort(data)
	return data, pairs(t, db, "SELECT 'n', count(*) FROM koan_receipts")["n"]
}

// A run that commits call by call reports what it committed, also if it fails.
func TestNonAtomicRunReportsCommits(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestNonAtomicRunReportsCommits) {
		return
	}
	a, _ := napApp(t)
	p := a.serve()
	loose := input{"atomic": false, "include": []string{"changes"}}
	e := p.execute(`SDK.Entities.Todo.upsert({ id: "a", title: "A" }); SDK.Entities.Todo.patch("a", { views: 1 }); throw new Error("late")`, loose)
	require.False(t, e.Success)
	require.True(t, e.Committed, "it says what is true of the data")
	require.Equal(t, new(bool), e.Atomic)
	require.Equal(t, []map[string]any{{"entity": "Todo", "set": "default", "created": 1.0, "updated": 1.0, "deleted": 0.0}}, e.ChangeCounts, "for each commit")
	e = p.execute(`SDK.Entities.Todo.patch("a", { views: 2 }); SDK.Entities.Todo.patch("a", { views: 3 })`, loose)
	require.True(t, e.Success, "%+v", e.Error)
	require.Len(t, e.Changes, 2, "a change for each commit")
	require.Equal(t, new(bool), e.Atomic)
	e = p.execute(`throw new Error("early")`, loose)
	require.False(t, e.Committed)
	require.Nil(t, e.ChangeCounts)
	e = p.execute(`try { SDK.Entities.Todo.upsertMany([{ title: "B" }, { title: "" }]) } catch {}; SDK.Entities.Todo.getById("a").views`, loose)
	require.True(t, e.Success)
	require.EqualValues(t, 3, e.Result)
	require.Empty(t, e.ChangeCounts, "one call is whole, or not at all")
	require.Nil(t, p.execute(`1`).Atomic)
}

// Two people may both go on call only if the other one is: on-call is not a fact
// about one row, so a snapshot alone would let both leave.
func TestWriteSkew(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestWriteSkew) {
		return
	}
	a, _ := napApp(t)
	hosts := []*peer{a.serve(), a.serve()}
	for round := range 3 {
		require.True(t, hosts[0].execute(`SDK.Entities.Todo.upsertMany([{ id: "ann", title: "on call", completed: false }, { id: "bob", title: "on call", completed: false }])`).Success)
		var left sync.WaitGroup
		for n, who := range []string{"ann", "bob"} {
			left.Go(func() {
				e := hosts[(n+round)%2].execute(`
const on = SDK.Entities.Todo.count({ title: "on call", completed: false });
for (let i = 0; i < 2e5; i++);
if (on > 1) SDK.Entities.Todo.patch(SDK.args, { completed: true });`, input{"args": who})
				if !e.Success {
					t.Errorf("%+v", e.Error)
				}
			})
		}
		left.Wait()
		require.EqualValues(t, 1, hosts[1].execute(`SDK.Entities.Todo.count({ title: "on call", completed: false })`).Result, "exactly one is left")
	}
}

// A plugin that takes its time in the middle of a run keeps nobody waiting: the
// run returns its lock back and starts again with the result.
func TestSlowPluginDoesNotBlockWriters(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestSlowPluginDoesNotBlockWriters) {
		return
	}
	a, _ := napApp(t)
	p := a.serve()
	const slow = 4 * time.Second
	done := make(chan toolResult, 1)
	go func() {
		done <- p.tool("koan.code.execute", input{"args": slow.Milliseconds(), "code": `
import { take } from "@codemode/servers/nap";
const { views } = SDK.Entities.Todo.getById("1");
SDK.Entities.Todo.patch("1", { views: views + 1 });
await take({ ms: SDK.args });
SDK.Entities.Todo.upsert({ title: "after the nap" });`})
	}()
	time.Sleep(500 * time.Millisecond)
	longest, writes := time.Duration(0), 0
	for begun := time.Now(); time.Since(begun) < slow-2*time.Second; writes++ {
		one := time.Now()
		e := p.execute(`const { views } = SDK.Entities.Todo.getById("1"); SDK.Entities.Todo.patch("1", { views: views + 1 })`)
		require.True(t, e.Success, "%+v", e.Error)
		longest = max(longest, time.Since(one))
	}
	require.Positive(t, writes)
	require.Less(t, longest, slow/2, "nobody waits for the plugin")
	r := <-done
	require.False(t, r.IsError, "%s", r.Structured)
	var about struct{ Attempts int }
	require.NoError(t, json.Unmarshal(r.Meta["dev.koan/run"], &about))
	require.Greater(t, about.Attempts, 1)
	require.EqualValues(t, writes+1, p.execute(`SDK.Entities.Todo.getById("1").views`).Result, "no update is lost")
}

// A caller over HTTP that hangs up has no run any more.
func TestDisconnectRollsBack(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestDisconnectRollsBack) {
		return
	}
	a, place := napApp(t)
	w := a.web("--sandbox.cpuMs", "20000")
	require.Equal(t, true, second(w.call("koan.code.execute", `{"code":"SDK.Entities.Todo.upsert({id:'kept',title:'kept'})"}`))["success"])
	before, had := stateOf(t, place)
	ctx, hangUp := context.WithCancel(t.Context())
	body, err := json.Marshal(input{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": input{
		"name": "koan.code.execute", "arguments": input{"code": written + `for (;;);`},
		"_meta": input{"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": input{}},
	}})
	require.NoError(t, err)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, strings.NewReader(string(body)))
	require.NoError(t, err)
	for k, v := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "koan.code.execute"} {
		r.Header.Set(k, v)
	}
	go func() {
		time.Sleep(700 * time.Millisecond)
		hangUp()
	}()
	_, err = http.DefaultClient.Do(r)
	require.ErrorIs(t, err, context.Canceled)
	begun := time.Now()
	require.Equal(t, true, second(w.call("koan.code.execute", `{"code":"SDK.Entities.Todo.patch('kept', {views: 0})"}`))["success"])
	require.Less(t, time.Since(begun), 8*time.Second, "the lock is free")
	after, has := stateOf(t, place)
	require.Equal(t, len(before), len(after))
	require.NotContains(t, strings.Join(after, "\n"), "never")
	require.Equal(t, had+1, has)
}

func second(_ int, body map[string]any) map[string]any { return body }
