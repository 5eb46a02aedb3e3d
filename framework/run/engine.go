package run

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run/internal/budget"
	"github.com/koan-go/koan/framework/run/tape"
	"github.com/koan-go/koan/framework/schema"
)

// Options configure an Engine.
type Options struct {
	MaxAttempts int           // run.maxAttempts; 0 is 5
	Lock        time.Duration // run.lockMs; 0 is 250 ms
	// How many bytes this process may hold for one run (0 is 24 MiB), and for all
	// together (0 is 512 MiB).
	MaxBytes      int64
	MaxTotalBytes int64
	// Redactor takes secrets out of faults and texts.
	Redactor *journal.Redactor // nil knows the general shapes
	Log      *slog.Logger      // nil is slog.Default
}

// Engine is the one path that a call takes. It is safe for concurrent use.
type Engine struct {
	opts         Options
	participants []Participant

	observer Observer // nil where nobody watches
	schemas  schema.Cache
	budget   *budget.Budget
	blamed   sync.Map // IDs of operations whose outputs did not fit, and the log says so
}

// NewEngine makes an engine.
func NewEngine(o Options) *Engine {
	if o.MaxAttempts == 0 {
		o.MaxAttempts = 5
	}
	if o.Lock == 0 {
		o.Lock = 250 * time.Millisecond
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = 24 << 20
	}
	if o.MaxTotalBytes == 0 {
		o.MaxTotalBytes = 512 << 20
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return &Engine{opts: o, budget: budget.New(o.MaxBytes, o.MaxTotalBytes)}
}

// MaxBytes is how many bytes the host may hold for one run.
func (e *Engine) MaxBytes() int64 { return e.budget.Run() }

// Request is one call from a surface.
type Request struct {
	View      *catalog.View // whose snapshot the run leases
	Principal auth.Principal
	ID        catalog.ID
	Input     json.RawMessage // a JSON object; nil counts as {}
	Surface   string          // "mcp", "run", "rest", "app"
	// Listed demands that the view lists the operation as a tool: hidden is
	// refused as unknown.
	Listed bool
	Set    string // default set, "" is "default"
	// Trace is the caller's trace id, "" makes one.
	Trace string
	// Parent is the caller's trace context; its id is Trace.
	Parent   TraceContext
	Progress func(done, total float64, message string)
	// Notify takes what handlers say with Call.Log; nil drops it.
	Notify func(level slog.Level, message string)

	// Continues is a participant's word to itself of what the run goes on from, nil for
	// nothing.
	Continues any

	account *budget.Account
}

// surface is where the request's own call comes from.
func (req *Request) surface() catalog.Surface {
	if req.Listed {
		return catalog.SurfaceTools
	}
	return catalog.SurfaceApp
}

// Invoke makes one call as a run. A code operation opens its run itself. The outcome
// is nil only where a code operation needed no run and succeeded; a call that was
// refused before its run has an outcome that is Refused. A handler's output may come
// with an error: then it is the failure's whole body.
func (e *Engine) Invoke(ctx context.Context, req Request) (json.RawMessage, *Outcome, error) {
	if len(req.Input) == 0 {
		req.Input = json.RawMessage("{}")
	}
	if req.Set == "" {
		req.Set = "default"
	}
	if req.Trace == "" {
		req.Trace = req.Parent.ID()
	}
	if req.Trace == "" {
		req.Trace = newTrace()
	}
	ctx = auth.With(ctx, req.Principal)
	defer req.View.Snapshot().Lease()()
	op, started := req.View.Snapshot().Operation(req.ID), time.Now()
	if op == nil || req.Listed && !req.View.Listed(req.ID) && op.Reach != 0 {
		return e.refuse(ctx, &req, newRunID(), started, nil, unknownOperation(req.ID.String()))
	}
	req.account = e.budget.Open()
	defer req.account.Close()
	if err := e.holdInput(req.account, req.Input); err != nil {
		return e.refuse(ctx, &req, newRunID(), started, nil, err)
	}
	if req.ID.Kind == catalog.KindCode {
		return e.invokeCode(ctx, &req, op)
	}
	r, err := e.newRun(ctx, newRunID(), req, op, Spec{Set: req.Set, Atomic: true, Reply: singleCallReply})
	if err != nil {
		return e.refuse(ctx, &req, newRunID(), started, nil, err)
	}
	var out json.RawMessage
	outcome, err := r.Execute(ctx, func(ctx context.Context, a *Attempt) (Return, error) {
		var err error
		if err = a.count(); err == nil {
			out, err = e.invoke(ctx, a, a.Next(), req.ID, req.Input, req.surface())
		}
		return Return{Result: out}, err
	})
	if err != nil {
		return nil, outcome, err
	}
	if outcome.Repeated {
		out = outcome.Reply
	}
	return out, outcome, nil
}

// singleCallReply is the reply of a run of one call.
func singleCallReply(ret Return, _ *Outcome, err error) (json.RawMessage, error) {
	return ret.Result, err
}

func (e *Engine) invokeCode(ctx context.Context, req *Request, op *catalog.Operation) (json.RawMessage, *Outcome, error) {
	c, started := &call{engine: e, request: req, op: op, input: req.Input, id: newRunID()}, time.Now()
	out, err := e.openCode(ctx, c)
	if c.inPlace != nil {
		return out, c.inPlace, err
	}
	if c.opened == nil || c.opened.finished == nil {
		if err != nil {
			return e.refuse(ctx, req, c.id, started, out, err)
		}
		return out, nil, nil
	}
	return out, c.opened.finished, err
}

func (e *Engine) openCode(ctx context.Context, c *call) (json.RawMessage, error) {
	if missing := c.request.Principal.Missing(c.op.Needs()); missing != "" {
		return nil, forbidden(missing)
	}
	if err := e.check(c.op, c.input); err != nil {
		return nil, err
	}
	out, err := e.handle(context.WithValue(ctx, callKey{}, c), c)
	if err == nil {
		err = e.checkOutput(ctx, c, out)
	}
	return out, err
}

// Open opens the run of a code operation; ctx is the one its handler got. It
// counts against no quota and can be called once per call.
func Open(ctx context.Context, spec Spec) (*Run, error) {
	c := currentCall(ctx)
	if c == nil || c.attempt != nil || c.opened != nil {
		return nil, fault.New(fault.Internal, "only a code operation opens a run, and only one")
	}
	switch {
	case spec.Set == "": // nobody named it: calls that do not either are refused where the caller may not
		spec.Set = c.request.Set
	case !c.request.Principal.MayName(spec.Set):
		return nil, unknownSet(spec.Set)
	}
	if spec.DryRun {
		spec.rehearse()
	}
	spec.CorrelationID, _ = c.engine.opts.Redactor.Text(spec.CorrelationID) // it is for the journal alone
	r, err := c.engine.newRun(ctx, c.id, *c.request, c.op, spec)
	if err != nil {
		return nil, err
	}
	c.opened = r
	return r, nil
}

func (e *Engine) newRun(ctx context.Context, id string, req Request, op *catalog.Operation, spec Spec) (*Run, error) {
	r := &Run{
		ID: id, fresh: id, Trace: req.Trace, engine: e, request: req, spec: spec, account: req.account,
		started: time.Now(), principal: req.Principal, metrics: map[string]any{}, op: op,
	}
	r.useTape(tape.New())
	if err := r.open(); err != nil {
		return nil, err
	}
	return r, r.admitUnheard()
}

// invoke is the path of a call inside an attempt. What it reaches is what the caller
// sees on the surface.
func (e *Engine) invoke(ctx context.Context, a *Attempt, at Position, id catalog.ID, input json.RawMessage, surface catalog.Surface) (json.RawMessage, error) {
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	start := time.Now()
	c := &call{engine: e, request: &a.run.request, input: input, attempt: a, position: at, surface: surface}
	ctx, over := a.observedCall(ctx, id, at)
	out, err := e.admitAndCall(ctx, c, id)
	if err != nil && !Ends(err) {
		f := faultOf(ctx, c.nameOf(id), err)
		e.report(ctx, f, "run", a.run.ID, "operation", id.String())
		err = f
	}
	over(err)
	e.budget.NoteGarbage(len(input) + len(out))
	a.note(c.trace(id, start, err))
	c.ended(id, start, len(out), err)
	return out, err
}

// report logs what is no caller's fault, with the cause that callers do not see.
func (e *Engine) report(ctx context.Context, f *fault.Fault, where ...any) {
	if cause := errors.Unwrap(f); cause != nil && (f.Code == fault.Internal || f.Code == fault.ServiceUnavailable || f.Code == fault.ExecutionError) {
		e.opts.Log.ErrorContext(ctx, f.Message, append(where, "error", cause)...)
	}
}

// admitAndCall authorises, validates and makes the call.
func (e *Engine) admitAndCall(ctx context.Context, c *call, id catalog.ID) (json.RawMessage, error) {
	r, view := c.attempt.run, c.request.View
	if err := e.authorize(c, id); err != nil {
		return nil, err
	}
	held, err := e.admitInput(c)
	if err != nil {
		return nil, err
	}
	defer c.attempt.Release(held)
	if err := e.decode(c); err != nil {
		return nil, err
	}
	if set := c.decoded.Target.Set; set != "" {
		if err := c.attempt.enterSet(ctx, set); err != nil {
			return nil, err
		}
	}
	if r.spec.DryRun && c.op.Effects.Outside && !c.op.Effects.ReadOnly {
		return nil, fault.Newf(fault.DryRunBlocked, "%s has an effect outside this system", view.Snapshot().ToolName(id))
	}
	ctx = c.withClient(context.WithValue(ctx, callKey{}, c))
	if c.op.Serial {
		return e.callSerially(ctx, c)
	}
	return e.callOutside(ctx, c)
}

// authorize finds the operation of a call as its caller sees it. What is hidden on the
// caller's surface is unknown; the app's own code gets the scope that is missing.
func (e *Engine) authorize(c *call, id catalog.ID) error {
	r, view := c.attempt.run, c.request.View
	op := view.Snapshot().Operation(id)
	if op == nil || id.Kind == catalog.KindCode || c.surface == catalog.SurfaceScript && !view.Scripted(id) {
		return unknownOperation(id.String())
	}
	c.op = op
	if !r.permits(id) {
		return fault.Newf(fault.ToolNotFound, "`only` excludes %s from this run", view.Snapshot().ToolName(id)).
			WithHint("Call only what `only` names, or add to it.")
	}
	if missing := r.principal.Missing(op.Needs()); missing != "" {
		return forbidden(missing)
	}
	if c.op = c.Sight().Operation(id); c.op == nil {
		return unknownOperation(id.String())
	}
	return nil
}

// callOutside makes a call that no transaction covers, unless the tape has it.
func (e *Engine) callOutside(ctx context.Context, c *call) (json.RawMessage, error) {
	r := c.attempt.run
	digest := tape.Digest(c.op.ID.String(), c.input)
	o := &OutsideCall{Attempt: c.attempt, Position: c.position, Operation: c.op, Input: c.input, Digest: digest, Effect: c.op.Effects.Outside && !c.op.Effects.ReadOnly}
	c.occurrence = r.tape.Occurrence(c.position, digest)
	if out, err, ok := r.tape.Outside(c.position, digest); ok {
		r.recorded(o)
		return out, err
	}
	if err := r.beforeOutside(ctx, o); err != nil {
		return nil, err
	}
	return c.attempt.awaitOutside(ctx, c.occurrence == 0, func(ctx context.Context) (json.RawMessage, error) {
		start := time.Now()
		out, err := e.handle(ctx, c)
		if err == nil {
			err = e.checkOutput(ctx, c, out)
		}
		if err != nil && !Ends(err) {
			out, err = nil, faultOf(ctx, c.nameOf(c.op.ID), err)
		}
		if o.Effect && fault.CodeOf(err) != fault.InputRequired { // it asks before it does anything
			r.NoteOutsideEffect(c.trace(c.op.ID, start, err))
		}
		kept := r.tape.RecordOutside(c.position, digest, out, err)
		r.afterOutside(ctx, o, out, err)
		if kept != nil {
			return nil, c.attempt.finish(kept)
		}
		return out, err
	})
}

// callSerially runs an entity call: one at a time in an attempt, save what it nests.
func (e *Engine) callSerially(ctx context.Context, c *call) (json.RawMessage, error) {
	key := heldKey{c.attempt}
	if ctx.Value(key) == nil {
		c.attempt.serial.Lock()
		defer c.attempt.serial.Unlock()
		if err := c.attempt.closed(); err != nil {
			return nil, err
		}
		ctx = context.WithValue(ctx, key, true)
	}
	for p := range each[Gate](c.attempt.run) {
		p.Inside(c.attempt, c.op)
	}
	out, err := e.handle(ctx, c)
	if err != nil {
		return out, err
	}
	err = e.checkOutput(ctx, c, out)
	switch {
	case err == nil:
		return out, nil
	case c.op.Effects.ReadOnly:
		return nil, err
	}
	return nil, c.attempt.finish(err) // what it wrote is past its savepoint: no script may go on with it
}

// handle calls the provider and contains its panics.
func (e *Engine) handle(ctx context.Context, c *call) (out json.RawMessage, err error) {
	defer func() {
		if p := recover(); p != nil {
			e.opts.Log.ErrorContext(ctx, "panic in a handler", "operation", c.op.ID.String(), "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			out, err = nil, fault.New(fault.Internal, "").Because(fmt.Errorf("panic: %v", p))
		}
	}()
	return c.op.Handler(ctx, c)
}

// decode validates the input of a call in an attempt, and reads what it is about.
func (e *Engine) decode(c *call) error {
	r := c.attempt.run
	return e.decodeIn(c, r.spec.Set, r.principal)
}

// decodeIn is decode where calls that name no set mean this one.
func (e *Engine) decodeIn(c *call, set string, p auth.Principal) (err error) {
	op := c.op
	if op.Decode != nil {
		c.decoded, err = op.Decode(c.input, set)
	} else if err = e.check(op, c.input); err == nil && op.Target != nil {
		c.decoded.Target, err = op.Target(c.input, set)
	}
	if set := c.decoded.Target.Set; err == nil && set != "" && !p.MayName(set) {
		return unknownSet(set)
	}
	return err
}

// check validates an input by the operation's own Check, else by its schema.
func (e *Engine) check(op *catalog.Operation, input json.RawMessage) error {
	if op.Check != nil {
		return op.Check(input)
	}
	return e.schemas.Check(op.Input, input)
}

// refuse ends a call that opened no run, under a run id of its own. What the caller gets is
// without secrets.
func (e *Engine) refuse(ctx context.Context, req *Request, id string, started time.Time, out json.RawMessage, err error) (json.RawMessage, *Outcome, error) {
	o := &Outcome{Run: id, Trace: req.Trace, Refused: true, Wall: time.Since(started)}
	e.Refuse(ctx, Refusal{Request: req, Outcome: o, Started: started, ResultBytes: len(out), Err: err})
	out, _ = e.opts.Redactor.FailureJSON(out)
	var f *fault.Fault
	if errors.As(err, &f) {
		if clean, n := e.opts.Redactor.Fault(f); n > 0 {
			err = clean
		}
	}
	return out, o, err
}

func forbidden(scope string) error {
	return fault.Newf(fault.Forbidden, "the scope %q is missing", scope).WithDetails(map[string]any{"scope": scope})
}

func unknownSet(set string) error {
	if len(set) > 64 {
		set = set[:64] + "…"
	}
	return fault.Newf(fault.UnknownSet, "there is no set %q", strings.ToValidUTF8(set, "?")).WithPath("/set")
}

type counter struct{ n atomic.Int64 }

func (c *counter) next() string { return strconv.FormatInt(c.n.Add(1), 10) }

func newRunID() string { return uuid.Must(uuid.NewV7()).String() }

func newTrace() string {
	id := uuid.New()
	return hex.EncodeToString(id[:])
}

// heldKey marks a context whose call holds the attempt's serial lock.
type heldKey struct{ a *Attempt }
