package e2e

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
)

// failureOf is the fault of a tool's failure.
func failureOf(t *testing.T, r toolResult) fault.Fault {
	t.Helper()
	require.True(t, r.IsError, "%s", r.Structured)
	var failure struct{ Error fault.Fault }
	require.NoError(t, json.Unmarshal(r.Structured, &failure))
	return failure.Error
}

// A tool for all entities is the entity's own operation, by another way.
func TestGenericTools(t *testing.T) {
	p := newApp(t).serve("--journal.expose=true")
	ok := func(tool string, args input) map[string]any {
		t.Helper()
		r := p.tool(tool, args)
		require.False(t, r.IsError, "%s", r.Structured)
		var out map[string]any
		require.NoError(t, json.Unmarshal(r.Structured, &out))
		return out
	}
	about := ok("entities_describe", input{"entities": []string{"Todo"}})["entities"].([]any)[0].(map[string]any)
	require.Contains(t, about["declaration"], "interface Todo {")
	require.Contains(t, about["declaration"], `priority?: "low" | "medium" | "high"`)
	made := ok("entities_upsert", input{"entity": "Todo", "model": input{"title": "Milk"}})
	require.Equal(t, made, ok("entities_get-by-id", input{"entity": "Todo", "id": made["id"]}))
	require.EqualValues(t, 2, ok("entities.count", input{"entity": "Todo"})["count"], "both spellings are called")
	require.EqualValues(t, 2, ok("todo_count", input{})["count"], "and so is the entity's own tool, which is not listed")
	require.Equal(t, "Milk", ok("entities_collection", input{"entity": "Todo", "filter": input{"title": input{"$startsWith": "Mi"}}, "fields": "title"})["items"].([]any)[0].(map[string]any)["title"])
	require.Equal(t, "Cheese", ok("entities_patch", input{"entity": "Todo", "id": made["id"], "changes": input{"title": "Cheese"}})["title"])
	require.EqualValues(t, 1, ok("entities_delete", input{"entity": "Todo", "id": made["id"]})["deleted"])

	runs := ok("koan.code.execute", input{"code": `SDK.Entities.KoanRun.all({ filter: { surface: "mcp" }, sort: "started" }).map((r) => r.tool)`})["result"]
	require.Contains(t, runs, "todo.upsert", "the journal names the operation")
	require.NotContains(t, runs, "entities.upsert")

	for name, c := range map[string]struct {
		tool string
		args input
		code fault.Code
		path string
	}{
		"no entity":              {"entities_count", input{}, fault.InvalidPayload, "/entity"},
		"an entity of no name":   {"entities_count", input{"entity": "Tod"}, fault.InvalidPayload, "/entity"},
		"one that is only read":  {"entities_upsert", input{"entity": "AuditLog", "model": input{}}, fault.ReadOnly, "/entity"},
		"one that is not there":  {"entities_count", input{"entity": "Draft"}, fault.InvalidPayload, "/entity"},
		"nothing is stored":      {"entities_get-by-id", input{"entity": "Todo", "id": made["id"]}, fault.NotFound, "/id"},
		"described, not there":   {"entities_describe", input{"entities": []string{"Todo", "Draft"}}, fault.InvalidPayload, "/entities/1"},
		"an unknown argument":    {"entities_count", input{"entity": "Todo", "filtre": input{}}, fault.InvalidPayload, "/filtre"},
		"a description of what?": {"entities_describe", input{"entitis": []string{"Todo"}}, fault.InvalidPayload, "/entitis"},
	} {
		f := failureOf(t, p.tool(c.tool, c.args))
		require.Equal(t, c.code, f.Code, name)
		require.Equal(t, c.path, f.Path, name)
		require.NotEmpty(t, f.Hint, name)
	}
	m := p.call("tools/call", map[string]any{"name": "entities_fly", "arguments": input{"entity": "Todo"}})
	require.Equal(t, -32602, m.Error.Code)

	old := newApp(t).raw()
	old.call("initialize", map[string]any{"protocolVersion": "2025-03-26", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "old", "version": "1"}})
	old.notify("notifications/initialized", map[string]any{})
	m = old.call("tools/call", map[string]any{"name": "entities_count", "arguments": input{"entity": "Tod"}})
	require.Equal(t, -32602, m.Error.Code)
	require.Equal(t, string(fault.InvalidPayload), codeOf(t, m.Error))
}

// After a reload the server lists its tools in another style, and notifies open clients.
// The tools that they know can still be called.
func TestStyleChangesWhileClientsAreConnected(t *testing.T) {
	a := newApp(t)
	config := a.script("koan.yaml", "tools: {style: perEntity}\n")
	p := a.serve("--config", config)
	require.Contains(t, toolNames(t, p), "todo_upsert")
	a.script("koan.yaml", "tools: {style: generic, outputSchemas: never}\nserver: {toolNames: dotted}\n")
	require.Eventually(t, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return slices.ContainsFunc(p.notes, func(m message) bool { return m.Method == "notifications/tools/list_changed" })
	}, 20*time.Second, 50*time.Millisecond)
	require.Contains(t, toolNames(t, p), "entities.upsert")
	require.False(t, p.tool("todo_upsert", input{"model": input{"title": "x"}}).IsError)
}

// Faults of a function that was called through the tool for all of them name the
// arguments of that tool.
func TestFunctionsAreCalledByName(t *testing.T) {
	p := servePantry(t, t.TempDir())
	f := failureOf(t, p.tool("tools_call", input{"name": "vision.detect", "input": input{"path": 7}}))
	require.Equal(t, fault.InvalidPayload, f.Code)
	require.Equal(t, "/input/path", f.Path)
	f = failureOf(t, p.tool("tools_call", input{"name": "vision.detekt"}))
	require.Equal(t, "/name", f.Path)
	require.Contains(t, f.Message, `did you mean "vision.detect"?`)
	r := p.tool("tools_describe", input{"names": []string{"vision.detect"}})
	require.Contains(t, string(r.Structured), `"inputSchema":{`)
	r = p.tool("tools_call", input{"name": "vision_detect", "input": input{"path": "haul.png"}})
	require.False(t, r.IsError, "%s", r.Structured)
}
