package language_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/internal/language"
	"github.com/koan-go/koan/codemode/internal/language/javascript"
	"github.com/koan-go/koan/codemode/internal/sandbox"
	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/codemode/worker"
	"github.com/koan-go/koan/framework/fault"
)

// The test's binary is a worker of two languages, one of which exists here only.
func languages() []language.Language { return []language.Language{&lines{}, javascript.New()} }

func init() { worker.Main(languages) }

// host counts calls, and answers each with its input.
type host struct {
	calls []string
	most  int // sdk_calls_exceeded above it
}

func (h *host) Call(_ context.Context, id string, in json.RawMessage) (json.RawMessage, int64, error) {
	if h.calls = append(h.calls, id+" "+string(in)); len(h.calls) > h.most {
		return nil, 0, fault.New(fault.SDKCallsExceeded, "")
	}
	if id == "koan::Todo.delete" {
		return nil, 0, fault.New(fault.NotFound, "there is no such row")
	}
	return in, 0, nil
}
func (*host) Start(context.Context, uint32, string, json.RawMessage) {}
func (*host) Next(context.Context, time.Duration) (uint32, json.RawMessage, int64, error) {
	return 0, nil, 0, nil
}
func (*host) Progress(float64, float64, string) {}
func (*host) Emit(int, json.RawMessage)         {}
func (*host) Log(wire.Log)                      {}

var box *sandbox.Sandbox

func TestMain(m *testing.M) {
	var err error
	if box, err = sandbox.New(sandbox.Options{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = box.Close()
	os.Exit(code)
}

func job(name, code string) *wire.Job {
	return &wire.Job{
		Task: wire.Execute, Language: name, Code: code, Principal: "ann", Limits: wire.Limits{CPUMs: 300, MemoryBytes: 32 << 20},
		Bindings: wire.Bindings{Version: "1", Entities: []wire.Entity{{Name: "Todo", Ops: []string{"get-by-id", "delete"}}}},
	}
}

// executors run scripts in a confined process, and in the test's own.
func executors() map[string]wire.Executor {
	return map[string]wire.Executor{"worker": box, "in process": sandbox.NewInProcess(languages)}
}

func execute(t *testing.T, x wire.Executor, j *wire.Job) (*wire.Result, *host) {
	t.Helper()
	h := &host{most: 3}
	r, err := x.Execute(t.Context(), j, h)
	if err != nil { // of a call that ends the run
		require.Equal(t, fault.SDKCallsExceeded, fault.CodeOf(err))
	}
	return r, h
}

func TestAnotherLanguageCallsOperations(t *testing.T) {
	for name, x := range executors() {
		t.Run(name, func(t *testing.T) {
			r, h := execute(t, x, job("lines", "log begin\ncall Todo.get-by-id {\"id\":\"1\"}"))
			require.Nil(t, r.Fault)
			require.JSONEq(t, `{"id":"1"}`, string(r.Result))
			require.Equal(t, []string{`koan::Todo.get-by-id {"id":"1"}`}, h.calls)
			require.Len(t, r.Logs, 1)
			require.Equal(t, "begin", r.Logs[0].Message)
		})
	}
}

func TestAnotherLanguageFailsWithItsLine(t *testing.T) {
	for name, x := range executors() {
		t.Run(name, func(t *testing.T) {
			for code, want := range map[string]fault.Code{
				"log a\nfail on purpose":           fault.JavaScriptError,
				"log a\ncall Todo.delete {}":       fault.NotFound,
				"log a\ncall Todo.collection {}":   fault.JavaScriptError,
				"log a\nSDK.Entities.Todo.count()": fault.SyntaxError,
			} {
				r, _ := execute(t, x, job("lines", code))
				require.NotNil(t, r.Fault, code)
				require.Equal(t, want, r.Fault.Code, code)
				require.Equal(t, 2, r.Fault.Line, code)
			}
		})
	}
}

func TestAnotherLanguageIsLimited(t *testing.T) {
	for code, want := range map[string]fault.Code{
		"log a\nspin": fault.Timeout,
		"log a\ngrow": fault.MemoryExceeded,
		"call Todo.get-by-id {}\ncall Todo.get-by-id {}\ncall Todo.get-by-id {}\ncall Todo.get-by-id {}": fault.SDKCallsExceeded,
	} {
		j := job("lines", code)
		if want == fault.MemoryExceeded { // which costs time, too
			j.Limits.CPUMs = 10_000
		}
		r, h := execute(t, box, j)
		require.NotNil(t, r.Fault, code)
		require.Equal(t, want, r.Fault.Code, code)
		require.LessOrEqual(t, len(h.calls), 4)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	r, err := box.Execute(ctx, job("lines", "spin"), &host{})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Equal(t, fault.Timeout, r.Fault.Code)
}

func TestAnotherLanguageIsChecked(t *testing.T) {
	j := job("lines", "log a\ncall Todo.nope {}\nnope")
	j.Task = wire.Validate
	r, h := execute(t, box, j)
	require.Nil(t, r.Fault)
	require.Empty(t, h.calls)
	require.Len(t, r.Diagnostics, 2)
	require.Equal(t, wire.DiagnosticUnknownMethod, r.Diagnostics[0].Code)
	require.Equal(t, 2, r.Diagnostics[0].Line)
	require.Equal(t, wire.DiagnosticParse, r.Diagnostics[1].Code)
}

func TestActionsAreDeclaredInTheirLanguage(t *testing.T) {
	j := job("lines", "log a")
	j.Task, j.Action = wire.Declare, true
	r, _ := execute(t, box, j)
	require.Equal(t, fault.CapabilityUnsupported, r.Fault.Code)
	j = job("javascript", "export const action = {description: 'x'}; export default () => 1")
	j.Task, j.Action = wire.Declare, true
	r, _ = execute(t, box, j)
	require.Nil(t, r.Fault)
	require.Contains(t, string(r.Result), `"description":"x"`)
}

// One caller's worker runs scripts of every language, one after the other.
func TestLanguagesTakeTurnsInOneWorker(t *testing.T) {
	for name, x := range executors() {
		t.Run(name, func(t *testing.T) {
			for _, one := range []struct{ language, code string }{
				{"lines", `call Todo.get-by-id {"id":"7"}`},
				{"javascript", `SDK.Entities.Todo.getById("7")`},
				{"typescript", `const id: string = "7"; SDK.Entities.Todo.getById(id)`},
				{"", `call Todo.get-by-id {"id":"7"}`},
				{"javascript", `SDK.Entities.Todo.getById("7")`},
			} {
				r, h := execute(t, x, job(one.language, one.code))
				require.Nil(t, r.Fault, one.language)
				require.JSONEq(t, `{"id":"7"}`, string(r.Result), one.language)
				require.Equal(t, []string{`koan::Todo.get-by-id {"id":"7"}`}, h.calls, one.language)
			}
			r, _ := execute(t, x, job("cobol", "DISPLAY"))
			require.Equal(t, fault.CapabilityUnsupported, r.Fault.Code)
			require.Contains(t, r.Fault.Message, `"cobol"`)
		})
	}
}
