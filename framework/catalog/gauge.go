package catalog

// Gauge is a figure about a provider's work that is read on demand, from any goroutine.
type Gauge struct {
	Name string // as OpenTelemetry spells names: "koan.sandbox.running"
	Help string
	Read func() float64
}

// Measured is a provider that has gauges. Gauges is called once it has started.
type Measured interface{ Gauges() []Gauge }
