package run

import (
	"context"
	"encoding/json"

	"github.com/koan-go/koan/framework/ask"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/run/internal/course"
)

// awaitOutside waits for a call that no transaction covers. If it takes longer than run.lockMs while
// a write transaction is open, the attempt yields: the call goes on, its result is put on the tape,
// and the next attempt finds it there. The attempt also yields while a person is asked, and if the
// script that made the call ends earlier (ctx has ended, but the run has not).
//
// first reports that no other call was made at this position in an earlier attempt. Then the next
// attempt gets further than this one, and does not count.
func (a *Attempt) awaitOutside(ctx context.Context, first bool, work func(context.Context) (json.RawMessage, error)) (json.RawMessage, error) {
	return a.detached.Await(ctx, func() error { return a.mustYield(first) }, work)
}

// mustYield ends the attempt if it holds what should be free during an outside call: a write lock, or
// a worker while a person is asked. It returns the reason, nil if the attempt may continue. first is
// that of awaitOutside.
func (a *Attempt) mustYield(first bool) error {
	if !a.Atomic() || a.unrepeatable.Load() > 0 {
		return nil
	}
	switch {
	case a.unanswered.Load() > 0 && a.run.composed():
		return a.course.End(&course.Restart{Why: "the client is asked", Uncounted: true})
	case a.writing.Load():
		return a.course.End(&course.Restart{Why: "an outside call takes longer than run.lockMs while the data is locked", Uncounted: first})
	}
	return nil
}

// withClient lets the handler of a call ask the run's client. Questions of calls in a script, and of
// nested calls, have keys of their own. Calls that transactions cover cannot ask, so that nothing
// stays locked while a person thinks.
func (c *call) withClient(ctx context.Context) context.Context {
	if c.op.Serial {
		return ask.With(ctx, nil)
	}
	ctx = ask.With(ctx, ask.Watched(ask.From(ctx), questions{c.attempt}))
	if c.attempt.run.Scripted() || c.position.Nested() {
		ctx = ask.Scoped(ctx, string(c.position)+":")
	}
	return ctx
}

// questions is an ask.Watcher that notifies an attempt when one of its calls waits for the client.
type questions struct{ attempt *Attempt }

// Asking implements ask.Watcher.
func (q questions) Asking(n int) { q.attempt.unanswered.Add(int64(n)) }

// Unanswered implements ask.Watcher. The attempt ends even if the handler or the script catches the
// error.
func (q questions) Unanswered(err error) error { return q.attempt.course.End(err) }

// Current returns the operation as its server has it now. From then on the call is made of that one,
// or of none. Nothing stays locked while it waits for the server.
func (o *OutsideCall) Current(ctx context.Context) (*catalog.Operation, error) {
	if o.Operation.Current == nil {
		return o.Operation, nil
	}
	var now *catalog.Operation
	_, err := o.Attempt.awaitOutside(ctx, true, func(ctx context.Context) (_ json.RawMessage, err error) {
		now, err = o.Operation.Current(ctx, o.request.Principal)
		return nil, err
	})
	if err != nil {
		return nil, err
	}
	o.current = now
	return now, nil
}
