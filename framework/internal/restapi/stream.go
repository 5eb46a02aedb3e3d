package restapi

import (
	"io"
	"net/http"
	"sync"
	"time"
)

// stream is a stream of server-sent events. Its methods may be called from several goroutines.
type stream struct {
	w       http.ResponseWriter
	timeout time.Duration // of a write
	mu      sync.Mutex
	broken  bool
	quiet   *time.Timer // nil without
}

// keepAlive is how long a stream says nothing.
const keepAlive = 15 * time.Second

// stream begins a stream of events; close ends it.
func (h *Handler) stream(w http.ResponseWriter, timeout time.Duration) *stream {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache, no-transform")
	w.Header().Set("X-Accel-Buffering", "no") // nginx would hold events back
	w.WriteHeader(http.StatusOK)
	return &stream{w: w, timeout: timeout}
}

// keepAlive has the stream say something once in a while.
func (s *stream) keepAlive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quiet = time.AfterFunc(keepAlive, func() { s.put(":\n\n") })
}

// send sends an envelope.
func (s *stream) send(name string, e envelope) {
	s.put("event: " + name + "\ndata: " + string(encoded(e)) + "\n\n")
}

// put writes a text, and reports whether the stream is open.
func (s *stream) put(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken {
		return false
	}
	control := http.NewResponseController(s.w)
	_ = control.SetWriteDeadline(time.Now().Add(s.timeout))
	if _, err := io.WriteString(s.w, text); err != nil || control.Flush() != nil {
		s.broken = true
	}
	if s.quiet != nil {
		s.quiet.Reset(keepAlive)
	}
	return !s.broken
}

// close ends the stream: nothing is written after it.
func (s *stream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = true
	if s.quiet != nil {
		s.quiet.Stop()
	}
}
