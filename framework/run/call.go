package run

import (
	"context"
	"encoding/json"
	"log/slog"
	"strconv"
	"time"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/tape"
)

// Position is where in a run a call stands: see package tape.
type Position = tape.Position

// call is one call in an attempt, or a code operation before its run is open.
type call struct {
	engine   *Engine
	request  *Request
	op       *catalog.Operation
	input    json.RawMessage
	decoded  catalog.Decoded
	attempt  *Attempt // nil for a code operation
	position Position
	surface  catalog.Surface
	// occurrence counts the different calls that attempts made at the position.
	occurrence int
	nested     counter
	id         string   // of the run that a code operation opens, or would have opened
	opened     *Run     // the run a code operation opened
	inPlace    *Outcome // or that of the call that it made in place of one
}

var _ catalog.Call = (*call)(nil)

func (c *call) Input() json.RawMessage { return c.input }

func (c *call) Decoded() any { return c.decoded.Value }

func (c *call) Target() catalog.Target { return c.decoded.Target }

func (c *call) Principal() auth.Principal { return c.request.Principal }

func (c *call) Operation() *catalog.Operation { return c.op }

// View is narrowed to what the run's `only` permits, so that relationships lead
// nowhere else either.
func (c *call) View() *catalog.View {
	if c.attempt == nil {
		return c.request.View
	}
	return c.attempt.run.View()
}

// Sight is what the caller sees of entities where the call came from.
func (c *call) Sight() *catalog.Sight { return c.View().At(c.surface) }

func (c *call) Run() string {
	if c.attempt != nil {
		return c.attempt.run.ID
	}
	if c.opened != nil {
		return c.opened.ID
	}
	return c.id
}

func (c *call) DryRun() bool { return c.attempt != nil && c.attempt.DryRun() }

func (c *call) Key() string {
	if c.attempt == nil {
		return ""
	}
	key := c.attempt.run.ID + ":" + string(c.position)
	if c.occurrence > 0 {
		key += ":" + strconv.Itoa(c.occurrence)
	}
	return key
}

func (c *call) Progress(done, total float64, message string) {
	if c.request.Progress != nil {
		message, _ = c.engine.opts.Redactor.Text(message)
		c.request.Progress(done, total, message)
	}
}

func (c *call) Log(level slog.Level, message string) {
	if c.request.Notify != nil {
		message, _ = c.engine.opts.Redactor.Text(message)
		c.request.Notify(level, message)
	}
}

func (c *call) Invoke(ctx context.Context, id catalog.ID, input json.RawMessage) (json.RawMessage, error) {
	if c.attempt == nil {
		return nil, fault.New(fault.Internal, "a code operation calls through the run that it opens")
	}
	if err := c.attempt.count(); err != nil {
		return nil, err
	}
	at := Position(string(c.position) + "." + c.nested.next())
	return c.engine.invoke(ctx, c.attempt, at, id, input, catalog.SurfaceApp)
}

// trace is the call as the run's result lists it.
func (c *call) trace(id catalog.ID, start time.Time, err error) CallRecord {
	rec := CallRecord{ServerID: catalog.ServerID(id), ToolName: id.Op, OK: err == nil, Elapsed: time.Since(start)}
	rec.DurationMs = rec.Elapsed.Milliseconds()
	if c.op != nil {
		rec.ToolName = c.request.View.Snapshot().ToolName(id)
	}
	if err != nil {
		rec.Error = Excerpt(c.attempt.run.Redact(err.Error()))
	}
	return rec
}

// ended lets the parts of the run know how the call ended.
func (c *call) ended(id catalog.ID, start time.Time, output int, err error) {
	for p := range each[AfterCaller](c.attempt.run) {
		p.AfterCall(CallEnd{
			Attempt: c.attempt, Position: c.position, ID: id, Operation: c.op, Target: c.decoded.Target, Input: c.input,
			Started: start, OutputBytes: output, Code: codeOf(err),
		})
	}
}

// maxCallError bounds the error's text in a CallRecord, in characters.
const maxCallError = 300

// Excerpt is the beginning of a text, as a CallRecord has it.
func Excerpt(text string) string {
	if r := []rune(text); len(r) > maxCallError {
		return string(r[:maxCallError]) + "…"
	}
	return text
}

type callKey struct{}

func currentCall(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// RequestOf returns the request of the call that ctx belongs to, nil outside of one.
func RequestOf(ctx context.Context) *Request {
	if c := currentCall(ctx); c != nil {
		return c.request
	}
	return nil
}

// InPlace makes a call in place of a run of the code operation that ctx belongs to: its
// outcome is the operation's.
func InPlace(ctx context.Context, do func(*Request) (json.RawMessage, *Outcome, error)) (json.RawMessage, *Outcome, error) {
	c := currentCall(ctx)
	if c == nil || c.attempt != nil || c.opened != nil {
		return nil, nil, fault.New(fault.Internal, "only a code operation that opened no run makes a call in place of one")
	}
	out, outcome, err := do(c.request)
	c.inPlace = outcome
	return out, outcome, err
}

// Current returns the attempt and position of the call that ctx belongs to; ok is
// false outside of one. Hooks use it to reach the tape.
func Current(ctx context.Context) (a *Attempt, at Position, ok bool) {
	c := currentCall(ctx)
	if c == nil || c.attempt == nil {
		return nil, "", false
	}
	return c.attempt, c.position, true
}
