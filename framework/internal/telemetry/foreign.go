package telemetry

import (
	"context"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/koan-go/koan/framework/run/observe"
)

// maxForeign is how many metrics of plugins there are. A plugin that has others at each start makes no more.
const maxForeign = 1000

// foreignMetrics are those of plugins. They are made when they are measured first.
type foreignMetrics struct {
	meter metric.Meter

	mu   sync.Mutex
	made map[observe.Metric]func(context.Context, float64)
}

// amounts are the bounds of what plugins measure, in whatever unit.
var amounts = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000}

// record returns how values of a metric are recorded.
func (f *foreignMetrics) record(m observe.Metric) func(context.Context, float64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	record, ok := f.made[m]
	switch {
	case ok:
		return record
	case len(f.made) >= maxForeign:
		return func(context.Context, float64) {}
	case f.made == nil:
		f.made = map[observe.Metric]func(context.Context, float64){}
	}
	record = f.make(m)
	f.made[m] = record
	return record
}

// make makes an instrument. The plugin is an attribute too: where names of two plugins are the same one to
// Prometheus, as those of a-b and a_b, their values are not.
func (f *foreignMetrics) make(m observe.Metric) func(context.Context, float64) {
	name, of := "koan.plugin."+m.Plugin+"."+m.Name, metric.WithAttributeSet(attribute.NewSet(attribute.String("plugin", m.Plugin)))
	if m.Histogram {
		if h, err := f.meter.Float64Histogram(name, metric.WithDescription(m.Help), metric.WithExplicitBucketBoundaries(amounts...)); err == nil {
			return func(ctx context.Context, value float64) { h.Record(ctx, value, of) }
		}
	} else if c, err := f.meter.Float64Counter(name, metric.WithDescription(m.Help)); err == nil {
		return func(ctx context.Context, value float64) { c.Add(ctx, value, of) }
	}
	return func(context.Context, float64) {} // its name, which the plugin's manifest was checked for
}

// Measure implements observe.Observer.
func (o *observer) Measure(ctx context.Context, m observe.Metric, value float64) {
	o.foreign.record(m)(ctx, value)
}

// Part implements observe.Observer.
func (o *observer) Part(ctx context.Context, p observe.Part) {
	if !o.traces || !trace.SpanFromContext(ctx).IsRecording() {
		return
	}
	_, span := o.tracer.Start(ctx, p.Name, trace.WithTimestamp(p.Start))
	if p.Failed {
		span.SetStatus(codes.Error, "")
	}
	span.End(trace.WithTimestamp(p.End))
}
