package sandbox

import (
	"context"
	"errors"
	"time"

	"github.com/koan-go/koan/framework/deadline"
	"github.com/koan-go/koan/framework/fault"
)

// left is how long a job may take by the clock, in whole milliseconds and not less
// than its context has; 0 is no bound.
func left(ctx context.Context) int64 {
	end, ok := deadline.Of(ctx)
	if !ok {
		return 0
	}
	return max(time.Until(end).Milliseconds(), 0) + 1
}

// late waits until a script that computes when its run's time is over has stopped by
// itself, since it knows the line it is in. It reports whether the script did.
func (e *execution) late(ctx context.Context) bool {
	if !errors.Is(context.Cause(ctx), context.DeadlineExceeded) || e.clock.Paused() {
		return false
	}
	select {
	case <-e.over:
		return true
	case <-e.exited:
	case <-time.After(e.grace):
	}
	return false
}

// overtime returns what ended the context of a job whose script stopped itself for it,
// nil for any other end.
func (e *execution) overtime() error {
	f := e.result.Fault
	if f == nil || f.Code != fault.Timeout {
		return nil
	}
	if d, ok := f.Details.(map[string]any); !ok || d["limit"] != "wall" {
		return nil
	}
	select {
	case <-e.ctx.Done():
		return context.Cause(e.ctx)
	case <-time.After(time.Second): // it was stopped for nothing: its fault says so
		return nil
	}
}
