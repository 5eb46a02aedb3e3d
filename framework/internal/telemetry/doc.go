// Package telemetry exports what the engine does to OpenTelemetry: traces of runs,
// attempts, calls and SQL, and metrics, by OTLP over HTTP and for Prometheus.
//
// What belongs here: the SDK, its exporters, and the names and attributes of spans and
// metrics. Not here: values of the app's data (arguments, results, SQL's values),
// and anything that a run's outcome depends on. No other package imports OpenTelemetry.
package telemetry
