package run

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/koan-go/koan/framework/approval"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/internal/callfault"
	"github.com/koan-go/koan/framework/run/observe"
	"github.com/koan-go/koan/framework/run/store"
	"github.com/koan-go/koan/framework/run/tape"
)

// Invoke makes one call as a run. A code operation opens its run itself. The outcome is nil only if
// a code operation succeeded without a run; for a call that was refused before its run, it is
// Refused. With an error, the output may be the whole body of the failure.
func (e *Engine) Invoke(ctx context.Context, req Request) (json.RawMessage, *Outcome, error) {
	req.complete()
	ctx = auth.With(ctx, req.Principal)
	defer req.View.Snapshot().Lease()()
	op, started := req.View.Snapshot().Operation(req.ID), time.Now()
	if op == nil || req.Via != catalog.SurfaceApp && op.Reach != 0 && !req.View.At(req.Via).Has(req.ID) {
		return e.refuse(ctx, &req, req.Run, started, nil, callfault.UnknownOperation(req.ID.String()))
	}
	req.account = e.budget.Open()
	defer req.account.Close()
	weight, err := e.budget.WeighInput(req.Input)
	if err == nil {
		err = req.account.Take(weight)
	}
	if err != nil {
		return e.refuse(ctx, &req, req.Run, started, nil, err)
	}
	if req.ID.Kind == catalog.KindCode {
		return e.invokeCode(ctx, &req, op)
	}
	spec := callSpec(&req)
	if op.Nested && op.Quota > 0 {
		spec.MaxCalls = op.Quota + 1 // including its own call
	}
	r, err := e.newRun(req.Run, req, op, spec)
	if err != nil {
		return e.refuse(ctx, &req, req.Run, started, nil, err)
	}
	var out json.RawMessage
	outcome, err := r.Execute(ctx, func(ctx context.Context, a *Attempt) (Return, error) {
		var err error
		if err = a.count(); err == nil {
			out, err = e.invoke(ctx, a.call(a.Next(), req.Input, req.Via), req.ID)
		}
		return Return{Result: out}, err
	})
	if err != nil {
		return nil, outcome, err
	}
	outcome.Counts = store.Counts(outcome.Changes)
	if outcome.Repeated {
		out, err = repeated(outcome, spec)
	}
	return out, outcome, err
}

// complete sets what a request leaves open.
func (r *Request) complete() {
	if len(r.Input) == 0 {
		r.Input = json.RawMessage("{}")
	}
	if r.Set == "" {
		r.Set = r.Principal.DefaultSet()
	}
	if r.Run == "" {
		r.Run = observe.NewRunID()
	}
	if r.Trace == "" {
		r.Trace = r.Parent.ID()
	}
	if r.Trace == "" {
		r.Trace = observe.NewTraceID()
	}
}

// Do carries out code of the app itself as a run. op is a nested operation that is in no catalog: its
// handler is that code. Nobody is asked about the run, and it has no plan: no other process could
// go on with it. With dryRun everything is carried out, then rolled back. The outcome is never nil.
func (e *Engine) Do(ctx context.Context, req Request, op *catalog.Operation, dryRun bool) (*Outcome, error) {
	req.complete()
	req.ID = op.ID
	ctx = auth.With(ctx, req.Principal)
	defer req.View.Snapshot().Lease()()
	req.account = e.budget.Open()
	defer req.account.Close()
	refuse := func(err error) (*Outcome, error) {
		_, outcome, err := e.refuse(ctx, &req, req.Run, time.Now(), nil, err)
		return outcome, err
	}
	if !req.Principal.MayName(req.Set) {
		return refuse(callfault.UnknownSet(req.Set))
	}
	spec := Spec{Set: req.Set, Atomic: true, OwnCode: true}
	if dryRun {
		spec.rehearse()
	}
	r, err := e.newRun(req.Run, req, op, spec)
	if err != nil {
		return refuse(err)
	}
	outcome, err := r.Execute(ctx, func(ctx context.Context, a *Attempt) (Return, error) {
		c := a.call(a.Next(), req.Input, catalog.SurfaceApp)
		c.op, c.called = op, op.ID
		_, err := e.callNested(context.WithValue(ctx, callKey{}, c), c)
		return Return{}, err
	})
	outcome.Counts = store.Counts(outcome.Changes)
	return outcome, err
}

// callReply is what is kept of a call with an idempotency key.
type callReply struct {
	Result json.RawMessage     `json:"result"`
	Counts []store.ChangeCount `json:"changeCounts,omitempty"`
}

// callSpec says what kind of run one call is.
func callSpec(req *Request) Spec {
	s := Spec{Set: req.Set, Atomic: true, Once: Once{IdempotencyKey: req.IdempotencyKey}}
	if s.IdempotencyKey == "" {
		s.Reply = func(ret Return, _ *Outcome, err error) (json.RawMessage, error) { return ret.Result, err }
		return s
	}
	s.Fingerprint = string(req.Input)
	s.Reply = func(ret Return, o *Outcome, err error) (json.RawMessage, error) {
		if err != nil {
			return nil, err
		}
		return json.Marshal(callReply{ret.Result, store.Counts(o.Changes)})
	}
	return s
}

// repeated returns what the first call of that kind returned.
func repeated(o *Outcome, s Spec) (json.RawMessage, error) {
	if o.Reply == nil || s.IdempotencyKey == "" { // a plan that was applied before
		return o.Reply, nil
	}
	var kept callReply
	if err := json.Unmarshal(o.Reply, &kept); err != nil {
		return nil, fault.New(fault.Internal, "").Because(err)
	}
	o.Counts = kept.Counts
	return kept.Result, nil
}

func (e *Engine) invokeCode(ctx context.Context, req *Request, op *catalog.Operation) (json.RawMessage, *Outcome, error) {
	c, started := &call{engine: e, request: req, op: op, callInput: callInput{input: req.Input}, opening: opening{id: req.Run}}, time.Now()
	out, err := e.openCode(ctx, c)
	if c.inPlace != nil {
		return out, c.inPlace, err
	}
	if c.opened == nil || c.opened.finished == nil {
		if err != nil {
			return e.refuse(ctx, req, c.id, started, out, err)
		}
		if c.refused != nil {
			out, o, _ := e.refuse(ctx, req, c.id, started, out, c.refused)
			return out, o, nil
		}
		return out, nil, nil
	}
	return out, c.opened.finished, err
}

func (e *Engine) openCode(ctx context.Context, c *call) (_ json.RawMessage, err error) {
	defer e.recover(ctx, &err, "operation", c.op.ID.String())
	if missing := c.request.Principal.Missing(c.op.Needs()); missing != "" {
		return nil, callfault.MissingScope(missing)
	}
	if err := e.decode(c, catalog.Input{JSON: c.input}); err != nil {
		return nil, err
	}
	out, err := e.handle(context.WithValue(ctx, callKey{}, c), c.op, c)
	if err == nil {
		err = e.checkOutput(ctx, c, out)
	}
	return out, err
}

// Open opens the run of the code operation whose handler got ctx. It does not count against a quota,
// and can be called once per call.
func Open(ctx context.Context, spec Spec) (*Run, error) {
	c := currentCall(ctx)
	if c == nil || c.attempt != nil || c.opened != nil {
		return nil, fault.New(fault.Internal, "only a code operation opens a run, and only one")
	}
	switch {
	case spec.Set == "": // calls that name no set either are refused if the caller may not name the default one
		spec.Set = c.request.Set
	case !c.request.Principal.MayName(spec.Set):
		return nil, callfault.UnknownSet(spec.Set)
	}
	if spec.DryRun {
		spec.rehearse()
	}
	spec.CorrelationID, _ = c.engine.opts.Redactor.Text(spec.CorrelationID) // it is for the journal alone
	req := *c.request
	if spec.View != nil {
		req.View = spec.View
	}
	r, err := c.engine.newRun(c.id, req, c.op, spec)
	if err != nil {
		return nil, err
	}
	c.opened = r
	return r, nil
}

func (e *Engine) newRun(id string, req Request, op *catalog.Operation, spec Spec) (_ *Run, err error) {
	defer e.recover(auth.With(context.Background(), req.Principal), &err, "run", id, "operation", req.ID.String()) // of the app's clock, and of participants
	r := &Run{
		ID: id, Trace: req.Trace, account: req.account, notes: notes{metrics: map[string]any{}}, view: req.View,
		origin: origin{own: id, engine: e, request: req, spec: spec, started: time.Now(), op: op},
	}
	if spec.Only != nil {
		r.view = req.View.Narrow(spec.Only.Permits)
	}
	r.UseTape(tape.New(e.opts.Clock()))
	r.parts = make(parts, 0, len(e.participants))
	for _, p := range e.participants {
		part, err := p.Open(r)
		if err != nil {
			return nil, err
		}
		if part != nil {
			r.parts = append(r.parts, part)
		}
	}
	return r, r.rejectUnsupported()
}

// rejectUnsupported returns a fault if the run requires something that no participant provides.
func (r *Run) rejectUnsupported() error {
	s := &r.spec
	if s.IdempotencyKey != "" && r.claim.key == nil {
		return fault.New(fault.CapabilityUnsupported, "this app keeps no idempotency keys, so it cannot promise that a script runs once").
			WithHint("Leave `idempotencyKey` out.").WithPath("/idempotencyKey")
	}
	if s.DryRun || s.Approval == "" || s.Approval == approval.Never {
		return nil
	}
	if _, asked := PartOf[Gate](r); asked {
		return nil
	}
	return fault.New(fault.CapabilityUnsupported, "nobody can be asked to approve a run here").WithHint("Leave `approval` out.").WithPath("/approval")
}

// refuse ends a call that opened no run, under a run id of its own. It redacts the output.
func (e *Engine) refuse(ctx context.Context, req *Request, id string, started time.Time, out json.RawMessage, err error) (json.RawMessage, *Outcome, error) {
	o := &Outcome{Run: id, Trace: req.Trace, Refused: true, Effort: Effort{Wall: time.Since(started)}}
	if f := e.report(ctx, fault.From(err), "run", id, "operation", req.ID.String()); Logged(f) {
		err = f
	}
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

// NoteRefusal notes why the code operation of ctx opens no run, for the journal: its output says so, and
// it returns no error.
func NoteRefusal(ctx context.Context, err error) {
	if c := currentCall(ctx); c != nil {
		c.refused = err
	}
}

// InPlace makes a call instead of a run of the code operation of ctx. The call's outcome becomes the
// operation's.
func InPlace(ctx context.Context, do func(*Request) (json.RawMessage, *Outcome, error)) (json.RawMessage, *Outcome, error) {
	c := currentCall(ctx)
	if c == nil || c.attempt != nil || c.opened != nil {
		return nil, nil, fault.New(fault.Internal, "only a code operation that opened no run makes a call in place of one")
	}
	out, outcome, err := do(c.request)
	c.inPlace = outcome
	return out, outcome, err
}

// CheckInput returns the fault that the input of a script's call would cause, without making the
// call; ctx is that of a code operation's handler. It returns nil for operations that the caller's
// scripts cannot call.
func CheckInput(ctx context.Context, id catalog.ID, input json.RawMessage) error {
	c := currentCall(ctx)
	if c == nil {
		return fault.New(fault.Internal, "only a code operation checks inputs")
	}
	op := c.request.View.At(catalog.SurfaceScript).Operation(id)
	if op == nil {
		return nil
	}
	return c.engine.decode(&call{request: c.request, op: op}, catalog.Input{JSON: input, Set: c.request.Set, Ahead: true})
}
