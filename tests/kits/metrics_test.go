package kits_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	tracespb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/koan-go/koan/framework/koantest"
)

// spans collects what an app traces.
type spans struct {
	mu  sync.Mutex
	all []*tracepb.Span
}

func (s *spans) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	var in tracespb.ExportTraceServiceRequest
	if r.URL.Path != "/v1/traces" || proto.Unmarshal(raw, &in) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, resource := range in.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			s.all = append(s.all, scope.GetSpans()...)
		}
	}
}

// named returns the spans of a name.
func (s *spans) named(name string) (out []*tracepb.Span) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, each := range s.all {
		if each.GetName() == name {
			out = append(out, each)
		}
	}
	return out
}

// What a plugin measures is among the app's metrics, and its spans are below that of the call.
func TestPluginsMeasure(t *testing.T) {
	each(t, func(t *testing.T, l language) {
		var collected spans
		server := httptest.NewServer(&collected)
		defer server.Close()
		k := app(t, l, koantest.Setting{Key: "telemetry.metrics", Value: "true"}, koantest.Setting{Key: "telemetry.otlpEndpoint", Value: server.URL})
		for range 2 {
			_, err := k.Call("plugin::weather.now", map[string]any{"text": "rain"})
			require.NoError(t, err)
		}
		answer := httptest.NewRecorder()
		k.Instance().Metrics().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		require.Contains(t, answer.Body.String(), "# HELP koan_plugin_weather_looks_total How often somebody looked.\n")
		require.Contains(t, answer.Body.String(), `koan_plugin_weather_looks_total{plugin="weather"} 2`)
		require.Contains(t, answer.Body.String(), `koan_plugin_weather_look_seconds_bucket{plugin="weather",le="0.25"} 2`)

		require.NoError(t, k.Instance().Stop(t.Context())) // which sends what is pending
		calls, looks := collected.named("plugin::weather.now"), collected.named("look")
		require.Len(t, looks, 2)
		for i, look := range looks {
			require.Equal(t, calls[i].GetSpanId(), look.GetParentSpanId())
			require.LessOrEqual(t, calls[i].GetStartTimeUnixNano(), look.GetStartTimeUnixNano())
			require.GreaterOrEqual(t, calls[i].GetEndTimeUnixNano(), look.GetEndTimeUnixNano())
		}
	})
}
