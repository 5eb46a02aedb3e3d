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
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/tests/pgtest"
)

var (
	runIDs   = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	traceIDs = regexp.MustCompile(`^[0-9a-f]{32}$`)
)

// result is the member of that name, as it stands in the line.
func (l runLine) raw(t *testing.T, r result, member string) json.RawMessage {
	t.Helper()
	var whole struct{ Result map[string]json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &whole))
	return whole.Result[member]
}

// TestRunLineOfRefusedRuns goes through the ways to be refused before a run is opened:
// each has ids, and the journal knows the run by them.
func TestRunLineOfRefusedRuns(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestRunLineOfRefusedRuns) {
		return
	}
	a := newApp(t)
	if pgtest.Here(t) {
		a = onPostgres(t)
	}
	long := "// " + strings.Repeat("x", 60_000)
	cases := []struct {
		name, code string
		args       []string
		want       fault.Code
		path       string
		detail     string
	}{
		{"empty", " ", nil, fault.InvalidCode, "/code", ""},
		{"too long", long, nil, fault.CodeTooLong, "/code", "50000"},
		{"syntax error", "let x = ;", nil, fault.SyntaxError, "", ""},
		{"unknown set", "1", []string{"--set", "nope"}, fault.UnknownSet, "/set", ""},
		{"one wrong input", "1", []string{"--include", "moods"}, fault.InvalidPayload, "/include/0", "/include/0"},
		{"several wrong inputs", "1", []string{"--include", "moods", "--limits", `{"timeoutMs":"x"}`}, fault.InvalidPayload, "", "/limits/timeoutMs"},
		{"wrong only", "1", []string{"--only", "Nobody"}, fault.InvalidPayload, "/only/0", "/only/0"},
		{"code mode disabled", "1", []string{"--codeMode.enabled=false"}, fault.CodeModeDisabled, "", ""},
		{"hidden by the mode", "1", []string{"--exposure", "tools"}, fault.ToolNotFound, "", ""},
		{"quota", "for (;;) SDK.Entities.Todo.count()", []string{"--codeMode.maxSdkCalls", "2"}, fault.SDKCallsExceeded, "", "2"},
		{"approval with atomic false", "SDK.Entities.Todo.new()", []string{"--approval", "always", "--atomic=false"}, fault.ApprovalRequired, "/atomic", ""},
		{"approval required", "SDK.Entities.Todo.upsert({title: 'x'})", []string{"--approval", "always"}, fault.ApprovalRequired, "", "planId"},
		{"missing plan", "", []string{"--plan-id", "019e1c1a-0000-7000-8000-000000000000"}, fault.NotFound, "/planId", ""},
		{"plan and code", "1", []string{"--plan-id", "019e1c1a-0000-7000-8000-000000000000"}, fault.InvalidPayload, "/code", "/code"},
		{"uncaught fault", "SDK.Entities.Todo.patch('x', {compelted: 1})", nil, fault.InvalidPayload, "/changes/compelted", ""},
	}
	seen := map[string][2]string{}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			args := append([]string{"run", "-"}, c.args...)
			if c.code == "" {
				args = append([]string{"run"}, c.args...)
			}
			r := a.exec(c.code, args...)
			require.Equal(t, 1, r.status, r.stderr)
			l := oneLine(t, r)
			require.Regexp(t, runIDs, l.RunID)
			require.Regexp(t, traceIDs, l.TraceID)
			require.NotContains(t, seen, l.RunID)
			seen[l.RunID] = [2]string{string(c.want), l.TraceID}
			e := l.Result.Error
			require.Equal(t, string(c.want), e.Code, r.stdout)
			require.NotEmpty(t, e.Hint)
			require.NotEmpty(t, e.Type)
			require.Equal(t, c.path, e.Path)
			require.Contains(t, fmt.Sprint(e.Details), c.detail)
			require.Equal(t, run.Digest([]byte(c.code)), l.InputDigest)
			require.Equal(t, float64(l.DurationMs), l.Result.Metrics["duration_ms"])
			require.Equal(t, run.Digest(canonical(t, l.raw(t, r, "error"))), l.OutputDigest)
		})
	}
	r := a.exec(`SDK.Entities.KoanRun.all({ fields: ["outcome", "traceId"] })`, "run", "-", "--journal.expose=true")
	require.Zero(t, r.status, r.stdout)
	journal := map[string][2]string{}
	for _, row := range oneLine(t, r).Result.Data.([]any) {
		row := row.(map[string]any)
		journal[row["id"].(string)] = [2]string{row["outcome"].(string), row["traceId"].(string)}
	}
	for id, ended := range seen {
		require.Equal(t, ended, journal[id], "the journal has the run %s", id)
	}
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

func TestRunLineOutputDigest(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	cases := map[string]struct{ code, canonical string }{
		"answer":    {"SDK.Out.answer(7); ({a: 1})", `{"answer":7,"data":{"a":1}}`},
		"other":     {"SDK.Out.answer(8); ({a: 1})", `{"answer":8,"data":{"a":1}}`},
		"no answer": {"({b: 1, a: [2, 1.5, 1e21]})", `{"answer":null,"data":{"a":[2,1.5,1e+21],"b":1}}`},
		"nothing":   {"", `{"answer":null,"data":null}`},
		"texts":     {`({"<&>": "\u2028\u0001\n\"\\é", "\ufb33": 1, "\u{1F600}": 2})`, `{"answer":null,"data":{"<&>":"` + "\u2028" + `\u0001\n\"\\é","` + "\U0001F600" + `":2,"` + "\ufb33" + `":1}}`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			code := c.code + ";"
			r := a.exec(code, "run", "-")
			require.Zero(t, r.status, r.stdout)
			l := oneLine(t, r)
			require.Equal(t, run.Digest([]byte(c.canonical)), l.OutputDigest, r.stdout)
			require.NotNil(t, l.raw(t, r, "answer"), "null where there is none")
			require.NotNil(t, l.raw(t, r, "data"))
		})
	}
}

// TestRunLineIsBounded is about results at the edge of 64 KiB: what the script gives is
// counted as it is printed, and nothing that does not fit is committed.
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
	require.False(t, fits("for (let i = 0; i < 300; i++) SDK.Entities.Todo.upsert({title: 'many '+i})", "--include", "changes"))
	require.False(t, fits("for (let i = 0; i < 300; i++) SDK.Entities.Todo.upsert({title: 'many '+i})", "--dry-run"))
	require.Equal(t, 1.0, oneLine(t, a.exec("SDK.Entities.Todo.count()", "run", "-")).Result.Data, "nothing was committed")

	r := a.exec(`const bad = {}; for (let i = 0; i < 60; i++) bad['f'+i+'x'.repeat(2000)] = 1; SDK.Entities.Todo.upsert(bad)`, "run", "-")
	l := oneLine(t, r)
	require.Equal(t, string(fault.InvalidPayload), l.Result.Error.Code, "a fault with much to say fits too")
	require.Equal(t, run.Digest(canonical(t, l.raw(t, r, "error"))), l.OutputDigest)
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

// TestRunHasAFlagForEveryInput keeps the flags with the input of koan.code.execute.
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

// TestRunFlagsReachTheScript sees what each flag does.
func TestRunFlagsReachTheScript(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	ok := func(code string, args ...string) runLine {
		r := a.exec(code, append([]string{"run", "-"}, args...)...)
		require.Zero(t, r.status, r.stdout)
		return oneLine(t, r)
	}
	require.Equal(t, 5.0, ok("function main() { return 5 }", "--entry-function", "main").Result.Data)
	require.Equal(t, 6.0, ok("const n: number = 6; n", "--language", "typescript").Result.Data)
	left := a.exec("SDK.Entities.Label.count()", "run", "-", "--only", "Todo")
	require.Contains(t, oneLine(t, left).Result.Error.Message, "there is no entity `Label`")
	a.exec("SDK.Entities.Todo.upsert({title: 'kept'}); throw 1", "run", "-", "--atomic=false")
	require.Equal(t, 2.0, ok("SDK.Entities.Todo.count()").Result.Data)
	limited := a.exec("SDK.Entities.Todo.count(); SDK.Entities.Todo.count()", "run", "-", "--limits", `{"maxToolCalls": 1}`)
	require.Equal(t, string(fault.SDKCallsExceeded), oneLine(t, limited).Result.Error.Code)
	ok("1", "--correlation-id", "batch 7")
	rows := ok(`SDK.Entities.KoanRun.collection({filter: {correlationId: "batch 7"}}).items.length`, "--journal.expose=true")
	require.Equal(t, 1.0, rows.Result.Data)
}

// TestRunOfAPlan shows and applies a plan in place of a script: the digest is that of
// the plan's script.
func TestRunOfAPlan(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	code := "SDK.Entities.Todo.upsert({title: 'planned'}).title"
	made := oneLine(t, a.exec(code, "run", "-", "--approval", "always"))
	require.NotEmpty(t, made.PlanID)
	shown := oneLine(t, a.exec("", "run", "--plan-id", made.PlanID, "--dry-run"))
	require.True(t, shown.Result.OK)
	require.Equal(t, []string{made.PlanID, made.RunID, "REQUIRED"}, []string{shown.PlanID, shown.RunID, shown.ApprovalState})
	waiting := oneLine(t, a.exec("", "run", "--plan-id", made.PlanID))
	require.Equal(t, string(fault.ApprovalRequired), waiting.Result.Error.Code, "who makes a plan does not approve it")
	require.Zero(t, a.exec("", "approve", made.PlanID, "--yes").status)
	applied := oneLine(t, a.exec("", "run", "--plan-id", made.PlanID))
	require.Equal(t, "planned", applied.Result.Data)
	require.Equal(t, []string{made.RunID, made.InputDigest, "APPROVED"}, []string{applied.RunID, applied.InputDigest, applied.ApprovalState})
}

// TestRunWithoutADatabase has a line too: whoever reads standard output is told.
func TestRunWithoutADatabase(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	r := a.exec("1", "run", "-", "--database", "postgres://koan:hunter2hunter2@127.0.0.1:1/koan")
	require.Equal(t, 1, r.status)
	l := oneLine(t, r)
	require.Regexp(t, runIDs, l.RunID)
	require.Equal(t, string(fault.ServiceUnavailable), l.Result.Error.Code)
	require.True(t, l.Result.Error.Retryable)
	require.NotContains(t, r.stdout+r.stderr, "hunter2")
	require.Contains(t, r.stderr, "hint: ")
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
		time.Sleep(time.Second) // it has begun
		require.NoError(t, cmd.Process.Signal(sig))
		_ = cmd.Wait()
		require.Equal(t, 1, cmd.ProcessState.ExitCode())
		l := oneLine(t, result{stdout: out.String()})
		require.Equal(t, string(fault.Cancelled), l.Result.Error.Code)
		require.Regexp(t, runIDs, l.RunID)
	}
	require.Equal(t, 1.0, oneLine(t, a.exec("SDK.Entities.Todo.count()", "run", "-")).Result.Data)
}
