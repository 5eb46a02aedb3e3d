package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracespb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/koan-go/koan/tests/pgtest"
)

// collector takes OTLP over HTTP, as a real one does.
type collector struct {
	url string

	mu      sync.Mutex
	spans   []*tracepb.Span
	metrics map[string]bool
	wrong   []string
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{metrics: map[string]bool{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		c.mu.Lock()
		defer c.mu.Unlock()
		switch {
		case err != nil:
			c.wrong = append(c.wrong, err.Error())
		case r.URL.Path == "/v1/traces":
			var in tracespb.ExportTraceServiceRequest
			if err := proto.Unmarshal(raw, &in); err != nil {
				c.wrong = append(c.wrong, err.Error())
			}
			for _, rs := range in.GetResourceSpans() {
				for _, ss := range rs.GetScopeSpans() {
					c.spans = append(c.spans, ss.GetSpans()...)
				}
			}
		case r.URL.Path == "/v1/metrics":
			var in metricspb.ExportMetricsServiceRequest
			if err := proto.Unmarshal(raw, &in); err != nil {
				c.wrong = append(c.wrong, err.Error())
			}
			for _, rm := range in.GetResourceMetrics() {
				for _, sm := range rm.GetScopeMetrics() {
					for _, m := range sm.GetMetrics() {
						c.metrics[m.GetName()] = true
					}
				}
			}
		default:
			c.wrong = append(c.wrong, r.URL.Path)
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(server.Close)
	c.url = server.URL
	return c
}

func attributes(list []*commonpb.KeyValue) map[string]string {
	out := map[string]string{}
	for _, kv := range list {
		out[kv.GetKey()] = kv.GetValue().GetStringValue()
	}
	return out
}

// A run's trace is the caller's, has the run's attempts, calls and SQL inside of it,
// and no value of the data.
func TestTraces(t *testing.T) {
	if pgtest.ForEach(t, TestTraces) {
		return
	}
	c := newCollector(t)
	a := newApp(t)
	if pgtest.Here(t) {
		a = onPostgres(t)
	}
	p := a.serve("--telemetry.otlpEndpoint", c.url)
	const trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	m := p.call("tools/call", input{
		"name": "koan.code.execute", "arguments": input{"code": `SDK.Entities.Todo.upsert({ title: "a secret" }); SDK.Entities.Todo.count({ title: "a secret" })`},
		"_meta": input{"traceparent": "00-" + trace + "-" + parent + "-01", "tracestate": "vendor=1"},
	})
	require.Nil(t, m.Error)
	p.execute(`SDK.Entities.Todo.getById("not there")`)
	p.tool("todo.count", input{})
	p.close()

	c.mu.Lock()
	defer c.mu.Unlock()
	require.Empty(t, c.wrong)
	named := map[string]*tracepb.Span{}
	failed := 0
	for _, s := range c.spans {
		for key, v := range attributes(s.GetAttributes()) {
			require.NotContains(t, v, "a secret", key)
		}
		if s.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR {
			failed++
			require.Equal(t, "not_found", s.GetStatus().GetMessage())
		}
		if hex.EncodeToString(s.GetTraceId()) == trace {
			named[s.GetName()] = s
		}
	}
	require.Equal(t, 3, failed, "the call, its attempt and the run")
	under := func(name, of string) {
		t.Helper()
		require.Contains(t, named, name)
		require.Equal(t, named[of].GetSpanId(), named[name].GetParentSpanId(), name)
	}
	require.Contains(t, named, "koan.code.execute")
	require.Equal(t, parent, hex.EncodeToString(named["koan.code.execute"].GetParentSpanId()))
	require.Equal(t, "vendor=1", named["koan.code.execute"].GetTraceState())
	under("attempt", "koan.code.execute")
	under("koan::Todo.upsert", "attempt")
	under("koan::Todo.count", "attempt")
	var asked []string
	for _, s := range c.spans {
		if s.GetName() == "sql" && string(s.GetParentSpanId()) == string(named["koan::Todo.count"].GetSpanId()) {
			asked = append(asked, attributes(s.GetAttributes())["db.query.text"])
		}
	}
	require.Len(t, asked, 1)
	require.Contains(t, asked[0], "SELECT")
	for _, name := range []string{"koan.runs", "koan.calls", "koan.attempts", "koan.run.duration", "koan.call.duration", "koan.runs.active", "koan.sandbox.workers"} {
		require.Contains(t, c.metrics, name)
	}
}

// Over HTTP the trace may stand in the request's headers.
func TestTraceContextFromHeaders(t *testing.T) {
	c := newCollector(t)
	a := newApp(t)
	w := a.web("--telemetry.otlpEndpoint", c.url)
	const trace = "0af7651916cd43dd8448eb211c80319c"
	status, _ := w.call("todo.count", "{}", "traceparent", "00-"+trace+"-b7ad6b7169203331-01")
	require.Equal(t, http.StatusOK, status)
	require.NoError(t, w.cmd.Process.Signal(os.Interrupt))
	require.Eventually(t, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return slices.ContainsFunc(c.spans, func(s *tracepb.Span) bool {
			return s.GetName() == "todo.count" && hex.EncodeToString(s.GetTraceId()) == trace
		})
	}, 30*time.Second, 10*time.Millisecond, "a graceful end sends what waits")
}

// A collector that is not there stops nothing.
func TestTelemetryWithoutCollector(t *testing.T) {
	a := newApp(t)
	r := a.exec("SDK.Entities.Todo.count()", "run", "-", "--telemetry.otlpEndpoint", "http://127.0.0.1:9")
	require.Zero(t, r.status, r.stderr)
	require.Equal(t, 2, a.exec("1", "run", "-", "--telemetry.otlpEndpoint", "localhost:4318").status)
}

func TestMetricsOverHTTP(t *testing.T) {
	a := newApp(t)
	w := a.web()
	get := func(change func(*http.Request)) (int, string) {
		t.Helper()
		req, err := http.NewRequest(http.MethodGet, strings.TrimSuffix(w.url, "/mcp")+"/metrics", nil)
		require.NoError(t, err)
		if change != nil {
			change(req)
		}
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer resp.Body.Close()
		raw, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp.StatusCode, string(raw)
	}
	status, text := get(nil)
	require.Equal(t, http.StatusOK, status, text)
	require.Contains(t, text, "koan_sandbox_workers")
	status, _ = w.call("todo.count", "{}")
	require.Equal(t, http.StatusOK, status)
	_, text = get(nil)
	require.Contains(t, text, `koan_runs_total{kind="call",outcome="ok",surface="mcp",tool="todo.count"} 1`)
	require.Contains(t, text, `koan_calls_total{operation="koan::Todo.count",outcome="ok"} 1`)
	for _, change := range []func(*http.Request){
		func(r *http.Request) { r.Host = "evil.example" },
		func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-origin") },
	} {
		status, _ = get(change)
		require.Equal(t, http.StatusForbidden, status)
	}
}

// Where callers are known, metrics take a scope.
func TestMetricsTakeAScope(t *testing.T) {
	a := newApp(t)
	digest := func(token string) string {
		sum := sha256.Sum256([]byte(token))
		return hex.EncodeToString(sum[:])
	}
	tokens := filepath.Join(a.dir, "tokens.yaml")
	require.NoError(t, os.WriteFile(tokens, []byte("tokens:\n"+
		"  - {subject: prometheus, sha256: "+digest("scraper")+", scopes: ['koan:metrics']}\n"+
		"  - {subject: ann, sha256: "+digest("caller")+", scopes: ['todo:read'], sets: [default]}\n"+
		"  - {subject: tenant, sha256: "+digest("tenant")+", scopes: ['*'], sets: [tenant-a]}\n"+
		"  - {subject: operator, sha256: "+digest("operator")+", scopes: ['*'], sets: ['*']}\n"), 0o600))
	w := a.web("--server.tokensFile", tokens)
	for token, want := range map[string]int{"": http.StatusUnauthorized, "wrong": http.StatusUnauthorized, "caller": http.StatusForbidden, "tenant": http.StatusForbidden, "scraper": http.StatusOK, "operator": http.StatusOK} {
		req, err := http.NewRequest(http.MethodGet, strings.TrimSuffix(w.url, "/mcp")+"/metrics", nil)
		require.NoError(t, err)
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		raw, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, want, resp.StatusCode, token)
		if want != http.StatusOK {
			require.Equal(t, "application/problem+json", resp.Header.Get("Content-Type"))
			require.Contains(t, string(raw), fmt.Sprintf(`"status":%d`, want))
		}
		require.Equal(t, want == http.StatusUnauthorized, resp.Header.Get("WWW-Authenticate") != "", token)
	}
}
