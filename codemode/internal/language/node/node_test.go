package node_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/internal/language/cell"
	"github.com/koan-go/koan/codemode/internal/language/node"
	"github.com/koan-go/koan/codemode/internal/sandbox"
	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/needs"
)

func TestMain(m *testing.M) {
	node.Main()
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
	path := needs.ScriptNode(tb)
	shared.Do(func() { shared.Sandbox, shared.err = open(path, "testdata/packages") })
	require.NoError(tb, shared.err)
	return shared.Sandbox
}

// open returns a sandbox with the packages in a folder.
func open(path, packages string) (*sandbox.Sandbox, error) {
	i, err := node.Find(context.Background(), path, packages)
	if err != nil {
		return nil, err
	}
	return sandbox.New(sandbox.Options{
		PoolSize: 2, Fresh: true, StartTimeout: time.Minute, KillGrace: 100 * time.Millisecond, Layers: cell.Layers(),
		Interpreter: &sandbox.Interpreter{Args: func() []string { return i.Arguments(node.Limits{MemoryMb: 64, CPUMs: 2000}) }, Attr: cell.Attributes(), Layers: cell.Layers()},
	})
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
	Entities:  []wire.Entity{{Name: "Todo", Ops: []string{"collection", "get-by-id", "count", "aggregate", "new", "create", "upsert", "upsert-many", "patch", "delete", "delete-many", "update-by-query", "delete-by-query"}}},
	Domains:   []wire.Domain{{Name: "Weather", Functions: []wire.Function{{Name: "forecast", ID: "plugin::weather.forecast"}}}},
	Upstreams: []wire.Domain{{Name: "github", Functions: []wire.Function{{Name: "listIssues", ID: "upstream::github::list-issues"}}}},
	Servers:   []wire.Server{{ID: "github", Name: "GitHub", Tools: []wire.Tool{{Name: "list-issues", Export: "listIssues", ID: "upstream::github::list-issues"}, {Name: "search", Export: "search", ID: "upstream::github::search"}, {Name: "fail", Export: "fail", ID: "upstream::github::fail"}}}},
}

// patience is how many milliseconds of CPU time scripts get that are not stopped by it: so much that nothing else
// on a busy machine stops them before.
const patience = 20_000

func job(code string) *wire.Job {
	return &wire.Job{
		Task: wire.Execute, Code: code, Language: "node", Args: json.RawMessage(`{"name":"Koan","list":[{"a":1}]}`), Principal: "tester",
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
		require.NoError(tb, err, "%+v", errors.Unwrap(err))
	}
	return r, h
}

// Popular packages have a thousand modules, which Node reads at once (date-fns, ramda, mathjs).
func TestPackagesOfManyModules(t *testing.T) {
	t.Parallel()
	path := needs.ScriptNode(t)
	packages := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(packages, "many"), 0o755))
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(packages, "many", name), []byte(text), 0o644)) // for another user, as which scripts run
	}
	var index strings.Builder
	for i := range 1500 {
		write(fmt.Sprintf("m%d.js", i), fmt.Sprintf("export const v%d = %d;", i, i))
		fmt.Fprintf(&index, "export * from './m%d.js';\n", i)
	}
	write("index.js", index.String())
	write("package.json", `{"name": "many", "type": "module"}`)
	s, err := open(path, packages)
	require.NoError(t, err)
	defer s.Close()
	j := job("import * as many from 'many';\nObject.keys(many).length")
	r, err := s.Execute(t.Context(), j, &host{})
	require.NoError(t, err)
	require.Nil(t, r.Fault, "%+v", r.Fault)
	require.Equal(t, "1500", string(r.Result))
}
