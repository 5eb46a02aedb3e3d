package javascript

import (
	"errors"
	"math/rand/v2"
	"strings"

	"github.com/dop251/goja"

	"github.com/koan-go/koan/codemode/internal/language"
	"github.com/koan-go/koan/codemode/internal/language/javascript/builtins"
	"github.com/koan-go/koan/codemode/internal/language/javascript/script"
	"github.com/koan-go/koan/codemode/internal/language/javascript/validate"
	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/fault"
)

// runtime is what one script runs in: an engine with SDK. It belongs to one goroutine; Interrupt may be called by
// another.
type runtime struct {
	js        *engine
	job       *assignment
	programs  *programCache // of earlier scripts
	host      *connection
	faults    *faults
	promises  *promises
	regexps   *regexps
	out       *out
	sdk       *sdk
	execution *execution
}

var _ language.Runtime = (*runtime)(nil)

// newRuntime returns a runtime with everything that does not depend on the job.
func newRuntime(programs *programCache) (*runtime, error) {
	js, err := newEngine()
	if err != nil {
		return nil, err
	}
	job := &assignment{}
	at := &positions{js: js, job: job}
	host := &connection{js: js, positions: at}
	thrown := &faults{
		js: js, job: job, host: host, positions: at, hints: &hints{job: job},
		known: map[*goja.Object]*fault.Fault{}, madeBy: map[*fault.Fault]*entityMethod{},
	}
	read := newPartials(js)
	in := &inputs{js: js, job: job, faults: thrown, partials: read}
	awaited := &promises{js: js, job: job, host: host, positions: at, faults: thrown}
	made := &calls{
		js: js, job: job, host: host, positions: at, faults: thrown, inputs: in, partials: read, promises: awaited,
		open: map[uint32]*pendingCall{},
	}
	log := &console{js: js, job: job, host: host}
	result := &out{js: js, job: job, host: host, faults: thrown, console: log, calls: made, result: &wire.Result{}}
	members := &sdk{
		js: js, job: job, faults: thrown, inputs: in, calls: made, out: result,
		callTool: &callTool{js: js, faults: thrown, inputs: in, calls: made},
	}
	waiting := &timers{js: js, host: host, positions: at, live: map[int64]bool{}}
	r := &runtime{
		js: js, job: job, programs: programs, host: host, faults: thrown, promises: awaited, regexps: &regexps{js: js}, out: result, sdk: members,
		execution: &execution{
			js: js, job: job, loop: &loop{host, waiting, made}, faults: thrown, positions: at, promises: awaited, sdk: members,
			modules: &modules{js: js, job: job, faults: thrown, inputs: in, calls: made, loaded: map[string]*goja.Object{}},
		},
	}
	return r, r.defineGlobals(log, waiting)
}

// defineGlobals defines the globals that every script has, and takes away what no script may have.
func (r *runtime) defineGlobals(log *console, waiting *timers) error {
	if err := r.sdk.makePages(); err != nil {
		return err
	}
	g := r.js.vm.GlobalObject()
	r.js.hide(g, "KoanError", r.js.base.errors.koan)
	log.bind()
	r.js.hide(g, wire.ResultName, goja.Undefined())
	r.js.hide(g, "setTimeout", r.js.function("setTimeout", 2, waiting.setTimeout))
	r.js.hide(g, "clearTimeout", r.js.function("clearTimeout", 1, waiting.clearTimeout))
	r.js.hide(g, "queueMicrotask", r.js.function("queueMicrotask", 1, r.js.queueMicrotask))
	if err := r.forbid(g); err != nil {
		return err
	}
	r.js.vm.SetPromiseRejectionTracker(r.execution.trackRejection)
	r.js.vm.SetAsyncContextTracker(promiseJobs{r.execution.positions})
	return nil
}

// seed sets the script's clock and random numbers as the job requires.
func (r *runtime) seed() {
	r.host.clock = newClock(r.job.NowMs)
	r.js.vm.SetTimeSource(r.host.clock.read)
	random := rand.New(rand.NewPCG(r.job.Seed, 0))
	r.js.vm.SetRandSource(random.Float64)
}

// complete adds parts of the language and of the Web platform that the engine lacks, as far as
// the script may use them.
func (r *runtime) complete() error {
	r.regexps.sources = r.job.program.Patterns
	if len(r.regexps.sources) > 0 || strings.Contains(r.job.Code, "RegExp") || strings.Contains(r.job.Code, "constructor") {
		if err := r.regexps.install(); err != nil {
			return err
		}
	}
	return r.builtins()
}

func (r *runtime) builtins() error {
	warned := map[string]bool{}
	return builtins.Install(r.js.vm, r.job.Code, r.js.base.iterator, builtins.Host{
		Function: func(name string, length int, f func(goja.FunctionCall) goja.Value) *goja.Object {
			return r.js.function(name, length, f)
		},
		Warn: func(message string) {
			if !warned[message] && len(warned) < maxWarnings {
				warned[message] = true
				r.host.log("warn", message)
			}
		},
		OriginMs: func() int64 { return r.host.clock.start / 1000 },
	})
}

// maxWarnings bounds the warnings that the built-ins write to the logs.
const maxWarnings = 20

// codeFromText is the hint for Function and the constructors of functions.
const codeFromText = "Strings cannot be executed as code here. Write the code into the script."

// forbid removes what makes code from strings. Security does not depend on it, since the
// process is confined; it exists for its messages. eval and the globals of other runtimes
// (fetch, require, process, ...) are absent, so that typeof works, and package validate
// explains the ReferenceError. Function stays, since every function is an instance of it;
// calling it throws an explanation.
func (r *runtime) forbid(g *goja.Object) error {
	if err := g.Delete("eval"); err != nil {
		return err
	}
	code := r.refuse("Function", codeFromText)
	functions := r.js.vm.Get("Function").(*goja.Object).Get("prototype").(*goja.Object)
	_ = code.DefineDataProperty("prototype", functions, goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE)
	r.js.hide(g, "Function", code)
	for _, proto := range []*goja.Object{functions, r.js.base.asyncFunction, r.js.base.generator} {
		_ = proto.DefineDataProperty("constructor", code, goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE)
	}
	return nil
}

func (r *runtime) refuse(name, hint string) *goja.Object {
	return r.js.function(name, 0, func(goja.FunctionCall) goja.Value {
		r.faults.throw(fault.New(fault.JavaScriptError, name+" is not available in scripts").WithHint("%s", hint))
		return nil
	})
}

// Interrupt implements language.Runtime.
func (r *runtime) Interrupt(f *fault.Fault) { r.js.vm.Interrupt(&interruption{f}) }

// Check implements language.Runtime.
func (r *runtime) Check(job *wire.Job, host language.Host) *wire.Result {
	return r.do(job, host, func() error {
		r.out.result.Diagnostics = r.diagnose(r.compile(jobModules{job.Bindings.Servers}))
		return nil
	})
}

// Declare implements language.Runtime.
func (r *runtime) Declare(job *wire.Job) *wire.Result {
	return r.do(job, nil, func() error {
		if err := r.compile(anyModule{}); err != nil {
			return compileFault(err)
		}
		d, err := r.job.program.Declaration()
		if err != nil {
			return compileFault(err)
		}
		r.out.result.Result, err = wire.Marshal(d)
		return err
	})
}

// Run implements language.Runtime.
func (r *runtime) Run(job *wire.Job, host language.Host) *wire.Result {
	return r.do(job, host, func() error {
		if err := r.compile(jobModules{job.Bindings.Servers}); err != nil {
			return compileFault(err)
		}
		return r.run()
	})
}

// do does a job's task. safeFaultOf converts its error into a fault.
func (r *runtime) do(job *wire.Job, host language.Host, task func() error) *wire.Result {
	r.job.Job, r.host.Host = job, host
	if err := r.attempt(task); err != nil {
		r.out.result.Fault = withSource(r.faults.safeFaultOf(err), job.Code)
		r.out.result.Result = nil
	}
	r.out.result.Last = r.out.result.Last || r.faults.overflowed
	return r.out.result
}

// attempt does a task, and returns a panic of the engine as an error.
func (r *runtime) attempt(task func() error) (err error) {
	defer func() {
		if x := recover(); x != nil {
			err = recovered(x)
			r.out.result.Last = true
		}
	}()
	if name := r.job.EntryFunction; name != "" && !script.IsName(name) {
		return notAFunction(name, "is not the name of a function")
	}
	return task()
}

// compile compiles the script.
func (r *runtime) compile(modules script.Modules) (err error) {
	r.programs.setLimit(r.job.Limits.MemoryBytes)
	r.job.program, err = r.programs.compile(script.Source{
		Code: r.job.Code, Language: r.job.Language, Entry: r.job.EntryFunction, Module: r.job.Module, Action: r.job.Action, Modules: modules,
	})
	return err
}

// run runs the compiled script.
func (r *runtime) run() error {
	r.seed()
	if err := r.complete(); err != nil {
		return err
	}
	r.js.vm.SetMaxCallStackSize(r.job.Limits.MaxRecursion)
	if err := r.sdk.bind(); err != nil {
		return err
	}
	r.bindExit()
	value, err := r.execution.execute()
	if err == nil {
		err = r.resolveResult(value)
	}
	if err == nil && r.host.stopped() { // by its last call
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
func (r *runtime) diagnose(err error) []wire.Diagnostic {
	var e *script.Error
	if errors.As(err, &e) {
		code := wire.DiagnosticParse
		switch {
		case e.Name != "":
			code = wire.DiagnosticUnknownExport
		case e.Import != "":
			code = wire.DiagnosticUnknownModule
		}
		return []wire.Diagnostic{{
			Severity: wire.SeverityError, Code: code, Message: e.Message, Hint: fault.From(compileFault(e)).Hint, Line: e.Line, Column: e.Column,
		}}
	}
	return validate.Check(r.job.program, r.job.bindings(), r.checkInput)
}

// checkInput has the host check the input of a call without making it.
func (r *runtime) checkInput(id string, input []byte) *fault.Fault {
	return r.host.Call(id, input).Fault
}

// resolveResult sets the result, which is the script's value unless a global takes precedence
// (CONTRACT section 2).
func (r *runtime) resolveResult(value goja.Value) error {
	if err := r.exitStatus(); err != nil {
		return err
	}
	names := []string{wire.ResultName, "result"}
	switch {
	case r.job.Action: // its globals are not results
		names = nil
	case r.job.Module:
		names, value = names[:1], goja.Undefined()
	}
	for _, name := range names {
		var set goja.Value
		if err := r.js.guard(func() { set = r.js.vm.GlobalObject().Get(name) }); err != nil {
			return err
		}
		if set != nil && !goja.IsUndefined(set) {
			value = set
			break
		}
	}
	value, err := r.execution.settle(value)
	if err != nil {
		return err
	}
	r.promises.warnOfOpen()
	var raw []byte
	var ferr error
	if err := r.js.guard(func() { raw, ferr = r.out.serialise(value, "the result") }); err != nil {
		return err
	}
	if ferr != nil {
		return ferr
	}
	r.out.result.Result = raw
	return nil
}
