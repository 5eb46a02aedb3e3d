package python_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/internal/language/cell"
	"github.com/koan-go/koan/codemode/internal/language/python"
	"github.com/koan-go/koan/codemode/internal/sandbox"
	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/needs"
)

func TestMain(m *testing.M) {
	python.Main()
	os.Exit(m.Run())
}

// shared is the sandbox of all tests that do not need one of their own.
var shared struct {
	sync.Once
	*sandbox.Sandbox
	err error
}

func newSandbox(tb testing.TB) *sandbox.Sandbox {
	tb.Helper()
	needs.Program(tb, "python3")
	shared.Do(func() {
		var i *python.Interpreter
		if i, shared.err = python.Find(context.Background(), "python3", nil); shared.err != nil {
			return
		}
		shared.Sandbox, shared.err = sandbox.New(sandbox.Options{
			PoolSize: 1, StartTimeout: time.Minute, KillGrace: 100 * time.Millisecond, Layers: cell.Layers(),
			Interpreter: &sandbox.Interpreter{Args: func() []string { return i.Arguments(nil) }, Attr: cell.Attributes(), Layers: cell.Layers(), Forks: true},
		})
	})
	require.NoError(tb, shared.err)
	return shared.Sandbox
}

// host answers calls of entities with rows, and keeps what was called.
type host struct {
	mu      sync.Mutex
	calls   []string
	started []uint32
	outputs map[uint32]json.RawMessage
	emitted []string
	logs    []string
}

var answers = map[string]string{
	"koan::Todo.collection":         `{"items":[{"id":"1","title":"milk","items":3},{"id":"2","title":"bread","items":4}],"page":1,"pageSize":50,"totalCount":2,"nextCursor":null,"truncated":false}`,
	"koan::Todo.count":              `{"count":2}`,
	"koan::Todo.patch":              `{"id":"1","title":"milk","big":"9007199254740993"}`,
	"upstream::github::list-issues": `[{"number":1}]`,
	"upstream::github::search":      `{"total":12345678901234567890}`,

	"whole:upstream::github::list-issues": `{"result":{"content":[{"type":"text","text":"whole"}]}}`,
}

func (h *host) Call(_ context.Context, id string, in json.RawMessage) (json.RawMessage, int64, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls = append(h.calls, id+" "+string(in))
	if out, ok := answers[id]; ok {
		return json.RawMessage(out), 1_700_000_001_000, nil
	}
	switch id {
	case "koan::Todo.get-by-id":
		return nil, 1_700_000_000_500, fault.New(fault.NotFound, "no Todo has the id \"9\"")
	case "koan::Todo.create":
		return nil, 1_700_000_000_500, fault.New(fault.SDKCallsExceeded, "too many calls")
	}
	return nil, 1_700_000_000_500, fault.Newf(fault.ToolNotFound, "no operation %s", id)
}

func (h *host) Start(ctx context.Context, ref uint32, id string, in json.RawMessage) {
	if h.outputs == nil {
		h.outputs = map[uint32]json.RawMessage{}
	}
	id = strings.TrimPrefix(id, wire.WholePrefix)
	h.mu.Lock()
	h.calls = append(h.calls, "start "+id+" "+string(in))
	h.mu.Unlock()
	h.started, h.outputs[ref] = append(h.started, ref), json.RawMessage(answers[id])
}

func (h *host) Next(ctx context.Context, most time.Duration) (uint32, json.RawMessage, int64, error) {
	if n := len(h.started); n > 0 { // the last one first
		ref := h.started[n-1]
		h.started = h.started[:n-1]
		if len(h.outputs[ref]) == 0 {
			return ref, nil, 1_700_000_001_000, fault.New(fault.UpstreamError, "it failed")
		}
		return ref, h.outputs[ref], 1_700_000_001_000, nil
	}
	if h.outputs == nil {
		return 0, nil, 0, fault.New(fault.ExecutionError, "the script waits for calls that were not started")
	}
	if most < 0 {
		<-ctx.Done()
		return 0, nil, 0, ctx.Err()
	}
	select {
	case <-ctx.Done():
		return 0, nil, 0, ctx.Err()
	case <-time.After(most):
	}
	return 0, nil, 1_700_000_000_000, nil
}

func (h *host) Progress(float64, float64, string) {}
func (h *host) Emit(_ int, v json.RawMessage)     { h.emitted = append(h.emitted, string(v)) }
func (h *host) Log(l wire.Log)                    { h.logs = append(h.logs, l.Level+": "+l.Message) }

var bindings = wire.Bindings{
	Version:   "1",
	Entities:  []wire.Entity{{Name: "Todo", Ops: []string{"collection", "get-by-id", "count", "aggregate", "new", "create", "upsert", "upsert-many", "patch", "delete", "delete-many", "update-by-query", "delete-by-query"}}, {Name: "Log", ReadOnly: true, Ops: []string{"get-by-id", "count"}}},
	Domains:   []wire.Domain{{Name: "Weather", Functions: []wire.Function{{Name: "forecast", ID: "plugin::weather.forecast"}}}},
	Upstreams: []wire.Domain{{Name: "github", Functions: []wire.Function{{Name: "listIssues", ID: "upstream::github::list-issues"}}}},
	Servers:   []wire.Server{{ID: "github", Name: "GitHub", Tools: []wire.Tool{{Name: "list-issues", Export: "listIssues", ID: "upstream::github::list-issues"}, {Name: "search", Export: "search", ID: "upstream::github::search"}, {Name: "fail", Export: "fail", ID: "upstream::github::fail"}}}, {ID: "koan", Ordered: true, Tools: []wire.Tool{{Name: "todo.collection", Export: "todoCollection", ID: "koan::Todo.collection"}}}},
}

// patience is how many milliseconds of CPU time scripts get that are not stopped by it: so much that nothing else
// on a busy machine stops them before.
const patience = 20_000

func job(code string) *wire.Job {
	return &wire.Job{
		Task: wire.Execute, Code: code, Language: "python", Args: json.RawMessage(`{"name":"Koan","list":[{"a":1}]}`), Principal: "tester",
		Occasion: wire.Occasion{RunID: "r1", Set: "default", NowMs: 1_700_000_000_000, Seed: 7}, Bindings: bindings,
		Limits: wire.Limits{CPUMs: patience},
	}
}

// execute runs a job, and returns its result.
func execute(tb testing.TB, j *wire.Job) (*wire.Result, *host) {
	tb.Helper()
	h := &host{}
	ctx, cancel := context.WithTimeout(tb.Context(), 2*time.Minute)
	defer cancel()
	r, err := newSandbox(tb).Execute(ctx, j, h)
	if r.Fault == nil {
		require.NoError(tb, err)
	}
	return r, h
}

// The process of a script is there before the script. It has what its caller may call by then, also if that has changed
// meanwhile, and it is another one for each script.
func TestProcessesWaitForTheirScripts(t *testing.T) {
	t.Parallel()
	const code = "import os\n[os.getpid(), 'Note' in SDK.Entities, len(os.listdir())]"
	seen := map[string]bool{}
	for i := range 6 {
		j := job(code)
		j.Principal = "waits"
		if i >= 3 {
			j.Bindings = wire.Bindings{Version: bindings.Version, Entities: append(slices.Clone(bindings.Entities), wire.Entity{Name: "Note", Ops: []string{"count"}})}
		}
		r, _ := execute(t, j)
		require.Nil(t, r.Fault, "%+v", r.Fault)
		pid, rest, _ := strings.Cut(string(r.Result), ",")
		require.Equal(t, fmt.Sprintf("%t,0]", i >= 3), rest)
		require.False(t, seen[pid], "the process %s has run a script before", pid)
		seen[pid] = true
	}
}

// A script whose process does not end after its result has its answer. Its caller's next script waits for that process,
// gets another one, and nothing waits for ever.
func TestScriptThatStaysAfterItsResult(t *testing.T) {
	t.Parallel()
	const stays = "import struct, os\nbody = b'{\"result\":1}'\nos.write(5, struct.pack('>IBI', len(body) + 5, 7, 0) + body)\nwhile True: pass"
	run := func(ctx context.Context, code string) (*wire.Result, error) {
		j := job(code)
		j.Principal = "stays"
		return newSandbox(t).Execute(ctx, j, &host{})
	}
	for range 3 {
		r, err := run(t.Context(), stays)
		require.NoError(t, err)
		require.Nil(t, r.Fault, "%+v", r.Fault)
		require.Equal(t, "1", string(r.Result))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = run(ctx, "2")
		require.ErrorIs(t, err, context.Canceled)
		for range 2 {
			r, err = run(t.Context(), "6 * 7")
			require.NoError(t, err)
			require.Nil(t, r.Fault, "%+v", r.Fault)
			require.Equal(t, "42", string(r.Result))
		}
	}
}
