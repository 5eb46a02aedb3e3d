package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/invoke"
	"github.com/koan-go/koan/framework/internal/toolset"
	"github.com/koan-go/koan/framework/run"
)

// runMeta is the member of a result's _meta that describes its run. Models do not read it
// (CONTRACT section 2).
const runMeta = "dev.koan/run"

// versionMeta is the member that says how far the data had come: of a result what it has seen, of a request
// what its caller has (CONTRACT section 15).
const versionMeta = "dev.koan/version"

// settle is how long a call that was cancelled may take to return its outcome.
const settle = 2 * time.Second

// toolCalls makes the calls of tools, and writes what they come to as results of the protocol.
type toolCalls struct {
	server   *Server
	dialogs  *dialogs
	requests *requests
}

// call handles tools/call.
func (c toolCalls) call(ctx context.Context, ex *exchange) (any, *rpcError) {
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
		return nil, protocolError(fault.Invalid(noText("/name", "the tool's name", called)))
	}
	view := ex.peer.view(c.server)
	if len(arguments) == 0 || string(arguments) == "null" {
		arguments = json.RawMessage("{}")
	}
	tool, known, err := toolset.Resolve(view, name, arguments)
	switch {
	case !known:
		bad := protocolError(c.logRefusal(ex, name, toolset.UnknownTool(view, name)))
		bad.wanted = c.scopesFor(ex.peer, name, arguments)
		return nil, bad
	case err != nil:
		return c.unresolved(ex, name, arguments, c.logRefusal(ex, name, fault.From(err)))
	}
	if ex.task = c.openTask(ex); ex.task != nil {
		return c.callAsTask(ctx, ex, view, tool)
	}
	return c.makeCall(ctx, ex, view, tool)
}

// logRefusal logs that a call is refused before it is a run, which the journal would have, and returns why.
func (c toolCalls) logRefusal(ex *exchange, tool string, f *fault.Fault) *fault.Fault {
	c.server.opts.Log.Info("a call was refused", "code", string(f.Code), "reason", f.Message, "subject", ex.principal.Subject, "surface", "mcp", "tool", fault.Clip(tool, maxLoggedTool))
	return f
}

// maxLoggedTool is how much of the name of an unknown tool a line of the log has, in bytes.
const maxLoggedTool = 100

// makeCall makes the call of a tool that the client may call.
func (c toolCalls) makeCall(ctx context.Context, ex *exchange, view *catalog.View, tool toolset.Call) (any, *rpcError) {
	op := tool.Operation
	ctx, bad := c.dialogs.withClient(ctx, ex, op.ID.String(), tool.Input)
	if bad != nil {
		return nil, bad
	}
	req := run.Request{
		View: view, Principal: ex.principal, ID: op.ID, Input: tool.Input, Surface: "mcp", Via: catalog.SurfaceTools,
		Reports: run.Reports{Progress: ex.progress.reportFunc(), Emit: ex.progress.emitFunc(), Notify: ex.logs.logFunc()}, Parent: ex.parent(ctx),
	}
	if ex.task != nil {
		req.Run, req.Progress, req.Emit = ex.task.id, ex.task.reportFunc(req.Progress), ex.task.emitFunc(req.Emit)
	}
	got := c.invoke(ctx, ex, op, req)
	if got.Late != nil {
		return c.failed(ex, op, got, got.Late), nil
	}
	if got.Err == nil {
		return c.result(ex, op, got, invoke.Success(view, op, got.Output), false), nil
	}
	if result, failed, ok := c.dialogs.outcome(ex, got.Err); ok {
		return result, failed
	}
	f := tool.Fault(fault.From(got.Err))
	switch {
	case f.Code == fault.ToolNotFound && !got.Ran() && (f.Path == "" || !ex.toolErrors()): // with a path it is about the arguments
		return nil, protocolError(f)
	case got.BadArguments(op, f) && !ex.toolErrors():
		return nil, protocolError(f)
	}
	return c.failed(ex, op, got, f), nil
}

// unresolved answers a call of a known tool whose arguments name no operation.
func (c toolCalls) unresolved(ex *exchange, name string, arguments json.RawMessage, f *fault.Fault) (any, *rpcError) {
	if !ex.toolErrors() {
		bad := protocolError(f)
		bad.wanted = c.scopesFor(ex.peer, name, arguments)
		return nil, bad
	}
	r := callResult{body: invoke.Failure(nil, f), failed: true, wanted: c.scopesFor(ex.peer, name, arguments)}
	if ex.modern {
		r.server = c.server.info
	}
	return r, nil
}

// scopesFor returns the scopes that would let a client make a call that it may not make
// now, none if scopes are not what it lacks.
func (c toolCalls) scopesFor(p peer, tool string, arguments json.RawMessage) []string {
	p.principal.Scopes = auth.Every()
	return toolset.ScopesFor(p.view(c.server), tool, arguments)
}

// invoke makes the call under its time limit. If its handler does not return even then, the
// client gets its response without waiting for it.
func (c toolCalls) invoke(ctx context.Context, ex *exchange, op *catalog.Operation, req run.Request) (got invoke.Result) {
	ctx, stop := invoke.WithLimit(ctx, op, invoke.Limit(op, c.server.now().ToolTimeout))
	defer stop()
	attended := context.AfterFunc(ctx, func() {
		time.AfterFunc(settle, func() { c.abandon(ex, op, invoke.CutShort(ctx)) })
	})
	defer attended()
	defer func() {
		if v := recover(); v != nil { // that nothing below has recovered
			c.server.opts.Log.Error("panic in a call", "operation", req.ID.String(), "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			got = invoke.Result{Err: fault.New(fault.Internal, "")}
		}
	}()
	return invoke.Call(ctx, c.server.opts.Engine, req, text(ex.Seen))
}

// abandon responds for a call whose handler has not returned, unless there was a response
// already. The call's place among the running is held until the handler returns.
func (c toolCalls) abandon(ex *exchange, op *catalog.Operation, late *fault.Fault) {
	if late.Retry == fault.Safe && (op.ID.Kind == catalog.KindCode || op.Composed() || op.Effects.ActsOutside()) { // what its calls have done is known when it ends
		late = late.WithRetry(fault.Never).WithHint("It is still being stopped, and may have taken effect outside: ask for its end (koan.code.status), or check outside, before calling again.")
	}
	if ex.task != nil {
		ex.task.end(c.failed(ex, op, invoke.Result{}, late), nil)
		return
	}
	if !ex.concluded.Load() {
		c.requests.conclude(ex, c.failed(ex, op, invoke.Result{}, late), nil, nil)
	}
}

// failed is the result of a tool that failed.
func (c toolCalls) failed(ex *exchange, op *catalog.Operation, got invoke.Result, f *fault.Fault) any {
	return c.result(ex, op, got, got.Failure(op, f), true)
}

// result puts a body into a tool result: as structured content and as the one text
// block, unless the operation presents its output otherwise.
func (c toolCalls) result(ex *exchange, op *catalog.Operation, got invoke.Result, body json.RawMessage, failed bool) any {
	body, ok := compacted(body, op.Proven)
	if !ok {
		c.server.opts.Log.Error("a handler returned broken JSON", "operation", op.ID.String())
		body, failed = invoke.Failure(nil, fault.New(fault.Internal, "")), true
	}
	var content []json.RawMessage
	if op.Present != nil && !failed {
		var err error
		if content, err = presentation(ex.peer, c.withPictures(ex.peer, op.Present(got.Output))); err != nil {
			c.server.opts.Log.Error("an operation returned content that no client can read", "operation", op.ID.String(), "error", err)
			body, failed = invoke.Failure(nil, fault.New(fault.Internal, "")), true
		}
	}
	r := callResult{content: content, body: body, failed: failed, position: got.Position}
	if ex.modern {
		r.server = c.server.info
	}
	if got.Outcome != nil {
		r.run = c.describeRun(op, got.Outcome)
	}
	return r
}

// describeRun returns a run's metadata as JSON; only scripts have metrics.
func (c toolCalls) describeRun(op *catalog.Operation, o *run.Outcome) json.RawMessage {
	b := append(make([]byte, 0, 128), `{"attempts":`...)
	b = strconv.AppendInt(b, int64(o.Attempts), 10)
	if op.ID.Kind == catalog.KindCode {
		raw, err := invoke.Encode(o.ScriptMetrics())
		if err != nil { // numbers only
			panic("mcpserver: the metrics of a run cannot be encoded: " + err.Error())
		}
		b = append(append(b, `,"metrics":`...), raw...)
	}
	if o.Repeated {
		b = append(b, `,"repeated":true`...)
	}
	b = appendQuoted(append(b, `,"runId":`...), []byte(o.Run))
	b = appendQuoted(append(b, `,"toolVersion":`...), []byte(c.server.opts.Version))
	return append(b, '}')
}
