package sandbox

import (
	"context"
	"errors"
	"time"

	"github.com/koan-go/koan/framework/deadline"
	"github.com/koan-go/koan/framework/fault"
)

// remainingWallMs returns the time until the deadline of ctx, in milliseconds rounded up;
// 0 means that it has none.
func remainingWallMs(ctx context.Context) int64 {
	end, ok := deadline.Of(ctx)
	if !ok {
		return 0
	}
	return max(time.Until(end).Milliseconds(), 0) + 1
}

// awaitSelfStop waits for the grace period in which a script that computes beyond its run's
// deadline may stop by itself, since then its fault names the line. It reports whether the
// script did.
func (e *execution) awaitSelfStop(ctx context.Context) bool {
	if !errors.Is(context.Cause(ctx), context.DeadlineExceeded) || e.clock.Paused() {
		return false
	}
	select {
	case <-e.guardStop:
		return true
	case <-e.exited:
	case <-time.After(e.grace):
	}
	return false
}

// deadlineError returns the error of the job's context if the script stopped itself at the
// deadline, else nil.
func (e *execution) deadlineError() error {
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
	case <-time.After(time.Second): // the context has not ended: the result's fault stands alone
		return nil
	}
}
