package run

import (
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"

	"github.com/koan-go/koan/framework/fault"
)

// What the host keeps for a run besides the data that its calls give, in bytes:
// estimates on the high side.
const (
	// callBytes is for one call: its records for the reply and for the journal, and the
	// script's clock after it.
	callBytes = 640
	// entryBytes is for one entry of a tape besides what is recorded.
	entryBytes = 160
)

// budget bounds what the runs of an engine make this process hold, in bytes: one run,
// and all of them together. It counts what was estimated or measured before it is
// kept, not what the runtime takes for it.
type budget struct {
	run, all int64
	held     atomic.Int64 // by all runs
	garbage  atomic.Int64 // of large inputs and outputs since the garbage was collected
}

// account is what one run holds of the budget.
type account struct {
	budget *budget
	held   atomic.Int64
}

func (b *budget) open() *account { return &account{budget: b} }

// take counts n more bytes. Where the run, or all runs together, would hold more than
// they may, nothing is counted and the fault says which.
func (c *account) take(n int64) *fault.Fault {
	b := c.budget
	if c.held.Add(n) > b.run {
		c.held.Add(-n)
		return runHoldsTooMuch(b.run)
	}
	if b.held.Add(n) > b.all {
		b.held.Add(-n)
		c.held.Add(-n)
		return serverHoldsTooMuch(b.all)
	}
	return nil
}

// add counts n more bytes that are there already.
func (c *account) add(n int64) {
	c.held.Add(n)
	c.budget.held.Add(n)
}

// give takes n bytes off the count.
func (c *account) give(n int64) { c.add(-n) }

// close ends the account: nothing of the run is held any more.
func (c *account) close() { c.give(c.held.Load()) }

// free is how much more the run may hold.
func (c *account) free() int64 {
	return max(0, min(c.budget.run-c.held.Load(), c.budget.all-c.budget.held.Load()))
}

func runHoldsTooMuch(most int64) *fault.Fault {
	return fault.Newf(fault.MemoryExceeded, "the server would have to hold more than %d bytes for this run (run.maxBytes)", most).
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

// share is the part of an account that ends with an attempt.
type share struct {
	mu    sync.Mutex
	held  int64
	ended bool
}

// Hold counts n bytes that the host is going to keep for the attempt, until it ends or
// Release. It ends in memory_exceeded, and the attempt with it, where that would be
// more than run.maxBytes; nothing is to be kept then.
func (a *Attempt) Hold(n int) error {
	s := &a.share
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return a.finish(errClosed)
	}
	f := a.run.account.take(int64(n))
	if f == nil {
		s.held += int64(n)
	}
	s.mu.Unlock()
	if f != nil {
		return a.finish(f)
	}
	return nil
}

// Release takes off the count what Hold has counted and is not kept any more.
func (a *Attempt) Release(n int) {
	s := &a.share
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.held -= int64(n)
		a.run.account.give(int64(n))
	}
}

// Room is how many more bytes Hold would count now.
func (a *Attempt) Room() int { return int(a.run.account.free()) }

// dropShare ends the attempt's share.
func (a *Attempt) dropShare() {
	s := &a.share
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.ended = true
		a.run.account.give(s.held)
	}
}

// useTape takes a tape, and counts what is on it.
func (r *Run) useTape(t Tape) {
	if m, ok := t.(*memoryTape); ok {
		m.attachAccount(r.account)
	}
	r.tape = t
}

// The garbage of large inputs and outputs is collected after so many bytes of them, and
// of a large heap no more often than by itself.
const (
	collectEvery = 4 << 20
	collectShare = 8 // of what is live
)

// large is how long an input or output must be to count for that, in bytes.
const large = 256 << 10

// noteGarbage counts the bytes of a call's input and output. What a large text becomes on its
// way to the database and back is several times its size, and garbage as soon as the call
// is over: by itself Go would collect it only when the heap has doubled.
func (b *budget) noteGarbage(n int) {
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
