package javascript

import (
	"regexp"
	"slices"

	"github.com/dop251/goja"

	"github.com/koan-go/koan/codemode/internal/language/javascript/script"
	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/fault"
)

// jobModules are the modules that the script of a job can import.
type jobModules struct{ servers []wire.Server }

var _ script.Modules = jobModules{}

// Paths implements script.Modules.
func (m jobModules) Paths() []string {
	out := []string{wire.ModuleDiscovery, wire.ModuleErrors}
	for _, s := range m.servers {
		out = append(out, wire.ModuleServers+s.ID)
	}
	return out
}

// Exports implements script.Modules. Any name may be one of a server whose tools are not known.
func (m jobModules) Exports(path string) ([]string, bool) {
	switch path {
	case wire.ModuleDiscovery:
		out := []string{"specVersion"}
		for _, d := range wire.Discovery {
			out = append(out, d.Name)
		}
		return out, true
	case wire.ModuleErrors:
		return wire.ErrorClasses, true
	}
	s, guide := wire.ServerAt(m.servers, path)
	if s == nil || s.Any != "" {
		return nil, s != nil
	}
	out := make([]string, 0, len(s.Tools)+1)
	for _, t := range s.Tools {
		out = append(out, t.Export)
		if guide {
			out = append(out, wire.GuideFunction(t.Name))
		}
	}
	for _, g := range s.Groups {
		out = append(out, g.Name)
	}
	return append(out, wire.MetaExport), true
}

// inGuide matches the paths of servers' modules in the guide's layout.
var inGuide = regexp.MustCompile(`^\./servers/[^/]+/index\.js$`)

// anyModule accepts every module of a server. It is for declarations of actions, which are
// read before there is a catalog.
type anyModule struct{}

var _ script.Modules = anyModule{}

// Paths implements script.Modules.
func (anyModule) Paths() []string { return jobModules{}.Paths() }

// Exports implements script.Modules.
func (anyModule) Exports(path string) ([]string, bool) {
	if _, server := wire.ServerOf(path); server || inGuide.MatchString(path) {
		return nil, true
	}
	return jobModules{}.Exports(path)
}

// importFailed returns the fault for an import of a module that does not exist, or of a name
// that it does not export.
func importFailed(path, name, message string) *fault.Fault {
	code := fault.CapabilityUnsupported
	_, server := wire.ServerOf(path)
	switch server = server || inGuide.MatchString(path); {
	case server && name != "":
		code = fault.ToolNotFound
	case server:
		code = fault.ServerNotFound
	}
	// The code's retry class would be never, but another script can succeed.
	return fault.New(code, message).WithDetails(map[string]any{"import": fault.Clip(path, 200)}).WithRetry(fault.Fix)
}

// modules are those that a script can import, as objects.
type modules struct {
	js     *engine
	job    *assignment
	faults *faults
	inputs *inputs
	calls  *calls

	loaded map[string]*goja.Object // by path, once imported
}

// load returns the exports of a module, an object that scripts cannot change.
func (ms *modules) load(path string) *goja.Object {
	if o, ok := ms.loaded[path]; ok {
		return o
	}
	m := jobModules{ms.job.Bindings.Servers}
	o := ms.js.vm.CreateObject(nil)
	switch server, guide := wire.ServerAt(m.servers, path); {
	case path == wire.ModuleDiscovery:
		ms.discovery(o)
	case path == wire.ModuleErrors:
		o = ms.js.base.errors.classes
	case server != nil:
		ms.serverModule(o, server, guide)
	default:
		f := importFailed(path, "", "there is no module "+quote(path)+fault.DidYouMean(path, m.Paths())).
			WithHint("Import one of these: %s.", script.Listed(m.Paths()))
		panic(ms.faults.errorOf(f, ms.faults.classOf(f.Code, false)))
	}
	ms.loaded[path] = o
	return o
}

func quote(s string) string { return `"` + fault.Clip(s, 80) + `"` }

// serverModule adds a function per tool, the groups, and __meta__ to the module of a server. guide says that functions
// have the guide's names too, where no tool's own is the same.
func (ms *modules) serverModule(o *goja.Object, server *wire.Server, guide bool) {
	if server.Any != "" { // as the prototype, which a namespace of esbuild's keeps
		_ = o.SetPrototype(ms.js.vm.NewDynamicObject(&dynamicServer{calls: ms.calls, id: server.Any, module: server}))
	}
	tools := make([]any, len(server.Tools))
	for i := range server.Tools {
		t := &server.Tools[i]
		f := ms.calls.asyncFunction(t.Export, 1, callee{server, t, t.ID}, func(c goja.FunctionCall, out []byte) []byte {
			in, ok := ms.inputs.encode(out, c.Argument(0), place{entity: server.Ordered})
			if !ok {
				in = append(in, "{}"...)
			}
			return in
		})
		ms.js.export(o, t.Export, f)
		if name := wire.GuideFunction(t.Name); guide && !slices.ContainsFunc(server.Tools, func(other wire.Tool) bool { return other.Export == name }) && o.Get(name) == nil {
			ms.js.export(o, name, f)
		}
		about := ms.js.vm.NewObject()
		ms.js.export(about, "toolName", ms.js.vm.ToValue(t.Name))
		ms.js.export(about, "exportName", ms.js.vm.ToValue(t.Export))
		if t.Description != "" {
			ms.js.export(about, "description", ms.js.vm.ToValue(t.Description))
		}
		tools[i] = ms.js.freeze(about)
	}
	for _, g := range server.Groups {
		group := ms.js.vm.CreateObject(nil)
		for _, f := range g.Functions {
			ms.js.export(group, f.Name, ms.calls.asyncFunction(f.Name, 1, callee{server, &wire.Tool{Name: g.Name + "." + f.Name, Export: g.Name + "." + f.Name, ID: f.ID}, f.ID}, func(c goja.FunctionCall, out []byte) []byte {
				return ms.inputs.functionInput(out, f.Leading, c.Arguments, place{})
			}))
		}
		ms.js.export(o, g.Name, ms.js.freeze(group))
	}
	meta := ms.js.vm.NewObject()
	ms.js.export(meta, "serverId", ms.js.vm.ToValue(server.ID))
	ms.js.export(meta, "serverName", ms.js.vm.ToValue(server.Name))
	if server.Version != "" {
		ms.js.export(meta, "serverVersion", ms.js.vm.ToValue(server.Version))
	}
	ms.js.export(meta, "tools", ms.js.freeze(ms.js.vm.NewArray(tools...)))
	ms.js.export(o, wire.MetaExport, ms.js.freeze(meta))
}

// discovery fills the module @codemode/discovery (codemode-run-spec section 4.1). Its functions
// ask the host, since the worker does not have the whole catalog.
func (ms *modules) discovery(o *goja.Object) {
	ms.js.export(o, "specVersion", ms.js.vm.ToValue(wire.SpecVersion))
	for _, d := range wire.Discovery {
		ms.js.export(o, d.Name, ms.calls.asyncFunction(d.Name, d.Length, callee{id: wire.DiscoveryPrefix + d.Name}, func(c goja.FunctionCall, out []byte) []byte {
			out = append(out, '[')
			for i := range d.Length {
				if i > 0 {
					out = append(out, ',')
				}
				in, ok := ms.inputs.encode(out, c.Argument(i), place{})
				if out = in; !ok {
					out = append(out, "null"...)
				}
			}
			return append(out, ']')
		}))
	}
}
