package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/koan-go/koan/tests/needs"
	"github.com/stretchr/testify/require"
)

// bench is a folder with files, and four real servers from npm in its mcp.json.
type bench struct {
	t   *testing.T
	dir string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t, t.TempDir()}
	packages, err := filepath.Abs("../../tests/npm/node_modules/@modelcontextprotocol")
	require.NoError(t, err)
	needs.Node(t)
	servers := map[string]any{}
	for id, args := range map[string][]string{"everything": nil, "filesystem": {b.path("files")}, "memory": nil, "sequential-thinking": nil} {
		servers[id] = map[string]any{"command": "node", "args": append([]string{filepath.Join(packages, "server-"+id, "dist", "index.js")}, args...), "env": map[string]string{"MEMORY_FILE_PATH": b.path("memory.json")}}
	}
	require.NoError(t, os.Mkdir(b.path("files"), 0o700))
	b.write("files/monday.txt", "Ann fixed the pump.")
	b.write("files/tuesday.txt", "Bob painted the door.")
	raw, err := json.Marshal(map[string]any{"mcpServers": servers})
	require.NoError(t, err)
	b.write("mcp.json", string(raw))
	return b
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, name) }

func (b *bench) write(name, text string) {
	b.t.Helper()
	require.NoError(b.t, os.WriteFile(b.path(name), []byte(text), 0o600))
}

func (b *bench) command(args ...string) *exec.Cmd {
	b.t.Helper()
	self, err := os.Executable()
	require.NoError(b.t, err)
	cmd := exec.CommandContext(b.t.Context(), self)
	cmd.Args = append([]string{"koan", "gateway"}, args...) // by whose name TestMain knows that this is koan
	cmd.Dir = b.dir
	cmd.Env = []string{"HOME=" + b.dir, "PATH=" + os.Getenv("PATH"), "KOAN_MCP_CONFIG=mcp.json"}
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

func (b *bench) run(args ...string) (stdout, stderr string, status int) {
	b.t.Helper()
	cmd := b.command(args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if _, ended := err.(*exec.ExitError); !ended {
		require.NoError(b.t, err, errs.String())
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// line is the line that `run` and `approve` print.
type line struct {
	Approval string `json:"approval_state"`
	Plan     string `json:"plan_id"`
	Result   struct {
		OK    bool            `json:"ok"`
		Data  json.RawMessage `json:"data"`
		Error json.RawMessage `json:"error"`
	} `json:"result"`
}

func (b *bench) line(text string) (l line) {
	b.t.Helper()
	require.NoError(b.t, json.Unmarshal([]byte(text), &l), text)
	return l
}

// Where the list of the gateway is longer than those that it stands for, the check says so.
func TestGatewayCheckSaysWhatItCosts(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	raw, err := os.ReadFile(b.path("mcp.json"))
	require.NoError(t, err)
	var file struct {
		MCPServers map[string]json.RawMessage `json:"mcpServers"`
	}
	require.NoError(t, json.Unmarshal(raw, &file))
	one, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"sequential-thinking": file.MCPServers["sequential-thinking"]}})
	require.NoError(t, err)
	b.write("mcp.json", string(one))
	out, _, status := b.run("check")
	require.Zero(t, status, out)
	m := regexp.MustCompile(`about (\d+) tokens from these servers, about (\d+) from here\nA model reads that before its first call\..*\nFor so few tools it costs about (\d+) tokens more than theirs`).FindStringSubmatch(out)
	require.NotNil(t, m, out)
	number := func(i int) int {
		n, err := strconv.Atoi(m[i])
		require.NoError(t, err)
		return n
	}
	require.Equal(t, number(2)-number(1), number(3))
	out, _, status = b.run("check", "--codeMode.faces", "gateway")
	require.Zero(t, status, out)
	require.NotContains(t, out, "tokens more than theirs", "one face has a shorter list than this server")
}

// Four servers at once: files are read, facts are remembered, a summary is written, and a
// person agrees to the one call that could do harm.
func TestGatewayOverFourServers(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("koan.yaml", `
upstreams:
  filesystem: # one's own files are no stranger's text
    trust: true
    effects: { "read_*": read, "list_*": read, write_file: destructive }
  memory:
    effects: { "create_*": write, read_graph: read }
  everything: { trust: true, effects: { get-sum: read } }
  sequential-thinking: { effects: { "*": read } }
`)
	out, _, status := b.run("check")
	require.Zero(t, status, out)
	for _, want := range []string{"everything", "15 tools", "filesystem", "14 tools", "memory", "9 tools", "sequential-thinking", "1 tool"} {
		require.Contains(t, out, want)
	}
	m := regexp.MustCompile(`tools/list: about (\d+) tokens from these servers, about (\d+) from here`).FindStringSubmatch(out)
	require.NotNil(t, m, out)
	theirs, err := strconv.Atoi(m[1])
	require.NoError(t, err)
	ours, err := strconv.Atoi(m[2])
	require.NoError(t, err)
	require.Greater(t, theirs, 7000)
	require.Positive(t, ours)
	require.Less(t, ours, theirs)
	require.NotContains(t, out, "tokens more than theirs")
	out, _, status = b.run("list")
	require.Zero(t, status)
	require.NotContains(t, out, "not known")

	b.write("week.js", `
const { filesystem, memory, everything } = SDK.Servers;
const thinking = SDK.Servers["sequential-thinking"];
thinking.sequentialthinking({ thought: "read, remember, write", nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 });
const days = ["monday", "tuesday"];
const notes = days.map((d) => filesystem.read_text_file({ path: SDK.args.dir + "/" + d + ".txt" }).content);
memory.create_entities({ entities: notes.map((n, i) => ({ name: days[i], entityType: "day", observations: [n] })) });
const sum = everything.get_sum({ a: notes.length, b: 0 });
filesystem.write_file({ path: SDK.args.dir + "/summary.md", content: notes.join("\n") });
return { sum, known: memory.read_graph({}).entities.length };
`)
	args, err := json.Marshal(map[string]string{"dir": b.path("files")})
	require.NoError(t, err)
	out, errs, status := b.run("run", "week.js", "--args", string(args))
	require.Equal(t, 1, status, errs)
	l := b.line(out)
	require.Equal(t, "REQUIRED", l.Approval)
	require.NoFileExists(t, b.path("files/summary.md"))

	out, errs, status = b.run("approve", l.Plan, "--yes")
	require.Zero(t, status, out+errs)
	l = b.line(out)
	require.True(t, l.Result.OK, string(l.Result.Error))
	require.JSONEq(t, `{"sum":"The sum of 2 and 0 is 2.","known":2}`, string(l.Result.Data))
	written, err := os.ReadFile(b.path("files/summary.md"))
	require.NoError(t, err)
	require.Equal(t, "Ann fixed the pump.\nBob painted the door.", string(written))
	remembered, err := os.ReadFile(b.path("memory.json"))
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(string(remembered), `"type":"entity"`), "what was called before the approval is not called again")
}

func TestGatewaySpeaksMCP(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	cmd := b.command()
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	lines := bufio.NewReader(out)
	ask := func(id int, method string, params any) json.RawMessage {
		raw, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
		require.NoError(t, err)
		_, err = fmt.Fprintf(in, "%s\n", raw)
		require.NoError(t, err)
		for {
			text, err := lines.ReadBytes('\n')
			require.NoError(t, err)
			var m struct {
				ID     int
				Result json.RawMessage
			}
			require.NoError(t, json.Unmarshal(text, &m))
			if m.ID == id && m.Result != nil {
				return m.Result
			}
		}
	}
	ask(1, "initialize", map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "t", "version": "1"}})
	_, err = fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	require.NoError(t, err)
	var call struct {
		IsError           bool
		StructuredContent struct {
			Result json.RawMessage
			Error  json.RawMessage
		}
	}
	// No list of tools was ever seen here: the call waits for it.
	raw := ask(2, "tools/call", map[string]any{"name": "koan_code_execute", "arguments": map[string]any{"code": `SDK.Servers.everything.get_sum({ a: 2, b: 3 })`, "approval": "never"}})
	require.NoError(t, json.Unmarshal(raw, &call))
	require.True(t, call.IsError, "a caller cannot lower the approval that the gateway asks for")
	require.Contains(t, string(call.StructuredContent.Error), "approval_required")
	list := string(ask(3, "tools/list", nil))
	require.Contains(t, list, "koan_code_execute")
	require.Contains(t, list, "codemode_run")
	require.NoError(t, in.Close())
	require.NoError(t, cmd.Wait())
}

func TestGatewayReportsProblems(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file   string
		args   []string
		status int
		says   string
	}{
		"no such file":   {"", []string{"check", "--mcp-config", "none.json"}, 2, "none.json: no such file or directory"},
		"not JSON":       {`{"mcpServers": `, []string{"check"}, 2, "mcp.json"},
		"no way to it":   {`{"mcpServers": {"a": {}}}`, []string{"check"}, 1, "not every server can be used"},
		"a script":       {`{"mcpServers": {"a": {}}}`, []string{"run", "mcp.json"}, 1, "mcp.json: a: has neither a command nor a url"},
		"not reached":    {`{"mcpServers": {"a": {"command": "/does/not/exist"}}}`, []string{"check"}, 1, "not every server can be used"},
		"no variable":    {`{"mcpServers": {"a": {"url": "https://example.invalid", "headers": {"A": "${env:KOAN_TEST_NONE}"}}}}`, []string{"check"}, 1, "not every server can be used"},
		"wrong command":  {`{"mcpServers": {}}`, []string{"chek"}, 2, "chek"},
		"wrong flag":     {`{"mcpServers": {}}`, []string{"--nope"}, 2, "nope"},
		"nothing to use": {`{"mcpServers": {}}`, []string{"list"}, 0, "No servers are configured"},
	} {
		t.Run(name, func(t *testing.T) {
			b := &bench{t, t.TempDir()}
			if c.file != "" {
				b.write("mcp.json", c.file)
			}
			out, errs, status := b.run(c.args...)
			require.Equal(t, c.status, status, out+errs)
			require.Contains(t, errs, c.says)
			if name == "no way to it" {
				require.Contains(t, out, "mcp.json: a: has neither a command nor a url")
			}
		})
	}
}

// What the declarations say of real servers' schemas, TypeScript takes.
func TestGatewayDeclarations(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, errs, status := b.run("check")
	require.Zero(t, status, errs)
	out, errs, status := b.run("sdk")
	require.Zero(t, status, errs)
	b.write("sdk.d.ts", out)
	b.write("use.ts", `
const sum: any = SDK.Servers.everything.get_sum({ a: 1, b: 2 });
const text: string = SDK.Servers.filesystem.read_text_file({ path: "x" }).content;
const weather: number = SDK.Servers.everything.get_structured_content({ location: "Chicago" }).temperature;
// @ts-expect-error the sum is one of numbers
SDK.Servers.everything.get_sum({ a: "1", b: 2 });
// @ts-expect-error there is no such tool
SDK.Servers["sequential-thinking"].think({});
`)
	tsc, err := filepath.Abs("../../tests/npm/node_modules/typescript/bin/tsc")
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), "node", tsc, "--noEmit", "--strict", "--skipDefaultLibCheck", "--target", "es2022", "sdk.d.ts", "use.ts")
	cmd.Dir = b.dir
	said, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", said)
}

// A server that wants a sign-in is shown with the command that can be typed.
func TestGatewaySaysHowToSignIn(t *testing.T) {
	t.Parallel()
	guarded := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer guarded.Close()
	b := newBench(t)
	b.write("remote.json", fmt.Sprintf(`{"mcpServers": {"remote": {"url": %q}}}`, guarded.URL))
	cmd := b.command("check", "--mcp-config", "remote.json")
	cmd.Env = []string{"HOME=" + b.dir, "PATH=" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "the server remote needs a sign-in (HTTP status 401)")
	require.Contains(t, string(out), "Sign in: `koan gateway upstream login remote --mcp-config remote.json`.")
}
