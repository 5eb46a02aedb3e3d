package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
)

// dialog is what a client of tests/npm/dialogs.mjs saw.
type dialog struct {
	Asked, Progress []string
	Ms              int
	IsError         bool
	Kind            string
	States          []string
	Body            struct {
		State, RunID string
		Success      bool
		Answer       any
		Error        executionFailure
		Result       struct {
			Success bool
			Answer  any
			Error   executionFailure
		}
	}
}

// approvalTimeout is approval.timeoutMs of these servers. A call that nobody answers takes as
// long, and not much more.
const approvalTimeout = 2000

// Clients that declare elicitation answer, hang, drop the connection, lie, or take tasks: the
// call is answered in time, and nothing is applied without a yes.
func TestClientsThatAreAsked(t *testing.T) {
	t.Parallel()
	strict := []string{"--approval.mode", "writes", "--approval.timeoutMs", fmt.Sprint(approvalTimeout)}
	for _, surface := range []string{"stdio", "http"} {
		t.Run(surface, func(t *testing.T) {
			t.Parallel()
			d := dialogs{t: t, a: newApp(t)}
			if d.a.env = append(d.a.env, "KOAN_JOURNAL_EXPOSE=true"); surface == "http" {
				d.server = []string{d.a.web(strict...).url}
			} else {
				cmd := d.a.command(t.Context(), append([]string{"serve"}, strict...)...)
				d.env, d.server = cmd.Env, cmd.Args
			}
			d.check(surface == "http")
		})
	}
}

type dialogs struct {
	t      *testing.T
	a      *app
	env    []string
	server []string
}

func (d dialogs) call(behaviour string) (saw dialog) {
	d.t.Helper()
	call, _ := json.Marshal(input{"name": "koan_code_execute", "arguments": input{"code": addPlanned}})
	out := node(d.t, d.env, append([]string{"../npm/dialogs.mjs", behaviour, string(call)}, d.server...)...)
	require.NoError(d.t, json.Unmarshal(out, &saw), string(out))
	return saw
}

// ended waits until the journal says of the latest script that it ended so. The journal is
// written after the answer.
func (d dialogs) ended(outcome fault.Code, approval, behaviour string) {
	d.t.Helper()
	require.EventuallyWithT(d.t, func(c *assert.CollectT) {
		r := d.a.exec(`SDK.Out.answer(SDK.Entities.KoanRun.firstPage(1, {filter: {surface: "mcp"}, sort: "-id"}).items[0])`, "run", "-")
		require.Zero(c, r.status, r.stderr)
		run := d.a.lineOf(r).Result.Answer.(map[string]any)
		require.Equal(c, []any{string(outcome), approval}, []any{run["outcome"], run["approval"]}, behaviour)
	}, 10*time.Second, 50*time.Millisecond)
}

func (d dialogs) waits(saw dialog, behaviour string) {
	d.t.Helper()
	require.Equal(d.t, string(fault.ApprovalRequired), saw.Body.Error.Code, behaviour)
	require.NotEmpty(d.t, saw.Body.Error.Details.(map[string]any)["planId"], behaviour)
	d.ended(fault.ApprovalRequired, "required", behaviour)
}

// slack is what a loaded machine may take beside the wait.
const slack = 3000

func (d dialogs) check(web bool) {
	t := d.t
	works := d.call("works")
	require.False(t, works.IsError, "%+v", works)
	require.Len(t, works.Asked, 1)
	require.Contains(t, works.Asked[0], `"planned"`)
	applied := 1.0
	require.Equal(t, applied, d.a.planned())

	none := d.call("none")
	require.Empty(t, none.Asked)
	require.Less(t, none.Ms, approvalTimeout, "nobody is waited for")
	d.waits(none, "none")

	hangs := d.call("hangs")
	require.Len(t, hangs.Asked, 1)
	require.NotEmpty(t, hangs.Progress)
	require.GreaterOrEqual(t, hangs.Ms, approvalTimeout)
	require.Less(t, hangs.Ms, approvalTimeout+slack)
	d.waits(hangs, "hangs")

	for n := range 9 {
		behaviour := fmt.Sprint("lies:", n)
		lies := d.call(behaviour)
		require.Len(t, lies.Asked, 1)
		require.Less(t, lies.Ms, approvalTimeout+slack, behaviour)
		if n == 8 { // no, and then yes
			require.Equal(t, string(fault.ApprovalDenied), lies.Body.Error.Code)
			continue
		}
		d.waits(lies, behaviour)
	}

	dropped := d.call("drops")
	require.Len(t, dropped.Asked, 1)
	if !web {
		d.ended(fault.Cancelled, "required", "the server has ended, and the plan waits")
	} else {
		require.Equal(t, "waiting", dropped.Body.State, "the plan waits for somebody else")
		answered := d.call("drops:answer")
		require.Equal(t, "done", answered.Body.State, "the session goes on: its answer counts, and the result can be fetched")
		require.NotEmpty(t, answered.Body.Result.Answer)
		applied++
	}
	require.Equal(t, applied, d.a.planned())

	agreed := d.call("tasks:yes")
	require.Equal(t, "task", agreed.Kind)
	require.Len(t, agreed.Asked, 1)
	require.True(t, agreed.Body.Success, "%+v", agreed)
	applied++
	require.Equal(t, string(fault.ApprovalDenied), d.call("tasks:no").Body.Error.Code)
	hung := d.call("tasks:hang")
	require.Contains(t, hung.States, "input_required")
	require.Less(t, hung.Ms, approvalTimeout+slack)
	d.waits(hung, "tasks:hang")

	require.Equal(t, applied, d.a.planned(), "nothing is applied without a yes")
	list := strings.Split(strings.TrimSpace(d.a.exec("", "approve", "--list").stdout), "\n")[1:]
	require.Len(t, list, 1+1+8+1+1, "none, hangs, lies, drops and the task wait for somebody:\n%s", strings.Join(list, "\n"))
}
