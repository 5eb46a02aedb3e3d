package javascript

import (
	"time"
)

// clock is the script's time. It starts at the time in the job and advances with calls and
// timers, and by a microsecond per reading, so that a loop that polls it ends. It never goes
// back, and is the same in every attempt.
type clock struct{ start, now int64 } // Unix microseconds

func newClock(nowMs int64) *clock { return &clock{nowMs * 1000, nowMs * 1000} }

func (c *clock) read() time.Time {
	c.now++
	return time.UnixMicro(c.now)
}

func (c *clock) advance(us int64) { c.now = max(c.now, us) }

func (c *clock) sinceStartMs() int64 { return (c.now - c.start) / 1000 }
