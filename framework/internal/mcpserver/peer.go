package mcpserver

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/observe"
)

// Where both sides declare code mode.
const (
	experimentalKey = "koan"
	extensionKey    = "dev.koan/code-mode"
)

// tasksKey is where both sides declare tasks.
const tasksKey = "io.modelcontextprotocol/tasks"

// peer is the client of one request. It is read from each request, since the modern era
// has no sessions.
type peer struct {
	version   string // of the protocol; never ""
	modern    bool
	info      mcp.Implementation
	declares  exposure.Client
	asks      map[string]json.RawMessage // what it declared that it can be asked
	tasks     bool                       // it may be given tasks
	principal auth.Principal
}

// meta are the members of `_meta` that matter here. They are kept raw, so that an invalid
// one does not affect the others.
type meta struct {
	ProgressToken, Version, ClientInfo, Capabilities, LogLevel, TraceParent, TraceState, Seen json.RawMessage
}

func metaOf(params json.RawMessage) meta {
	var m meta
	members(params, func(name []byte, value json.RawMessage) {
		if string(name) != "_meta" {
			return
		}
		m = meta{}
		members(value, m.member)
	})
	return m
}

func (m *meta) member(name []byte, value json.RawMessage) {
	switch string(name) {
	case "progressToken":
		m.ProgressToken = value
	case "io.modelcontextprotocol/protocolVersion":
		m.Version = value
	case "io.modelcontextprotocol/clientInfo":
		m.ClientInfo = value
	case "io.modelcontextprotocol/clientCapabilities":
		m.Capabilities = value
	case "io.modelcontextprotocol/logLevel":
		m.LogLevel = value
	case "traceparent":
		m.TraceParent = value
	case "tracestate":
		m.TraceState = value
	case versionMeta:
		m.Seen = value
	}
}

// text reads a string, "" for anything else.
func text(raw json.RawMessage) string {
	s, _ := unquoted(raw)
	return s
}

// trace is the caller's W3C trace context, empty without a valid one.
func (m meta) trace() observe.TraceContext {
	return observe.TraceContext{Parent: text(m.TraceParent), State: text(m.TraceState)}.Bounded()
}

type headerTraceKey struct{}

// withHeaderTrace keeps the trace context of a request's headers, for messages that have none
// of their own.
func withHeaderTrace(ctx context.Context, r *http.Request) context.Context {
	t := observe.TraceContext{Parent: r.Header.Get("Traceparent"), State: r.Header.Get("Tracestate")}.Bounded()
	if t.Parent == "" {
		return ctx
	}
	return context.WithValue(ctx, headerTraceKey{}, t)
}

// parent is the trace context that a message belongs to: its own, else its request's.
func (m meta) parent(ctx context.Context) observe.TraceContext {
	if t := m.trace(); t.Parent != "" {
		return t
	}
	t, _ := ctx.Value(headerTraceKey{}).(observe.TraceContext)
	return t
}

// modernPeer reads the client from a stateless request. ok is false for a request of the
// older era.
func (s *Server) modernPeer(m meta) (p peer, ok bool, bad *rpcError) {
	if m.Version == nil {
		return peer{}, false, nil
	}
	if p, ok := s.peers.find(m); ok {
		return p, true, nil
	}
	version := text(m.Version)
	if !mcp.IsModernProtocol(version) {
		return peer{}, false, nil
	}
	if !mcp.IsValidProtocolVersion(version) {
		return peer{}, true, unsupportedVersion(version)
	}
	var caps *mcp.ClientCapabilities
	if json.Unmarshal(m.Capabilities, &caps) != nil || caps == nil {
		return peer{}, true, protocolError(fault.Invalid(fault.Detail{
			Path: "/_meta/io.modelcontextprotocol~1clientCapabilities", Message: "the client's capabilities are missing or not an object", Expected: "object",
		}))
	}
	p = peer{version: version, modern: true, declares: declared(*caps), asks: askCapabilities(m.Capabilities), tasks: caps.Extensions[tasksKey] != nil}
	_ = json.Unmarshal(m.ClientInfo, &p.info) // optional, and never a reason to refuse
	s.peers.add(m, p)
	return p, true, nil
}

// rejectUnknownVersion rejects a request that names an unsupported protocol version where
// the modern era has it. A client with a handshake is of the older era, which has no
// version there, and initialize negotiates.
func (s *session) rejectUnknownVersion(m message) *rpcError {
	if m.about.Version == nil || m.method == string(mcp.MethodInitialize) {
		return nil
	}
	if _, _, made := s.handshake.read(); made != "" {
		return nil
	}
	switch version, ok := unquoted(m.about.Version); {
	case !ok:
		return protocolError(fault.Invalid(fault.Detail{Path: versionPath, Message: "the protocol version is not a string", Expected: "string"}))
	case !mcp.IsValidProtocolVersion(version):
		return unsupportedVersion(version)
	}
	return nil
}

// versionPath is where a request of the modern era names its version.
const versionPath = "/_meta/io.modelcontextprotocol~1protocolVersion"

// peerCache caches peers. In the modern era a client describes itself in every request,
// in the same bytes.
type peerCache struct {
	mu    sync.RWMutex
	known map[string]peer // without a principal; by the words
}

// How many are cached, and the longest description in bytes.
const (
	maxCachedPeers = 256
	maxPeerKey     = 2048
)

// peerKey is everything that a peer is read from, with a separator that is not valid
// JSON.
func (m *meta) peerKey(b []byte) []byte {
	b = append(append(b, m.Version...), 0)
	b = append(append(b, m.Capabilities...), 0)
	return append(b, m.ClientInfo...)
}

func (a *peerCache) find(m meta) (p peer, ok bool) {
	var room [512]byte
	a.mu.RLock()
	defer a.mu.RUnlock()
	p, ok = a.known[string(m.peerKey(room[:0]))]
	return p, ok
}

func (a *peerCache) add(m meta, p peer) {
	words := string(m.peerKey(nil))
	if len(words) > maxPeerKey {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known == nil || len(a.known) >= maxCachedPeers {
		a.known = map[string]peer{}
	}
	a.known[words] = p
}

// declared reads a client's declaration of code mode. An explicit false wins.
func declared(caps mcp.ClientCapabilities) exposure.Client {
	out := exposure.Unknown
	for _, said := range []struct {
		in  map[string]any
		key string
	}{{caps.Experimental, experimentalKey}, {caps.Extensions, extensionKey}} {
		v, ok := said.in[said.key]
		if !ok || v == nil {
			continue
		}
		if m, isObject := v.(map[string]any); v == false || isObject && m["codeMode"] == false {
			return exposure.LegacyClient
		}
		out = exposure.Understands
	}
	return out
}

// mode is the exposure mode for this client; never auto.
func (p peer) mode(s *Server) exposure.Mode { return exposure.ForClient(s.now().Exposure, p.declares) }

// view is the catalog as this client sees it now.
func (p peer) view(s *Server) *catalog.View {
	return s.opts.Catalog().View(p.principal, p.mode(s), s.now().ExposureIsAuto)
}

// toolErrors reports whether bad arguments are a tool's failure, which a model can
// read and correct, or a protocol error (CONTRACT section 5).
func (p peer) toolErrors() bool { return p.version >= mcp.ProtocolVersion20251125 }

// knowsProgressMessage reports whether progress may carry a message.
func (p peer) knowsProgressMessage() bool { return p.version >= mcp.ProtocolVersion20250326 }

// supportsAudio reports whether the protocol version knows sounds.
func (p peer) supportsAudio() bool { return p.version >= mcp.ProtocolVersion20250326 }

// supportsLinks reports whether the protocol version knows links to resources in results.
func (p peer) supportsLinks() bool { return p.version >= mcp.ProtocolVersion20250618 }

// supportsBatches reports whether the protocol version has JSON-RPC batches: one only.
func (p peer) supportsBatches() bool { return p.version == mcp.ProtocolVersion20250326 }
