package codemode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/approval"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/deadline"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run"
)

// The values of `include`.
const (
	includeChanges = "changes"
	includeCalls   = "calls"
)

// executeInput is the input of koan.code.execute (CONTRACT section 2).
type executeInput struct {
	Code           string
	Args           json.RawMessage
	Set            string
	Language       string
	EntryFunction  string
	DryRun         bool
	Atomic         *bool
	Limits         ownLimits
	Only           []string
	Include        []string
	IdempotencyKey string
	CorrelationID  string
	Approval       approval.Mode
	PlanID         string
	LargeInFiles   bool // a result or an answer that is too large becomes a file
}

// ownLimits are a caller's own limits: whole numbers, 0 if not given.
type ownLimits struct {
	TimeoutMs, MaxMemoryBytes, MaxLogBytes, MaxToolCalls float64
}

// decodeExecute requires either code or planId.
func decodeExecute(in catalog.Input) (catalog.Decoded, error) {
	members, err := executeMembers.given(in.JSON)
	if err != nil {
		return catalog.Decoded{}, err
	}
	if members["planId"] != nil && string(members[codeName]) == `""` {
		delete(members, codeName)
	}
	known := planMembers
	if members["planId"] == nil {
		known = slices.Clone(executeMembers)
		known[0].required = true
	} else if wrong := besidePlan(members); len(wrong) > 0 {
		return catalog.Decoded{}, fault.Invalid(wrong...)
	}
	return known.decodeScript(members)
}

// decodeScript decodes the input of a code operation that runs a script.
func (ms members) decodeScript(given map[string]json.RawMessage) (catalog.Decoded, error) {
	v, err := ms.values(given)
	if err != nil {
		return catalog.Decoded{}, err
	}
	out := executeInput{
		Code: v.text("code"), Args: given["args"], Set: v.text("set"), Language: v.text("language"), EntryFunction: v.text("entryFunction"),
		DryRun: v.flag("dryRun"), Limits: v.limits(), Only: v.texts("only"), Include: v.texts("include"),
		IdempotencyKey: v.text("idempotencyKey"), CorrelationID: v.text("correlationId"), Approval: approval.Mode(v.text("approval")), PlanID: v.text("planId"),
		LargeInFiles: v.text("onLarge") == onLargeFile,
	}
	if atomic, ok := v["atomic"].(bool); ok {
		out.Atomic = &atomic
	}
	return catalog.Decoded{Value: out}, nil
}

// execution is the execution of one script for a face.
type execution struct {
	scriptRequest
	missing  unlisted
	cutOff   []string          // calls outside that the end of the run's time has cut off
	sentLogs int               // log messages that the caller may have got
	emitted  []json.RawMessage // values that the caller has got
	files    []json.RawMessage // that the result has
	notes    []wire.Log        // warnings about the input, before the script's own logs
	before   []diagnostic      // the same of a module, beside its own

	job     *wire.Job    // but for its occasion
	result  *wire.Result // of the last attempt
	cpuMs   float64
	peak    int64
	outcome *run.Outcome
	// notUndoable says what of the run's changes cannot be undone, and why; "" is nothing.
	notUndoable string
}

// scriptRequest is what a caller asks for, and what it may have.
type scriptRequest struct {
	scripts *scripts
	call    catalog.Call
	view    *catalog.View // what the script sees, once a run is open
	in      executeInput
	// module is set for a script of codemode.run, whose input has only code and limits.
	module bool
	spec   run.Spec
	wall   time.Duration
	own    wire.Limits
}

// execute serves koan.code.execute: one run, whose attempts each run the script
// from its start.
func (s *scripts) execute(ctx context.Context, call catalog.Call) (json.RawMessage, error) {
	in := call.Decoded().(executeInput)
	if in.PlanID != "" {
		return decide(ctx, call, in)
	}
	e := newExecution(s, call, in)
	err := e.run(ctx)
	if e.outcome != nil {
		return e.outcome.Reply, err
	}
	f := fault.From(err) // no run was opened
	body, merr := e.failure(f)
	if merr != nil {
		return nil, fault.New(fault.Internal, "").Because(errors.Join(err, merr))
	}
	return body, f
}

func newExecution(s *scripts, call catalog.Call, in executeInput) *execution {
	return &execution{scriptRequest: scriptRequest{scripts: s, call: call, in: in, own: s.config().limits.Limits, wall: s.config().wall}}
}

func (e *execution) run(ctx context.Context) error {
	if r := replaying(ctx); r != nil {
		e.in.Language = r.language()
	}
	if err := e.admit(); err != nil {
		return err
	}
	e.narrow()
	call, missing, release := e.scripts.tools.awaitScript(ctx, e.call, e.in.Code, e.in.Language, e.in.Args)
	defer release()
	e.call, e.missing = call, missing
	e.spec = run.Spec{
		View: call.View(), Set: e.in.Set, Atomic: e.in.Atomic == nil || *e.in.Atomic, DryRun: e.in.DryRun,
		Record: slices.Contains(e.in.Include, includeChanges), MaxCalls: e.maxCalls(), Only: e.in.Only,
		Script:        run.Script{Code: e.in.Code, CodeDigest: journal.Digest([]byte(e.in.Code)), Runtime: e.scripts.runtimeOf(e.in.Language), Language: e.in.Language},
		CorrelationID: e.in.CorrelationID,
		Approval:      e.in.Approval,
	}
	if err := e.once(); err != nil {
		return err
	}
	timed, cancel := deadline.WithTimeout(ctx, e.wall, timeUp)
	defer cancel()
	e.spec.Reply = func(_ run.Return, o *run.Outcome, err error) (json.RawMessage, error) {
		if err != nil && ctx.Err() == nil && (timed.Err() != nil || fault.CodeOf(err) == fault.Timeout) {
			err = e.lateFault(err)
		}
		return e.reply(o, err)
	}
	r, err := run.Open(ctx, e.spec)
	if err != nil {
		return err
	}
	e.view = r.View()
	e.prepare()
	if e.in.DryRun || e.spec.Record {
		timed = run.WithBeforeCommit(timed, e.changesFit)
	}
	e.outcome, err = r.Execute(timed, func(ctx context.Context, a *run.Attempt) (run.Return, error) {
		defer func() {
			r.Annotate("cpuMs", math.Round(e.cpuMs*1000)/1000)
			r.Annotate("peakMemoryBytes", e.peak)
		}()
		return e.attempt(ctx, a)
	})
	return err
}

// prepare makes the job.
func (e *execution) prepare() {
	e.job = &wire.Job{
		Task: wire.Execute, Code: e.in.Code, Language: e.in.Language, EntryFunction: e.in.EntryFunction, Args: e.in.Args, Module: e.module,
		CallTool: e.call.Operation().ID.Owner == faceGateway,
		Bindings: e.scripts.bindings(e.view, e.in.Code, e.in.Language), Limits: e.own, Principal: e.call.Principal().Subject,
	}
}

// admit rejects invalid requests before they take a worker.
func (e *scriptRequest) admit() error {
	if err := e.scripts.admitCode(e.in.Code); err != nil {
		return err
	}
	if !e.module {
		e.in.Language = e.scripts.languageFor(e.in.Language, e.in.Code)
		if err := e.scripts.admitLanguage(e.in.Language); err != nil {
			return err
		}
	}
	if err := e.admitSet(); err != nil {
		return err
	}
	return e.admitOnly()
}

// admitSet rejects a set that none of the caller's entities has, before the script's first
// call would.
func (e *scriptRequest) admitSet() error {
	resources := e.call.View().Resources()
	if e.in.Set == "" || len(resources) == 0 && e.in.Set == "default" {
		return nil
	}
	var known []string
	for _, r := range resources {
		for _, set := range r.Sets {
			if auth.MatchSet(set, e.in.Set) {
				return nil
			}
			if !slices.Contains(known, set) {
				known = append(known, set)
			}
		}
		if len(r.Sets) == 0 && e.in.Set == "default" {
			return nil
		}
	}
	f := fault.Newf(fault.UnknownSet, "no entity has a set %s%s", quoted(e.in.Set), fault.DidYouMean(e.in.Set, known)).WithPath("/set")
	if len(known) == 0 {
		return f.WithHint("The entities have no sets: leave it out.")
	}
	return f.WithHint("There are: %s.", strings.Join(known, ", "))
}

// admitOnly rejects unknown names in `only`: a misspelt one would silently take everything
// away.
func (e *scriptRequest) admitOnly() error {
	if len(e.in.Only) == 0 {
		return nil
	}
	var known []string
	for _, op := range e.call.View().Script() {
		name := op.ID.Owner
		switch op.ID.Kind {
		case catalog.KindPlugin:
			name = "plugin:" + name
		case catalog.KindUpstream:
			name = "server:" + name
		case catalog.KindAction:
			name = "action:" + op.ID.Op
		case catalog.KindEntity, catalog.KindCode:
		}
		if !slices.Contains(known, name) {
			known = append(known, name)
		}
	}
	var wrong []fault.Detail
	for i, name := range e.in.Only {
		if len(wrong) >= fault.MaxFound {
			break
		}
		if !slices.ContainsFunc(known, func(k string) bool { return k == name || strings.Contains(k, ":") && strings.EqualFold(k, name) }) {
			wrong = append(wrong, fault.Detail{Path: fmt.Sprintf("/only/%d", i), Message: "nothing is called " + quoted(name) + fault.DidYouMean(name, known), Expected: "Entity, plugin:domain, server:id or action:name"})
		}
	}
	if len(wrong) > 0 {
		return fault.Invalid(wrong...)
	}
	return nil
}

// minMemory is the least limit of memory that can be enforced, in bytes.
const minMemory = 1 << 20

// narrow applies the caller's own limits: lower ones count, higher ones are
// clamped with a warning.
func (e *execution) narrow() {
	lower := func(name string, asked float64, server int64) int64 {
		switch {
		case asked == 0:
			return server
		case asked > float64(server):
			e.notes = append(e.notes, wire.Log{Level: "warn", Message: fmt.Sprintf("limits.%s is above the server's %d; %d is used", name, server, server)})
			return server
		}
		return int64(asked)
	}
	own := e.in.Limits
	if 0 < own.MaxMemoryBytes && own.MaxMemoryBytes < minMemory {
		e.notes = append(e.notes, wire.Log{Level: "warn", Message: fmt.Sprintf("limits.maxMemoryBytes is below what any script needs; %d is used", minMemory)})
		own.MaxMemoryBytes = minMemory
	}
	e.wall = time.Duration(lower("timeoutMs", own.TimeoutMs, e.wall.Milliseconds())) * time.Millisecond
	e.own.MemoryBytes = lower("maxMemoryBytes", own.MaxMemoryBytes, e.own.MemoryBytes)
	e.own.MaxLogBytes = int(lower("maxLogBytes", own.MaxLogBytes, int64(e.own.MaxLogBytes)))
	if e.scripts.config().maxCalls > 0 {
		e.in.Limits.MaxToolCalls = float64(lower("maxToolCalls", own.MaxToolCalls, int64(e.scripts.config().maxCalls)))
	}
}

// changesFactor bounds the list of changes, in multiples of the largest result.
const changesFactor = 4

// changesFit rejects, before the commit, a list of changes that is too large to be sent:
// one above four times codeMode.maxResultBytes.
func (e *execution) changesFit(_ run.Return, o *run.Outcome) error {
	most := changesFactor * e.own.MaxResultBytes
	least := 0 // without encoding them
	for i := range o.Changes {
		c := &o.Changes[i]
		least += len(`{"entity":"","set":"","action":""},`) + len(c.Entity) + len(c.Set) + len(c.ID) + len(c.Action) + len(c.Before) + len(c.After)
	}
	if least > most {
		return changesTooLarge(least, most)
	}
	b, err := wire.Marshal(o.Changes)
	switch {
	case err != nil:
		return fault.New(fault.Internal, "the changes are not JSON").Because(err)
	case len(b) > most:
		return changesTooLarge(len(b), most)
	}
	return nil
}

func changesTooLarge(least, most int) *fault.Fault {
	return fault.Newf(fault.ResultTooLarge, "the list of changes has at least %d bytes, at most %d are allowed", least, most).
		WithHint("Change less in one run, or leave `include: [\"changes\"]` out; changeCounts are always there.")
}

func (e *scriptRequest) maxCalls() int { return int(min(e.in.Limits.MaxToolCalls, math.MaxInt32)) }

// attempt runs the script once, in the attempt's transaction.
func (e *execution) attempt(ctx context.Context, a *run.Attempt) (run.Return, error) {
	tape, job := a.Tape(), *e.job
	job.Occasion = wire.Occasion{RunID: a.Run().ID, Set: a.Set(), DryRun: a.DryRun(), NowMs: tape.Now().UnixMilli(), Seed: tape.Seed()}
	if e.in.LargeInFiles {
		job.Limits.MaxResultBytes = max(job.Limits.MaxResultBytes, maxLargeResult)
	}
	within := ctx
	e.files = nil
	ctx, stop := context.WithCancel(ctx)
	res, err := e.executeJob(ctx, stop, &job, a)
	if res != nil {
		e.result = res
		for i := range res.Logs {
			res.Logs[i].Message = a.Run().Redact(res.Logs[i].Message)
		}
		e.cpuMs += res.CPUMs
		e.peak = max(e.peak, res.PeakMemory)
	}
	switch {
	case err != nil:
		return run.Return{}, withLine(err, res)
	case res.Fault != nil:
		return run.Return{}, res.Fault
	case e.scripts.config().requireAnswer && e.module && res.Result == nil:
		return run.Return{}, fault.New(fault.MissingAnswer, "the script assigned no result").WithHint("Assign what you want back: globalThis.%s = value.", wire.ResultName)
	case e.scripts.config().requireAnswer && !e.module && res.Answer == nil:
		return run.Return{}, fault.New(fault.MissingAnswer, "")
	}
	if e.in.LargeInFiles {
		if err := e.keepLarge(within, a, res); err != nil {
			return run.Return{}, err
		}
	}
	if most := e.own.MaxResultBytes; len(res.Result) > most || len(res.Answer) > most {
		return run.Return{}, fault.Newf(fault.ResultTooLarge, "the result has %d bytes and the answer %d, at most %d each are allowed", len(res.Result), len(res.Answer), most)
	}
	return run.Return{Result: res.Result, Answer: res.Answer, Emitted: res.Emitted}, nil
}

// executeJob runs the job in the executor, and waits for the calls that it has started.
func (e *execution) executeJob(ctx context.Context, stop func(), job *wire.Job, a *run.Attempt) (*wire.Result, error) {
	defer stop()
	if r := replaying(ctx); r != nil {
		return r.replayOnData(ctx, e.scripts.executor, job, a)
	}
	h := newHost(e.call, e.view, ownCalls{a, e.missing}, a, e.scripts.app, e.own, e.maxCalls())
	h.sentLogs, h.emitted = e.sentLogs, e.emitted
	var host wire.Host = h
	rec := e.recorder(a, h)
	if rec != nil {
		host = rec
	}
	spent := &spending{limits: e.own}
	res, err := e.scripts.executor.Execute(withSpending(ctx, spent), job, host)
	if err == nil && res.Fault == nil {
		err = h.exceededLimit()
	}
	if res != nil {
		err = spent.addTo(res, err)
	}
	stop()
	h.wait()
	e.cutOff = h.cutOff
	e.sentLogs, e.emitted = max(e.sentLogs, h.logged), h.emitted
	if res != nil {
		e.files = h.filesOf(res)
	}
	if rec != nil {
		keep(a, rec, job, res, err)
	}
	return res, err
}

// withLine adds the script's line to the error that ended the attempt, if the executor knows
// it. The fault itself may be shared, so a copy has the line.
func withLine(err error, res *wire.Result) error {
	var f *fault.Fault
	if res == nil || res.Fault == nil || res.Fault.Line == 0 {
		return err
	}
	if !errors.As(err, &f) {
		if run.Ends(err) { // a new attempt
			return err
		}
		f = fault.From(err)
	}
	if f.Line != 0 || f.Code != res.Fault.Code {
		return err
	}
	at := *f
	at.Line, at.Column, at.Source = res.Fault.Line, res.Fault.Column, res.Fault.Source
	return &at
}

// lateFault returns the fault of a run that has exceeded its wall-clock time, for an error that
// only says that something was interrupted.
func (e *execution) lateFault(err error) error {
	switch f := fault.From(err); f.Code {
	case fault.Timeout, fault.Cancelled, fault.Internal, fault.ToolTimeout:
		if d, ok := f.Details.(map[string]any); ok && d["limit"] == "cpu" {
			return f
		}
		late := fault.Newf(fault.Timeout, "the run took longer than %d ms of wall-clock time", e.wall.Milliseconds()).
			WithDetails(map[string]any{"limit": "wall", "timeoutMs": e.wall.Milliseconds()}).Because(err)
		if len(e.cutOff) > 0 {
			late.Message += ", waiting for " + strings.Join(e.cutOff, ", ")
			late = late.WithHint("Ask for less in one call, or raise sandbox.timeoutMs: a run ends then, however long the call itself may take.")
		}
		late.Line, late.Column, late.Source = f.Line, f.Column, f.Source
		return late
	default:
		return f
	}
}

// timeUp is why a script or an action in a file ends when its time is up.
func timeUp() error { return context.DeadlineExceeded }
