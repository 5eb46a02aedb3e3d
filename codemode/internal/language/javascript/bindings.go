package javascript

import (
	"strings"

	"github.com/dop251/goja"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// native is a Go function that scripts can call.
type native func(goja.FunctionCall) goja.Value

// buildSDK builds the part of SDK that does not depend on the job. It may be called again as
// long as no script has run.
func (s *session) buildSDK(b wire.Bindings) {
	sdk, entities := s.vm.NewObject(), s.vm.NewObject()
	for _, e := range b.Entities {
		s.define(entities, e.Name, s.entity(e))
	}
	s.define(sdk, "Entities", entities)
	s.define(sdk, "Out", s.outObject())
	for _, d := range b.Domains {
		o := s.vm.NewObject()
		for _, f := range d.Functions {
			s.method(o, f.Name, 1, s.domainFunction(f))
		}
		s.define(sdk, d.Name, o)
	}
	if len(b.Upstreams) > 0 {
		servers := s.vm.NewObject()
		for _, d := range b.Upstreams {
			s.define(servers, d.Name, s.upstream(d))
		}
		s.define(sdk, "Servers", servers)
	}
	s.sdk = sdk
}

// bind adds the job's parts to SDK and defines it (CONTRACT section 3).
func (s *session) bind() error {
	sdk := s.sdk
	args := goja.Value(s.vm.NewObject())
	if len(s.job.Args) > 0 {
		var err error
		if args, err = decode(s.vm, s.job.Args); err != nil {
			return err
		}
	}
	s.define(sdk, "args", args)
	run := s.vm.NewObject()
	s.define(run, "id", s.vm.ToValue(s.job.RunID))
	s.define(run, "set", s.vm.ToValue(s.job.Set))
	s.define(run, "dryRun", s.vm.ToValue(s.job.DryRun))
	s.define(sdk, "run", run)
	s.define(s.vm.GlobalObject(), "SDK", sdk)
	if s.job.CallTool {
		s.bindCallTool()
	}
	return nil
}

// bindings are what a check of the script knows of.
func (s *session) bindings() wire.Bindings {
	b := s.job.Bindings
	b.CallTool = s.job.CallTool
	return b
}

// define adds a member that a script cannot overwrite by assignment.
func (s *session) define(o *goja.Object, name string, v goja.Value) {
	_ = o.DefineDataProperty(name, v, goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_TRUE)
}

func (s *session) method(o *goja.Object, name string, length int, f native) {
	s.define(o, name, s.function(name, length, f))
}

// function returns a function value with a JavaScript name instead of the Go one.
func (s *session) function(name string, length int, f native) *goja.Object {
	fn := s.vm.ToValue((func(goja.FunctionCall) goja.Value)(f)).(*goja.Object)
	_ = fn.DefineDataProperty("name", s.vm.ToValue(name), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE)
	_ = fn.DefineDataProperty("length", s.vm.ToValue(length), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE)
	return fn
}

// upstream returns SDK.Servers.<Name>.
func (s *session) upstream(d wire.Domain) *goja.Object {
	if d.Any != "" {
		return s.vm.NewDynamicObject(&dynamicServer{s: s, id: d.Any, whole: s.function(catalog.AnyTool, 2, s.callWhole(d))})
	}
	o := s.vm.NewObject()
	for _, f := range d.Functions {
		s.method(o, f.Name, 1, s.domainFunction(f))
	}
	_ = o.DefineDataProperty(catalog.AnyTool, s.function(catalog.AnyTool, 2, s.callWhole(d)), goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE) // not among its tools
	for _, g := range d.Groups {
		group := s.vm.NewObject()
		for _, f := range g.Functions {
			s.method(group, f.Name, 1, s.domainFunction(f))
		}
		s.define(o, g.Name, group)
	}
	return o
}

// functionInput appends the input of a function. The arguments are an object, or, if
// the first one is a string, the members named in leading by position.
func (s *session) functionInput(out []byte, leading []string, args []goja.Value, where place) []byte {
	var first goja.Value = goja.Undefined()
	if len(args) > 0 {
		first = args[0]
	}
	if _, ok := first.(goja.String); !ok || len(leading) == 0 {
		in, ok := s.encode(out, first, where)
		if !ok {
			in = append(in, "{}"...)
		}
		return in
	}
	in := &input{s: s, out: append(out, '{')}
	for i, name := range leading[:min(len(leading), len(args))] {
		in.add(name, args[i])
	}
	return in.json()
}

// dynamicServer is a server whose tools are not known: any name may be a tool.
type dynamicServer struct {
	s      *session
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
	s := a.s
	var group *goja.Object
	for _, f := range catalog.ServerFunctions {
		if f.Group != name {
			continue
		}
		if group == nil {
			group = s.vm.NewObject()
		}
		s.define(group, f.Name, a.function(f.Name, f.Op(), f.Leading))
	}
	if group != nil {
		return group
	}
	return a.function(name, name, nil)
}

// function returns a function that calls a tool by its name.
func (a *dynamicServer) function(name, tool string, leading []string) *goja.Object {
	s := a.s
	input := func(call goja.FunctionCall, in []byte) []byte {
		in = append(in, `{"tool":`...)
		in, _ = s.encode(in, s.vm.ToValue(tool), place{})
		in = append(in, `,"input":`...)
		in = append(in, s.functionInput(nil, leading, call.Arguments, place{})...)
		return append(in, '}')
	}
	if a.module != nil {
		return s.asyncFunction(name, 1, callee{a.module, &wire.Tool{Name: tool, Export: name, ID: a.id}, a.id}, input)
	}
	return s.function(name, 1, func(call goja.FunctionCall) goja.Value {
		in := input(call, s.takeScratch())
		s.scratch = in[:0]
		return s.call(a.id, in)
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

func (s *session) domainFunction(f wire.Function) native {
	return func(call goja.FunctionCall) goja.Value {
		in := s.functionInput(s.takeScratch(), f.Leading, call.Arguments, place{})
		s.scratch = in[:0]
		return s.call(f.ID, in)
	}
}

// call makes one call and returns its output, or throws its fault into the script.
func (s *session) call(id string, in []byte) goja.Value {
	v, f := s.try(id, in)
	if f != nil {
		panic(s.errorOfCall(strings.TrimPrefix(id, wire.WholePrefix), f))
	}
	return v
}

// errorOfCall returns the error of a failed call of SDK: of a server, as through its module.
func (s *session) errorOfCall(id string, f *fault.Fault) *goja.Object {
	if strings.HasPrefix(id, string(catalog.KindUpstream)+"::") {
		return s.errorOf(f, s.classOf(f.Code, true))
	}
	return s.errorOf(f, s.base.koanError)
}

// try makes one call and returns its output or its fault. It is the only way from SDK to the
// host.
func (s *session) try(id string, in []byte) (goja.Value, *fault.Fault) {
	if s.stopped() {
		panic(s.vm.NewTypeError("the run has ended")) // the fault in s.stopReason replaces it
	}
	if most := s.job.Limits.MaxCallBytes; len(in) > most {
		s.tooLarge("", most)
	}
	r := s.host.Call(id, in)
	s.clock.advance(r.NowMs * 1000)
	if r.Ends {
		s.end(r.Fault)
		return goja.Undefined(), nil
	}
	if r.Fault != nil {
		return nil, r.Fault
	}
	v, err := decode(s.vm, r.Out)
	if err != nil {
		return nil, undecodable(err)
	}
	s.notePartials(id, in, v)
	return v, nil
}

// entity returns SDK.Entities.<Name> with the methods of its operations.
func (s *session) entity(e wire.Entity) *goja.Object {
	o := s.vm.NewObject()
	for _, name := range e.Ops {
		op, _ := catalog.EntityOperationNamed(name)
		for _, m := range op.Methods {
			b := entityOp{s, e.Name, catalog.EntityID(e.Name, name).String(), op, m}
			s.method(o, m.Name, len(m.Leading)+len(op.Arguments)+1, b.native())
		}
	}
	return o
}

// entityOp is a method that calls one operation of an entity.
type entityOp struct {
	s      *session
	entity string
	id     string
	op     catalog.EntityOperation
	method catalog.Method
}

// native returns the method's function: a special one if it does more than the operation.
func (b entityOp) native() native {
	switch b.method.Name {
	case "firstPage":
		return b.firstPage
	case "page":
		return b.page
	case "each":
		return b.each
	case "all":
		return b.all
	case "findById":
		return b.findByID
	case "count":
		return b.count
	}
	return b.call
}

// call makes the call with arguments by position, followed by the options.
func (b entityOp) call(c goja.FunctionCall) goja.Value {
	return b.result(b.callWith(b.op.Arguments, c.Arguments, c.Argument(len(b.op.Arguments))))
}

// result returns the member of the operation's output that the method returns.
func (b entityOp) result(output goja.Value) goja.Value {
	if b.op.Output == "" {
		return output
	}
	return b.s.member(output, b.op.Output)
}

// callWith makes the call with named arguments and options.
func (b entityOp) callWith(names []string, args []goja.Value, options goja.Value) goja.Value {
	v, f := b.s.try(b.id, b.input(names, args, options))
	if f != nil {
		_, bare := options.(goja.String)
		b.throwFault(f, bare)
	}
	return b.s.asPage(b.id, v)
}

// throwFault throws the fault of the method's call, with a hint for scripts. bareSet says that
// the options were a string, which names the set.
func (b entityOp) throwFault(f *fault.Fault, bareSet bool) {
	known := *f
	switch e, _ := fault.Lookup(f.Code); {
	case f.Code == fault.UnknownSet && bareSet:
		known.Hint += " A bare string names the set; options are an object: {filter: {...}}."
	case f.Code == fault.NotFound && b.method.Name == "getById" && f.Hint == e.Hint:
		known.Hint += " findById returns null instead of throwing."
	case f.Code == fault.InvalidPayload:
		b.s.madeBy[&known] = &b
	}
	b.s.throw(&known)
}

func (b entityOp) input(names []string, args []goja.Value, options goja.Value) []byte {
	in := b.s.newInput()
	for i, n := range names {
		if i < len(args) {
			in.add(n, args[i])
		}
	}
	in.addOptions(options)
	return in.json()
}

func (b entityOp) findByID(c goja.FunctionCall) goja.Value {
	v, f := b.s.try(b.id, b.input(b.op.Arguments, c.Arguments, c.Argument(1)))
	switch {
	case f == nil:
		return v
	case f.Code == fault.NotFound:
		return goja.Null()
	}
	b.throwFault(f, false)
	return nil
}

// count implements count(filter?, options?). A single string argument is the set.
func (b entityOp) count(c goja.FunctionCall) goja.Value {
	names, options := b.op.Arguments, c.Argument(1)
	if _, set := c.Argument(0).(goja.String); set && len(c.Arguments) == 1 {
		names, options = nil, c.Argument(0)
	}
	return b.result(b.callWith(names, c.Arguments, options))
}

// member returns an own member of a decoded value, undefined if there is none. It ignores
// the prototype, which the script may have changed.
func (s *session) member(v goja.Value, name string) goja.Value {
	if o, ok := v.(*goja.Object); ok {
		if v, ok := ownMember(o, name); ok {
			return v
		}
	}
	return goja.Undefined()
}

func ownMember(o *goja.Object, name string) (goja.Value, bool) {
	for _, k := range o.GetOwnPropertyNames() {
		if k == name {
			return o.Get(name), true
		}
	}
	return nil, false
}
