package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/koan-go/koan/codemode/worker"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/sample-pantrypal/app"
)

const (
	// journalRounds is how often each app has its turn, and journalTurn how many runs
	// that is: some, because what is written is written for several runs at once.
	journalRounds, journalTurn = 16, 20
	// settled is when what a run left behind has been done.
	settled = 20 * time.Millisecond
	// written is when all that is kept of the runs before is in the database.
	written = 1100 * time.Millisecond
)

// BenchmarkJournal is what keeping a run costs, as a share of the whole run: a script
// of ten reads as its caller sees it, from the call of koan.code.execute to its
// answer, in a confined worker. Three apps run it by turns: one that
// keeps nothing, one with a journal, and one with a journal and all that a replay
// needs (replay.keep: scripts, as apps have it). The goal of 5 % is against the first.
//
// By the clock: the mean of an app's runs, without the tenth at either end. Writing
// happens beside more runs than that, and stays in. Computing time: what this process
// needs more per turn, with what is written beside the runs and after them, as
// a share of what all of a run takes, its worker included. Workers know nothing of
// what is kept, so what theirs differ by is noise and stays out. Both come with the
// range that 90 of 100 such measurements would be in (rounds drawn again and again).
func BenchmarkJournal(b *testing.B) {
	apps := []*kept{
		startKept(b, koantest.Setting{Key: "journal.enabled", Value: "false"}),
		startKept(b, koantest.Setting{Key: "journal.enabled", Value: "true"}),
		startKept(b, koantest.Setting{Key: "journal.enabled", Value: "true"}, koantest.Setting{Key: "replay.keep", Value: "scripts"}),
	}
	for _, k := range apps {
		k.turn(b)
	}
	rounds := make([][]turn, max(b.N, journalRounds))
	for n := range rounds {
		rounds[n] = make([]turn, len(apps))
		for t := range apps {
			i := (n + t) % len(apps) // none is always first
			rounds[n][i] = apps[i].turn(b)
		}
	}
	wall := func(i int) func(r [][]turn) float64 {
		return func(r [][]turn) float64 { return clock(r, i) / clock(r, 0) }
	}
	cpu := func(i int) func(r [][]turn) float64 {
		return func(r [][]turn) float64 { return 1 + more(r, i)/whole(r) }
	}
	spread(b, "ratio", rounds, wall(1))
	spread(b, "cpu-ratio", rounds, cpu(1))
	spread(b, "tape-ratio", rounds, wall(2))
	spread(b, "tape-cpu-ratio", rounds, cpu(2))
	b.ReportMetric(clock(rounds, 0)/1e3, "raw-µs")
	b.ReportMetric(whole(rounds)/1e3/journalTurn, "raw-cpu-µs")
	b.ReportMetric(0, "ns/op")
}

// turn is what some runs of an app in a row took.
type turn struct {
	runs      []time.Duration // by the clock
	host, all time.Duration   // computing: this process, and with its workers
}

// clock is how long a run of an app takes, in nanoseconds.
func clock(rounds [][]turn, app int) float64 {
	var runs []float64
	for _, r := range rounds {
		for _, d := range r[app].runs {
			runs = append(runs, float64(d))
		}
	}
	return trimmed(runs)
}

// more is how much more this process computes in a turn of an app than in one of
// the first.
func more(rounds [][]turn, app int) float64 {
	var of []float64
	for _, r := range rounds {
		of = append(of, float64(r[app].host-r[0].host))
	}
	return trimmed(of)
}

// whole is what a turn of the first app computes.
func whole(rounds [][]turn) float64 {
	var of []float64
	for _, r := range rounds {
		of = append(of, float64(r[0].all))
	}
	return trimmed(of)
}

// trimmed is the mean of what is left when the tenth at either end is gone.
func trimmed(of []float64) (mean float64) {
	slices.Sort(of)
	of = of[len(of)/10 : len(of)-len(of)/10]
	for _, v := range of {
		mean += v / float64(len(of))
	}
	return mean
}

// spread reports a figure, and the range in which it is.
func spread(b *testing.B, unit string, rounds [][]turn, figure func([][]turn) float64) {
	const draws = 400
	random, drawn, found := rand.New(rand.NewPCG(1, 2)), make([][]turn, len(rounds)), make([]float64, draws)
	for i := range found {
		for n := range drawn {
			drawn[n] = rounds[random.IntN(len(rounds))]
		}
		found[i] = figure(drawn)
	}
	slices.Sort(found)
	b.ReportMetric(figure(rounds), unit)
	b.ReportMetric(found[draws/20], unit+"-from")
	b.ReportMetric(found[draws-1-draws/20], unit+"-to")
}

// kept is an app that runs scripts in workers.
type kept struct {
	kit    *koantest.Kit
	recipe string
}

func startKept(b *testing.B, settings ...koantest.Setting) *kept {
	k := &kept{kit: koantest.NewConfined(b, app.New(), settings...)}
	k.kit.Run(`SDK.Entities.Recipe.collection({ pageSize: 1 }).items[0].id`, koantest.Input{}).ResultInto(&k.recipe)
	return k
}

// turn runs the script some times, and waits until nothing is left to write.
func (k *kept) turn(b *testing.B) (t turn) {
	runtime.GC() // what the one before left is not in this turn
	host, workers := computing(syscall.RUSAGE_SELF), workersCPU(b)
	for range journalTurn {
		time.Sleep(settled)
		began := time.Now()
		k.kit.Run(reading, koantest.Input{Args: map[string]any{"calls": 10, "id": k.recipe}})
		t.runs = append(t.runs, time.Since(began))
	}
	time.Sleep(written)
	t.host = computing(syscall.RUSAGE_SELF) - host
	t.all = t.host + workersCPU(b) - workers
	return t
}

// workersCPU is the computing time of the workers, those that live and those that
// have ended.
func workersCPU(b *testing.B) time.Duration {
	total := computing(syscall.RUSAGE_CHILDREN)
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		b.Fatal(err)
	}
	for _, stat := range stats {
		raw, _ := os.ReadFile(stat) // of a process that ended in between there is nothing
		_, rest, _ := strings.Cut(string(raw), ") ")
		if fields := strings.Fields(rest); len(fields) < 2 || fields[1] != strconv.Itoa(os.Getpid()) {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(stat)))
		used, _ := worker.ProcessCPU(pid)
		total += used
	}
	return total
}

// computing is the computing time of this process, or of its children that have ended.
func computing(who int) time.Duration {
	var r syscall.Rusage
	_ = syscall.Getrusage(who, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
