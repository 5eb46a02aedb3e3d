// Package budget bounds what runs make the host hold, in bytes.
//
// What belongs here: counting, what gives way to what, and estimating what a JSON text takes once
// it is decoded. Not here: what is held.
package budget

import (
	"runtime"
	"runtime/metrics"
	"sync/atomic"

	"github.com/koan-go/koan/framework/fault"
)

// Budget bounds what the runs of an engine make this process hold, in bytes: one run,
// and all of them together. It counts what was estimated or measured before it is
// kept, not what the runtime takes for it.
type Budget struct {
	run, all int64
	used     atomic.Int64 // by all runs
	garbage  atomic.Int64 // of large inputs and outputs since the garbage was collected
}

// New returns a budget of so much for one run, and for all together.
func New(run, all int64) *Budget { return &Budget{run: run, all: all} }

// Run is how much one run may hold.
func (b *Budget) Run() int64 { return b.run }

// Account is what one run holds of the budget.
type Account struct {
	budget *Budget
	used   atomic.Int64
}

// Open opens the account of a run.
func (b *Budget) Open() *Account { return &Account{budget: b} }

// Take counts n more bytes. Where the run, or all runs together, would hold more than
// they may, nothing is counted and the fault says which.
func (c *Account) Take(n int64) error {
	b := c.budget
	if c.used.Add(n) > b.run {
		c.used.Add(-n)
		return runHoldsTooMuch(b.run, "run.maxBytes")
	}
	if b.used.Add(n) > b.all {
		b.used.Add(-n)
		if c.used.Add(-n)+n > b.all { // there is no room for it when others have ended, either
			return runHoldsTooMuch(b.all, "run.maxTotalMb")
		}
		return serverHoldsTooMuch(b.all)
	}
	return nil
}

// Add counts n more bytes that are there already.
func (c *Account) Add(n int64) {
	c.used.Add(n)
	c.budget.used.Add(n)
}

// Give takes n bytes off the count.
func (c *Account) Give(n int64) { c.Add(-n) }

// Close ends the account: nothing of the run is held any more.
func (c *Account) Close() { c.Give(c.used.Load()) }

// Free is how much more the run may hold.
func (c *Account) Free() int64 {
	return max(0, min(c.budget.run-c.used.Load(), c.budget.all-c.budget.used.Load()))
}

func runHoldsTooMuch(most int64, key string) *fault.Fault {
	return fault.Newf(fault.MemoryExceeded, "the server would have to hold more than %d bytes for this run (%s)", most, key).
		WithHint("Send smaller batches, each in a run of its own: change fewer or narrower rows at once, and fetch less from plugins. `dryRun`, `include: [\"changes\"]` and rules of approval keep each row before and after.").
		WithDetails(map[string]any{"limit": "host", "limitBytes": most})
}

// serverHoldsTooMuch is not the run's own doing: the same run may succeed when others
// have ended.
func serverHoldsTooMuch(most int64) *fault.Fault {
	return fault.Newf(fault.MemoryExceeded, "the server already holds the %d bytes that it may hold for all runs together (run.maxTotalMb)", most).
		WithRetry(fault.Safe).WithHint("Try again when other runs have ended, or do less in one run.").
		WithDetails(map[string]any{"limit": "server", "limitBytes": most})
}

// The garbage of large inputs and outputs is collected after so many bytes of them, and
// of a large heap no more often than by itself.
const (
	collectEvery = 4 << 20
	collectShare = 8 // of what is live
)

// large is how long an input or output must be to count for that, in bytes.
const large = 256 << 10

// NoteGarbage counts the bytes of a call's input and output. What a large text becomes on its
// way to the database and back is several times its size, and garbage as soon as the call
// is over: by itself Go would collect it only when the heap has doubled.
func (b *Budget) NoteGarbage(n int) {
	if n < large {
		return
	}
	total := b.garbage.Add(int64(n))
	if total < collectEvery || total < liveHeap()/collectShare || !b.garbage.CompareAndSwap(total, 0) {
		return
	}
	runtime.GC()
}

// liveHeap is how many bytes were live when the heap was collected last.
func liveHeap() int64 {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return int64(live[0].Value.Uint64())
}
