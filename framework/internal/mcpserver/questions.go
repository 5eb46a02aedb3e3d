package mcpserver

import (
	"bytes"
	"encoding/json"
	"strconv"
	"sync"

	"github.com/koan-go/koan/framework/ask"
	"github.com/koan-go/koan/framework/fault"
)

// questions are those that a session's client was asked and has not answered. The zero value
// is ready.
type questions struct {
	mu     sync.Mutex
	open   map[int64]*pendingQuestion // by their ids
	last   int64                      // of the ids
	closed bool                       // the client sends nothing more
}

// pendingQuestion is a question that has no answer yet.
type pendingQuestion struct {
	ask.Question
	id     int64
	answer chan message // has room for the one answer; closed where none can come
}

// add registers a question under an id of its own.
func (k *questions) add(q ask.Question) (*pendingQuestion, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch n := len(k.open); {
	case k.closed:
		return nil, errUnanswered()
	case n >= maxQuestions:
		return nil, fault.Newf(fault.QueueOverloaded, "the client has %d unanswered questions, which is the limit", n)
	}
	if k.open == nil {
		k.open = map[int64]*pendingQuestion{}
	}
	k.last++
	p := &pendingQuestion{Question: q, id: k.last, answer: make(chan message, 1)}
	k.open[p.id] = p
	return p, nil
}

// remove removes a question, and reports whether it was still there.
func (k *questions) remove(id int64) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, known := k.open[id]
	delete(k.open, id)
	return known
}

// close ends the questions of a client that sends nothing more, and refuses new ones.
func (k *questions) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
	for _, p := range k.open {
		close(p.answer)
	}
	clear(k.open)
}

// deliver hands a response of the client to the question that it answers. A response to no
// question of this session is ignored: it came too late, or was never asked for.
func (k *questions) deliver(m message) {
	id, err := strconv.ParseInt(string(m.id), 10, 64)
	if err != nil { // ours are whole numbers
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if p := k.open[id]; p != nil {
		delete(k.open, id)
		p.answer <- m // never waits: there is room
	}
}

// read returns the result of an answer.
func (p *pendingQuestion) read(m message) (json.RawMessage, error) {
	if m.failure != nil {
		var e struct {
			Code    json.Number `json:"code"`
			Message string      `json:"message"`
		}
		_ = json.Unmarshal(m.failure, &e) // whatever it is, it is not an answer
		return nil, fault.Newf(fault.UpstreamError, "the client answered %s with the error %s: %s", p.Method, e.Code, fault.Clip(e.Message, 300)).
			WithHint("Check in the client why it did not answer.")
	}
	if answer := bytes.TrimSpace(m.result); len(answer) > 0 && answer[0] == '{' {
		return answer, nil
	}
	return nil, fault.Newf(fault.UpstreamError, "the client's answer to %s is not an object", p.Method).
		WithHint("The client must answer as the protocol specifies.")
}
