package worker

import (
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// meter measures what the runtime holds above what it held before the first job, in
// bytes. What an earlier script left for the collector counts until that has run,
// which it does before a job comes to its limit.
type meter struct{ base, limit int64 }

func newMeter() *meter { return &meter{base: held()} }

// engineBytes is what an engine and a small script take by themselves: the meter is not
// exact enough to hold a script to less.
const engineBytes = 4 << 20

// bound has the collector try hard a little below a job's limit, before the watch acts.
func (m *meter) bound(limit int64) {
	if limit = max(limit, engineBytes); limit != m.limit { // setting it stops the world
		m.limit = limit
		debug.SetMemoryLimit(m.base + limit - limit/8)
	}
}

// full reports whether more than the bound is used.
func (m *meter) full() bool { return m.used() > m.limit }

func (m *meter) used() int64 { return held() - m.base }

func held() int64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64() - samples[1].Value.Uint64())
}

// cpuGauge measures the CPU time that this process uses from now on; nil where that is
// not available.
func cpuGauge() func() time.Duration {
	base, ok := ProcessCPU(0)
	if !ok {
		return nil
	}
	return func() time.Duration {
		now, _ := ProcessCPU(0)
		return now - base
	}
}
