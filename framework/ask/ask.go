package ask

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/koan-go/koan/framework/fault"
)

// The methods of the protocol by which a client is asked.
const (
	Elicitation = "elicitation/create"
	Sampling    = "sampling/createMessage"
	Roots       = "roots/list"
)

// Question is one thing to ask.
type Question struct {
	// Key names the question within its call. It is the same each time the call is made:
	// a question that has an answer under its key is not asked again.
	Key    string
	Method string          // Elicitation, Sampling or Roots
	Params json.RawMessage // of that method: an object; nil is {}
	// Life is how long the client may take to answer, if that is longer than the usual
	// limit. A caller that needs a shorter limit uses its context.
	Life time.Duration
	// Status is the progress message while the call waits; "" is a general one.
	Status string
}

// Longest returns the longest Life of some questions, and at least least.
func Longest(least time.Duration, questions []Question) time.Duration {
	for _, q := range questions {
		least = max(least, q.Life)
	}
	return least
}

// Client is the client that made a call. It is safe for concurrent use, and must not be
// used after the call.
type Client interface {
	// Can reports whether the client declared support for such questions.
	Can(q Question) bool
	// Ask returns the answers in the order of the questions, each the result of its
	// method: an object, not checked further. The error is a fault:
	// capability_unsupported if Can is false, with *Unable in its chain; input_required,
	// with *Pending in its chain; upstream_error for an invalid answer; cancelled,
	// timeout; queue_overloaded for too many questions at a time.
	Ask(ctx context.Context, questions ...Question) ([]json.RawMessage, error)
}

// Pending is why a call ended with input_required: the answers come with the next
// call.
type Pending struct{ Questions []Question }

func (p *Pending) Error() string {
	keys := make([]string, len(p.Questions))
	for i, q := range p.Questions {
		keys[i] = q.Key
	}
	return "ask: no answer yet to " + strings.Join(keys, ", ")
}

// Wait is the fault that ends a call until its questions are answered.
func Wait(questions ...Question) error {
	return fault.New(fault.InputRequired, "").Because(&Pending{questions})
}

// Waits returns the questions that an error waits for, nil for any other error.
func Waits(err error) []Question {
	if p, is := errors.AsType[*Pending](err); is {
		return p.Questions
	}
	return nil
}

// Unable is why a client was not asked: there is none, or it did not declare support for
// such questions.
type Unable struct{ Question Question }

func (u *Unable) Error() string { return "ask: the client does not support " + u.Question.Method }

// Refuse is the fault of a client that cannot be asked.
func Refuse(q Question) error {
	return fault.Newf(fault.CapabilityUnsupported, "the client did not declare support for %s", q.Method).
		WithHint("Call from a client that supports it, or in a way that needs no answer.").Because(&Unable{q})
}

// IsUnable returns the question that a client could not be asked; ok is false for any
// other error.
func IsUnable(err error) (q Question, ok bool) {
	var u *Unable
	if errors.As(err, &u) {
		return u.Question, true
	}
	return Question{}, false
}

type clientKey struct{}

// With puts the client that made a call into its context; nil is nobody.
func With(ctx context.Context, c Client) context.Context {
	return context.WithValue(ctx, clientKey{}, c)
}

// From returns the client that made the call. It is never nil: if there is none, it
// returns one that cannot be asked.
func From(ctx context.Context) Client {
	if c, _ := ctx.Value(clientKey{}).(Client); c != nil {
		return c
	}
	return nobody{}
}

type nobody struct{}

func (nobody) Can(Question) bool { return false }

func (nobody) Ask(_ context.Context, questions ...Question) ([]json.RawMessage, error) {
	if len(questions) == 0 {
		return nil, nil
	}
	return nil, Refuse(questions[0])
}

// Scoped adds a prefix to the keys of questions, so that calls of the same run do not use
// the same ones.
func Scoped(ctx context.Context, prefix string) context.Context {
	return With(ctx, scoped{From(ctx), prefix})
}

type scoped struct {
	Client
	prefix string
}

func (s scoped) Ask(ctx context.Context, questions ...Question) ([]json.RawMessage, error) {
	under := make([]Question, len(questions))
	for i, q := range questions {
		under[i] = q
		under[i].Key = s.prefix + q.Key
	}
	return s.Client.Ask(ctx, under...)
}

// Resumer is a client that may have called before: one of 2026-07-28.
type Resumer interface {
	// Answered returns the keys of the questions that have an answer already. They
	// certainly belong to this call: same caller, same input.
	Answered() []string
}

// Answered returns the keys of questions that had an answer when the handler of a call
// was entered, so that it can resume work. It is empty at the first call, and for clients
// that are asked while their call waits.
func Answered(ctx context.Context) []string {
	if r, ok := From(ctx).(Resumer); ok {
		return r.Answered()
	}
	return nil
}

// Answered implements Resumer.
func (s scoped) Answered() []string {
	r, ok := s.Client.(Resumer)
	if !ok {
		return nil
	}
	var own []string
	for _, key := range r.Answered() {
		if rest, ok := strings.CutPrefix(key, s.prefix); ok {
			own = append(own, rest)
		}
	}
	return own
}

// All asks the client of ctx several questions at once. Its errors are those of
// Client.Ask; a malformed question is a programming error and panics.
func All(ctx context.Context, questions ...Question) ([]json.RawMessage, error) {
	c := From(ctx)
	keys := map[string]bool{}
	for i, q := range questions {
		switch {
		case q.Key == "" || keys[q.Key]:
			panic(fmt.Sprintf("ask: the key %q is empty or used twice", q.Key))
		case q.Method != Elicitation && q.Method != Sampling && q.Method != Roots:
			panic("ask: no client is asked by " + q.Method)
		case len(q.Params) == 0:
			questions[i].Params = json.RawMessage("{}")
		}
		keys[q.Key] = true
	}
	for _, q := range questions {
		if !c.Can(q) {
			return nil, Refuse(q)
		}
	}
	return c.Ask(ctx, questions...)
}
