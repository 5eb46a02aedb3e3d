package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run"
)

// BenchmarkJournal is what runs cost with a journal against the same without, by
// the clock and in computing time; what is written beside them is in the latter.
// Runs are in the test's own process, so that there is as little of them as can be.
func BenchmarkJournal(b *testing.B) {
	if forEach(b, BenchmarkJournal) {
		return
	}
	kept := startJournaled(b, place(b), nil)
	plain := startJournaled(b, place(b), map[string]any{"journal.enabled": false, "journal.expose": false})
	for _, j := range []*journaled{kept, plain} {
		for i := range 20 {
			j.call("Todo.upsert", fmt.Sprintf(`{"model":{"id":"t%d","title":"Todo"}}`, i))
		}
	}
	code := `const open = SDK.Entities.Todo.collection({filter: {completed: false}});`
	spec := run.Spec{Atomic: true, Script: run.Script{Code: code, CodeDigest: journal.Digest([]byte(code)), Runtime: "goja"}}
	script := func(reads int) func(j *journaled) {
		return func(j *journaled) {
			require.NoError(b, j.run(spec, func(ctx context.Context, a *run.Attempt) (run.Return, error) {
				for i := range reads {
					if err := invoke(ctx, a, "Todo.get-by-id", fmt.Sprintf(`{"id":"t%d"}`, i%20)); err != nil {
						return run.Return{}, err
					}
				}
				return run.Return{Result: json.RawMessage(`1`)}, invoke(ctx, a, "Todo.patch", `{"id":"t1","changes":{"title":"Done"}}`)
			}))
		}
	}
	for _, shape := range []struct {
		name string
		turn int // runs in a row
		do   func(j *journaled)
	}{
		{"Read", 1000, func(j *journaled) { j.call("Todo.get-by-id", `{"id":"t1"}`) }},
		{"Write", 200, func(j *journaled) { j.call("Todo.patch", `{"id":"t1","changes":{"title":"Done"}}`) }},
		{"Script10", 100, script(10)},
		{"Script100", 20, script(100)},
	} {
		b.Run(shape.name, func(b *testing.B) {
			var walls, cpus, raw, rawCPU []float64
			for b.Loop() {
				var wall, cpu [2]time.Duration
				for i, j := range []*journaled{kept, plain} {
					began, used := time.Now(), computing()
					for range shape.turn {
						shape.do(j)
					}
					wall[i] = time.Since(began)
					if i == 0 {
						_, _, _ = j.try("KoanRun.get-by-id", `{"id":"none"}`) // what is left to write counts, too
					}
					cpu[i] = computing() - used
				}
				walls, cpus = append(walls, float64(wall[0])/float64(wall[1])), append(cpus, float64(cpu[0])/float64(cpu[1]))
				raw, rawCPU = append(raw, float64(wall[1])/1e3/float64(shape.turn)), append(rawCPU, float64(cpu[1])/1e3/float64(shape.turn))
			}
			b.ReportMetric(middle(walls), "ratio")
			b.ReportMetric(middle(cpus), "cpu-ratio")
			b.ReportMetric(middle(raw), "raw-µs")
			b.ReportMetric(middle(rawCPU), "raw-cpu-µs")
		})
	}
}

// middle is the median: other work on the machine is in some turns, and not in
// others.
func middle(of []float64) float64 {
	slices.Sort(of)
	return of[len(of)/2]
}

// computing is the process's computing time.
func computing() time.Duration {
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
