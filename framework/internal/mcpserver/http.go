package mcpserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/admission"
)

// HTTPOptions configure the HTTP transport. The zero value serves every caller as
// Options.Principal, and rejects requests from pages of other sites.
type HTTPOptions struct {
	// Authenticate returns the caller. Its error is sent as it is: unauthorized with
	// 401, forbidden with 403. If it is nil, every caller is Options.Principal.
	Authenticate func(*http.Request) (auth.Principal, error)
	// StepUp returns how a caller can get the scopes of a tool that it may not call: the
	// value of WWW-Authenticate, which is sent with 403. If it is nil or returns "", the
	// tool looks as if it did not exist.
	StepUp func(r *http.Request, scopes []string) (challenge string)
	// AllowedHosts are names by which a server that listens on loopback may be called:
	// those of a proxy in front of it. AllowedOrigins are the sites whose pages may call
	// it, such as "https://app.example.org".
	AllowedHosts   []string
	AllowedOrigins []string
	// SessionIdle is how long a session of the older era may be unused; 0 is 30 min.
	SessionIdle time.Duration
	// MaxSessions bounds them; 0 is 1000.
	MaxSessions int
	// RequestsPerMinute bounds the requests of one principal: so many at once, and so
	// many in each minute after that. 0 is no bound.
	RequestsPerMinute int
	// BodyTime is how long the body of a request may take, WriteTime how long a
	// client may take to read one message; 0 is 30 s each.
	BodyTime, WriteTime time.Duration
}

const (
	keepAlive  = 25 * time.Second // between signs of life on an open stream
	retryAfter = "1"              // seconds
)

// HTTP is the Streamable HTTP transport of both eras on one endpoint: requests of
// 2026-07-28 are stateless, so that any replica can serve them; older ones belong to a
// session that initialize opened in this process. Mount it at /mcp.
type HTTP struct {
	server    *Server
	opts      HTTPOptions
	admission *admission.Admission

	mu       sync.Mutex
	sessions map[string]*httpSession
	live     atomic.Pointer[HTTPLive]
	alone    map[*session]struct{} // of requests without a session
	closing  bool

	calls   context.Context // of sessions: their calls outlive a connection
	stop    context.CancelCauseFunc
	stopped chan struct{} // ends the sweeper
}

// HTTP makes the transport. Shutdown ends it.
func (s *Server) HTTP(o HTTPOptions) *HTTP {
	if o.BodyTime == 0 {
		o.BodyTime = 30 * time.Second
	}
	if o.WriteTime == 0 {
		o.WriteTime = 30 * time.Second
	}
	h := &HTTP{
		server: s, opts: o, sessions: map[string]*httpSession{}, alone: map[*session]struct{}{}, stopped: make(chan struct{}),
		admission: admission.New(admission.Options{
			Authenticate: o.Authenticate, Principal: s.opts.Principal, StepUp: o.StepUp, MaxBody: s.opts.MaxBufferBytes, BodyTime: o.BodyTime, Log: s.opts.Log,
		}),
	}
	h.Adjust(HTTPLive{o.AllowedHosts, o.AllowedOrigins, o.SessionIdle, o.MaxSessions, o.RequestsPerMinute})
	h.calls, h.stop = context.WithCancelCause(context.Background())
	go h.sweep()
	return h
}

// RightsChanged notifies open clients that their lists may have changed, since callers
// have other rights now. It does not block.
func (h *HTTP) RightsChanged() { h.server.CatalogChanged() }

// ServeHTTP implements http.Handler.
func (h *HTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer func() {
		if v := recover(); v != nil {
			if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(v)
			}
			h.server.opts.Log.Error("panic while serving HTTP", "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			writeFault(w, nil, fault.New(fault.Internal, ""))
		}
	}()
	if f := h.admission.RejectForeign(r); f != nil {
		writeFault(w, nil, f)
		return
	}
	if h.admission.CrossOrigin(w, r, crossOrigin) {
		return
	}
	p, f := h.admission.Admit(w, r)
	if f != nil {
		writeFault(w, nil, f)
		return
	}
	switch r.Method {
	case http.MethodPost:
		h.post(w, r, p)
	case http.MethodGet:
		h.get(w, r, p)
	case http.MethodDelete:
		h.delete(w, r, p)
	default:
		writeNotAllowed(w, "GET, POST, DELETE")
	}
}

// crossOrigin is what pages of allowed origins may do.
var crossOrigin = admission.CORS{
	Methods: "GET, POST, DELETE",
	Headers: strings.Join([]string{
		"Authorization", "Content-Type", "Accept", mcp.HeaderProtocolVersion, mcp.HeaderSessionID, mcp.HeaderMethod, mcp.HeaderName, mcp.HeaderLastEventID,
	}, ", "),
	Exposed: strings.Join([]string{mcp.HeaderSessionID, "WWW-Authenticate"}, ", "),
}

// Admission is what admits the transport's requests, for other surfaces of the same server.
func (h *HTTP) Admission() *admission.Admission { return h.admission }

// refuse rejects a request that has no session: the status is the fault's.
// writeFault answers a POST with a fault; id is nil for none.
func writeFault(w http.ResponseWriter, id []byte, f *fault.Fault) {
	writeError(w, f.HTTPStatus(), id, protocolError(f))
}

func writeError(w http.ResponseWriter, status int, id []byte, e *rpcError) {
	w.Header().Set("Content-Type", "application/json")
	if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
		if w.Header().Get("Retry-After") == "" {
			w.Header().Set("Retry-After", retryAfter)
		}
	}
	w.WriteHeader(status)
	_, _ = w.Write(encodeResponse(id, nil, e))
}

func writeNotAllowed(w http.ResponseWriter, allow string) {
	w.Header().Set("Allow", allow)
	writeError(w, http.StatusMethodNotAllowed, nil, protocolError(fault.New(fault.InvalidRequest, "the endpoint does not support this HTTP method")))
}

// frame is one POST after all checks that need no session.
type frame struct {
	items  []parsed
	batch  bool
	accept accepted
	header http.Header
	about  meta // of the first message
	modern bool
}

func (h *HTTP) post(w http.ResponseWriter, r *http.Request, p auth.Principal) {
	place := h.admission.TakePlace(p.Subject, h.server.now().QueueMax)
	if place == nil {
		writeFault(w, nil, fault.New(fault.QueueOverloaded, "too many requests of this caller are in flight"))
		return
	}
	defer place.Leave()
	f, ok := h.frame(w, r)
	if !ok {
		return
	}
	if f.modern {
		if !f.batch && f.items[0].method == string(mcp.MethodSubscriptionsListen) {
			place.Leave() // it stays, and has a bound of its own
		}
		h.postModern(w, r, p, f)
		return
	}
	h.postLegacy(w, r, p, f)
}

// frame reads a POST.
func (h *HTTP) frame(w http.ResponseWriter, r *http.Request) (frame, bool) {
	f := frame{header: r.Header, accept: parseAccept(r)}
	if _, ok := admission.Media(r, "application/json"); !ok {
		writeError(w, http.StatusUnsupportedMediaType, nil, protocolError(fault.New(fault.InvalidRequest, "the Content-Type must be application/json")))
		return f, false
	}
	if !f.accept.json && !f.accept.stream {
		writeError(w, http.StatusNotAcceptable, nil, protocolError(fault.New(fault.InvalidRequest, "the client must accept application/json and text/event-stream")))
		return f, false
	}
	text, status, bad := h.admission.ReadBody(w, r)
	if bad != nil {
		writeError(w, status, nil, protocolError(bad))
		return f, false
	}
	if len(bytes.TrimSpace(text)) == 0 {
		writeFault(w, nil, fault.New(fault.ParseError, "the message is not JSON: it is empty"))
		return f, false
	}
	f.items, f.batch = parse(text)
	if !f.batch && f.items[0].problem != nil {
		writeError(w, http.StatusBadRequest, f.items[0].id, protocolError(f.items[0].problem))
		return f, false
	}
	if len(f.items) > 0 {
		f.about = f.items[0].about
	}
	f.modern = mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion)) || mcp.IsModernProtocol(versionOf(f.about))
	return f, true
}

func versionOf(m meta) string { return text(m.Version) }

// postModern serves a stateless request. Everything about it ends with it, or when the
// client disconnects.
func (h *HTTP) postModern(w http.ResponseWriter, r *http.Request, p auth.Principal, f frame) {
	if f.batch {
		writeFault(w, nil, fault.New(fault.InvalidRequest, "this protocol version has no batches"))
		return
	}
	m := f.items[0]
	if status, bad := modernHeaders(f); bad != nil {
		writeError(w, status, m.id, bad)
		return
	}
	switch {
	case m.answer:
		writeError(w, http.StatusBadRequest, m.id, protocolError(fault.New(fault.InvalidRequest, "in this protocol version servers send no requests, so there is nothing to answer")))
		return
	case m.id == nil:
		// A cancel of a request is the end of its stream: an id alone says nothing
		// about whose request it is.
		w.WriteHeader(http.StatusAccepted)
		return
	}
	to := h.newReply()
	ss := newSession(h.server, to)
	shared := h.enter(ss, p.Subject)
	if shared == nil {
		writeFault(w, m.id, fault.New(fault.ServiceUnavailable, "the server is shutting down"))
		return
	}
	defer h.leave(ss, p.Subject)
	ss.requests.gate, ss.requests.streams, ss.requests.maxStreams = &shared.Calls, &shared.Streams, h.now().MaxSessions
	ctx, cancel := context.WithCancelCause(withHeaderTrace(auth.With(r.Context(), p), r))
	defer cancel(nil)
	ss.handle(ctx, f.items[0], to)
	to.serve(w, r, f.accept, statusOf)
}

// postLegacy serves the requests of a session, and initialize, which opens one.
func (h *HTTP) postLegacy(w http.ResponseWriter, r *http.Request, p auth.Principal, f frame) {
	if v := r.Header.Get(mcp.HeaderProtocolVersion); v != "" && !mcp.IsValidProtocolVersion(v) {
		writeError(w, http.StatusBadRequest, f.id(), unsupportedVersion(v))
		return
	}
	opening := !f.batch && f.items[0].method == string(mcp.MethodInitialize) && f.items[0].id != nil
	var ss *httpSession
	var bad *fault.Fault
	if opening {
		ss, bad = h.open(p)
	} else {
		ss, bad = h.find(r, p)
	}
	if bad != nil {
		writeFault(w, f.id(), bad)
		return
	}
	defer h.done(ss)
	to := h.newReply()
	to.answerOnly = !f.accept.stream
	if ctx := withHeaderTrace(auth.With(h.calls, p), r); f.batch {
		ss.handleBatch(ctx, f.items, to)
	} else {
		ss.handle(ctx, f.items[0], to)
	}
	if opening {
		if _, _, version := ss.handshake.read(); version == "" {
			h.end(ss) // initialize failed
		} else {
			w.Header().Set(mcp.HeaderSessionID, ss.key)
		}
	}
	if !f.asks() {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	to.serve(w, r, f.accept, statusOfLegacy)
}

// asks reports whether anything in the frame gets a response.
func (f frame) asks() bool {
	if f.batch && len(f.items) == 0 {
		return true
	}
	for _, m := range f.items {
		if m.problem != nil || m.id != nil && !m.answer {
			return true
		}
	}
	return false
}

// id is the id of a frame that is one request.
func (f frame) id() []byte {
	if f.batch || len(f.items) == 0 || f.items[0].answer {
		return nil
	}
	return f.items[0].id
}

// modernHeaders checks the headers of a POST of 2026-07-28: the version must be in header
// and body, and the headers for method and name must agree with the body.
func modernHeaders(f frame) (status int, bad *rpcError) {
	header, body := f.header.Get(mcp.HeaderProtocolVersion), versionOf(f.about)
	mismatch := func(why string) (int, *rpcError) {
		return http.StatusBadRequest, &rpcError{Code: mcp.HEADER_MISMATCH, Message: why, Data: fault.New(fault.InvalidRequest, why)}
	}
	switch {
	case f.header.Get(mcp.HeaderLastEventID) != "":
		return mismatch("streams of this protocol version cannot be resumed: leave Last-Event-ID out and send the request again under a new id")
	case header == "":
		return mismatch("the header " + mcp.HeaderProtocolVersion + " is missing")
	case body != "" && header != body:
		return mismatch("the header " + mcp.HeaderProtocolVersion + " and the request's _meta name different versions")
	case !mcp.IsValidProtocolVersion(header):
		return http.StatusBadRequest, unsupportedVersion(header)
	case body == "" && f.items[0].id != nil:
		return http.StatusBadRequest, protocolError(fault.Invalid(fault.Detail{Path: versionPath, Message: "the protocol version is missing", Expected: "string"}))
	}
	if f.items[0].answer {
		return 0, nil
	}
	if err := mcp.ValidateStandardHeaders(f.header.Get, header, mcp.MCPMethod(f.items[0].method), rawOrEmpty(f.items[0].params)); err != nil {
		return mismatch(err.Error())
	}
	if id, ok := taskOf(f.items[0].message); ok {
		switch name := f.header.Get(mcp.HeaderName); {
		case name == "":
			return mismatch("the header " + mcp.HeaderName + " is missing: it must be the taskId")
		case name != id:
			return mismatch("the header " + mcp.HeaderName + " and the request name different tasks")
		}
	}
	return 0, nil
}

// statusOf returns the HTTP status of a response in the modern era.
func statusOf(code int) int {
	switch code {
	case mcp.METHOD_NOT_FOUND:
		return http.StatusNotFound
	case mcp.PARSE_ERROR, mcp.INVALID_REQUEST, mcp.INVALID_PARAMS, mcp.HEADER_MISMATCH, mcp.MISSING_REQUIRED_CLIENT_CAPABILITY, mcp.UNSUPPORTED_PROTOCOL_VERSION:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// statusOfLegacy returns it in the older era, where a JSON-RPC error is no error of the
// transport.
func statusOfLegacy(int) int { return http.StatusOK }
