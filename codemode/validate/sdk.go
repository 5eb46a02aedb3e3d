package validate

import (
	"slices"
	"strings"

	"github.com/dop251/goja/file"

	"github.com/koan-go/koan/codemode/wire"
	"github.com/koan-go/koan/framework/fault"
)

// kind says what is known of a value at the time of the check.
type kind int

const (
	other    kind = iota // nothing
	global               // globalThis
	sdk                  // SDK
	entities             // SDK.Entities
	entity               // SDK.Entities.<Name>
	domain               // SDK.<Domain>
	output               // SDK.Out
	method               // SDK.Entities.<Name>.<method>
	loader               // what gives a module, as the compiler makes it
	server               // a module of @codemode/servers
	tool                 // a function of such a module
	page                 // what a method gives that lists entities
)

// value is what an expression is known to give.
type value struct {
	kind   kind
	entity *wire.Entity
	domain *wire.Domain
	method string // of a tool the operation
	server *wire.Server
	// literal is what a name was declared with, where nothing else is known.
	literal term
}

var outMembers = []string{"answer", "info", "warn", "error", "progress"}

// sdkMembers are there in every run. SDK.Servers is not: this build has no
// upstream servers, and a domain of that name cannot be.
var sdkMembers = []string{"Entities", "Out", "args", "run"}

// inherited are members that every object has.
var inherited = map[string]bool{
	"hasOwnProperty": true, "isPrototypeOf": true, "propertyIsEnumerable": true, "toString": true,
	"toLocaleString": true, "valueOf": true, "constructor": true, "__proto__": true, "toJSON": true, "then": true,
}

// mutators are the methods that change data.
var mutators = map[string]bool{
	"upsert": true, "upsertMany": true, "patch": true, "updateByQuery": true,
	"deleteByQuery": true, "delete": true, "deleteMany": true, "new": true,
}

// member gives what owner.name is. A member that does not exist is reported,
// unless the script tests for it.
func (c *checker) member(owner value, name string, at file.Idx, test bool) value {
	if inherited[name] && (owner.kind != page || !slices.Contains(ofPromises, name)) {
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
		c.global(name, at, test)
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
		subject = owner.domain.Name + "." + name
		names := functionNames(owner.domain)
		if !slices.Contains(names, name) {
			miss = func() {
				c.fail(at, subject, UnknownMethod, "SDK."+owner.domain.Name+" has no function "+quote(name)+fault.DidYouMean(name, names), has(names))
			}
		}
	case page:
		subject, miss = c.pageMember(owner, name, at, test)
		test = test && subject != ""
	case output:
		subject = "Out." + name
		if !slices.Contains(outMembers, name) {
			miss = func() {
				c.fail(at, subject, UnknownMethod, "SDK.Out has no function "+quote(name)+fault.DidYouMean(name, outMembers), has(outMembers))
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

func (c *checker) sdkMember(name string, at file.Idx) (value, string, func()) {
	subject := "SDK." + name
	switch name {
	case "Entities":
		return value{kind: entities}, subject, nil
	case "Out":
		return value{kind: output}, subject, nil
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
	return value{}, subject, func() {
		if c.byName[name] != nil {
			c.fail(at, subject, UnknownDomain, "SDK has no member "+quote(name), "Entities are below SDK.Entities: write SDK.Entities."+name+".")
			return
		}
		c.fail(at, subject, UnknownDomain, "SDK has no member "+quote(name)+fault.DidYouMean(name, known), has(known))
	}
}

func (c *checker) entityNamed(name string, at file.Idx) (value, string, func()) {
	subject := "Entities." + name
	if e := c.byName[name]; e != nil {
		return value{kind: entity, entity: e}, subject, nil
	}
	return value{}, subject, func() {
		c.fail(at, subject, UnknownEntity, "there is no entity "+quote(name)+fault.DidYouMean(name, c.entityNames), has(c.entityNames))
	}
}

func (c *checker) entityMethod(e *wire.Entity, name string, at file.Idx) (value, string, func()) {
	subject := e.Name + "." + name
	names := methodNames(e)
	if slices.Contains(names, name) {
		return value{kind: method, entity: e, method: name}, subject, nil
	}
	return value{}, subject, func() {
		if e.ReadOnly && mutators[name] {
			c.fail(at, subject, ReadOnlyEntity, e.Name+" is read-only: it has no "+name, has(names))
			return
		}
		c.fail(at, subject, UnknownMethod, e.Name+" has no method "+quote(name)+meant(name, names, otherMethods), has(names))
	}
}

// otherMethods are what other libraries call our methods.
var otherMethods = map[string]string{
	"create": "upsert", "insert": "upsert", "save": "upsert", "add": "upsert", "update": "patch", "remove": "delete", "destroy": "delete",
	"list": "collection", "find": "collection", "findMany": "all", "findAll": "all", "getAll": "all", "query": "collection", "search": "collection",
	"get": "getById", "findOne": "findById", "findUnique": "findById", "createMany": "upsertMany", "insertMany": "upsertMany",
	"updateMany": "updateByQuery", "removeMany": "deleteMany", "groupBy": "aggregate",
}

// meant is "did you mean" by spelling, or by what others call it.
func meant(name string, known []string, others map[string]string) string {
	if near := fault.DidYouMean(name, known); near != "" {
		return near
	}
	if ours := others[name]; ours != "" && slices.Contains(known, ours) {
		return fault.DidYouMean(ours, []string{ours})
	}
	return ""
}

func methodNames(e *wire.Entity) []string {
	var out []string
	for _, op := range e.Ops {
		out = append(out, wire.Methods(op)...)
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

// forbidden are globals that other runtimes have and the sandbox has not, with
// what to do instead.
var forbidden = map[string]string{
	"eval":           "Code from strings is not evaluated; write the code itself.",
	"fetch":          noNetwork,
	"XMLHttpRequest": noNetwork,
	"WebSocket":      noNetwork,
	"require":        "Everything is below SDK; what can be imported are the modules of @codemode.",
	"importScripts":  "Everything is below SDK; what can be imported are the modules of @codemode.",
	"process":        "There is no process in the sandbox; parameters of the run are in SDK.args and SDK.run.",
	"Deno":           "There is no such runtime in the sandbox; everything is below SDK.",
	"Bun":            "There is no such runtime in the sandbox; everything is below SDK.",
	"Buffer":         "There are no buffers in the sandbox; use strings and typed arrays.",
	"setInterval":    "A script ends by itself: use a loop, or setTimeout.",
	"setImmediate":   "Use setTimeout, or Promise.resolve().then(...).",
	"window":         "There is no browser in the sandbox.",
	"document":       "There is no browser in the sandbox.",
	"localStorage":   "There is no browser in the sandbox; keep what should stay in entities.",
	"sessionStorage": "There is no browser in the sandbox; keep what should stay in entities.",
	"navigator":      "There is no browser in the sandbox.",
	"alert":          "There is no browser in the sandbox; log with console.log, answer with SDK.Out.answer.",

	"EventSource":       noNetwork,
	"Headers":           noNetwork,
	"Request":           noNetwork,
	"Response":          noNetwork,
	"FormData":          noNetwork,
	"Blob":              "There are no files in the sandbox; use strings and typed arrays.",
	"module":            "Scripts are no CommonJS: end with the value, return it, or write export default.",
	"exports":           "Scripts are no CommonJS: end with the value, return it, or write export default.",
	"global":            "The global object is globalThis.",
	"self":              "The global object is globalThis.",
	"__dirname":         "There are no files in the sandbox.",
	"__filename":        "There are no files in the sandbox.",
	"Temporal":          "Use Date.",
	"AbortController":   "Nothing takes a signal: bound a call with Promise.race and setTimeout.",
	"AbortSignal":       "Nothing takes a signal: bound a call with Promise.race and setTimeout.",
	"Event":             "There are no events in the sandbox: call the function itself.",
	"EventTarget":       "There are no events in the sandbox: call the function itself.",
	"Worker":            "A script is one thread; calls of @codemode/servers/* run at the same time.",
	"SharedArrayBuffer": "A script is one thread: use ArrayBuffer.",
	"Atomics":           "A script is one thread: nothing can interfere.",
	"WebAssembly":       "Only JavaScript and TypeScript run in the sandbox.",
	"clearInterval":     "There is no setInterval: use a loop, or setTimeout.",
}

const noNetwork = "There is no network in the sandbox; call a plugin or an upstream server through SDK."

// noCodeFromText says what to do instead of making a function of text. Function is
// there, so only a call of it is reported.
const noCodeFromText = "Code from strings is not evaluated; write the function itself."

// global notes the use of a global that nothing in the script declares.
func (c *checker) global(name string, at file.Idx, test bool) {
	hint, ok := forbidden[name]
	if !ok {
		return
	}
	if test {
		c.tested["global "+name] = true
		return
	}
	c.fail(at, "global "+name, ForbiddenGlobal, quote(name)+" does not exist in the sandbox", hint)
}

func (c *checker) fail(at file.Idx, subject, code, message, hint string) {
	if c.first || len(c.found) >= maxFindings {
		return
	}
	c.found = append(c.found, finding{at: at, subject: subject, Diagnostic: wire.Diagnostic{
		Severity: SeverityError, Code: code, Message: message, Hint: hint,
	}})
}

// quote shows a name of the script's, shortened.
func quote(name string) string {
	const most = 64
	if r := []rune(name); len(r) > most {
		name = string(r[:most]) + "…"
	}
	return "`" + strings.ToValidUTF8(name, "?") + "`"
}

// has lists what there is, for a hint.
func has(names []string) string {
	if len(names) == 0 {
		return "There is none for this caller."
	}
	const most = 40
	if len(names) > most {
		return "There are " + strings.Join(names[:most], ", ") + " and more; koan.code.search finds them."
	}
	return "There are: " + strings.Join(names, ", ") + "."
}
