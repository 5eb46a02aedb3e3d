// Package cluster tests apps over PostgreSQL servers that follow each other: what replicas answer, and what
// a fail-over leaves.
package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	_ "github.com/koan-go/koan/codemode/languages"
	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/fixture"
	"github.com/koan-go/koan/tests/pgtest"
)

// as makes this test binary the fixture's app.
const as = "KOANTEST_CLUSTER"

func TestMain(m *testing.M) {
	if os.Getenv(as) != "" {
		framework.Main(fixture.App())
	}
	os.Exit(m.Run())
}

// The header and the member of _meta that have positions (CONTRACT section 15).
const (
	versionHeader = "Koan-Version"
	versionMeta   = "dev.koan/version"
)

// server is an app that serves HTTP in this process.
type server struct {
	t   testing.TB
	url string
}

// serve serves the fixture over the database at a URL, with replicas.
func serve(t testing.TB, database string, replicas ...string) *server {
	t.Helper()
	kit := koantest.New(t, fixture.App(),
		koantest.Setting{Key: "database", Value: database}, koantest.Setting{Key: "database.replicas", Value: strings.Join(replicas, ",")},
		koantest.Setting{Key: "files.dir", Value: t.TempDir()}, koantest.Setting{Key: "exposure", Value: "full"})
	routes, err := kit.Instance().HTTPHandler(framework.HTTPOptions{})
	require.NoError(t, err)
	s := httptest.NewServer(routes)
	t.Cleanup(func() { routes.Shutdown(context.Background()); s.Close() })
	return &server{t, s.URL}
}

// served is an answer and its position.
type served struct {
	status   int
	body     map[string]any
	position string
}

// send sends a request of a caller that has seen a position, "" for none.
func (s *server) send(method, path, body, seen string) (served, error) {
	r, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		return served{}, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	if seen != "" {
		r.Header.Set(versionHeader, seen)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return served{}, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return served{}, err
	}
	got := served{status: resp.StatusCode, position: resp.Header.Get(versionHeader)}
	if len(raw) == 0 {
		return got, nil
	}
	return got, json.NewDecoder(bytes.NewReader(raw)).Decode(&got.body)
}

// do is send for an answer that is expected to be 2xx, with a position.
func (s *server) do(method, path, body, seen string) served {
	s.t.Helper()
	got, err := s.send(method, path, body, seen)
	require.NoError(s.t, err)
	require.Less(s.t, got.status, 300, "%v", got.body)
	require.NotEmpty(s.t, got.position, "%s %s", method, path)
	return got
}

// call calls a tool over MCP for a caller that has seen a position.
func (s *server) call(tool string, arguments map[string]any, seen string) served {
	s.t.Helper()
	meta := map[string]any{
		"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": map[string]any{},
		"io.modelcontextprotocol/clientInfo": map[string]any{"name": "test", "version": "1"},
	}
	if seen != "" {
		meta[versionMeta] = seen
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": tool, "arguments": arguments, "_meta": meta}})
	require.NoError(s.t, err)
	r, err := http.NewRequest(http.MethodPost, s.url+"/mcp", bytes.NewReader(body))
	require.NoError(s.t, err)
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool,
	} {
		r.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(r)
	require.NoError(s.t, err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	require.NoError(s.t, err)
	if i := bytes.Index(raw, []byte("data: ")); i >= 0 {
		raw, _, _ = bytes.Cut(raw[i+len("data: "):], []byte("\n"))
	}
	var answer struct {
		Result struct {
			Meta              map[string]any `json:"_meta"`
			StructuredContent map[string]any
		}
		Error any
	}
	require.NoError(s.t, json.Unmarshal(raw, &answer), "%s", raw)
	require.Nil(s.t, answer.Error, "%s", raw)
	got := served{status: resp.StatusCode, body: answer.Result.StructuredContent}
	got.position, _ = answer.Result.Meta[versionMeta].(string)
	require.NotEmpty(s.t, got.position, "%s", raw)
	return got
}

// caughtUp waits until a server has replayed all that another one has written.
func caughtUp(t testing.TB, c *pgtest.Cluster, from, to int) {
	t.Helper()
	want := pgtest.Value(t, c.URL(from), "SELECT pg_current_wal_insert_lsn()::text")
	require.Eventually(t, func() bool {
		return pgtest.Value(t, c.URL(to), "SELECT (pg_last_wal_replay_lsn() >= '"+want+"'::pg_lsn)::text") == "true"
	}, 30*time.Second, 10*time.Millisecond, "the replica does not catch up")
}
