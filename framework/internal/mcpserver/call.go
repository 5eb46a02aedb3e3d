package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/deadline"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/toolset"
	"github.com/koan-go/koan/framework/run"
)

// runMeta is the member of a result's _meta that describes its run. Models do not read it
// (CONTRACT section 2).
const runMeta = "dev.koan/run"

// settle is how long a call that was cancelled may take to return its outcome.
const settle = 2 * time.Second

// invoked is what the engine returned for a call.
type invoked struct {
	out     json.RawMessage
	outcome *run.Outcome
	err     error
}

// ran reports whether a run was opened.
func (g invoked) ran() bool { return g.outcome != nil && !g.outcome.Refused }

func (s *session) callTool(ctx context.Context, ex *exchange) (any, *rpcError) {
	var called, arguments json.RawMessage
	members(ex.params, func(name []byte, value json.RawMessage) {
		switch string(name) {
		case "name":
			called = value
		case "arguments":
			arguments = value
		}
	})
	name, ok := unquoted(called)
	if !ok {
		return nil, protocolError(fault.Invalid(fault.Detail{Path: "/name", Message: "the tool's name is missing", Expected: "string"}))
	}
	view := ex.peer.view(s.server)
	if len(arguments) == 0 || string(arguments) == "null" {
		arguments = json.RawMessage("{}")
	}
	tool, known, err := toolset.Resolve(view, name, arguments)
	switch {
	case !known:
		bad := protocolError(unknownTool(view, name))
		bad.wanted = s.scopesFor(ex.peer, name, arguments)
		return nil, bad
	case err != nil:
		return s.unresolved(ex, name, arguments, fault.From(err))
	}
	if ex.task = s.openTask(ex); ex.task != nil {
		return s.callAsTask(ctx, ex, view, tool)
	}
	return s.makeCall(ctx, ex, view, tool)
}

// makeCall makes the call of a tool that the client may call.
func (s *session) makeCall(ctx context.Context, ex *exchange, view *catalog.View, tool toolset.Call) (any, *rpcError) {
	op := tool.Operation
	ctx, bad := s.withClient(ctx, ex, op.ID.String(), tool.Input)
	if bad != nil {
		return nil, bad
	}
	req := run.Request{
		View: view, Principal: ex.principal, ID: op.ID, Input: tool.Input, Surface: "mcp", Listed: true,
		Progress: ex.progress.reportFunc(), Emit: ex.progress.emitFunc(), Notify: ex.logs.logFunc(), Parent: ex.parent(ctx),
	}
	if ex.task != nil {
		req.Run, req.Progress, req.Emit = ex.task.id, ex.task.reportFunc(req.Progress), ex.task.emitFunc(req.Emit)
	}
	got, late := s.invoke(ctx, ex, op, req)
	if late != nil {
		return s.failed(ex, op, got, late), nil
	}
	if got.err == nil {
		wraps := catalog.Memo(view, wrapsKey{op.ID}, func() bool { return toolset.Wraps(op) })
		return s.result(ex, op, got, success(got.out, wraps), false), nil
	}
	if result, failed, ok := s.inputOutcome(ex, got.err); ok {
		return result, failed
	}
	f := tool.Fault(fault.From(got.err))
	switch {
	case f.Code == fault.ToolNotFound && !got.ran():
		return nil, protocolError(f)
	case badArguments(op, got, f) && !ex.toolErrors():
		return nil, protocolError(f)
	}
	return s.failed(ex, op, got, f), nil
}

// unresolved answers a call of a known tool whose arguments name no operation.
func (s *session) unresolved(ex *exchange, name string, arguments json.RawMessage, f *fault.Fault) (any, *rpcError) {
	if !ex.toolErrors() {
		bad := protocolError(f)
		bad.wanted = s.scopesFor(ex.peer, name, arguments)
		return nil, bad
	}
	r := callResult{body: failure(nil, f), failed: true, wanted: s.scopesFor(ex.peer, name, arguments)}
	if ex.modern {
		r.server = s.server.info
	}
	return r, nil
}

// scopesFor returns the scopes that would let a client make a call that it may not make
// now, none if scopes are not what it lacks.
func (s *session) scopesFor(p peer, tool string, arguments json.RawMessage) []string {
	p.principal.Scopes = []string{auth.All}
	if c, _, err := toolset.Resolve(p.view(s.server), tool, arguments); err == nil && c.Operation != nil && c.Operation.Reach != 0 {
		return c.Operation.Needs()
	}
	return nil
}

func (s *session) timeout(op *catalog.Operation) time.Duration {
	if op.Timeout > 0 {
		return op.Timeout
	}
	return s.server.now().ToolTimeout
}

// invoke makes the call under its time limit. late is set if the call was cancelled and
// has no fault of its own. If its handler does not return even then, the client gets its
// response without waiting for it.
func (s *session) invoke(ctx context.Context, ex *exchange, op *catalog.Operation, req run.Request) (got invoked, late *fault.Fault) {
	ctx, stop := deadline.WithTimeout(ctx, s.timeout(op), timeoutFault(op, s.timeout(op)))
	defer stop()
	attended := context.AfterFunc(ctx, func() {
		time.AfterFunc(settle, func() { s.abandon(ex, op, cutShortFault(ctx)) })
	})
	defer attended()
	defer func() {
		if v := recover(); v != nil { // that nothing below has recovered
			s.server.opts.Log.Error("panic in a call", "operation", req.ID.String(), "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			got = invoked{err: fault.New(fault.Internal, "")}
		}
	}()
	got.out, got.outcome, got.err = s.server.opts.Engine.Invoke(ctx, req)
	attended()
	if got.err == nil || !isContextEnd(got.err) {
		return got, nil
	}
	if end, _ := deadline.Of(ctx); !time.Now().Before(end) {
		<-ctx.Done() // a copy of the deadline may have been faster than the deadline itself
	}
	if ctx.Err() != nil {
		return got, cutShortFault(ctx)
	}
	return got, nil
}

// abandon responds for a call whose handler has not returned, unless there was a response
// already. The call's place among the running is held until the handler returns.
func (s *session) abandon(ex *exchange, op *catalog.Operation, late *fault.Fault) {
	if ex.task != nil {
		ex.task.end(s.failed(ex, op, invoked{}, late), nil)
		return
	}
	if !ex.concluded.Load() {
		s.conclude(ex, s.failed(ex, op, invoked{}, late), nil, nil)
	}
}

// isContextEnd reports whether a failure only says that the context has ended.
func isContextEnd(err error) bool {
	code := fault.CodeOf(err)
	return code == fault.Cancelled || code == fault.Timeout || code == fault.ToolTimeout || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// timeoutFault is the fault of a call that did not end in its time. It is the cause of the
// context's end, so that the run, its journal and its caller say the same.
func timeoutFault(op *catalog.Operation, limit time.Duration) *fault.Fault {
	ms := limit.Milliseconds()
	f := fault.Newf(fault.ToolTimeout, "the tool did not finish within %d ms", ms).WithDetails(map[string]any{"timeoutMs": ms}).Because(errTimeUp)
	if op.Effects.RepeatsOutside() {
		f.Retry = fault.Never
		f = f.WithHint("It may have taken effect: check outside before calling again.")
	}
	return f
}

// cutShortFault is why a call was cut short.
func cutShortFault(ctx context.Context) *fault.Fault {
	var f *fault.Fault
	if errors.As(context.Cause(ctx), &f) {
		return f
	}
	return fault.New(fault.Cancelled, "the connection ended before the call did")
}

// badArguments reports whether a call failed because its input is invalid, before
// anything was done. A script that does not catch such a fault of one of its own calls
// is a failed run instead.
func badArguments(op *catalog.Operation, got invoked, f *fault.Fault) bool {
	return f.Code == fault.InvalidPayload && len(got.out) == 0 && (op.ID.Kind != catalog.KindCode || !got.ran())
}

func unknownTool(v *catalog.View, name string) *fault.Fault {
	name = fault.Clip(name, 64)
	names := make([]string, len(v.Tools()))
	for i, op := range v.Tools() {
		names[i] = v.Snapshot().ToolName(op.ID)
	}
	f := fault.Newf(fault.ToolNotFound, "there is no tool %q%s", name, fault.DidYouMean(name, names))
	if !exposure.CodeTools(v.Mode()) {
		return f.WithHint("List the tools.") // the registry's hint names one that is not offered here
	}
	return f
}

// wrapsKey is the key by which a view memoises whether an operation's output is wrapped
// in an object, as its member "result".
type wrapsKey struct{ id catalog.ID }

// success is the structured content of a successful call: always an object.
func success(out json.RawMessage, wraps bool) json.RawMessage {
	if len(out) == 0 {
		out = json.RawMessage("{}")
	}
	if wraps || out[0] != '{' {
		return json.RawMessage(`{"result":` + string(out) + `}`)
	}
	return out
}

// failed is the result of a tool that failed. A body that the handler returned beside
// its error is the whole failure.
func (s *session) failed(ex *exchange, op *catalog.Operation, got invoked, f *fault.Fault) any {
	body := got.out
	refused := got.outcome != nil && got.outcome.Refused && len(body) == 0
	switch {
	case refused, badArguments(op, got, f):
		body = failure(refusedRun(op, got.outcome), f)
	case len(body) == 0 || f.Code == fault.ToolTimeout:
		body = failure(got.out, f)
	}
	return s.result(ex, op, got, body, true)
}

// refusedRun is the body of a rejected call but for the fault: the members of a run that
// was not opened, and its id in the journal.
func refusedRun(op *catalog.Operation, o *run.Outcome) json.RawMessage {
	if op.Refused == nil || o == nil {
		return op.Refused
	}
	b := appendQuoted([]byte(`{"runId":`), []byte(o.Run))
	return append(append(b, ','), op.Refused[1:]...)
}

// failureBody is the body of a failed tool.
type failureBody struct {
	Success   bool         `json:"success"`
	Error     *fault.Fault `json:"error"`
	TimeoutMs any          `json:"timeoutMs,omitempty"`
}

// failure makes a failure's body. What the handler returned beside its error, such as
// the logs of a script, is kept.
func failure(given json.RawMessage, f *fault.Fault) json.RawMessage {
	own := failureBody{Error: f}
	if d, ok := f.Details.(map[string]any); ok && f.Code == fault.ToolTimeout {
		own.TimeoutMs = d["timeoutMs"]
	}
	raw, err := encode(own)
	if err != nil { // details that are not JSON
		raw, _ = encode(failureBody{Error: fault.New(f.Code, f.Message)})
	}
	var members, others map[string]json.RawMessage
	if json.Unmarshal(given, &others) != nil || json.Unmarshal(raw, &members) != nil {
		return raw
	}
	for k, v := range others {
		if members[k] == nil {
			members[k] = v
		}
	}
	if merged, err := encode(members); err == nil {
		raw = merged
	}
	return raw
}

// result puts a body into a tool result: as structured content and as the one text
// block, unless the operation presents its output otherwise.
func (s *session) result(ex *exchange, op *catalog.Operation, got invoked, body json.RawMessage, failed bool) any {
	body, ok := compacted(body, op.Proven)
	if !ok {
		s.server.opts.Log.Error("a handler returned broken JSON", "operation", op.ID.String())
		body, failed = failure(nil, fault.New(fault.Internal, "")), true
	}
	var content []json.RawMessage
	if op.Present != nil && !failed {
		var err error
		if content, err = presentation(ex.peer, op.Present(got.out)); err != nil {
			s.server.opts.Log.Error("an operation returned content that no client can read", "operation", op.ID.String(), "error", err)
			body, failed = failure(nil, fault.New(fault.Internal, "")), true
		}
	}
	r := callResult{content: content, body: body, failed: failed}
	if ex.modern {
		r.server = s.server.info
	}
	if got.outcome != nil {
		r.run = s.describeRun(op, got.outcome)
	}
	return r
}

// describeRun returns a run's metadata as JSON; only scripts have metrics.
func (s *session) describeRun(op *catalog.Operation, o *run.Outcome) json.RawMessage {
	b := append(make([]byte, 0, 128), `{"attempts":`...)
	b = strconv.AppendInt(b, int64(o.Attempts), 10)
	if op.ID.Kind == catalog.KindCode {
		metrics := maps.Clone(o.Metrics)
		if metrics == nil {
			metrics = map[string]any{}
		}
		metrics["sdkCalls"], metrics["wallMs"] = o.SDKCalls, (o.Wall + time.Millisecond - 1).Milliseconds() // rounded up: no run takes no time
		raw, err := encode(metrics)
		if err != nil { // numbers only
			panic("mcpserver: the metrics of a run cannot be encoded: " + err.Error())
		}
		b = append(append(b, `,"metrics":`...), raw...)
	}
	if o.Repeated {
		b = append(b, `,"repeated":true`...)
	}
	b = appendQuoted(append(b, `,"runId":`...), []byte(o.Run))
	b = appendQuoted(append(b, `,"toolVersion":`...), []byte(s.server.opts.Version))
	return append(b, '}')
}
