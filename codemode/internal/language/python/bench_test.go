package python_test

import (
	"context"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkScripts runs scripts of one caller, each in a process that its zygote forks: the median and the
// ninety-fifth of a hundred.
func BenchmarkScripts(b *testing.B) {
	for name, c := range map[string]struct {
		code    string
		modules []string
	}{
		"trivial":   {"6 * 7", nil},
		"100 calls": {"n = 0\nfor _ in range(100): n += SDK.Entities.Todo.count()\nn", nil},
		"numpy":     {"import numpy as np\nint(np.arange(10).sum())", []string{"numpy"}},
	} {
		b.Run(name, func(b *testing.B) {
			s := withModules(b, c.modules...)
			var took []time.Duration
			run := func() {
				began := time.Now()
				r, err := s.Execute(b.Context(), job(c.code), &host{})
				require.NoError(b, err)
				require.Nil(b, r.Fault)
				took = append(took, time.Since(began))
			}
			run() // starts the zygote
			took = nil
			for b.Loop() {
				run()
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
			b.ReportMetric(float64(zygoteMemory(b))/(1<<20), "pss-MB")
		})
	}
}

// BenchmarkSixteen runs trivial scripts of one caller, sixteen at once.
func BenchmarkSixteen(b *testing.B) {
	s := withModules(b)
	run := func() {
		r, err := s.Execute(context.Background(), job("6 * 7"), &host{})
		require.NoError(b, err)
		require.Nil(b, r.Fault)
	}
	b.SetParallelism(8) // of two processors
	began := time.Now()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			run()
		}
	})
	b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "scripts/s")
}

// zygoteMemory is the proportional share of memory of the largest interpreter that this process has started, in
// bytes.
func zygoteMemory(b *testing.B) (most int64) {
	b.Helper()
	processes, err := os.ReadDir("/proc")
	require.NoError(b, err)
	for _, p := range processes {
		line, err := os.ReadFile("/proc/" + p.Name() + "/cmdline")
		if err != nil || !strings.HasPrefix(string(line), debian) {
			continue
		}
		rollup, err := os.ReadFile("/proc/" + p.Name() + "/smaps_rollup")
		if err != nil {
			continue
		}
		for text := range strings.Lines(string(rollup)) {
			if f := strings.Fields(text); len(f) == 3 && f[0] == "Pss:" {
				kb, err := strconv.ParseInt(f[1], 10, 64)
				require.NoError(b, err)
				most = max(most, kb<<10)
			}
		}
	}
	return most
}
