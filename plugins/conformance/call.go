package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/plugins/internal/wire"
)

// answer is what came of a call.
type answer struct {
	output   []byte // JSON; nil for none
	fault    *sentFault
	err      error    // of gRPC
	problems []string // in what was sent
	took     time.Duration
}

// sentFault is a fault as the protocol has it.
type sentFault struct {
	Code    fault.Code `json:"code"`
	Message string     `json:"message"`
}

// String says in a few words what came.
func (a *answer) String() string {
	switch {
	case a.fault != nil:
		return fmt.Sprintf("the fault %s: %s", a.fault.Code, a.fault.Message)
	case a.err != nil:
		return fmt.Sprintf("the gRPC status %s: %s", status.Code(a.err), status.Convert(a.err).Message())
	}
	return fmt.Sprintf("an output of %d bytes", len(a.output))
}

// collected is what was seen in all calls.
type collected struct {
	mu        sync.Mutex
	progress  int
	partials  int
	parts     int
	longest   int // output, in bytes
	questions map[string]int
	problems  []string // of progress and parts
}

// stream is a call in flight, whichever way it was made.
type stream interface {
	Recv() (*wire.CallEvent, error)
}

// call makes a call and reads all of its events.
func (s *session) call(ctx context.Context, fn string, input []byte, parts bool) *answer {
	ctx, cancel := context.WithTimeout(ctx, s.opts.CallTimeout)
	defer cancel()
	began := time.Now()
	req := &wire.CallRequest{
		Function: fn, Input: input, CallId: uuid.NewString(), Key: uuid.NewString(), Parts: parts, Observed: parts, Local: true,
		Subject: "check", Scopes: []string{"*"}, Sets: []string{"*"}, Set: "default",
	}
	if end, ok := ctx.Deadline(); ok {
		req.DeadlineUnixMs = end.UnixMilli()
	}
	events, host, err := s.open(ctx, req)
	if err != nil {
		return &answer{err: err, took: time.Since(began)}
	}
	r := &reading{of: &s.collected, parts: parts, host: host, metrics: s.manifest.GetMetrics()}
	a := r.all(events)
	a.took = time.Since(began)
	return a
}

// open begins a call: as a conversation where the plugin has those.
func (s *session) open(ctx context.Context, req *wire.CallRequest) (stream, *answering, error) {
	limit := grpc.MaxCallRecvMsgSize(wire.MaxMessageBytes)
	if !s.manifest.GetConverses() {
		events, err := s.client().Call(ctx, req, limit)
		return events, nil, err
	}
	both, err := s.client().Converse(ctx, limit)
	if err != nil {
		return nil, nil, err
	}
	if err := both.Send(&wire.HostMessage{Message: &wire.HostMessage_Call{Call: req}}); err != nil && !errors.Is(err, io.EOF) { // Recv has the status
		return nil, nil, err
	}
	return both, &answering{to: both}, nil
}

// reading reads the events of one call.
type reading struct {
	of    *collected
	host  *answering // nil where the plugin may ask nothing
	parts bool       // may come, and so may what it measures

	metrics []*wire.Metric

	buffer []byte
	size   int64
	seen   int // parts
}

// all reads the events to the end of the stream.
func (r *reading) all(s stream) *answer {
	a := &answer{}
	problem := func(format string, args ...any) { a.problems = append(a.problems, fmt.Sprintf(format, args...)) }
	ended := false
	for {
		event, err := s.Recv()
		if errors.Is(err, io.EOF) && ended {
			return a
		}
		if errors.Is(err, io.EOF) {
			a.err = status.Error(codes.OK, "")
			problem("the stream ended without an output or a fault")
			return a
		}
		if err != nil {
			if a.err = err; ended {
				problem("after its last event the stream ended with the status %s", status.Code(err))
			}
			return a
		}
		if ended {
			problem("there is an event after the last one")
			continue
		}
		switch e := event.GetEvent().(type) {
		case *wire.CallEvent_Progress:
			r.progress(e.Progress)
		case *wire.CallEvent_Measurement:
			r.measurement(e.Measurement)
		case *wire.CallEvent_Span:
			r.span(e.Span)
		case *wire.CallEvent_Part:
			r.part(e.Part)
		case *wire.CallEvent_Output:
			ended = true
			a.output = r.output(e.Output, problem)
		case *wire.CallEvent_Fault:
			ended = true
			if a.fault = new(sentFault); json.Unmarshal(e.Fault, a.fault) != nil || a.fault.Code == "" || a.fault.Message == "" {
				problem("the fault is not a JSON object with a code and a message: %.200q", e.Fault)
			}
		case *wire.CallEvent_Question:
			if r.host == nil {
				problem("it asks the host in Call; only Converse takes questions")
				continue
			}
			r.question(e.Question, problem)
		default:
			problem("there is an event of no kind that this contract has")
		}
	}
}

func (r *reading) note(format string, args ...any) {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	if len(r.of.problems) < 10 { // one says as much as a thousand
		r.of.problems = append(r.of.problems, fmt.Sprintf(format, args...))
	}
}

func (r *reading) progress(p *wire.Progress) {
	r.of.mu.Lock()
	r.of.progress++
	if len(p.GetPartial()) > 0 {
		r.of.partials++
	}
	r.of.mu.Unlock()
	switch done, total := p.GetDone(), p.GetTotal(); {
	case math.IsNaN(done) || math.IsInf(done, 0) || math.IsNaN(total) || math.IsInf(total, 0) || done < 0 || total < 0:
		r.note("progress of %v of %v cannot be shown", done, total)
	case total > 0 && done > total:
		r.note("progress of %v is more than its total of %v", done, total)
	case !utf8.ValidString(p.GetMessage()):
		r.note("a message of progress is not UTF-8")
	case len(p.GetPartial()) > 0 && !json.Valid(p.GetPartial()):
		r.note("what there is so far is not JSON")
	}
}

func (r *reading) measurement(m *wire.Measurement) {
	r.observed()
	i := slices.IndexFunc(r.metrics, func(of *wire.Metric) bool { return of.GetName() == m.GetMetric() })
	switch value := m.GetValue(); {
	case i < 0:
		r.note("it measures %.64q, which is not among its metrics", m.GetMetric())
	case math.IsNaN(value) || math.IsInf(value, 0) || value < 0 && !r.metrics[i].GetHistogram():
		r.note("the metric %[2]s cannot have the value %[1]v", value, m.GetMetric())
	}
}

func (r *reading) span(s *wire.Span) {
	r.observed()
	switch {
	case s.GetName() == "" || len(s.GetName()) > wire.MaxSpanName:
		r.note("the name of a span has %d bytes; it has 1 to %d", len(s.GetName()), wire.MaxSpanName)
	case s.GetEndUnixNano() < s.GetStartUnixNano():
		r.note("the span %q ends before it begins", s.GetName())
	}
}

// observed notes what is measured in a call that does not ask for it.
func (r *reading) observed() {
	if !r.parts {
		r.note("it measures in a call that does not say that the app takes that (observed)")
	}
}

func (r *reading) part(p *wire.Part) {
	r.of.mu.Lock()
	r.of.parts++
	r.of.mu.Unlock()
	switch r.seen++; {
	case !r.parts:
		r.note("an output came in parts, although the call did not ask for them")
	case r.seen > 1 && p.GetSize() != r.size:
		r.note("parts of one output have different sizes")
	case len(p.GetData()) == 0:
		r.note("a part is empty")
	}
	r.size = p.GetSize()
	if len(r.buffer)+len(p.GetData()) <= wire.MaxCallBytes {
		r.buffer = append(r.buffer, p.GetData()...)
	}
}

// output is the whole output, whose last bytes have come.
func (r *reading) output(rest []byte, problem func(string, ...any)) []byte {
	whole := append(bytes.Clone(r.buffer), rest...)
	if r.seen > 0 && int64(len(whole)) != r.size {
		r.note("the parts of an output have %d bytes, and their size says %d", len(whole), r.size)
	}
	r.of.mu.Lock()
	r.of.longest = max(r.of.longest, len(whole))
	r.of.mu.Unlock()
	switch {
	case len(whole) > wire.MaxCallBytes:
		problem("the output has %d bytes; %d are allowed", len(whole), wire.MaxCallBytes)
	case !json.Valid(whole):
		problem("the output is not JSON")
	}
	return whole
}

// question answers what the plugin asks.
func (r *reading) question(q *wire.Question, problem func(string, ...any)) {
	kind := r.host.answer(r.host.to.Context(), q)
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	if r.of.questions == nil {
		r.of.questions = map[string]int{}
	}
	if r.of.questions[kind]++; kind == "" {
		problem("there is a question of no kind that this contract has")
	}
}
