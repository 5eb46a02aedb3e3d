package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/pgtest"
)

// TestKilledServers is the short form of TestSoakKilledServers.
func TestKilledServers(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestKilledServers) {
		return
	}
	killDuringLoad(t, 6, 120)
}

// The scripts that clients run while hosts and workers die. Each says in its result
// what it did, so that its receipt says it too; what it stores carries the run's id.
var deeds = map[string]string{
	// Reads before it writes: an update that is lost, or half there, is seen in the sums.
	"move": `
const [from, to] = SDK.args.between.map((id) => SDK.Entities.Todo.getById(id));
SDK.Entities.Todo.patch(from.id, { views: from.views - 1 });
SDK.Entities.Todo.upsert({ title: "deed", notes: SDK.run.id });
SDK.Entities.Todo.patch(to.id, { views: to.views + 1 });
globalThis.result = { deed: "move", rows: 1, from: from.id, to: to.id };`,
	// Many rows, and an edge.
	"many": `
SDK.Entities.Todo.upsertMany(Array.from({ length: 20 }, () => ({ title: "deed", notes: SDK.run.id })));
SDK.Entities.Label.upsert({ name: SDK.run.id, todos: ["store-0", "store-1"] });
globalThis.result = { deed: "many", rows: 20, label: SDK.run.id };`,
	// Rows that come and go with others.
	"tree": `
const tree = SDK.Entities.Todo.upsert({ title: "tree", notes: SDK.run.id });
SDK.Entities.Step.upsertMany(["a", "b"].map((text) => ({ text, todo: tree.id })));
const old = SDK.Entities.Todo.collection({ filter: { title: "tree", id: { $ne: tree.id } }, pageSize: 1 }).items.map((t) => t.id);
SDK.Entities.Todo.deleteMany(old);
globalThis.result = { deed: "tree", rows: 0, tree: tree.id, felled: old };`,
	// Commits call by call.
	"loose": `
for (let i = 0; i < 3; i++) SDK.Entities.Todo.upsert({ title: "deed", notes: SDK.run.id });
globalThis.result = { deed: "loose", rows: 3 };`,
	"thrown": `
SDK.Entities.Todo.upsert({ title: "never", notes: SDK.run.id });
throw new Error("on purpose");`,
	"dry": `SDK.Entities.Todo.upsert({ title: "never", notes: SDK.run.id });`,
}

const stores, units = 4, 1000

// hosts are two servers on one database, each started again when it dies.
type hosts struct {
	app  *app
	mu   sync.Mutex
	each [2]*peer
}

func (h *hosts) host(n int) *peer {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.each[n%2]
}

// kill ends a host as a machine does, and starts it again.
func (h *hosts) kill(t *testing.T, n int) {
	p := h.host(n)
	require.NoError(t, p.cmd.Process.Kill())
	<-p.done
	again := h.app.serve()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.each[n%2] = again
}

// killWorker ends one process that runs a script, or is ready to.
func (h *hosts) killWorker(n int) bool {
	workers := children(h.host(n).cmd.Process.Pid)
	if len(workers) == 0 {
		return false
	}
	return syscall.Kill(workers[rand.IntN(len(workers))], syscall.SIGKILL) == nil
}

// try makes a call that may never be answered, or not even be sent.
func (p *peer) try(tool string, args any) (r toolResult, sent, answered bool) {
	select {
	case <-p.done:
		return r, false, false
	default:
	}
	id, answer := p.next.Add(1), make(chan message, 4)
	p.mu.Lock()
	p.waiting[fmt.Sprint(id)] = answer
	p.mu.Unlock()
	raw, err := json.Marshal(input{"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": input{"name": tool, "arguments": args}})
	if err != nil {
		return r, false, false
	}
	if _, err := p.in.Write(append(raw, '\n')); err != nil {
		return r, false, false
	}
	select {
	case m := <-answer:
		return r, true, m.Error == nil && json.Unmarshal(m.Result, &r) == nil
	case <-p.done:
		return r, true, false
	}
}

// expected are the faults that a run may end in while others are killed: by its
// worker's death, before it began or in the middle (which looks like the kernel's
// when memory is short), or in the crowd.
var expected = []fault.Code{fault.ExecutionError, fault.MemoryExceeded, fault.ServiceUnavailable, fault.Conflict, fault.SetBusy, fault.QueueOverloaded, fault.JavaScriptError}

// report is what the clients got as answers.
type report struct {
	mu        sync.Mutex
	committed map[string]string // run -> deed
	not       map[string]bool   // runs that said that nothing of them is in the data
	silent    int               // calls that nobody answered
}

func (r *report) client(t *testing.T, h *hosts, n int, left *atomic.Int64) {
	names := []string{"move", "move", "many", "tree", "loose", "thrown", "dry"}
	for round := n; left.Add(-1) >= 0 && !t.Failed(); round += 5 {
		deed := names[round%len(names)]
		args := input{"code": deeds[deed], "args": input{"between": []string{fmt.Sprint("store-", round%stores), fmt.Sprint("store-", (round+1+round%3)%stores)}}}
		if deed == "loose" {
			args["atomic"] = false
		}
		if deed == "dry" {
			args["dryRun"] = true
		}
		got, sent, answered := h.host(n).try("koan.code.execute", args)
		if !sent { // there is no host for a moment
			left.Add(1)
			time.Sleep(20 * time.Millisecond)
			continue
		}
		r.note(t, deed, got, answered)
	}
}

func (r *report) note(t *testing.T, deed string, got toolResult, answered bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var e execution
	var about struct {
		RunID string `json:"runId"`
	}
	if !answered || json.Unmarshal(got.Structured, &e) != nil || json.Unmarshal(got.Meta["dev.koan/run"], &about) != nil {
		r.silent++
		return
	}
	switch {
	case e.Success && deed != "dry":
		r.committed[about.RunID] = deed
	case e.Success, !e.Committed:
		r.not[about.RunID] = true
	}
	if !e.Success {
		for _, code := range expected {
			if e.Error.Code == string(code) {
				return
			}
		}
		t.Errorf("%s ended in %+v", deed, e.Error)
	}
}

// killDuringLoad has 16 clients run scripts on two hosts that share one database,
// while hosts and workers are killed. In the end the data is what the receipts say
// was committed, and the receipts are what clients were told.
func killDuringLoad(t *testing.T, kills int, runs int64) {
	t.Helper()
	a := newApp(t)
	place := "sqlite://" + a.data
	if pgtest.Here(t) {
		place = pgtest.Place(t)
		a.env = append(a.env, "KOAN_DATABASE="+place)
	}
	a.env = append(a.env, "KOAN_JOURNAL_LEASEMS=1000")
	h := &hosts{app: a}
	h.each = [2]*peer{a.serve(), a.serve()}
	e := h.host(0).execute(`SDK.Entities.Todo.upsertMany(Array.from({ length: SDK.args.stores }, (_, i) => ({ id: "store-" + i, title: "store", views: SDK.args.units })))`,
		input{"args": input{"stores": stores, "units": units}})
	require.True(t, e.Success, "%+v", e.Error)

	var left atomic.Int64
	left.Store(runs)
	told := &report{committed: map[string]string{}, not: map[string]bool{}}
	var clients sync.WaitGroup
	for n := range 16 {
		clients.Go(func() { told.client(t, h, n, &left) })
	}
	workers := 0
	for n := range kills {
		// Spread over the runs, at no particular moment of any.
		for when := runs - runs*int64(n+1)/int64(kills+1); left.Load() > when && !t.Failed(); {
			time.Sleep(time.Duration(1+rand.IntN(5)) * time.Millisecond)
		}
		if n%2 == 0 {
			h.kill(t, n/2)
		} else if h.killWorker(n / 2) {
			workers++
		}
	}
	clients.Wait()
	for n := range 2 {
		h.host(n).close()
	}
	require.Positive(t, workers, "workers were killed too")
	held(t, a, place, told)
}
