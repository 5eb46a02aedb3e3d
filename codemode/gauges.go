package codemode

import (
	"github.com/koan-go/koan/codemode/internal/sandbox"
	"github.com/koan-go/koan/framework/catalog"
)

// counted is an executor that reports its load.
type counted interface{ Load() sandbox.Load }

var _ catalog.Measured = (*provider)(nil)

// Gauges implements catalog.Measured.
func (p *provider) Gauges() []catalog.Gauge {
	c, ok := p.scripts.executor.(counted)
	if !ok {
		return nil
	}
	gauge := func(name, help string, of func(sandbox.Load) int) catalog.Gauge {
		return catalog.Gauge{Name: "koan.sandbox." + name, Help: help, Read: func() float64 { return float64(of(c.Load())) }}
	}
	return []catalog.Gauge{
		gauge("running", "scripts that have a worker", func(l sandbox.Load) int { return l.Running }),
		gauge("waiting", "scripts that wait for their turn", func(l sandbox.Load) int { return l.Waiting }),
		gauge("idle", "workers that are ready", func(l sandbox.Load) int { return l.Idle }),
		gauge("workers", "worker processes, ready or not", func(l sandbox.Load) int { return l.Workers }),
	}
}
