package plugins

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/plugins/internal/wire"
)

// call makes one call. Its error is the plugin's own fault, or plugin_unavailable (the
// process does not run, or died during the call), outcome_unknown (it died, and the
// call's effect outside cannot be repeated), tool_timeout (the function's own time limit
// has passed), call_too_large, or execution_error (it failed with an error that is not
// for callers, or broke the contract).
//
// The output has at most the given number of bytes.
func (p *plugin) call(ctx context.Context, op *catalog.Operation, c catalog.Call, most int) (json.RawMessage, error) {
	if n := len(c.Input()); n > wire.MaxInputBytes {
		return nil, fault.Newf(fault.CallTooLarge, "the input has %d bytes; %d are allowed", n, wire.MaxInputBytes).
			WithDetails(map[string]any{"limit": wire.MaxInputBytes, "received": n})
	}
	outer := ctx
	leave := func() {}
	if !run.InConversation(ctx) { // the plugin that calls waits in a place of its own, perhaps for this one
		var err error
		if leave, err = p.queue.Enter(ctx, "the plugin "+p.name); err != nil {
			return nil, err
		}
	}
	defer leave() // the function's time does not run while the call waits for its turn
	if op.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, op.Timeout)
		defer cancel()
	}
	of := cause{c.Principal().Subject, op.ID.Op}
	if err := p.crashes.admit(of, p.name); err != nil {
		return nil, err
	}
	proc, out, err := p.send(ctx, op, c, most)
	if err == nil || run.Ends(err) { // by a call of its own
		p.crashes.survived(of)
		return out, err
	}
	if end, ok := ctx.Deadline(); ok && status.Code(err) == codes.DeadlineExceeded && time.Until(end) < clockSkew {
		<-ctx.Done() // the plugin's clock was a moment faster
	}
	switch {
	case outer.Err() != nil:
		return nil, context.Cause(outer) // a deadline that has been handed on as a cancel stays a deadline
	case ctx.Err() != nil:
		return nil, p.lateFault(op)
	}
	err = p.explainCall(proc, op, err)
	if errors.Is(err, errDied) {
		p.crashes.died(of)
	} else if proc != nil {
		p.crashes.survived(of)
	}
	return nil, err
}

// clockSkew is how much earlier a plugin may find that a call's time is over.
const clockSkew = time.Second

// notSent is the error of a call that has not reached its process.
type notSent struct{ err error }

func (n *notSent) Error() string { return n.err.Error() }

func (n *notSent) Unwrap() error { return n.err }

// errDied is the cause of the fault of a call during which the process died.
var errDied = errors.New("the process died during the call")

// send makes a call over the running process, nil if there is none. One that has not reached it is
// made over the next one, once.
func (p *plugin) send(ctx context.Context, op *catalog.Operation, c catalog.Call, most int) (proc *process, out json.RawMessage, err error) {
	for range 2 {
		if proc, err = p.acquire(ctx); err != nil {
			return nil, nil, err
		}
		if out, err = p.exchange(ctx, proc, op, request(ctx, op, c, most), c); !errors.As(err, new(*notSent)) || ctx.Err() != nil {
			return proc, out, err
		}
	}
	return proc, out, err
}

// lateFault is the fault of a call that has passed the function's own time limit.
func (p *plugin) lateFault(op *catalog.Operation) *fault.Fault {
	f := fault.Newf(fault.ToolTimeout, "%s.%s did not finish in %s", p.name, op.ID.Op, op.Timeout).
		WithDetails(map[string]any{"timeoutMs": op.Timeout.Milliseconds()})
	if op.Effects.RepeatsOutside() {
		f.Retry = fault.Never
		f = f.WithHint("It may have taken effect: check outside before calling again.")
	}
	return f
}

func request(ctx context.Context, op *catalog.Operation, c catalog.Call, most int) *wire.CallRequest {
	req := &wire.CallRequest{
		Function: op.ID.Op, Input: c.Input(), CallId: uuid.NewString(), Key: c.Key(), DryRun: c.DryRun(), Parts: true, MaxOutputBytes: int64(most),
	}
	if deadline, ok := ctx.Deadline(); ok {
		req.DeadlineUnixMs = deadline.UnixMilli()
	}
	if attempt, _, ok := run.Current(ctx); ok {
		req.Set, req.Trace, req.Local = attempt.Set(), attempt.Run().Trace, attempt.Run().Principal().IsLocal()
	}
	req.Observed = run.Observer(ctx) != nil
	if p := c.Principal(); p.Subject != "" {
		req.Subject, req.Scopes, req.Sets = strings.ToValidUTF8(p.Subject, "?"), p.Scopes, p.Sets
	}
	return req
}

// exchange sends a call and reads its events. Errors are faults of the plugin, those of calls that end the run,
// or gRPC's.
func (p *plugin) exchange(ctx context.Context, proc *process, op *catalog.Operation, req *wire.CallRequest, c catalog.Call) (json.RawMessage, error) {
	held := newHolding(ctx)
	defer held.release()
	if err := held.hold(len(req.GetInput())); err != nil { // it is copied into the message
		return nil, err
	}
	within := ctx
	ctx, cancel := streaming(ctx)
	defer cancel() // ends the stream on every way out
	stream, talk, err := p.begin(ctx, proc, req, func(stream hostStream) *conversation { return newConversation(within, p, c, stream, cancel) })
	if status.Code(err) == codes.Unavailable {
		return nil, &notSent{err}
	}
	if err != nil {
		return nil, err
	}
	defer talk.close()
	proc.used.Store(true)
	out := output{most: int(req.GetMaxOutputBytes())}
	var partials partialResults
	measured := newMeasures(within, proc.manifest)
	for {
		event, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			err = errNothing
		}
		if err != nil {
			return nil, talk.why(err)
		}
		proc.heard.Store(true)
		switch e := event.GetEvent().(type) {
		case *wire.CallEvent_Progress:
			partials.pass(within, c, e.Progress)
		case *wire.CallEvent_Part:
			if err := out.add(held, e.Part.GetSize(), e.Part.GetData()); err != nil {
				return nil, err
			}
		case *wire.CallEvent_Measurement:
			if err := measured.value(within, e.Measurement); err != nil {
				return nil, err
			}
		case *wire.CallEvent_Span:
			if err := measured.span(within, e.Span); err != nil {
				return nil, err
			}
		case *wire.CallEvent_Question:
			if err := talk.take(e.Question); err != nil {
				return nil, err
			}
		case *wire.CallEvent_Output:
			return out.end(held, e.Output)
		case *wire.CallEvent_Fault:
			if f := talk.passedOn(e.Fault); f != nil {
				return nil, f
			}
			return nil, p.receivedFault(op, e.Fault)
		}
	}
}

// callEvents are the events of a call.
type callEvents interface {
	Recv() (*wire.CallEvent, error)
}

// hostStream is the stream of a call in which the plugin may ask the host.
type hostStream = grpc.BidiStreamingClient[wire.HostMessage, wire.CallEvent]

// begin sends a call, and begins a conversation with a plugin that holds some; else it is nil.
func (p *plugin) begin(ctx context.Context, proc *process, req *wire.CallRequest, converse func(hostStream) *conversation) (callEvents, *conversation, error) {
	most := grpc.MaxCallRecvMsgSize(wire.MaxMessageBytes)
	if !proc.manifest.GetConverses() {
		stream, err := proc.conn.Call(ctx, req, most)
		return stream, nil, err
	}
	stream, err := proc.conn.Converse(ctx, most)
	if err != nil {
		return nil, nil, err
	}
	if err := stream.Send(&wire.HostMessage{Message: &wire.HostMessage_Call{Call: req}}); err != nil && !errors.Is(err, io.EOF) { // Recv says why it has ended
		return nil, nil, err
	}
	return stream, converse(stream), nil
}

// streaming is the context of a call's stream. It ends with ctx and has its deadline, but
// none of its values: a connection keeps the context of its last stream, and with the
// values the whole run.
func streaming(ctx context.Context) (out context.Context, cancel func()) {
	out = context.Background()
	var end context.CancelFunc
	if deadline, ok := ctx.Deadline(); ok {
		out, end = context.WithDeadline(out, deadline)
	} else {
		out, end = context.WithCancel(out)
	}
	stop := context.AfterFunc(ctx, end)
	if t := run.Outgoing(ctx); t.Parent != "" {
		out = metadata.AppendToOutgoingContext(out, "traceparent", t.Parent, "tracestate", t.State)
	}
	return out, func() { stop(); end() }
}

// explainCall makes a fault of an error of gRPC.
func (p *plugin) explainCall(proc *process, op *catalog.Operation, err error) error {
	var f *fault.Fault
	if errors.As(err, &f) {
		return f
	}
	if errors.As(err, new(breach)) {
		return p.pluginFailure(op, err.Error())
	}
	switch code := status.Code(err); {
	case code == codes.ResourceExhausted && strings.Contains(err.Error(), "larger than max"): // gRPC's own words
		return fault.New(fault.CallTooLarge, "the plugin's message is larger than allowed").
			WithDetails(map[string]any{"limit": wire.MaxCallBytes}).Because(err)
	case code == codes.Unavailable || code == codes.Canceled:
		if proc.lives() { // a handler's own status, which says nothing of the process
			break
		}
		proc.discard()
		switch {
		case errors.As(err, new(*notSent)):
			return p.unavailable(publicReason("it died before the call reached it")).Because(err)
		case op.Effects.RepeatsOutside():
			return fault.Newf(fault.OutcomeUnknown, "the plugin %s died in the middle of %s", p.name, op.ID.Op).Because(errors.Join(err, errDied))
		}
		return proc.died(p.name).Because(errors.Join(err, errDied, catalog.ErrInterrupted))
	}
	p.log.Warn("the plugin ended a call with a status of gRPC", "function", op.ID.Op, "status", status.Code(err).String(), "error", err.Error())
	return p.pluginFailure(op, "it ended the call with the status "+status.Code(err).String()).Because(err)
}
