package run

import (
	"context"
	"encoding/json"
	"time"

	"github.com/koan-go/koan/framework/patience"
)

// outsideContext is the context of calls that no transaction covers.
func (a *Attempt) outsideContext() context.Context {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.outlives == nil {
		a.outlives, a.over = context.WithCancel(a.parent)
		if a.aborted {
			a.over()
		}
	}
	return a.outlives
}

// abort ends these calls: nobody waits for them.
func (a *Attempt) abort() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.aborted = true
	if a.over != nil {
		a.over()
	}
}

// extendedDeadline lets peers see how long a call may go on, which pauses put off.
type extendedDeadline struct {
	context.Context
	until context.Context
}

// Deadline implements context.Context.
func (l extendedDeadline) Deadline() (time.Time, bool) { return patience.Deadline(l.until) }

// awaitOutside waits for a call that no transaction covers. If it takes longer
// than run.lockMs while a write transaction is open, the attempt yields: the
// call goes on, its result goes on the tape, and the next attempt finds it
// there. It also yields while a person is asked, and when the script that
// made the call ends before it: ctx is over, and the run is not.
//
// first reports that no other call was made at its place in an earlier attempt. The new
// attempt then gets further than this one, and does not count.
func (a *Attempt) awaitOutside(ctx context.Context, first bool, work func(context.Context) (json.RawMessage, error)) (json.RawMessage, error) {
	type result struct {
		out json.RawMessage
		err error
	}
	done := make(chan result, 1)
	beyond := a.outsideContext()
	a.run.pending.Add(1)
	go func() {
		defer a.run.pending.Done()
		ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
		defer cancel(nil)
		defer context.AfterFunc(beyond, func() { cancel(context.Cause(beyond)) })()
		out, err := work(extendedDeadline{ctx, beyond})
		done <- result{out, err}
	}()
	tick := time.NewTimer(a.run.engine.opts.Lock)
	defer tick.Stop()
	left := ctx.Done()
	for {
		select {
		case r := <-done:
			return r.out, r.err
		case <-left:
			if a.parent.Err() == nil {
				return nil, ctx.Err()
			}
			left = nil // the call is cancelled too: it says how it ended
		case <-tick.C:
			if err := a.mustYield(first); err != nil {
				return nil, err
			}
			tick.Reset(a.run.engine.opts.Lock)
		}
	}
}
