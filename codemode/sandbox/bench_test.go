package sandbox

import (
	"context"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// programVariable names the executable whose workers are measured; without it, this
// one's are. Both must carry the same stamp (Makefile, bench).
const programVariable = "KOAN_BENCH_WORKER"

// benched is the sandbox that is measured.
func benched(b *testing.B, opts Options) *Sandbox {
	opts.Program = os.Getenv(programVariable)
	s, err := New(opts)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return s
}

// BenchmarkThroughput runs trivial scripts without a pause, as many at once as
// there are cores.
func BenchmarkThroughput(b *testing.B) {
	s := benched(b, Options{})
	if err := s.Warm(b.Context()); err != nil {
		b.Fatal(err)
	}
	const scripts = 150
	j := job("6 * 7")
	began := time.Now()
	var wg sync.WaitGroup
	for range runtime.NumCPU() {
		wg.Go(func() {
			for range scripts / runtime.NumCPU() {
				if r, err := s.Execute(context.Background(), j, newHost()); err != nil || r.Fault != nil {
					b.Error(err, r.Fault)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(scripts/time.Since(began).Seconds(), "scripts/s")
	b.ReportMetric(0, "ns/op")
}

// flood are scripts that use all that they may.
var flood = []string{
	"for (;;);",
	"const a = []; for (;;) a.push({x: 'y' + a.length})",
	"for (;;) SDK.Entities.Todo.getById('1')",
	"'x'.repeat(2 ** 28)",
}

// BenchmarkFlood measures one caller's scripts while another caller keeps twice as
// many hostile ones under way as may run at once, against the same on an idle
// machine.
func BenchmarkFlood(b *testing.B) {
	s := benched(b, Options{})
	_ = s.Warm(b.Context())
	ask := func(n int) time.Duration {
		j := job(`SDK.Entities.Todo.getById("1").title`)
		j.Principal = "ann"
		var took []time.Duration
		for range n {
			began := time.Now()
			r, err := s.Execute(b.Context(), j, newHost())
			took = append(took, time.Since(began))
			if err != nil || r.Fault != nil {
				b.Fatal(err, r.Fault)
			}
			time.Sleep(40 * time.Millisecond)
		}
		slices.Sort(took)
		return took[len(took)*99/100]
	}
	idle := ask(300)
	ctx, cancel := context.WithCancel(b.Context())
	var wg sync.WaitGroup
	for i := range 2 * s.opts.MaxWorkers {
		wg.Go(func() {
			for n := i; ctx.Err() == nil; n++ {
				j := job(flood[n%len(flood)])
				j.Principal = "flood"
				_, _ = s.Execute(ctx, j, newHost())
			}
		})
	}
	time.Sleep(time.Second)
	flooded := ask(300)
	cancel()
	wg.Wait()
	b.ReportMetric(float64(idle.Microseconds())/1000, "idle-ms")
	b.ReportMetric(float64(flooded.Microseconds())/1000, "flooded-ms")
	b.ReportMetric(float64(flooded)/float64(idle), "ratio")
	b.ReportMetric(0, "ns/op")
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// BenchmarkStart measures a worker from nothing to ready, by the clock and in
// computing, and what it holds then; and one that is hurried.
func BenchmarkStart(b *testing.B) {
	for _, hurried := range []bool{false, true} {
		b.Run(map[bool]string{false: "Rehearsed", true: "Hurried"}[hurried], func(b *testing.B) {
			s := benched(b, Options{})
			if err := s.Warm(b.Context()); err != nil {
				b.Fatal(err)
			}
			var took, computed []time.Duration
			var private int64
			for range max(b.N, 15) {
				began := time.Now()
				p, err := s.pool.start(hurried)
				took = append(took, time.Since(began))
				if err != nil {
					b.Fatal(err)
				}
				private = privateDirty(p.cmd.Process.Pid)
				p.end(killedDone)
				s.pool.forget(p)
				computed = append(computed, p.cmd.ProcessState.UserTime()+p.cmd.ProcessState.SystemTime())
			}
			b.ReportMetric(float64(median(took).Microseconds())/1000, "start-ms")
			b.ReportMetric(float64(median(computed).Microseconds())/1000, "cpu-ms")
			b.ReportMetric(float64(private)/1024, "private-MB")
			b.ReportMetric(0, "ns/op")
		})
	}
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
