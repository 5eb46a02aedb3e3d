package framework

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/internal/telemetry"
)

// flushTime bounds the wait for a collector that does not respond at the end.
const flushTime = 3 * time.Second

// telemetrySettings say where traces and metrics are sent.
func telemetrySettings() []catalog.Setting {
	return []catalog.Setting{
		{Key: "telemetry.otlpEndpoint", Default: "", Help: "where to send traces and metrics by OTLP over HTTP, such as http://localhost:4318; empty is what the OTEL_ variables of the environment say, and nowhere without them", Check: checkCollector},
		{Key: "telemetry.metrics", Default: false, Help: "count and measure for Prometheus, at /metrics; true by default where the app serves over HTTP"},
	}
}

func checkCollector(v any) error {
	s, _ := v.(string)
	if s == "" {
		return nil
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.User != nil {
		return fmt.Errorf("must be like http://HOST:4318, without user and query")
	}
	return nil
}

// startTelemetry starts the exporters that the settings and the environment ask for.
func (i *Instance) startTelemetry(ctx context.Context) (err error) {
	o := telemetry.Options{
		Name: i.app.Name, Version: i.app.Version, Endpoint: i.values.String("telemetry.otlpEndpoint"), Scrape: i.values.Bool("telemetry.metrics"), Gauges: i.gauges(), Log: i.log,
	}
	if i.telemetry, err = telemetry.New(ctx, o); err != nil || i.telemetry == nil {
		return err
	}
	i.engine.Observe(i.telemetry.Observer())
	return nil
}

// Metrics serves the metrics in Prometheus' format, nil if there are none. The caller has
// to decide who may read them.
func (i *Instance) Metrics() http.Handler { return i.telemetry.Handler() }

// stopTelemetry sends what is pending. An unreachable collector is not an error.
func (i *Instance) stopTelemetry(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, flushTime)
	defer cancel()
	if err := i.telemetry.Stop(ctx); err != nil {
		i.log.Warn("some telemetry was not delivered", "error", err)
	}
}
