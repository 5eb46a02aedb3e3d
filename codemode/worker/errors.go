package worker

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/dop251/goja"

	"github.com/koan-go/koan/codemode/internal/script"
	"github.com/koan-go/koan/framework/fault"
)

// maxMessage is the longest message of a thrown value that is passed on, in
// UTF-16 units.
const maxMessage = 2000

// stop ends a script from outside of it: it is the value of an interrupt.
type stop struct{ fault *fault.Fault } // nil: the host knows why

// throw throws a fault into the script, as a KoanError.
func (s *session) throw(f *fault.Fault) { panic(s.errorOf(f, s.base.koanError)) }

// errorOf makes an error of a fault, of the class with that prototype.
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
	// Called by a timer or a promise alone, no line of the script is on the stack.
	if stack := s.vm.CaptureCallStack(trailDepth, nil); !s.userFrame(stack) && f.Line == 0 {
		f = s.place(f, s.trail.origin)
	}
	s.faults[o] = f
	return o
}

// end stops the script for good: an interrupt cannot be caught.
func (s *session) end(f *fault.Fault) {
	if f != nil {
		f = s.place(f, s.here())
	}
	s.ending = &stop{f}
	s.vm.Interrupt(s.ending)
}

func (s *session) stopped() bool { return s.ending != nil }

// uncatchable reports whether an error must go through every handler.
func uncatchable(err error) bool {
	var i *goja.InterruptedError
	var o *goja.StackOverflowError
	return !isThrown(err) && (errors.As(err, &i) || errors.As(err, &o))
}

// isThrown reports whether an error is a thrown value. Ask it before any errors.As:
// that would unwrap it, and with it run the traps of a proxy.
func isThrown(err error) bool {
	_, ok := err.(*goja.Exception)
	return ok
}

func isFault(err error, f **fault.Fault) bool { return !isThrown(err) && errors.As(err, f) }

// lastWord is faultOf under the script's own code, which may be run once more by
// a look at what was thrown, and may throw or never end.
func (s *session) lastWord(err error) (f *fault.Fault) {
	defer func() {
		if x := recover(); x != nil {
			f = s.faultOf(recovered(x))
		}
	}()
	return s.faultOf(err)
}

// faultOf turns what ended the script into a fault with the user's position.
func (s *session) faultOf(err error) *fault.Fault {
	var interrupted *goja.InterruptedError
	var overflow *goja.StackOverflowError
	if s.ending != nil {
		if s.ending.fault == nil {
			return fault.New(fault.ExecutionError, "")
		}
		return s.ending.fault
	}
	if thrown, ok := err.(*goja.Exception); ok {
		return s.faultOfValue(thrown.Value(), thrown.Stack())
	}
	switch {
	case errors.As(err, &interrupted):
		if by, ok := interrupted.Value().(*stop); ok && by.fault != nil {
			return s.place(by.fault, positioned(interrupted.Stack()))
		}
		return fault.New(fault.ExecutionError, "the script was interrupted")
	case errors.As(err, &overflow):
		s.result.Last = true
		f := fault.New(fault.JavaScriptError, fmt.Sprintf("RangeError: the script recursed deeper than %d calls", s.job.Limits.MaxRecursion)).
			WithHint("Use a loop, or end the recursion earlier.")
		return s.place(f, overflow.Stack())
	}
	var f *fault.Fault
	if errors.As(err, &f) {
		return f
	}
	return fault.New(fault.JavaScriptError, fault.Clip(err.Error(), maxMessage))
}

// faultOfValue turns a thrown value into a fault. Looking at it runs the script's
// own code (a getter, a toString), which may throw or never end.
func (s *session) faultOfValue(v goja.Value, stack []goja.StackFrame) *fault.Fault {
	if o, ok := v.(*goja.Object); ok {
		if stack == nil {
			stack = s.madeAt(o)
		}
		if f, ok := s.faults[o]; ok {
			usage := s.usages[f]
			f = s.place(f, stack)
			s.advise(f, usage)
			return f
		}
	}
	var message string
	if err := s.guard(func() { message = s.describe(v) }); err != nil {
		if uncatchable(err) {
			return s.faultOf(err)
		}
		message = "something was thrown whose text cannot be read"
	}
	f := s.place(fault.New(fault.JavaScriptError, message), stack)
	if f.Line == 0 {
		s.aggregate(f, v)
	}
	if f.Line == 0 {
		f = s.place(f, s.thrownAt(v))
	}
	s.explain(f)
	if o, ok := v.(*goja.Object); ok && stack == nil {
		stack = s.madeAt(o)
	}
	s.tell(f, v, stack)
	return f
}

// aggregate sets on an AggregateError that the engine made the line and the text of
// the first error in it.
func (s *session) aggregate(f *fault.Fault, v goja.Value) {
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
	stack := s.thrownAt(first)
	if inner, ok := first.(*goja.Object); ok {
		if made := s.madeAt(inner); s.userFrame(made) {
			stack = made
		}
	}
	f.Message = fault.Clip(f.Message+": "+text, maxMessage)
	placed := s.place(f, stack)
	f.Line, f.Column = placed.Line, placed.Column
}

// madeAt returns the stack that an Error was made with, without asking the object.
func (s *session) madeAt(o *goja.Object) []goja.StackFrame {
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

// guard runs engine code from outside a script, under every kind of failure.
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

// recovered turns a panic that came out of the engine into an error. The value
// is never formatted unless it is Go's own.
func recovered(x any) error {
	if err, ok := x.(error); ok {
		if uncatchable(err) {
			return err
		}
		return fault.Newf(fault.JavaScriptError, "the engine failed on this script: %s", fault.Clip(err.Error(), 200)).Because(err)
	}
	return fault.New(fault.JavaScriptError, "the engine failed on this script")
}

// userFrame reports whether any frame is in the script's text.
func (s *session) userFrame(stack []goja.StackFrame) bool {
	for i := range stack {
		if stack[i].SrcName() == script.Name {
			return true
		}
	}
	return false
}

// positioned leaves out frames that the engine has no position for: it gives the
// begin of the text for them, which is wrong.
func positioned(stack []goja.StackFrame) []goja.StackFrame {
	var out []goja.StackFrame
	for i := range stack {
		if at := stack[i].Position(); at.Line != 1 || at.Column != 1 {
			out = append(out, stack[i])
		}
	}
	return out
}

// place returns a copy of a fault with the innermost of the user's positions.
func (s *session) place(f *fault.Fault, stack []goja.StackFrame) *fault.Fault {
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
