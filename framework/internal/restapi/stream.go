package restapi

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// stream is a stream of server-sent events. Its methods may be called from several goroutines.
type stream struct {
	io.Writer
	deadline func(time.Time) error
	flush    func() error
	timeout  time.Duration // of a write
	mu       sync.Mutex
	broken   bool
	quiet    *time.Timer // nil without
}

// keepAlive is how long a stream says nothing.
const keepAlive = 15 * time.Second

// stream begins a stream of events; close ends it.
func (h *responder) stream(w http.ResponseWriter) *stream {
	describeStream(w.Header())
	w.WriteHeader(http.StatusOK)
	control := http.NewResponseController(w)
	return &stream{Writer: w, deadline: control.SetWriteDeadline, flush: control.Flush, timeout: h.opts.WriteTime}
}

// describeStream sets the header of a stream.
func describeStream(header http.Header) {
	header.Set("Content-Type", eventsType)
	header.Set("Cache-Control", "no-cache, no-transform")
	header.Set("X-Accel-Buffering", "no") // nginx would hold events back
}

// takeOver begins a stream on a connection that the server of HTTP does not serve any more, where
// it can be taken over: what the server keeps for one would be most of what a stream costs.
func takeOver(w http.ResponseWriter) (s *stream, conn net.Conn, ok bool) {
	conn, unread, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, nil, false
	}
	header := w.Header()
	describeStream(header)
	header.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	header.Set("Connection", "close") // which is where the body ends
	var b bytes.Buffer
	b.WriteString("HTTP/1.1 200 OK\r\n")
	_ = header.Write(&b) // to a buffer
	b.WriteString("\r\n")
	s = &stream{Writer: conn, deadline: conn.SetWriteDeadline, flush: func() error { return nil }}
	_ = conn.SetDeadline(time.Now().Add(headTime))
	if _, err := conn.Write(b.Bytes()); err != nil || unread.Reader.Buffered() > 0 { // another request, of which nobody would hear
		s.broken = true
	}
	_ = conn.SetReadDeadline(time.Time{})
	return s, conn, true
}

// headTime is how long a client may take to take the head of a response.
const headTime = 10 * time.Second

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
func (s *stream) put(text string) bool { return s.putAll(net.Buffers{[]byte(text)}) }

// putAll writes texts one after the other, without a copy of them: many streams may have the
// same.
func (s *stream) putAll(texts net.Buffers) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken {
		return false
	}
	_ = s.deadline(time.Now().Add(s.timeout))
	if _, err := texts.WriteTo(s.Writer); err != nil || s.flush() != nil {
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
