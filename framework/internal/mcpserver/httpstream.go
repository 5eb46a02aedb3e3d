package mcpserver

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// accepted are the media types that a client reads.
type accepted struct{ json, stream bool }

// parseAccept reads the Accept header. A client without one reads everything.
func parseAccept(r *http.Request) accepted {
	values := r.Header.Values("Accept")
	if len(values) == 0 {
		return accepted{true, true}
	}
	var out accepted
	for _, part := range strings.Split(strings.Join(values, ","), ",") {
		media, rest, _ := strings.Cut(part, ";")
		if refused(rest) {
			continue
		}
		switch strings.ToLower(strings.TrimSpace(media)) {
		case "application/json", "application/*":
			out.json = true
		case "text/event-stream", "text/*":
			out.stream = true
		case "*/*":
			out = accepted{true, true}
		}
	}
	return out
}

// refused reports whether the parameters of a media type have q=0.
func refused(parameters string) bool {
	for _, p := range strings.Split(parameters, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(p), "=")
		if q, err := strconv.ParseFloat(value, 64); strings.EqualFold(name, "q") && err == nil && q == 0 {
			return true
		}
	}
	return false
}

// reply is the sink of one POST. It ends with the response.
type reply struct {
	*outbox
	timeout    time.Duration // with a client that reads a message
	answerOnly bool          // the client reads no stream, so the answer only
	stepUp     func(r *http.Request, scopes []string) (challenge string)
}

func (h *HTTP) newReply() reply {
	return reply{outbox: newOutbox(h.server.opts.MaxBufferBytes), timeout: h.opts.WriteTime, stepUp: h.admission.StepUp}
}

// put implements sink. An empty message is a response that is not sent.
func (r reply) put(m outgoing) {
	r.outbox.put(m)
	if m.isAnswer {
		r.close()
	}
}

// offer implements sink.
func (r reply) offer(m outgoing) (taken bool) { return !r.answerOnly && r.outbox.offer(m) }

// serve writes the messages: as plain JSON if the response comes first, else as a stream
// of events. It returns when the response is written or the client has disconnected.
func (r reply) serve(w http.ResponseWriter, req *http.Request, a accepted, status func(code int) int) {
	defer context.AfterFunc(req.Context(), func() { r.fail(errAbandoned) })()
	m, ok := r.first(a)
	code := status(m.failure)
	if len(m.wanted) > 0 {
		if challenge := r.stepUp(req, m.wanted); challenge != "" {
			w.Header().Set("WWW-Authenticate", challenge)
			code = http.StatusForbidden
		}
	}
	switch {
	case !ok && a.stream: // cancelled: there is nothing to say
		begin(w)
	case !ok:
		w.WriteHeader(http.StatusAccepted)
	case m.isAnswer && (a.json || code != http.StatusOK):
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(r.timeout))
		_, _ = w.Write(m.text)
	default:
		begin(w)
		first := true
		_, failed := events(w, r.outbox, r.timeout, func() (outgoing, bool) {
			if first {
				first = false
				return m, true
			}
			m, ok, _ := r.take()
			return m, ok
		})
		if failed {
			r.fail(errAbandoned)
		}
	}
}

// first returns the message that decides on the form of the HTTP response. A client that
// reads no streams gets the JSON-RPC response only.
func (r reply) first(a accepted) (outgoing, bool) {
	for {
		m, ok, _ := r.take()
		if !ok || m.isAnswer || a.stream {
			return m, ok
		}
	}
}

// stream serves a session's own messages until the client disconnects or the session
// ends. What could not be written waits for the next stream.
func stream(w http.ResponseWriter, req *http.Request, box *outbox, timeout time.Duration) {
	begin(w)
	_ = http.NewResponseController(w).Flush()
	left := req.Context().Done()
	defer context.AfterFunc(req.Context(), box.wake)()
	if m, failed := events(w, box, timeout, func() (outgoing, bool) { return box.takeUntil(left) }); failed && !m.comment {
		box.giveBack(m)
	}
}

// begin starts a stream of events.
func begin(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache, no-transform")
	w.Header().Set("X-Accel-Buffering", "no") // nginx would hold events back
	w.WriteHeader(http.StatusOK)
}

// events writes messages as server-sent events until there are no more, or one cannot be
// written: that one is returned. If nothing happens for a while it writes a comment, so
// that a closed connection is noticed.
func events(w http.ResponseWriter, box *outbox, timeout time.Duration, take func() (outgoing, bool)) (lost outgoing, failed bool) {
	defer every(keepAlive, func() { box.offer(outgoing{text: []byte{':'}, comment: true}) })()
	control := http.NewResponseController(w)
	for m, ok := take(); ok; m, ok = take() {
		if m.progress != nil && m.isAnswer && !m.progress.at.IsZero() {
			time.Sleep(time.Until(m.progress.at.Add(progressGap)))
		}
		_ = control.SetWriteDeadline(time.Now().Add(timeout))
		event := ":\n\n"
		if !m.comment {
			event = "event: message\ndata: " + string(m.text) + "\n\n"
		}
		if _, err := io.WriteString(w, event); err != nil {
			return m, true
		}
		if err := control.Flush(); err != nil {
			return m, true
		}
		if m.progress != nil && !m.isAnswer {
			m.progress.at = time.Now()
		}
	}
	return outgoing{}, false
}

// every calls fn at an interval until the returned function is called.
func every(interval time.Duration, fn func()) (stop func()) {
	done := make(chan struct{})
	tick := time.NewTicker(interval)
	go func() {
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				fn()
			case <-done:
				return
			}
		}
	}()
	return func() { close(done) }
}
