package kit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/schema/gotype"
	"github.com/koan-go/koan/plugins/internal/wire"
)

// Invoke calls an operation of the app by its id, such as "koan::Todo.patch", which Plugin.Needs has. in is
// its input, a value that becomes a JSON object; out is where its output is decoded, nil to ignore it; integers
// of any size arrive, in an any beyond 2^53 as json.Number. The error is a fault; a function may return it as its
// own.
//
// The call is made by the caller of the function, with its rights, in the same run: in its transaction, with
// its quotas, approvals and undo. In a dry run it is rolled back. What the function declares of its effects
// holds for the call: that of a ReadOnly one cannot write. If the function fails, so does what it has done to
// entities. Up to 16 calls may be made at the same time; those that write are carried out one by one.
func (c Call) Invoke(ctx context.Context, id string, in, out any) error {
	input := json.RawMessage("{}")
	if in != nil {
		raw, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("the input of %s: %w", id, err)
		}
		input = raw
	}
	answer, err := c.ask(ctx, &wire.Question{Kind: &wire.Question_Invoke{Invoke: &wire.Invoke{Operation: id, Input: input}}})
	if err != nil || out == nil {
		return err
	}
	if err := gotype.Unmarshal(answer.GetOutput(), out); err != nil {
		return fmt.Errorf("the output of %s: %w", id, err)
	}
	return nil
}

// ask asks the app, and waits for its answer. The error is a fault, or that of a context.
func (c Call) ask(ctx context.Context, q *wire.Question) (*wire.Answer, error) {
	if c.host == nil {
		return nil, fault.New(fault.CapabilityUnsupported, "the app answers no questions of plugins").WithHint("Build the app with a newer version of Koan.")
	}
	return c.host.ask(ctx, q)
}

// questions are those of one call to the app.
type questions struct {
	ctx   context.Context // ends with the call
	send  func(*wire.Question) error
	slots chan struct{}

	mu   sync.Mutex
	last uint64
	open map[uint64]chan *wire.Answer
}

func newQuestions(ctx context.Context, send func(*wire.Question) error) *questions {
	return &questions{ctx: ctx, send: send, slots: make(chan struct{}, wire.MaxQuestions), open: map[uint64]chan *wire.Answer{}}
}

// errEnded is the error of a question that is asked after the end of its call.
var errEnded = errors.New("the call has ended")

func (h *questions) ask(ctx context.Context, q *wire.Question) (*wire.Answer, error) {
	select {
	case h.slots <- struct{}{}: // until the answer is there, whoever waits for it
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-h.ctx.Done():
		return nil, errors.Join(errEnded, h.ctx.Err())
	}
	answered := make(chan *wire.Answer, 1)
	h.mu.Lock()
	h.last++
	q.Id = h.last
	h.open[q.Id] = answered
	h.mu.Unlock()
	if err := h.send(q); err != nil {
		return nil, err
	}
	select {
	case a := <-answered:
		return a, answerFault(a)
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-h.ctx.Done():
		return nil, errors.Join(errEnded, h.ctx.Err())
	}
}

// answerFault returns the fault that an answer is.
func answerFault(a *wire.Answer) error {
	raw := a.GetFault()
	if len(raw) == 0 {
		return nil
	}
	f, err := fault.Decode(raw)
	if err != nil {
		return fmt.Errorf("a fault of the app: %w", err)
	}
	return f
}

// deliver hands each answer to who waits for it, until the call ends.
func (h *questions) deliver(receive func() (*wire.HostMessage, error)) {
	for {
		m, err := receive()
		if err != nil {
			return // the context of the call ends with its stream
		}
		h.mu.Lock()
		waits := h.open[m.GetAnswer().GetId()]
		delete(h.open, m.GetAnswer().GetId())
		h.mu.Unlock()
		if waits != nil {
			waits <- m.GetAnswer()
			<-h.slots
		}
	}
}
