package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/koan-go/koan/codemode/internal/wire"
)

// totalCPU returns the CPU time of this process and of its reaped children.
func totalCPU() time.Duration {
	var sum time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if syscall.Getrusage(who, &u) == nil {
			sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
	return sum
}

// callsOf is a script that makes SDK.args.calls calls.
const callsOf = `let n = 0; for (let i = 0; i < SDK.args.calls; i++) n += SDK.Entities.Todo.getById("1").title.length; n`

// BenchmarkScript runs scripts of one caller: one after the other, and 16 at once. p50-ms
// and p99-ms are times per script, cpu-ms the CPU time of host and workers per script.
func BenchmarkScript(b *testing.B) {
	for _, c := range []struct {
		calls, clients int
		fresh          bool
	}{{0, 1, false}, {10, 1, false}, {100, 1, false}, {0, 16, false}, {10, 16, false}, {100, 16, false}, {0, 1, true}, {0, 16, true}} {
		b.Run(fmt.Sprintf("calls=%d/clients=%d/fresh=%t", c.calls, c.clients, c.fresh), func(b *testing.B) {
			s := benchSandbox(b, Options{Fresh: c.fresh})
			j := job(callsOf)
			j.Principal, j.Args = "ann", json.RawMessage(fmt.Sprintf(`{"calls":%d}`, c.calls))
			measureScripts(b, s, j, c.clients)
		})
	}
}

// measureScripts runs a job many times, from several clients at once.
func measureScripts(b *testing.B, s *Sandbox, j *wire.Job, clients int) {
	if err := s.Warm(b.Context()); err != nil {
		b.Fatal(err)
	}
	for range 2 * clients {
		_, _ = s.Execute(context.Background(), j, unrecordedHost{newHost()})
	}
	n := max(b.N, 300)
	took := make([][]time.Duration, clients)
	used, began := totalCPU(), time.Now()
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			for range n / clients {
				at := time.Now()
				r, err := s.Execute(context.Background(), j, unrecordedHost{newHost()})
				if err != nil || r.Fault != nil {
					b.Error(err, r.Fault)
					return
				}
				took[i] = append(took[i], time.Since(at))
			}
		})
	}
	wg.Wait()
	elapsed := time.Since(began)
	_ = s.Close() // reaps the workers, so that their CPU time counts
	used = totalCPU() - used
	all := slices.Concat(took...)
	slices.Sort(all)
	b.ReportMetric(milliseconds(all[len(all)/2]), "p50-ms")
	b.ReportMetric(milliseconds(all[len(all)*99/100]), "p99-ms")
	b.ReportMetric(float64(len(all))/elapsed.Seconds(), "scripts/s")
	b.ReportMetric(milliseconds(used)/float64(len(all)), "cpu-ms")
	b.ReportMetric(0, "ns/op")
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
