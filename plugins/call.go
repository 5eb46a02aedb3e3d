package plugins

import (
	"context"
	"encoding/json"
	"errors"

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
func (p *plugin) call(ctx context.Context, op *catalog.Operation, c catalog.Call) (json.RawMessage, error) {
	if n := len(c.Input()); n > wire.MaxInputBytes {
		return nil, fault.Newf(fault.CallTooLarge, "the input has %d bytes; %d are allowed", n, wire.MaxInputBytes).
			WithDetails(map[string]any{"limit": wire.MaxInputBytes, "received": n})
	}
	outer := ctx
	leave, err := p.queue.Enter(ctx, "the plugin "+p.name)
	if err != nil {
		return nil, err
	}
	defer leave() // the function's time does not run while the call waits for its turn
	if op.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, op.Timeout)
		defer cancel()
	}
	proc, err := p.acquire(ctx)
	if err == nil {
		var out json.RawMessage
		out, err = p.exchange(ctx, proc, op, request(ctx, op, c), c)
		if err == nil {
			return out, nil
		}
	}
	if _, ok := ctx.Deadline(); ok && status.Code(err) == codes.DeadlineExceeded {
		<-ctx.Done() // the plugin's clock was a moment faster
	}
	switch {
	case outer.Err() != nil:
		return nil, context.Cause(outer) // a deadline that has been handed on as a cancel stays a deadline
	case ctx.Err() != nil:
		return nil, p.lateFault(op)
	}
	return nil, p.explainCall(proc, op, err)
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

func request(ctx context.Context, op *catalog.Operation, c catalog.Call) *wire.CallRequest {
	req := &wire.CallRequest{
		Function: op.ID.Op, Input: c.Input(), CallId: uuid.NewString(), Key: c.Key(), DryRun: c.DryRun(), Parts: true,
	}
	if deadline, ok := ctx.Deadline(); ok {
		req.DeadlineUnixMs = deadline.UnixMilli()
	}
	if attempt, _, ok := run.Current(ctx); ok {
		req.Set, req.Trace, req.Local = attempt.Set(), attempt.Run().Trace, attempt.Run().Principal().IsLocal()
	}
	return req
}

// exchange sends a call and reads its events. Errors are faults of the plugin, or gRPC's.
func (p *plugin) exchange(ctx context.Context, proc *process, op *catalog.Operation, req *wire.CallRequest, c catalog.Call) (json.RawMessage, error) {
	held := newHolding(ctx)
	defer held.release()
	if err := held.hold(len(req.GetInput())); err != nil { // it is copied into the message
		return nil, err
	}
	ctx, cancel := streaming(ctx)
	defer cancel() // ends the stream on every way out
	stream, err := proc.conn.Call(ctx, req, grpc.MaxCallRecvMsgSize(wire.MaxMessageBytes))
	if err != nil {
		return nil, err
	}
	var out output
	for {
		event, err := stream.Recv()
		if err != nil {
			return nil, err
		}
		switch e := event.GetEvent().(type) {
		case *wire.CallEvent_Progress:
			c.Progress(e.Progress.GetDone(), e.Progress.GetTotal(), e.Progress.GetMessage())
		case *wire.CallEvent_Part:
			if err := out.add(held, e.Part.GetSize(), e.Part.GetData()); err != nil {
				return nil, err
			}
		case *wire.CallEvent_Output:
			return out.end(held, e.Output)
		case *wire.CallEvent_Fault:
			return nil, p.receivedFault(op, e.Fault)
		}
	}
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
	if errors.Is(err, errParts) || errors.Is(err, errNotJSON) {
		return p.pluginFailure(op, err.Error())
	}
	switch status.Code(err) {
	case codes.ResourceExhausted:
		return fault.New(fault.CallTooLarge, "the plugin's message is larger than allowed").
			WithDetails(map[string]any{"limit": wire.MaxCallBytes}).Because(err)
	case codes.Unavailable, codes.Canceled:
		proc.discard()
		if op.Effects.RepeatsOutside() {
			return fault.Newf(fault.OutcomeUnknown, "the plugin %s died in the middle of %s", p.name, op.ID.Op).Because(err)
		}
		return fault.Newf(fault.PluginUnavailable, "the plugin %s died in the middle of the call", p.name).
			WithHint("Call again: the plugin is being restarted. If it dies again on the same input, see the log and `doctor`.").Because(errors.Join(err, catalog.ErrInterrupted))
	}
	return p.pluginFailure(op, "it ended the call without an answer").Because(err)
}
