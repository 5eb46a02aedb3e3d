package plugins

import (
	"sync"
	"time"

	"github.com/koan-go/koan/framework/fault"
)

// crashes knows whose calls a plugin's processes ended in, so that these callers wait, and
// nobody else.
type crashes struct {
	mu     sync.Mutex
	causes map[cause]*crashing
}

// cause is what a process may have died of.
type cause struct{ subject, function string }

// crashing is how often in a row processes died of one cause.
type crashing struct {
	times int
	until time.Time // no such call is made before
}

const (
	freeCrashes = 3 // in a row: of calls that were under way at the same time, one is the cause
	maxCauses   = 10_000
)

// admit refuses a call of which processes have died again and again.
func (c *crashes) admit(of cause, plugin string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.causes[of]
	if known == nil || !time.Now().Before(known.until) {
		return nil
	}
	wait := time.Until(known.until).Round(time.Millisecond)
	return fault.Newf(fault.PluginUnavailable, "the plugin %s died in %d calls of %s by this caller in a row; the next one is allowed in %s", plugin, known.times, of.function, wait).
		WithHint("See the log: if it dies again on the same input, report that to its author.").WithDetails(map[string]any{"retryAfterMs": wait.Milliseconds()})
}

// died notes that the process died during a call.
func (c *crashes) died(of cause) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.causes[of]
	if known == nil {
		if c.causes == nil || len(c.causes) >= maxCauses {
			c.causes = map[cause]*crashing{}
		}
		known = &crashing{}
		c.causes[of] = known
	}
	if known.times++; known.times >= freeCrashes {
		wait := firstDelay
		for range known.times - freeCrashes {
			wait = min(2*wait, lastDelay)
		}
		known.until = time.Now().Add(wait)
	}
}

// survived notes that a call has ended without the process.
func (c *crashes) survived(of cause) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.causes, of)
}
