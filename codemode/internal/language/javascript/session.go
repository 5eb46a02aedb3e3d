package javascript

import (
	"errors"
	"reflect"

	"github.com/dop251/goja"

	"github.com/koan-go/koan/codemode/internal/language"
	"github.com/koan-go/koan/codemode/internal/language/javascript/script"
	"github.com/koan-go/koan/codemode/internal/language/javascript/validate"
	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/fault"
)

// session is one execution of a script in one engine. It belongs to one goroutine; the watch
// interrupts it from another.
type session struct {
	vm        *goja.Runtime
	sdk       *goja.Object // SDK without the job's parts; nil: not built yet
	base      base
	stringify goja.Callable // the original JSON.stringify

	job      *wire.Job
	host     language.Host
	programs *programCache // of earlier scripts
	program  *script.Program
	findings func() []wire.Diagnostic // what is wrong with the program before it runs
	clock    *clock
	timers   timers
	scratch  []byte
	// check is the state of replacer for the input that is being encoded.
	check    inputCheck
	replacer goja.Value
	// patterns are the original sources of rewritten regular expressions, by the rewritten
	// ones.
	patterns map[string]string

	inFlight callsInFlight
	promises promises
	modules  map[string]*goja.Object // by path, once imported
	callTool callToolFunctions

	partials partials

	faults     map[*goja.Object]*fault.Fault // the faults of errors thrown into the script, by the error
	madeBy     map[*fault.Fault]*entityOp    // the method that threw an invalid_payload
	rejections []*goja.Promise               // rejected and not handled
	stopReason *interruption
	result     *wire.Result
	emitted    emitted

	sites       callSites
	entryCalled bool // the script has called its entry function itself

	box           *goja.Object  // takes the place of returned while the promise of a body settles
	returned      goja.Value    // the value of a top-level return
	lastValue     goja.Value    // the value of the last expression statement of a body
	entry         goja.Callable // returns the entry function of a body
	defaultExport goja.Value    // the default export
}

var _ language.Runtime = (*session)(nil)

// Interrupt implements language.Runtime.
func (s *session) Interrupt(f *fault.Fault) { s.vm.Interrupt(&interruption{f}) }

// Check implements language.Runtime.
func (s *session) Check(job *wire.Job, host language.Host) *wire.Result {
	return s.do(job, host, func() error {
		s.result.Diagnostics = s.diagnose(s.compile(jobModules{job.Bindings.Servers}))
		return nil
	})
}

// Declare implements language.Runtime.
func (s *session) Declare(job *wire.Job) *wire.Result {
	return s.do(job, nil, func() error {
		if err := s.compile(anyModule{}); err != nil {
			return compileFault(err)
		}
		d, err := s.program.Declaration()
		if err != nil {
			return compileFault(err)
		}
		s.result.Result, err = wire.Marshal(d)
		return err
	})
}

// Run implements language.Runtime.
func (s *session) Run(job *wire.Job, host language.Host) *wire.Result {
	return s.do(job, host, func() error {
		if err := s.compile(jobModules{job.Bindings.Servers}); err != nil {
			return compileFault(err)
		}
		return s.run()
	})
}

// do does a job's task. safeFaultOf converts its error into a fault.
func (s *session) do(job *wire.Job, host language.Host, task func() error) *wire.Result {
	s.job, s.host = job, host
	if err := s.attempt(task); err != nil {
		s.result.Fault = withSource(s.safeFaultOf(err), job.Code)
		s.result.Result = nil
	}
	return s.result
}

// attempt does a task, and returns a panic of the engine as an error.
func (s *session) attempt(task func() error) (err error) {
	defer func() {
		if x := recover(); x != nil {
			err = recovered(x)
			s.result.Last = true
		}
	}()
	if name := s.job.EntryFunction; name != "" && !script.IsName(name) {
		return notAFunction(name, "is not the name of a function")
	}
	return task()
}

// compile compiles the script.
func (s *session) compile(modules script.Modules) (err error) {
	s.programs.setLimit(s.job.Limits.MemoryBytes)
	s.program, err = s.programs.compile(script.Source{
		Code: s.job.Code, Language: s.job.Language, Entry: s.job.EntryFunction, Module: s.job.Module, Action: s.job.Action, Modules: modules,
	})
	return err
}

// run runs the compiled script.
func (s *session) run() error {
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
		err = s.resolveResult(value)
	}
	if err == nil && s.stopped() { // by its last call
		return errStopped
	}
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
		f = fault.New(fault.CapabilityUnsupported, e.Message).WithRetry(fault.Fix) // another script can succeed
	}
	switch {
	case e.Hint != "":
		f.Hint = e.Hint
	case e.Line == 0 && f.Code == fault.SyntaxError: // the usual hint names a line
		f.Hint = "Correct the syntax as the message says."
	}
	f.Line, f.Column = e.Line, e.Column
	return f
}

// diagnose returns the findings of the task validate: the error of the compiler, else those of
// package validate.
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
			Severity: validate.SeverityError, Code: code, Message: e.Message, Hint: fault.From(compileFault(e)).Hint, Line: e.Line, Column: e.Column,
		}}
	}
	return validate.Check(s.program, s.bindings(), s.checkInput)
}

// checkInput has the host check the input of a call without making it.
func (s *session) checkInput(id string, input []byte) *fault.Fault {
	return s.host.Call(id, input).Fault
}

// execute runs the script to its end, including its entry function, timers and calls, and
// returns its value.
func (s *session) execute() (goja.Value, error) {
	before := goja.Value(nil) // the global of the engine that has the entry function's name
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
	if goja.IsUndefined(value) && s.lastValue != nil {
		if value, err = s.settle(s.lastValue); err != nil {
			return nil, err
		}
	}
	if s.program.Lone && s.program.Shape == script.Body {
		if value, err = s.callIfFunction(value); err != nil {
			return nil, err
		}
	}
	if s.defaultExport != nil {
		if value, err = s.callDefaultExport(); err != nil {
			return nil, err
		}
	}
	fn, found, err := s.entryFunction(before)
	if err != nil {
		return nil, err
	}
	if found {
		if value, err = s.callIfFunction(fn); err != nil {
			return nil, err
		}
	}
	if err := s.drain(); err != nil {
		return nil, err
	}
	return value, s.unhandled()
}

// drain runs timers and waits for calls in flight until there are none.
func (s *session) drain() error {
	for {
		if more, err := s.waitOnce(); err != nil || !more {
			return err
		}
	}
}

// start runs the compiled program and returns its value, which may be a promise.
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

// hook is the function that compiled code calls (script.HookName).
func (s *session) hook(c goja.FunctionCall) goja.Value {
	if len(c.Arguments) == 1 {
		s.lastValue = c.Arguments[0]
		return goja.Undefined()
	}
	v := c.Argument(1)
	switch c.Argument(0).Export() {
	case int64(script.HookEntry):
		s.entry, _ = goja.AssertFunction(v)
	case int64(script.HookDefault):
		if !goja.IsUndefined(v) {
			s.defaultExport = v
		}
	case int64(script.HookReturn):
		s.box, s.returned = s.vm.CreateObject(nil), v
		return s.box
	case int64(script.HookRan):
		s.entryCalled = true
	case int64(script.HookThrow):
		s.noteThrow(v, true)
		return v
	case int64(script.HookImport):
		return s.module(v.String())
	case int64(script.HookAwait):
		s.noteAwait(v)
		return v
	case int64(script.HookStack):
		s.rewriteStack(v)
		return v
	case int64(script.HookCatch):
		s.explainCaught(v)
	case int64(script.HookAction): // only Declaration uses it
	case int64(script.HookPromise):
		return s.promising(v)
	case int64(script.HookMember):
		return s.singleMember(v, c.Argument(2))
	}
	return goja.Undefined()
}

// singleMember returns an object with one own member, even if its name is __proto__.
func (s *session) singleMember(key, value goja.Value) goja.Value {
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

// callIfFunction settles the value that v returns if v is a function, else v itself.
func (s *session) callIfFunction(v goja.Value) (goja.Value, error) {
	if fn, ok := goja.AssertFunction(v); ok {
		var err error
		if v, err = fn(goja.Undefined()); err != nil {
			return nil, err
		}
	}
	return s.settle(v)
}

// callDefaultExport calls the default export, with the input if it is an action's.
func (s *session) callDefaultExport() (goja.Value, error) {
	if !s.job.Action {
		return s.callIfFunction(s.defaultExport)
	}
	fn, ok := goja.AssertFunction(s.defaultExport)
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

// entryFunction returns the function to call after the script, if there is one. before is the
// global that the engine has by that name, which does not count.
func (s *session) entryFunction(before goja.Value) (goja.Value, bool, error) {
	name := s.program.Entry
	if name == "" || s.program.Lone && name != s.job.EntryFunction {
		return nil, false, nil
	}
	named := name == s.job.EntryFunction
	if !named && !s.entryCalled { // a timer may still call it
		if err := s.drain(); err != nil {
			return nil, false, err
		}
	}
	if !named && s.entryCalled {
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

// settle waits for a native promise and returns its value; any other value, thenables included,
// it returns as it is. Only timers and calls in flight can settle a pending promise.
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
		s.promises.use(o)
		p := o.Export().(*goja.Promise)
		for p.State() == goja.PromiseStatePending {
			more, err := s.waitOnce()
			if err != nil {
				return nil, err
			}
			if !more {
				if err := s.unhandled(); err != nil {
					return nil, err
				}
				return nil, s.locate(fault.New(fault.NeverSettled, ""), s.sites.innermostAwait())
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
		s.noteThrow(p.Result(), false)
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

// unhandled returns the fault of the first rejection that was not handled, nil if there is none.
func (s *session) unhandled() error {
	if len(s.rejections) == 0 {
		return nil
	}
	return s.faultOfValue(s.rejections[0].Result(), nil)
}

// resolveResult sets the result, which is the script's value unless a global takes precedence
// (CONTRACT section 2).
func (s *session) resolveResult(value goja.Value) error {
	names := []string{wire.ResultName, "result"}
	switch {
	case s.job.Action: // its globals are not results
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
	s.warnOfOpen()
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
