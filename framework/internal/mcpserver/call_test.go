package mcpserver_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

func callLine(id, name, args string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + name + `","arguments":` + args + `}}`
}

func TestCallSucceeds(t *testing.T) {
	w := dial(t, options(t, newGarden()))
	w.hello("2025-11-25", "")
	for _, name := range []string{"plant.get-by-id", "plant_get-by-id"} {
		r := w.call(callLine(`1`, name, `{"id":"p1"}`))
		got := r.tool(t)
		require.False(t, got.IsError)
		require.Equal(t, `{"id":"p1","name":"Basil <green>"}`, got.Content[0].Text, "compact, and not escaped for HTML")
		require.JSONEq(t, `1`, string(r.ID))
		var about map[string]any
		require.NoError(t, json.Unmarshal(got.Meta["dev.koan/run"], &about))
		require.NotEmpty(t, about["runId"])
		require.Equal(t, "1.2.3", about["toolVersion"])
	}
}

func TestCallOfCodeCarriesMetrics(t *testing.T) {
	w := dial(t, options(t, newGarden()))
	w.hello("2025-11-25", "")
	got := w.call(callLine(`1`, "koan.code.execute", `{"code":"{\"id\":\"p1\"}"}`)).tool(t)
	require.False(t, got.IsError, "%s", got.Data)
	var about struct {
		RunID    string
		Attempts int
		Metrics  map[string]any
	}
	require.NoError(t, json.Unmarshal(got.Meta["dev.koan/run"], &about))
	require.Equal(t, 1, about.Attempts)
	for _, k := range []string{"sdkCalls", "cpuMs", "wallMs", "peakMemoryBytes"} {
		require.Contains(t, about.Metrics, k)
	}
}

func TestCallFails(t *testing.T) {
	for _, c := range []struct {
		name, tool, args string
		code             fault.Code
	}{
		{"a fault of the handler", "plant.get-by-id", `{"id":"p9"}`, fault.NotFound},
		{"a conflict", "lab.fail", `{}`, fault.Conflict},
		{"a panic", "lab.fail", `{"how":"panic"}`, fault.Internal},
		{"an error that is no fault", "lab.fail", `{"how":"plain"}`, fault.Internal},
		{"a result that is not JSON", "lab.fail", `{"how":"broken"}`, fault.ExecutionError},
		{"a script", "koan.code.execute", `{"code":"{\"id\":\"p9\"}"}`, fault.NotFound},
		{"a script that lets invalid_payload escape", "koan.code.execute", `{"code":"{\"id\":9}"}`, fault.InvalidPayload},
		{"a tool that is switched off", "code_search", `{}`, fault.CodeModeDisabled},
	} {
		for _, version := range []string{"2025-11-25", "2024-11-05"} {
			t.Run(c.name+" in "+version, func(t *testing.T) {
				w := dial(t, options(t, newGarden()))
				w.hello(version, "")
				got := w.call(callLine(`1`, c.tool, c.args)).tool(t)
				require.Equal(t, c.code, got.failure(t).Error.Code)
				require.NotContains(t, string(got.Data), "hunter2")
			})
		}
	}
}

func TestCallKeepsTheBodyOfAFailedScript(t *testing.T) {
	w := dial(t, options(t, newGarden()))
	w.hello("2025-11-25", "")
	got := w.call(callLine(`1`, "koan.code.execute", `{"code":"{\"id\":\"p9\"}"}`)).tool(t)
	require.Contains(t, string(got.Data), `"outsideEffects":[]`)
	require.Contains(t, got.Meta, "dev.koan/run")
}

func TestCallWrapsNonObjects(t *testing.T) {
	g := newGarden()
	g.extra = &catalog.Operation{
		ID:       catalog.PluginID("Lab", "number"),
		Contract: catalog.Contract{Input: object(`"properties":{}`), Output: json.RawMessage(`{"type":"integer"}`)},
		Listing:  catalog.Listing{Reach: catalog.Everywhere},
		Work: catalog.Work{
			Handler: func(context.Context, catalog.Call) (json.RawMessage, error) { return json.RawMessage(`42`), nil },
		},
	}
	w := dial(t, options(t, g))
	w.hello("2025-11-25", "")
	require.JSONEq(t, `{"result":42}`, string(w.call(callLine(`1`, "lab.number", `{}`)).tool(t).Data))
	require.Equal(t, fault.ExecutionError, w.call(callLine(`2`, "lab.fail", `{"how":"number"}`)).tool(t).failure(t).Error.Code, "it says that it returns an object")
}

func TestCallUnknown(t *testing.T) {
	for _, c := range []struct{ name, caps, tool, hint string }{
		{"no such tool", "{}", "plant.get-by-idd", `did you mean "plant.get-by-id"?`},
		{"an empty name", "{}", "", ""},
		{"hidden by mode", `{"experimental":{"koan":{}}}`, "plant.get-by-id", ""},
		{"code hidden from a legacy client", `{"extensions":{"dev.koan/code-mode":{"codeMode":false}}}`, "koan.code.execute", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := dial(t, options(t, newGarden()))
			w.hello("2025-11-25", c.caps)
			r := w.call(callLine(`1`, c.tool, `{}`))
			require.NotNil(t, r.Error)
			require.Equal(t, -32602, r.Error.Code)
			require.Equal(t, string(fault.ToolNotFound), r.Error.Data.Code)
			require.Contains(t, r.Error.Message, c.hint)
		})
	}
}

// What an argument names is no tool of the protocol: a fault about it is the tool's.
func TestCallUnknownInArguments(t *testing.T) {
	g := newGarden()
	w := dial(t, options(t, g))
	w.hello("2025-11-25", "")
	f := w.call(callLine(`1`, "lab.fail", `{"how":"unknown id"}`)).tool(t).failure(t)
	require.Equal(t, fault.ToolNotFound, f.Error.Code)
	require.Equal(t, "/how", f.Error.Path)
}

func TestCallBadArguments(t *testing.T) {
	const bad = `{"force":"yes","id":7}`
	details := func(t *testing.T, raw json.RawMessage) {
		var d []fault.Detail
		require.NoError(t, json.Unmarshal(raw, &d))
		require.Len(t, d, 2, "every violation")
	}
	t.Run("a tool error from 2025-11-25 on", func(t *testing.T) {
		w := dial(t, options(t, newGarden()))
		w.hello("2025-11-25", "")
		f := w.call(callLine(`1`, "plant.delete", bad)).tool(t).failure(t)
		require.Equal(t, fault.InvalidPayload, f.Error.Code)
		raw, _ := json.Marshal(f.Error.Details)
		details(t, raw)
	})
	t.Run("a tool error in 2026-07-28", func(t *testing.T) {
		w := dial(t, options(t, newGarden()))
		f := w.call(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"plant.delete","arguments":` + bad + `,` + modern("{}") + `}}`).tool(t).failure(t)
		require.Equal(t, fault.InvalidPayload, f.Error.Code)
	})
	for _, version := range []string{"2025-06-18", "2025-03-26", "2024-11-05"} {
		t.Run("a protocol error in "+version, func(t *testing.T) {
			w := dial(t, options(t, newGarden()))
			w.hello(version, "")
			r := w.call(callLine(`1`, "plant.delete", bad))
			require.NotNil(t, r.Error)
			require.Equal(t, -32602, r.Error.Code)
			require.Equal(t, string(fault.InvalidPayload), r.Error.Data.Code)
			details(t, r.Error.Data.Details)
			r = w.call(callLine(`2`, "koan.code.execute", `{}`))
			require.NotNil(t, r.Error, "of code tools too")
		})
	}
	t.Run("arguments that are no object", func(t *testing.T) {
		w := dial(t, options(t, newGarden()))
		w.hello("2025-11-25", "")
		require.Equal(t, fault.InvalidPayload, w.call(callLine(`1`, "plant.delete", `[1]`)).tool(t).failure(t).Error.Code)
	})
	t.Run("no name", func(t *testing.T) {
		w := dial(t, options(t, newGarden()))
		r := w.call(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}`)
		require.Equal(t, -32602, r.Error.Code)
		require.Equal(t, string(fault.InvalidPayload), r.Error.Data.Code)
	})
}

func TestCallTimesOut(t *testing.T) {
	g := newGarden()
	o := options(t, g)
	o.ToolTimeout = 30 * time.Millisecond
	w := dial(t, o)
	w.hello("2025-11-25", "")
	f := w.call(callLine(`1`, "lab.slow", `{}`)).tool(t).failure(t)
	require.Equal(t, fault.ToolTimeout, f.Error.Code)
	require.Equal(t, 30, f.TimeoutMs)
	require.EqualValues(t, 30, f.Error.Details.(map[string]any)["timeoutMs"])
	<-g.stopped // the handler was cancelled
}

func TestCallIsCancelled(t *testing.T) {
	for name, line := range map[string]string{
		"notifications/cancelled": `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7,"reason":"enough"}}`,
		"$/cancelRequest":         `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":7.0}}`,
	} {
		t.Run(name, func(t *testing.T) {
			g := newGarden()
			w := dial(t, options(t, g))
			w.hello("2025-11-25", "")
			w.send(callLine(`7`, "lab.slow", `{}`))
			<-g.started
			w.send(line)
			<-g.stopped
			w.silent(50 * time.Millisecond)
			require.False(t, w.call(callLine(`8`, "plant.get-by-id", `{"id":"p1"}`)).tool(t).IsError, "the connection goes on")
		})
	}
	t.Run("before it began", func(t *testing.T) {
		g := newGarden()
		w := dial(t, options(t, g))
		w.hello("2025-11-25", "")
		for range 50 {
			w.send(callLine(`7`, "lab.slow", `{}`), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
		}
		w.silent(50 * time.Millisecond)
		require.Nil(t, w.call(`{"jsonrpc":"2.0","id":9,"method":"ping"}`).Error)
	})
	t.Run("unknown ids are ignored", func(t *testing.T) {
		w := dial(t, options(t, newGarden()))
		w.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}`, `{"jsonrpc":"2.0","method":"notifications/cancelled"}`,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"none"}}`)
		require.Nil(t, w.call(`{"jsonrpc":"2.0","id":9,"method":"ping"}`).Error)
	})
}
