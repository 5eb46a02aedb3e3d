package javascript

import (
	"github.com/dop251/goja"

	"github.com/koan-go/koan/codemode/internal/language/javascript/script"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// callTool is the global function callTool(id, params), which calls an operation by its catalog ID, in two forms:
// the one that scripts see returns the result, and takes the place of it where they take a promise
// (script.HookPromise) the one that returns a promise. Both are nil in jobs without it.
type callTool struct {
	js     *engine
	faults *faults
	inputs *inputs
	calls  *calls

	result, promise *goja.Object
}

// bind defines the global function callTool.
func (ct *callTool) bind() {
	ct.result = ct.js.function(script.CallTool, 2, func(call goja.FunctionCall) goja.Value {
		id, in := ct.input(call)
		ct.inputs.scratch = in[:0]
		return ct.calls.call(id, in)
	})
	ct.promise = ct.js.function(script.CallTool, 2, func(call goja.FunctionCall) goja.Value {
		fl := &pendingCall{byID: true}
		return ct.calls.promiseOf(fl, script.CallTool, func() []byte {
			var in []byte
			fl.id, in = ct.input(call)
			return in
		})
	})
	ct.js.define(ct.js.vm.GlobalObject(), script.CallTool, ct.result)
}

// promising returns the form of a function that returns promises. A script may have a function of its own
// of that name.
func (ct *callTool) promising(f goja.Value) goja.Value {
	if ct.result != nil && f.SameAs(ct.result) {
		return ct.promise
	}
	return f
}

// input returns the operation of a call of callTool, and its input in the scratch buffer.
func (ct *callTool) input(call goja.FunctionCall) (id string, in []byte) {
	name, ok := call.Argument(0).(goja.String)
	if !ok {
		ct.faults.throw(fault.Invalid(fault.Detail{Path: "/0", Message: "callTool(id, params) takes the id of an operation", Expected: "string", Received: kindOf(call.Argument(0))}))
	}
	of, err := catalog.ParseID(name.String())
	return name.String(), ct.inputs.functionInput(ct.inputs.takeScratch(), nil, call.Arguments[1:], place{entity: err == nil && of.Kind == catalog.KindEntity})
}
