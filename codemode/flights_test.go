package codemode_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
)

func TestCallsRunInParallel(t *testing.T) {
	m := newModules(t, nil)
	require.JSONEq(t, `[0,1,4,9,16,25,36,49,64,81]`, m.gives(`import { of } from "@codemode/servers/square";
globalThis.__codemode_result__ = (await Promise.all(Array.from({ length: 10 }, (_, n) => of({ n, ms: 50 })))).map((r) => r.n);`))
	require.EqualValues(t, 10, m.square.most.Load())
}

// Calls to entities are made in the order of issue, one at a time, whatever else
// goes on and whichever kind they are.
func TestEntityCallsAreInOrder(t *testing.T) {
	m := newModules(t, nil)
	var running, most atomic.Int64
	m.library.calls = func(string) {
		most.Store(max(most.Load(), running.Add(1)))
		time.Sleep(time.Millisecond)
		running.Add(-1)
	}
	e := m.module(`import * as koan from "@codemode/servers/koan"; import { of } from "@codemode/servers/square";
const write = (i) => koan.note_upsert({ model: { id: "1", text: String(i) } });
const reads = [];
for (let i = 0; i < 20; i++) {
  write(i);
  if (i % 5 === 0) of({ n: i, ms: 3 });
  reads.push(koan.note_get_by_id({ id: "1" }).then((n) => n.text));
  if (i % 7 === 0) reads.push(SDK.Entities.Note.getById("1").text);
}
globalThis.__codemode_result__ = await Promise.all(reads);`)
	require.Empty(t, e.errors(), "%+v", e.Diagnostics)
	var want []string
	for i := range 20 {
		want = append(want, fmt.Sprint(i))
		if i%7 == 0 {
			want = append(want, fmt.Sprint(i))
		}
	}
	got, err := json.Marshal(want)
	require.NoError(t, err)
	require.JSONEq(t, string(got), string(e.Result))
	require.EqualValues(t, 1, most.Load())
	require.Equal(t, "19", m.text("1"))
}

// TestDeliveriesAreOnTheTape has calls whose order changes from attempt to
// attempt: what the script sees does not.
func TestDeliveriesAreOnTheTape(t *testing.T) {
	m := newModules(t, nil)
	var attempts atomic.Int64
	var orders []string
	race := &catalog.Operation{
		ID:       catalog.PluginID("race", "go"),
		Contract: catalog.Contract{Input: schema(`"lane":{"type":"integer"}`), Output: json.RawMessage(`{}`)},
		Listing:  catalog.Listing{Summary: "Takes its time.", Reach: catalog.Everywhere},
		Work: catalog.Work{
			Handler: func(_ context.Context, c catalog.Call) (json.RawMessage, error) {
				return c.Input(), nil
			},
		},
	}
	begin := &catalog.Operation{
		ID:       catalog.PluginID("race", "begin"),
		Contract: catalog.Contract{Input: schema(""), Output: json.RawMessage(`{}`)},
		Listing:  catalog.Listing{Summary: "Begins.", Reach: catalog.Everywhere},
		Work: catalog.Work{
			Serial: true,
			Handler: func(context.Context, catalog.Call) (json.RawMessage, error) {
				attempts.Add(1)
				return json.RawMessage(`{}`), nil
			},
		},
	}
	// An entity's call is not on the tape, so its time is what an attempt makes it.
	lane := &catalog.Operation{
		ID:       catalog.PluginID("race", "told"),
		Contract: catalog.Contract{Input: schema(`"order":{"type":"string"}`), Output: json.RawMessage(`{}`)},
		Listing:  catalog.Listing{Summary: "Tells.", Reach: catalog.Everywhere},
		Work: catalog.Work{
			Serial: true,
			Handler: func(_ context.Context, c catalog.Call) (json.RawMessage, error) {
				orders = append(orders, string(c.Input()))
				if attempts.Load() < 3 { // somebody else commits meanwhile
					m.shelf.mu.Lock()
					m.shelf.version["default"]++
					m.shelf.mu.Unlock()
				}
				return json.RawMessage(`{}`), nil
			},
		},
	}
	snapshot, err := catalog.NewSnapshot(m.library.offer(), catalog.Offer{Operations: []*catalog.Operation{race, begin, lane}}, m.provider.Offer())
	require.NoError(t, err)
	m.view = snapshot.View(auth.Local(), exposure.Full, false)
	e := m.module(`import { go, begin, told } from "@codemode/servers/race"; import * as koan from "@codemode/servers/koan";
await begin();
const order = [];
const timer = new Promise((r) => setTimeout(() => { order.push("timer"); r() }, 1));
await Promise.all([timer, ...Array.from({ length: 12 }, (_, lane) => go({ lane }).then((r) => order.push(r.lane, Math.random() < 0.5, Date.now())))]);
await koan.note_get_by_id({ id: "1" });
await told({ order: order.join() });
await koan.note_upsert({ model: { id: "1", text: order.join() } });
globalThis.__codemode_result__ = order;`)
	require.Empty(t, e.errors(), "%+v", e.Diagnostics)
	require.EqualValues(t, 3, e.outcome.Attempts)
	require.Len(t, orders, 3)
	require.Equal(t, orders[0], orders[1], "the second attempt sees what the first saw")
	require.Equal(t, orders[0], orders[2])
}

// A slow call in flight while the data is locked does not hold the lock: a new
// attempt finds its result on the tape.
func TestSlowCallInFlightGivesWay(t *testing.T) {
	m := newModules(t, nil)
	m.shelf.locks = true
	e := m.module(`import { of } from "@codemode/servers/square"; import * as koan from "@codemode/servers/koan";
const slow = [of({ n: 2, ms: 900 }), of({ n: 3, ms: 400 })];
await koan.note_upsert({ model: { id: "1", text: "locked" } });
globalThis.__codemode_result__ = (await Promise.all(slow)).map((r) => r.n);`)
	require.Empty(t, e.errors(), "%+v", e.Diagnostics)
	require.JSONEq(t, `[4,9]`, string(e.Result))
	require.EqualValues(t, 2, e.outcome.Attempts)
	require.EqualValues(t, 2, m.square.done.Load(), "each call was made once")
	require.Equal(t, "locked", m.text("1"))
}

func TestCancelledWhileInFlight(t *testing.T) {
	m := newModules(t, nil)
	ctx, cancel := context.WithTimeout(context.Background(), 150*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, outcome, err := m.engine.Invoke(ctx, run.Request{
		View: m.view, Principal: auth.Local(), ID: catalog.CodeID("koan", "execute"), Surface: "test",
		Input: json.RawMessage(`{"code":"import { of } from '@codemode/servers/square'; import * as k from '@codemode/servers/koan'; k.note_upsert({ model: { id: '1', text: 'x' } }); await of({ n: 1, ms: 60000 })"}`),
	})
	require.Equal(t, fault.Timeout, fault.CodeOf(err))
	require.False(t, outcome.Committed)
	require.Less(t, time.Since(began), 5*time.Second)
	require.Equal(t, "first", m.text("1"))
	require.EqualValues(t, 0, m.square.running.Load(), "nothing goes on")
}

// A script that throws does not wait for its calls.
func TestThrowingCancelsCalls(t *testing.T) {
	m := newModules(t, nil)
	began := time.Now()
	e := m.module(`import { of } from "@codemode/servers/square"; of({ n: 1, ms: 60000 }).catch(() => {}); throw new Error("no")`)
	require.Equal(t, []string{"UNCAUGHT_EXCEPTION"}, e.errors())
	require.Less(t, time.Since(began), 5*time.Second)
	require.EqualValues(t, 0, m.square.running.Load())
}

// Calls beyond the limit wait, and are made in the order of issue.
func TestParallelCallsAtTheirLimit(t *testing.T) {
	m := newModules(t, map[string]any{"codeMode.maxParallelCalls": 3})
	const code = `import { of } from "@codemode/servers/square"; import * as koan from "@codemode/servers/koan";
for (let round = 0; round < 3; round++)
  await Promise.all([...Array.from({ length: %d }, (_, n) => of({ n, ms: 5 })), ...Array.from({ length: 10 }, () => koan.note_get_by_id({ id: "1" }))]);
globalThis.__codemode_result__ = "done";`
	require.JSONEq(t, `"done"`, m.gives(fmt.Sprintf(code, 40)))
	require.EqualValues(t, 3, m.square.most.Load())
	e := m.module(`import { of } from "@codemode/servers/square";
await Promise.all(Array.from({ length: 40 }, (_, n) => of({ n: n === 0 ? -1 : n, ms: n ? 60000 : 5 })));`)
	require.Equal(t, []string{"UNCAUGHT_EXCEPTION"}, e.errors(), "%+v", e.Diagnostics)
	require.EqualValues(t, 0, m.square.running.Load(), "those that wait are not made any more")
}

// A script that starts calls and awaits none is stopped, and its line is known.
func TestFloodOfCalls(t *testing.T) {
	for name, changed := range map[string]map[string]any{"quota": {"sandbox.cpuMs": 30000}, "unlimited": {"codeMode.maxSdkCalls": 0, "sandbox.cpuMs": 30000}} {
		t.Run(name, func(t *testing.T) {
			m := newModules(t, changed)
			e := m.module(`import * as koan from "@codemode/servers/koan"; import { listServers } from "@codemode/discovery";
const all = [];
for (let i = 0; i < 12000; i++) all.push(koan.note_get_by_id({ id: "1" }));
await Promise.all(all);`)
			require.Equal(t, []string{"SANDBOX_LIMIT"}, e.errors(), "%+v", e.Diagnostics)
			require.Equal(t, "script:3:61", e.Diagnostics[0].Path)
		})
	}
}

// A script does not succeed that has passed a limit with calls which it does not await.
func TestUnawaitedCallsKeepLimits(t *testing.T) {
	m := newModules(t, map[string]any{"codeMode.maxSdkCalls": 3})
	e := m.module(`import * as koan from "@codemode/servers/koan";
for (let i = 0; i < 5; i++) koan.note_upsert({ model: { id: "n" + i, text: "x" } });
globalThis.__codemode_result__ = "done";`)
	require.Equal(t, []string{"SANDBOX_LIMIT"}, e.errors(), "%+v", e.Diagnostics)
	require.NotContains(t, m.shelf.notes["default"], "n0")
}

// What is held in flight is bounded in bytes too.
func TestFlightsAreBoundedInBytes(t *testing.T) {
	m := newModules(t, nil)
	e := m.module(`import * as koan from "@codemode/servers/koan";
const text = "x".repeat(7e6); const all = [];
for (let i = 0; i < 20; i++) all.push(koan.note_upsert({ model: { id: "n" + i, text } }));
await Promise.all(all);`, in{"limits": in{"maxMemoryBytes": 64 << 20}})
	require.Equal(t, []string{"SANDBOX_LIMIT"}, e.errors(), "%+v", e.Diagnostics)
	require.NotContains(t, m.shelf.notes["default"], "n1")
}
