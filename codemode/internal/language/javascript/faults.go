package javascript

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/dop251/goja"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// maxMessage is the maximum length of the message of a thrown value, in UTF-16 code units.
const maxMessage = 2000

// maxOwnDetails is the maximum length of the JSON of the details that a script gives to an error of its own.
const maxOwnDetails = 16 << 10

// faults turns faults into errors of the script, and what ends a script into a fault.
type faults struct {
	js        *engine
	job       *assignment
	host      *connection
	positions *positions
	hints     *hints

	known      map[*goja.Object]*fault.Fault  // those of errors thrown into the script, by the error
	madeBy     map[*fault.Fault]*entityMethod // the method that threw an invalid_payload
	overflowed bool                           // the script has recursed too deeply: the engine is not to be used again
}

// throw throws a fault into the script, as a KoanError.
func (fs *faults) throw(f *fault.Fault) { panic(fs.errorOf(f, fs.js.base.errors.koanProto)) }

// errorOf returns an error object for a fault. class is the prototype of its class.
func (fs *faults) errorOf(f *fault.Fault, class *goja.Object) *goja.Object {
	o, err := fs.js.vm.New(fs.js.base.errors.plain, fs.js.vm.ToValue(f.Message))
	if err != nil {
		panic(err)
	}
	_ = o.SetPrototype(class)
	set := func(name string, v any) {
		_ = o.DefineDataProperty(name, fs.js.vm.ToValue(v), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_TRUE)
	}
	set("code", string(f.Code))
	set("hint", f.Hint)
	set("retry", string(f.Retry))
	if f.Path != "" {
		set("path", f.Path)
	}
	if f.Details != nil {
		if raw, err := json.Marshal(f.Details); err == nil {
			if v, err := decode(fs.js.vm, raw); err == nil {
				set("details", v)
			}
		}
	}
	// In a native function called by a timer or a promise, the stack has no line of the script.
	if stack := fs.js.vm.CaptureCallStack(siteDepth, nil); !hasUserFrame(stack) && f.Line == 0 {
		f = fs.positions.locate(f, fs.positions.origin)
	}
	fs.known[o] = f
	return o
}

// uncatchable reports whether err must not be handled by the script.
func uncatchable(err error) bool {
	var i *goja.InterruptedError
	var o *goja.StackOverflowError
	return !isThrown(err) && (errors.As(err, &i) || errors.As(err, &o))
}

// isThrown reports whether err is a value that the script threw. Check it before errors.As,
// which would unwrap the value and so run the traps of a proxy.
func isThrown(err error) bool {
	_, ok := err.(*goja.Exception)
	return ok
}

func isFault(err error, f **fault.Fault) bool { return !isThrown(err) && errors.As(err, f) }

// safeFaultOf is faultOf for an outcome that may be a thrown value. Inspecting that runs the
// script's code again, which may throw or be interrupted; then the fault is that of the
// second failure.
func (fs *faults) safeFaultOf(err error) (f *fault.Fault) {
	defer func() {
		if x := recover(); x != nil {
			f = fs.faultOf(recovered(x))
		}
	}()
	return fs.faultOf(err)
}

// faultOf converts the error that ended the script into a fault with the user's position.
func (fs *faults) faultOf(err error) *fault.Fault {
	var interrupted *goja.InterruptedError
	var overflow *goja.StackOverflowError
	if fs.host.stopReason != nil {
		if fs.host.stopReason.fault == nil {
			return fault.New(fault.ExecutionError, "")
		}
		return fs.host.stopReason.fault
	}
	if thrown, ok := err.(*goja.Exception); ok {
		return fs.faultOfValue(thrown.Value(), thrown.Stack())
	}
	switch {
	case errors.As(err, &interrupted):
		if by, ok := interrupted.Value().(*interruption); ok && by.fault != nil {
			return fs.positions.locate(by.fault, withPositions(interrupted.Stack()))
		}
		return fault.New(fault.ExecutionError, "the script was interrupted")
	case errors.As(err, &overflow):
		fs.overflowed = true
		f := fault.New(fault.JavaScriptError, fmt.Sprintf("RangeError: the script recursed deeper than %d calls", fs.job.Limits.MaxRecursion)).
			WithHint("Use a loop, or end the recursion earlier.")
		return fs.positions.locate(f, overflow.Stack())
	}
	var f *fault.Fault
	if errors.As(err, &f) {
		return f
	}
	return fault.New(fault.JavaScriptError, fault.Clip(err.Error(), maxMessage))
}

// faultOfValue converts a thrown value into a fault. Inspecting the value may run the script's
// code (a getter, a toString), which may throw or never end.
func (fs *faults) faultOfValue(v goja.Value, stack []goja.StackFrame) *fault.Fault {
	if o, ok := v.(*goja.Object); ok {
		if stack == nil {
			stack = fs.js.creationStack(o)
		}
		if f, ok := fs.known[o]; ok {
			by := fs.madeBy[f]
			f = fs.positions.locate(f, stack)
			fs.hints.advise(f, by)
			return f
		}
		if f := fs.ownFault(o); f != nil {
			return fs.positions.locate(f, stack)
		}
	}
	var message string
	if err := fs.js.guard(func() { message = fs.js.describe(v) }); err != nil {
		if uncatchable(err) {
			return fs.faultOf(err)
		}
		message = "the thrown value cannot be converted to text"
	}
	f := fs.positions.locate(fault.New(fault.JavaScriptError, message), stack)
	if f.Line == 0 {
		fs.describeAggregate(f, v)
	}
	if f.Line == 0 {
		f = fs.positions.locate(f, fs.positions.throwStack(v))
	}
	fs.hints.explain(f)
	if o, ok := v.(*goja.Object); ok && stack == nil {
		stack = fs.js.creationStack(o)
	}
	fs.addDetails(f, v, stack)
	fs.aboutInput(f, v)
	return f
}

// ownFault returns the fault that a KoanError of the script's own making stands for, nil if it is none with a code of
// the registry.
func (fs *faults) ownFault(o *goja.Object) *fault.Fault {
	var f *fault.Fault
	err := fs.js.guard(func() {
		if !fs.js.isKoanError(o) {
			return
		}
		code := fault.Code(property(o, "code"))
		if _, ok := fault.Lookup(code); !ok || code == fault.JavaScriptError {
			return
		}
		f = fault.New(code, property(o, "message")).WithPath(property(o, "path"))
		f.Hint = cmp.Or(property(o, "hint"), f.Hint)
		if retry := fault.Retry(property(o, "retry")); retry == fault.Safe || retry == fault.Fix || retry == fault.Never {
			f.Retry = retry
		}
		text, err := fs.js.base.stringify(goja.Undefined(), o.Get("details"))
		if raw, ok := text.(goja.String); err == nil && ok && raw.Length() <= maxOwnDetails {
			f.Details = json.RawMessage(raw.String())
		}
	})
	if err != nil && uncatchable(err) {
		return fs.faultOf(err)
	}
	return f
}

// aboutInput takes over what an error of an action says about the action's input: path, where it is
// wrong, and hint, what to send instead.
func (fs *faults) aboutInput(f *fault.Fault, v goja.Value) {
	o, ok := v.(*goja.Object)
	if !ok || !fs.job.Action || o.ClassName() != "Error" {
		return
	}
	var path, hint string
	if err := fs.js.guard(func() { path, hint = property(o, "path"), property(o, "hint") }); err != nil || !strings.HasPrefix(path, "/") {
		return
	}
	f.Path, f.Hint = path, cmp.Or(hint, fault.New(fault.InvalidPayload, "").Hint)
}

// describeAggregate adds the message and the position of the first inner error to the fault
// of an AggregateError that has no position itself, since the engine made it.
func (fs *faults) describeAggregate(f *fault.Fault, v goja.Value) {
	o, ok := v.(*goja.Object)
	if !ok || o.ClassName() != "Error" {
		return
	}
	var first goja.Value
	err := fs.js.guard(func() {
		if list, ok := o.Get("errors").(*goja.Object); ok && list.ClassName() == "Array" {
			first = list.Get("0")
		}
	})
	if inner, ok := first.(*goja.Object); err != nil || first == nil || ok && inner == o {
		return
	}
	var text string
	if fs.js.guard(func() { text = fs.js.describe(first) }) != nil {
		return
	}
	stack := fs.positions.throwStack(first)
	if inner, ok := first.(*goja.Object); ok {
		if made := fs.js.creationStack(inner); hasUserFrame(made) {
			stack = made
		}
	}
	f.Message = fault.Clip(f.Message+": "+text, maxMessage)
	placed := fs.positions.locate(f, stack)
	f.Line, f.Column = placed.Line, placed.Column
}

// recovered converts a panic of the engine into an error. x is formatted only if it is a Go
// error, since formatting a JavaScript value may run code of the script.
func recovered(x any) error {
	if err, ok := x.(error); ok {
		if uncatchable(err) {
			return err
		}
		return fault.Newf(fault.JavaScriptError, "the engine failed on this script: %s", fault.Clip(err.Error(), 200)).Because(err)
	}
	return fault.New(fault.JavaScriptError, "the engine failed on this script")
}

// errorOfCall returns the error of a failed call of SDK: of a server, as through its module.
func (fs *faults) errorOfCall(id string, f *fault.Fault) *goja.Object {
	if strings.HasPrefix(id, string(catalog.KindUpstream)+"::") {
		return fs.errorOf(f, fs.classOf(f.Code, true))
	}
	return fs.errorOf(f, fs.js.base.errors.koanProto)
}
