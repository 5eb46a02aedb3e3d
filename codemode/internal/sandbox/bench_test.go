package sandbox

import (
	"context"
	"encoding/json"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// benchSandbox returns the sandbox to measure.
func benchSandbox(b *testing.B, opts Options) *Sandbox {
	s, err := New(opts)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return s
}

// BenchmarkThroughput runs trivial scripts without pauses, one per core at a time.
func BenchmarkThroughput(b *testing.B) {
	s := benchSandbox(b, Options{})
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

// flood are scripts that use up their limits.
var flood = []string{
	"for (;;);",
	"const a = []; for (;;) a.push({x: 'y' + a.length})",
	"for (;;) SDK.Entities.Todo.getById('1')",
	"'x'.repeat(2 ** 28)",
}

// BenchmarkFlood measures one caller's scripts while another caller keeps twice as many
// hostile scripts in flight as may run at once, and compares with an idle sandbox. Both are
// measured alternately, so that other load on the machine affects both. idle-ms and
// flooded-ms are the p99.
func BenchmarkFlood(b *testing.B) {
	const (
		turns = 5
		each  = 100 // scripts per turn
	)
	s := benchSandbox(b, Options{})
	var idle, flooded []time.Duration
	for range turns {
		_ = s.Warm(b.Context())
		time.Sleep(floodSettles)
		idle = append(idle, timed(b, s, each)...)
		stop := startFlood(b, s)
		time.Sleep(floodSettles)
		flooded = append(flooded, timed(b, s, each)...)
		stop()
	}
	report := func(took []time.Duration, name string) time.Duration {
		slices.Sort(took)
		p99 := took[len(took)*99/100]
		b.ReportMetric(float64(median(took).Microseconds())/1000, name+"-p50-ms")
		b.ReportMetric(float64(p99.Microseconds())/1000, name+"-ms")
		return p99
	}
	at, under := report(idle, "idle"), report(flooded, "flooded")
	b.ReportMetric(float64(under)/float64(at), "ratio")
	b.ReportMetric(0, "ns/op")
}

// floodSettles is the pause after the start or the end of a flood before scripts are
// measured.
const floodSettles = time.Second

// timed measures a caller's scripts, one after the other with pauses.
func timed(b *testing.B, s *Sandbox, n int) []time.Duration {
	j := job(`SDK.Entities.Todo.getById("1").title`)
	j.Principal = "ann"
	took := make([]time.Duration, 0, n)
	for range n {
		began := time.Now()
		r, err := s.Execute(b.Context(), j, newHost())
		took = append(took, time.Since(began))
		if err != nil || r.Fault != nil {
			b.Fatal(err, r.Fault)
		}
		time.Sleep(40 * time.Millisecond)
	}
	return took
}

// unrecordedHost does not record its calls: a flood makes millions.
type unrecordedHost struct{ *todoHost }

func (h unrecordedHost) Call(_ context.Context, id string, in json.RawMessage) (json.RawMessage, int64, error) {
	out, err := h.answer(id, in)
	return out, h.now, err
}

// startFlood starts a flood and returns a function that stops it and waits for its end.
func startFlood(b *testing.B, s *Sandbox) (stop func()) {
	ctx, cancel := context.WithCancel(b.Context())
	var all sync.WaitGroup
	for i := range 2 * s.opts.MaxWorkers {
		all.Go(func() {
			for n := i; ctx.Err() == nil; n++ {
				j := job(flood[n%len(flood)])
				j.Principal = "flood"
				_, _ = s.Execute(ctx, j, unrecordedHost{newHost()})
			}
		})
	}
	return func() {
		cancel()
		all.Wait()
	}
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// BenchmarkStart measures the start of a worker until it is ready, in wall time and CPU time,
// and its memory then: for this executable and for the executables beside it that can be
// workers (make bench builds them).
func BenchmarkStart(b *testing.B) {
	own, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	for name, path := range map[string]string{"own": own, "koan-worker": beside(own, "koan-worker"), "pantrypal": beside(own, "pantrypal")} {
		b.Run(name, func(b *testing.B) {
			if path == "" {
				b.Skip("it does not stand beside this executable")
			}
			measureStart(b, benchSandbox(b, Options{Program: path}))
		})
	}
}

// BenchmarkStartOfLargeHost is BenchmarkStart with a host that holds a gigabyte and writes to
// it all the time. touch-ms is how long writing to all of it takes after a start: the system
// copies no page, but takes a fault to find that out.
func BenchmarkStartOfLargeHost(b *testing.B) {
	held := make([]byte, 1<<30)
	touch := func() {
		for i := 0; i < len(held); i += os.Getpagesize() {
			held[i]++
		}
	}
	touch()
	s := benchSandbox(b, Options{})
	if err := s.Warm(b.Context()); err != nil {
		b.Fatal(err)
	}
	var took, touched []time.Duration
	for range max(b.N, 15) {
		began := time.Now()
		p, err := s.pool.start()
		took = append(took, time.Since(began))
		if err != nil {
			b.Fatal(err)
		}
		p.end(killedDone)
		began = time.Now()
		touch()
		touched = append(touched, time.Since(began))
	}
	b.ReportMetric(milliseconds(median(took)), "start-ms")
	b.ReportMetric(milliseconds(median(touched)), "touch-ms")
	b.ReportMetric(0, "ns/op")
}

func measureStart(b *testing.B, s *Sandbox) {
	if err := s.Warm(b.Context()); err != nil {
		b.Fatal(err)
	}
	var took, computed []time.Duration
	var private int64
	for range max(b.N, 15) {
		began := time.Now()
		p, err := s.pool.start()
		took = append(took, time.Since(began))
		if err != nil {
			b.Fatal(err)
		}
		private = privateDirty(p.proc.Pid)
		p.end(killedDone)
		computed = append(computed, p.state.UserTime()+p.state.SystemTime())
	}
	b.ReportMetric(milliseconds(median(took)), "start-ms")
	b.ReportMetric(milliseconds(median(computed)), "cpu-ms")
	b.ReportMetric(float64(private)/1024, "private-MB")
	b.ReportMetric(0, "ns/op")
}

// privateDirty returns kilobytes.
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
