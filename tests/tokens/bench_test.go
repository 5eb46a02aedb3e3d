package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/koantest"
)

// BenchmarkFirstList is what the first tools/list of a view costs, in ms.
func BenchmarkFirstList(b *testing.B) {
	_, app := open(b)
	for _, n := range []int{4, 50, 200} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				grown, err := grow(app.Snapshot(), n)
				require.NoError(b, err)
				b.StartTimer()
				koantest.Tools(grown.View(auth.Local(), exposure.Full, false), "auto")
			}
			b.ReportMetric(b.Elapsed().Seconds()*1000/float64(b.N), "ms")
		})
	}
}
