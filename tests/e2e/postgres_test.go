package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/tests/pgtest"
)

// onPostgres is a command line of the fixture app with a place of its own on a
// PostgreSQL server.
func onPostgres(t *testing.T) *app {
	t.Helper()
	a := newApp(t)
	a.env = append(a.env, "KOAN_DATABASE="+pgtest.Place(t))
	return a
}

// Two processes increment one row, and each run also inserts a row, while a third process
// that does the same is killed repeatedly: no update is lost, none is partial, and every
// run of the two succeeds.
func TestTwoProcessesOnOneDatabase(t *testing.T) {
	t.Parallel()
	a := onPostgres(t)
	first := a.serve()
	require.True(t, first.execute(`SDK.Entities.Todo.upsert({ id: "counter", title: "counter" })`).Success)
	const count = `
const { views } = SDK.Entities.Todo.getById("counter");
SDK.Entities.Todo.upsert({ title: "counted", notes: SDK.args.n });
SDK.Entities.Todo.patch("counter", { views: views + 1 });`
	call := func(p *peer, n string) chan message {
		_, answer := p.post("tools/call", input{"name": "koan.code.execute", "arguments": input{"code": count, "args": input{"n": n}}})
		return answer
	}
	second := a.serve()
	const rounds, each = 3, 5
	answered := 0
	for round := range rounds {
		victim := a.serve()
		var lost, kept []chan message
		for n := range each {
			lost = append(lost, call(victim, fmt.Sprintf("victim %d.%d", round, n)))
			for who, p := range []*peer{first, second} {
				kept = append(kept, call(p, fmt.Sprintf("%d %d.%d", who, round, n)))
			}
		}
		time.Sleep(time.Duration(20+40*round) * time.Millisecond)
		require.NoError(t, victim.cmd.Process.Kill())
		<-victim.done
		for i, answer := range kept {
			m := []*peer{first, second}[i%2].wait(answer)
			require.Nil(t, m.Error)
			require.Contains(t, string(m.Result), `"success":true`, string(m.Result))
			answered++
		}
		for _, answer := range lost {
			select {
			case <-answer:
				answered++
			default:
			}
		}
	}
	e := first.execute(`
const rows = SDK.Entities.Todo.all({ filter: { title: "counted" }, fields: "notes" });
({ views: SDK.Entities.Todo.getById("counter").views, rows: rows.length, different: new Set(rows.map((r) => r.notes)).size })`)
	require.True(t, e.Success, "%+v", e.Error)
	r := e.Result.(map[string]any)
	require.Equal(t, r["rows"], r["views"], "no update is lost")
	require.Equal(t, r["rows"], r["different"], "no run took effect twice")
	require.GreaterOrEqual(t, r["rows"], float64(answered), "what was answered is in the data")
	first.close()
	second.close()
}

// One script writes to two sets, in one transaction or not at all.
func TestScriptSpansSetsOnPostgreSQL(t *testing.T) {
	a := onPostgres(t)
	p := a.serve()
	const both = `
SDK.Entities.Todo.upsert({ id: SDK.args.id, title: "one" });
SDK.Entities.Todo.upsert({ id: SDK.args.id, title: "two" }, { set: "archive" });
if (SDK.args.fail) throw new Error("no");
[SDK.Entities.Todo.getById(SDK.args.id).title, SDK.Entities.Todo.getById(SDK.args.id, "archive").title]`
	e := p.execute(both, input{"args": input{"id": "x"}})
	require.True(t, e.Success, "%+v", e.Error)
	require.Equal(t, []any{"one", "two"}, e.Result)
	require.False(t, p.execute(both, input{"args": input{"id": "y", "fail": true}}).Success)
	e = p.execute(`[SDK.Entities.Todo.findById("y"), SDK.Entities.Todo.count({}, "archive")]`)
	require.Equal(t, []any{nil, 1.0}, e.Result)
	p.close()

	r := a.exec("", "doctor")
	require.Zero(t, r.status, r.stdout+r.stderr)
	require.Regexp(t, `PostgreSQL \d+`, r.stdout)
	require.Contains(t, r.stdout, "2 sets: archive, default")
}
