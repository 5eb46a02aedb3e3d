package upstream

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/koan-go/koan/framework/ask"
	"github.com/koan-go/koan/framework/fault"
)

// inflight is a call that has no result yet: the one whose caller a server may ask.
type inflight struct {
	ctx    context.Context // of the call, with its caller's client
	cancel context.CancelCauseFunc
	server string
	tool   string
	run    string
	number int // in the order of calls
	log    *slog.Logger

	mu    sync.Mutex
	asked int
	keys  map[string]int // how often the same was asked
	// ends is why the call has to end: its client answers with the next call.
	ends error
}

type inflightKey struct{}

func inflightOf(ctx context.Context) *inflight {
	c, _ := ctx.Value(inflightKey{}).(*inflight)
	return c
}

// questionError is a refusal of a server's question, as the server gets it.
type questionError struct {
	code int
	text string
}

func (e *questionError) Error() string { return e.text }

func refuseQuestion(code int, format string, args ...any) *questionError {
	return &questionError{code, fmt.Sprintf(format, args...)}
}

// asks reports whether a method is a question that can be passed on.
func asks(method string) bool { return method == ask.Elicitation || method == ask.Sampling }

// calls are those of a connection that have no result yet.
type calls struct {
	mu       sync.Mutex
	inflight map[*inflight]struct{}
	begun    int // so far
}

// begin notes a call, and end that it has ended: then questions about it are over.
func (k *calls) begin(ctx context.Context, c *inflight) (context.Context, func()) {
	c.keys = map[string]int{}
	ctx = context.WithValue(ctx, inflightKey{}, c)
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.begun++
	c.number = k.begun
	k.inflight[c] = struct{}{}
	return c.ctx, func() {
		k.mu.Lock()
		delete(k.inflight, c)
		k.mu.Unlock()
		c.cancel(errCallEnded)
	}
}

var errCallEnded = errors.New("upstream: the call has ended")

// caller returns the call that a question belongs to. Over HTTP it comes on the stream of
// its call. Over stdio nothing says which call it is about, so that it is clear only while
// all calls in flight are of one run, whose client it is for.
func (k *calls) caller(ctx context.Context) (*inflight, error) {
	if c := inflightOf(ctx); c != nil {
		return c, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	var first *inflight
	for c := range k.inflight {
		if first != nil && c.run != first.run {
			return nil, refuseQuestion(mcp.INVALID_REQUEST, "calls of several callers are under way, and nothing says which of them is asked; with maxParallel: 1 there is one at a time")
		}
		if first == nil || c.number < first.number {
			first = c
		}
	}
	if first == nil {
		return nil, refuseQuestion(mcp.INVALID_REQUEST, "no call is under way, so there is nobody to ask")
	}
	return first, nil
}

// answerQuestion answers a question of the server.
func (k *calls) answerQuestion(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	c, err := k.caller(ctx)
	if err != nil {
		return nil, err
	}
	started := time.Now()
	result, err := c.put(method, params)
	c.log.InfoContext(c.ctx, "an upstream server asked the client", "upstream", c.server, "tool", c.tool, "run", c.run, "method", method, "answered", err == nil, "ms", time.Since(started).Milliseconds())
	return result, err
}

// put puts a question to the call's client.
func (c *inflight) put(method string, params json.RawMessage) (json.RawMessage, error) {
	q, read, err := c.question(method, params)
	if err != nil {
		return nil, err
	}
	if !ask.From(c.ctx).Can(q) {
		if method == ask.Elicitation {
			return json.RawMessage(`{"action":"decline"}`), nil
		}
		return nil, refuseQuestion(mcp.INVALID_REQUEST, "the caller's client did not declare support for %s", method)
	}
	answers, err := ask.All(c.ctx, q)
	switch {
	case len(ask.Waits(err)) > 0: // the client answers with its next call, which makes this one again
		c.mu.Lock()
		c.ends = err
		c.mu.Unlock()
		c.cancel(err)
		return nil, refuseQuestion(mcp.REQUEST_INTERRUPTED, "the call is ended, and made again with the answer")
	case c.ctx.Err() != nil:
		return nil, refuseQuestion(mcp.REQUEST_INTERRUPTED, "the call that the question belongs to has ended")
	case err != nil:
		return nil, refuseQuestion(mcp.INTERNAL_ERROR, "the client did not answer: %s", plainText(fault.From(err).Message, maxFieldText))
	}
	result, err := read(answers[0])
	if err != nil {
		return nil, refuseQuestion(mcp.INTERNAL_ERROR, "%s", plainText(fault.From(err).Message, maxFieldText))
	}
	return result, nil
}

// question makes a server's question into one for the client, and returns how the answer is
// read. Its key is the same when the call is made again.
func (c *inflight) question(method string, params json.RawMessage) (q ask.Question, read func(json.RawMessage) (json.RawMessage, error), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked++; c.asked > maxQuestions {
		return q, nil, refuseQuestion(mcp.INVALID_REQUEST, "it has asked %d questions in one call, which is the limit", maxQuestions)
	}
	var form json.RawMessage
	if method == ask.Elicitation {
		q.Params, form, err = elicitation(c.server, params)
		read = func(answer json.RawMessage) (json.RawMessage, error) { return elicited(answer, form) }
	} else {
		q.Params, err = sampling(c.server, params)
		read = sampled
	}
	if err != nil {
		return q, nil, refuseQuestion(mcp.INVALID_PARAMS, "%s", err)
	}
	sum := sha256.Sum256(append([]byte(method), q.Params...))
	digest := hex.EncodeToString(sum[:8])
	c.keys[digest]++
	q.Method, q.Key = method, fmt.Sprintf("upstream:%s:%s:%d", c.server, digest, c.keys[digest])
	q.Status = "waiting for an answer to a question of the server " + c.server
	return q, read, nil
}

// ended returns why the call had to end, nil where nothing made it.
func (c *inflight) ended() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ends
}

// response makes the answer to a server's request.
func (k *calls) response(ctx context.Context, req transport.JSONRPCRequest) *transport.JSONRPCResponse {
	params, err := json.Marshal(req.Params)
	if err != nil {
		return transport.NewJSONRPCErrorResponse(req.ID, mcp.INVALID_PARAMS, "the parameters cannot be read", nil)
	}
	result, err := k.answerQuestion(ctx, req.Method, params)
	var refused *questionError
	switch {
	case errors.As(err, &refused):
		return transport.NewJSONRPCErrorResponse(req.ID, refused.code, refused.text, nil)
	case err != nil:
		return transport.NewJSONRPCErrorResponse(req.ID, mcp.INTERNAL_ERROR, err.Error(), nil)
	}
	return transport.NewJSONRPCResultResponse(req.ID, result)
}

// asker answers the questions that come with results (2026-07-28), and has the client
// library declare that questions are answered.
type asker struct{ conn *connection }

// Elicit implements client.ElicitationHandler.
func (a asker) Elicit(ctx context.Context, req mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	var out mcp.ElicitationResult
	return &out, a.answer(ctx, ask.Elicitation, req.Params, &out)
}

// CreateMessage implements client.SamplingHandler.
func (a asker) CreateMessage(ctx context.Context, req mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	var out mcp.CreateMessageResult
	return &out, a.answer(ctx, ask.Sampling, req.CreateMessageParams, &out)
}

func (a asker) answer(ctx context.Context, method string, params, out any) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return err
	}
	result, err := a.conn.calls.answerQuestion(ctx, method, raw)
	if err != nil {
		return err
	}
	return json.Unmarshal(result, out)
}
