package plugins

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/observe"
	"github.com/koan-go/koan/plugins/internal/wire"
)

// measures passes on what a plugin measures in one call. Metrics and their names are those of the manifest, so that no
// call can make up time series.
type measures struct {
	to       observe.Observer // nil for nobody
	manifest *wire.Manifest
	began    time.Time
	spans    int
}

func newMeasures(ctx context.Context, m *wire.Manifest) *measures {
	return &measures{to: run.Observer(ctx), manifest: m, began: time.Now()}
}

// value passes on a value of a metric.
func (s *measures) value(ctx context.Context, v *wire.Measurement) error {
	i := slices.IndexFunc(s.manifest.GetMetrics(), func(m *wire.Metric) bool { return m.GetName() == v.GetMetric() })
	if i < 0 {
		return breach(fmt.Sprintf("it measures %q, which is not among its metrics", bounded(v.GetMetric(), 64)))
	}
	m, value := s.manifest.GetMetrics()[i], v.GetValue()
	if math.IsNaN(value) || math.IsInf(value, 0) || value < 0 && !m.GetHistogram() {
		return breach(fmt.Sprintf("the metric %[2]s cannot have the value %[1]v", value, m.GetName()))
	}
	if s.to != nil {
		s.to.Measure(ctx, observe.Metric{Plugin: s.manifest.GetDomain(), Name: m.GetName(), Help: bounded(m.GetHelp(), maxDescription), Histogram: m.GetHistogram()}, value)
	}
	return nil
}

// span passes on a span, within the time of the call. Of a call that has many, the first ones are passed on.
func (s *measures) span(ctx context.Context, v *wire.Span) error {
	if v.GetName() == "" || v.GetEndUnixNano() < v.GetStartUnixNano() {
		return breach("it has a span that has no name, or ends before it begins")
	}
	if s.spans++; s.to == nil || s.spans > wire.MaxSpans {
		return nil
	}
	start, end := s.within(v.GetStartUnixNano()), s.within(v.GetEndUnixNano())
	name := bounded(run.RedactText(ctx, strings.ToValidUTF8(v.GetName(), "?")), wire.MaxSpanName)
	s.to.Part(ctx, observe.Part{Name: name, Start: start, End: end, Failed: v.GetFailed()})
	return nil
}

// within returns a moment of the call.
func (s *measures) within(unixNano int64) time.Time {
	at := time.Unix(0, unixNano)
	if now := time.Now(); at.After(now) {
		return now
	}
	if at.Before(s.began) {
		return s.began
	}
	return at
}

// metricProblems returns what is wrong with the metrics of a manifest.
func metricProblems(m *wire.Manifest) []string {
	var problems []string
	if n := len(m.GetMetrics()); n > wire.MaxMetrics {
		return []string{fmt.Sprintf("it has %d metrics; %d are allowed", n, wire.MaxMetrics)}
	}
	seen := map[string]bool{}
	for _, metric := range m.GetMetrics() {
		name := bounded(metric.GetName(), 64)
		if !wire.ValidMetric(metric.GetName()) {
			problems = append(problems, fmt.Sprintf("the metric %q is not in snake_case, or ends as Prometheus ends names itself", name))
		}
		if seen[metric.GetName()] {
			problems = append(problems, fmt.Sprintf("the metric %q is declared twice", name))
		}
		seen[metric.GetName()] = true
	}
	return problems
}
