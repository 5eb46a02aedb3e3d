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
	// literal is the initialiser of a name, if nothing else is known.
	literal term
}

var outMembers = []string{"answer", "emit", "info", "warn", "error", "progress"}

// sdkMembers exist in every run. SDK.Servers is not among them: not every app has upstream
// servers.
var sdkMembers = []string{"Entities", "Out", "args", "run"}

// inherited are members that every object has.
var inherited = map[string]bool{
	"hasOwnProperty": true, "isPrototypeOf": true, "propertyIsEnumerable": true, "toString": true,
	"toLocaleString": true, "valueOf": true, "constructor": true, "__proto__": true, "toJSON": true, "then": true,
}

// member returns the value of owner.name. A member that does not exist is reported, unless
// the script tests for it.
func (c *checker) member(owner value, name string, at file.Idx, test bool) value {
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
		c.global(nil, name, at, test)
		return value{}
	case sdk:
		got, subject, miss = c.sdkMember(name, at)
	case entities:
		got, subject, miss = c.entityNamed(name, at)
	case entity:
		got, subject, miss = c.entityMethod(owner.entity, name, at)
	case server:
		got, subject, miss = c.exported(owner.server, name, at)
	case domain:
		got, subject, miss = c.domainFunction(owner, name, at)
	case group:
		got, subject, miss = c.groupFunction(owner.group, name, at)
	case servers:
		got, subject, miss = c.upstream(name, at)
	case row:
		got, subject, miss = c.rowMember(owner, name, at)
	case page:
		if name == "items" {
			return value{kind: rows, entity: owner.entity, method: owner.method}
		}
		subject, miss = c.pageMember(owner, name, at, test)
		test = test && subject != ""
	case list:
		subject, miss = c.listMember(owner, name, at)
		test = test && subject != ""
	case pending:
		subject, miss = c.pendingMember(owner, name, at)
	case output:
		subject = "Out." + name
		if !slices.Contains(outMembers, name) {
			miss = func() {
				c.fail(at, subject, wire.DiagnosticUnknownMethod, "SDK.Out has no function "+quote(name)+didYouMean(suggest(name, outMembers, otherOutputs[name])), availableNames(outMembers))
			}
		}
	default:
		return value{}
	}
	switch {
	case test:
		c.tested[subject] = true
	case miss != nil:
		miss()
	}
	return got
}

// domainFunction returns the value of a function of a domain or of an upstream server.
func (c *checker) domainFunction(owner value, name string, at file.Idx) (value, string, func()) {
	d, path := owner.domain, "SDK."+owner.domain.Name
	if owner.upstream {
		path = catalog.SDKServer(d.Name)
	}
	names := functionNames(d)
	if i := slices.Index(names, name); i >= 0 {
		return value{kind: method, id: d.Functions[i].ID}, path + "." + name, nil
	}
	if i := slices.IndexFunc(d.Groups, func(g wire.Group) bool { return g.Name == name }); i >= 0 {
		return value{kind: group, group: &d.Groups[i]}, path + "." + name, nil
	}
	if d.Any != "" || owner.upstream && name == catalog.AnyTool {
		return value{}, path + "." + name, nil
	}
	return value{}, path + "." + name, func() {
		c.fail(at, path+"."+name, wire.DiagnosticUnknownMethod, path+" has no function "+quote(name)+fault.DidYouMean(name, names), availableNames(names))
	}
}

// groupFunction returns the value of a function of a server's $resources or $prompts.
func (c *checker) groupFunction(g *wire.Group, name string, at file.Idx) (value, string, func()) {
	var names []string
	for _, f := range g.Functions {
		if f.Name == name {
			return value{kind: method, id: f.ID}, g.Name + "." + name, nil
		}
		names = append(names, f.Name)
	}
	return value{}, g.Name + "." + name, func() {
		c.fail(at, g.Name+"."+name, wire.DiagnosticUnknownMethod, g.Name+" has no function "+quote(name)+fault.DidYouMean(name, names), availableNames(names))
	}
}

// upstream returns the value of a member of SDK.Servers.
func (c *checker) upstream(name string, at file.Idx) (value, string, func()) {
	var known []string
	for i := range c.bindings.Upstreams {
		d := &c.bindings.Upstreams[i]
		if d.Name == name {
			return value{kind: domain, domain: d, upstream: true}, "Servers." + name, nil
		}
		known = append(known, d.Name)
	}
	return value{}, "Servers." + name, func() {
		c.fail(at, "Servers."+name, wire.DiagnosticUnknownServer, "there is no server "+quote(name)+fault.DidYouMean(name, known), availableNames(known))
	}
}

func (c *checker) sdkMember(name string, at file.Idx) (value, string, func()) {
	subject := "SDK." + name
	switch name {
	case "Entities":
		return value{kind: entities}, subject, nil
	case "Out":
		return value{kind: output}, subject, nil
	}
	if name == "Servers" && len(c.bindings.Upstreams) > 0 {
		return value{kind: servers}, subject, nil
	}
	if slices.Contains(sdkMembers, name) {
		return value{}, subject, nil
	}
	known := slices.Clone(sdkMembers)
	for i := range c.bindings.Domains {
		d := &c.bindings.Domains[i]
		if d.Name == name {
			return value{kind: domain, domain: d}, subject, nil
		}
		known = append(known, d.Name)
	}
	if len(c.bindings.Upstreams) > 0 {
		known = append(known, "Servers")
	}
	return value{}, subject, func() {
		below := c.below(name)
		if other := otherGlobals[name]; below == "" && strings.Contains(other, ".") {
			below = other
		}
		if below != "" {
			c.fail(at, subject, wire.DiagnosticUnknownDomain, "SDK has no member "+quote(name)+didYouMean(below), "Write "+below+".")
			return
		}
		c.fail(at, subject, wire.DiagnosticUnknownDomain, "SDK has no member "+quote(name)+fault.DidYouMean(name, known), availableNames(known))
	}
}

func (c *checker) entityNamed(name string, at file.Idx) (value, string, func()) {
	subject := "Entities." + name
	if e := c.byName[name]; e != nil {
		return value{kind: entity, entity: e}, subject, nil
	}
	return value{}, subject, func() {
		c.fail(at, subject, wire.DiagnosticUnknownEntity, "there is no entity "+quote(name)+fault.DidYouMean(name, c.entityNames), availableNames(c.entityNames))
	}
}

func (c *checker) entityMethod(e *wire.Entity, name string, at file.Idx) (value, string, func()) {
	subject := e.Name + "." + name
	names := methodNames(e)
	if slices.Contains(names, name) {
		return value{kind: method, entity: e, method: name}, subject, nil
	}
	return value{}, subject, func() {
		if op, _, ok := catalog.EntityMethod(name); ok && e.ReadOnly && op.Access.Writes() {
			c.fail(at, subject, wire.DiagnosticReadOnlyEntity, e.Name+" is read-only: it has no "+name, availableNames(names))
			return
		}
		ours, hint := suggest(name, names, otherMethods[name]...), availableNames(names)
		if ours != "" {
			hint = "Write SDK.Entities." + e.Name + "." + catalog.MethodUsage(ours) + ". " + hint
		}
		c.fail(at, subject, wire.DiagnosticUnknownMethod, e.Name+" has no method "+quote(name)+didYouMean(ours), hint)
	}
}

// suggest returns the name that was probably meant: the first that is known of those that stand for it, else
// one that is spelt like it; "" if there is none.
func suggest(name string, known []string, stands ...string) string {
	for _, ours := range stands {
		if slices.Contains(known, ours) {
			return ours
		}
	}
	return fault.Nearest(name, known)
}

// didYouMean returns the end of a message with a suggestion, "" without one.
func didYouMean(what string) string {
	if what == "" {
		return ""
	}
	return "; did you mean \"" + what + "\"?"
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

// reporting reports whether further findings are kept.
func (c *checker) reporting() bool { return !c.collecting && len(c.found) < maxFindings }

func (c *checker) fail(at file.Idx, subject, code, message, hint string) {
	if !c.reporting() {
		return
	}
	severity := wire.SeverityError
	if c.handlers > 0 { // the script catches it
		severity = wire.SeverityWarning
	}
	c.found = append(c.found, finding{at: at, subject: subject, Diagnostic: wire.Diagnostic{
		Severity: severity, Code: code, Message: message, Hint: hint,
	}})
}

// quote quotes a name from the script and shortens it.
func quote(name string) string {
	const most = 64
	if r := []rune(name); len(r) > most {
		name = string(r[:most]) + "…"
	}
	return "`" + strings.ToValidUTF8(name, "?") + "`"
}

// availableNames returns a hint that lists the existing names.
func availableNames(names []string) string {
	if len(names) == 0 {
		return "There is none for this caller."
	}
	const most = 40
	if len(names) > most {
		return "There are " + strings.Join(names[:most], ", ") + " and more; koan.code.search finds them."
	}
	return "There are: " + strings.Join(names, ", ") + "."
}
