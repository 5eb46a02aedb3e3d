package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/pgtest"
)

func (a *app) lineOf(r result) runLine {
	a.t.Helper()
	return oneLine(a.t, r)
}

const addPlanned = `const t = SDK.Entities.Todo.upsert({ title: "planned" }); SDK.Out.answer(t.id)`

func (a *app) planned() float64 {
	a.t.Helper()
	r := a.exec(`SDK.Entities.Todo.count({ title: "planned" })`, "run", "-")
	require.Zero(a.t, r.status, r.stderr)
	return a.lineOf(r).Result.Data.(float64)
}

// Approving a plan commits the plan's changes or nothing: if the data has changed, another
// plan replaces it.
func TestReplacedPlanOnTheCommandLine(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestReplacedPlanOnTheCommandLine) {
		return
	}
	a := newApp(t)
	if pgtest.Here(t) {
		a = onPostgres(t)
	}
	a.env = append(a.env, `KOAN_APPROVAL_RULES=[{operation: delete, mode: writes}]`)
	a.exec(`SDK.Entities.Todo.upsert({ id: "a", title: "seen" })`, "run", "-")
	first := a.lineOf(a.exec(`SDK.Out.answer(SDK.Entities.Todo.deleteByQuery({ id: { $in: ["a", "b"] } }, { all: true }))`, "run", "-"))
	a.exec(`SDK.Entities.Todo.upsert({ id: "b", title: "precious" })`, "run", "-")

	// Of three who approve at once, one makes the plan that replaces it.
	lines := make([]runLine, 3)
	var g sync.WaitGroup
	for n := range lines {
		g.Go(func() {
			for lines[n].Result.Error.Code = string(fault.InProgress); lines[n].Result.Error.Code == string(fault.InProgress); {
				if json.Unmarshal([]byte(a.exec("", "approve", first.PlanID, "--yes").stdout), &lines[n]) != nil {
					return
				}
			}
		})
	}
	g.Wait()
	codes := map[string]int{}
	next := lines[0].PlanID
	for _, l := range lines {
		codes[l.Result.Error.Code]++
		require.Equal(t, []string{"REQUIRED", next}, []string{l.ApprovalState, l.PlanID})
	}
	require.Equal(t, map[string]int{string(fault.ApprovalRequired): 1, string(fault.PlanStale): 2}, codes)
	require.NotEqual(t, first.PlanID, next)
	list := a.exec("", "approve", "--list").stdout
	require.Contains(t, list, next)
	require.NotContains(t, list, first.PlanID)
	require.EqualValues(t, 2, a.lineOf(a.exec(`SDK.Entities.Todo.count({ id: { $in: ["a", "b"] } })`, "run", "-")).Result.Data)
	no := a.exec("", "approve", first.PlanID, "--deny")
	require.Equal(t, 1, no.status)
	require.Contains(t, no.stderr, "Plan "+next+" has replaced it: review that plan")
	require.NotContains(t, no.stderr, "to commit these changes", "there is nothing to review in a plan that cannot be denied")

	shown := a.exec("", "approve", next, "--yes")
	require.Zero(t, shown.status, shown.stderr)
	require.Contains(t, shown.stderr, "also: delete Todo b")
	done := a.lineOf(shown)
	require.Equal(t, []string{"APPROVED", next, first.RunID}, []string{done.ApprovalState, done.PlanID, done.RunID}, "it is the same run")
	late := a.exec("", "approve", next, "--deny")
	require.Equal(t, 1, late.status)
	require.Contains(t, late.stderr, "no longer waiting for a decision: it is applied")
	require.Contains(t, late.stderr, "approve --list")
	require.NotContains(t, late.stderr, "to commit these changes")
	require.Contains(t, a.exec("", "approve", next, "--yes").stderr, "This was decided before, and is applied:")
	over := a.lineOf(a.exec("", "approve", first.PlanID, "--yes"))
	require.Equal(t, string(fault.PlanStale), over.Result.Error.Code)
	require.Equal(t, "applied", over.Result.Error.Details.(map[string]any)["state"])
	require.Equal(t, "Plan "+next+" has replaced it and is applied: there is nothing left to decide.", over.Result.Error.Hint)
	kept := a.exec(`SDK.Entities.KoanRun.all({ filter: { id: SDK.args }, fields: "planId,approval,outcome" })`, "run", "-", "--journal.expose", "--args", `"`+first.RunID+`"`)
	require.Contains(t, kept.stdout, `"outcome":"ok","approval":"approved","planId":"`+next+`"`)
}

func TestTypeScriptClientApproves(t *testing.T) {
	t.Parallel()
	strict := []string{"--approval.mode", "writes", "--server.toolTimeoutMs", "1000", "--sandbox.timeoutMs", "1000"}
	t.Run("stdio", func(t *testing.T) {
		a := newApp(t)
		cmd := a.command(t.Context(), append([]string{"serve"}, strict...)...)
		checkApprovals(t, a, cmd.Env, cmd.Args...)
	})
	t.Run("http", func(t *testing.T) {
		a := newApp(t)
		checkApprovals(t, a, nil, a.web(strict...).url)
	})
}

// checkApprovals runs the session of tests/npm/approving.mjs with a server of an app, and
// checks what the client saw.
func checkApprovals(t *testing.T, a *app, env []string, server ...string) {
	t.Helper()
	out := node(t, env, append([]string{"../npm/approving.mjs"}, server...)...)
	type answer struct {
		IsError bool
		Body    struct {
			Answer, Deleted, Count any
			Result                 struct{ State, Text string }
			Error                  executionFailure
		}
	}
	var seen struct {
		Asked                                           []string
		Yes, No, Declined, Read, Tool, Mute, Own, Shown answer
		Progress                                        []struct {
			Progress float64
			Message  string
		}
		GaveUp int
	}
	require.NoError(t, json.Unmarshal(out, &seen), string(out))
	require.False(t, seen.Yes.IsError, "waiting counts against no time-out: %+v", seen.Yes)
	require.Equal(t, "yes", seen.Yes.Body.Answer)
	require.GreaterOrEqual(t, len(seen.Progress), 3, "one a second")
	for i, p := range seen.Progress {
		require.Contains(t, p.Message, "waiting for a person to decide about plan ")
		require.True(t, i == 0 || p.Progress > seen.Progress[i-1].Progress, "%v", seen.Progress)
	}
	require.Equal(t, -32001, seen.GaveUp)
	require.Len(t, seen.Asked, 5)
	require.Contains(t, seen.Asked[0], "  entity  set      deleted  updated  created\n  Todo    default        0        0        1\n")
	require.Contains(t, seen.Asked[0], `"yes"`)
	require.Contains(t, seen.Asked[3], "todo.delete")
	require.Contains(t, seen.Asked[3], `"Write tests"`)
	require.Equal(t, string(fault.ApprovalDenied), seen.No.Body.Error.Code)
	require.Equal(t, string(fault.ApprovalDenied), seen.Declined.Body.Error.Code)
	require.EqualValues(t, 2, seen.Read.Body.Count)
	require.EqualValues(t, 1, seen.Tool.Body.Deleted)
	require.Equal(t, string(fault.ApprovalRequired), seen.Mute.Body.Error.Code)
	require.Equal(t, string(fault.ApprovalRequired), seen.Own.Body.Error.Code, "an agent does not agree to what it wants itself")
	require.Equal(t, "waiting", seen.Shown.Body.Result.State)
	require.Contains(t, seen.Shown.Body.Result.Text, `"mute"`)

	// The plan of a client that gave up can still be approved.
	var left string
	for _, line := range strings.Split(a.exec("", "approve", "--list").stdout, "\n")[1:] {
		if id, _, _ := strings.Cut(line, " "); id != "" && strings.Contains(a.exec("", "approve", id, "--yes").stderr, `"gave up"`) {
			left = id
		}
	}
	require.NotEmpty(t, left)

	// Once the plan is approved, the agent gets its result.
	plan := seen.Mute.Body.Error.Details.(map[string]any)["planId"].(string)
	r := a.exec("", "approve", plan, "--yes")
	require.Zero(t, r.status, r.stderr)
	p := a.serve()
	got := p.tool("koan.code.execute", input{"planId": plan})
	require.False(t, got.IsError)
	require.Contains(t, string(got.Structured), `"answer":"mute"`)
	require.Contains(t, string(got.Meta["dev.koan/run"]), `"repeated":true`)
}

// Approvers are killed at random moments; the plan is applied once nevertheless, or its
// outcome is unknown if a letter may have been sent.
func TestPlanIsAppliedOnceWithKilledApprovers(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestPlanIsAppliedOnceWithKilledApprovers) {
		return
	}
	a, letters := appWithPost(t)
	a.env = append(a.env, shortLease, `KOAN_APPROVAL_RULES=[{entity: Todo, mode: writes}, {operation: "plugin::*", mode: never}]`)
	unknown := 0
	const plans = 2
	for n := range plans {
		code := fmt.Sprintf(`SDK.Post.send({ text: "early%d" }); SDK.Entities.Todo.upsert({ title: "planned" }); SDK.Out.answer(1)`, n)
		begun := time.Now()
		asked := a.lineOf(a.exec(code, "run", "-"))
		long := time.Since(begun)
		require.Equal(t, "REQUIRED", asked.ApprovalState)
		for range 2 {
			ctx, cancel := context.WithTimeout(t.Context(), long/4+rand.N(2*long))
			_ = a.command(ctx, "approve", asked.PlanID, "--yes").Run() // killed
			cancel()
		}
		var last runLine
		require.Eventually(t, func() bool {
			last = a.lineOf(a.exec("", "approve", asked.PlanID, "--yes"))
			return last.Result.Error.Code != string(fault.InProgress)
		}, 30*time.Second, 200*time.Millisecond)
		if !last.Result.OK {
			require.Equal(t, string(fault.OutcomeUnknown), last.Result.Error.Code)
			unknown++
		}
		require.Equal(t, 1, letters()[fmt.Sprintf("early%d", n)], "it was posted before anybody was asked, and is not posted again")
	}
	require.Zero(t, unknown, "no call is open: the letter is on the plan's tape")
	require.EqualValues(t, plans, a.planned())
}

// The hint of a waiting plan names koan.code.execute only to callers that have that tool.
func TestApprovalHintNamesListedTools(t *testing.T) {
	t.Parallel()
	upsert := input{"model": input{"title": "x"}}
	for name, c := range map[string]struct {
		args  []string
		tool  string
		in    input
		named bool
	}{
		"both kinds of tools":  {nil, "todo.upsert", upsert, true},
		"a narrowed script":    {nil, "koan.code.execute", input{"code": `SDK.Entities.Todo.upsert({ title: "x" })`, "only": []string{"Todo"}}, true},
		"no code tools":        {[]string{"--exposure", "tools"}, "todo.upsert", upsert, false},
		"another face":         {[]string{"--codeMode.faces", "codemode"}, "todo.upsert", upsert, false},
		"code mode turned off": {[]string{"--codeMode.enabled=false"}, "todo.upsert", upsert, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newApp(t)
			a.env = append(a.env, "KOAN_APPROVAL_MODE=writes")
			got := string(a.serve(c.args...).tool(c.tool, c.in).Structured)
			require.Contains(t, got, `"approval_required"`)
			require.Regexp(t, "`[^`]*fixture approve [0-9a-f-]{36}", got)
			require.Equal(t, c.named, strings.Contains(got, "call koan.code.execute"), got)
		})
	}
}
