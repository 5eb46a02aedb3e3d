package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
)

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

func TestRun(t *testing.T) {
	a := newApp(t)
	code := "console.log('hello'); SDK.Out.answer({b: 1, a: SDK.args.n}); ({z: 1, a: [1, 2]})"
	r := a.exec(code, "run", "-", "--args", `{"n": 7}`)
	require.Zero(t, r.status, r.stderr)
	l := oneLine(t, r)
	require.True(t, l.Result.OK)
	require.Equal(t, map[string]any{"b": 1.0, "a": 7.0}, l.Result.Answer)
	require.Equal(t, map[string]any{"z": 1.0, "a": []any{1.0, 2.0}}, l.Result.Data)
	require.Equal(t, run.Digest([]byte(code)), l.InputDigest)
	require.Equal(t, run.Digest([]byte(`{"answer":{"a":7,"b":1},"data":{"a":[1,2],"z":1}}`)), l.OutputDigest, "over the canonical JSON of data and answer")
	require.Equal(t, "koan.code.execute", l.ToolName)
	require.Equal(t, "1.2.3", l.ToolVersion)
	require.Equal(t, "NOT_REQUIRED", l.ApprovalState)
	require.NotEmpty(t, l.RunID)
	require.NotEmpty(t, l.TraceID)
	require.Contains(t, r.stderr, "info: hello")
	require.Contains(t, l.Result.Metrics, "duration_ms")
}

func TestRunFailures(t *testing.T) {
	a := newApp(t)
	r := a.exec("const a = 1;\nnull.x", "run", "-")
	require.Equal(t, 1, r.status)
	l := oneLine(t, r)
	require.False(t, l.Result.OK)
	require.Equal(t, string(fault.JavaScriptError), l.Result.Error.Code)
	require.Equal(t, 2, l.Result.Error.Line)
	require.False(t, l.Result.Error.Retryable)
	require.NotEmpty(t, l.Result.Error.Type)

	r = a.exec("SDK.Entities.Todo.upsert({title: 'x'}); 'x'.repeat(70000)", "run", "-")
	require.Equal(t, 1, r.status)
	require.Equal(t, string(fault.ResultTooLarge), oneLine(t, r).Result.Error.Code)
	r = a.exec("SDK.Entities.Todo.count()", "run", "-")
	require.Equal(t, 1.0, oneLine(t, r).Result.Data, "the size is checked before the commit")
}

func TestDryRunFromTheCommandLine(t *testing.T) {
	a := newApp(t)
	r := a.exec("SDK.Entities.Todo.upsert({title: 'maybe'}); SDK.Entities.Todo.count()", "run", "-", "--dry-run")
	l := oneLine(t, r)
	require.Equal(t, 2.0, l.Result.Data)
	require.Len(t, l.Result.Changes, 1)
	require.Equal(t, "create", l.Result.Changes[0]["action"])
	require.Equal(t, 1.0, oneLine(t, a.exec("SDK.Entities.Todo.count()", "run", "-")).Result.Data)
}

func TestWrongUse(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	bad := filepath.Join(a.dir, "bad.yaml")
	require.NoError(t, os.WriteFile(bad, []byte("codeMode: {maxSdkCals: 1}\nsandbox: {cpuMs: -1}\n"), 0o600))
	cases := map[string]struct {
		args []string
		want string
	}{
		"no command":               {nil, "Usage"},
		"unknown command":          {[]string{"fly"}, "fly"},
		"unknown flag":             {[]string{"run", "-", "--fast"}, "fast"},
		"misspelt flag":            {[]string{"run", "-", "--dryrun"}, `did you mean "dry-run"?`},
		"misspelt key":             {[]string{"run", "-", "--databse", "x"}, `did you mean "database"?`},
		"no file":                  {[]string{"run"}, "run FILE"},
		"file that is not there":   {[]string{"run", "none.js"}, "none.js"},
		"args that are no JSON":    {[]string{"run", "-", "--args", "{"}, "--args"},
		"an empty key":             {[]string{"run", "-", "--idempotency-key", ""}, "--idempotency-key has an empty value"},
		"an empty set":             {[]string{"run", "-", "--set="}, "--set has an empty value"},
		"unknown key":              {[]string{"run", "-", "--codeMode.maxSdkCals", "1"}, "maxSdkCalls"},
		"value out of range":       {[]string{"run", "-", "--sandbox.cpuMs=0"}, "sandbox.cpuMs"},
		"a bad file":               {[]string{"run", "-", "--config", bad}, "2 problems"},
		"a file that is not there": {[]string{"run", "-", "--config", "none.yaml"}, "none.yaml"},
		"unknown mode":             {[]string{"tools", "--mode", "all"}, "auto, code, tools or full"},
		"http for everybody":       {[]string{"serve", "--http", ":0"}, string(fault.Unauthorized)},
		"no address":               {[]string{"serve", "--http", "8080"}, "127.0.0.1:8080"},
		"no such port":             {[]string{"serve", "--http", "127.0.0.1:99999"}, "127.0.0.1:8080"},
		"no such tokens":           {[]string{"serve", "--http", "127.0.0.1:0", "--server.tokensFile", "none.yaml"}, "none.yaml"},
		"no such certificate":      {[]string{"serve", "--http", "127.0.0.1:0", "--server.tlsCert", "none.pem", "--server.tlsKey", "none.pem"}, "none.pem"},
		"half of TLS":              {[]string{"serve", "--http", "127.0.0.1:0", "--server.tlsKey", "key.pem"}, "server.tlsCert"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := a.exec("1", c.args...)
			require.Equal(t, 2, r.status, r.stderr)
			require.Empty(t, r.stdout)
			require.Contains(t, r.stderr, c.want)
			require.NoFileExists(t, filepath.Join(a.data, "default.db"), "nothing was started")
		})
	}
}

func TestStartRefused(t *testing.T) {
	cases := map[string][]string{
		"another runtime":           {"--codeMode.runtime", "v8"},
		"a face that is not built":  {"--codeMode.faces", "koan,gateway"},
		"a layer that is not there": {"--sandbox.require", "seccomp,prayer"},
		"code without code mode":    {"--exposure", "code", "--codeMode.enabled=false"},
	}
	for name, args := range cases {
		t.Run(name, func(t *testing.T) {
			r := newApp(t).exec("", append([]string{"tools"}, args...)...)
			require.NotZero(t, r.status)
			require.Empty(t, r.stdout)
			require.Contains(t, r.stderr, string(fault.CapabilityUnsupported))
		})
	}
	t.Run("a data folder that cannot be written", func(t *testing.T) {
		a := newApp(t)
		file := filepath.Join(a.dir, "plain")
		require.NoError(t, os.WriteFile(file, nil, 0o600))
		r := a.exec("1", "run", "-", "--database", "sqlite://"+file)
		require.Equal(t, 1, r.status, r.stderr)
		require.Contains(t, r.stderr, "plain")
	})
	t.Run("a plugin folder that is not there", func(t *testing.T) {
		r := newApp(t).exec("", "tools", "--plugins.dir", "/nowhere/at/all")
		require.NotZero(t, r.status)
		require.Contains(t, r.stderr, "/nowhere/at/all")
	})
}

func TestHelpIsOnStandardOutput(t *testing.T) {
	a := newApp(t)
	for _, c := range []string{"", "serve", "run", "validate", "sdk", "tools", "doctor", "keys"} {
		r := a.exec("", strings.Fields(c+" --help")...)
		require.Zero(t, r.status)
		require.Contains(t, r.stdout, "Usage")
		require.Empty(t, r.stderr)
	}
	require.Contains(t, a.exec("", "keys").stdout, "codeMode.maxSdkCalls")
	require.Contains(t, a.exec("", "--version").stdout, "1.2.3")
}

func TestValidateCommand(t *testing.T) {
	a := newApp(t)
	r := a.exec("", "validate", a.script("good.js", "SDK.Entities.Todo.collection()"))
	require.Zero(t, r.status, r.stderr)
	require.JSONEq(t, `{"valid":true}`, r.stdout)
	r = a.exec("", "validate", a.script("bad.js", "SDK.Entities.Todo.colection()"))
	require.Equal(t, 1, r.status)
	require.Contains(t, r.stdout, `"valid":false`)
	require.Contains(t, r.stdout, "collection")
	r = a.exec("let x = ;", "validate", "-")
	require.Equal(t, 1, r.status)
	require.Contains(t, r.stdout, `"line":1`)
}

func TestDoctor(t *testing.T) {
	r := newApp(t).exec("", "doctor")
	require.Zero(t, r.status, r.stdout+r.stderr)
	for _, want := range []string{"seccomp", "database", "plugins"} {
		require.Contains(t, strings.ToLower(r.stdout), want)
	}
}

func TestToolsCommand(t *testing.T) {
	a := newApp(t)
	names := func(mode string, args ...string) []string {
		r := a.exec("", append([]string{"tools", "--mode", mode}, args...)...)
		require.Zero(t, r.status, r.stderr)
		var list struct {
			Tools []struct {
				Name         string
				Description  string
				InputSchema  map[string]any
				OutputSchema map[string]any
				Annotations  map[string]any
			}
		}
		require.NoError(t, json.Unmarshal([]byte(r.stdout), &list))
		var out []string
		for _, tool := range list.Tools {
			out = append(out, tool.Name)
			require.NotEmpty(t, tool.Description, tool.Name)
			require.Equal(t, "object", tool.InputSchema["type"], tool.Name)
			if tool.OutputSchema != nil {
				require.Equal(t, "object", tool.OutputSchema["type"], tool.Name)
			}
			require.Len(t, tool.Annotations, 4, "%s: %v", tool.Name, tool.Annotations)
		}
		return out
	}
	code := []string{"koan_code_execute", "koan_code_search", "koan_code_validate"}
	require.ElementsMatch(t, code, names("code"))
	require.ElementsMatch(t, append(slices.Clone(code), names("tools")...), names("full"))
	require.Contains(t, names("tools"), "entities_collection", "there are more than 40 otherwise")

	each := []string{"--tools.style", "perEntity", "--server.toolNames", "dotted"}
	tools := names("tools", each...)
	require.NotContains(t, tools, "koan.code.execute")
	require.Contains(t, tools, "todo.get-by-id")
	require.Contains(t, tools, "audit-log.collection")
	require.NotContains(t, tools, "audit-log.upsert", "a read-only entity has no mutating tools")
	for _, name := range tools {
		require.NotContains(t, name, "draft", "what is not exposed does not exist")
	}
	require.Greater(t, len(names("full", each...)), 40)
}
