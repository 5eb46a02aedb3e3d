package mcpserver

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/koan-go/koan/framework/ask"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/admission"
)

// httpSession is a session of the older era. Its own messages wait in box for the
// client's GET stream.
type httpSession struct {
	*session
	key   string
	owner string // subject of who opened it
	box   *outbox
	left  sync.Once // its place at the owner's gate

	// guarded by HTTP.mu
	busy      int // requests and streams that use it
	used      time.Time
	streaming bool
}

// maxWaitingBytes bounds the bytes of a session's own messages while no stream takes
// them.
const maxWaitingBytes = 64 << 10

// open makes a session for an initialize.
func (h *HTTP) open(p auth.Principal) (*httpSession, *fault.Fault) {
	box := newOutbox(maxWaitingBytes)
	ss := newSession(h.server, box)
	ss.dialogs.lasting = &ask.Session{}
	hs := &httpSession{session: ss, key: ss.handshake.id, owner: p.Subject, box: box, busy: 1}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closing:
		return nil, fault.New(fault.ServiceUnavailable, "the server is shutting down")
	case len(h.sessions) >= h.now().MaxSessions && !h.makeRoom(p.Subject):
		return nil, fault.Newf(fault.QueueOverloaded, "%d sessions are open, which is the limit", len(h.sessions)).
			WithHint("End sessions with DELETE, or use protocol version %s, which needs none.", mcp.LATEST_PROTOCOL_VERSION)
	}
	if h.admission.Known() {
		ss.requests.gate = &h.admission.Join(p.Subject).Calls
	}
	h.sessions[hs.key] = hs
	h.server.add(ss)
	return hs, nil
}

// makeRoom ends a session of the caller that has the most sessions, for one that has
// fewer, so that a caller cannot take all of them. It ends the session that was idle
// longest; one with an open stream only if there is no other, and never one with a call.
// It reports whether there is room. The lock is held.
func (h *HTTP) makeRoom(subject string) bool {
	count := map[string]int{}
	most := subject
	for _, hs := range h.sessions {
		if count[hs.owner]++; count[hs.owner] > count[most] {
			most = hs.owner
		}
	}
	if count[most] <= count[subject]+1 {
		return false
	}
	var end *httpSession
	for _, hs := range h.sessions {
		idle := hs.busy == 0
		if hs.owner != most || !hs.requests.idle() || !idle && !(hs.streaming && hs.busy == 1) {
			continue
		}
		if end == nil || idle && end.busy > 0 || idle == (end.busy == 0) && hs.used.Before(end.used) {
			end = hs
		}
	}
	if end == nil {
		return false
	}
	delete(h.sessions, end.key)
	go h.finish(end, errCrowded)
	return true
}

// find returns the session that a request names; the caller must call done after its
// use. A session of another principal is not found.
func (h *HTTP) find(r *http.Request, p auth.Principal) (*httpSession, *fault.Fault) {
	key := r.Header.Get(mcp.HeaderSessionID)
	if key == "" {
		return nil, fault.Newf(fault.InvalidRequest, "the header %s is missing", mcp.HeaderSessionID).
			WithHint("Start with initialize, and send the %s of its response with every request.", mcp.HeaderSessionID)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	hs := h.sessions[key]
	switch {
	case h.closing:
		return nil, fault.New(fault.ServiceUnavailable, "the server is shutting down")
	case hs == nil || hs.owner != p.Subject:
		return nil, fault.New(fault.NotFound, "the session does not exist").WithHint("Start a new one with initialize.")
	}
	hs.busy++
	return hs, nil
}

// done ends one use of a session.
func (h *HTTP) done(hs *httpSession) {
	h.mu.Lock()
	defer h.mu.Unlock()
	hs.busy--
	hs.used = time.Now()
}

// Why the calls of a session ended.
var (
	errDeleted = errors.New("the client ended the session")
	errIdle    = errors.New("nobody used the session")
	errCrowded = errors.New("its place was needed for another caller")
)

// end removes a session that was not established.
func (h *HTTP) end(hs *httpSession) { h.finish(hs, errDeleted) }

// finish removes a session and cancels its calls.
func (h *HTTP) finish(hs *httpSession, why error) {
	h.mu.Lock()
	delete(h.sessions, hs.key)
	h.mu.Unlock()
	h.server.remove(hs.session)
	drained := hs.drain()
	hs.requests.stop(why)
	hs.box.close()
	if h.admission.Known() {
		hs.left.Do(func() { go h.leaveGate(hs.owner, drained) })
	}
}

// sweep ends idle sessions.
func (h *HTTP) sweep() {
	for {
		idle := h.now().SessionIdle
		again := time.NewTimer(min(max(idle/4, 10*time.Millisecond), time.Minute))
		select {
		case <-h.stopped:
			again.Stop()
			return
		case <-again.C:
		}
		h.admission.EvictIdle(time.Now())
		var unused []*httpSession
		h.mu.Lock()
		for _, hs := range h.sessions {
			if hs.busy == 0 && hs.requests.idle() && time.Since(hs.used) > idle {
				unused = append(unused, hs)
			}
		}
		h.mu.Unlock()
		for _, hs := range unused {
			h.finish(hs, errIdle)
		}
	}
}

// get opens the stream of a session's own messages: one per session.
func (h *HTTP) get(w http.ResponseWriter, r *http.Request, p auth.Principal) {
	if mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion)) {
		writeNotAllowed(w, http.MethodPost)
		return
	}
	if !parseAccept(r).stream {
		writeError(w, http.StatusNotAcceptable, nil, protocolError(fault.New(fault.InvalidRequest, "the client must accept text/event-stream")))
		return
	}
	hs, bad := h.find(r, p)
	if bad != nil {
		writeFault(w, nil, bad)
		return
	}
	defer h.done(hs)
	h.mu.Lock()
	taken := hs.streaming
	hs.streaming = true
	h.mu.Unlock()
	if taken {
		writeError(w, http.StatusConflict, nil, protocolError(fault.New(fault.InvalidRequest, "the session has a stream already")))
		return
	}
	defer func() {
		h.mu.Lock()
		hs.streaming = false
		h.mu.Unlock()
	}()
	stream(w, r, hs.box, h.opts.WriteTime)
}

// delete ends a session.
func (h *HTTP) delete(w http.ResponseWriter, r *http.Request, p auth.Principal) {
	if mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion)) {
		writeNotAllowed(w, http.MethodPost)
		return
	}
	hs, bad := h.find(r, p)
	if bad != nil {
		writeFault(w, nil, bad)
		return
	}
	h.finish(hs, errDeleted)
	h.done(hs)
	w.WriteHeader(http.StatusNoContent)
}

// enter registers a stateless request; it returns nil if the server is shutting down.
func (h *HTTP) enter(ss *session, subject string) *admission.Caller {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closing {
		return nil
	}
	c := h.admission.Join(subject)
	h.alone[ss] = struct{}{}
	h.server.add(ss)
	return c
}

// leaveGate frees the place once all calls have ended: one that was cancelled may take
// a moment to end, and holds its place until then.
func (h *HTTP) leaveGate(subject string, drained <-chan struct{}) {
	<-drained
	h.admission.Quit(subject)
}

func (h *HTTP) leave(ss *session, subject string) {
	h.server.remove(ss)
	h.mu.Lock()
	delete(h.alone, ss)
	h.mu.Unlock()
	go h.leaveGate(subject, ss.drain())
}

// Shutdown rejects new requests, waits for running calls up to Options.Grace or until
// ctx ends, and cancels the rest. Streams are closed.
func (h *HTTP) Shutdown(ctx context.Context) {
	h.mu.Lock()
	if h.closing {
		h.mu.Unlock()
		return
	}
	h.closing = true
	close(h.stopped)
	var all []*session
	for _, hs := range h.sessions {
		all = append(all, hs.session)
	}
	for ss := range h.alone {
		all = append(all, ss)
	}
	open := h.sessions
	h.sessions = map[string]*httpSession{}
	h.mu.Unlock()
	ends := make([]<-chan struct{}, len(all))
	for n, ss := range all { // none waits for another's calls to close its streams
		ends[n] = ss.drain()
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		for _, end := range ends {
			<-end
		}
	}()
	started := time.Now()
	waitFor(drained, h.server.opts.Grace, ctx.Done(), nil)
	h.server.tasks.drain(max(0, h.server.opts.Grace-time.Since(started)), ctx.Done())
	for _, ss := range all {
		ss.requests.stop(errEnding)
	}
	waitFor(drained, 2*settle, nil, nil)
	h.stop(errEnding)
	for _, hs := range open {
		h.server.remove(hs.session)
		hs.box.close()
	}
}
