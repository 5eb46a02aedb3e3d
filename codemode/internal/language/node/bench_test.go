package node_test

import (
	"context"
	"testing"
	"time"

	"github.com/koan-go/koan/codemode/internal/wire"
)

// BenchmarkWarm runs scripts of which each finds a process that waits for it.
func BenchmarkWarm(b *testing.B) {
	s := newSandbox(b)
	for name, code := range map[string]string{
		"trivial":   "6 * 7",
		"100 calls": "let n = 0;\nfor (let i = 0; i < 100; i++) n += SDK.Entities.Todo.count();\nn",
	} {
		b.Run(name, func(b *testing.B) {
			var peak int64
			var took time.Duration
			for b.Loop() {
				if err := s.Warm(b.Context()); err != nil {
					b.Fatal(err)
				}
				began := time.Now()
				r, err := s.Execute(context.Background(), job(code), &host{})
				took += time.Since(began)
				if err != nil || r.Fault != nil {
					b.Fatal(err, r.Fault)
				}
				peak = max(peak, r.PeakMemory)
			}
			b.ReportMetric(float64(took.Microseconds())/1000/float64(b.N), "ms/script")
			b.ReportMetric(float64(peak>>20), "MB")
		})
	}
}

// BenchmarkCold runs scripts one behind the other, each in a process that was started for it.
func BenchmarkCold(b *testing.B) {
	s := newSandbox(b)
	for b.Loop() {
		if r, err := s.Execute(context.Background(), job("6 * 7"), &host{}); err != nil || r.Fault != nil {
			b.Fatal(err, r.Fault)
		}
	}
}

var _ wire.Host = (*host)(nil)
