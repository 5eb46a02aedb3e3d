package sandbox

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/koan-go/koan/codemode/wire"
)

// BenchmarkScript runs a script with 0, 10 and 1,000 calls in a confined worker
// and reports it as a ratio to the same script in this process.
func BenchmarkScript(b *testing.B) {
	s := box(b)
	for _, calls := range []int{0, 10, 1000} {
		b.Run(strconv.Itoa(calls), func(b *testing.B) {
			j := job(`for (let i = 0; i < SDK.args; i++) SDK.Entities.Todo.getById("1"); 1`)
			j.Args = []byte(strconv.Itoa(calls))
			raw := measure(b, NewInProcess(), j, nil)
			confined := measure(b, s, j, func() { _ = s.Warm(context.Background()) })
			b.ReportMetric(float64(raw.Microseconds())/1000, "inprocess-ms")
			b.ReportMetric(float64(confined.Microseconds())/1000, "confined-ms")
			b.ReportMetric(float64(confined)/float64(raw), "ratio")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// measure gives the median of a job's duration; rest runs between two.
func measure(b *testing.B, x wire.Executor, j *wire.Job, rest func()) time.Duration {
	h := newHost()
	var took []time.Duration
	for range max(b.N, 15) {
		if rest != nil {
			rest()
		}
		h.calls, h.inputs = h.calls[:0], h.inputs[:0]
		began := time.Now()
		r, err := x.Execute(context.Background(), j, h)
		took = append(took, time.Since(began))
		if err != nil || r.Fault != nil {
			b.Fatal(err, r.Fault)
		}
	}
	return median(took)
}

func median(d []time.Duration) time.Duration {
	for i := range d {
		for k := i; k > 0 && d[k] < d[k-1]; k-- {
			d[k], d[k-1] = d[k-1], d[k]
		}
	}
	return d[len(d)/2]
}

// BenchmarkStart measures a worker from nothing to ready, and what it holds then.
func BenchmarkStart(b *testing.B) {
	s := box(b)
	var took []time.Duration
	var private int64
	for range max(b.N, 15) {
		began := time.Now()
		p, err := s.pool.start()
		took = append(took, time.Since(began))
		if err != nil {
			b.Fatal(err)
		}
		private = privateDirty(p.cmd.Process.Pid)
		p.end(killedDone)
		s.pool.forget(p)
	}
	b.ReportMetric(float64(median(took).Microseconds())/1000, "start-ms")
	b.ReportMetric(float64(private)/1024, "private-MB")
	b.ReportMetric(0, "ns/op")
}

// privateDirty gives kilobytes.
func privateDirty(pid int) int64 {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "Private_Dirty:"); ok {
			n, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return n
		}
	}
	return 0
}
