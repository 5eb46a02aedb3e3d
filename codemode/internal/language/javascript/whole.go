package javascript

import (
	"strings"

	"github.com/dop251/goja"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// rawMember is the member of a result of a module's function that has the whole MCP result (CONTRACT
// section 8).
const rawMember = "$raw"

// wantsRaw reports whether a call of a module's function brings the whole MCP result: those of scripts
// that do not name rawMember need not.
func (cl *calls) wantsRaw(c callee) bool {
	if c.tool == nil || !strings.Contains(cl.job.Code, rawMember) {
		return false
	}
	_, function := catalog.ServerFunctionOf(catalog.ID{Kind: catalog.KindUpstream, Op: c.tool.Name})
	return !function
}

// withRaw returns the value of a call whose output has the whole MCP result beside it. A value that is
// no object cannot have the result as a member.
func withRaw(out goja.Value) goja.Value {
	both, ok := out.(*goja.Object)
	if !ok {
		return out
	}
	value := both.Get("value")
	if value == nil { // another answer than was asked for
		return out
	}
	if o, ok := value.(*goja.Object); ok {
		_ = o.DefineDataProperty(rawMember, both.Get("result"), goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE)
	}
	return value
}

// callWhole returns SDK.Servers.<id>.$call(tool, input), which calls a tool by its own name, or the name
// that scripts call it by, and returns the whole MCP result.
func (sd *sdk) callWhole(d wire.Domain) native {
	return func(call goja.FunctionCall) goja.Value {
		name, ok := call.Argument(0).(goja.String)
		if !ok {
			sd.faults.throw(fault.Invalid(fault.Detail{Path: "/0", Message: "$call(tool, input) takes the name of a tool", Expected: "string", Received: kindOf(call.Argument(0))}))
		}
		in, id := sd.inputs.takeScratch(), d.Any
		if id != "" {
			in = append(in, `{"tool":`...)
			in, _ = sd.inputs.encode(in, name, place{})
			in = append(in, `,"input":`...)
		} else {
			id = sd.toolNamed(d, name.String())
		}
		in = append(in, sd.inputs.functionInput(nil, nil, call.Arguments[1:], place{})...)
		if d.Any != "" {
			in = append(in, '}')
		}
		sd.inputs.scratch = in[:0]
		out, ok := sd.calls.call(wire.WholePrefix+id, in).(*goja.Object)
		if !ok { // the run has ended
			return goja.Undefined()
		}
		return out.Get("result")
	}
}

// toolNamed returns the ID of a server's tool, or throws that there is none.
func (sd *sdk) toolNamed(d wire.Domain, name string) string {
	names := make([]string, len(d.Functions))
	for i, f := range d.Functions {
		if id, err := catalog.ParseID(f.ID); err == nil {
			names[i] = id.Op
		}
	}
	for i, f := range d.Functions {
		if names[i] == name {
			return f.ID
		}
	}
	for _, f := range d.Functions {
		if f.Name == name {
			return f.ID
		}
	}
	sd.faults.throw(fault.Newf(fault.ToolNotFound, "the server %s has no tool %s%s", d.Name, quote(name), fault.DidYouMean(name, names)))
	return ""
}
