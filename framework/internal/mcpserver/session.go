package mcpserver

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/admission"
)

// sink takes messages for a client: the whole connection's, or those about one request.
// put waits for room; offer drops the message if there is none, or if the client does not
// read such messages, and reports whether it was taken. Both may be called from several
// goroutines.
type sink interface {
	put(m outgoing)
	offer(m outgoing) (taken bool)
}

// session is one client's connection over any transport. The transport calls handle for
// each frame, from one goroutine, with a context that has the principal of that frame
// (auth.With), and drain at the end. It reads what a message is about; the types that it
// consists of answer it.
type session struct {
	server    *Server
	handshake handshake
	level     logLevel

	requests      requests
	subscriptions subscriptions
	dialogs       dialogs
	tools         toolCalls
	documents     documents
	lists         lists
	tasks         taskRequests
}

// newSession makes the session of a client; out is the sink for messages that belong to no
// request.
func newSession(s *Server, out sink) *session {
	ss := &session{server: s, handshake: handshake{id: uuid.NewString()}, lists: lists{s}, tasks: taskRequests{s}}
	ss.requests = requests{server: s, gate: &admission.CallGate{}, streams: &admission.Gate{}}
	ss.subscriptions = subscriptions{server: s, out: out, requests: &ss.requests, rows: rowFollower{server: s}}
	ss.dialogs.server = s
	ss.tools = toolCalls{server: s, dialogs: &ss.dialogs, requests: &ss.requests}
	ss.documents = documents{server: s, dialogs: &ss.dialogs}
	return ss
}

// handleBatch handles the messages of a batch, and answers its requests with one array, once
// all are done.
func (s *session) handleBatch(ctx context.Context, items []parsed, to sink) {
	if !s.legacy().supportsBatches() {
		refuse(to, nil, fault.New(fault.InvalidRequest, "this protocol version has no batches"))
		return
	}
	if len(items) == 0 {
		refuse(to, nil, fault.New(fault.InvalidRequest, "the batch is empty"))
		return
	}
	all := &batchSink{sink: to, left: 1}
	for _, item := range items {
		if item.problem == nil && item.method == string(mcp.MethodInitialize) {
			item.problem = fault.New(fault.InvalidRequest, "initialize must not be part of a batch")
		}
		if item.problem != nil || item.id != nil && !item.answer {
			all.expect()
		}
		s.handle(ctx, item, all)
	}
	all.put(outgoing{}) // for the loop itself
}

// refuse rejects what cannot be handled at all.
func refuse(to sink, id json.RawMessage, f *fault.Fault) {
	to.put(answerOf(id, nil, protocolError(f)))
}

// handle handles a message, and writes the response to a sink. Quick requests are done before
// it returns, so that their responses are in order; calls run in goroutines of their own.
func (s *session) handle(ctx context.Context, p parsed, to sink) {
	switch {
	case p.problem != nil:
		refuse(to, p.id, p.problem)
	case p.answer:
		s.dialogs.questions.deliver(p.message)
	case p.id == nil:
		s.handleNotification(p.message)
	default:
		s.request(ctx, p.message, to)
	}
}

// handleNotification handles a notification. Unknown ones are ignored, as JSON-RPC wants.
func (s *session) handleNotification(m message) {
	var p struct {
		RequestID json.RawMessage `json:"requestId"`
		ID        json.RawMessage `json:"id"`
	}
	switch m.method {
	case "notifications/initialized":
		s.subscriptions.open()
	case string(mcp.MethodNotificationCancelled):
		if json.Unmarshal(m.params, &p) == nil {
			s.requests.cancel(p.RequestID)
		}
	case "$/cancelRequest":
		if json.Unmarshal(m.params, &p) == nil {
			s.requests.cancel(p.ID)
		}
	}
}

// drain ends the session: no new calls, subscriptions are closed. The channel is
// closed when every call has its response.
func (s *session) drain() <-chan struct{} {
	open, done := s.requests.drain()
	s.dialogs.questions.close()
	s.subscriptions.close(open)
	return done
}

// legacy is the client as its handshake described it. Before that, it counts as a client
// of the last version that had a handshake, without capabilities.
func (s *session) legacy() peer {
	return s.handshake.peer()
}

// peer returns who a request comes from. Its rights are those of the request: a later
// token of the same caller may have others.
func (s *session) peer(ctx context.Context, m meta) (peer, *rpcError) {
	p, modern, bad := s.server.modernPeer(m)
	if !modern {
		p = s.legacy()
	}
	p.principal = auth.From(ctx)
	return p, bad
}
