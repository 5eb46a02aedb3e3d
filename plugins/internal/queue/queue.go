// Package queue bounds how many calls a plugin or a server has in flight.
//
// What belongs here: waiting for a turn. Not here: what a call is.
package queue

import (
	"context"
	"sync/atomic"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/inflight"
)

// MaxWaiting is how many calls may wait for their turn.
const MaxWaiting = 1000

// Queue has a number of slots for calls. Calls without one wait, in the order in which they came.
type Queue struct {
	slots   chan struct{}
	waiting atomic.Int64
}

// New makes a queue with n slots.
func New(n int) *Queue { return &Queue{slots: make(chan struct{}, n)} }

// Enter waits for a slot, which leave gives back. Until then the call does not count among those
// that its client has in flight, so that it keeps none of them waiting. Enter ends in the cause of
// ctx, or in queue_overloaded where too many calls wait already. whose is named in the fault: "the
// plugin mail".
func (q *Queue) Enter(ctx context.Context, whose string) (leave func(), err error) {
	resume := inflight.Suspend(ctx)
	if err := q.enter(ctx, whose); err != nil {
		resume()
		return nil, err
	}
	return func() { <-q.slots; resume() }, nil
}

func (q *Queue) enter(ctx context.Context, whose string) error {
	select {
	case q.slots <- struct{}{}:
		return nil
	default:
	}
	defer q.waiting.Add(-1)
	if q.waiting.Add(1) > MaxWaiting {
		return fault.Newf(fault.QueueOverloaded, "%s has %d calls in flight, and %d wait", whose, cap(q.slots), MaxWaiting).
			WithDetails(map[string]any{"queue": map[string]any{"max": cap(q.slots) + MaxWaiting, "size": cap(q.slots) + MaxWaiting}})
	}
	select {
	case q.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
