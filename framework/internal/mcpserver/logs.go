package mcpserver

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/invoke"
)

// severities are the protocol's levels of log messages, as levels of slog.
var severities = []struct {
	name  string
	level slog.Level
}{
	{"debug", slog.LevelDebug},
	{"info", slog.LevelInfo},
	{"notice", slog.LevelInfo + 2},
	{"warning", slog.LevelWarn},
	{"error", slog.LevelError},
	{"critical", slog.LevelError + 2},
	{"alert", slog.LevelError + 4},
	{"emergency", slog.LevelError + 6},
}

func severity(name string) (slog.Level, bool) {
	for _, s := range severities {
		if s.name == name {
			return s.level, true
		}
	}
	return 0, false
}

// severityName is the highest of the protocol's levels that a level reaches.
func severityName(l slog.Level) string {
	name := severities[0].name
	for _, s := range severities {
		if l >= s.level {
			name = s.name
		}
	}
	return name
}

// logs sends a client the log messages of one call, from the level on that it set, and
// none after close. A client that set no level gets none.
type logs struct {
	least  slog.Level
	logger string
	send   func(outgoing) bool

	mu     sync.Mutex
	closed bool
}

// logLevel is what a client of the older era set with logging/setLevel; nil before.
type logLevel struct{ atomic.Pointer[slog.Level] }

// newLogs takes the level from the request in the modern era and from the session in the
// older one. It returns nil if there is none.
func newLogs(logger string, p peer, about meta, session *logLevel, to sink) *logs {
	least, wanted := severity(text(about.LogLevel))
	if !p.modern {
		set := session.Load()
		if wanted = set != nil; wanted {
			least = *set
		}
	}
	if !wanted {
		return nil
	}
	return &logs{least: least, send: to.offer, logger: logger}
}

// logFunc returns the function that sends a call's messages, nil if nobody reads them.
func (l *logs) logFunc() func(slog.Level, string) {
	if l == nil {
		return nil
	}
	return l.say
}

func (l *logs) say(level slog.Level, message string) {
	if level < l.least {
		return
	}
	text, err := invoke.Encode(notification{JSONRPC: mcp.JSONRPC_VERSION, Method: string(mcp.MethodNotificationMessage), Params: map[string]any{
		"level": severityName(level), "logger": l.logger, "data": strings.ToValidUTF8(message, "\uFFFD"),
	}})
	if err != nil { // texts only
		panic("mcpserver: a log message cannot be encoded: " + err.Error())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.send(outgoing{text: text})
	}
}

func (l *logs) close() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
}

// handleSet handles logging/setLevel; it holds for later calls.
func (l *logLevel) handleSet(_ context.Context, m message, _ peer) (any, *rpcError) {
	var params struct {
		Level string `json:"level"`
	}
	_ = json.Unmarshal(rawOrEmpty(m.params), &params) // anything but a string is not a level
	level, ok := severity(params.Level)
	if !ok {
		names := make([]string, len(severities))
		for i, s := range severities {
			names[i] = s.name
		}
		return nil, protocolError(fault.Invalid(fault.Detail{Path: "/level", Message: "unknown level" + fault.DidYouMean(params.Level, names), Expected: strings.Join(names, ", ")}))
	}
	l.Store(&level)
	return struct{}{}, nil
}
