package telemetry

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/observe"
	"github.com/koan-go/koan/framework/run/tape"
)

// scope names this package to OpenTelemetry.
const scope = "github.com/koan-go/koan/framework/internal/telemetry"

func serviceName(name string) attribute.KeyValue { return attribute.String("service.name", name) }

func serviceVersion(version string) attribute.KeyValue {
	return attribute.String("service.version", version)
}

// maxStatement is how much of a statement's text a span has, in bytes.
const maxStatement = 2000

// observer reports what the engine does to OpenTelemetry. The attributes of its
// instruments have few values each: names of the catalog and codes of faults.
type observer struct {
	tracer trace.Tracer
	traces bool

	runs, calls, attempts metric.Int64Counter
	afterCommits          metric.Int64Counter
	runTime, callTime     metric.Float64Histogram
	active                metric.Int64UpDownCounter
	abouts                sync.Map // about -> metric.MeasurementOption

	foreign foreignMetrics
}

// about are the attributes of a measurement. They have few values, so each set is made
// once.
type about struct{ kind, tool, surface, operation, outcome string }

func (o *observer) about(a about) metric.MeasurementOption {
	if known, ok := o.abouts.Load(a); ok {
		return known.(metric.MeasurementOption)
	}
	var all []attribute.KeyValue
	for _, one := range [][2]string{{"kind", a.kind}, {"tool", a.tool}, {"surface", a.surface}, {"operation", a.operation}, {"outcome", a.outcome}} {
		if one[1] != "" {
			all = append(all, attribute.String(one[0], one[1]))
		}
	}
	made, _ := o.abouts.LoadOrStore(a, metric.WithAttributeSet(attribute.NewSet(all...)))
	return made.(metric.MeasurementOption)
}

var _ observe.Observer = (*observer)(nil)

var w3c propagation.TraceContext

// seconds are the bounds of durations.
var seconds = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}

func (o *observer) instruments(m metric.Meter, gauges []catalog.Gauge) error {
	var failed error
	note := func(err error) {
		if failed == nil {
			failed = err
		}
	}
	counter := func(name, help string) metric.Int64Counter {
		c, err := m.Int64Counter(name, metric.WithDescription(help))
		note(err)
		return c
	}
	histogram := func(name, help string) metric.Float64Histogram {
		h, err := m.Float64Histogram(name, metric.WithDescription(help), metric.WithUnit("s"), metric.WithExplicitBucketBoundaries(seconds...))
		note(err)
		return h
	}
	o.foreign.meter = m
	o.runs = counter("koan.runs", "runs that ended, by kind (script or call), tool, surface and outcome")
	o.calls = counter("koan.calls", "calls of operations inside of runs, by operation and outcome")
	o.attempts = counter("koan.attempts", "attempts of runs, by outcome")
	o.afterCommits = counter("koan.after_commits", "functions that runs left for after their commit, by outcome")
	o.runTime = histogram("koan.run.duration", "wall-clock duration of runs")
	o.callTime = histogram("koan.call.duration", "wall-clock duration of calls")
	var err error
	o.active, err = m.Int64UpDownCounter("koan.runs.active", metric.WithDescription("runs that are under way"))
	note(err)
	for _, g := range gauges {
		_, err := m.Float64ObservableGauge(g.Name, metric.WithDescription(g.Help), metric.WithFloat64Callback(func(_ context.Context, to metric.Float64Observer) error {
			return fault.Guard(func() error { // in a goroutine of a reader
				to.Observe(g.Read())
				return nil
			})
		}))
		note(err)
	}
	return failed
}

// Run implements observe.Observer. The trace has the id of the run's trace, which journal and
// logs have too.
func (o *observer) Run(ctx context.Context, r observe.Run) (context.Context, func(observe.RunEnd, error)) {
	kind := "call"
	if r.Operation.Kind == catalog.KindCode {
		kind = "script"
	}
	if p := r.Parent.Bounded(); p.Parent != "" {
		ctx = w3c.Extract(ctx, propagation.MapCarrier{"traceparent": p.Parent, "tracestate": p.State})
	} else if id, err := trace.TraceIDFromHex(r.Trace); err == nil {
		ctx = context.WithValue(ctx, traceKey{}, id)
	}
	ctx, span := o.tracer.Start(ctx, r.Tool, trace.WithSpanKind(trace.SpanKindServer))
	if span.IsRecording() {
		span.SetAttributes(attribute.String("koan.run", r.ID), attribute.String("koan.surface", r.Surface), attribute.String("koan.kind", kind),
			attribute.String("koan.operation", r.Operation.String()), attribute.Bool("koan.dry_run", r.DryRun))
	}
	start := time.Now()
	o.active.Add(ctx, 1)
	return ctx, func(end observe.RunEnd, err error) {
		o.active.Add(ctx, -1)
		outcome := outcomeOf(err)
		about := o.about(about{kind: kind, tool: r.Tool, surface: r.Surface, outcome: outcome})
		o.runs.Add(ctx, 1, about)
		o.runTime.Record(ctx, time.Since(start).Seconds(), about)
		if span.IsRecording() {
			span.SetAttributes(attribute.Int("koan.attempts", end.Attempts), attribute.Int("koan.calls", end.Calls), attribute.Bool("koan.committed", end.Committed))
		}
		endSpan(span, outcome, err)
	}
}

// Attempt implements observe.Observer.
func (o *observer) Attempt(ctx context.Context, number int) (context.Context, func(error)) {
	ctx, span := o.tracer.Start(ctx, "attempt")
	if span.IsRecording() {
		span.SetAttributes(attribute.Int("koan.attempt", number))
	}
	return ctx, func(err error) {
		outcome := outcomeOf(err)
		o.attempts.Add(ctx, 1, o.about(about{outcome: outcome}))
		endSpan(span, outcome, err)
	}
}

// Call implements observe.Observer.
func (o *observer) Call(ctx context.Context, id catalog.ID, at tape.Position) (context.Context, func(error)) {
	name := id.String()
	kind := trace.SpanKindInternal
	if id.Kind != catalog.KindEntity {
		kind = trace.SpanKindClient
	}
	ctx, span := o.tracer.Start(ctx, name, trace.WithSpanKind(kind))
	if span.IsRecording() {
		span.SetAttributes(attribute.String("koan.operation", name), attribute.String("koan.position", string(at)))
	}
	start := time.Now()
	return ctx, func(err error) {
		outcome := outcomeOf(err)
		if outcome == string(fault.ToolNotFound) {
			name = "unknown" // or anybody could make up names of time series
		}
		about := o.about(about{operation: name, outcome: outcome})
		o.calls.Add(ctx, 1, about)
		o.callTime.Record(ctx, time.Since(start).Seconds(), about)
		endSpan(span, outcome, err)
	}
}

// Statement implements observe.Observer.
func (o *observer) Statement(ctx context.Context, text string) func(error) {
	if !o.traces || !trace.SpanFromContext(ctx).IsRecording() {
		return func(error) {}
	}
	_, span := o.tracer.Start(ctx, "sql", trace.WithSpanKind(trace.SpanKindClient))
	if len(text) > maxStatement {
		text = text[:maxStatement]
	}
	span.SetAttributes(attribute.String("db.query.text", text))
	return func(err error) {
		if err != nil {
			span.SetStatus(codes.Error, "")
		}
		span.End()
	}
}

// AfterCommit implements observe.Observer.
func (o *observer) AfterCommit(ctx context.Context, outcome string) {
	o.afterCommits.Add(ctx, 1, o.about(about{outcome: outcome}))
}

// Outgoing implements observe.Observer.
func (o *observer) Outgoing(ctx context.Context, _ observe.TraceContext) observe.TraceContext {
	to := propagation.MapCarrier{}
	w3c.Inject(ctx, to)
	return observe.TraceContext{Parent: to["traceparent"], State: to["tracestate"]}
}

func isFault(err error) bool {
	_, ok := err.(*fault.Fault)
	return ok
}

// outcomeOf is "again" if another attempt follows.
func outcomeOf(err error) string {
	switch {
	case err == nil:
		return "ok"
	case !isFault(err) && run.Ends(err):
		return "again"
	}
	return string(fault.CodeOf(err))
}

// endSpan ends a span. Of a fault only the code is reported, since its message may contain
// data.
func endSpan(span trace.Span, outcome string, err error) {
	if span.IsRecording() {
		span.SetAttributes(attribute.String("koan.outcome", outcome))
		if err != nil {
			span.SetStatus(codes.Error, outcome)
		}
	}
	span.End()
}

// ids makes a trace have the id of its run.
type ids struct{}

type traceKey struct{}

// NewIDs implements sdktrace.IDGenerator.
func (i ids) NewIDs(ctx context.Context) (t trace.TraceID, s trace.SpanID) {
	t, ok := ctx.Value(traceKey{}).(trace.TraceID)
	if !ok {
		_, _ = rand.Read(t[:]) // never fails (crypto/rand)
	}
	return t, i.NewSpanID(ctx, t)
}

// NewSpanID implements sdktrace.IDGenerator.
func (ids) NewSpanID(context.Context, trace.TraceID) (s trace.SpanID) {
	_, _ = rand.Read(s[:])
	return s
}
