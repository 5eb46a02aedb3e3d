package e2e

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/tests/pgtest"
)

// A server that was killed is known to be gone by the next one on its machine, however
// long its leases are: its run is marked, and its key is free to be gone on with.
func TestNextStartRepairsDeadRuns(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestNextStartRepairsDeadRuns) {
		return
	}
	a := newApp(t)
	if pgtest.Here(t) {
		a = onPostgres(t)
	}
	a.env = append(a.env, "KOAN_SANDBOX_CPUMS=20000", "KOAN_JOURNAL_EXPOSE=true", "KOAN_JOURNAL_LEASEMS=600000", "KOAN_RUN_KEYLEASEMS=600000")
	code := `SDK.Entities.Todo.upsert({ title: "cut" }); if (!SDK.Entities.Todo.count({ title: "after" })) for (;;);`
	p := a.serve()
	p.post("tools/call", input{"name": "koan.code.execute", "arguments": input{"code": code, "idempotencyKey": "k"}})
	time.Sleep(time.Second) // it is under way, and noted
	require.NoError(t, p.cmd.Process.Kill())
	<-p.done

	p = a.serve()
	require.True(t, p.execute(`SDK.Entities.Todo.upsert({ title: "after" })`).Success)
	begun := time.Now()
	r := p.tool("koan.code.execute", input{"code": code, "idempotencyKey": "k"})
	require.False(t, r.IsError, "%s", r.Structured)
	require.NotContains(t, string(r.Structured), string(fault.InProgress))
	var about struct {
		RunID string `json:"runId"`
	}
	require.NoError(t, json.Unmarshal(r.Meta["dev.koan/run"], &about))
	require.EqualValues(t, 1, p.execute(`SDK.Entities.Todo.count({ title: "cut" })`).Result)
	p.post("tools/call", input{"name": "koan.code.execute", "arguments": input{"code": `SDK.Entities.Todo.upsert({ title: "never" }); for (;;);`}})
	time.Sleep(3 * time.Second)
	require.NoError(t, p.cmd.Process.Kill())
	<-p.done

	p = a.serve()
	require.Eventually(t, func() bool {
		e := p.execute(`SDK.Entities.KoanRun.collection({ filter: { outcome: SDK.args } }).items.map((r) => r.committed)`, input{"args": journal.CutOff})
		require.True(t, e.Success, "%+v", e.Error)
		got, _ := e.Result.([]any)
		return len(got) == 1 && got[0] == false
	}, 10*time.Second, 50*time.Millisecond)
	require.Less(t, time.Since(begun), time.Minute)
}
