package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// web is a fixture app that serves HTTP.
type web struct {
	t      *testing.T
	url    string // of MCP
	data   string // the folder
	cmd    *exec.Cmd
	stderr *lockedBuffer
}

var listening = regexp.MustCompile(`MCP: listening on (http\S+)`)

// web starts the app over HTTP on a free port of loopback.
func (a *app) web(args ...string) *web {
	a.t.Helper()
	w := &web{t: a.t, data: a.data, cmd: a.command(context.Background(), append([]string{"serve", "--http", "127.0.0.1:0"}, args...)...), stderr: &lockedBuffer{}}
	w.cmd.Stderr = w.stderr
	require.NoError(a.t, w.cmd.Start())
	a.t.Cleanup(func() { _ = w.cmd.Process.Kill(); _ = w.cmd.Wait() })
	require.Eventually(a.t, func() bool {
		m := listening.FindStringSubmatch(w.stderr.String())
		if m != nil {
			w.url = m[1]
		}
		return m != nil
	}, 30*time.Second, 10*time.Millisecond, "%s", w.stderr)
	return w
}

func (w *web) post(body string, header ...string) (int, http.Header, []byte) {
	w.t.Helper()
	r, err := http.NewRequest(http.MethodPost, w.url, strings.NewReader(body))
	require.NoError(w.t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	require.NoError(w.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(w.t, err)
	return resp.StatusCode, resp.Header, text
}

// call calls a tool in the newer era, where a request stands for itself.
func (w *web) call(tool, arguments string, header ...string) (int, map[string]any) {
	w.t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, tool, arguments)
	status, _, raw := w.post(body, append([]string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", tool}, header...)...)
	var out struct {
		Result struct{ StructuredContent map[string]any }
		Error  map[string]any
	}
	require.NoError(w.t, json.Unmarshal(raw, &out), "%s", raw)
	if out.Error != nil {
		return status, out.Error
	}
	return status, out.Result.StructuredContent
}

func TestHTTPServesManyClientsAtOnce(t *testing.T) {
	t.Parallel()
	w := newApp(t).web()
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			for range 5 {
				status, got := w.call("koan.code.execute", `{"code":"SDK.Entities.Todo.upsert({title:'x'}); 1"}`)
				require.Equal(t, http.StatusOK, status)
				require.Equal(t, true, got["success"], "%v", got)
			}
		})
	}
	group.Wait()
	_, got := w.call("todo.count", `{"filter":{"title":"x"}}`)
	require.EqualValues(t, 80, got["count"])
}

func TestHTTPAuthentication(t *testing.T) {
	a := newApp(t)
	digest := sha256.Sum256([]byte("secret"))
	tokens := filepath.Join(a.dir, "tokens.yaml")
	require.NoError(t, os.WriteFile(tokens, []byte("tokens: [{subject: ann, sha256: "+hex.EncodeToString(digest[:])+", scopes: ['*'], sets: [default]}]"), 0o600))
	w := a.web("--server.tokensFile", tokens)
	status, _ := w.call("todo.count", `{}`)
	require.Equal(t, http.StatusUnauthorized, status)
	status, _ = w.call("todo.count", `{}`, "Authorization", "Bearer wrong")
	require.Equal(t, http.StatusUnauthorized, status)
	status, got := w.call("todo.count", `{}`, "Authorization", "Bearer secret")
	require.Equal(t, http.StatusOK, status)
	require.EqualValues(t, 1, got["count"])
	_, got = w.call("todo.count", `{"set":"tenant-a"}`, "Authorization", "Bearer secret")
	require.Equal(t, "unknown_set", got["error"].(map[string]any)["code"])
	require.NotContains(t, w.stderr.String(), "secret")
}

func TestHTTPGracefulShutdown(t *testing.T) {
	w := newApp(t).web()
	base := strings.TrimSuffix(w.url, "/mcp")
	for _, path := range []string{"/healthz", "/readyz"} {
		resp, err := http.Get(base + path)
		require.NoError(t, err)
		_ = resp.Body.Close()
		require.Equal(t, http.StatusOK, resp.StatusCode, path)
	}
	type outcome struct {
		status int
		body   map[string]any
	}
	done := make(chan outcome, 1)
	go func() {
		status, body := w.call("koan.code.execute", `{"code":"SDK.Entities.Todo.upsert({title:'last'}); let n = 0; for (let i = 0; i < 3e6; i++) n += i; n"}`)
		done <- outcome{status, body}
	}()
	time.Sleep(100 * time.Millisecond)
	require.NoError(t, w.cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, w.cmd.Wait(), "%s", w.stderr)
	got := <-done
	require.Equal(t, http.StatusOK, got.status)
	require.Equal(t, true, got.body["success"], "what ran is finished: %v", got.body)
	require.False(t, bytes.Contains([]byte(w.stderr.String()), []byte("panic")), w.stderr.String())
}

// TestReadinessFollowsTheData: while that is away, the process lives and is not ready.
func TestReadinessFollowsTheData(t *testing.T) {
	a := newApp(t)
	w := a.web()
	status := func(path string) int {
		resp, err := http.Get(strings.TrimSuffix(w.url, "/mcp") + path)
		require.NoError(t, err)
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	require.Eventually(t, func() bool { return status("/readyz") == http.StatusOK }, 10*time.Second, 100*time.Millisecond)
	require.NoError(t, os.Rename(a.data, a.data+"-away"))
	require.Eventually(t, func() bool { return status("/readyz") == http.StatusServiceUnavailable }, 10*time.Second, 100*time.Millisecond)
	require.Equal(t, http.StatusOK, status("/healthz"))
	require.NoError(t, os.Rename(a.data+"-away", a.data))
	require.Eventually(t, func() bool { return status("/readyz") == http.StatusOK }, 10*time.Second, 100*time.Millisecond)
}

// TestHTTPBoundsHeaders: of their size, and of the time that a client takes.
func TestHTTPBoundsHeaders(t *testing.T) {
	t.Parallel()
	w := newApp(t).web()
	status, _, _ := w.post(`{}`, "X-Long", strings.Repeat("x", 80<<10))
	require.Equal(t, http.StatusRequestHeaderFieldsTooLarge, status)
	address := strings.TrimSuffix(strings.TrimPrefix(w.url, "http://"), "/mcp")
	var slow []net.Conn
	for range 50 {
		c, err := net.Dial("tcp", address)
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		fmt.Fprint(c, "POST /mcp HTTP/1.1\r\nHost: loc")
		slow = append(slow, c)
	}
	status, got := w.call("todo.count", `{}`)
	require.Equal(t, http.StatusOK, status, "%v", got)
	for _, c := range slow {
		require.NoError(t, c.SetReadDeadline(time.Now().Add(20*time.Second)))
		_, err := io.Copy(io.Discard, c)
		require.NoError(t, err, "the server ends the connection")
	}
}

func TestHTTPBoundsItsCallers(t *testing.T) {
	w := newApp(t).web("--server.requestsPerMinute", "3")
	for range 3 {
		status, _ := w.call("todo.count", `{}`)
		require.Equal(t, http.StatusOK, status)
	}
	status, header, body := w.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	require.Equal(t, http.StatusTooManyRequests, status)
	wait, err := strconv.Atoi(header.Get("Retry-After"))
	require.NoError(t, err)
	require.InDelta(t, 10, wait, 10)
	require.Contains(t, string(body), `"rate_limited"`)
}

// TestHTTPShutdownReportsInterruptedCalls: a call that outlives the grace period of a server that
// ends is cancelled, and its client hears so.
func TestHTTPShutdownReportsInterruptedCalls(t *testing.T) {
	t.Parallel()
	w := withNap(t).web()
	done := make(chan map[string]any, 1)
	go func() {
		_, body := w.call("koan.code.execute", `{"code":"import { take } from '@codemode/servers/nap'; await take({ms: 25000})"}`)
		done <- body
	}()
	time.Sleep(time.Second)
	require.NoError(t, w.cmd.Process.Signal(syscall.SIGTERM))
	require.Eventually(t, func() bool {
		resp, err := http.Get(strings.TrimSuffix(w.url, "/mcp") + "/readyz")
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusServiceUnavailable
	}, 5*time.Second, 20*time.Millisecond)
	require.NoError(t, w.cmd.Wait(), "%s", w.stderr)
	body := <-done
	require.Equal(t, false, body["success"], "%v", body)
	require.Equal(t, "cancelled", body["error"].(map[string]any)["code"])
}
