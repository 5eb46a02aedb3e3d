package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"

	"github.com/google/uuid"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/koan-go/koan/framework/ask"
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
// (auth.With), and drain at the end. out is the sink for messages that belong to no
// request.
type session struct {
	server    *Server
	out       sink
	handshake handshake
	// maxStreams bounds the subscriptions; 0 is Options.QueueMax. It is set before the
	// first message.
	maxStreams int
	// lasting is the session as handlers see it; nil on a connection of one request. It is
	// set before the first message.
	lasting *ask.Session

	mu       sync.Mutex
	ready    bool                // the client said notifications/initialized
	calls    map[string]*pending // by id key, until answered
	gate     *admission.Gate
	logLevel *slog.Level // what logging/setLevel asked for, nil before
	subscriptions
	questions map[int64]*pendingQuestion // questions to the client, by their ids
	asked     int64                      // the last of these ids
	ended     bool
	answered  sync.WaitGroup
}

// subscriptions are what a client wants to hear of.
type subscriptions struct {
	streams   *admission.Gate
	watched   map[string]struct{} // by URI, of resources/subscribe
	listening map[string]*subscription
	followed  map[string]bool // sets, for resources that show rows
	following context.Context // ends with the session; nil while no set is followed
	unfollow  context.CancelFunc
}

// pending is a call that has no response yet.
type pending struct {
	cancel    context.CancelCauseFunc
	cancelled bool      // by the client: nothing more is sent about it
	exchange  *exchange // that it is of
}

// Why a call's context ended.
var (
	errByClient = errors.New("the client cancelled the call")
	errEnding   = errors.New("the connection is ending")
)

func newSession(s *Server, out sink) *session {
	return &session{
		server: s, out: out, gate: &admission.Gate{}, calls: map[string]*pending{}, questions: map[int64]*pendingQuestion{},
		subscriptions: subscriptions{streams: &admission.Gate{}, listening: map[string]*subscription{}, watched: map[string]struct{}{}}, handshake: handshake{id: uuid.NewString()},
	}
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
		s.deliverAnswer(p.message)
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
		s.mu.Lock()
		s.ready = true
		s.mu.Unlock()
	case string(mcp.MethodNotificationCancelled):
		if json.Unmarshal(m.params, &p) == nil {
			s.cancel(p.RequestID)
		}
	case "$/cancelRequest":
		if json.Unmarshal(m.params, &p) == nil {
			s.cancel(p.ID)
		}
	}
}

// cancel stops a call or a subscription. Nothing more is sent about it.
func (s *session) cancel(id json.RawMessage) {
	key, ok := idKey(id)
	if !ok {
		return
	}
	s.mu.Lock()
	if s.listening[key] != nil {
		delete(s.listening, key)
		s.streams.Leave()
	}
	c := s.calls[key]
	if c != nil {
		c.cancelled = true
		c.cancel(errByClient)
		delete(s.calls, key)
	}
	s.mu.Unlock()
	if c != nil {
		c.exchange.stopNotifying() // not under the lock: a report may be waiting for the queue
	}
}

// inputBuffers bounds the inputs of the calls in flight, in multiples of
// Options.MaxBufferBytes: a parsed message takes many times its length.
const inputBuffers = 4

// admit takes a place for a call. Its id is free again once finish has returned, its
// place once the gate was left.
func (s *session) admit(ctx context.Context, ex *exchange) (context.Context, *rpcError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls[ex.key] != nil || s.listening[ex.key] != nil {
		return nil, protocolError(fault.Newf(fault.InvalidRequest, "a request with the id %s is in flight", ex.id))
	}
	if s.ended {
		return nil, protocolError(fault.New(fault.Cancelled, "the connection is ending"))
	}
	limit := s.server.now().QueueMax
	running, ok := s.gate.Enter(limit)
	queue := func() map[string]any { return map[string]any{"max": limit, "size": running} }
	if !ok {
		f := fault.Newf(fault.QueueOverloaded, "%d calls are in flight, which is the limit", running)
		return nil, protocolError(f.WithDetails(map[string]any{"queue": queue()}))
	}
	most := inputBuffers * s.server.opts.MaxBufferBytes
	if bytes, ok := s.gate.AddBytes(len(ex.params), most); !ok {
		s.gate.Leave()
		running--
		f := fault.Newf(fault.QueueOverloaded, "the calls in flight hold %d bytes of input, so %d more are too many", bytes, len(ex.params))
		return nil, protocolError(f.WithDetails(map[string]any{"queue": queue(), "maxBytes": most, "bytes": bytes}))
	}
	ex.pending = &pending{exchange: ex}
	ctx, ex.pending.cancel = context.WithCancelCause(ctx)
	s.calls[ex.key] = ex.pending
	s.answered.Add(1)
	return ctx, nil
}

// finish reports whether a call may still get a response, and frees its id.
func (s *session) finish(ex *exchange) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ex.pending.cancelled {
		return false
	}
	delete(s.calls, ex.key)
	return true
}

// drain ends the session: no new calls, subscriptions are closed. The channel is
// closed when every call has its response.
func (s *session) drain() <-chan struct{} {
	s.mu.Lock()
	s.ended = true
	if s.unfollow != nil {
		s.unfollow()
	}
	s.mu.Unlock()
	s.closeQuestions()
	s.closeSubscriptions()
	done := make(chan struct{})
	go func() {
		s.answered.Wait()
		close(done)
	}()
	return done
}

// stop cancels all calls; each is answered as cancelled.
func (s *session) stop(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.calls {
		c.cancel(why)
	}
}

// idle reports whether no call is waiting for its answer.
func (s *session) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.calls) == 0
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

// handshake is the state that initialize sets. It is the library's view of the session.
type handshake struct {
	id string

	mu          sync.Mutex
	initialized bool
	version     string
	info        mcp.Implementation
	caps        mcp.ClientCapabilities
	seen        *peer // what the three say; nil when one of them was set since
}

var (
	_ server.SessionWithClientInfo      = (*handshake)(nil)
	_ server.SessionWithProtocolVersion = (*handshake)(nil)
)

func (h *handshake) read() (mcp.Implementation, mcp.ClientCapabilities, string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.info, h.caps, h.version
}

// peer is the client of the handshake. It is called at every request.
func (h *handshake) peer() peer {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.seen == nil {
		h.seen = &peer{version: h.version, info: h.info, declares: declared(h.caps), asks: askCapabilities(h.caps)}
		if h.version == "" {
			h.seen.version = mcp.LATEST_LEGACY_PROTOCOL_VERSION
		}
	}
	return *h.seen
}

func (h *handshake) Initialize() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.initialized = true
}

func (h *handshake) Initialized() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.initialized
}

// NotificationChannel is nil: the library sends no notifications, since lists and
// subscriptions are ours.
func (h *handshake) NotificationChannel() chan<- mcp.JSONRPCNotification { return nil }

func (h *handshake) SessionID() string { return h.id }

func (h *handshake) GetClientInfo() mcp.Implementation { i, _, _ := h.read(); return i }

func (h *handshake) SetClientInfo(i mcp.Implementation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.info, h.seen = i, nil
}

func (h *handshake) GetClientCapabilities() mcp.ClientCapabilities { _, c, _ := h.read(); return c }

func (h *handshake) SetClientCapabilities(c mcp.ClientCapabilities) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.caps, h.seen = c, nil
}

func (h *handshake) ProtocolVersion() string { _, _, v := h.read(); return v }

// SetProtocolVersion is called by the library when initialize negotiated it.
func (h *handshake) SetProtocolVersion(v string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.version, h.seen = v, nil
}
