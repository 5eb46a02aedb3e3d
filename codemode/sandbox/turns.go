package sandbox

import (
	"runtime"
	"time"
)

const (
	// turnSlack is how much longer than its CPU limit a script may have the turn by
	// the clock while it has the machine for itself.
	turnSlack = 100 * time.Millisecond
	// sharing is what a job among more jobs than cores may lose to the others on top
	// of its even share: collectors, and the host that serves them.
	sharing = 1.5
	// yielding is what is due to a job that yields to others.
	yielding = 0.25
)

// turns turns the time in which a script had the turn into the CPU time that was
// its due. A script ends by what it used; where something outside keeps the CPU
// from it, it ends by what it should have used, so that the answer is punctual.
// Jobs that wait for each other do not count it against each other.
type turns struct {
	crowd  func() int
	yields bool
	last   time.Duration
	sum    time.Duration
}

// due takes how long the script has had the turn so far.
func (t *turns) due(active time.Duration) time.Duration {
	share := 1.0
	if jobs, cores := t.crowd(), runtime.NumCPU(); jobs > cores {
		share = float64(cores) / (sharing * float64(jobs))
	}
	if t.yields {
		share *= yielding
	}
	t.sum += time.Duration(float64(active-t.last) * share)
	t.last = active
	return t.sum
}
