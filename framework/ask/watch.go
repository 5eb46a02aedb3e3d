package ask

import (
	"context"
	"encoding/json"
)

// Watcher hears of the questions that a client is asked.
type Watcher interface {
	// Asking hears of n more questions, or fewer, that wait for the client.
	Asking(n int)
	// Unanswered hears of questions whose answers come with another call; its error is
	// what whoever asked gets.
	Unanswered(err error) error
}

// Watched returns a client whose questions a watcher hears of.
func Watched(c Client, w Watcher) Client { return watched{c, w} }

type watched struct {
	Client
	watcher Watcher
}

// Ask implements Client.
func (w watched) Ask(ctx context.Context, questions ...Question) ([]json.RawMessage, error) {
	w.watcher.Asking(1)
	defer w.watcher.Asking(-1)
	answers, err := w.Client.Ask(ctx, questions...)
	if len(Waits(err)) > 0 {
		return nil, w.watcher.Unanswered(err)
	}
	return answers, err
}

// Answered implements Resumer.
func (w watched) Answered() []string {
	if r, ok := w.Client.(Resumer); ok {
		return r.Answered()
	}
	return nil
}
