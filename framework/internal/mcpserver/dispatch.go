package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/admission"
	"github.com/koan-go/koan/framework/internal/invoke"
)

// envelope is what every result may carry. In the modern era resultType is
// always there, and the caching hints on what can be cached.
type envelope struct {
	Meta       map[string]any `json:"_meta,omitempty"`
	ResultType string         `json:"resultType,omitempty"`
	TTLMs      *int64         `json:"ttlMs,omitempty"`
	CacheScope string         `json:"cacheScope,omitempty"`
}

// envelope makes the envelope of a result. What depends on a principal's rights can be
// cached for that principal only, and is stale at once: the catalog may change at any
// time.
func (s *Server) envelope(p peer, cacheable bool) envelope {
	if !p.modern {
		return envelope{}
	}
	e := envelope{
		ResultType: string(mcp.ResultTypeComplete),
		Meta:       map[string]any{mcp.MetaKeyServerInfo: mcp.Implementation{Name: s.opts.Name, Version: s.opts.Version}},
	}
	if cacheable {
		e.TTLMs, e.CacheScope = new(int64), string(mcp.CacheScopePrivate)
	}
	return e
}

// request handles one request. At most one answer goes to the sink.
func (s *session) request(ctx context.Context, m message, to sink) {
	answer := func(result any, failed *rpcError) {
		to.put(answerOf(m.id, result, s.server.redactError(failed)))
	}
	about := m.about
	p, bad := s.peer(ctx, about)
	if bad == nil && !p.modern {
		bad = s.rejectUnknownVersion(m)
	}
	if bad != nil {
		answer(nil, bad)
		return
	}
	switch mcp.MCPMethod(m.method) {
	case mcp.MethodToolsCall:
		s.async(ctx, m, p, about, to, s.tools.call)
	case mcp.MethodResourcesRead:
		s.async(ctx, m, p, about, to, s.documents.resource)
	case mcp.MethodPromptsGet:
		s.async(ctx, m, p, about, to, s.documents.prompt)
	case mcp.MethodPromptsList:
		answer(s.guarded(ctx, m, p, s.lists.prompts))
	case mcp.MethodCompletionComplete:
		answer(s.guarded(ctx, m, p, s.lists.complete))
	case mcp.MethodToolsList:
		answer(s.guarded(ctx, m, p, s.lists.tools))
	case mcp.MethodResourcesList:
		answer(s.guarded(ctx, m, p, s.lists.resources))
	case mcp.MethodResourcesTemplatesList:
		answer(s.guarded(ctx, m, p, s.lists.templates))
	default:
		if p.modern && m.method == string(mcp.MethodSubscriptionsListen) {
			if _, failed := s.guarded(ctx, m, p, func(context.Context, message, peer) (any, *rpcError) {
				s.subscriptions.listen(m, p, to, answer)
				return nil, nil
			}); failed != nil {
				answer(nil, failed)
			}
			return
		}
		answer(s.guarded(ctx, m, p, s.methodOfEra(p, m.method)))
	}
}

// methodOfEra returns the handler of a method that only one era has.
func (s *session) methodOfEra(p peer, method string) syncHandler {
	if !p.modern {
		switch mcp.MCPMethod(method) {
		case mcp.MethodInitialize:
			return s.initialize
		case mcp.MethodSetLogLevel:
			return s.level.handleSet
		case mcp.MethodResourcesSubscribe:
			return s.subscriptions.watch
		case mcp.MethodResourcesUnsubscribe:
			return s.subscriptions.unwatch
		}
		return s.delegate
	}
	switch method {
	case methodTasksGet:
		return s.tasks.get
	case methodTasksUpdate:
		return s.tasks.update
	case methodTasksCancel:
		return s.tasks.cancel
	}
	return s.delegate
}

type syncHandler func(context.Context, message, peer) (any, *rpcError)

// guarded keeps a panic from ending the connection.
func (s *session) guarded(ctx context.Context, m message, p peer, f syncHandler) (result any, failed *rpcError) {
	defer s.server.recovered(m, &result, &failed)
	return f(ctx, m, p)
}

// recovered is deferred where a panic must not end the connection: the request fails instead.
func (s *Server) recovered(m message, result *any, failed **rpcError) {
	if v := recover(); v != nil {
		s.opts.Log.Error("panic while answering a client", "method", m.method, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
		*result, *failed = nil, protocolError(fault.New(fault.Internal, ""))
	}
}

// exchange is a request that is answered later.
type exchange struct {
	message
	peer
	meta
	to        sink
	progress  *progress
	logs      *logs
	rounds    *rounds // of a stateless request, once it can be asked
	task      *task   // that the call is, or becomes when it takes long; nil where the client takes none
	pending   *pending
	slot      *admission.Slot
	concluded atomic.Bool // it has its answer, or needs none any more
}

// async handles a request in its own goroutine, within the session's bound.
func (s *session) async(ctx context.Context, m message, p peer, about meta, to sink, f func(context.Context, *exchange) (any, *rpcError)) {
	ex := &exchange{message: m, peer: p, meta: about, to: to, progress: newProgress(to, p, about.ProgressToken), logs: newLogs(s.server.opts.Name, p, about, &s.level, to)}
	ctx, bad := s.requests.admit(ctx, ex)
	if bad != nil {
		to.put(answerOf(m.id, nil, bad))
		return
	}
	go s.serve(ctx, ex, f, ex.slot.Leave)
}

// serve answers a request; leave is called when the answer is on its way. It keeps a panic
// from ending the connection, as guarded does.
func (s *session) serve(ctx context.Context, ex *exchange, f func(context.Context, *exchange) (any, *rpcError), leave func()) {
	growStack()
	var result any
	var failed *rpcError
	defer func() {
		if !s.requests.conclude(ex, result, failed, leave) {
			leave()
		}
	}()
	defer s.server.recovered(ex.message, &result, &failed)
	result, failed = f(ctx, ex)
}

// stopNotifying drops further progress and log messages of the call.
func (ex *exchange) stopNotifying() {
	ex.progress.close()
	ex.logs.close()
}

// batchSink collects responses; notifications pass through.
type batchSink struct {
	sink

	mu   sync.Mutex
	got  []json.RawMessage
	left int
}

func (b *batchSink) expect() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left++
}

func (b *batchSink) put(m outgoing) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if m.taken != nil {
		m.taken()
	}
	if len(m.text) > 0 {
		b.got = append(b.got, m.text)
	}
	if b.left--; b.left > 0 {
		return
	}
	if len(b.got) == 0 {
		b.sink.put(outgoing{isAnswer: true}) // all of them were cancelled, or want no answer
		return
	}
	raw, err := invoke.Encode(b.got)
	if err != nil { // each part was encoded before
		panic("mcpserver: a batch cannot be encoded: " + err.Error())
	}
	b.sink.put(outgoing{text: raw, isAnswer: true})
}

// delegate lets the library answer: the handshake, discovery, ping, and every
// method that we do not have.
func (s *session) delegate(ctx context.Context, m message, p peer) (any, *rpcError) {
	// The id is put on by us: the library would read it as a float.
	raw, err := invoke.Encode(map[string]any{"jsonrpc": mcp.JSONRPC_VERSION, "id": 0, "method": m.method, "params": rawOrEmpty(m.params)})
	if err != nil {
		return nil, protocolError(fault.New(fault.Internal, "").Because(err))
	}
	state := &s.handshake
	if p.modern {
		state = &handshake{id: s.handshake.id} // such a request leaves nothing behind
	}
	switch r := s.server.library.HandleMessage(s.server.library.WithContext(ctx, state), raw).(type) {
	case mcp.JSONRPCError:
		return nil, fromLibrary(r.Error)
	case mcp.JSONRPCResponse:
		return s.addCodeMode(r.Result, p), nil
	default:
		return nil, protocolError(fault.New(fault.InvalidRequest, "the message is not a request"))
	}
}

// initialize handles the request of that name. It rejects malformed params itself, since
// the library's error would name Go types.
func (s *session) initialize(ctx context.Context, m message, p peer) (any, *rpcError) {
	var wrong *json.UnmarshalTypeError
	var params mcp.InitializeParams
	err := json.Unmarshal(rawOrEmpty(m.params), &params)
	switch {
	case errors.As(err, &wrong):
		return nil, protocolError(fault.Invalid(fault.Detail{
			Path: "/" + strings.ReplaceAll(wrong.Field, ".", "/"), Message: "this has a different type in the protocol", Received: wrong.Value,
		}))
	case err != nil:
		return nil, protocolError(fault.Invalid(fault.Detail{Message: "the params of initialize do not have the form that the protocol requires"}))
	case params.ProtocolVersion == "":
		return nil, protocolError(fault.Invalid(fault.Detail{Path: "/protocolVersion", Message: "initialize must name the version of the protocol", Expected: "string"}))
	}
	return s.delegate(ctx, m, p)
}

func rawOrEmpty(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("{}")
	}
	return raw
}

// addCodeMode adds the code-mode block to the server's capabilities, and the
// instructions: both depend on the client.
func (s *session) addCodeMode(result any, p peer) any {
	switch r := result.(type) {
	case mcp.InitializeResult:
		p.declares = s.legacy().declares
		r.Capabilities.Experimental, r.Capabilities.Extensions = s.codeModeBlocks(p)
		r.Instructions = s.server.instructions(p)
		return r
	case mcp.DiscoverResult:
		r.Capabilities.Experimental, r.Capabilities.Extensions = s.codeModeBlocks(p)
		r.Capabilities.Extensions[tasksKey] = struct{}{}
		r.Instructions = s.server.instructions(p)
		return r
	}
	return result
}

func (s *session) codeModeBlocks(p peer) (experimental, extensions map[string]any) {
	block := s.server.codeMode(p)
	return map[string]any{experimentalKey: block}, map[string]any{extensionKey: block}
}
