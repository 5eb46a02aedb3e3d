//go:build cgo

package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/journal"
)

// power is an app whose files can be taken back to what they were at their last sync.
type power struct {
	*app
	synced string
}

func withPower(t *testing.T, a *app) power {
	t.Helper()
	p := power{a, t.TempDir()}
	library := filepath.Join(p.synced, "synced.so")
	out, err := exec.Command("cc", "-shared", "-fPIC", "-o", library, filepath.Join("testdata", "synced", "synced.c"), "-ldl").CombinedOutput()
	require.NoError(t, err, "%s", out)
	a.env = append(a.env, "LD_PRELOAD="+library, "KOAN_SYNCED="+p.synced)
	return p
}

// cut ends a server as a loss of power does, which takes from databases what was not synced.
func (p power) cut(server *peer, databases ...string) {
	p.t.Helper()
	require.NoError(p.t, server.cmd.Process.Kill())
	<-server.done
	for _, name := range databases {
		at := filepath.Join(p.data, name)
		require.NoError(p.t, os.RemoveAll(at+"-shm"))
		for _, file := range []string{at, at + "-wal"} {
			kept, err := os.ReadFile(filepath.Join(p.synced, filepath.Base(file)))
			switch {
			case err == nil:
				require.NoError(p.t, os.WriteFile(file, kept, 0o600))
			case file != at: // SQLite wrote the database itself under the name of its draft
				require.ErrorIs(p.t, err, os.ErrNotExist)
				require.NoError(p.t, os.RemoveAll(file))
			}
		}
	}
}

// recorded returns a run as the journal has it.
func (p *peer) recorded(run string) map[string]any {
	p.t.Helper()
	e := p.execute(`SDK.Entities.KoanRun.getById(SDK.args)`, input{"args": run})
	require.True(p.t, e.Success, "%+v", e.Error)
	return e.Result.(map[string]any)
}

const todosTitled = `SDK.Entities.Todo.count({ title: SDK.args })`

// TestPowerCut compares what an app says after a loss of power with what is left of its data: all
// that was acknowledged, or, where database.sync is normal, less than that, and then nothing
// claims otherwise.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"full", "normal"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			a, letters := appWithPost(t)
			a.env = append(a.env, "KOAN_DATABASE_SYNC="+mode, "KOAN_JOURNAL_EXPOSE=true", `KOAN_APPROVAL_RULES=[{operation: delete, mode: writes}]`)
			x := withPower(t, a)
			a.serve().close() // which makes the set
			p := a.serve()
			require.True(t, p.execute(`SDK.Entities.Todo.upsert({ id: "old", title: "old" })`).Success)
			p.close() // and its last process syncs all

			p = a.serve()
			plain := p.tool("koan.code.execute", input{"code": `SDK.Entities.Todo.upsert({ title: "plain" })`})
			send := `SDK.Post.send({ text: SDK.args }); SDK.Entities.Todo.upsert({ title: "keyed" }); SDK.Out.answer(Math.random())`
			keyed := p.once("key", send, input{"args": "letter"})
			require.Empty(t, keyed.code, keyed.text)
			plan := a.lineOf(a.exec(`SDK.Entities.Todo.delete("old")`, "run", "-"))
			applied := a.lineOf(a.exec("", "approve", plan.PlanID, "--yes"))
			require.Equal(t, "APPROVED", applied.ApprovalState)
			runs := map[string]string{"plain": runOf(t, plain), "applied": applied.RunID}
			for _, run := range runs {
				require.Equal(t, true, p.recorded(run)["committed"])
			}
			x.cut(p, "default.db", "koan.ledger")

			p = a.serve()
			survived := mode == "full"
			count := func(title string) any { return p.execute(todosTitled, input{"args": title}).Result }
			want := map[bool]float64{true: 1}[survived]
			require.EqualValues(t, want, count("plain"))
			require.EqualValues(t, want, count("keyed"))
			require.EqualValues(t, 1-want, count("old"))
			for name, run := range runs {
				r := p.recorded(run)
				require.Equal(t, survived, r["committed"], "%s: %v", name, r)
				require.Equal(t, map[bool]string{true: journal.OK, false: journal.CutOff}[survived], r["outcome"], name)
			}
			list := a.exec("", "approve", "--list").stdout
			if survived {
				require.NotContains(t, list, plan.PlanID)
				require.Equal(t, keyed, p.once("key", send, input{"args": "letter"}))
			} else {
				require.Contains(t, list, plan.PlanID, "it waits again")
				again := p.once("key", send, input{"args": "letter"})
				require.Empty(t, again.code, again.text)
				require.Equal(t, again, p.once("key", send, input{"args": "letter"}))
			}
			require.EqualValues(t, 1, count("keyed"))
			require.Equal(t, 1, letters()["letter"], "what was done outside is not done again")
			again := a.lineOf(a.exec("", "approve", plan.PlanID, "--yes"))
			require.Equal(t, []string{"APPROVED", plan.RunID}, []string{again.ApprovalState, again.RunID})
			require.EqualValues(t, 0, count("old"))
			require.Equal(t, true, p.recorded(plan.RunID)["committed"])
		})
	}
}

// runOf is the id of a call's run.
func runOf(t *testing.T, r toolResult) string {
	t.Helper()
	var about struct {
		RunID string `json:"runId"`
	}
	require.NoError(t, json.Unmarshal(r.Meta["dev.koan/run"], &about))
	return about.RunID
}

// The ledger alone loses what it had not synced: what the data has of it is in the journal again.
func TestPowerCutOfTheLedger(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	a.env = append(a.env, "KOAN_JOURNAL_EXPOSE=true")
	x := withPower(t, a)
	p := a.serve()
	var runs []string
	for range 5 {
		runs = append(runs, runOf(t, p.tool("koan.code.execute", input{"code": `SDK.Entities.Todo.upsert({ title: "plain" })`})))
	}
	x.cut(p, "koan.ledger")
	p = a.serve()
	for _, run := range runs {
		r := p.recorded(run)
		require.Equal(t, true, r["committed"])
		require.Equal(t, journal.OK, r["outcome"])
	}
}
