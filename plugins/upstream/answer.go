package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// answer is the response to one request, as the server sent it: the client library drops
// parts of schemas and of errors, and rejects a whole list because of one odd tool.
type answer struct {
	mu      sync.Mutex
	result  json.RawMessage
	refusal *mcp.JSONRPCErrorDetails
	failure error // why nothing came
}

type answerKey struct{}

// withAnswer makes the next request of the context record its response.
func withAnswer(ctx context.Context) (context.Context, *answer) {
	a := &answer{}
	return context.WithValue(ctx, answerKey{}, a), a
}

func answerOf(ctx context.Context) *answer {
	a, _ := ctx.Value(answerKey{}).(*answer)
	return a
}

func (a *answer) fail(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.failure = err
}

func (a *answer) note(resp *transport.JSONRPCResponse, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.result, a.refusal = nil, nil // of the request before, as at a handshake
	if resp != nil {
		a.result, a.refusal = resp.Result, resp.Error
		return
	}
	if a.failure == nil {
		a.failure = err
	}
}

// take returns the server's result or its error, or why there is neither.
func (a *answer) take(err error) (json.RawMessage, *mcp.JSONRPCErrorDetails, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.refusal != nil:
		return nil, a.refusal, nil
	case len(a.result) > 0 && !needsInput(a.result):
		return a.result, nil, nil
	case a.failure != nil:
		return nil, nil, a.failure
	}
	return nil, nil, err
}

// why returns why nothing came, which may be in other words than those of the client library.
func (a *answer) why(err error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.refusal != nil:
		return &refusal{a.refusal}
	case a.failure != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded):
		return a.failure
	}
	return err
}

// refusal is a server's error of JSON-RPC as the reason of a failure.
type refusal struct{ e *mcp.JSONRPCErrorDetails }

func (r *refusal) Error() string { return "it refused: " + plainText(r.e.Message, 300) }

// needsInput reports whether a result is a question, which the client library cannot
// answer.
func needsInput(result json.RawMessage) bool {
	if !bytes.Contains(result, []byte(mcp.ResultTypeInputRequired)) {
		return false
	}
	var r struct {
		ResultType mcp.ResultType `json:"resultType"`
	}
	return json.Unmarshal(result, &r) == nil && r.ResultType == mcp.ResultTypeInputRequired
}

// recorder is a transport that records responses, and answers a server's questions.
type recorder struct {
	transport.Interface
	conn *connection
}

// SendRequest implements transport.Interface.
func (r recorder) SendRequest(ctx context.Context, req transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	a := answerOf(ctx)
	ctx, answered := r.conn.requests.await(ctx, req.ID, a)
	defer answered()
	resp, err := r.Interface.SendRequest(ctx, req)
	if err != nil && (err.Error() == "unexpected nil response" || strings.HasPrefix(err.Error(), "failed to resume the SSE stream")) {
		err = &explained{text: errResponseCut.Error(), err: errors.Join(errResponseCut, err)}
	}
	if err == nil && resp != nil && resp.Error == nil && len(resp.Result) == 0 {
		resp, err = nil, errNoResult
	}
	if errors.As(err, new(*sessionGone)) || resp != nil && resp.Error != nil && r.conn.forgotten(req.Method, resp.Error.Message) {
		r.conn.end()
	}
	begins := req.Method == string(mcp.MethodInitialize) || req.Method == string(mcp.MethodServerDiscover)
	if begins && resp != nil && resp.Error == nil {
		resp = tidyHandshake(resp, req.Method == string(mcp.MethodInitialize))
	}
	if a == nil {
		return resp, err
	}
	a.note(resp, err)
	if begins {
		return resp, err
	}
	if err == nil && resp != nil && resp.Error == nil && !needsInput(resp.Result) {
		taken := *resp
		taken.Result = json.RawMessage("{}") // nobody reads what the client library would make of it
		resp = &taken
	}
	return resp, err
}

// SendNotification implements transport.Interface.
func (r recorder) SendNotification(ctx context.Context, n mcp.JSONRPCNotification) error {
	r.conn.requests.noteTold()
	return r.Interface.SendNotification(ctx, n)
}

// SetRequestHandler implements transport.BidirectionalInterface.
func (r recorder) SetRequestHandler(handler transport.RequestHandler) {
	t, ok := r.Interface.(transport.BidirectionalInterface)
	if !ok {
		return
	}
	t.SetRequestHandler(r.handler(handler))
}

// handler returns the handler of a server's requests: questions are answered here, and what is known of
// the protocol by the client library's.
func (r recorder) handler(library transport.RequestHandler) transport.RequestHandler {
	return func(ctx context.Context, req transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
		switch {
		case asks(req.Method):
			return r.conn.calls.response(ctx, req), nil
		case req.Method == string(mcp.MethodPing):
			return library(ctx, req)
		}
		return transport.NewJSONRPCErrorResponse(req.ID, mcp.METHOD_NOT_FOUND, "this client has not declared "+plainText(req.Method, 100), nil), nil
	}
}
