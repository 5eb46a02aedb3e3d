package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/koan-go/koan/framework/ask"
	"github.com/koan-go/koan/framework/exact"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/seal"
)

// rounds asks the client of a stateless request: the questions are the request's result,
// and the answers come with the next one. The client keeps what was asked and answered so
// far, sealed (multi round-trip requests, SEP-2322).
type rounds struct {
	peer    peer
	binding func() []string // what a state is good for; made when there is one

	mu    sync.Mutex
	known map[string]given
	open  []ask.Question
}

// given is an answer, and the question that it answers.
type given struct {
	Question string          `json:"q"` // digest
	Answer   json.RawMessage `json:"a"`
}

// state is what a client keeps between two rounds.
type state struct {
	Answers map[string]given  `json:"answers,omitempty"` // by key
	Asked   map[string]string `json:"asked"`             // digests by key, of the last round
}

// maxState bounds the state that a client keeps, in bytes.
const maxState = 1 << 20

var (
	_ ask.Client  = (*rounds)(nil)
	_ ask.Resumer = (*rounds)(nil)
)

// Can implements ask.Client.
func (r *rounds) Can(q ask.Question) bool { return r.peer.can(q) }

// Answered implements ask.Resumer.
func (r *rounds) Answered() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.known))
}

// Ask implements ask.Client.
func (r *rounds) Ask(_ context.Context, questions ...ask.Question) ([]json.RawMessage, error) {
	for _, q := range questions {
		if !r.Can(q) {
			return nil, ask.Refuse(q)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var answers []json.RawMessage
	var waits []ask.Question
	for _, q := range questions {
		if known, ok := r.known[q.Key]; ok && known.Question == digest(q) {
			answers = append(answers, known.Answer)
			continue
		}
		waits = append(waits, q)
	}
	if len(waits) == 0 {
		return answers, nil
	}
	for _, q := range waits {
		same := func(other ask.Question) bool { return other.Key == q.Key }
		switch i := slices.IndexFunc(r.open, same); {
		case i >= 0 && digest(r.open[i]) != digest(q):
			return nil, fault.Newf(fault.Internal, "two questions have the key %q", q.Key)
		case i >= 0:
		case len(r.open) >= maxQuestions:
			return nil, fault.Newf(fault.QueueOverloaded, "the client has %d unanswered questions, which is the limit", len(r.open))
		default:
			r.open = append(r.open, q)
		}
	}
	return nil, ask.Wait(waits...)
}

// digest is the same for the same question only.
func digest(q ask.Question) string {
	return journal.Digest(slices.Concat([]byte(q.Method), []byte{0}, canonical(q.Params)))
}

// canonical is the canonical form of JSON. Anything else is returned unchanged.
func canonical(raw json.RawMessage) []byte {
	out, err := exact.Canonical(raw)
	if err != nil {
		return raw
	}
	return out
}

// resume reads the state and answers of earlier rounds from a request.
func (d *dialogs) resume(ex *exchange, name string, input any) (*rounds, *rpcError) {
	r := &rounds{peer: ex.peer, known: map[string]given{}, binding: func() []string {
		raw, err := json.Marshal(input)
		if err != nil { // it was JSON when it came
			panic("mcpserver: an input cannot be encoded: " + err.Error())
		}
		return []string{"ask", ex.principal.Subject, ex.method, name, journal.Digest(canonical(raw))}
	}}
	if !bytes.Contains(ex.params, []byte(`"requestState"`)) && !bytes.Contains(ex.params, []byte(`"inputResponses"`)) {
		return r, nil // as nearly all requests
	}
	var params struct {
		State   *string         `json:"requestState"`
		Answers json.RawMessage `json:"inputResponses"`
	}
	if json.Unmarshal(rawOrEmpty(ex.params), &params) != nil {
		return nil, protocolError(fault.Invalid(fault.Detail{Path: "/requestState", Message: "the state is not a string", Expected: "string"}))
	}
	answers, bad := parseAnswers(params.Answers)
	if bad != nil {
		return nil, protocolError(bad)
	}
	if params.State == nil { // answers to nothing: ask first
		return r, nil
	}
	if bad := r.take(d.server.opts.Seal, *params.State, answers); bad != nil {
		return nil, protocolError(bad)
	}
	return r, nil
}

// parseAnswers reads inputResponses.
func parseAnswers(raw json.RawMessage) (map[string]json.RawMessage, *fault.Fault) {
	var answers map[string]json.RawMessage
	if len(raw) > 0 && json.Unmarshal(raw, &answers) != nil {
		return nil, fault.Invalid(fault.Detail{Path: "/inputResponses", Message: "the answers are not an object", Expected: "object"})
	}
	var wrong []fault.Detail
	for key, answer := range answers {
		if answer[0] != '{' && len(wrong) < fault.MaxFound {
			wrong = append(wrong, fault.Detail{Path: "/inputResponses/" + pointer(key), Message: "the answer is not an object", Expected: "object"})
		}
	}
	if len(wrong) > 0 {
		slices.SortFunc(wrong, func(a, b fault.Detail) int { return bytes.Compare([]byte(a.Path), []byte(b.Path)) })
		return nil, fault.Invalid(wrong...)
	}
	return answers, nil
}

// take opens a state and adds the answers to its questions.
func (r *rounds) take(sealer *seal.Sealer, sealed string, answers map[string]json.RawMessage) *fault.Fault {
	text, err := sealer.Open(sealed, r.binding()...)
	switch {
	case errors.Is(err, seal.ErrExpired):
		return fault.Invalid(fault.Detail{Path: "/requestState", Message: "the time to answer has run out"}).WithHint("Make the call again, without requestState and inputResponses.")
	case err != nil:
		return fault.Invalid(fault.Detail{Path: "/requestState", Message: "the state was not issued by this server to this caller for this call"}).
			WithHint("Send back the requestState that came with the questions, with the same arguments. Replicas of a server need the same server.secret.")
	}
	var st state
	if err := json.Unmarshal(text, &st); err != nil {
		return fault.New(fault.Internal, "").Because(err) // nobody else can have sealed it
	}
	for key, known := range st.Answers {
		r.known[key] = known
	}
	for key, question := range st.Asked {
		if answer, ok := answers[key]; ok {
			r.known[key] = given{question, answer}
		}
	}
	return nil
}

// inputRequest is one question on the wire.
type inputRequest struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

type inputRequiredResult struct {
	envelope
	InputRequests map[string]inputRequest `json:"inputRequests"`
	RequestState  string                  `json:"requestState"`
}

// inputRequired is the result of a request whose questions have no answers yet.
func (d *dialogs) inputRequired(ex *exchange) (any, *rpcError) {
	r := ex.rounds
	r.mu.Lock()
	defer r.mu.Unlock()
	out := inputRequiredResult{envelope: d.server.envelope(ex.peer, false), InputRequests: map[string]inputRequest{}}
	out.ResultType = string(mcp.ResultTypeInputRequired)
	st := state{Answers: r.known, Asked: map[string]string{}}
	for _, q := range r.open {
		out.InputRequests[q.Key] = inputRequest{q.Method, q.Params}
		st.Asked[q.Key] = digest(q)
	}
	text, err := json.Marshal(st)
	if err != nil { // digests, and answers that were JSON when they came
		return nil, protocolError(fault.New(fault.Internal, "").Because(err))
	}
	if len(text) > maxState {
		return nil, protocolError(fault.Newf(fault.CallTooLarge, "the client's answers take more than %d bytes", maxState))
	}
	out.RequestState = d.server.opts.Seal.Seal(text, time.Now().Add(ask.Longest(d.server.opts.AskTimeout, r.open)), r.binding()...)
	return out, nil
}
