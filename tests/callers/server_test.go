package callers

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/tests/club"
	"github.com/koan-go/koan/tests/needs"
)

// asClub makes this test binary the club's app.
const asClub = "KOANTEST_CLUB"

func TestMain(m *testing.M) {
	if os.Getenv(asClub) != "" {
		framework.Main(club.App())
	}
	os.Exit(m.Run())
}

// said is what a process wrote so far.
type said struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// server is the club, which serves.
type server struct {
	t      *testing.T
	cmd    *exec.Cmd
	url    string // of MCP over HTTP
	stderr *said
}

var listening = regexp.MustCompile(`MCP: listening on (http\S+)`)

// command is one of the club's, with the data and the configuration of a folder.
func command(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), self, args...)
	cmd.Dir = dir
	cmd.Env = []string{asClub + "=1", "HOME=" + dir, "PATH=" + os.Getenv("PATH"), "KOAN_DATABASE=sqlite://" + filepath.Join(dir, "data")}
	return cmd
}

// serve starts the club over HTTP.
func serve(t *testing.T, dir string, args ...string) *server {
	t.Helper()
	s := &server{t: t, cmd: command(t, dir, append([]string{"serve", "--http", "127.0.0.1:0"}, args...)...), stderr: &said{}}
	s.cmd.Stderr = s.stderr
	require.NoError(t, s.cmd.Start())
	t.Cleanup(func() { _ = s.cmd.Process.Kill(); _ = s.cmd.Wait() })
	require.Eventually(t, func() bool {
		if m := listening.FindStringSubmatch(s.stderr.String()); m != nil {
			s.url = m[1]
		}
		return s.url != ""
	}, 30*time.Second, 10*time.Millisecond, "%s", s.stderr)
	return s
}

// answer is one answer over HTTP.
type answer struct {
	status int
	header http.Header
	raw    string
	result map[string]any
	code   string // of a JSON-RPC error
}

// ask sends one request of the newer era with a bearer token, "" for none.
func (s *server) ask(token, method string, params map[string]any) answer {
	s.t.Helper()
	with := map[string]any{"_meta": map[string]any{
		"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": map[string]any{},
	}}
	for k, v := range params {
		with[k] = v
	}
	header := map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method}
	for _, name := range []string{"name", "uri"} {
		if v, ok := params[name].(string); ok {
			header["Mcp-Name"] = v
		}
	}
	return s.post(token, method, with, header)
}

func (s *server) post(token, method string, params map[string]any, header map[string]string) answer {
	s.t.Helper()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	require.NoError(s.t, err)
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url, bytes.NewReader(body))
	require.NoError(s.t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for k, v := range header {
		r.Header.Set(k, v)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(r)
	require.NoError(s.t, err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	require.NoError(s.t, err)
	out := answer{status: resp.StatusCode, header: resp.Header, raw: string(raw)}
	var decoded struct {
		Result map[string]any
		Error  *struct{ Data struct{ Code string } }
	}
	if json.Unmarshal(raw, &decoded) == nil {
		out.result = decoded.Result
		if decoded.Error != nil {
			out.code = decoded.Error.Data.Code
		}
	}
	return out
}

// tool calls a tool.
func (s *server) tool(token, name string, arguments map[string]any) answer {
	s.t.Helper()
	return s.ask(token, "tools/call", map[string]any{"name": name, "arguments": arguments})
}

// data is the structured content of a tool's result.
func (a answer) data() map[string]any {
	d, _ := a.result["structuredContent"].(map[string]any)
	return d
}

// fault is the code of a tool's failure, or of a JSON-RPC error.
func (a answer) fault() string {
	if e, ok := a.data()["error"].(map[string]any); ok {
		return fmt.Sprint(e["code"])
	}
	return a.code
}

// get reads a page beside MCP.
func (s *server) get(path string) (int, string) {
	s.t.Helper()
	u, err := url.Parse(s.url)
	require.NoError(s.t, err)
	resp, err := http.Get(u.Scheme + "://" + u.Host + path)
	require.NoError(s.t, err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	require.NoError(s.t, err)
	return resp.StatusCode, string(raw)
}

// names are those of a list.
func (a answer) names(t *testing.T, list, member string) []string {
	t.Helper()
	rows, ok := a.result[list].([]any)
	require.True(t, ok, "%s", a.raw)
	out := []string{}
	for _, row := range rows {
		out = append(out, row.(map[string]any)[member].(string))
	}
	return out
}

// program starts a program of tests/npm that prints its address, and returns that.
func program(t *testing.T, args ...string) (address string, stop func()) {
	t.Helper()
	modules, err := filepath.Abs("../npm/node_modules")
	require.NoError(t, err)
	needs.Node(t)
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), filepath.Join(modules, "node/bin/node"), args...)
	cmd.Dir = filepath.Dir(modules)
	stderr := &said{}
	cmd.Stderr = stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	stop = sync.OnceFunc(func() { _ = in.Close(); _ = cmd.Process.Kill(); _ = cmd.Wait() })
	t.Cleanup(stop)
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err, "%s", stderr)
	return strings.TrimSpace(line), stop
}

// write writes a file into a folder, as an editor does: whole, in one moment.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(path+"~", []byte(text), 0o600))
	require.NoError(t, os.Rename(path+"~", path))
	return path
}

// token is a line of a file of tokens; the token is the subject's name.
func token(subject, scopes, sets string) string {
	sum := sha256.Sum256([]byte(subject))
	return fmt.Sprintf("  - {subject: %s, sha256: %s, scopes: [%s], sets: [%s]}\n", subject, hex.EncodeToString(sum[:]), scopes, sets)
}
