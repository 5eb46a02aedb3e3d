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
	// Key names the question within its call. It is the same each time the call is
	// made: what was asked under it before is not asked again.
	Key    string
	Method string          // Elicitation, Sampling or Roots
	Params json.RawMessage // of that method: an object; nil is {}
	// Life is how long an answer is of use, where that is longer than clients are
	// given for answers anyway. Who asks bounds a shorter time itself.
	Life time.Duration
	// Status says what the call does while the client thinks, for progress; "" is
	// said in general terms.
	Status string
}

// Longest is how long the answers to questions are of use: at least so long.
func Longest(least time.Duration, questions []Question) time.Duration {
	for _, q := range questions {
		least = max(least, q.Life)
	}
	return least
}

// Client is who made a call. It is safe for concurrent use, and ends with the call.
type Client interface {
	// Can reports whether the client declared that it takes such questions.
	Can(q Question) bool
	// Ask returns the answers in the order of the questions, each the result of its
	// method: an object, not checked further. The error is a fault:
	// capability_unsupported where Can is false, in whose chain is *Unable;
	// input_required, in whose chain is *Pending; upstream_error for what is no answer;
	// cancelled, timeout; queue_overloaded for too many questions at a time.
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
	var p *Pending
	if errors.As(err, &p) {
		return p.Questions
	}
	return nil
}

// Unable is why a client was not asked: nobody is there, or it did not declare
// that it takes such questions.
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

// From returns the client that made the call: one that cannot be asked where nobody
// did. It is never nil.
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

// Scoped puts the client of ctx under a prefix of keys, so that calls of the same
// run don't meet in theirs.
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
	// Answered returns the keys of the questions that have an answer already. Which call
	// they belong to is certain: the same caller's, with the same input.
	Answered() []string
}

// Answered returns the keys that have an answer when the handler of a call is entered,
// so that what was begun under them can be gone on with. It is empty at the first
// call, and with clients that are asked while their call waits.
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

// All asks the client of ctx several things at once. Its errors are those of
// Client.Ask; a question that nobody could ask is a programmer's mistake and
// panics.
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
