package mcpserver

import (
	"encoding/json"
	"math"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/invoke"
)

// progressEvery is the shortest time between two notifications of one call.
const progressEvery = 100 * time.Millisecond

// progress reports to a client how far a call is, at most every progressEvery, with
// values that only grow, and never after close. Of reports that come sooner, the newest
// is sent at the next interval or before the response, so that clients see the last step.
type progress struct {
	token   json.RawMessage
	message bool // the protocol version knows a message
	send    func(outgoing) bool
	wire    written

	mu      sync.Mutex
	sent    bool
	last    float64
	at      time.Time
	waiting *report
	timer   *time.Timer
	closed  bool
}

type report struct {
	done, total float64
	message     string
	part        *emittedPart
}

// newProgress returns nil if the client did not request progress.
func newProgress(to sink, p peer, token json.RawMessage) *progress {
	if _, ok := idKey(token); !ok {
		return nil
	}
	return &progress{token: token, message: p.knowsProgressMessage(), send: to.offer}
}

// reportFunc returns the function that takes a call's progress, nil if nobody reads it.
func (p *progress) reportFunc() func(done, total float64, message string) {
	if p == nil {
		return nil
	}
	return p.report
}

// report takes a handler's progress. total 0 means unknown, and so does a value that JSON
// has no number for.
func (p *progress) report(done, total float64, message string) {
	if math.IsNaN(done) || math.IsInf(done, 0) {
		return
	}
	if math.IsNaN(total) || math.IsInf(total, 0) {
		total = 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.sent && done <= p.last || p.waiting != nil && done <= p.waiting.done {
		return
	}
	r := report{done: done, total: total, message: message}
	if wait := progressEvery - time.Since(p.at); p.sent && wait > 0 {
		p.waiting = &r
		if p.timer == nil {
			p.timer = time.AfterFunc(wait, p.sendDue)
		}
		return
	}
	p.emit(r)
}

// aliveStep is by how much the value grows if only time has passed.
const aliveStep = 1e-6

// alive reports to a client that the call is still running although it has not advanced.
func (p *progress) alive(message string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.waiting != nil {
		return
	}
	p.emit(report{done: p.next(), message: message})
}

// emittedMeta is the member of a notification's _meta that has a part of the result, and
// maxEmittedText how much of it the message shows, in bytes.
const (
	emittedMeta    = "dev.koan/emitted"
	maxEmittedText = 500
)

// emittedPart is a part of the result of a run that goes on.
type emittedPart struct {
	Index int             `json:"index"`
	Value json.RawMessage `json:"value"`
}

// emitFunc returns the function that takes parts of a call's result, nil if nobody reads them.
func (p *progress) emitFunc() func(index int, value json.RawMessage) {
	if p == nil {
		return nil
	}
	return p.sendPart
}

// sendPart sends a part of the result at once, after a report that waits.
func (p *progress) sendPart(index int, value json.RawMessage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	if p.waiting != nil {
		p.emit(*p.waiting)
	}
	p.emit(report{done: p.next(), message: fault.ClipTo(string(value), maxEmittedText), part: &emittedPart{index, value}})
}

// next is the least value that is more than the last one.
func (p *progress) next() float64 {
	if !p.sent {
		return p.last
	}
	return max(p.last+aliveStep, math.Nextafter(p.last, math.Inf(1)))
}

// sendDue sends a report that waits once the interval has passed.
func (p *progress) sendDue() {
	p.mu.Lock()
	p.timer = nil
	p.mu.Unlock()
	p.flush()
}

// flush sends a report that waits.
func (p *progress) flush() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed && p.waiting != nil {
		p.emit(*p.waiting)
	}
}

func (p *progress) emit(r report) {
	p.waiting, p.sent, p.last, p.at = nil, true, r.done, time.Now()
	params := map[string]any{"progressToken": p.token, "progress": r.done}
	if r.total > 0 {
		params["total"] = r.total
	}
	if r.message != "" && p.message {
		params["message"] = r.message
	}
	if r.part != nil {
		params["_meta"] = map[string]any{emittedMeta: r.part}
	}
	text, err := invoke.Encode(notification{JSONRPC: mcp.JSONRPC_VERSION, Method: "notifications/progress", Params: params})
	if err != nil { // numbers and texts: cannot be
		return
	}
	p.send(outgoing{text: text, progress: &p.wire})
}

// close ends the reports: one that waits is dropped.
func (p *progress) close() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.timer != nil {
		p.timer.Stop()
	}
}

// gap is what the writer needs to delay the response after progress, nil if the client
// did not request progress.
func (p *progress) gap() *written {
	if p == nil {
		return nil
	}
	return &p.wire
}
