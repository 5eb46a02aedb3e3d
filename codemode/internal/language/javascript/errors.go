package javascript

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/dop251/goja"

	"github.com/koan-go/koan/codemode/internal/language/javascript/script"
	"github.com/koan-go/koan/framework/fault"
)

// maxMessage is the maximum length of the message of a thrown value, in UTF-16 code units.
const maxMessage = 2000

// interruption is the value with which the engine is interrupted.
type interruption struct{ fault *fault.Fault } // nil if the host knows the reason

// throw throws a fault into the script, as a KoanError.
func (s *session) throw(f *fault.Fault) { panic(s.errorOf(f, s.base.koanError)) }

// errorOf returns an error object for a fault. class is the prototype of its class.
func (s *session) errorOf(f *fault.Fault, class *goja.Object) *goja.Object {
	o, err := s.vm.New(s.base.errorClass, s.vm.ToValue(f.Message))
	if err != nil {
		panic(err)
	}
	_ = o.SetPrototype(class)
	set := func(name string, v any) {
		_ = o.DefineDataProperty(name, s.vm.ToValue(v), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_TRUE)
	}
	set("code", string(f.Code))
	set("hint", f.Hint)
	set("retry", string(f.Retry))
	if f.Path != "" {
		set("path", f.Path)
	}
	if f.Details != nil {
		if raw, err := json.Marshal(f.Details); err == nil {
			if v, err := decode(s.vm, raw); err == nil {
				set("details", v)
			}
		}
	}
	// In a native function called by a timer or a promise, the stack has no line of the script.
	if stack := s.vm.CaptureCallStack(siteDepth, nil); !s.hasUserFrame(stack) && f.Line == 0 {
		f = s.locate(f, s.sites.origin)
	}
	s.faults[o] = f
	return o
}

// end stops the script with an interrupt, which the script cannot catch. f is nil if the host
// knows the reason.
func (s *session) end(f *fault.Fault) {
	if f != nil {
		f = s.locate(f, s.here())
	}
	s.stopReason = &interruption{f}
	s.vm.Interrupt(s.stopReason)
}

func (s *session) stopped() bool { return s.stopReason != nil }

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
func (s *session) safeFaultOf(err error) (f *fault.Fault) {
	defer func() {
		if x := recover(); x != nil {
			f = s.faultOf(recovered(x))
		}
	}()
	return s.faultOf(err)
}

// faultOf converts the error that ended the script into a fault with the user's position.
func (s *session) faultOf(err error) *fault.Fault {
	var interrupted *goja.InterruptedError
	var overflow *goja.StackOverflowError
	if s.stopReason != nil {
		if s.stopReason.fault == nil {
			return fault.New(fault.ExecutionError, "")
		}
		return s.stopReason.fault
	}
	if thrown, ok := err.(*goja.Exception); ok {
		return s.faultOfValue(thrown.Value(), thrown.Stack())
	}
	switch {
	case errors.As(err, &interrupted):
		if by, ok := interrupted.Value().(*interruption); ok && by.fault != nil {
			return s.locate(by.fault, withPositions(interrupted.Stack()))
		}
		return fault.New(fault.ExecutionError, "the script was interrupted")
	case errors.As(err, &overflow):
		s.result.Last = true
		f := fault.New(fault.JavaScriptError, fmt.Sprintf("RangeError: the script recursed deeper than %d calls", s.job.Limits.MaxRecursion)).
			WithHint("Use a loop, or end the recursion earlier.")
		return s.locate(f, overflow.Stack())
	}
	var f *fault.Fault
	if errors.As(err, &f) {
		return f
	}
	return fault.New(fault.JavaScriptError, fault.Clip(err.Error(), maxMessage))
}

// faultOfValue converts a thrown value into a fault. Inspecting the value may run the script's
// code (a getter, a toString), which may throw or never end.
func (s *session) faultOfValue(v goja.Value, stack []goja.StackFrame) *fault.Fault {
	if o, ok := v.(*goja.Object); ok {
		if stack == nil {
			stack = s.creationStack(o)
		}
		if f, ok := s.faults[o]; ok {
			by := s.madeBy[f]
			f = s.locate(f, stack)
			s.advise(f, by)
			return f
		}
	}
	var message string
	if err := s.guard(func() { message = s.describe(v) }); err != nil {
		if uncatchable(err) {
			return s.faultOf(err)
		}
		message = "the thrown value cannot be converted to text"
	}
	f := s.locate(fault.New(fault.JavaScriptError, message), stack)
	if f.Line == 0 {
		s.describeAggregate(f, v)
	}
	if f.Line == 0 {
		f = s.locate(f, s.throwStack(v))
	}
	s.explain(f)
	if o, ok := v.(*goja.Object); ok && stack == nil {
		stack = s.creationStack(o)
	}
	s.addDetails(f, v, stack)
	s.aboutInput(f, v)
	return f
}

// aboutInput takes over what an error of an action says about the action's input: path, where it is
// wrong, and hint, what to send instead.
func (s *session) aboutInput(f *fault.Fault, v goja.Value) {
	o, ok := v.(*goja.Object)
	if !ok || !s.job.Action || o.ClassName() != "Error" {
		return
	}
	var path, hint string
	if err := s.guard(func() { path, hint = s.property(o, "path"), s.property(o, "hint") }); err != nil || !strings.HasPrefix(path, "/") {
		return
	}
	f.Path, f.Hint = path, cmp.Or(hint, fault.New(fault.InvalidPayload, "").Hint)
}

// describeAggregate adds the message and the position of the first inner error to the fault
// of an AggregateError that has no position itself, since the engine made it.
func (s *session) describeAggregate(f *fault.Fault, v goja.Value) {
	o, ok := v.(*goja.Object)
	if !ok || o.ClassName() != "Error" {
		return
	}
	var first goja.Value
	err := s.guard(func() {
		if list, ok := o.Get("errors").(*goja.Object); ok && list.ClassName() == "Array" {
			first = list.Get("0")
		}
	})
	if inner, ok := first.(*goja.Object); err != nil || first == nil || ok && inner == o {
		return
	}
	var text string
	if s.guard(func() { text = s.describe(first) }) != nil {
		return
	}
	stack := s.throwStack(first)
	if inner, ok := first.(*goja.Object); ok {
		if made := s.creationStack(inner); s.hasUserFrame(made) {
			stack = made
		}
	}
	f.Message = fault.Clip(f.Message+": "+text, maxMessage)
	placed := s.locate(f, stack)
	f.Line, f.Column = placed.Line, placed.Column
}

// creationStack returns the stack with which an Error was created, without running code of
// the script.
func (s *session) creationStack(o *goja.Object) []goja.StackFrame {
	if o.ClassName() != "Error" {
		return nil
	}
	if ex := s.vm.Try(func() { panic(o) }); ex != nil {
		return ex.Stack()
	}
	return nil
}

func (s *session) describe(v goja.Value) string {
	o, ok := v.(*goja.Object)
	if !ok {
		if str, ok := v.(goja.String); ok {
			return clipped(str, maxMessage)
		}
		return fault.Clip(v.String(), maxMessage) + " was thrown"
	}
	if o.ClassName() == "Error" {
		message := s.property(o, "message")
		switch name := s.property(o, "name"); {
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
	text, err := s.stringify(goja.Undefined(), o)
	if err != nil {
		panic(err)
	}
	if str, ok := text.(goja.String); ok {
		return clipped(str, maxMessage) + " was thrown"
	}
	return "an object was thrown"
}

func (s *session) property(o *goja.Object, name string) string {
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
func (s *session) guard(f func()) (err error) {
	defer func() {
		if x := recover(); x != nil {
			err = recovered(x)
		}
	}()
	if ex := s.vm.Try(f); ex != nil {
		return ex
	}
	return nil
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

// hasUserFrame reports whether any frame is in the script's text.
func (s *session) hasUserFrame(stack []goja.StackFrame) bool {
	for i := range stack {
		if stack[i].SrcName() == script.Name {
			return true
		}
	}
	return false
}

// withPositions drops frames for which the engine has no position: it reports the beginning of
// the text for them.
func withPositions(stack []goja.StackFrame) []goja.StackFrame {
	var out []goja.StackFrame
	for i := range stack {
		if at := stack[i].Position(); at.Line != 1 || at.Column != 1 {
			out = append(out, stack[i])
		}
	}
	return out
}

// locate returns a copy of a fault with the innermost position of the stack that is in the
// user's text.
func (s *session) locate(f *fault.Fault, stack []goja.StackFrame) *fault.Fault {
	placed := *f
	if s.program == nil {
		return &placed
	}
	for i := range stack {
		if stack[i].SrcName() != script.Name {
			continue
		}
		at := stack[i].Position()
		if line, column, ok := s.program.Position(at.Line, at.Column); ok {
			placed.Line, placed.Column = line, column
			break
		}
	}
	return &placed
}
