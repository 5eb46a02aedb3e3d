package worker

import (
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// meter measures the memory that the Go runtime holds in addition to what it held before the
// first job, in bytes. Garbage of an earlier script counts until the collector has run, which
// happens before a job reaches its limit.
type meter struct{ base, limit, collect int64 }

func newMeter() *meter { return &meter{base: runtimeBytes()} }

// engineBytes is the lowest limit that is enforced, in bytes: an engine and a small script need
// this much, and the meter is not precise enough for less.
const engineBytes = 4 << 20

// setLimits sets the memory limit of a job, and the lower one of the collector, which frees
// what it can before the script is stopped. Both are in bytes.
func (m *meter) setLimits(limit, collect int64) {
	m.limit = max(limit, engineBytes)
	if collect = max(collect, engineBytes-engineBytes/8); collect != m.collect { // setting it stops the world
		m.collect = collect
		debug.SetMemoryLimit(m.base + collect)
	}
}

// full reports whether more than the limit is used.
func (m *meter) full() bool { return m.used() > m.limit }

func (m *meter) used() int64 { return runtimeBytes() - m.base }

func runtimeBytes() int64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64() - samples[1].Value.Uint64())
}

// cpuGauge returns a function that returns the CPU time that this process has used since the
// call of cpuGauge; nil if that is not available.
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
