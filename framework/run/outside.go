package run

import (
	"context"
	"encoding/json"

	"github.com/koan-go/koan/framework/ask"
)

// awaitOutside waits for a call that no transaction covers. If it takes longer
// than run.lockMs while a write transaction is open, the attempt yields: the
// call goes on, its result goes on the tape, and the next attempt finds it
// there. It also yields while a person is asked, and when the script that
// made the call ends before it: ctx is over, and the run is not.
//
// first reports that no other call was made at its place in an earlier attempt. The new
// attempt then gets further than this one, and does not count.
func (a *Attempt) awaitOutside(ctx context.Context, first bool, work func(context.Context) (json.RawMessage, error)) (json.RawMessage, error) {
	return a.detached.Await(ctx, func() error { return a.mustYield(first) }, work)
}

// mustYield ends the attempt where it holds what nobody should wait for while an
// outside call goes on: a write lock, or a worker while a person is asked. It returns
// why, nil where the attempt may go on. first is that of awaitOutside.
func (a *Attempt) mustYield(first bool) error {
	if !a.Atomic() {
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
	ctx = ask.With(ctx, ask.Watched(ask.From(ctx), questions{c.attempt}))
	if c.attempt.run.Scripted() || c.position.Nested() {
		ctx = ask.Scoped(ctx, string(c.position)+":")
	}
	return ctx
}

// questions lets an attempt know that one of its calls waits for the client.
type questions struct{ attempt *Attempt }

// Asking implements ask.Watcher.
func (q questions) Asking(n int) {
	q.attempt.mu.Lock()
	defer q.attempt.mu.Unlock()
	q.attempt.questions += n
}

// Unanswered implements ask.Watcher: the attempt ends, whatever the handler and the script
// make of it.
func (q questions) Unanswered(err error) error { return q.attempt.finish(err) }
