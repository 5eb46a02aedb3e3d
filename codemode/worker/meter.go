package worker

import (
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// meter bounds the heap of a job and gives the measure of it that the watch
// reads: bytes that the runtime holds above those at the start.
func meter(limit int64) func() int64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	held := func() int64 {
		metrics.Read(samples)
		return int64(samples[0].Value.Uint64() - samples[1].Value.Uint64())
	}
	base := held()
	// A little below the limit, the collector tries hard before the watch acts.
	debug.SetMemoryLimit(base + limit - limit/8)
	return func() int64 { return held() - base }
}

// cpuGauge measures the CPU time that this process uses from now on, without what
// it spends looking for answers; nil where it is not to be had. Looking is measured by
// the clock, so on a busy machine it may seem longer than all that was computed.
func cpuGauge(spin *Spin) func() time.Duration {
	base, ok := ProcessCPU(0)
	if !ok {
		return nil
	}
	base -= spin.Spent()
	return func() time.Duration {
		now, _ := ProcessCPU(0)
		return max(now-base-spin.Spent(), 0)
	}
}
