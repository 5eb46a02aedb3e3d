package mcpserver_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/mcpserver"
)

const (
	takesTasks   = `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`
	tasksAndForm = `{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`
)

type taskState struct {
	ResultType, TaskID, Status, StatusMessage, CreatedAt, LastUpdatedAt string
	TTLMs, PollIntervalMs                                               int64
	InputRequests                                                       map[string]struct {
		Method string
		Params json.RawMessage
	}
	Result *toolResult
	Error  *struct {
		Code    int
		Message string
		Data    json.RawMessage
	}
}

func (r reply) task(t testing.TB) (s taskState) {
	t.Helper()
	require.Nil(t, r.Error, "%s", r.raw)
	require.NoError(t, json.Unmarshal(r.Result, &s))
	return s
}

func callAs(caps, name, arguments string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + name + `","arguments":` + arguments + `,` + modern(caps) + `}}`
}

func onTask(method, id, more string) string {
	return `{"jsonrpc":"2.0","id":2,"method":"tasks/` + method + `","params":{"taskId":"` + id + `"` + more + `,` + modern(takesTasks) + `}}`
}

// until polls a task until it is in a state.
func (w *wire) until(id, status string) (s taskState) {
	w.t.Helper()
	require.Eventually(w.t, func() bool {
		s = w.call(onTask("get", id, "")).task(w.t)
		require.Equal(w.t, "complete", s.ResultType)
		return s.Status == status
	}, 10*time.Second, 10*time.Millisecond)
	return s
}

func soon(o *mcpserver.Options) { o.TaskAfter = 20 * time.Millisecond }

func gardenTasks(t testing.TB) (*garden, mcpserver.Options) {
	g := newGarden()
	o := options(t, g)
	soon(&o)
	return g, o
}

func TestLongCallBecomesTask(t *testing.T) {
	g, o := gardenTasks(t)
	patient := options(t, newGarden())
	patient.TaskAfter = time.Minute
	quick := dial(t, patient).call(callAs(takesTasks, "plant.get-by-id", `{"id":"p1"}`))
	require.Contains(t, string(quick.Result), `"resultType":"complete"`)
	quick.tool(t)

	w := dial(t, o)
	made := w.call(callAs(takesTasks, "lab.slow", `{}`)).task(t)
	require.Equal(t, []string{"task", "working"}, []string{made.ResultType, made.Status})
	require.NotEmpty(t, made.TaskID)
	require.EqualValues(t, 1000, made.PollIntervalMs)
	require.Positive(t, made.TTLMs)
	created, err := time.Parse(time.RFC3339, made.CreatedAt)
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), created, time.Minute)
	require.Nil(t, w.until(made.TaskID, "working").Result)
	g.release <- struct{}{}
	done := w.until(made.TaskID, "completed")
	require.JSONEq(t, `{"slow":true}`, string(done.Result.Data))
	require.False(t, done.Result.IsError)
	require.Contains(t, string(done.Result.Meta["dev.koan/run"]), `"runId":"`+made.TaskID+`"`, "the task has the run's id")
	require.Contains(t, string(w.call(onTask("cancel", made.TaskID, "")).Result), `"resultType":"complete"`)
	require.Equal(t, "completed", w.until(made.TaskID, "completed").Status, "what has ended stays as it is")
}

func TestTaskOfAnotherCallerIsNotFound(t *testing.T) {
	g, o := gardenTasks(t)
	who := func(r *http.Request) (auth.Principal, error) {
		return auth.Principal{Subject: r.Header.Get("X-Who"), Scopes: []string{auth.All}, Sets: []string{"*"}}, nil
	}
	w := serveWeb(t, o, mcpserver.HTTPOptions{Authenticate: who})
	headers := func(subject, method, name string) []string {
		return []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", method, "Mcp-Name", name, "X-Who", subject}
	}
	made := decode(t, []byte(w.post(callAs(takesTasks, "lab.slow", `{}`), headers("ann", "tools/call", "lab.slow")...).body)).task(t)
	for _, method := range []string{"get", "cancel", "update"} {
		got := w.post(onTask(method, made.TaskID, `,"inputResponses":{}`), headers("bob", "tasks/"+method, made.TaskID)...)
		require.Equal(t, http.StatusBadRequest, got.status)
		r := decode(t, []byte(got.body))
		require.Equal(t, mcp.INVALID_PARAMS, r.Error.Code)
		require.Equal(t, string(fault.NotFound), r.Error.Data.Code)
	}
	get := func() taskState {
		return decode(t, []byte(w.post(onTask("get", made.TaskID, ""), headers("ann", "tasks/get", made.TaskID)...).body)).task(t)
	}
	require.Equal(t, "working", get().Status, "the request that made it has ended, and bob did not cancel it")
	for _, wrong := range []string{"", "other"} {
		h := headers("ann", "tasks/get", wrong)
		if wrong == "" {
			h = append(h[:4:4], h[6:]...)
		}
		got := w.post(onTask("get", made.TaskID, ""), h...)
		require.Equal(t, mcp.HEADER_MISMATCH, decode(t, []byte(got.body)).Error.Code, wrong)
	}
	g.release <- struct{}{}
	require.Eventually(t, func() bool { return get().Status == "completed" }, 10*time.Second, 10*time.Millisecond)
}

// Until its client knows of a task, the call ends with its request.
func TestCancelBeforeTaskExists(t *testing.T) {
	g := newGarden()
	o := options(t, g)
	o.TaskAfter = time.Minute
	w := dial(t, o)
	w.send(callAs(takesTasks, "lab.slow", `{}`))
	<-g.started
	w.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	require.Error(t, <-g.stopped)
	w.silent(50 * time.Millisecond)
}

func TestCancelTask(t *testing.T) {
	g, o := gardenTasks(t)
	w := dial(t, o)
	made := w.call(callAs(takesTasks, "lab.slow", `{}`)).task(t)
	w.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`) // its request is over
	w.silent(50 * time.Millisecond)
	require.Equal(t, "working", w.until(made.TaskID, "working").Status)
	ack := w.call(onTask("cancel", made.TaskID, ""))
	require.NotContains(t, string(ack.Result), "taskId")
	require.Error(t, <-g.stopped)
	over := w.until(made.TaskID, "cancelled")
	require.Nil(t, over.Result)
	require.NotEmpty(t, over.StatusMessage)
}

func TestTaskAsks(t *testing.T) {
	w := dial(t, asking(t, soon))
	made := w.call(callAs(tasksAndForm, askTool, `{"size":true}`)).task(t)
	require.Equal(t, "task", made.ResultType)
	require.Empty(t, made.InputRequests, "they come with tasks/get")
	asked := w.until(made.TaskID, "input_required")
	require.Len(t, asked.InputRequests, 1)
	require.Equal(t, "elicitation/create", asked.InputRequests["colour"].Method)
	for answers, wrong := range map[string]bool{
		`{"nobody":{"action":"accept"}}`: false, `{}`: false, `{"colour":"blue"}`: true, `[1]`: true, `{"colour":[]}`: true,
	} {
		r := w.call(onTask("update", made.TaskID, `,"inputResponses":`+answers))
		require.Equal(t, wrong, r.Error != nil, "%s: %s", answers, r.raw)
		require.Equal(t, "input_required", w.until(made.TaskID, "input_required").Status)
	}
	w.call(onTask("update", made.TaskID, `,"inputResponses":{"colour":`+accept("colour", "blue")+`}`)).task(t)
	require.Eventually(t, func() bool {
		_, next := w.until(made.TaskID, "input_required").InputRequests["size"]
		return next
	}, 10*time.Second, 10*time.Millisecond)
	w.call(onTask("update", made.TaskID, `,"inputResponses":{"colour":`+accept("colour", "again")+`,"size":`+accept("size", "m")+`}`)).task(t)
	done := w.until(made.TaskID, "completed")
	require.JSONEq(t, `{"colour":{"colour":"blue"},"size":{"size":"m"}}`, string(done.Result.Data))
}

// A call that needs what its client did not declare is a protocol error, of a task too.
func TestTaskWithoutCapability(t *testing.T) {
	w := dial(t, asking(t, func(o *mcpserver.Options) { o.TaskAfter = time.Minute })) // the error comes before it is a task
	r := w.call(callAs(takesTasks, askTool, `{}`))
	require.NotNil(t, r.Error)
	require.Equal(t, mcp.MISSING_REQUIRED_CLIENT_CAPABILITY, r.Error.Code)
}

func TestTaskAnswerTimeout(t *testing.T) {
	w := dial(t, asking(t, func(o *mcpserver.Options) { soon(o); o.AskTimeout = 100 * time.Millisecond }))
	made := w.call(callAs(tasksAndForm, askTool, `{}`)).task(t)
	over := w.until(made.TaskID, "completed")
	require.True(t, over.Result.IsError)
	require.Contains(t, over.StatusMessage, "did not answer elicitation/create within 100 ms")
}

func TestTaskMethodsNeedDeclaration(t *testing.T) {
	_, o := gardenTasks(t)
	w := dial(t, o)
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		r := w.call(`{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{"taskId":"x",` + modern(`{}`) + `}}`)
		require.Equal(t, mcp.MISSING_REQUIRED_CLIENT_CAPABILITY, r.Error.Code)
		require.Contains(t, string(r.raw), `"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}`)
		r = w.call(`{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + modern(takesTasks) + `}}`)
		require.Equal(t, string(fault.InvalidPayload), r.Error.Data.Code)
	}
	r := w.call(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"taskIds":["x"]},` + modern(`{}`) + `}}`)
	require.Equal(t, mcp.MISSING_REQUIRED_CLIENT_CAPABILITY, r.Error.Code)
	for _, gone := range []string{"tasks/result", "tasks/list"} {
		require.Equal(t, mcp.METHOD_NOT_FOUND, w.call(`{"jsonrpc":"2.0","id":1,"method":"`+gone+`","params":{"taskId":"x",`+modern(takesTasks)+`}}`).Error.Code)
	}
}

// The older era knows no such tasks, whatever a client declares.
func TestLegacyClientGetsNoTask(t *testing.T) {
	g, o := gardenTasks(t)
	w := dial(t, o)
	require.NotContains(t, string(w.hello("2025-11-25", takesTasks).Result), "io.modelcontextprotocol/tasks")
	w.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"lab.slow","task":{"ttl":60000}}}`)
	w.silent(100 * time.Millisecond)
	g.release <- struct{}{}
	require.JSONEq(t, `{"slow":true}`, string(w.next().tool(t).Data))
	require.Equal(t, mcp.METHOD_NOT_FOUND, w.call(`{"jsonrpc":"2.0","id":2,"method":"tasks/get","params":{"taskId":"x"}}`).Error.Code)
}

func TestTaskNotifications(t *testing.T) {
	w := dial(t, asking(t, soon))
	made := w.call(callAs(tasksAndForm, askTool, `{}`)).task(t)
	listen := func(id, tasks string) string {
		return `{"jsonrpc":"2.0","id":"` + id + `","method":"subscriptions/listen","params":{"notifications":{"taskIds":[` + tasks + `]},` + modern(takesTasks) + `}}`
	}
	ack := w.call(listen("s", `"`+made.TaskID+`","unknown"`))
	require.JSONEq(t, `{"taskIds":["`+made.TaskID+`"]}`, memberTexts(t, ack.Params)["notifications"])
	var states []string
	hear := func() (s taskState) {
		n := w.next()
		require.Equal(t, "notifications/tasks", n.Method, "%s", n.raw)
		require.Contains(t, string(n.raw), `"io.modelcontextprotocol/subscriptionId":"s"`)
		require.NoError(t, json.Unmarshal(n.Params, &s))
		states = append(states, s.Status)
		return s
	}
	first := hear()
	if first.Status == "working" { // it had not asked yet
		states = nil
		first = hear()
	}
	require.Contains(t, first.InputRequests, "colour")
	w.send(onTask("update", made.TaskID, `,"inputResponses":{"colour":`+accept("colour", "blue")+`}`))
	var last taskState
	for answered := false; last.Status != "completed" || !answered; {
		r := w.next()
		if r.Method == "" { // the answer to the update, which the end of the task may overtake
			answered = true
			continue
		}
		require.NoError(t, json.Unmarshal(r.Params, &last))
		states = append(states, last.Status)
	}
	// A state comes again where something else of the task has changed. A state that another
	// follows at once need not come at all: a listener gets the newest.
	states = slices.DeleteFunc(slices.Compact(states), func(s string) bool { return s == "working" })
	require.Equal(t, []string{"input_required", "completed"}, states)
	require.Contains(t, string(last.Result.Data), "blue")

	late := w.call(listen("late", `"`+made.TaskID+`"`))
	require.Equal(t, "notifications/subscriptions/acknowledged", late.Method)
	require.Contains(t, string(w.next().Params), `"status":"completed"`)
	none := w.call(listen("none", `"unknown"`))
	require.JSONEq(t, `{}`, memberTexts(t, none.Params)["notifications"])
	require.JSONEq(t, `"none"`, string(w.next().ID), "nothing to listen to")
}

func memberTexts(t testing.TB, raw json.RawMessage) map[string]string {
	t.Helper()
	var m map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(raw, &m), "%s", raw)
	out := map[string]string{}
	for k, v := range m {
		out[k] = string(v)
	}
	return out
}

// A caller with too many tasks makes ordinary calls.
func TestRunningTasksAreBounded(t *testing.T) {
	g, o := gardenTasks(t)
	o.QueueMax = 2
	w := dial(t, o)
	for range 2 {
		require.Equal(t, "task", w.call(callAs(takesTasks, "lab.slow", `{}`)).task(t).ResultType)
	}
	w.send(callAs(takesTasks, "lab.slow", `{}`))
	w.silent(100 * time.Millisecond)
	close(g.release)
	require.JSONEq(t, `{"slow":true}`, string(w.next().tool(t).Data))
}

// With the last connection over stdio the process ends, and with it what still runs.
func TestTasksEndWithServer(t *testing.T) {
	g, o := gardenTasks(t)
	o.Grace = 50 * time.Millisecond
	w := dial(t, o)
	require.Equal(t, "task", w.call(callAs(takesTasks, "lab.slow", `{}`)).task(t).ResultType)
	w.close()
	require.Error(t, <-g.stopped)
	require.NoError(t, <-w.done)

	w = dial(t, asking(t, soon))
	require.Equal(t, "task", w.call(callAs(tasksAndForm, askTool, `{}`)).task(t).ResultType)
	began := time.Now()
	w.close()
	require.NoError(t, <-w.done)
	require.Less(t, time.Since(began), 5*time.Second, "nobody is left to answer")
}

// over is a client over a connection within the program.
func over(t testing.TB, c io.ReadWriteCloser) *wire {
	w := &wire{t: t, in: c, lines: make(chan []byte, 100), close: func() { _ = c.Close() }}
	go func() {
		defer close(w.lines)
		for sc := bufio.NewScanner(c); sc.Scan(); {
			w.lines <- append([]byte{}, sc.Bytes()...)
		}
	}()
	return w
}

// A task outlives the connection that made it.
func TestTaskOutlivesConnection(t *testing.T) {
	g, o := gardenTasks(t)
	s, err := mcpserver.New(o)
	require.NoError(t, err)
	open := func() *wire {
		c := s.Connect(t.Context(), auth.Local())
		t.Cleanup(func() { _ = c.Close() })
		return over(t, c)
	}
	first := open()
	made := first.call(callAs(takesTasks, "lab.slow", `{}`)).task(t)
	first.close()
	second := open()
	require.Equal(t, "working", second.until(made.TaskID, "working").Status)
	g.release <- struct{}{}
	require.JSONEq(t, `{"slow":true}`, string(second.until(made.TaskID, "completed").Result.Data))
}

func TestTaskProgressIsItsMessage(t *testing.T) {
	_, o := gardenTasks(t)
	w := dial(t, o)
	made := w.call(callAs(takesTasks, "lab.steps", `{}`)).task(t)
	require.Eventually(t, func() bool {
		s := w.call(onTask("get", made.TaskID, "")).task(t)
		return strings.HasPrefix(s.StatusMessage, "4") && strings.Contains(s.StatusMessage, " of 50: step 4")
	}, 10*time.Second, time.Millisecond)
	require.Empty(t, w.until(made.TaskID, "completed").StatusMessage)
}
