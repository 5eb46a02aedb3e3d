package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/deadline"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
)

// request is one call of a tool.
type request struct {
	tool    string
	agreed  json.RawMessage // the tool that somebody has agreed to, as it was listed; nil if nobody had to
	input   json.RawMessage
	output  json.RawMessage // schema of the structured output, nil for none
	effects catalog.Effects
	call    catalog.Call
	// function is set for a request for resources or prompts, with in.
	function *serverFunction
	in       functionInput
}

// send makes the request over a connection. It returns the server's result, or its error.
func (r *request) send(ctx context.Context, conn *connection, c *inflight) (json.RawMessage, *mcp.JSONRPCErrorDetails, error) {
	if r.function == nil {
		return conn.call(ctx, c, r.input, r.call.Progress)
	}
	raw, refusal, err := r.function.send(ctx, conn, r.in)
	if err != nil {
		err = conn.why(ctx, err)
	}
	return raw, refusal, err
}

// user is who calls.
func (r *request) user() string { return r.call.Principal().Subject }

// call calls a tool. Its errors are faults: the tool's own failure is upstream_error, a
// server that cannot be reached service_unavailable, and one that was lost during the call
// outcome_unknown if a second call would repeat the effect of the first one (CONTRACT
// section 8).
func (s *server) call(ctx context.Context, r *request) (json.RawMessage, error) {
	outer := ctx
	leave, err := s.queue.Enter(ctx, "the server "+s.cfg.ID) // the time limit is the server's: it does not run while the call waits here
	if err != nil {
		return nil, err
	}
	defer leave()
	ctx, cancel := deadline.WithTimeout(ctx, s.cfg.Timeout, func() error { return context.DeadlineExceeded }) // does not run while somebody is asked; ended makes the fault
	defer cancel()
	release, err := hold(ctx, len(r.input))
	if err != nil {
		return nil, err
	}
	defer release()
	for again := false; ; again = true {
		conn, err := s.acquire(ctx, r.user())
		if err != nil {
			return nil, s.ended(outer, ctx, r, err)
		}
		if r.agreed != nil && !conn.listed.offers(r.agreed) {
			return nil, s.changedMeanwhile(r)
		}
		c := &inflight{server: s.cfg.ID, tool: r.tool, run: r.call.Run(), log: s.log}
		raw, refusal, err := r.send(ctx, conn, c)
		switch {
		case c.ended() != nil:
			return nil, c.ended()
		case !again && conn.forgot(err, refusal):
			s.drop(conn) // a server that does not know the session has done nothing
			continue
		case err != nil:
			return nil, s.ended(outer, ctx, r, s.failed(conn, r, err))
		case refusal != nil:
			return nil, withoutSecrets(s.refused(conn, r, refusal))
		}
		free, err := hold(ctx, len(raw))
		if err != nil {
			return nil, err
		}
		defer free()
		if r.function != nil {
			return s.functionResult(r, raw)
		}
		return s.result(ctx, conn, r, raw)
	}
}

// hold counts bytes of a call against its run.
func hold(ctx context.Context, n int) (release func(), err error) {
	attempt, _, ok := run.Current(ctx)
	if !ok {
		return func() {}, nil
	}
	if err := attempt.Hold(n); err != nil {
		return nil, err
	}
	return func() { attempt.Release(n) }, nil
}

// ended is a failure as the caller sees it: the end of the caller's context takes
// precedence.
func (s *server) ended(outer, ctx context.Context, r *request, err error) error {
	switch {
	case outer.Err() != nil:
		return context.Cause(outer)
	case ctx.Err() != nil:
		return s.late(r)
	}
	return err
}

// late is the fault of a call that has exceeded its time limit.
func (s *faults) late(r *request) *fault.Fault {
	f := fault.Newf(fault.ToolTimeout, "%s of the server %s did not answer in %s", r.tool, s.cfg.ID, s.cfg.Timeout).
		WithDetails(map[string]any{"timeoutMs": s.cfg.Timeout.Milliseconds(), "upstream": s.cfg.ID})
	if r.effects.RepeatsOutside() {
		return f.WithRetry(fault.Never).WithHint("It may have taken effect: check outside before calling again. upstreams.%s.timeoutMs is the limit.", s.cfg.ID)
	}
	return f.WithRetry(fault.Safe).WithHint("Try again; if it times out again, ask for less at once or raise upstreams.%s.timeoutMs.", s.cfg.ID)
}

// failed is the fault of a call that got no response.
func (s *server) failed(conn *connection, r *request, err error) error {
	if f := s.signInFault(r.user(), err); f != nil {
		return f
	}
	var status *statusError
	var other *otherID
	switch {
	case errors.As(err, &status):
		return s.refusedByStatus(r, status)
	case errors.Is(err, errMessageTooLong):
		s.drop(conn)
		return s.broken(r, errMessageTooLong.Error())
	case errors.Is(err, errTooDeep):
		return s.broken(r, errTooDeep.Error())
	case errors.Is(err, errNotJSON):
		return s.broken(r, errNotJSON.Error())
	case errors.As(err, &other):
		return s.broken(r, other.Error())
	case neverSent(err):
		s.drop(conn)
		return s.unavailable(err)
	}
	if conn.lost() || isCut(err) {
		s.drop(conn)
		if r.effects.RepeatsOutside() {
			return fault.Newf(fault.OutcomeUnknown, "the connection to the server %s ended in the middle of %s: %s", s.cfg.ID, r.tool, cut(reasonOf(err), 500)).Because(err)
		}
		return s.interrupted(err)
	}
	return s.broken(r, cut(reasonOf(err), 500))
}

// neverSent reports whether an error says that the request did not reach the server.
func neverSent(err error) bool {
	var op *net.OpError
	var dns *net.DNSError
	return errors.As(err, &op) && op.Op == "dial" || errors.As(err, &dns)
}

// isCut reports whether an error says that a connection ended.
func isCut(err error) bool {
	return errors.Is(err, transport.ErrTransportClosed) || errors.Is(err, errResponseCut) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE) || errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrClosed) || strings.Contains(err.Error(), "no response received") || strings.Contains(err.Error(), "stream ended")
}

// broken is the fault of a server that violates the protocol, or its own schemas.
func (s *faults) broken(r *request, why string) *fault.Fault {
	f := fault.Newf(fault.UpstreamError, "%s of the server %s failed: %s", r.tool, s.cfg.ID, why)
	if r.effects.RepeatsOutside() {
		return f.WithRetry(fault.Never).WithHint("The call may have taken effect: check outside before calling again.")
	}
	return f.WithRetry(fault.Safe).WithHint("The server's answer is wrong, not the call: try again once, or do without it.")
}

// refusedByStatus is the fault of a call that ended with an HTTP status.
func (s *faults) refusedByStatus(r *request, e *statusError) *fault.Fault {
	switch {
	case e.status == http.StatusForbidden:
		return fault.Newf(fault.Forbidden, "the server %s does not allow %s: %v", s.cfg.ID, r.tool, e).WithHint("%s", s.whoseRights()).Because(e)
	case e.status == http.StatusTooManyRequests:
		return s.rateLimited("calls", e, e.retryAfter)
	case e.status == http.StatusServiceUnavailable:
		return s.unavailable(e)
	case e.status < http.StatusInternalServerError && e.status != http.StatusRequestTimeout:
		return fault.Newf(fault.UpstreamError, "the server %s refused %s: %v", s.cfg.ID, r.tool, e).Because(e).
			WithDetails(map[string]any{"upstream": s.cfg.ID, "tool": r.tool, "status": e.status}).WithRetry(fault.Fix).
			WithHint("The message is the server's own: correct the call, or do without it.")
	case r.effects.RepeatsOutside():
		return fault.Newf(fault.OutcomeUnknown, "the server %s failed in the middle of %s: %v", s.cfg.ID, r.tool, e).Because(e)
	}
	return s.interrupted(e)
}

// interrupted is the fault of a call that may have reached the server before it became unavailable.
func (s *faults) interrupted(why error) *fault.Fault {
	return s.unavailable(why).Because(errors.Join(why, catalog.ErrInterrupted))
}

// rateLimited is the fault of a server that takes no more of something for a while; 0 is
// one that it does not say.
func (s *faults) rateLimited(what string, e *statusError, wait time.Duration) *fault.Fault {
	f := fault.Newf(fault.RateLimited, "the server %s takes no more %s now: %v", s.cfg.ID, what, e).Because(e)
	if wait > 0 {
		f = f.WithRetry(fault.Safe).WithHint("Try again in %s.", wait).WithDetails(map[string]any{"retryAfterMs": wait.Milliseconds()})
	}
	return f
}

// How much of a server's response a fault quotes, in bytes.
const (
	maxFaultText    = 2 << 10
	maxFaultContent = 16 << 10
)

// refused is the fault of a call that ended with an error of the protocol.
func (s *faults) refused(conn *connection, r *request, e *mcp.JSONRPCErrorDetails) *fault.Fault {
	text := plainText(conn.secrets.redact(e.Message), maxFaultText)
	details := map[string]any{"upstream": s.cfg.ID, "tool": r.tool, "rpcCode": e.Code}
	if raw, err := json.Marshal(e.Data); err == nil && e.Data != nil && len(raw) <= maxFaultContent {
		details["data"] = conn.secrets.redactJSON(raw)
	}
	f := fault.Newf(fault.UpstreamError, "the server %s refused %s: %s", s.cfg.ID, r.tool, text).WithDetails(details)
	switch e.Code {
	case resourceNotFound:
		return fault.Newf(fault.NotFound, "the server %s has no such resource: %s", s.cfg.ID, text).WithDetails(details).
			WithHint("List its resources with %s.$resources.list().", catalog.SDKServer(s.cfg.ID))
	case mcp.METHOD_NOT_FOUND, mcp.INVALID_PARAMS:
		return f.WithRetry(fault.Fix).WithHint("Correct the call: the message is the server's own.")
	}
	return f.WithHint("The message is the server's own.")
}

// callResult is the result of tools/call.
type callResult struct {
	Content    []json.RawMessage `json:"content"`
	Structured json.RawMessage   `json:"structuredContent"`
	IsError    bool              `json:"isError"`
}

// block is one block of content.
type block struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// result is the value of a call in a script (CONTRACT section 8): the structured content if
// there is any, else the one text, parsed if it is a JSON object or array; several blocks are a list.
// Images, sound and embedded resources become files; for functions of modules a result with
// anything but texts is returned whole (codemode-run-spec section 5.3.2).
func (s *results) result(ctx context.Context, conn *connection, r *request, raw json.RawMessage) (json.RawMessage, error) {
	raw, res, err := readResult(raw)
	if err != nil {
		return nil, s.broken(r, "its result cannot be read: "+plainText(misread(err).Error(), 300))
	}
	if res.IsError {
		return nil, withoutSecrets(s.toolError(conn, r, &res))
	}
	if absent(res.Structured) {
		res.Structured = nil
	}
	if f := s.checkResult(r, &res); f != nil {
		return nil, s.misfit(conn, r, &res, f)
	}
	if catalog.WantsWholeResult(ctx) {
		return s.whole(ctx, r, raw, &res)
	}
	return s.valueOf(ctx, r, raw, &res)
}

// valueOf returns the value of a result.
func (s *results) valueOf(ctx context.Context, r *request, raw json.RawMessage, res *callResult) (json.RawMessage, error) {
	if res.Structured != nil {
		return res.Structured, nil
	}
	return s.unwrap(ctx, r, raw, res.Content)
}

// checkResult returns the fault of a result that is not what the tool's own schema says. A server that
// sends its structured content as a text alone means the text.
func (s *results) checkResult(r *request, res *callResult) *fault.Fault {
	if r.output == nil {
		return nil
	}
	if res.Structured == nil {
		if len(res.Content) == 0 && s.checkOutput(r, json.RawMessage("null")) == nil {
			return nil // it may return nothing
		}
		text := onlyText(res.Content)
		if text == nil || s.checkOutput(r, text) != nil {
			return s.broken(r, "it declares a schema of its output, and its result has no structuredContent")
		}
		res.Structured = text
		return nil
	}
	return s.checkOutput(r, res.Structured)
}

// onlyText returns the value of a content that is one text with a JSON object or array, else nil.
func onlyText(content []json.RawMessage) json.RawMessage {
	var b block
	if len(content) != 1 || json.Unmarshal(content[0], &b) != nil || b.Type != "text" {
		return nil
	}
	if v := textValue(b.Text); v[0] != '"' {
		return v
	}
	return nil
}

// checkOutput returns the fault of an output that does not fit the operation's schema.
func (s *results) checkOutput(r *request, out json.RawMessage) *fault.Fault {
	wrong, err := s.schemas.Violations(r.output, out)
	if err != nil {
		return s.broken(r, "its output cannot be checked: "+plainText(err.Error(), 300))
	}
	if len(wrong) == 0 {
		return nil
	}
	f := fault.Invalid(wrong...)
	text := f.Message
	if f.Path != "" {
		text = f.Path + ": " + text
	}
	return s.broken(r, "its output does not fit its own schema: "+cut(text, maxFaultText)).WithDetails(map[string]any{"problems": wrong})
}

// misfit adds the result that has come to the fault of one that does not fit. Whoever calls again gets
// the same.
func (s *faults) misfit(conn *connection, r *request, res *callResult, f *fault.Fault) *fault.Fault {
	details := conn.quote(r, res)
	if problems, ok := f.Details.(map[string]any); ok {
		maps.Copy(details, problems)
	}
	hint := "What it returned is in `details`: take it from there, as the server's schema is wrong and not the call."
	if r.effects.RepeatsOutside() {
		return f.WithDetails(details).WithRetry(fault.Never).WithHint("The call has been made, so do not repeat it. %s", hint)
	}
	return f.WithDetails(details).WithRetry(fault.Fix).WithHint("%s", hint)
}

// quote returns what a result has, for the details of a fault: bounded, and without secrets.
func (conn *connection) quote(r *request, res *callResult) map[string]any {
	details := map[string]any{"upstream": conn.dialer.cfg.ID, "tool": r.tool}
	for name, value := range map[string]any{"content": res.Content, "structuredContent": res.Structured} {
		encoded, err := json.Marshal(value)
		switch {
		case err != nil || string(encoded) == "null":
		case len(encoded) > maxFaultContent: // a secret at the cut is cut off with all of it
			details[name] = cut(conn.secrets.redact(string(encoded[:min(len(encoded), 2*maxFaultContent)])), maxFaultContent)
		default:
			details[name] = conn.secrets.redactJSON(encoded)
		}
	}
	return details
}

// unwrap returns the value of a content without structure.
func (s *results) unwrap(ctx context.Context, r *request, raw json.RawMessage, content []json.RawMessage) (json.RawMessage, error) {
	values := make([]json.RawMessage, 0, len(content))
	for _, c := range content {
		var b block
		if err := json.Unmarshal(c, &b); err != nil {
			return raw, nil
		}
		switch {
		case b.Type == "text":
			values = append(values, textValue(b.Text))
		case catalog.KeepsMediaInPlace(ctx):
			return raw, nil
		case isMedia(b.Type):
			values = append(values, s.keepMedia(ctx, r, c))
		default:
			values = append(values, c)
		}
	}
	switch len(values) {
	case 0:
		return json.RawMessage("null"), nil
	case 1:
		return values[0], nil
	}
	out, err := json.Marshal(values)
	return out, err
}

// textValue is a text as a value: parsed, if it is a JSON object or array. A text such as 0.10, 7e8 or
// null stays what the server sent.
func textValue(text string) json.RawMessage {
	trimmed := bytes.TrimSpace([]byte(text))
	if len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '[') && json.Valid(trimmed) {
		return trimmed
	}
	out, _ := json.Marshal(strings.ToValidUTF8(text, "\uFFFD")) // a text always encodes
	return out
}

// toolError is the fault of a call that failed in the tool, with the tool's message.
func (s *faults) toolError(conn *connection, r *request, res *callResult) *fault.Fault {
	var texts []string
	for _, c := range res.Content {
		var b block
		if json.Unmarshal(c, &b) == nil && b.Type == "text" {
			texts = append(texts, b.Text)
		}
	}
	said := strings.Join(texts, " ")
	said = said[:min(len(said), 2*maxFaultContent)] // far more than is shown: no part of a secret at the cut is
	text := plainText(conn.secrets.redact(said), maxFaultText)
	if text == "" {
		text = "it gave no reason"
	}
	f := fault.Newf(fault.UpstreamError, "%s of the server %s failed: %s", r.tool, s.cfg.ID, text).
		WithDetails(conn.quote(r, res)).WithHint("The message is the server's own: correct the call, or do without it.")
	return f.WithRetry(fault.Fix)
}
