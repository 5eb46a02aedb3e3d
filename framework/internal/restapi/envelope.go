package restapi

import (
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/invoke"
)

// envelope is the body of responses of /tools, /health and /status, as the tooling API
// contract has it (section 7).
type envelope struct {
	OK     bool            `json:"ok"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *fault.Fault    `json:"error,omitempty"`
	Meta   meta            `json:"_meta"`
}

// meta describes a response, and the run that it is of.
type meta struct {
	SchemaVersion string         `json:"schemaVersion"`
	ToolVersion   string         `json:"toolVersion"`
	TS            string         `json:"ts"` // RFC 3339
	DurationMs    int64          `json:"durationMs"`
	RunID         string         `json:"runId,omitempty"`
	Attempts      int            `json:"attempts,omitempty"`
	Metrics       map[string]any `json:"metrics,omitempty"` // of a script
}

func (h *Handler) meta(began time.Time) meta {
	return meta{SchemaVersion: catalog.SchemaVersion, ToolVersion: h.opts.Version, TS: time.Now().UTC().Format(time.RFC3339Nano), DurationMs: time.Since(began).Milliseconds()}
}

func (h *Handler) succeeded(began time.Time, result any) envelope {
	raw, err := invoke.Encode(result)
	if err != nil {
		return h.failed(began, fault.New(fault.Internal, "").Because(err))
	}
	return envelope{OK: true, Result: raw, Meta: h.meta(began)}
}

func (h *Handler) failed(began time.Time, f *fault.Fault) envelope {
	return envelope{Error: f, Meta: h.meta(began)}
}

// send writes an envelope.
func (h *Handler) send(w http.ResponseWriter, status int, e envelope) {
	h.write(w, status, jsonType, encoded(e))
}

func encoded(e envelope) []byte {
	raw, err := invoke.Encode(e)
	if err != nil { // details that are not JSON
		e.Error = fault.New(e.Error.Code, e.Error.Message)
		raw, _ = invoke.Encode(e)
	}
	return raw
}

// fail writes the envelope of a failure.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, began time.Time, j rejection) {
	status := h.rejectionHeader(w, r, j)
	h.send(w, status, h.failed(began, j.Fault))
}

// keepAlive is how long a stream says nothing.
const keepAlive = 25 * time.Second

// events is a stream of server-sent events. Its methods may be called from several
// goroutines.
type events struct {
	w       http.ResponseWriter
	timeout time.Duration
	mu      sync.Mutex
	broken  bool
	stop    chan struct{}
}

// stream begins a stream of events; close ends it.
func (h *Handler) stream(w http.ResponseWriter) *events {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache, no-transform")
	w.Header().Set("X-Accel-Buffering", "no") // nginx would hold events back
	w.WriteHeader(http.StatusOK)
	s := &events{w: w, timeout: h.opts.WriteTime, stop: make(chan struct{})}
	go s.keepAlive()
	return s
}

func (s *events) keepAlive() {
	tick := time.NewTicker(keepAlive)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.put(":\n\n")
		case <-s.stop:
			return
		}
	}
}

func (s *events) send(name string, e envelope) {
	s.put("event: " + name + "\ndata: " + string(encoded(e)) + "\n\n")
}

func (s *events) put(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken {
		return
	}
	control := http.NewResponseController(s.w)
	_ = control.SetWriteDeadline(time.Now().Add(s.timeout))
	if _, err := io.WriteString(s.w, text); err != nil || control.Flush() != nil {
		s.broken = true
	}
}

// close ends the stream: nothing is written after it.
func (s *events) close() {
	close(s.stop)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = true
}
