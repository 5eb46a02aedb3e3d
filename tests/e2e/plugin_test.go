package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/schema"
)

// outputSchema is what tools/list says of a tool's structured content.
func (p *peer) outputSchema(tool string) json.RawMessage {
	p.t.Helper()
	var list struct {
		Tools []struct {
			Name         string
			OutputSchema json.RawMessage
		}
	}
	require.NoError(p.t, json.Unmarshal(p.call("tools/list", map[string]any{}).Result, &list))
	for _, t := range list.Tools {
		if strings.NewReplacer("_", ".").Replace(t.Name) == tool {
			return t.OutputSchema
		}
	}
	p.t.Fatalf("no tool %s", tool)
	return nil
}

// TestPluginOutputThatDoesNotFit checks that a client gets a failure that is valid by the
// tool's output schema, not a result that is not.
func TestPluginOutputThatDoesNotFit(t *testing.T) {
	t.Parallel()
	p := withNap(t).serve()
	promised := p.outputSchema("nap.take")
	r := p.tool("nap.take", map[string]any{"ms": 1})
	require.False(t, r.IsError)
	require.NoError(t, schema.Check(promised, r.Structured))
	r = p.tool("nap.take", map[string]any{"ms": -5})
	require.True(t, r.IsError)
	require.NoError(t, schema.Check(promised, r.Structured))
	var failure struct{ Error executionFailure }
	require.NoError(t, json.Unmarshal(r.Structured, &failure))
	require.Equal(t, string(fault.ExecutionError), failure.Error.Code)
	require.Contains(t, failure.Error.Message, "nap.take")
	require.Contains(t, string(r.Structured), `"path":"/ms"`)

	out := p.execute("try { SDK.Nap.take({ms: -5}) } catch (e) { SDK.Out.answer([e.code, e.details[0].path]) }")
	require.Equal(t, []any{string(fault.ExecutionError), "/ms"}, out.Answer)
	require.Equal(t, 1, strings.Count(p.stderr.String(), "the output of an operation does not match its schema"), p.stderr.String())
}

// journalRows are the journal's runs of an operation, the latest first.
func (p *peer) journalRows(operation string) []map[string]any {
	p.t.Helper()
	out := p.execute(`SDK.Entities.KoanRun.all({ filter: { operation: ` + strconv.Quote(operation) + ` }, sort: "-started", with: "calls" })`)
	require.True(p.t, out.Success, "%+v", out.Error)
	var rows []map[string]any
	for _, row := range out.Result.([]any) {
		rows = append(rows, row.(map[string]any))
	}
	return rows
}

// TestPluginCallThatIsCancelled checks that a client's cancel is recorded as cancelled in
// the journal, for the run and its call, and not logged as a defect.
func TestPluginCallThatIsCancelled(t *testing.T) {
	t.Parallel()
	a := withNap(t)
	a.env = append(a.env, "KOAN_JOURNAL_EXPOSE=true")
	p := a.serve()
	for _, tool := range []string{"nap.take", "nap.elsewhere"} {
		id, answer := p.post("tools/call", map[string]any{"name": tool, "arguments": map[string]any{"ms": 20000}})
		time.Sleep(300 * time.Millisecond) // it sleeps
		p.notify("notifications/cancelled", map[string]any{"requestId": id, "reason": "never mind"})
		var rows []map[string]any
		require.Eventually(t, func() bool {
			rows = p.journalRows("plugin::" + tool)
			return len(rows) == 1
		}, 10*time.Second, 100*time.Millisecond)
		require.Equal(t, string(fault.Cancelled), rows[0]["outcome"], tool)
		calls := rows[0]["calls"].([]any)
		require.Equal(t, string(fault.Cancelled), calls[0].(map[string]any)["outcome"])
		require.Empty(t, answer)
	}
	require.NotContains(t, p.stderr.String(), "level=ERROR")
	require.NotContains(t, p.stderr.String(), "defect")
}

func TestPluginCallThatTakesTooLong(t *testing.T) {
	t.Parallel()
	a := withNap(t)
	a.env = append(a.env, "KOAN_JOURNAL_EXPOSE=true")
	p := a.serve("--server.toolTimeoutMs", "300")
	require.Eventually(t, func() bool { return p.execute("SDK.Nap.take({ms: 1})").Success }, time.Minute, 100*time.Millisecond, "its process is ready: else nothing was sent")
	for tool, retry := range map[string]fault.Retry{"nap.take": fault.Safe, "nap.elsewhere": fault.Never} {
		r := p.tool(tool, map[string]any{"ms": 20000})
		var failure struct {
			Error     executionFailure
			TimeoutMs int
		}
		require.NoError(t, json.Unmarshal(r.Structured, &failure))
		require.Equal(t, string(fault.ToolTimeout), failure.Error.Code)
		require.Equal(t, 300, failure.TimeoutMs)
		require.Equal(t, string(retry), failure.Error.Retry, "whether a second call is safe depends on what the first may have done")
		var rows []map[string]any
		require.Eventually(t, func() bool {
			rows = p.journalRows("plugin::" + tool)
			return len(rows) == 1
		}, 10*time.Second, 100*time.Millisecond)
		require.Equal(t, string(fault.ToolTimeout), rows[0]["outcome"], "as the client was told")
	}
}

// TestPluginCallNeedsApproval checks that the journal says why the call was not made.
func TestPluginCallNeedsApproval(t *testing.T) {
	t.Parallel()
	a := withNap(t)
	a.env = append(a.env, "KOAN_JOURNAL_EXPOSE=true")
	r := a.exec("SDK.Nap.elsewhere({ms: 1})", "run", "-", "--approval", "always")
	require.Equal(t, "REQUIRED", oneLine(t, r).ApprovalState)
	r = a.exec(`SDK.Entities.KoanCall.all({ filter: { operation: "plugin::nap.elsewhere" } }).map(c => c.outcome)`, "run", "-")
	require.Equal(t, []any{string(fault.ApprovalRequired)}, oneLine(t, r).Result.Data)
}

// TestCancelledCallOutsideLeavesItsKeyOpen checks that the key's next holder gets
// outcome_unknown, since nobody knows whether the call took effect.
func TestCancelledCallOutsideLeavesItsKeyOpen(t *testing.T) {
	t.Parallel()
	p := withNap(t).serve()
	args := map[string]any{"code": "SDK.Nap.elsewhere({ms: SDK.args})", "args": 20000, "idempotencyKey": "k"}
	id, _ := p.post("tools/call", map[string]any{"name": "koan.code.execute", "arguments": args})
	time.Sleep(500 * time.Millisecond)
	p.notify("notifications/cancelled", map[string]any{"requestId": id})
	var failure struct{ Error executionFailure }
	require.Eventually(t, func() bool {
		r := p.tool("koan.code.execute", args)
		require.NoError(t, json.Unmarshal(r.Structured, &failure))
		return failure.Error.Code != string(fault.InProgress)
	}, 10*time.Second, 100*time.Millisecond)
	require.Equal(t, string(fault.OutcomeUnknown), failure.Error.Code, failure.Error.Message)
}

// TestPluginAddedWhileServing adds a plugin, which is listed, described and called without
// a restart, and removes it.
func TestPluginAddedWhileServing(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	dir := t.TempDir()
	a.env = append(a.env, "KOAN_PLUGINS_DIR="+dir, "KOAN_CODEMODE_FACES=koan,codemode")
	p := a.serve()
	changes := func() int {
		p.mu.Lock()
		defer p.mu.Unlock()
		n := 0
		for _, m := range p.notes {
			if m.Method == "notifications/tools/list_changed" {
				n++
			}
		}
		return n
	}
	require.Zero(t, changes())
	self, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(self, filepath.Join(dir, napDomain)))
	require.Eventually(t, func() bool { return changes() > 0 }, 20*time.Second, 50*time.Millisecond)
	require.False(t, p.tool("nap.take", map[string]any{"ms": 1}).IsError)
	about := p.runModule(map[string]any{"code": `import { describeServer } from "@codemode/discovery";
import * as nap from "@codemode/servers/nap";
const d = await describeServer("nap");
globalThis.__codemode_result__ = [d.description, d.version, nap.__meta__.serverVersion];`})
	require.Equal(t, []any{"Sleeps.", "1.0.0", "1.0.0"}, about.Result, "%+v", about.Diagnostics)
	require.Contains(t, a.exec("", "sdk").stdout, "/** Sleeps. */\n  const Nap: {")
	require.Contains(t, a.exec("", "doctor").stdout, "Sleeps.")

	seen := changes()
	require.NoError(t, os.Remove(filepath.Join(dir, napDomain)))
	require.Eventually(t, func() bool { return changes() > seen }, 20*time.Second, 50*time.Millisecond)
	gone := p.call("tools/call", map[string]any{"name": "nap.take", "arguments": map[string]any{"ms": 1}})
	require.NotNil(t, gone.Error)
}
