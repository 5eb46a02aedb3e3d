package javascript

import (
	"github.com/dop251/goja"

	"github.com/koan-go/koan/codemode/internal/language/javascript/script"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// callToolFunctions are the two forms of callTool(id, params), which calls an operation by its catalog ID:
// the one that scripts see returns the result, and takes the place of it where they take a promise
// (script.HookPromise) the one that returns a promise.
type callToolFunctions struct{ result, promise *goja.Object }

// bindCallTool defines the global function callTool.
func (s *session) bindCallTool() {
	s.callTool.result = s.function(script.CallTool, 2, func(call goja.FunctionCall) goja.Value {
		id, in := s.callToolInput(call)
		s.scratch = in[:0]
		return s.call(id, in)
	})
	s.callTool.promise = s.function(script.CallTool, 2, func(call goja.FunctionCall) goja.Value {
		fl := &pendingCall{byID: true}
		return s.promiseOf(fl, script.CallTool, func() []byte {
			var in []byte
			fl.id, in = s.callToolInput(call)
			return in
		})
	})
	s.define(s.vm.GlobalObject(), script.CallTool, s.callTool.result)
}

// promising returns the form of a function that returns promises. A script may have a function of its own
// of that name.
func (s *session) promising(f goja.Value) goja.Value {
	if s.callTool.result != nil && f.SameAs(s.callTool.result) {
		return s.callTool.promise
	}
	return f
}

// callToolInput returns the operation of a call of callTool, and its input in the scratch buffer.
func (s *session) callToolInput(call goja.FunctionCall) (id string, in []byte) {
	name, ok := call.Argument(0).(goja.String)
	if !ok {
		s.throw(fault.Invalid(fault.Detail{Path: "/0", Message: "callTool(id, params) takes the id of an operation", Expected: "string", Received: s.kindOf(call.Argument(0))}))
	}
	of, err := catalog.ParseID(name.String())
	return name.String(), s.functionInput(s.takeScratch(), nil, call.Arguments[1:], place{entity: err == nil && of.Kind == catalog.KindEntity})
}
