package mcpserver

import (
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

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
