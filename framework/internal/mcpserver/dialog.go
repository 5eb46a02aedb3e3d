package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/koan-go/koan/framework/ask"
	"github.com/koan-go/koan/framework/deadline"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/invoke"
)

// dialog asks the client of one call of the older era: by requests of the server on the
// stream of that call, while it waits. Meanwhile only the time limit for answers counts.
type dialog struct {
	questions *questions
	limit     time.Duration // for answers, where the question has none
	peer      peer
	to        sink
	// progress of the call that asks, nil if the client did not request it.
	progress *progress
}

// aliveEvery is how often a client gets progress while a person decides, so that clients
// whose time limit is reset by progress keep waiting.
const aliveEvery = time.Second

var _ ask.Client = (*dialog)(nil)

// request is a request of the server to the client.
type request struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      int64           `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
}

func errUnanswered() error {
	return fault.New(fault.Cancelled, "the connection is ending, so the client cannot answer")
}

// unansweredFault is the fault of a question that nobody answered in its time.
func unansweredFault(method string, limit time.Duration) error {
	ms := limit.Milliseconds()
	return fault.Newf(fault.Timeout, "the client did not answer %s within %d ms", method, ms).
		WithRetry(fault.Safe).WithHint("Call again when somebody can answer.").WithDetails(map[string]any{"limit": "answer", "timeoutMs": ms})
}

// Can implements ask.Client.
func (d *dialog) Can(q ask.Question) bool { return d.peer.can(q) }

// beginAsking refuses questions that a client cannot answer. It returns how long the others may wait, a timer of that
// and what ends it; a run's time stands still meanwhile.
func beginAsking(ctx context.Context, client interface{ Can(q ask.Question) bool }, most time.Duration, questions []ask.Question) (limit time.Duration, expiry *time.Timer, stop func(), err error) {
	for _, q := range questions {
		if !client.Can(q) {
			return 0, nil, nil, ask.Refuse(q)
		}
	}
	goOn := deadline.Pause(ctx)
	limit = ask.Longest(most, questions)
	expiry = time.NewTimer(limit)
	return limit, expiry, func() { expiry.Stop(); goOn() }, nil
}

// Ask implements ask.Client.
func (d *dialog) Ask(ctx context.Context, questions ...ask.Question) ([]json.RawMessage, error) {
	limit, expiry, stop, err := beginAsking(ctx, d, d.limit, questions)
	if err != nil {
		return nil, err
	}
	defer stop()
	var open []*pendingQuestion
	defer func() {
		for _, p := range open {
			d.withdraw(p)
		}
	}()
	for _, q := range questions {
		p, err := d.send(q)
		if err != nil {
			return nil, err
		}
		open = append(open, p)
	}
	alive := time.NewTicker(aliveEvery)
	defer alive.Stop()
	var answers []json.RawMessage
	for len(open) > 0 {
		p := open[0]
		select {
		case <-alive.C:
			d.progress.alive(cmp.Or(p.Status, "waiting for an answer to "+p.Method))
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-expiry.C:
			return nil, unansweredFault(p.Method, limit)
		case m, ok := <-p.answer:
			if open = open[1:]; !ok {
				return nil, errUnanswered()
			}
			answer, err := p.read(m)
			if err != nil {
				return nil, err
			}
			answers = append(answers, answer)
		}
	}
	return answers, nil
}

// send sends a question to the client.
func (d *dialog) send(q ask.Question) (*pendingQuestion, error) {
	p, err := d.questions.add(q)
	if err != nil {
		return nil, err
	}
	text, err := invoke.Encode(request{JSONRPC: mcp.JSONRPC_VERSION, ID: p.id, Method: q.Method, Params: q.Params})
	if err != nil {
		d.questions.remove(p.id)
		return nil, fault.New(fault.Internal, "").Because(err)
	}
	if !d.to.offer(outgoing{text: text}) {
		d.questions.remove(p.id)
		return nil, fault.New(fault.ServiceUnavailable, "the client does not read the server's requests").
			WithHint("Read the call's stream of events, and accept text/event-stream.")
	}
	return p, nil
}

// withdraw cancels a question whose answer nobody waits for any more.
func (d *dialog) withdraw(p *pendingQuestion) {
	if !d.questions.remove(p.id) {
		return
	}
	text, err := invoke.Encode(notification{JSONRPC: mcp.JSONRPC_VERSION, Method: string(mcp.MethodNotificationCancelled), Params: map[string]any{
		"requestId": p.id, "reason": "the answer is no longer needed",
	}})
	if err != nil { // a number and a text
		panic("mcpserver: a notification cannot be encoded: " + err.Error())
	}
	d.to.offer(outgoing{text: text})
}
