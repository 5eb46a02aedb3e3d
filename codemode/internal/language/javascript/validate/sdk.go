package validate

import (
	"slices"
	"strings"

	"github.com/dop251/goja/file"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// kind is the kind of a value as far as it is known.
type kind int

const (
	other    kind = iota // nothing
	global               // globalThis
	sdk                  // SDK
	entities             // SDK.Entities
	entity               // SDK.Entities.<Name>
	domain               // SDK.<Domain>, or SDK.Servers.<id>
	group                // SDK.Servers.<id>.$resources, or $prompts
	servers              // SDK.Servers
	output               // SDK.Out
	method               // SDK.Entities.<Name>.<method>
	loader               // the compiler's function that returns a module
	server               // a module of @codemode/servers
	tool                 // a function of such a module, or SDK.<Domain>.<fn>
	page                 // a page of entities
	list                 // an array that a method returns
	rows                 // another list of entities, or an iterator over them
	row                  // an entity that a method returned
	pending              // the promise of a module's function
)

// value is the known value of an expression.
type value struct {
	kind   kind
	entity *wire.Entity
	domain *wire.Domain
	method string // of a tool the operation
	// upstream says that the domain is one of SDK.Servers.
	upstream bool
	group    *wire.Group
	server   *wire.Server
	// id is the catalog ID that a tool, or a function of a domain, calls.
	id string
	// leading are the members of its input that can be given by position, if the first one is text.
	leading []string
	// literal is the initialiser of a name, if nothing else is known.
	literal term
}

var outMembers = []string{"answer", "emit", "info", "warn", "error", "progress", "file"}

// sdkMembers exist in every run. SDK.Servers is not among them: not every app has upstream
// servers.
var sdkMembers = []string{"Entities", "Out", "args", "run"}

// inherited are members that every object has.
var inherited = map[string]bool{
	"hasOwnProperty": true, "isPrototypeOf": true, "propertyIsEnumerable": true, "toString": true,
	"toLocaleString": true, "valueOf": true, "constructor": true, "__proto__": true, "toJSON": true, "then": true,
}

// members finds members of SDK, of what its calls return and of the global object that do not exist.
type members struct {
	*findings
	*api
	names *usage
}

// member returns the value of owner.name. A member that does not exist is reported, unless
// the script tests for it.
func (m *members) member(owner value, name string, at file.Idx, test bool) value {
	if inherited[name] && (owner.kind != page && owner.kind != list || !slices.Contains(ofPromises, name)) {
		return value{}
	}
	subject := ""
	var got value
	var miss func()
	switch owner.kind {
	case global:
		if name == "SDK" {
			return value{kind: sdk}
		}
		m.global(nil, name, "", at, test)
		return value{}
	case sdk:
		got, subject, miss = m.sdkMember(name, at)
	case entities:
		got, subject, miss = m.entityNamed(name, at)
	case entity:
		got, subject, miss = m.entityMethod(owner.entity, name, at)
	case server:
		got, subject, miss = m.exported(owner.server, name, at)
	case domain:
		got, subject, miss = m.domainFunction(owner, name, at)
	case group:
		got, subject, miss = m.groupFunction(owner.group, name, at)
	case servers:
		got, subject, miss = m.upstream(name, at)
	case row:
		got, subject, miss = m.rowMember(owner, name, at)
	case page:
		if name == "items" {
			return value{kind: rows, entity: owner.entity, method: owner.method}
		}
		subject, miss = m.pageMember(owner, name, at, test)
		test = test && subject != ""
	case list:
		subject, miss = m.listMember(owner, name, at)
		test = test && subject != ""
	case pending:
		subject, miss = m.pendingMember(owner, name, at)
	case output:
		subject = "Out." + name
		if !slices.Contains(outMembers, name) {
			miss = func() {
				m.fail(at, subject, wire.DiagnosticUnknownMethod, "SDK.Out has no function "+quote(name)+didYouMean(suggest(name, outMembers, otherOutputs[name])), availableNames(outMembers))
			}
		}
	default:
		return value{}
	}
	switch {
	case test:
		m.tested[subject] = true
	case miss != nil:
		miss()
	}
	return got
}

// domainFunction returns the value of a function of a domain or of an upstream server.
func (m *members) domainFunction(owner value, name string, at file.Idx) (value, string, func()) {
	d, path := owner.domain, "SDK."+owner.domain.Name
	if owner.upstream {
		path = catalog.SDKServer(d.Name)
	}
	names := functionNames(d)
	if i := slices.Index(names, name); i >= 0 {
		return value{kind: method, id: d.Functions[i].ID, leading: d.Functions[i].Leading}, path + "." + name, nil
	}
	if i := slices.IndexFunc(d.Groups, func(g wire.Group) bool { return g.Name == name }); i >= 0 {
		return value{kind: group, group: &d.Groups[i]}, path + "." + name, nil
	}
	if d.Any != "" || owner.upstream && name == catalog.AnyTool {
		return value{}, path + "." + name, nil
	}
	return value{}, path + "." + name, func() {
		m.fail(at, path+"."+name, wire.DiagnosticUnknownMethod, path+" has no function "+quote(name)+fault.DidYouMean(name, names), availableNames(names))
	}
}

// groupFunction returns the value of a function of a server's $resources or $prompts.
func (m *members) groupFunction(g *wire.Group, name string, at file.Idx) (value, string, func()) {
	var names []string
	for _, f := range g.Functions {
		if f.Name == name {
			return value{kind: method, id: f.ID, leading: f.Leading}, g.Name + "." + name, nil
		}
		names = append(names, f.Name)
	}
	return value{}, g.Name + "." + name, func() {
		m.fail(at, g.Name+"."+name, wire.DiagnosticUnknownMethod, g.Name+" has no function "+quote(name)+fault.DidYouMean(name, names), availableNames(names))
	}
}

// upstream returns the value of a member of SDK.Servers.
func (m *members) upstream(name string, at file.Idx) (value, string, func()) {
	var known []string
	for i := range m.bindings.Upstreams {
		d := &m.bindings.Upstreams[i]
		if d.Name == name {
			return value{kind: domain, domain: d, upstream: true}, "Servers." + name, nil
		}
		known = append(known, d.Name)
	}
	return value{}, "Servers." + name, func() {
		m.fail(at, "Servers."+name, wire.DiagnosticUnknownServer, "there is no server "+quote(name)+fault.DidYouMean(name, known), availableNames(known))
	}
}

// unconfigured are the members of SDK that an app has once somebody configures what is below them.
var unconfigured = map[string]string{
	"Servers": "no MCP server is configured here, or none for this caller: name servers under upstreams in koan.yaml, or with --mcp-config",
	"Actions": "there are no actions here, or none for this caller: they are files in the folder actions.dir, or Go of the app",
}

func (m *members) sdkMember(name string, at file.Idx) (value, string, func()) {
	subject := "SDK." + name
	switch name {
	case "Entities":
		return value{kind: entities}, subject, nil
	case "Out":
		return value{kind: output}, subject, nil
	}
	if name == "Servers" && len(m.bindings.Upstreams) > 0 {
		return value{kind: servers}, subject, nil
	}
	if slices.Contains(sdkMembers, name) {
		return value{}, subject, nil
	}
	known := slices.Clone(sdkMembers)
	for i := range m.bindings.Domains {
		d := &m.bindings.Domains[i]
		if d.Name == name {
			return value{kind: domain, domain: d}, subject, nil
		}
		known = append(known, d.Name)
	}
	if len(m.bindings.Upstreams) > 0 {
		known = append(known, "Servers")
	}
	return value{}, subject, func() {
		below := m.below(name)
		if other := otherGlobals[name]; below == "" && strings.Contains(other, ".") {
			below = other
		}
		if below != "" {
			m.fail(at, subject, wire.DiagnosticUnknownDomain, "SDK has no member "+quote(name)+didYouMean(below), "Write "+below+".")
			return
		}
		if why := unconfigured[name]; why != "" {
			m.fail(at, subject, wire.DiagnosticUnknownDomain, why, availableNames(known))
			return
		}
		m.fail(at, subject, wire.DiagnosticUnknownDomain, "SDK has no member "+quote(name)+fault.DidYouMean(name, known), availableNames(known))
	}
}

func (m *members) entityNamed(name string, at file.Idx) (value, string, func()) {
	subject := "Entities." + name
	if e := m.byName[name]; e != nil {
		return value{kind: entity, entity: e}, subject, nil
	}
	return value{}, subject, func() {
		m.fail(at, subject, wire.DiagnosticUnknownEntity, "there is no entity "+quote(name)+fault.DidYouMean(name, m.entityNames), availableNames(m.entityNames))
	}
}

func (m *members) entityMethod(e *wire.Entity, name string, at file.Idx) (value, string, func()) {
	subject := e.Name + "." + name
	names := methodNames(e)
	if slices.Contains(names, name) {
		return value{kind: method, entity: e, method: name}, subject, nil
	}
	return value{}, subject, func() {
		if op, _, ok := catalog.EntityMethod(name); ok && e.ReadOnly && op.Access.Writes() {
			m.fail(at, subject, wire.DiagnosticReadOnlyEntity, e.Name+" is read-only: it has no "+name, availableNames(names))
			return
		}
		ours, hint := suggest(name, names, otherMethods[name]...), availableNames(names)
		if ours != "" {
			hint = "Write SDK.Entities." + e.Name + "." + catalog.MethodUsage(ours) + ". " + hint
		}
		m.fail(at, subject, wire.DiagnosticUnknownMethod, e.Name+" has no method "+quote(name)+didYouMean(ours), hint)
	}
}

func methodNames(e *wire.Entity) []string {
	var out []string
	for _, name := range e.Ops {
		op, _ := catalog.EntityOperationNamed(name)
		for _, m := range op.Methods {
			out = append(out, m.Name)
		}
	}
	return out
}

func functionNames(d *wire.Domain) []string {
	out := make([]string, len(d.Functions))
	for i, f := range d.Functions {
		out[i] = f.Name
	}
	return out
}
