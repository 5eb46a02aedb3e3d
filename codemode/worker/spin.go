package worker

import (
	"sync/atomic"
	"time"
)

const (
	// SpinFor is how long either side looks for the other's frame before it sleeps: most
	// calls to entities are over sooner, and waking a sleeper costs about half as much.
	SpinFor = 400 * time.Microsecond
	// spinMisses in a row, and the next spinRest waits sleep at once: the other side
	// is busy, or the machine is.
	spinMisses = 4
	spinRest   = 8
)

// Spin looks for something again and again for a moment before the caller sleeps.
// The zero value never does. It belongs to one goroutine, but for Spent.
type Spin struct {
	most   time.Duration
	misses int
	rest   int
	spent  atomic.Int64 // nanoseconds
}

// Allow sets how long one wait may look; 0 is not at all.
func (s *Spin) Allow(most time.Duration) { s.most, s.misses, s.rest = most, 0, 0 }

// Until calls look until it says true or the time is over, and gives what it said
// last. look is called once at least. Between two looks it gives way: the system often
// puts who is woken on the core of who woke it, and there the other side could not
// come to what is looked for.
func (s *Spin) Until(look func() bool) bool {
	if look() {
		return true
	}
	if s.most == 0 {
		return false
	}
	if s.rest > 0 {
		s.rest--
		return false
	}
	began, used := time.Now(), computed()
	for {
		found := look()
		if !found && time.Since(began) < s.most {
			giveWay()
			continue
		}
		s.spent.Add(int64(max(computed()-used, 0)))
		s.note(found)
		return found
	}
}

func (s *Spin) note(found bool) {
	if found {
		s.misses = 0
		return
	}
	if s.misses++; s.misses >= spinMisses {
		s.misses, s.rest = spinMisses-1, spinRest
	}
}

// Spent is how much all waits together have computed by looking, which is not the
// script's.
func (s *Spin) Spent() time.Duration { return time.Duration(s.spent.Load()) }
