package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	promexporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	nooptrace "go.opentelemetry.io/otel/trace/noop"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/run/observe"
)

// Options say what is exported, and where.
type Options struct {
	Name, Version string // of the app
	// Endpoint is where OTLP over HTTP goes, as http://localhost:4318; "" is what the
	// standard variables OTEL_EXPORTER_OTLP_ENDPOINT, _TRACES_ENDPOINT and
	// _METRICS_ENDPOINT say, and nowhere without them.
	Endpoint string
	// Scrape keeps metrics for Handler.
	Scrape bool
	Gauges []catalog.Gauge
	Log    *slog.Logger
}

// Telemetry exports an app's traces and metrics.
type Telemetry struct {
	observer *observer
	registry *prometheus.Registry
	stops    []func(context.Context) error
}

// wanted returns which signals are exported by OTLP.
func (o Options) wanted() (traces, metrics bool) {
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") {
		return false, false
	}
	both := o.Endpoint != "" || os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != ""
	out := func(signal string) bool {
		return (both || os.Getenv("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT") != "") && os.Getenv("OTEL_"+signal+"_EXPORTER") != "none"
	}
	return out("TRACES"), out("METRICS")
}

// New starts what is wanted; it returns nil if nothing is. Exporters connect when they
// have something to send: one that cannot reach its collector drops it and never stops a
// run.
func New(ctx context.Context, o Options) (*Telemetry, error) {
	traces, metrics := o.wanted()
	if !traces && !metrics && !o.Scrape {
		return nil, nil
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(serviceName(o.Name), serviceVersion(o.Version)), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("telemetry: %w", err)
	}
	t := &Telemetry{observer: &observer{tracer: nooptrace.NewTracerProvider().Tracer(scope)}}
	if traces {
		err = t.trace(ctx, o, about)
	}
	if err == nil {
		err = t.measure(ctx, o, about, metrics)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("telemetry: %w", err), t.Stop(ctx))
	}
	return t, nil
}

func (t *Telemetry) trace(ctx context.Context, o Options, about *resource.Resource) error {
	var to []otlptracehttp.Option
	if o.Endpoint != "" {
		to = append(to, otlptracehttp.WithEndpointURL(strings.TrimSuffix(o.Endpoint, "/")+"/v1/traces"))
	}
	exporter, err := otlptracehttp.New(ctx, to...)
	if err != nil {
		return err
	}
	p := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about), sdktrace.WithIDGenerator(ids{}))
	t.stops = append(t.stops, p.Shutdown)
	t.observer.tracer, t.observer.traces = p.Tracer(scope), true
	return nil
}

func (t *Telemetry) measure(ctx context.Context, o Options, about *resource.Resource, push bool) error {
	if !push && !o.Scrape {
		return t.observer.instruments(noop.NewMeterProvider().Meter(scope), nil)
	}
	readers := []sdkmetric.Option{sdkmetric.WithResource(about)}
	if push {
		var to []otlpmetrichttp.Option
		if o.Endpoint != "" {
			to = append(to, otlpmetrichttp.WithEndpointURL(strings.TrimSuffix(o.Endpoint, "/")+"/v1/metrics"))
		}
		exporter, err := otlpmetrichttp.New(ctx, to...)
		if err != nil {
			return err
		}
		readers = append(readers, sdkmetric.WithReader(sdkmetric.NewPeriodicReader(exporter)))
	}
	if o.Scrape {
		t.registry = prometheus.NewRegistry()
		exporter, err := promexporter.New(promexporter.WithRegisterer(t.registry), promexporter.WithoutScopeInfo())
		if err != nil {
			return err
		}
		readers = append(readers, sdkmetric.WithReader(exporter))
	}
	p := sdkmetric.NewMeterProvider(readers...)
	t.stops = append(t.stops, p.Shutdown)
	return t.observer.instruments(p.Meter(scope), o.Gauges)
}

// Observer returns the engine's observer.
func (t *Telemetry) Observer() observe.Observer { return t.observer }

// Handler serves the metrics in Prometheus' format; nil if they are not kept.
func (t *Telemetry) Handler() http.Handler {
	if t == nil || t.registry == nil {
		return nil
	}
	return promhttp.HandlerFor(t.registry, promhttp.HandlerOpts{})
}

// Stop sends what is pending and ends.
func (t *Telemetry) Stop(ctx context.Context) error {
	if t == nil {
		return nil
	}
	var errs []error
	for _, stop := range t.stops {
		errs = append(errs, stop(ctx))
	}
	return errors.Join(errs...)
}
