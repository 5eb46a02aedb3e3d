package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// httpRecorder is a recorder over Streamable HTTP. The client library gives an answer to a
// server 30 seconds, which is too short for a person, and sends no cancellations there: both
// are done here.
type httpRecorder struct {
	recorder
	stream  *transport.StreamableHTTP
	url     string
	client  *http.Client
	version atomic.Value // of the protocol, a string
}

var (
	_ transport.BidirectionalInterface = (*httpRecorder)(nil)
	_ transport.HTTPConnection         = (*httpRecorder)(nil)
)

// SetProtocolVersion implements transport.HTTPConnection.
func (r *httpRecorder) SetProtocolVersion(version string) {
	r.version.Store(version)
	r.stream.SetProtocolVersion(version)
}

// RequiresLegacyProtocol reports whether the transport cannot speak 2026-07-28.
func (r *httpRecorder) RequiresLegacyProtocol() bool {
	t, ok := r.Interface.(interface{ RequiresLegacyProtocol() bool })
	return ok && t.RequiresLegacyProtocol()
}

// sendTimeout bounds the sending of what has no response.
const sendTimeout = 5 * time.Second

// SendRequest implements transport.Interface. Before 2026-07-28 the end of a request's stream
// does not cancel it.
func (r *httpRecorder) SendRequest(ctx context.Context, req transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	resp, err := r.recorder.SendRequest(ctx, req)
	version, _ := r.version.Load().(string)
	if err == nil || ctx.Err() == nil || version == "" || mcp.IsModernProtocol(version) {
		return resp, err
	}
	var n mcp.JSONRPCNotification
	n.JSONRPC, n.Method = mcp.JSONRPC_VERSION, string(mcp.MethodNotificationCancelled)
	n.Params.AdditionalFields = map[string]any{"requestId": req.ID, "reason": ctx.Err().Error()}
	r.conn.sending.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sendTimeout)
		defer cancel()
		_ = r.stream.SendNotification(ctx, n) // the server may be why the call ended
	})
	return resp, err
}

// SendNotification implements transport.Interface. A server that does not like to be told that it is
// initialized may be of use all the same; what it wants instead the next request finds out.
func (r *httpRecorder) SendNotification(ctx context.Context, n mcp.JSONRPCNotification) error {
	err := r.recorder.SendNotification(ctx, n)
	var rejected *statusError
	if n.Method == string(mcp.MethodNotificationInitialized) && errors.As(err, &rejected) && !rejects(rejected.status) {
		return nil
	}
	return err
}

// SetRequestHandler implements transport.BidirectionalInterface.
func (r *httpRecorder) SetRequestHandler(handler transport.RequestHandler) {
	others := r.handler(handler)
	r.stream.SetRequestHandler(func(ctx context.Context, req transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
		if !asks(req.Method) {
			return others(ctx, req)
		}
		go r.respond(context.WithoutCancel(ctx), req)
		return nil, nil // it is sent there
	})
}

// respond answers a server's question by a request of its own.
func (r *httpRecorder) respond(ctx context.Context, req transport.JSONRPCRequest) {
	text, err := json.Marshal(r.conn.calls.response(ctx, req))
	if err != nil { // an id and JSON
		return
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url, bytes.NewReader(text))
	if err != nil {
		return
	}
	post.Header.Set("Content-Type", "application/json")
	post.Header.Set("Accept", "application/json, text/event-stream")
	if id := r.stream.GetSessionId(); id != "" {
		post.Header.Set("Mcp-Session-Id", id)
	}
	if version, _ := r.version.Load().(string); version != "" {
		post.Header.Set(mcp.HeaderProtocolVersion, version)
	}
	resp, err := r.client.Do(post)
	if err != nil {
		return // the call's own time limit says so
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxMessage))
	_ = resp.Body.Close()
}
