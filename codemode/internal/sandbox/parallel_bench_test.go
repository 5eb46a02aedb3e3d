package sandbox

import (
	"context"
	"testing"
	"time"
)

// BenchmarkParallel runs a module with ten concurrent calls of 50 ms in a confined worker,
// including the start and the end of the script.
func BenchmarkParallel(b *testing.B) {
	s := benchSandbox(b, Options{})
	j := imported(`import { detect } from "@codemode/servers/vision"; await Promise.all(Array.from({ length: 10 }, () => detect({ ms: 50 }))); 1`)
	var took []time.Duration
	for range max(b.N, 15) {
		_ = s.Warm(context.Background())
		began := time.Now()
		r, err := s.Execute(context.Background(), j, slowHost())
		took = append(took, time.Since(began))
		if err != nil || r.Fault != nil {
			b.Fatal(err, r.Fault)
		}
	}
	b.ReportMetric(float64(median(took).Microseconds())/1000, "ms")
	b.ReportMetric(0, "ns/op")
}
