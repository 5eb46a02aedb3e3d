package codemode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"

	"github.com/koan-go/koan/codemode/internal/actions"
	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/deadline"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
)

// act carries out one call of an action: its script runs in a worker of its own, in the
// transactions of the call.
type act struct {
	scripts *scripts
	action  *actions.Action
	call    catalog.Call
	nest    *run.Nest
}

// handler serves an action's operation.
func (p *actionProvider) handler(a *actions.Action) catalog.Handler {
	return func(ctx context.Context, call catalog.Call) (json.RawMessage, error) {
		x := &act{scripts: p.scripts, action: a, call: call, nest: run.NestOf(ctx)}
		if x.nest == nil {
			return nil, fault.New(fault.Internal, "an action is called as a part of a run")
		}
		return x.run(ctx)
	}
}

func (x *act) run(ctx context.Context) (json.RawMessage, error) {
	spent := spendingOf(ctx)
	inner := spent != nil
	if !inner {
		spent = &spending{limits: x.scripts.config().limits.Limits}
		ctx = withSpending(ctx, spent)
	}
	if err := spent.admit(); err != nil {
		return nil, err
	}
	job, err := x.job(spent.limits)
	if err != nil {
		return nil, err
	}
	job.Inner = inner
	timed, cancel := deadline.WithTimeout(ctx, x.scripts.config().wall, timeUp)
	defer cancel()
	timed, stop := context.WithCancel(timed)
	defer stop()
	h := newHost(x.call, x.nest.View(), x.nest, x.nest.Attempt(), x.scripts.app, job.Limits, x.nest.Attempt().Run().Spec().MaxCalls)
	h.log = func(l wire.Log) { x.log(ctx, l) }
	res, err := x.scripts.executor.Execute(timed, job, h)
	if err == nil && res.Fault == nil {
		err = h.exceededLimit()
	}
	stop()
	h.wait()
	if res != nil {
		spent.add(res)
	}
	switch {
	case err != nil:
		return nil, x.ended(timed, err, res)
	case res.Fault != nil:
		return nil, x.failure(ctx, h.restoreRule(res.Fault))
	case res.Result != nil:
		return res.Result, nil
	case res.Answer != nil:
		return res.Answer, nil
	}
	return json.RawMessage("null"), nil
}

// job is the action's script with its input.
func (x *act) job(l wire.Limits) (*wire.Job, error) {
	now, err := x.nest.Now()
	if err != nil {
		return nil, err
	}
	owner := x.nest.Principal().Subject
	if x.nest.App() { // no caller gets a worker that has seen what only the app may see
		owner += "\x00" + x.nest.Attempt().Run().Principal().Subject
	}
	return &wire.Job{
		Task: wire.Execute, Action: true, Code: x.action.Code, Language: x.action.Language, Args: x.call.Input(),
		Occasion: wire.Occasion{RunID: x.call.Run(), Set: x.nest.Set(), DryRun: x.call.DryRun(), NowMs: now.UnixMilli(), Seed: x.nest.Seed()},
		Bindings: x.scripts.bindings(x.nest.View(), x.action.Code, x.action.Language), Limits: l, Principal: owner,
	}, nil
}

// log says a message of the action. The app's own is not for the caller, since it may say what
// the caller may not know.
func (x *act) log(ctx context.Context, l wire.Log) {
	if x.nest.App() {
		x.scripts.log.Log(ctx, levels[l.Level], "an action says: "+l.Message, "action", x.action.Name, "run", x.call.Run())
		return
	}
	x.call.Log(levels[l.Level], x.action.Name+": "+l.Message)
}

// ended is why an action was cut off.
func (x *act) ended(ctx context.Context, err error, res *wire.Result) error {
	var f *fault.Fault
	switch {
	case run.Ends(err) && !errors.As(err, &f): // another attempt
		return err
	case ctx.Err() != nil && !run.Ends(err):
		if res != nil && res.Fault != nil && res.Fault.Code == fault.Timeout {
			return elsewhere(res.Fault)
		}
		return err
	}
	return elsewhere(fault.From(err))
}

// elsewhere is a fault without its place in a script, which is not the caller's.
func elsewhere(f *fault.Fault) *fault.Fault {
	out := *f
	out.Line, out.Column, out.Source, out.Path = 0, 0, "", ""
	return &out
}

// failure is the fault that the action's caller gets for what ended the action.
//
// What it threw itself is its author's word to the caller, about the input if it names a path in
// it. Faults of its calls keep their code
// where they can mean the same to the caller. With the app's own rights they say nothing,
// since they may be about what the caller may not know; the operator reads them.
func (x *act) failure(ctx context.Context, f *fault.Fault) error {
	if f.EndsRun() {
		return elsewhere(f)
	}
	name := x.action.Name
	details := map[string]any{"action": name}
	if f.Line > 0 {
		details["line"], details["column"] = f.Line, f.Column
	}
	failed := func(message string) *fault.Fault {
		return fault.New(fault.ExecutionError, message).WithHint("The action %q refused or failed; its message says why.", name).WithRetry(fault.Fix).WithDetails(details)
	}
	switch {
	case (f.Code == fault.JavaScriptError || f.Code == fault.ScriptError) && f.Path != "":
		return fault.Invalid(fault.Detail{Path: f.Path, Message: f.Message}).WithHint("%s", f.Hint)
	case (f.Code == fault.JavaScriptError || f.Code == fault.ScriptError) && defect.MatchString(f.Message):
		x.report(ctx, slog.LevelWarn, f)
		return failed(f.Message).WithRetry(fault.Never).WithHint("This is a defect of the action %q: report it to its author.", name)
	case f.Code == fault.JavaScriptError, f.Code == fault.ScriptError:
		return failed(f.Message)
	case x.nest.App():
		x.report(ctx, slog.LevelWarn, f)
		return failed("the action "+name+" could not be carried out").WithRetry(f.Retry).WithHint("Ask whoever runs the app: its log says what failed in the run %s.", x.call.Run())
	case !f.IsByRule() && aboutScript(f.Code):
		x.report(ctx, slog.LevelWarn, f)
		return failed(fmt.Sprintf("%s failed: %s", name, f.Message)).WithRetry(fault.Never).WithHint("This is a defect of the action %q: report it to its author.", name)
	}
	return elsewhere(f)
}

// defect is an error that the engine throws for code that is wrong, behind an explanation or alone.
// Actions refuse their input with an Error, or a class of their own.
var defect = regexp.MustCompile(`(^|\()(TypeError|ReferenceError): `)

// aboutScript reports whether a fault says that the script is wrong, which its caller cannot
// correct.
func aboutScript(c fault.Code) bool {
	switch c {
	case fault.InvalidPayload, fault.SyntaxError, fault.NeverSettled, fault.ToolNotFound, fault.ServerNotFound, fault.CapabilityUnsupported, fault.CallTooLarge, fault.InvalidCodeModeID:
		return true
	}
	return false
}

func (x *act) report(ctx context.Context, level slog.Level, f *fault.Fault) {
	x.scripts.log.Log(ctx, level, "an action failed", "action", x.action.Name, "file", x.action.File, "line", f.Line, "code", f.Code, "problem", f.Message, "run", x.call.Run())
}
