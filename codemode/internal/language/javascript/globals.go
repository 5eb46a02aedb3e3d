package javascript

import (
	"math/rand/v2"
	"strings"
	"sync"

	"github.com/dop251/goja"

	"github.com/koan-go/koan/codemode/internal/language/javascript/builtins"
	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/fault"
)

// base holds objects of a fresh engine, saved before a script can change them.
type base struct {
	stringify   goja.Callable
	freeze      goja.Callable
	errorClass  *goja.Object
	koanError   *goja.Object // KoanError.prototype
	typeError   *goja.Object // TypeError.prototype
	classes     *goja.Object // those of @codemode/errors, by name
	syntaxError *goja.Object
	iterator    *goja.Object // %IteratorPrototype%
	regexp      *goja.Object // RegExp.prototype
	object      *goja.Object // Object.prototype
	typedArray  *goja.Object // %TypedArray%.prototype
	weakMap     *goja.Object // WeakMap.prototype
	weakSet     *goja.Object // WeakSet.prototype
	page        *goja.Object // the prototype of a page of entities
}

// prelude returns a program that defines KoanError and the classes of @codemode/errors, and
// returns them with the objects that prepare needs, among them the prototypes through whose
// constructors strings could become code.
var prelude = sync.OnceValue(func() *goja.Program {
	return goja.MustCompile("prelude", `(function () {
  class KoanError extends Error {
    constructor(message, fault) {
      super(message);
      if (fault !== undefined) Object.assign(this, fault);
    }
  }
  const hidden = (o, name, value) => Object.defineProperty(o, name, { value, writable: true, configurable: true });
  hidden(KoanError.prototype, "name", "KoanError");
  const named = (name, base) => {
    const c = { [name]: class extends base {} }[name];
    hidden(c.prototype, "name", name);
    return c;
  };
  const CodemodeError = named("CodemodeError", KoanError);
  hidden(CodemodeError.prototype, "hint", "Read the message, correct the call, and run the script again.");
  const classes = { __proto__: null, CodemodeError, KoanError };
  for (const name of ["SchemaValidationError", "ToolNotFoundError", "ServerNotFoundError", "ToolCallError", "SandboxLimitError"])
    classes[name] = named(name, CodemodeError);
  classes.AuthenticationError = named("AuthenticationError", classes.ToolCallError);
  return [KoanError, JSON.stringify, Error,
    Object.getPrototypeOf(async function () {}), Object.getPrototypeOf(function* () {}), SyntaxError, Object.freeze(classes), Object.freeze,
    Object.prototype, Object.getPrototypeOf(Uint8Array.prototype), TypeError.prototype, WeakMap.prototype, WeakSet.prototype];
})()`, false)
})

// prepare returns a session with a fresh engine and everything that does not depend on the
// job.
func prepare() (*session, error) {
	s := &session{vm: goja.New(), partials: newPartials(), faults: map[*goja.Object]*fault.Fault{}, madeBy: map[*fault.Fault]*entityOp{}, result: &wire.Result{}}
	v, err := s.vm.RunProgram(prelude())
	if err != nil {
		return nil, err
	}
	var parts []goja.Value
	if err := s.vm.ExportTo(v, &parts); err != nil {
		return nil, err
	}
	s.base.stringify, _ = goja.AssertFunction(parts[1])
	s.base.freeze, _ = goja.AssertFunction(parts[7])
	s.base.errorClass = parts[2].(*goja.Object)
	s.base.object = parts[8].(*goja.Object)
	s.base.typedArray = parts[9].(*goja.Object)
	s.base.typeError = parts[10].(*goja.Object)
	s.base.weakMap, s.base.weakSet = parts[11].(*goja.Object), parts[12].(*goja.Object)
	koan := parts[0].(*goja.Object)
	s.base.koanError = koan.Get("prototype").(*goja.Object)
	s.stringify = s.base.stringify
	if err := s.makePages(); err != nil {
		return nil, err
	}
	g := s.vm.GlobalObject()
	s.hide(g, "KoanError", koan)
	if err := g.Delete("GoError"); err != nil { // defined by the engine, of no use to a script
		return nil, err
	}
	s.bindConsole()
	s.timers.live = map[int64]bool{}
	s.inFlight.open = map[uint32]*pendingCall{}
	s.modules = map[string]*goja.Object{}
	s.hide(g, wire.ResultName, goja.Undefined())
	s.hide(g, "setTimeout", s.function("setTimeout", 2, s.setTimeout))
	s.hide(g, "clearTimeout", s.function("clearTimeout", 1, s.clearTimeout))
	s.hide(g, "queueMicrotask", s.function("queueMicrotask", 1, s.queueMicrotask))
	if err := s.forbid(g, parts[3].(*goja.Object), parts[4].(*goja.Object)); err != nil {
		return nil, err
	}
	s.base.syntaxError = parts[5].(*goja.Object)
	s.base.classes = parts[6].(*goja.Object)
	s.base.iterator = parts[4].(*goja.Object).Get("prototype").(*goja.Object).Prototype()
	if err := s.fixDates(); err != nil {
		return nil, err
	}
	s.vm.SetPromiseRejectionTracker(s.trackRejection)
	s.vm.SetAsyncContextTracker(promiseJobs{s})
	return s, nil
}

// seed sets the script's clock and random numbers as the job requires.
func (s *session) seed() {
	s.clock = newClock(s.job.NowMs)
	s.vm.SetTimeSource(s.clock.read)
	random := rand.New(rand.NewPCG(s.job.Seed, 0))
	s.vm.SetRandSource(random.Float64)
}

// complete adds parts of the language and of the Web platform that the engine lacks, as far as
// the script may use them.
func (s *session) complete() error {
	s.patterns = s.program.Patterns
	if len(s.patterns) > 0 || strings.Contains(s.job.Code, "RegExp") || strings.Contains(s.job.Code, "constructor") {
		if err := s.fixRegExp(); err != nil {
			return err
		}
	}
	return s.builtins()
}

func (s *session) builtins() error {
	warned := map[string]bool{}
	return builtins.Install(s.vm, s.job.Code, s.base.iterator, builtins.Host{
		Function: func(name string, length int, f func(goja.FunctionCall) goja.Value) *goja.Object {
			return s.function(name, length, f)
		},
		Warn: func(message string) {
			if !warned[message] && len(warned) < maxWarnings {
				warned[message] = true
				s.log("warn", message)
			}
		},
		OriginMs: func() int64 { return s.clock.start / 1000 },
	})
}

// maxWarnings bounds the warnings that the built-ins write to the logs.
const maxWarnings = 20

// hide defines a member that is not enumerable, like the built-ins.
func (s *session) hide(o *goja.Object, name string, v goja.Value) {
	_ = o.DefineDataProperty(name, v, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
}

func (s *session) queueMicrotask(c goja.FunctionCall) goja.Value {
	fn, ok := goja.AssertFunction(c.Argument(0))
	if !ok {
		panic(s.vm.NewTypeError("queueMicrotask needs a function"))
	}
	promise, resolve, _ := s.vm.NewPromise()
	then, ok := goja.AssertFunction(s.vm.ToValue(promise).(*goja.Object).Get("then"))
	if !ok {
		panic(s.vm.NewTypeError("Promise.prototype.then is not a function any more"))
	}
	run := s.function("", 0, func(goja.FunctionCall) goja.Value {
		if _, err := fn(goja.Undefined()); err != nil {
			panic(err)
		}
		return goja.Undefined()
	})
	if _, err := then(s.vm.ToValue(promise), run); err != nil {
		panic(err)
	}
	if err := resolve(goja.Undefined()); err != nil {
		panic(err)
	}
	return goja.Undefined()
}

// codeFromText is the hint for Function and the constructors of functions.
const codeFromText = "Strings cannot be executed as code here. Write the code into the script."

// forbid removes what makes code from strings. Security does not depend on it, since the
// process is confined; it exists for its messages. eval and the globals of other runtimes
// (fetch, require, process, ...) are absent, so that typeof works, and package validate
// explains the ReferenceError. Function stays, since every function is an instance of it;
// calling it throws an explanation.
func (s *session) forbid(g, async, generator *goja.Object) error {
	if err := g.Delete("eval"); err != nil {
		return err
	}
	code := s.refuse("Function", codeFromText)
	functions := s.vm.Get("Function").(*goja.Object).Get("prototype").(*goja.Object)
	_ = code.DefineDataProperty("prototype", functions, goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE)
	s.hide(g, "Function", code)
	for _, proto := range []*goja.Object{functions, async, generator} {
		_ = proto.DefineDataProperty("constructor", code, goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE)
	}
	return nil
}

func (s *session) refuse(name, hint string) *goja.Object {
	return s.function(name, 0, func(goja.FunctionCall) goja.Value {
		s.throw(fault.New(fault.JavaScriptError, name+" is not available in scripts").WithHint("%s", hint))
		return nil
	})
}
