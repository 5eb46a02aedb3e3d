package kit

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/koan-go/koan/plugins/internal/wire"
)

// Measure adds a value to a metric of Plugin.Metrics, or gives a histogram its next one. It must not be called after
// the function has returned. A metric that is not declared, and what is no value of it, are logged and not sent.
func (c Call) Measure(metric string, value float64) {
	i := slices.IndexFunc(c.observe.metrics, func(m Metric) bool { return m.Name == metric })
	switch {
	case i < 0:
		c.Log.Error("a metric is not among Plugin.Metrics", "metric", metric)
	case math.IsNaN(value) || math.IsInf(value, 0) || value < 0 && !c.observe.metrics[i].Histogram:
		c.Log.Error("a metric has no such value", "metric", metric, "value", fmt.Sprint(value))
	case c.observe.send != nil:
		c.observe.send(&wire.CallEvent{Event: &wire.CallEvent_Measurement{Measurement: &wire.Measurement{Metric: metric, Value: value}}})
	}
}

// Span begins a part of the call's work, and returns what ends it: err is that of the part. Where the app traces, it
// is a span below that of the call, by a name of at most 64 bytes that has no data of callers. Of one call the app
// takes 100.
//
//	end := call.Span("fetch")
//	rows, err := fetch(ctx)
//	end(err)
func (c Call) Span(name string) (end func(err error)) {
	if c.observe.send == nil || name == "" {
		return func(error) {}
	}
	start := time.Now()
	return func(err error) {
		c.observe.send(&wire.CallEvent{Event: &wire.CallEvent_Span{Span: &wire.Span{
			Name: strings.ToValidUTF8(name, "?"), StartUnixNano: start.UnixNano(), EndUnixNano: start.Add(time.Since(start)).UnixNano(), Failed: err != nil,
		}}})
	}
}

// observing is how a call measures.
type observing struct {
	metrics []Metric
	send    func(*wire.CallEvent) // nil for an app that takes nothing
}

// observe returns how a call measures.
func (p Plugin) observe(req *wire.CallRequest, send func(*wire.CallEvent)) observing {
	if !req.GetObserved() {
		send = nil
	}
	return observing{metrics: p.Metrics, send: send}
}

// metricProblems returns what is wrong with the metrics.
func (p Plugin) metricProblems() []string {
	var problems []string
	if n := len(p.Metrics); n > wire.MaxMetrics {
		problems = append(problems, fmt.Sprintf("it has %d metrics; %d are allowed", n, wire.MaxMetrics))
	}
	seen := map[string]bool{}
	for _, m := range p.Metrics {
		if !wire.ValidMetric(m.Name) {
			problems = append(problems, fmt.Sprintf("the metric %q is not in snake_case, or ends as Prometheus ends names itself", m.Name))
		}
		if seen[m.Name] {
			problems = append(problems, fmt.Sprintf("the metric %q is declared twice", m.Name))
		}
		seen[m.Name] = true
	}
	return problems
}

// metricsOnWire returns the metrics as an app gets them.
func (p Plugin) metricsOnWire() []*wire.Metric {
	var out []*wire.Metric
	for _, m := range p.Metrics {
		out = append(out, &wire.Metric{Name: m.Name, Help: m.Help, Histogram: m.Histogram})
	}
	return out
}
