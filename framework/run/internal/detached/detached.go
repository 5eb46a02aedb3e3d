// Package detached makes calls that may outlive the attempt that waits for them.
//
// What belongs here: their goroutines and contexts. Not here: when an attempt has to
// stop waiting, or what becomes of a result.
package detached

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/koan-go/koan/framework/deadline"
	"github.com/koan-go/koan/framework/fault"
)

// errNoResult is the error of a call that ended its goroutine.
var errNoResult = errors.New("detached: the call ended without a result")

// Calls are those of one attempt that no transaction covers: they may go on past its end,
// where a new attempt waits for them. Most attempts have none.
type Calls struct {
	// Run is the context of the run. A call ends with it, but not with the context of its caller.
	Run context.Context
	// Pending counts the calls of a run that go on.
	Pending *sync.WaitGroup
	// Interval is how long a call may take before it is asked whether to wait on.
	Interval time.Duration

	mu      sync.Mutex
	ctx     context.Context
	cancel  context.CancelFunc
	aborted bool
}

// Await waits for a call, and gives up when yield returns an error, which it is asked for
// after each Interval, or when ctx is over and the run is not.
func (c *Calls) Await(ctx context.Context, yield func() error, work func(context.Context) (json.RawMessage, error)) (json.RawMessage, error) {
	type result struct {
		out json.RawMessage
		err error
	}
	done := make(chan result, 1)
	until := c.context()
	c.Pending.Add(1)
	go func() {
		defer c.Pending.Done()
		ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
		defer cancel(nil)
		defer context.AfterFunc(until, func() { cancel(context.Cause(until)) })()
		r := result{err: errNoResult}
		defer func() { done <- r }() // also if the work ends its goroutine
		r.err = fault.Guard(func() (err error) {
			r.out, err = work(extendedDeadline{ctx, until})
			return err
		})
	}()
	tick := time.NewTimer(c.Interval)
	defer tick.Stop()
	over := ctx.Done()
	for {
		select {
		case r := <-done:
			return r.out, r.err
		case <-over:
			if c.Run.Err() == nil {
				return nil, ctx.Err()
			}
			over = nil // the call is cancelled too: it says how it ended
		case <-tick.C:
			if err := yield(); err != nil {
				return nil, err
			}
			tick.Reset(c.Interval)
		}
	}
}

// context is that of all calls.
func (c *Calls) context() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx == nil {
		c.ctx, c.cancel = context.WithCancel(c.Run)
		if c.aborted {
			c.cancel()
		}
	}
	return c.ctx
}

// Abort ends the calls: nobody waits for them.
func (c *Calls) Abort() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.aborted = true
	if c.cancel != nil {
		c.cancel()
	}
}

// extendedDeadline lets peers see how long a call may go on, which pauses put off.
type extendedDeadline struct {
	context.Context
	until context.Context
}

// Deadline implements context.Context.
func (l extendedDeadline) Deadline() (time.Time, bool) { return deadline.Of(l.until) }
