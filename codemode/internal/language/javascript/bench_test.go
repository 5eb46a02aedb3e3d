package javascript

import "testing"

// BenchmarkPrepare measures the preparation of an engine, without what depends on the job.
func BenchmarkPrepare(b *testing.B) {
	for b.Loop() {
		if _, err := newRuntime(&programCache{}); err != nil {
			b.Fatal(err)
		}
	}
}
