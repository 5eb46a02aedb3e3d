package javascript

import (
	"reflect"
	"strconv"
	"sync"

	"github.com/dop251/goja"

	"github.com/koan-go/koan/codemode/internal/bind"
	"github.com/koan-go/koan/framework/fault"
)

// engine is a fresh runtime of goja, with the objects of it that a script may change later.
type engine struct {
	vm   *goja.Runtime
	base base
	page *goja.Object // the prototype of a page of entities
}

// base holds objects of a fresh engine, saved before a script can change them.
type base struct {
	stringify goja.Callable // JSON.stringify
	freeze    goja.Callable // Object.freeze
	errors    errorClasses
	// Prototypes: %IteratorPrototype%, Object.prototype, %TypedArray%.prototype and so on.
	iterator, object, typedArray, weakMap, weakSet *goja.Object
	// Prototypes through whose constructors strings could become code.
	asyncFunction, generator *goja.Object
}

// errorClasses are the classes of errors.
type errorClasses struct {
	plain, syntax, koan  *goja.Object // Error, SyntaxError, KoanError
	koanProto, typeProto *goja.Object // KoanError.prototype, TypeError.prototype
	classes              *goja.Object // those of @codemode/errors, by name
}

// prelude returns a program that defines KoanError and the classes of @codemode/errors, and
// returns them with the objects that newEngine saves.
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

// newEngine returns an engine, without what belongs to SDK.
func newEngine() (*engine, error) {
	js := &engine{vm: goja.New()}
	v, err := js.vm.RunProgram(prelude())
	if err != nil {
		return nil, err
	}
	var parts []goja.Value
	if err := js.vm.ExportTo(v, &parts); err != nil {
		return nil, err
	}
	object := func(i int) *goja.Object { return parts[i].(*goja.Object) }
	b := &js.base
	b.stringify, _ = goja.AssertFunction(parts[1])
	b.freeze, _ = goja.AssertFunction(parts[7])
	b.errors.koan, b.errors.plain, b.errors.syntax, b.errors.classes = object(0), object(2), object(5), object(6)
	b.errors.koanProto = b.errors.koan.Get("prototype").(*goja.Object)
	b.asyncFunction, b.generator = object(3), object(4)
	b.iterator = b.generator.Get("prototype").(*goja.Object).Prototype()
	b.object, b.typedArray, b.errors.typeProto, b.weakMap, b.weakSet = object(8), object(9), object(10), object(11), object(12)
	if err := js.vm.GlobalObject().Delete("GoError"); err != nil { // defined by goja, of no use to a script
		return nil, err
	}
	return js, js.fixDates()
}

// native is a Go function that scripts can call.
type native func(goja.FunctionCall) goja.Value

// define adds a member that a script cannot overwrite by assignment.
func (js *engine) define(o *goja.Object, name string, v goja.Value) {
	_ = o.DefineDataProperty(name, v, goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_TRUE)
}

// defineLater adds a member as define does, which make makes when a script first reads it: most scripts
// read few of the members of a large app. Until then the member is an accessor.
func (js *engine) defineLater(o *goja.Object, name string, make func() goja.Value) {
	var made goja.Value
	get := js.function(name, 0, func(goja.FunctionCall) goja.Value {
		if made == nil {
			made = make()
			js.define(o, name, made) // not if the script has frozen the object
		}
		return made
	})
	_ = o.DefineAccessorProperty(name, get, nil, goja.FLAG_TRUE, goja.FLAG_TRUE)
}

func (js *engine) method(o *goja.Object, name string, length int, f native) {
	js.define(o, name, js.function(name, length, f))
}

// function returns a function value with a JavaScript name instead of the Go one.
func (js *engine) function(name string, length int, f native) *goja.Object {
	fn := js.vm.ToValue((func(goja.FunctionCall) goja.Value)(f)).(*goja.Object)
	_ = fn.DefineDataProperty("name", js.vm.ToValue(name), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE)
	_ = fn.DefineDataProperty("length", js.vm.ToValue(length), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE)
	return fn
}

// member returns an own member of a decoded value, undefined if there is none. It ignores
// the prototype, which the script may have changed.
func member(v goja.Value, name string) goja.Value {
	if o, ok := v.(*goja.Object); ok {
		if v, ok := ownMember(o, name); ok {
			return v
		}
	}
	return goja.Undefined()
}

// isKoanError reports whether an object is a KoanError. Looking may run the traps of a proxy.
func (js *engine) isKoanError(o *goja.Object) bool {
	p := o.Prototype()
	for n := 0; p != nil && n < maxPrototypes; n++ {
		if p == js.base.errors.koanProto {
			return true
		}
		p = p.Prototype()
	}
	return false
}

func ownMember(o *goja.Object, name string) (goja.Value, bool) {
	for _, k := range o.GetOwnPropertyNames() {
		if k == name {
			return o.Get(name), true
		}
	}
	return nil, false
}

// creationStack returns the stack with which an Error was created, without running code of
// the script.
func (js *engine) creationStack(o *goja.Object) []goja.StackFrame {
	if o.ClassName() != "Error" {
		return nil
	}
	if ex := js.vm.Try(func() { panic(o) }); ex != nil {
		return ex.Stack()
	}
	return nil
}

func (js *engine) describe(v goja.Value) string {
	o, ok := v.(*goja.Object)
	if !ok {
		if str, ok := v.(goja.String); ok {
			return clipped(str, maxMessage)
		}
		return fault.Clip(v.String(), maxMessage) + " was thrown"
	}
	if o.ClassName() == "Error" {
		message := property(o, "message")
		switch name := property(o, "name"); {
		case name == "" || name == "Error":
			if message == "" {
				return "an Error without a message was thrown"
			}
			return message
		case message == "":
			return name
		default:
			return name + ": " + message
		}
	}
	if str, ok := o.ToString().(goja.String); ok && str.String() != "[object Object]" {
		return clipped(str, maxMessage)
	}
	var size jsonSize
	text, err := js.base.stringify(goja.Undefined(), o, js.function("", 2, func(c goja.FunctionCall) goja.Value {
		return size.shorten(c.Argument(0), c.Argument(1), maxMessage)
	}))
	if err != nil {
		panic(err)
	}
	if str, ok := text.(goja.String); ok {
		return clipped(str, maxMessage) + " was thrown"
	}
	return "an object was thrown"
}

func property(o *goja.Object, name string) string {
	v := o.Get(name)
	if v == nil || goja.IsUndefined(v) {
		return ""
	}
	if str, ok := v.ToString().(goja.String); ok {
		return clipped(str, maxMessage)
	}
	return ""
}

// guard calls f, which may run code of the script, and returns whatever it throws or panics
// with as an error.
func (js *engine) guard(f func()) (err error) {
	defer func() {
		if x := recover(); x != nil {
			err = recovered(x)
		}
	}()
	if ex := js.vm.Try(f); ex != nil {
		return ex
	}
	return nil
}

// safeGet returns a member of an object, nil if reading it throws.
func (js *engine) safeGet(o *goja.Object, name string) (v goja.Value) {
	if js.guard(func() { v = o.Get(name) }) != nil {
		return nil
	}
	return v
}

// hide defines a member that is not enumerable, like the built-ins.
func (js *engine) hide(o *goja.Object, name string, v goja.Value) {
	_ = o.DefineDataProperty(name, v, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
}

func (js *engine) queueMicrotask(c goja.FunctionCall) goja.Value {
	fn, ok := goja.AssertFunction(c.Argument(0))
	if !ok {
		panic(js.vm.NewTypeError("queueMicrotask needs a function"))
	}
	promise, resolve, _ := js.vm.NewPromise()
	then, ok := goja.AssertFunction(js.vm.ToValue(promise).(*goja.Object).Get("then"))
	if !ok {
		panic(js.vm.NewTypeError("Promise.prototype.then is not a function any more"))
	}
	run := js.function("", 0, func(goja.FunctionCall) goja.Value {
		if _, err := fn(goja.Undefined()); err != nil {
			panic(err)
		}
		return goja.Undefined()
	})
	if _, err := then(js.vm.ToValue(promise), run); err != nil {
		panic(err)
	}
	if err := resolve(goja.Undefined()); err != nil {
		panic(err)
	}
	return goja.Undefined()
}

// export adds a member to a module.
func (js *engine) export(o *goja.Object, name string, v goja.Value) {
	_ = o.DefineDataProperty(name, v, goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_TRUE)
}

// freeze freezes an object and returns it.
func (js *engine) freeze(o *goja.Object) *goja.Object {
	if _, err := js.base.freeze(goja.Undefined(), o); err != nil {
		panic(err)
	}
	return o
}

func (js *engine) callable(o *goja.Object) (name string, ok bool) {
	if _, ok = goja.AssertFunction(o); !ok {
		return "", false
	}
	js.vm.Try(func() {
		if n, ok := o.Get("name").(goja.String); ok {
			name = clipped(n, 100)
		}
	})
	return name, true
}

// asPage sets the prototype of pages if v is the output of an operation that returns pages.
func (js *engine) asPage(id string, v goja.Value) goja.Value {
	if o, ok := v.(*goja.Object); ok && bind.ReturnsPage(id) {
		_ = o.SetPrototype(js.page)
	}
	return v
}

// elements returns the items of a decoded array, nil if v is not an array.
func elements(v goja.Value) []goja.Value {
	o, ok := v.(*goja.Object)
	if !ok || o.ClassName() != "Array" {
		return nil
	}
	n := o.Get("length").ToInteger()
	out := make([]goja.Value, n)
	for i := range out { // the script may have replaced the iterator
		out[i] = o.Get(strconv.Itoa(i))
	}
	return out
}

func (js *engine) getter(o *goja.Object, name string, f native) {
	_ = o.DefineAccessorProperty(name, js.function("get "+name, 0, f), nil, goja.FLAG_TRUE, goja.FLAG_FALSE)
}

// singleMember returns an object with one own member, even if its name is __proto__.
func (js *engine) singleMember(key, value goja.Value) goja.Value {
	o := js.vm.CreateObject(nil)
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

var promiseType = reflect.TypeFor[*goja.Promise]()
