package run

import (
	"context"
	"encoding/json"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/run/internal/course"
	"github.com/koan-go/koan/framework/run/observe"
)

// call is one call in an attempt, or of a code operation, which opens its run itself.
type call struct {
	engine  *Engine
	request *Request
	op      *catalog.Operation
	callInput
	attempt  *Attempt // nil for a code operation
	position Position
	surface  catalog.Surface
	called   catalog.ID         // the operation that it began with: of what is called, or the one that stands for it
	nest     *Nest              // that of the nested call that made it; nil if the run made it
	inner    *Nest              // of a nested call: the one for its own calls
	through  *catalog.Operation // that stood for op when the call began; nil for none
	calls    atomic.Int64       // how many calls it has made
	// occurrence numbers the different calls that attempts made at the position.
	occurrence int
	opening
}

// callInput is the input of a call, as far as it has been read.
type callInput struct {
	input    json.RawMessage
	expanded json.RawMessage // what the handler gets in place of the input, nil for the same
	decoded  catalog.Decoded
}

// opening is what became of a code operation, which opens a run.
type opening struct {
	id      string   // of the run, even if it fails to open
	opened  *Run     // nil for none
	inPlace *Outcome // or the outcome of the call made instead (InPlace)
	refused error    // why it opened no run, where its output says so instead of an error
}

var _ catalog.Call = (*call)(nil)

func (c *call) Input() json.RawMessage {
	if c.expanded != nil {
		return c.expanded
	}
	return c.input
}

func (c *call) Decoded() any { return c.decoded.Value }

func (c *call) Target() catalog.Target { return c.decoded.Target }

func (c *call) Principal() auth.Principal { return c.request.Principal }

func (c *call) Operation() *catalog.Operation { return c.op }

// View implements catalog.Call. It is narrowed by the run's `only`, so that relationships do not
// lead beyond it either.
func (c *call) View() *catalog.View {
	if c.attempt == nil || c.nest != nil {
		return c.request.View
	}
	return c.attempt.run.View()
}

// Sight returns what the caller sees of entities on the call's surface.
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
	message, _ = c.engine.opts.Redactor.Text(message)
	if r := c.ownRun(); r != nil {
		notify(r.parts, func(p Listener) { p.Progress(done, total, message) })
	}
	if c.request.Progress != nil {
		c.request.Progress(done, total, message)
	}
}

// Emit implements catalog.Call.
func (c *call) Emit(index int, value json.RawMessage) {
	if r := c.ownRun(); r != nil {
		r.noteEmitted(index + 1)
		notify(r.parts, func(p Listener) { p.Emit(index, value) })
	}
	if c.request.Emit != nil {
		c.request.Emit(index, value)
	}
}

// ownRun is the run that the call is part of, nil before there is one.
func (c *call) ownRun() *Run {
	if c.attempt != nil {
		return c.attempt.run
	}
	return c.opened
}

func (c *call) Log(level slog.Level, message string) {
	if c.request.Notify != nil {
		message, _ = c.engine.opts.Redactor.Text(message)
		c.request.Notify(level, message)
	}
}

// trace returns the call as the run's result lists it.
func (c *call) trace(id catalog.ID, start time.Time, err error) CallRecord {
	rec := CallRecord{ServerID: catalog.ServerID(id), ToolName: id.Op, OK: err == nil, Elapsed: time.Since(start)}
	rec.DurationMs = rec.Elapsed.Milliseconds()
	if c.nest != nil {
		rec.Parent = c.nest.call.op.ID.Op
	}
	if c.hides() {
		rec.ServerID, rec.ToolName = "koan", ""
		return rec
	}
	if c.op != nil || id.Kind == catalog.KindUpstream {
		rec.ToolName = c.request.View.Snapshot().ToolName(id)
	}
	if err != nil && !c.nest.byApp() {
		rec.Error = course.Excerpt(c.attempt.run.Redact(err.Error()))
	}
	return rec
}

// byApp reports whether a call in the nest, nil for none, is made with the app's rights, which the run's caller may not
// have: what it was given, what it returned and how it ended is not for the caller.
func (n *Nest) byApp() bool { return n != nil && n.app }

// nameOf returns the name of an operation for messages.
func (c *call) nameOf(id catalog.ID) string {
	if c.op == nil {
		return id.String()
	}
	return c.request.View.Snapshot().ToolName(id)
}

// hides reports whether the run's caller must not learn what was called.
func (c *call) hides() bool {
	return c.nest.byApp() && !c.attempt.run.View().Allowed(c.called) // what that stands for was not in the catalog when the run began
}

// defaultSet returns the set of a call that names none.
func (c *call) defaultSet() string {
	if c.nest != nil {
		return c.nest.set
	}
	return c.attempt.run.spec.Set
}

// next returns the position of the next call that c makes.
func (c *call) next() Position {
	return c.position + "." + Position(strconv.FormatInt(c.calls.Add(1), 10))
}

type callKey struct{}

func currentCall(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// Current returns the attempt and position of the call that ctx belongs to; ok is false outside of
// a call. Hooks use it to get the tape.
func Current(ctx context.Context) (a *Attempt, at Position, ok bool) {
	c := currentCall(ctx)
	if c == nil || c.attempt == nil {
		return nil, "", false
	}
	return c.attempt, c.position, true
}

// InConversation reports whether the call of ctx is made, itself or through others, by the handler of a
// conversing operation, which waits for it.
func InConversation(ctx context.Context) bool {
	c := currentCall(ctx)
	if c == nil {
		return false
	}
	for n := c.nest; n != nil; n = n.outer {
		if n.call.op.Converses {
			return true
		}
	}
	return false
}

// RequestOf returns the request of the call that ctx belongs to, nil outside of one.
func RequestOf(ctx context.Context) *Request {
	if c := currentCall(ctx); c != nil {
		return c.request
	}
	return nil
}

// Undoing reports whether the run that ctx belongs to undoes another one: hooks may do less
// then, since what they did in that run is undone too.
func Undoing(ctx context.Context) bool {
	c := currentCall(ctx)
	return c != nil && c.attempt != nil && c.attempt.run.spec.Undoes != ""
}

// Joined returns the participant of type P of the engine that runs the call of ctx; ok is false if
// there is none.
func Joined[P Participant](ctx context.Context) (joined P, ok bool) {
	c := currentCall(ctx)
	if c == nil {
		return joined, false
	}
	for _, p := range c.engine.participants {
		if joined, ok = p.(P); ok {
			break
		}
	}
	return joined, ok
}

// Outgoing returns the trace context that the call of ctx passes on to peers: its own if it is
// traced, else the one that came with the run.
func Outgoing(ctx context.Context) observe.TraceContext {
	c := currentCall(ctx)
	if c == nil || c.engine == nil {
		return observe.TraceContext{}
	}
	return c.engine.observer.Outgoing(ctx, c.request.Parent)
}

// Observer returns what observes the call of ctx, nil if nothing does.
func Observer(ctx context.Context) observe.Observer {
	c := currentCall(ctx)
	if c == nil || c.engine == nil || c.engine.observer == (observe.Nobody{}) {
		return nil
	}
	return c.engine.observer
}

// RedactText redacts secrets in a text, as RedactBody does.
func RedactText(ctx context.Context, text string) string {
	if c := currentCall(ctx); c != nil {
		text, _ = c.engine.opts.Redactor.Text(text)
	}
	return text
}

// RedactBody redacts secrets in the output that the code operation of ctx returns without a run,
// for a script that was rejected or only checked.
func RedactBody(ctx context.Context, body json.RawMessage) json.RawMessage {
	if c := currentCall(ctx); c != nil {
		body, _ = c.engine.opts.Redactor.FailureJSON(body)
	}
	return body
}

// Reader identifies who gets what a run reports.
type Reader struct {
	Principal auth.Principal
	View      *catalog.View
	// Context is that of the run: nothing is in it that an action has added for its own calls,
	// neither another principal nor a decision of its own about the app's policies.
	Context context.Context
}

// ReaderOf returns who gets what the run of ctx reports, if the call is made by an action: its
// calls may see more than the run's caller. ok is false otherwise.
func ReaderOf(ctx context.Context) (reader Reader, ok bool) {
	c := currentCall(ctx)
	if c == nil || c.innermost() == nil {
		return Reader{}, false
	}
	a := c.attempt
	return Reader{a.run.request.Principal, a.run.View(), context.WithValue(a.detached.Run, callKey{}, c)}, true
}
