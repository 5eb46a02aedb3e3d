package javascript

import (
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
	s := m.server(path)
	if s == nil || s.Any != "" {
		return nil, s != nil
	}
	out := make([]string, 0, len(s.Tools)+1)
	for _, t := range s.Tools {
		out = append(out, t.Export)
	}
	for _, g := range s.Groups {
		out = append(out, g.Name)
	}
	return append(out, wire.MetaExport), true
}

func (m jobModules) server(path string) *wire.Server {
	id, ok := wire.ServerOf(path)
	for i := range m.servers {
		if ok && m.servers[i].ID == id {
			return &m.servers[i]
		}
	}
	return nil
}

// anyModule accepts every module of a server. It is for declarations of actions, which are
// read before there is a catalog.
type anyModule struct{}

var _ script.Modules = anyModule{}

// Paths implements script.Modules.
func (anyModule) Paths() []string { return jobModules{}.Paths() }

// Exports implements script.Modules.
func (anyModule) Exports(path string) ([]string, bool) {
	if _, server := wire.ServerOf(path); server {
		return nil, true
	}
	return jobModules{}.Exports(path)
}

// importFailed returns the fault for an import of a module that does not exist, or of a name
// that it does not export.
func importFailed(path, name, message string) *fault.Fault {
	code := fault.CapabilityUnsupported
	switch _, server := wire.ServerOf(path); {
	case server && name != "":
		code = fault.ToolNotFound
	case server:
		code = fault.ServerNotFound
	}
	// The code's retry class would be never, but another script can succeed.
	return fault.New(code, message).WithDetails(map[string]any{"import": fault.Clip(path, 200)}).WithRetry(fault.Fix)
}

// module returns the exports of a module, an object that scripts cannot change.
func (s *session) module(path string) *goja.Object {
	if o, ok := s.modules[path]; ok {
		return o
	}
	m := jobModules{s.job.Bindings.Servers}
	o := s.vm.CreateObject(nil)
	switch server := m.server(path); {
	case path == wire.ModuleDiscovery:
		s.discovery(o)
	case path == wire.ModuleErrors:
		o = s.base.classes
	case server != nil:
		s.serverModule(o, server)
	default:
		f := importFailed(path, "", "there is no module "+quote(path)+fault.DidYouMean(path, m.Paths())).
			WithHint("Import one of these: %s.", script.Listed(m.Paths()))
		panic(s.errorOf(f, s.classOf(f.Code, false)))
	}
	s.modules[path] = o
	return o
}

func quote(s string) string { return `"` + fault.Clip(s, 80) + `"` }

// export adds a member to a module.
func (s *session) export(o *goja.Object, name string, v goja.Value) {
	_ = o.DefineDataProperty(name, v, goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_TRUE)
}

// serverModule adds a function per tool, the groups, and __meta__ to the module of a server.
func (s *session) serverModule(o *goja.Object, server *wire.Server) {
	if server.Any != "" { // as the prototype, which a namespace of esbuild's keeps
		_ = o.SetPrototype(s.vm.NewDynamicObject(&dynamicServer{s: s, id: server.Any, module: server}))
	}
	tools := make([]any, len(server.Tools))
	for i := range server.Tools {
		t := &server.Tools[i]
		s.export(o, t.Export, s.asyncFunction(t.Export, 1, callee{server, t, t.ID}, func(c goja.FunctionCall, out []byte) []byte {
			in, ok := s.encode(out, c.Argument(0), place{entity: server.Ordered})
			if !ok {
				in = append(in, "{}"...)
			}
			return in
		}))
		about := s.vm.NewObject()
		s.export(about, "toolName", s.vm.ToValue(t.Name))
		s.export(about, "exportName", s.vm.ToValue(t.Export))
		if t.Description != "" {
			s.export(about, "description", s.vm.ToValue(t.Description))
		}
		tools[i] = s.freeze(about)
	}
	for _, g := range server.Groups {
		group := s.vm.CreateObject(nil)
		for _, f := range g.Functions {
			s.export(group, f.Name, s.asyncFunction(f.Name, 1, callee{server, &wire.Tool{Name: g.Name + "." + f.Name, Export: g.Name + "." + f.Name, ID: f.ID}, f.ID}, func(c goja.FunctionCall, out []byte) []byte {
				return s.functionInput(out, f.Leading, c.Arguments, place{})
			}))
		}
		s.export(o, g.Name, s.freeze(group))
	}
	meta := s.vm.NewObject()
	s.export(meta, "serverId", s.vm.ToValue(server.ID))
	s.export(meta, "serverName", s.vm.ToValue(server.Name))
	if server.Version != "" {
		s.export(meta, "serverVersion", s.vm.ToValue(server.Version))
	}
	s.export(meta, "tools", s.freeze(s.vm.NewArray(tools...)))
	s.export(o, wire.MetaExport, s.freeze(meta))
}

// freeze freezes an object and returns it.
func (s *session) freeze(o *goja.Object) *goja.Object {
	if _, err := s.base.freeze(goja.Undefined(), o); err != nil {
		panic(err)
	}
	return o
}

// discovery fills the module @codemode/discovery (codemode-run-spec section 4.1). Its functions
// ask the host, since the worker does not have the whole catalog.
func (s *session) discovery(o *goja.Object) {
	s.export(o, "specVersion", s.vm.ToValue(wire.SpecVersion))
	for _, d := range wire.Discovery {
		s.export(o, d.Name, s.asyncFunction(d.Name, d.Length, callee{id: wire.DiscoveryPrefix + d.Name}, func(c goja.FunctionCall, out []byte) []byte {
			out = append(out, '[')
			for i := range d.Length {
				if i > 0 {
					out = append(out, ',')
				}
				in, ok := s.encode(out, c.Argument(i), place{})
				if out = in; !ok {
					out = append(out, "null"...)
				}
			}
			return append(out, ']')
		}))
	}
}
