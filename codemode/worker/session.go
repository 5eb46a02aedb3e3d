package worker

import (
	"context"
	"errors"
	"reflect"
	"time"

	"github.com/dop251/goja"

	"github.com/koan-go/koan/codemode/internal/script"
	"github.com/koan-go/koan/codemode/internal/validate"
	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/fault"
)

// session is one script's run in one engine. It belongs to one goroutine; only
// the watch acts from outside, by interrupts.
type session struct {
	vm        *goja.Runtime
	sdk       *goja.Object  // what does not depend on the job; nil: not bound yet
	bound     wire.Bindings // what sdk was made of
	base      base
	stringify goja.Callable // as it was before the script

	job      *wire.Job
	port     Port
	compiled *compiled // the programs of the scripts before
	program  *script.Program
	clock    *clock
	timers   timers
	logs     wire.LogBudget
	watch    *watch
	scratch  []byte
	// lossless watches over the input that is being encoded, by refuseLosses.
	lossless     lossless
	refuseLosses goja.Value
	// patterns are the sources of rewritten regular expressions, by what they
	// became.
	patterns map[string]string

	flights flights
	modules map[string]*goja.Object // by path, once imported

	faults     map[*goja.Object]*fault.Fault // what was thrown into the script
	usages     map[*fault.Fault]string       // how the method is called that they came from
	rejections []*goja.Promise               // rejected, and nobody handled it
	ending     *stop
	result     *wire.Result
	emitted    emitted

	trail trail
	ran   bool // the script called its entry function

	box      *goja.Object  // stands for returned while a body's promise settles
	returned goja.Value    // what a top-level return gave
	last     goja.Value    // of the last expression statement of a body
	entry    goja.Callable // gives the entry function of a body
	exposed  goja.Value    // default export
}

// Run runs a job in this process and gives how it ended; never nil. When ctx ends
// the script is interrupted.
func Run(ctx context.Context, job *wire.Job, port Port, gauges Gauges) *wire.Result {
	s, err := prepare()
	if err != nil {
		return &wire.Result{Fault: fault.New(fault.ExecutionError, "").Because(err)}
	}
	interrupt := context.AfterFunc(ctx, func() { s.vm.Interrupt(&stop{fault.From(ctx.Err())}) })
	defer interrupt()
	return s.run(job, port, gauges, &compiled{})
}

func (s *session) run(job *wire.Job, port Port, gauges Gauges, before *compiled) *wire.Result {
	s.job, s.port, s.compiled = job, port, before
	s.logs = wire.LogBudget{MaxEntries: job.Limits.MaxLogEntries, MaxBytes: job.Limits.MaxLogBytes, MaxMessage: job.Limits.MaxLogMessageBytes}
	s.watch = newWatch(s.vm, time.Duration(job.Limits.CPUMs)*time.Millisecond, time.Duration(job.WallMs)*time.Millisecond, job.Limits.MemoryBytes, gauges)
	defer s.watch.stop()
	if err := s.outcome(); err != nil {
		s.result.Fault = quoted(s.lastWord(err), job.Code)
		s.result.Result = nil
	}
	s.result.CPUMs = float64(s.watch.used().Microseconds()) / 1000
	return s.result
}

// outcome compiles and runs the script; its error ends up in faultOf.
func (s *session) outcome() (err error) {
	defer func() {
		if x := recover(); x != nil {
			err = recovered(x)
			s.result.Last = true
		}
	}()
	if name := s.job.EntryFunction; name != "" && !script.IsName(name) {
		return notAFunction(name, "is not the name of a function")
	}
	var modules script.Modules = importable{s.job.Bindings.Servers}
	if s.job.Task == wire.Declare {
		modules = anyModule{}
	}
	s.program, err = s.compiled.compile(script.Source{
		Code: s.job.Code, Language: s.job.Language, Entry: s.job.EntryFunction, Module: s.job.Module, Action: s.job.Action, Modules: modules,
	})
	if s.job.Task == wire.Validate {
		s.result.Diagnostics = s.diagnose(err)
		return nil
	}
	if err != nil {
		return compileFault(err)
	}
	if s.job.Task == wire.Declare {
		return s.declare()
	}
	s.seed()
	if err := s.complete(); err != nil {
		return err
	}
	s.vm.SetMaxCallStackSize(s.job.Limits.MaxRecursion)
	if err := s.bind(); err != nil {
		return err
	}
	value, err := s.execute()
	if err == nil {
		err = s.settleResult(value)
	}
	if err == nil && s.stopped() { // by a call after which no more of the script ran
		return errStopped
	}
	return err
}

// declare gives what the file of an action declares.
func (s *session) declare() error {
	d, err := s.program.Declaration()
	if err != nil {
		return compileFault(err)
	}
	s.result.Result, err = wire.Marshal(d)
	return err
}

func notAFunction(name, why string) *fault.Fault {
	return fault.Invalid(fault.Detail{Path: "/entryFunction", Message: "`" + fault.Clip(name, 100) + "` " + why})
}

func compileFault(err error) error {
	var e *script.Error
	if !errors.As(err, &e) {
		return err
	}
	f := fault.New(fault.SyntaxError, e.Message)
	switch {
	case e.Import != "":
		f = importFailed(e.Import, e.Name, e.Message)
	case e.Unsupported:
		f = fault.New(fault.CapabilityUnsupported, e.Message).WithRetry(fault.Fix) // by another script, not by another build
	}
	if e.Hint != "" {
		f.Hint = e.Hint
	}
	f.Line, f.Column = e.Line, e.Column
	return f
}

// diagnose returns the findings of validate: what does not parse, else what a check
// says.
func (s *session) diagnose(err error) []wire.Diagnostic {
	var e *script.Error
	if errors.As(err, &e) {
		code := validate.Parse
		switch {
		case e.Name != "":
			code = validate.UnknownExport
		case e.Import != "":
			code = validate.UnknownModule
		}
		return []wire.Diagnostic{{
			Severity: validate.SeverityError, Code: code, Message: e.Message, Hint: e.Hint, Line: e.Line, Column: e.Column,
		}}
	}
	return validate.Check(s.program, s.job.Bindings, s.checkInput)
}

// checkInput has the host check the input of a call, which is not made.
func (s *session) checkInput(id string, input []byte) *fault.Fault {
	s.watch.Pause()
	defer s.watch.Resume()
	return s.port.Call(id, input).Fault
}

// execute runs the script to its end, entry function and timers included, and
// gives its value.
func (s *session) execute() (goja.Value, error) {
	before := goja.Value(nil) // what the engine itself has by the entry function's name
	if name := s.program.Entry; name != "" {
		before = s.vm.GlobalObject().Get(name)
	}
	value, err := s.start()
	if err != nil {
		return nil, err
	}
	if value, err = s.settle(value); err != nil {
		return nil, err
	}
	if goja.IsUndefined(value) && s.last != nil {
		if value, err = s.settle(s.last); err != nil {
			return nil, err
		}
	}
	if s.program.Lone && s.program.Shape == script.Body {
		if value, err = s.callOrTake(value); err != nil {
			return nil, err
		}
	}
	if s.exposed != nil {
		if value, err = s.callExposed(); err != nil {
			return nil, err
		}
	}
	fn, found, err := s.entryFunction(before)
	if err != nil {
		return nil, err
	}
	if found {
		if value, err = s.callOrTake(fn); err != nil {
			return nil, err
		}
	}
	if err := s.drain(); err != nil {
		return nil, err
	}
	return value, s.unhandled()
}

// drain runs timers and waits for calls until there are none.
func (s *session) drain() error {
	for {
		if more, err := s.turn(); err != nil || !more {
			return err
		}
	}
}

// start runs the compiled program and gives its value, perhaps a promise.
func (s *session) start() (goja.Value, error) {
	if s.program.Hooked && s.program.Shape == script.Plain {
		s.hide(s.vm.GlobalObject(), script.HookName, s.function("", 0, s.hook))
	}
	value, err := s.vm.RunProgram(s.program.Code)
	if err != nil {
		return nil, err
	}
	switch {
	case s.program.Shape == script.Body:
		body, ok := goja.AssertFunction(value)
		if !ok {
			return nil, fault.New(fault.Internal, "the compiled script is not a function")
		}
		return body(goja.Undefined(), s.function("", 0, s.hook))
	case s.program.Lone:
		fn, ok := goja.AssertFunction(value)
		if !ok {
			return value, nil
		}
		return fn(goja.Undefined())
	}
	return value, nil
}

// hook is what a body is called with (script.HookName).
func (s *session) hook(c goja.FunctionCall) goja.Value {
	if len(c.Arguments) == 1 {
		s.last = c.Arguments[0]
		return goja.Undefined()
	}
	v := c.Argument(1)
	switch c.Argument(0).Export() {
	case int64(script.HookEntry):
		s.entry, _ = goja.AssertFunction(v)
	case int64(script.HookDefault):
		if !goja.IsUndefined(v) {
			s.exposed = v
		}
	case int64(script.HookReturn):
		s.box, s.returned = s.vm.CreateObject(nil), v
		return s.box
	case int64(script.HookRan):
		s.ran = true
	case int64(script.HookThrow):
		s.remember(v, true)
		return v
	case int64(script.HookImport):
		return s.module(v.String())
	case int64(script.HookAwait):
		s.awaits(v)
		return v
	case int64(script.HookStack):
		s.restack(v)
		return v
	case int64(script.HookAction): // read by Declare
	case int64(script.HookMember):
		return s.single(v, c.Argument(2))
	}
	return goja.Undefined()
}

// single makes an object with one member, whatever its name.
func (s *session) single(key, value goja.Value) goja.Value {
	o := s.vm.CreateObject(nil)
	var err error
	if symbol, ok := key.(*goja.Symbol); ok {
		err = o.DefineDataPropertySymbol(symbol, value, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_TRUE)
	} else {
		err = o.DefineDataProperty(key.String(), value, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_TRUE)
	}
	if err != nil {
		panic(err)
	}
	return o
}

// callOrTake calls a function and settles what it gives; anything else is taken
// as it is.
func (s *session) callOrTake(v goja.Value) (goja.Value, error) {
	if fn, ok := goja.AssertFunction(v); ok {
		var err error
		if v, err = fn(goja.Undefined()); err != nil {
			return nil, err
		}
	}
	return s.settle(v)
}

// callExposed calls the default export: that of an action with its input.
func (s *session) callExposed() (goja.Value, error) {
	if !s.job.Action {
		return s.callOrTake(s.exposed)
	}
	fn, ok := goja.AssertFunction(s.exposed)
	if !ok {
		return nil, fault.New(fault.JavaScriptError, "the default export of the action is not a function").
			WithHint("Export the function that does the work: export default (input) => { ... };")
	}
	value, err := fn(goja.Undefined(), s.member(s.sdk, "args"))
	if err != nil {
		return nil, err
	}
	return s.settle(value)
}

// entryFunction finds what to call after the script. before is what the engine
// has by that name: only a function of the script's own counts.
func (s *session) entryFunction(before goja.Value) (goja.Value, bool, error) {
	name := s.program.Entry
	if name == "" || s.program.Lone && name != s.job.EntryFunction {
		return nil, false, nil
	}
	named := name == s.job.EntryFunction
	if !named && !s.ran { // a timer may still call it
		if err := s.drain(); err != nil {
			return nil, false, err
		}
	}
	if !named && s.ran {
		return nil, false, nil
	}
	v, err := s.lookUp(name)
	if err != nil {
		return nil, false, err
	}
	if _, ok := goja.AssertFunction(v); ok && (before == nil || !v.SameAs(before)) {
		return v, true, nil
	}
	if !named {
		return nil, false, nil
	}
	return nil, false, notAFunction(name, "is not a function of the script")
}

func (s *session) lookUp(name string) (goja.Value, error) {
	if s.entry != nil {
		return s.entry(goja.Undefined())
	}
	if s.program.Shape == script.Body {
		return goja.Undefined(), nil
	}
	p, err := goja.Compile("entry", "typeof "+name+`==="undefined"?undefined:`+name, false)
	if err != nil {
		return nil, notAFunction(name, "is not the name of a function")
	}
	return s.vm.RunProgram(p)
}

var promiseType = reflect.TypeFor[*goja.Promise]()

// settle waits for a native promise; any other thenable is data. Only timers and
// calls in flight can settle what is pending.
func (s *session) settle(v goja.Value) (goja.Value, error) {
	for {
		o, ok := v.(*goja.Object)
		if ok && o == s.box {
			v, s.box = s.returned, nil
			continue
		}
		if !ok || o.ExportType() != promiseType {
			return v, nil
		}
		p := o.Export().(*goja.Promise)
		for p.State() == goja.PromiseStatePending {
			more, err := s.turn()
			if err != nil {
				return nil, err
			}
			if !more {
				if err := s.unhandled(); err != nil {
					return nil, err
				}
				return nil, s.place(fault.New(fault.NeverSettled, ""), s.trail.stuck())
			}
		}
		if p.State() == goja.PromiseStateRejected {
			return nil, s.faultOfValue(p.Result(), nil)
		}
		v = p.Result()
	}
}

func (s *session) trackRejection(p *goja.Promise, op goja.PromiseRejectionOperation) {
	if op == goja.PromiseRejectionReject {
		s.remember(p.Result(), false)
		s.rejections = append(s.rejections, p)
		return
	}
	for i := len(s.rejections) - 1; i >= 0; i-- {
		if s.rejections[i] == p {
			s.rejections = append(s.rejections[:i], s.rejections[i+1:]...)
			return
		}
	}
}

// unhandled is the fault of a rejection that nobody handled.
func (s *session) unhandled() error {
	if len(s.rejections) == 0 {
		return nil
	}
	return s.faultOfValue(s.rejections[0].Result(), nil)
}

// settleResult finds the result by its precedence (CONTRACT section 2).
func (s *session) settleResult(value goja.Value) error {
	names := []string{wire.ResultName, "result"}
	switch {
	case s.job.Action: // its globals are its own
		names = nil
	case s.job.Module:
		names, value = names[:1], goja.Undefined()
	}
	for _, name := range names {
		var set goja.Value
		if err := s.guard(func() { set = s.vm.GlobalObject().Get(name) }); err != nil {
			return err
		}
		if set != nil && !goja.IsUndefined(set) {
			value = set
			break
		}
	}
	value, err := s.settle(value)
	if err != nil {
		return err
	}
	var raw []byte
	var ferr error
	if err := s.guard(func() { raw, ferr = s.serialise(value, "the result") }); err != nil {
		return err
	}
	if ferr != nil {
		return ferr
	}
	s.result.Result = raw
	return nil
}
