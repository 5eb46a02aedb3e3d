package run

import (
	"context"
	"encoding/json"
	"time"

	"github.com/koan-go/koan/framework/ask"
	"github.com/koan-go/koan/framework/deadline"
)

// extendedDeadline lets peers see how long a call may go on, which pauses put off.
type extendedDeadline struct {
	context.Context
	until context.Context
}

// Deadline implements context.Context.
func (l extendedDeadline) Deadline() (time.Time, bool) { return deadline.Of(l.until) }

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
	beyond := a.beyond.until(a.parent)
	a.run.progress.pending.Add(1)
	go func() {
		defer a.run.progress.pending.Done()
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

// mustYield ends the attempt where it holds what nobody should wait for while an
// outside call goes on: a write lock, or a worker while a person is asked. It returns
// why, nil where the attempt may go on. first is that of awaitOutside.
func (a *Attempt) mustYield(first bool) error {
	if !a.run.spec.Atomic {
		return nil
	}
	a.mu.Lock()
	writing, asked := a.writing, a.questions > 0 && a.run.composed()
	a.mu.Unlock()
	switch {
	case asked:
		return a.finish(&restart{why: "the client is asked", uncounted: true})
	case writing:
		return a.finish(&restart{why: "an outside call takes longer than run.lockMs while the data is locked", uncounted: first})
	}
	return nil
}

// withClient lets the handler of a call ask the client that made the run. The keys of
// calls in a script, and of nested ones, are their own. What transactions cover
// cannot ask: nothing stays locked while a person thinks.
func (c *call) withClient(ctx context.Context) context.Context {
	if c.op.Serial {
		return ask.With(ctx, nil)
	}
	ctx = ask.With(ctx, waitingClient{ask.From(ctx), c.attempt})
	if c.attempt.run.Scripted() || c.position.Nested() {
		ctx = ask.Scoped(ctx, string(c.position)+":")
	}
	return ctx
}

// waitingClient lets an attempt know that one of its calls waits for the client.
type waitingClient struct {
	ask.Client
	attempt *Attempt
}

// Ask implements ask.Client.
func (w waitingClient) Ask(ctx context.Context, questions ...ask.Question) ([]json.RawMessage, error) {
	w.attempt.asks(1)
	defer w.attempt.asks(-1)
	answers, err := w.Client.Ask(ctx, questions...)
	if len(ask.Waits(err)) > 0 {
		return nil, w.attempt.finish(err) // whatever the handler and the script make of it
	}
	return answers, err
}

// Answered implements ask.Resumer.
func (w waitingClient) Answered() []string {
	if r, ok := w.Client.(ask.Resumer); ok {
		return r.Answered()
	}
	return nil
}
