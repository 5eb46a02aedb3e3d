package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// todoHost is a small host with rows of Todo, whose faults are those of the registry.
type todoHost struct {
	mu       sync.Mutex
	now      int64
	calls    []string
	inputs   []string
	progress []string
	emitted  []string
	rows     int // how many rows collection pages over
	maxCalls int // sdk_calls_exceeded above it; 0: no limit
	started  started
	serve    map[string]func(ctx context.Context, in json.RawMessage) (string, error)
}

func (h *todoHost) Call(ctx context.Context, id string, in json.RawMessage) (json.RawMessage, int64, error) {
	h.mu.Lock()
	h.now += 10
	now := h.now
	h.calls = append(h.calls, id)
	if len(in) < 10_000 {
		h.inputs = append(h.inputs, string(in))
	}
	over := h.maxCalls > 0 && len(h.calls) > h.maxCalls
	h.mu.Unlock()
	if over {
		return nil, now, fault.New(fault.SDKCallsExceeded, "")
	}
	if fn := h.serve[id]; fn != nil {
		out, err := fn(ctx, in)
		return json.RawMessage(out), now, err
	}
	out, err := h.answer(id, in)
	return out, now, err
}

func (h *todoHost) answer(id string, in json.RawMessage) (json.RawMessage, error) {
	var q struct {
		ID       any
		Page     int
		PageSize int
		Count    *bool
		Model    json.RawMessage
		IDs      []string
		Models   []json.RawMessage
	}
	if err := json.Unmarshal(in, &q); err != nil {
		return nil, fault.Invalid(fault.Detail{Message: err.Error()})
	}
	switch _, op, _ := strings.Cut(id, "."); op {
	case "get-by-id":
		if q.ID != "1" {
			return nil, fault.Newf(fault.NotFound, "there is no Todo %.20q", fmt.Sprint(q.ID)).WithPath("/id")
		}
		return json.RawMessage(`{"id":"1","title":"Milk","done":false,"tags":["a"],"items":[1,2]}`), nil
	case "collection":
		return h.collection(q.Page, q.PageSize, q.Count == nil || *q.Count), nil
	case "count":
		return json.RawMessage(fmt.Sprintf(`{"count":%d}`, h.rows)), nil
	case "upsert", "patch":
		return in, nil
	case "upsert-many":
		b, err := json.Marshal(map[string]any{"items": q.Models})
		return b, err
	case "delete":
		return json.RawMessage(`{"deleted":1}`), nil
	case "delete-many":
		return json.RawMessage(fmt.Sprintf(`{"deleted":%d}`, len(q.IDs))), nil
	case "detect":
		return in, nil
	}
	return json.RawMessage(`{}`), nil
}

func (h *todoHost) collection(page, size int, count bool) json.RawMessage {
	page, size = max(page, 1), max(size, 1)
	items := []map[string]any{}
	for i := (page - 1) * size; i < min(page*size, h.rows); i++ {
		items = append(items, map[string]any{"id": fmt.Sprint(i + 1)})
	}
	out := map[string]any{"items": items, "page": page, "pageSize": size}
	if count {
		out["totalCount"] = h.rows
	}
	b, _ := json.Marshal(out)
	return b
}

func (h *todoHost) Log(wire.Log) {}

func (h *todoHost) Emit(index int, value json.RawMessage) {
	h.emitted = append(h.emitted, fmt.Sprint(index, " ", string(value)))
}

func (h *todoHost) Progress(done, total float64, message string) {
	h.progress = append(h.progress, fmt.Sprint(done, "/", total, " ", message))
}

func bindings() wire.Bindings {
	return wire.Bindings{
		Version: "1",
		Entities: []wire.Entity{
			{Name: "Todo", Ops: catalog.EntityOperationNames(), Fields: []string{"id", "title", "done"}, Sets: []string{"default", "other"}},
			{Name: "Product", Ops: []string{"collection", "get-by-id", "count"}, ReadOnly: true, Fields: []string{"id"}},
		},
		Domains: []wire.Domain{{Name: "Vision", Functions: []wire.Function{{Name: "detect", ID: "plugin::vision.detect"}}}},
	}
}

func job(code string) *wire.Job {
	return &wire.Job{
		Task: wire.Execute, Code: code, Occasion: wire.Occasion{RunID: "run-1", Set: "default", NowMs: 1_750_000_000_000, Seed: 42}, Bindings: bindings(),
		Limits: wire.Limits{CPUMs: 2000},
	}
}

func newHost() *todoHost { return &todoHost{now: 1_750_000_000_000, rows: 5} }

var shared struct {
	once sync.Once
	box  *Sandbox
	err  error
}

// box returns the sandbox that tests share unless they need their own.
func box(t testing.TB) *Sandbox {
	shared.once.Do(func() { shared.box, shared.err = New(Options{}) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.box
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.box != nil {
		_ = shared.box.Close()
		if n := children(); len(n) > 0 {
			fmt.Fprintln(os.Stderr, "processes left over:", n)
			code = 1
		}
	}
	os.Exit(code)
}

// children lists this process's children.
func children() []string {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", os.Getpid(), os.Getpid()))
	out := strings.Fields(string(b))
	tasks, _ := os.ReadDir("/proc/self/task")
	out = out[:0]
	for _, task := range tasks {
		b, _ := os.ReadFile("/proc/self/task/" + task.Name() + "/children")
		out = append(out, strings.Fields(string(b))...)
	}
	return out
}

func execute(t testing.TB, x wire.Executor, j *wire.Job, h wire.Host) *wire.Result {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	r, err := x.Execute(ctx, j, h)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
