package run

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/koan-go/koan/framework/ask"
	"github.com/koan-go/koan/framework/fault"
)

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

func (a *Attempt) asks(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.questions += n
}

// mustYield ends the attempt where it holds what nobody should wait for while an
// outside call goes on: a write lock, or a worker while a person is asked. It returns
// why, nil where the attempt may go on. first is that of awaitOutside.
func (a *Attempt) mustYield(first bool) error {
	if !a.run.spec.Atomic {
		return nil
	}
	a.mu.Lock()
	writing, asked := a.writing, a.questions > 0 && a.run.Scripted()
	a.mu.Unlock()
	switch {
	case asked:
		return a.finish(&restart{why: "the client is asked", uncounted: true})
	case writing:
		return a.finish(&restart{why: "an outside call takes longer than run.lockMs while the data is locked", uncounted: first})
	}
	return nil
}

// isUncounted reports whether an error asks for a new attempt that does not count: its
// reason comes once for each call that is waited for, or person that is asked, and is
// over when the attempt begins.
func isUncounted(err error) bool {
	var r *restart
	return errors.As(err, &r) && r.uncounted
}

// rejectRepeatedEffects refuses to have the client call again for an answer where that would
// do again what has left the house: what a later call would not find on a tape.
func (r *Run) rejectRepeatedEffects(err error) error {
	if len(ask.Waits(err)) == 0 || r.claimed { // then the ledger has them
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.outside) == 0 {
		return err
	}
	return fault.Newf(fault.CapabilityUnsupported, "the client is asked after %s took effect outside, and calling again with the answer would repeat that", r.outside[0].ToolName).
		WithHint("Ask before anything has an effect outside, or send an idempotencyKey.")
}
