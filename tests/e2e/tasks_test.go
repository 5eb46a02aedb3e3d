package e2e

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
)

// modernMeta is the _meta of a request of 2026-07-28.
func modernMeta(capabilities input) input {
	return input{
		"io.modelcontextprotocol/protocolVersion":    "2026-07-28",
		"io.modelcontextprotocol/clientInfo":         input{"name": "e2e", "version": "1"},
		"io.modelcontextprotocol/clientCapabilities": capabilities,
	}
}

var takesTasks = input{"elicitation": input{}, "extensions": input{"io.modelcontextprotocol/tasks": input{}}}

type task struct {
	ResultType, TaskID, Status, StatusMessage string
	InputRequests                             map[string]struct{ Params struct{ Message string } }
	Result                                    struct {
		StructuredContent json.RawMessage
		IsError           bool
	}
	Meta map[string]json.RawMessage `json:"_meta"`
}

// modern makes a request of 2026-07-28 whose client takes tasks.
func (p *peer) modern(method string, params input) (out task) {
	p.t.Helper()
	params["_meta"] = modernMeta(takesTasks)
	m := p.call(method, params)
	require.Nil(p.t, m.Error, "%+v", m.Error)
	require.NoError(p.t, json.Unmarshal(m.Result, &out), string(m.Result))
	return out
}

func (p *peer) begin(in input) task {
	p.t.Helper()
	return p.modern("tools/call", input{"name": "koan.code.execute", "arguments": in})
}

// until asks for a task until it is in a state.
func (p *peer) until(id, status string) (got task) {
	p.t.Helper()
	require.Eventually(p.t, func() bool {
		got = p.modern("tasks/get", input{"taskId": id})
		return got.Status == status
	}, 20*time.Second, 50*time.Millisecond, "%+v", got)
	return got
}

type runStatus struct {
	State, Tool, RunID string
	Progress           struct{ Done, Total float64 }
	Emitted            []json.RawMessage
	Plan               struct{ PlanID, Text string }
	Notes              []string
	Result             struct {
		Success bool
		Answer  any
		Emitted []any
		Logs    []struct{ Message string }
		Error   executionFailure
		Changes []any `json:"changeCounts"`
		Calls   []struct {
			ToolName string
			OK       bool
		}
	}
}

func (p *peer) status(id string) (s runStatus) {
	p.t.Helper()
	got := p.tool("koan.code.status", input{"runId": id})
	require.False(p.t, got.IsError, string(got.Structured))
	require.NoError(p.t, json.Unmarshal(got.Structured, &s))
	return s
}

// idOf is the run of a result.
func idOf(t *testing.T, structured json.RawMessage) string {
	t.Helper()
	var r struct{ RunID string }
	require.NoError(t, json.Unmarshal(structured, &r))
	require.NotEmpty(t, r.RunID)
	return r.RunID
}

const longScript = `SDK.Out.emit({part: 1}); SDK.Out.progress(1, 2, SDK.run.id); SDK.Nap.take({ms: SDK.args});
SDK.Entities.Todo.upsert({title: "long"}); console.log("said"); SDK.Out.answer("over")`

func TestStatusOfRuns(t *testing.T) {
	t.Parallel()
	a := withNap(t)
	p := a.serve()
	require.NotContains(t, string(p.call("tools/list", input{}).Result), "koan_code_status", "it costs no conversation that does not need it")

	done := p.status(idOf(t, p.tool("koan.code.execute", input{"code": longScript, "args": 1}).Structured))
	require.Equal(t, "done", done.State)
	require.Equal(t, "over", done.Result.Answer)
	require.Len(t, done.Result.Emitted, 1)
	require.Equal(t, "said", done.Result.Logs[0].Message)
	require.Len(t, done.Result.Changes, 1)
	require.Empty(t, done.Notes)

	failed := p.status(idOf(t, p.tool("koan.code.execute", input{"code": "SDK.Entities.Todo.count();\nSDK.Entities.Todo.getById('none')"}).Structured))
	require.Equal(t, "failed", failed.State)
	require.False(t, failed.Result.Success)
	require.Equal(t, string(fault.NotFound), failed.Result.Error.Code)
	require.Equal(t, 2, failed.Result.Error.Line)
	require.Len(t, failed.Result.Calls, 2)
	require.False(t, failed.Result.Calls[1].OK)

	for _, id := range []string{"", "nobody", "01999999-9999-7999-8999-999999999999", "%' OR 1=1"} {
		got := p.tool("koan.code.status", input{"runId": id})
		require.True(t, got.IsError, id)
		require.Contains(t, string(got.Structured), `"not_found"`)
	}
	require.Contains(t, string(p.tool("koan.code.status", input{}).Structured), `"invalid_payload"`)

	// While it runs, and after a restart.
	_, reply := p.post("tools/call", input{"name": "koan.code.execute", "arguments": input{"code": longScript, "args": 3000}, "_meta": input{"progressToken": "p"}})
	var id string
	require.Eventually(t, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, n := range p.notes {
			var progress struct {
				Message string
				Meta    map[string]json.RawMessage `json:"_meta"`
			}
			require.NoError(t, json.Unmarshal(n.Params, &progress))
			if progress.Meta == nil {
				id = progress.Message
			} else {
				require.JSONEq(t, `{"index":0,"value":{"part":1}}`, string(progress.Meta["dev.koan/emitted"]))
			}
		}
		return id != ""
	}, 10*time.Second, 10*time.Millisecond)
	now := p.status(id)
	require.Equal(t, "running", now.State)
	require.EqualValues(t, 2, now.Progress.Total)
	require.Len(t, now.Emitted, 1)
	<-reply
	require.Equal(t, "done", p.status(id).State)
	p.close()
	require.Equal(t, "over", a.serve().status(id).Result.Answer)
}

func TestStatusOfPlans(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	a.env = append(a.env, "KOAN_APPROVAL_MODE=writes")
	p := a.serve()
	plan := func() string {
		got := p.tool("koan.code.execute", input{"code": addPlanned})
		require.Contains(t, string(got.Structured), "koan.code.status")
		return idOf(t, got.Structured)
	}
	first, second := plan(), plan()
	waits := p.status(first)
	require.Equal(t, "waiting", waits.State)
	require.Equal(t, first, waits.Plan.PlanID)
	require.Contains(t, waits.Plan.Text, `"planned"`)
	require.Equal(t, string(fault.ApprovalRequired), waits.Result.Error.Code)
	require.Zero(t, a.exec("", "approve", first, "--yes").status)
	over := p.status(first)
	require.Equal(t, "done", over.State)
	require.NotEmpty(t, over.Result.Answer)
	a.exec("", "approve", second, "--deny")
	denied := p.status(second)
	require.Equal(t, "denied", denied.State)
	require.Equal(t, string(fault.ApprovalDenied), denied.Result.Error.Code)
	require.EqualValues(t, 1, a.planned())
}

// A task is answered truthfully by the server that comes after the one that made it.
func TestTasksAfterRestart(t *testing.T) {
	t.Parallel()
	a := withNap(t)
	a.env = append(a.env, shortLease)
	p := a.raw()
	done := p.begin(input{"code": longScript, "args": 1200})
	require.Equal(t, "task", done.ResultType)
	over := p.until(done.TaskID, "completed")
	failing := p.begin(input{"code": "SDK.Nap.take({ms: 900}); null.x"})
	require.True(t, p.until(failing.TaskID, "completed").Result.IsError)
	cancelled := p.begin(input{"code": longScript, "args": 20_000})
	p.modern("tasks/cancel", input{"taskId": cancelled.TaskID})
	p.until(cancelled.TaskID, "cancelled")
	running := p.begin(input{"code": longScript, "args": 20_000})
	require.JSONEq(t, `[{"part":1}]`, string(p.modern("tasks/get", input{"taskId": running.TaskID}).Meta["dev.koan/emitted"]))
	waiting := p.begin(input{"code": addPlanned, "approval": "writes"})
	asked := p.until(waiting.TaskID, "input_required")
	require.Len(t, asked.InputRequests, 1)
	time.Sleep(200 * time.Millisecond) // until the journal has it
	require.NoError(t, p.cmd.Process.Kill())
	<-p.done

	p = a.raw()
	again := p.until(done.TaskID, "completed")
	require.False(t, again.Result.IsError)
	require.JSONEq(t, string(over.Result.StructuredContent), string(again.Result.StructuredContent))
	again = p.until(failing.TaskID, "completed")
	require.True(t, again.Result.IsError)
	require.Contains(t, string(again.Result.StructuredContent), `"javascript_error"`)
	p.until(cancelled.TaskID, "cancelled")
	var cut task
	require.Eventually(t, func() bool { // when the other server's lease has ended
		m := p.call("tasks/get", input{"taskId": running.TaskID, "_meta": modernMeta(takesTasks)})
		return m.Error == nil && json.Unmarshal(m.Result, &cut) == nil
	}, 20*time.Second, 100*time.Millisecond)
	require.Equal(t, "completed", cut.Status)
	require.True(t, cut.Result.IsError)
	require.Contains(t, string(cut.Result.StructuredContent), "the server ended while the run was under way; the data is as before it")
	again = p.until(waiting.TaskID, "completed")
	require.Contains(t, string(again.Result.StructuredContent), `"approval_required"`)
	require.Zero(t, a.exec("", "approve", waiting.TaskID, "--yes").status, "the plan has the task's id")
	again = p.until(waiting.TaskID, "completed")
	require.False(t, again.Result.IsError)
	require.EqualValues(t, 1, a.planned())
}

func TestEmittedValuesOnTheCommandLine(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	r := a.exec(`SDK.Out.emit({part: 1}); SDK.Out.emit("token=sk-ant-REDACTED"); SDK.Out.answer("over")`, "run", "-")
	require.Zero(t, r.status, r.stderr)
	require.Contains(t, r.stderr, "emitted: {\"part\":1}\n")
	require.NotContains(t, r.stderr+r.stdout, "sk-ant-api03")
	require.Contains(t, r.stdout, `"emitted":[{"part":1},`)
	again := a.exec("", "replay", a.lineOf(r).RunID)
	require.Zero(t, again.status, again.stdout+again.stderr)

	random := a.lineOf(a.exec(`SDK.Out.emit(Math.random()); throw new Error("after")`, "run", "-"))
	require.False(t, random.Result.OK)
	again = a.exec("", "replay", random.RunID)
	require.Zero(t, again.status, "what is emitted is the same again: %s%s", again.stdout, again.stderr)

	// What is taken out of the line counts as what is taken out elsewhere.
	a.env = append(a.env, "KOAN_JOURNAL_EXPOSE=true")
	r = a.exec(`const key = "sk-ant-" + "REDACTED-0123456789"; SDK.Out.emit(key); ({ key, more: [key] })`, "run", "-")
	require.NotContains(t, r.stdout+r.stderr, "REDACTED-01")
	secret := a.lineOf(r)
	counted := a.lineOf(a.exec(`SDK.Entities.KoanRun.getById("`+secret.RunID+`").redactions`, "run", "-"))
	require.EqualValues(t, 3, counted.Result.Data)
}

// Standard error has at most 256 KiB of a script, and a line that is too long is refused before the commit.
func TestEmittedValuesAreBoundedOnTheCommandLine(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	a.env = append(a.env, "KOAN_CODEMODE_MAXRESULTBYTES=1000000", "KOAN_CODEMODE_MAXLOGBYTES=1000000")
	r := a.exec(`SDK.Entities.Todo.upsert({ title: "kept?" }); for (let i = 0; i < 40; i++) { SDK.Out.emit("x".repeat(20_000)); console.log("y".repeat(6000)) }`, "run", "-")
	require.Equal(t, 1, r.status)
	require.LessOrEqual(t, len(r.stderr), 256<<10)
	require.Contains(t, r.stderr, "bytes of emitted values are printed")
	refused := a.lineOf(r)
	require.Equal(t, string(fault.ResultTooLarge), refused.Result.Error.Code)
	require.EqualValues(t, 0, a.lineOf(a.exec(`SDK.Entities.Todo.count({ title: "kept?" })`, "run", "-")).Result.Data, "nothing is committed that is reported as refused")
}
