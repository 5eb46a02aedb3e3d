package javascript

import (
	"bytes"
	"strings"

	"github.com/dop251/goja"

	"github.com/koan-go/koan/codemode/internal/language"
	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/fault"
)

// calls makes the script's calls. The outcomes of asynchronous ones are delivered one by one, only when the script
// has nothing else to do, and in the order that the host decides. That order is on the tape, so the script runs the
// same way in every attempt.
type calls struct {
	js        *engine
	job       *assignment
	host      *connection
	positions *positions
	faults    *faults
	inputs    *inputs
	partials  *partials
	promises  *promises

	last uint32                  // the number of the last one that was started
	open map[uint32]*pendingCall // those whose outcome the script has not received
}

// call makes one call and returns its output, or throws its fault into the script.
func (cl *calls) call(id string, in []byte) goja.Value {
	v, f := cl.try(id, in)
	if f != nil {
		panic(cl.faults.errorOfCall(strings.TrimPrefix(id, wire.WholePrefix), f))
	}
	return v
}

// try makes one call and returns its output or its fault. It is the only way from SDK to the
// host.
func (cl *calls) try(id string, in []byte) (goja.Value, *fault.Fault) {
	if cl.host.stopped() {
		panic(cl.js.vm.NewTypeError("the run has ended")) // the fault in connection.stopReason replaces it
	}
	if most := cl.job.Limits.MaxCallBytes; len(in) > most {
		cl.inputs.tooLarge("", most)
	}
	r := cl.host.Call(id, in)
	cl.host.clock.advance(r.NowMs * 1000)
	if r.Ends {
		cl.host.end(r.Fault)
		return goja.Undefined(), nil
	}
	if r.Fault != nil {
		return nil, r.Fault
	}
	v, err := decode(cl.js.vm, r.Out)
	if err != nil {
		return nil, undecodable(err)
	}
	cl.partials.note(id, in, v)
	return v, nil
}

// pendingCall is a call that was started.
type pendingCall struct {
	callee
	resolve, reject func(any) error
	origin          []goja.StackFrame // the stack that started it
	asked           []byte            // its input, if its output may have partial relationships
	raw             bool              // its output has the whole MCP result beside the value
	byID            bool              // it is one of callTool, whose output is as that of SDK
}

// callee is the operation that a function of a module calls.
type callee struct {
	server *wire.Server
	tool   *wire.Tool // nil for calls of @codemode/discovery
	id     string
}

func (c callee) ordered() bool { return c.server != nil && c.server.Ordered }

// asyncFunction returns a function of a module, which returns a promise of the call's output.
// input appends the call's input to a buffer.
func (cl *calls) asyncFunction(name string, length int, c callee, input func(goja.FunctionCall, []byte) []byte) *goja.Object {
	return cl.js.function(name, length, func(call goja.FunctionCall) goja.Value {
		return cl.promiseOf(&pendingCall{callee: c}, name, func() []byte { return input(call, cl.inputs.takeScratch()) })
	})
}

// promiseOf starts a call with the input that a function makes, and returns the promise of its output.
func (cl *calls) promiseOf(fl *pendingCall, name string, input func() []byte) goja.Value {
	promise, resolve, reject := cl.js.vm.NewPromise()
	fl.resolve, fl.reject, fl.origin = resolve, reject, cl.positions.here()
	// Like an async function it never throws, but rejects its promise.
	if ex := cl.js.vm.Try(func() { cl.startCall(fl, input()) }); ex != nil {
		why := ex.Value()
		if o, ok := why.(*goja.Object); ok && cl.faults.known[o] != nil && !fl.byID { // make it the class that a failed call has
			why = cl.callError(fl, cl.faults.known[o])
		}
		if err := reject(why); err != nil {
			panic(err)
		}
	}
	return cl.promises.watched(promise, name, fl.origin)
}

// startCall starts a call whose outcome settles the promise of fl.
func (cl *calls) startCall(fl *pendingCall, in []byte) {
	cl.inputs.scratch = in[:0]
	if cl.host.stopped() {
		panic(cl.js.vm.NewTypeError("the run has ended")) // replaced by why it did
	}
	if most := cl.job.Limits.MaxCallBytes; len(in) > most {
		cl.inputs.tooLarge("", most)
	}
	if (fl.ordered() || fl.byID) && readsParts(fl.id, in) {
		fl.asked = bytes.Clone(in)
	}
	id := fl.id
	if fl.raw = cl.wantsRaw(fl.callee); fl.raw {
		id = wire.WholePrefix + id
	}
	if fl.byID {
		id = wire.FilesPrefix + id
	}
	cl.last++
	cl.open[cl.last] = fl
	cl.host.Start(cl.last, id, in)
}

// settleCall settles the promise of a call that has ended.
func (cl *calls) settleCall(ref uint32, r language.Reply) error {
	fl := cl.open[ref]
	if fl != nil {
		delete(cl.open, ref)
		cl.positions.origin = fl.origin
		defer func() { cl.positions.origin = nil }()
	}
	cl.host.clock.advance(r.NowMs * 1000)
	switch {
	case r.Ends:
		cl.host.end(r.Fault)
		return errStopped
	case fl == nil:
		return fault.New(fault.Internal, "a call ended that was not started")
	case r.Fault != nil:
		return fl.reject(cl.callError(fl, r.Fault))
	}
	v, err := decode(cl.js.vm, r.Out)
	if err != nil {
		return fl.reject(cl.callError(fl, undecodable(err)))
	}
	if fl.raw {
		v = withRaw(v)
	}
	if fl.ordered() || fl.byID {
		cl.partials.note(fl.id, fl.asked, v)
	}
	if fl.ordered() {
		v = cl.js.asPage(fl.id, v)
	}
	return fl.resolve(v)
}

// callError returns the error of a failed call. It names the tool, and has the class that
// codemode-run-spec section 7 gives to the fault's code.
func (cl *calls) callError(c *pendingCall, f *fault.Fault) *goja.Object {
	if c.byID {
		return cl.faults.errorOfCall(c.id, f)
	}
	o := cl.faults.errorOf(f, cl.faults.classOf(f.Code, c.tool != nil))
	set := func(name string, v any) {
		_ = o.DefineDataProperty(name, cl.js.vm.ToValue(v), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_TRUE)
	}
	if c.tool != nil {
		set("serverId", c.server.ID)
		set("toolName", c.tool.Name)
		set("exportName", c.tool.Export)
	}
	details := elements(member(o, "details"))
	if f.Code != fault.InvalidPayload || len(details) == 0 {
		return o
	}
	for _, name := range []string{"path", "expected", "received"} {
		if v := member(details[0], name); !goja.IsUndefined(v) {
			set(name, v)
		}
	}
	return o
}

// classOf returns the prototype of the class of a fault code in @codemode/errors. A failed
// call of a tool is a ToolCallError unless a more specific class fits.
func (fs *faults) classOf(c fault.Code, called bool) *goja.Object {
	e, _ := fault.Lookup(c)
	class := e.Class
	if called && class == fault.ClassBase {
		class = fault.ClassCall
	}
	return fs.js.base.errors.classes.Get(class).(*goja.Object).Get("prototype").(*goja.Object)
}
