package javascript

import (
	"github.com/dop251/goja"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/catalog"
)

// dynamicServer is a server whose tools are not known: any name may be a tool.
type dynamicServer struct {
	calls  *calls
	id     string
	module *wire.Server // whose functions are asynchronous; nil in SDK.Servers
	whole  *goja.Object // $call; nil in modules
}

var _ goja.DynamicObject = (*dynamicServer)(nil)

// Get implements goja.DynamicObject. Members that the language itself looks up are absent.
func (a *dynamicServer) Get(name string) goja.Value {
	switch name {
	case "then", "toJSON", "constructor", "toString", "valueOf", "prototype", "__esModule":
		return nil
	}
	if name == catalog.AnyTool && a.whole != nil {
		return a.whole
	}
	cl := a.calls
	var group *goja.Object
	for _, f := range catalog.ServerFunctions {
		if f.Group != name {
			continue
		}
		if group == nil {
			group = cl.js.vm.NewObject()
		}
		cl.js.define(group, f.Name, a.function(f.Name, f.Op(), f.Leading))
	}
	if group != nil {
		return group
	}
	return a.function(name, name, nil)
}

// function returns a function that calls a tool by its name.
func (a *dynamicServer) function(name, tool string, leading []string) *goja.Object {
	cl := a.calls
	input := func(call goja.FunctionCall, in []byte) []byte {
		in = append(in, `{"tool":`...)
		in, _ = cl.inputs.encode(in, cl.js.vm.ToValue(tool), place{})
		in = append(in, `,"input":`...)
		in = append(in, cl.inputs.functionInput(nil, leading, call.Arguments, place{})...)
		return append(in, '}')
	}
	if a.module != nil {
		return cl.asyncFunction(name, 1, callee{a.module, &wire.Tool{Name: tool, Export: name, ID: a.id}, a.id}, input)
	}
	return cl.js.function(name, 1, func(call goja.FunctionCall) goja.Value {
		in := input(call, cl.inputs.takeScratch())
		cl.inputs.scratch = in[:0]
		return cl.call(a.id, in)
	})
}

// Has implements goja.DynamicObject.
func (a *dynamicServer) Has(name string) bool { return a.Get(name) != nil }

// Set implements goja.DynamicObject. Members cannot be changed.
func (*dynamicServer) Set(string, goja.Value) bool { return false }

// Delete implements goja.DynamicObject.
func (*dynamicServer) Delete(string) bool { return false }

// Keys implements goja.DynamicObject. The names are not known.
func (*dynamicServer) Keys() []string { return nil }
