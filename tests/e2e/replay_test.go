package e2e

import (
	"encoding/json"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/run/replay"
	"github.com/koan-go/koan/tests/pgtest"
)

// asVersion makes the fixture app a build of another version.
const asVersion = "KOANTEST_VERSION"

// replayApp is an app with a plugin that takes random times, on the database that
// the test runs on.
func replayApp(t *testing.T) *app {
	t.Helper()
	a := withNap(t)
	if pgtest.Here(t) {
		on := onPostgres(t)
		a.env = append(a.env, on.env...)
	}
	return a
}

// runScript runs a script and returns the run's id.
func (a *app) runScript(code string, args ...string) (id string, r result) {
	a.t.Helper()
	r = a.exec(code, append([]string{"run", "-"}, args...)...)
	var line struct {
		RunID string `json:"run_id"`
	}
	require.NoError(a.t, json.Unmarshal([]byte(r.stdout), &line), "%s%s", r.stdout, r.stderr)
	require.NotEmpty(a.t, line.RunID)
	return line.RunID, r
}

func (a *app) replay(id string, status int, args ...string) replay.Replayed {
	a.t.Helper()
	r := a.exec("", append([]string{"replay", id, "--json"}, args...)...)
	require.Equal(a.t, status, r.status, "%s%s", r.stdout, r.stderr)
	var out replay.Replayed
	require.NoError(a.t, json.Unmarshal([]byte(r.stdout), &out), "%s", r.stdout)
	require.Equal(a.t, status == 0, out.Identical)
	require.Equal(a.t, id, out.Run)
	return out
}

const parallelNaps = `import { take } from "@codemode/servers/nap";
const order = [];
setTimeout(() => order.push("timer", Date.now()), 3);
await Promise.all(Array.from({ length: 8 }, async (_, n) => {
  await take({ ms: Math.floor(Math.random() * 20) });
  const t = SDK.Entities.Todo.upsert({ title: "todo " + n + " " + Math.random() });
  order.push(n, t.id, Date.now());
}));
console.log(order);
export default { order, all: SDK.Entities.Todo.count() };`

// Whatever the run did, a replay of it in another process is identical: it uses neither
// the data, which has changed since, nor anything outside.
func TestReplay(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestReplay) {
		return
	}
	a := replayApp(t)
	p := a.serve()
	ids := map[string]string{}
	for name, code := range map[string]string{
		"parallel": parallelNaps,
		"failed":   "const t = SDK.Entities.Todo.upsert({ title: 'x' });\nnull.f(t.id);",
		"refused":  "SDK.Entities.Todo.getById('no such ' + Math.random())",
		"quota":    "for (let i = 0; i < 2000; i++)\n  SDK.Entities.Todo.count()",
		"cpu":      "for (;;) {}",
	} {
		ids[name] = p.runs(code)
	}
	ids["dry"] = p.runs(`SDK.Entities.Todo.upsert({ title: "never" }); SDK.run.dryRun`, input{"dryRun": true})
	p.runs(`SDK.Entities.Todo.deleteByQuery({}, { maxAffected: 1000 })`)
	p.close()
	a.env = append(a.env, "KOAN_PLUGINS_DIR="+t.TempDir()) // it is not asked
	outcomes := map[string]string{"parallel": "ok", "failed": "javascript_error", "refused": "not_found", "quota": "sdk_calls_exceeded", "cpu": "timeout", "dry": "ok"}
	for name, id := range ids {
		got := a.replay(id, 0)
		require.Equal(t, outcomes[name], got.Recorded.Outcome, name)
		require.False(t, got.Data)
	}
	require.Equal(t, 17, a.replay(ids["parallel"], 0).Calls)
	require.Contains(t, a.exec("", "replay", ids["parallel"]).stdout, ": identical, 17 calls compared\n")
}

// runs runs a script and returns the run's id.
func (p *peer) runs(code string, extra ...input) string {
	p.t.Helper()
	in := input{"code": code}
	for _, e := range extra {
		maps.Copy(in, e)
	}
	var about struct {
		RunID string `json:"runId"`
	}
	require.NoError(p.t, json.Unmarshal(p.tool("koan.code.execute", in).Meta["dev.koan/run"], &about))
	require.NotEmpty(p.t, about.RunID)
	return about.RunID
}

// Against today's data a replay reports the first call with another result.
func TestReplayAgainstTheData(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestReplayAgainstTheData) {
		return
	}
	a := replayApp(t)
	code := "import { take } from '@codemode/servers/nap';\nawait Promise.all([take({ ms: 5 }), take({ ms: 1 })]);\nconst n = SDK.Entities.Todo.count();\nconst t = SDK.Entities.Todo.upsert({ title: 'of ' + n });\nthrow new Error(t.title);"
	id, r := a.runScript(code)
	require.Equal(t, 1, r.status)
	got := a.replay(id, 0, "--data")
	require.Equal(t, 4, got.Calls, "ids and times of what it creates are the same")
	a.runScript(`SDK.Entities.Todo.upsert({ title: "one more" })`)
	got = a.replay(id, 1, "--data")
	require.Equal(t, replay.InOutput, got.Difference.In)
	require.Equal(t, 3, got.Difference.Call)
	require.Equal(t, 3, got.Difference.Line)
	require.Equal(t, "koan::Todo.count", got.Difference.Operation)
	require.Contains(t, got.Difference.Recorded, "1")
	require.Contains(t, got.Difference.Now, "2")
	a.replay(id, 0)
	_, r = a.runScript(`SDK.Entities.Todo.count()`)
	require.Contains(t, r.stdout, `"data":2`, "a replay changes nothing")

	id, _ = a.runScript(`SDK.Entities.Todo.upsert({ title: "kept" }); 1`)
	got = a.replay(id, 1, "--data")
	require.Contains(t, got.Difference.Now, "conflict", "what it made is there by now")
}

// A single call's replay against the data is the call, made again.
func TestReplayOfASingleCall(t *testing.T) {
	a := newApp(t)
	a.env = append(a.env, "KOAN_REPLAY_KEEP=all", "KOAN_EXPOSURE=tools")
	p := a.serve()
	var about struct {
		RunID string `json:"runId"`
	}
	require.NoError(t, json.Unmarshal(p.tool("todo.count", input{}).Meta["dev.koan/run"], &about))
	id := about.RunID
	require.Eventually(t, func() bool { return a.exec("", "replay", id).status == 0 }, 20*time.Second, 10*time.Millisecond, "it is written beside the runs")
	a.replay(id, 0, "--data")
	p.tool("todo.upsert", input{"model": input{"title": "one more"}})
	require.Equal(t, replay.InOutput, a.replay(id, 1, "--data").Difference.In)
}
