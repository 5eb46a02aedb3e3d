package e2e

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// eachStaysFlat goes through many rows with `each` and through a tenth of them, and
// checks that the server and its workers need the same memory for both.
func eachStaysFlat(t *testing.T, rows int) {
	t.Helper()
	p := newApp(t).serve("--sandbox.cpuMs", "120000", "--sandbox.timeoutMs", "180000", "--server.toolTimeoutMs", "200000")
	for done := 0; done < rows; done += 5000 {
		e := p.execute(`SDK.Entities.Todo.upsertMany(Array.from({ length: 5000 }, (_, i) => ({ id: "row-" + (SDK.args.done + i), title: "One of very many, with some text", views: SDK.args.done + i }))).length`, input{"args": input{"done": done}})
		require.True(t, e.Success, "%+v", e.Error)
	}
	through := func(n int) int64 {
		peak := watchMemory(p.cmd.Process.Pid)
		e := p.execute(`let n = 0; for (const t of SDK.Entities.Todo.each({ filter: { views: { $lt: SDK.args.n }, title: { $startsWith: "One" } }, pageSize: 200 })) n += t.title.length > 0 ? 1 : 0; n`, input{"args": input{"n": n}})
		require.True(t, e.Success, "%+v", e.Error)
		require.EqualValues(t, n, e.Result)
		return peak()
	}
	few := int64(0) // at the most: at times the pool has one worker more, for a moment
	for range 5 {
		few = max(few, through(rows/10))
	}
	many := through(rows)
	t.Logf("%d rows: %d MB, %d rows: %d MB, server and workers together", rows/10, few>>20, rows, many>>20)
	require.Less(t, many, few+few/4+(16<<20), "memory does not grow with the rows")
}

// watchMemory samples the resident memory of a process and its children, in bytes,
// and returns a function that ends it and returns the peak.
func watchMemory(pid int) (peak func() int64) {
	end, most := make(chan struct{}), make(chan int64)
	go func() {
		top := int64(0)
		for ended := false; !ended; {
			total := resident(pid)
			for _, child := range children(pid) {
				total += resident(child)
			}
			top = max(top, total)
			select {
			case <-end:
				ended = true
			case <-time.After(20 * time.Millisecond):
			}
		}
		most <- top
	}()
	return func() int64 { close(end); return <-most }
}

// children are the processes that another one started.
func children(pid int) (out []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, stat := range stats {
		raw, err := os.ReadFile(stat)
		if err != nil {
			continue // it ended in between
		}
		text := string(raw)
		f := strings.Fields(text[strings.LastIndex(text, ")")+1:])
		if child, err := strconv.Atoi(filepath.Base(filepath.Dir(stat))); err == nil && len(f) > 1 && f[1] == strconv.Itoa(pid) {
			out = append(out, child)
		}
	}
	return out
}

// resident is the resident memory of a process in bytes, 0 where it has ended.
func resident(pid int) int64 {
	raw, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "statm"))
	if err != nil {
		return 0
	}
	f := strings.Fields(string(raw))
	if len(f) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(f[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

// TestEachStaysFlat is the short form of TestSoakEachStaysFlat.
func TestEachStaysFlat(t *testing.T) { eachStaysFlat(t, 20_000) }
