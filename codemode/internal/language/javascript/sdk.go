package javascript

import (
	"github.com/dop251/goja"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/catalog"
)

// sdk is the global SDK: its entities, domains and servers.
type sdk struct {
	js       *engine
	job      *assignment
	faults   *faults
	inputs   *inputs
	calls    *calls
	out      *out
	callTool *callTool

	object *goja.Object
}

// build builds the part of SDK that does not depend on the job. It may be called again as
// long as no script has run.
func (sd *sdk) build(b wire.Bindings) {
	sdk, entities := sd.js.vm.NewObject(), sd.js.vm.NewObject()
	for _, e := range b.Entities {
		sd.js.defineLater(entities, e.Name, func() goja.Value { return sd.entity(e) })
	}
	sd.js.define(sdk, "Entities", entities)
	sd.js.define(sdk, "Out", sd.out.object())
	for _, d := range b.Domains {
		sd.js.defineLater(sdk, d.Name, func() goja.Value { return sd.domain(d.Functions) })
	}
	if len(b.Upstreams) > 0 {
		servers := sd.js.vm.NewObject()
		for _, d := range b.Upstreams {
			sd.js.defineLater(servers, d.Name, func() goja.Value { return sd.upstream(d) })
		}
		sd.js.define(sdk, "Servers", servers)
	}
	sd.object = sdk
}

// bind adds the job's parts to SDK and defines it (CONTRACT section 3).
func (sd *sdk) bind() error {
	sdk := sd.object
	args := goja.Value(sd.js.vm.NewObject())
	if len(sd.job.Args) > 0 {
		var err error
		if args, err = decode(sd.js.vm, sd.job.Args); err != nil {
			return err
		}
	}
	sd.js.define(sdk, "args", args)
	run := sd.js.vm.NewObject()
	sd.js.define(run, "id", sd.js.vm.ToValue(sd.job.RunID))
	sd.js.define(run, "set", sd.js.vm.ToValue(sd.job.Set))
	sd.js.define(run, "dryRun", sd.js.vm.ToValue(sd.job.DryRun))
	sd.js.define(sdk, "run", run)
	sd.js.define(sd.js.vm.GlobalObject(), "SDK", sdk)
	if sd.job.CallTool {
		sd.callTool.bind()
	}
	return nil
}

// upstream returns SDK.Servers.<Name>.
func (sd *sdk) upstream(d wire.Domain) *goja.Object {
	if d.Any != "" {
		return sd.js.vm.NewDynamicObject(&dynamicServer{calls: sd.calls, id: d.Any, whole: sd.js.function(catalog.AnyTool, 2, sd.callWhole(d))})
	}
	o := sd.domain(d.Functions)
	_ = o.DefineDataProperty(catalog.AnyTool, sd.js.function(catalog.AnyTool, 2, sd.callWhole(d)), goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE) // not among its tools
	for _, g := range d.Groups {
		sd.js.define(o, g.Name, sd.domain(g.Functions))
	}
	return o
}

// domain returns an object with functions.
func (sd *sdk) domain(functions []wire.Function) *goja.Object {
	o := sd.js.vm.NewObject()
	for _, f := range functions {
		sd.js.method(o, f.Name, 1, sd.domainFunction(f))
	}
	return o
}

func (sd *sdk) domainFunction(f wire.Function) native {
	return func(call goja.FunctionCall) goja.Value {
		in := sd.inputs.functionInput(sd.inputs.takeScratch(), f.Leading, call.Arguments, place{})
		sd.inputs.scratch = in[:0]
		return sd.calls.call(f.ID, in)
	}
}
