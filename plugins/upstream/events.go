package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// eventsRecorder is a recorder over the older HTTP transport. The client library reads no requests
// there: it takes one for the answer to its own request of the same id.
type eventsRecorder struct {
	recorder
	stream *transport.SSE
	client *http.Client
}

var _ transport.BidirectionalInterface = (*eventsRecorder)(nil)

// SetRequestHandler implements transport.BidirectionalInterface.
func (r *eventsRecorder) SetRequestHandler(handler transport.RequestHandler) {
	handle := r.handler(handler)
	answering := make(chan struct{}, maxAnswering)
	r.conn.hear(func(ctx context.Context, raw []byte) {
		var req transport.JSONRPCRequest
		if json.Unmarshal(raw, &req) != nil {
			return
		}
		select {
		case answering <- struct{}{}:
		default: // it asks faster than anybody answers
			return
		}
		go func() {
			defer func() { <-answering }()
			resp, err := handle(ctx, req)
			if err != nil {
				resp = transport.NewJSONRPCErrorResponse(req.ID, mcp.INTERNAL_ERROR, err.Error(), nil)
			}
			r.send(ctx, resp)
		}()
	})
}

// maxAnswering bounds the requests of a server that are being answered.
const maxAnswering = 100

// send sends an answer to the address that the server has named.
func (r *eventsRecorder) send(ctx context.Context, resp *transport.JSONRPCResponse) {
	text, err := json.Marshal(resp)
	to := r.stream.GetEndpoint()
	if err != nil || to == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sendTimeout)
	defer cancel()
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), bytes.NewReader(text))
	if err != nil {
		return
	}
	post.Header.Set("Content-Type", "application/json")
	answered, err := r.client.Do(post)
	if err != nil {
		return // the call's own time limit says so
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(answered.Body, maxMessage))
	_ = answered.Body.Close()
}

// hear has the requests of the server on its stream of events handled; handle must not block.
func (conn *connection) hear(handle func(ctx context.Context, raw []byte)) {
	conn.mu.Lock()
	defer conn.mu.Unlock()
	conn.requested = handle
}

// takeRequest passes a message of the stream of events on if it is a request, and reports whether it is.
func (conn *connection) takeRequest(ctx context.Context, message []byte) bool {
	var e envelope
	if json.Unmarshal(message, &e) != nil || !given(e.Method) || !given(e.ID) {
		return false
	}
	conn.mu.Lock()
	handle := conn.requested
	conn.mu.Unlock()
	if handle != nil {
		handle(ctx, bytes.Clone(message))
	}
	return true
}
