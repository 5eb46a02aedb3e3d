package worker

import "testing"

// BenchmarkPrepare makes a fresh engine with all that does not depend on the job.
func BenchmarkPrepare(b *testing.B) {
	for b.Loop() {
		if _, err := prepare(); err != nil {
			b.Fatal(err)
		}
	}
}
