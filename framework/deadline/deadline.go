// Package deadline limits how long work may take, without counting the time for which it
// waits for a person.
//
// What belongs here: contexts with such limits. Not here: the length of any limit.
package deadline

import (
	"context"
	"sync"
	"time"
)

// WithTimeout is context.WithTimeoutCause with a deadline that Pause postpones, and that Of
// returns. cause is called when the time is up, which for most work it never is. After it, Err of the context is context.DeadlineExceeded; contexts made from it
// have context.Canceled, and context.Cause returns the cause for all of them.
func WithTimeout(ctx context.Context, limit time.Duration, cause func() error) (context.Context, context.CancelFunc) {
	inner, cancel := context.WithCancelCause(ctx)
	c := &clock{Context: inner, parent: clockOf(ctx), left: limit}
	c.up = func() {
		c.mu.Lock()
		c.over = c.pauses == 0 && !time.Now().Before(c.end)
		over := c.over
		c.mu.Unlock()
		if over {
			cancel(cause())
		}
	}
	c.mu.Lock()
	c.start()
	c.mu.Unlock()
	return c, func() {
		c.mu.Lock()
		c.timer.Stop()
		c.mu.Unlock()
		cancel(nil)
	}
}

// Pause stops the clocks of ctx and of the contexts that it was made from, until resume is
// called. Several callers may pause them at the same time.
func Pause(ctx context.Context) (resume func()) {
	first := clockOf(ctx)
	for c := first; c != nil; c = c.parent {
		c.pause()
	}
	var once sync.Once
	return func() {
		once.Do(func() {
			for c := first; c != nil; c = c.parent {
				c.resume()
			}
		})
	}
}

type clockKey struct{}

func clockOf(ctx context.Context) *clock {
	c, _ := ctx.Value(clockKey{}).(*clock)
	return c
}

// clock is a context that ends when its time is up.
type clock struct {
	context.Context
	parent *clock
	up     func()

	mu     sync.Mutex
	timer  *time.Timer
	left   time.Duration // at the last start
	end    time.Time     // while it runs
	pauses int
	over   bool
}

func (c *clock) start() {
	c.end = time.Now().Add(c.left)
	c.timer = time.AfterFunc(c.left, c.up)
}

func (c *clock) pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pauses++; c.pauses == 1 && !c.over {
		c.timer.Stop()
		c.left = time.Until(c.end)
	}
}

func (c *clock) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pauses--; c.pauses == 0 && !c.over && c.Context.Err() == nil {
		c.start()
	}
}

// Of returns the earliest deadline of ctx, as it is now. Contexts of this package do not
// report it as their Deadline: a context with a longer timeout made from one that did
// would have no timer of its own, and would not end while this one is paused.
func Of(ctx context.Context) (end time.Time, ok bool) {
	end, ok = ctx.Deadline()
	for c := clockOf(ctx); c != nil; c = c.parent {
		if own := c.ends(); !ok || own.Before(end) {
			end, ok = own, true
		}
	}
	return end, ok
}

func (c *clock) ends() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pauses > 0 && !c.over {
		return time.Now().Add(c.left)
	}
	return c.end
}

// Err implements context.Context.
func (c *clock) Err() error {
	err := c.Context.Err()
	if err == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return context.DeadlineExceeded
	}
	return err
}

// Value implements context.Context.
func (c *clock) Value(key any) any {
	if _, ok := key.(clockKey); ok {
		return c
	}
	return c.Context.Value(key)
}
