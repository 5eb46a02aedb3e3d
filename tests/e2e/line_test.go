package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
)

var runIDs = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// runLine is the line of `APP run` (CONTRACT section 7).
type runLine struct {
	RunID         string  `json:"run_id"`
	TraceID       string  `json:"trace_id"`
	ToolName      string  `json:"tool_name"`
	ToolVersion   string  `json:"tool_version"`
	InputDigest   string  `json:"input_digest"`
	OutputDigest  string  `json:"output_digest"`
	SandboxImage  *string `json:"sandbox_image"`
	DurationMs    int     `json:"duration_ms"`
	ApprovalState string  `json:"approval_state"`
	PlanID        string  `json:"plan_id"`
	Result        struct {
		OK      bool             `json:"ok"`
		Data    any              `json:"data"`
		Answer  any              `json:"answer"`
		Changes []map[string]any `json:"changes"`
		Metrics map[string]any   `json:"metrics"`
		Error   struct {
			Type, Message, Code, Path, Hint string
			Details                         any
			Retryable                       bool
			Line, Column                    int
		} `json:"error"`
	} `json:"result"`
}

func oneLine(t *testing.T, r result) runLine {
	t.Helper()
	require.Equal(t, 1, strings.Count(r.stdout, "\n"), "exactly one line: %q\n%s", r.stdout, r.stderr)
	require.LessOrEqual(t, len(r.stdout), 64<<10)
	var l runLine
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &l))
	return l
}

// result is the member of that name, as it stands in the line.
func (l runLine) raw(t *testing.T, r result, member string) json.RawMessage {
	t.Helper()
	var whole struct{ Result map[string]json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &whole))
	return whole.Result[member]
}

// TestRefusedCallsCarryTheirRunID is the same over MCP: the id leads to the report.
func TestRefusedCallsCarryTheirRunID(t *testing.T) {
	t.Parallel()
	p := newApp(t).serve()
	for _, args := range []map[string]any{{"code": ""}, {"code": 7}, {"code": "1", "set": "nope"}, {"planId": "nope"}, {"code": "let x = ;"}} {
		r := p.tool("koan.code.execute", args)
		require.True(t, r.IsError)
		var about struct{ RunID, ToolVersion string }
		require.NoError(t, json.Unmarshal(r.Meta["dev.koan/run"], &about))
		require.Regexp(t, runIDs, about.RunID)
		require.Equal(t, "1.2.3", about.ToolVersion)
		require.Eventually(t, func() bool {
			return p.call("resources/read", map[string]any{"uri": "koan://runs/" + about.RunID}).Error == nil
		}, 10*time.Second, 50*time.Millisecond, "%v", args)
	}
}

// requireRunID holds that a result names its run, and the one of its metadata. A module that
// was refused has none: no run was opened, and the call did not fail.
func requireRunID(t *testing.T, r toolResult) {
	t.Helper()
	var body, about struct{ RunID string }
	require.NoError(t, json.Unmarshal(r.Structured, &body), "%s", r.Structured)
	require.Regexp(t, runIDs, body.RunID, "%s", r.Structured)
	if run := r.Meta["dev.koan/run"]; run != nil {
		require.NoError(t, json.Unmarshal(run, &about))
		require.Equal(t, about.RunID, body.RunID)
		return
	}
	require.False(t, r.IsError)
	require.Contains(t, string(r.Structured), `"diagnostics"`)
}

// TestResultsOfAllFacesNameTheirRun is about results of scripts, however they end.
func TestResultsOfAllFacesNameTheirRun(t *testing.T) {
	t.Parallel()
	p := newApp(t).serve("--codeMode.faces", "[koan, codemode, gateway]", "--server.toolTimeoutMs", "1000")
	for _, tool := range []string{"koan.code.execute", "codemode.run", "code_execute"} {
		for name, args := range map[string]input{
			"success": {"code": "globalThis.result = 1"}, "throw": {"code": "throw new Error('no')"}, "fault": {"code": "SDK.Entities.Todo.getById('0')"},
			"syntax": {"code": "let x = ;"}, "empty": {"code": " "}, "no code": {}, "wrong type": {"code": 7}, "unknown member": {"code": "1", "made": 1},
			"late": {"code": "for (;;);"},
		} {
			t.Run(tool+" "+name, func(t *testing.T) { requireRunID(t, p.tool(tool, args)) })
		}
	}
	requireRunID(t, p.tool("koan.code.execute", input{"code": "1", "dryRun": true}))
	requireRunID(t, p.tool("koan.code.execute", input{"planId": "nope"}))
}

// canonical sorts the names of JSON whose texts are ASCII and whose numbers are whole.
func canonical(t *testing.T, raw json.RawMessage) []byte {
	t.Helper()
	var v any
	require.NoError(t, json.Unmarshal(raw, &v))
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	require.NoError(t, enc.Encode(v))
	return []byte(strings.TrimSuffix(b.String(), "\n"))
}

// TestRunLineIsBounded is about results at the edge of 64 KiB: a result is counted as it is
// printed, and a run whose line does not fit is not committed.
func TestRunLineIsBounded(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	fits := func(code string, args ...string) bool {
		r := a.exec(code, append([]string{"run", "-"}, args...)...)
		l := oneLine(t, r)
		if !l.Result.OK {
			require.Equal(t, string(fault.ResultTooLarge), l.Result.Error.Code)
		}
		return l.Result.OK
	}
	const write = "SDK.Entities.Todo.upsert({title: 'x'}); "
	least := len(a.exec("''", "run", "-").stdout)
	room := 64<<10 - least - 16 // digits of the time that it takes
	require.True(t, fits(fmt.Sprintf("'<'.repeat(%d)", room)), "no character is escaped that need not be")
	require.False(t, fits(fmt.Sprintf(write+"'<'.repeat(%d)", room+20)))
	require.False(t, fits(fmt.Sprintf(write+`'\u0001'.repeat(%d)`, room/5)))
	require.False(t, fits(fmt.Sprintf(write+"SDK.Out.answer('a'.repeat(%d)); 'b'.repeat(%d)", room/2, room/2+20)))
	const many = "for (let i = 0; i < 300; i++) SDK.Entities.Todo.upsert({title: 'many '+i})"
	require.True(t, fits(many, "--dry-run"), "changes are left out where they have no room")
	require.Equal(t, 1.0, oneLine(t, a.exec("SDK.Entities.Todo.count()", "run", "-")).Result.Data, "nothing was committed")
	require.True(t, fits(many, "--include", "changes"))
	require.Equal(t, 301.0, oneLine(t, a.exec("SDK.Entities.Todo.count()", "run", "-")).Result.Data)

	r := a.exec(`const bad = {}; for (let i = 0; i < 60; i++) bad['f'+i+'x'.repeat(2000)] = 1; SDK.Entities.Todo.upsert(bad)`, "run", "-")
	l := oneLine(t, r)
	require.Equal(t, string(fault.InvalidPayload), l.Result.Error.Code, "a fault with much to say fits too")
	require.Equal(t, journal.Digest(canonical(t, l.raw(t, r, "error"))), l.OutputDigest)
}

func TestRunLogsAreBounded(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	r := a.exec("for (let i = 0; i < 190; i++) console.log('é'.repeat(1500))", "run", "-", "--codeMode.maxLogBytes", "1000000")
	require.Zero(t, r.status)
	require.LessOrEqual(t, len(r.stderr), 256<<10)
	require.Greater(t, len(r.stderr), 255<<10)
	require.Contains(t, r.stderr[len(r.stderr)-200:], "at most 262144 are printed")
}

// TestRunHasAFlagForEveryInput keeps the flags in line with the input of koan.code.execute.
func TestRunHasAFlagForEveryInput(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	var list struct {
		Tools []struct {
			Name        string
			InputSchema struct{ Properties map[string]any }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(a.exec("", "tools", "--mode", "code").stdout), &list))
	help := a.exec("", "run", "--help").stdout
	inputs := 0
	for _, tool := range list.Tools {
		if strings.NewReplacer("_", ".").Replace(tool.Name) != "koan.code.execute" {
			continue
		}
		for name := range tool.InputSchema.Properties {
			inputs++
			if name != "code" {
				require.Contains(t, help, "--"+kebab(name)+" ", name)
			}
		}
	}
	require.Greater(t, inputs, 10)
}

func kebab(camel string) string {
	return strings.ToLower(regexp.MustCompile(`[A-Z]`).ReplaceAllString(camel, "-$0"))
}

func TestRunThatIsInterrupted(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	file := a.script("loop.js", "SDK.Entities.Todo.upsert({title: 'x'}); for (;;);")
	for _, sig := range []os.Signal{syscall.SIGINT, syscall.SIGTERM} {
		cmd := a.command(t.Context(), "run", file, "--sandbox.cpuMs", "20000")
		var out strings.Builder
		cmd.Stdout = &out
		require.NoError(t, cmd.Start())
		time.Sleep(5 * time.Second) // it has begun, on a busy machine too: until it ends it says nothing
		require.NoError(t, cmd.Process.Signal(sig))
		_ = cmd.Wait()
		require.Equal(t, 1, cmd.ProcessState.ExitCode())
		l := oneLine(t, result{stdout: out.String()})
		require.Equal(t, string(fault.Cancelled), l.Result.Error.Code)
		require.Regexp(t, runIDs, l.RunID)
	}
	require.Equal(t, 1.0, oneLine(t, a.exec("SDK.Entities.Todo.count()", "run", "-")).Result.Data)
}
