// Package telemetry exports what the engine does to OpenTelemetry: traces of runs,
// attempts, calls and SQL, and metrics, by OTLP over HTTP and for Prometheus.
//
// What belongs here: the SDK, its exporters, and the names and attributes of what
// they get. What must never: values of the app's data (arguments, results, SQL's
// values), and anything that a run's outcome depends on. Nobody else in the
// repository knows OpenTelemetry.
package telemetry
