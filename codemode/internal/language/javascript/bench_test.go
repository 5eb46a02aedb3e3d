package javascript

import (
	"fmt"
	"testing"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/catalog"
)

// BenchmarkPrepareBound measures the same with the SDK of an app of so many entities.
func BenchmarkPrepareBound(b *testing.B) {
	for _, n := range []int{4, 200} {
		var bindings wire.Bindings
		for i := range n {
			bindings.Entities = append(bindings.Entities, wire.Entity{Name: fmt.Sprint("Entity", i), Ops: catalog.EntityOperationNames()})
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			l := New()
			l.Bind(bindings)
			for b.Loop() {
				if _, err := l.Prepare(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N), "µs")
		})
	}
}

// BenchmarkPrepare measures the preparation of an engine, without what depends on the job.
func BenchmarkPrepare(b *testing.B) {
	for b.Loop() {
		if _, err := newRuntime(&programCache{}); err != nil {
			b.Fatal(err)
		}
	}
}
