package javascript

import (
	"bytes"
	"errors"
	"time"

	"github.com/dop251/goja"

	"github.com/koan-go/koan/codemode/internal/language"
	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/fault"
)

// callsInFlight holds the asynchronous calls whose outcome the script has not received.
// Outcomes are delivered one by one, only when the script has nothing else to do, and in the
// order that the host decides. That order is on the tape, so the script runs the same way in
// every attempt.
type callsInFlight struct {
	last uint32
	open map[uint32]*pendingCall
}

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
func (s *session) asyncFunction(name string, length int, c callee, input func(goja.FunctionCall, []byte) []byte) *goja.Object {
	return s.function(name, length, func(call goja.FunctionCall) goja.Value {
		return s.promiseOf(&pendingCall{callee: c}, name, func() []byte { return input(call, s.takeScratch()) })
	})
}

// promiseOf starts a call with the input that a function makes, and returns the promise of its output.
func (s *session) promiseOf(fl *pendingCall, name string, input func() []byte) goja.Value {
	promise, resolve, reject := s.vm.NewPromise()
	fl.resolve, fl.reject, fl.origin = resolve, reject, s.here()
	// Like an async function it never throws, but rejects its promise.
	if ex := s.vm.Try(func() { s.startCall(fl, input()) }); ex != nil {
		why := ex.Value()
		if o, ok := why.(*goja.Object); ok && s.faults[o] != nil && !fl.byID { // make it the class that a failed call has
			why = s.callError(fl, s.faults[o])
		}
		if err := reject(why); err != nil {
			panic(err)
		}
	}
	return s.watched(promise, name, fl.origin)
}

// startCall starts a call whose outcome settles the promise of fl.
func (s *session) startCall(fl *pendingCall, in []byte) {
	s.scratch = in[:0]
	if s.stopped() {
		panic(s.vm.NewTypeError("the run has ended")) // replaced by why it did
	}
	if most := s.job.Limits.MaxCallBytes; len(in) > most {
		s.tooLarge("", most)
	}
	if (fl.ordered() || fl.byID) && readsParts(fl.id, in) {
		fl.asked = bytes.Clone(in)
	}
	id := fl.id
	if fl.raw = s.wantsRaw(fl.callee); fl.raw {
		id = wire.WholePrefix + id
	}
	if fl.byID {
		id = wire.FilesPrefix + id
	}
	s.inFlight.last++
	s.inFlight.open[s.inFlight.last] = fl
	s.host.Start(s.inFlight.last, id, in)
}

// waitOnce waits for the next timer or the end of a call in flight, whichever comes first, and
// handles it. more is false if there was neither.
func (s *session) waitOnce() (more bool, err error) {
	if s.stopped() {
		return false, errStopped
	}
	if len(s.inFlight.open) == 0 {
		return s.fire()
	}
	most := time.Duration(-1)
	if t := s.timers.next(); t != nil {
		most = time.Duration(max(t.due-s.clock.now, 0)) * time.Microsecond
	}
	ref, r := s.host.Await(most)
	if ref == 0 && !r.Ends {
		return s.fire()
	}
	return true, s.settleCall(ref, r)
}

// errStopped stands for the reason in session.stopReason.
var errStopped = errors.New("stopped")

// settleCall settles the promise of a call that has ended.
func (s *session) settleCall(ref uint32, r language.Reply) error {
	fl := s.inFlight.open[ref]
	if fl != nil {
		delete(s.inFlight.open, ref)
		s.sites.origin = fl.origin
		defer func() { s.sites.origin = nil }()
	}
	s.clock.advance(r.NowMs * 1000)
	switch {
	case r.Ends:
		s.end(r.Fault)
		return errStopped
	case fl == nil:
		return fault.New(fault.Internal, "a call ended that was not started")
	case r.Fault != nil:
		return fl.reject(s.callError(fl, r.Fault))
	}
	v, err := decode(s.vm, r.Out)
	if err != nil {
		return fl.reject(s.callError(fl, undecodable(err)))
	}
	if fl.raw {
		v = s.withRaw(v)
	}
	if fl.ordered() || fl.byID {
		s.notePartials(fl.id, fl.asked, v)
	}
	if fl.ordered() {
		v = s.asPage(fl.id, v)
	}
	return fl.resolve(v)
}

// callError returns the error of a failed call. It names the tool, and has the class that
// codemode-run-spec section 7 gives to the fault's code.
func (s *session) callError(c *pendingCall, f *fault.Fault) *goja.Object {
	if c.byID {
		return s.errorOfCall(c.id, f)
	}
	o := s.errorOf(f, s.classOf(f.Code, c.tool != nil))
	set := func(name string, v any) {
		_ = o.DefineDataProperty(name, s.vm.ToValue(v), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_TRUE)
	}
	if c.tool != nil {
		set("serverId", c.server.ID)
		set("toolName", c.tool.Name)
		set("exportName", c.tool.Export)
	}
	details := s.elements(s.member(o, "details"))
	if f.Code != fault.InvalidPayload || len(details) == 0 {
		return o
	}
	for _, name := range []string{"path", "expected", "received"} {
		if v := s.member(details[0], name); !goja.IsUndefined(v) {
			set(name, v)
		}
	}
	return o
}

// classOf returns the prototype of the class of a fault code in @codemode/errors. A failed
// call of a tool is a ToolCallError unless a more specific class fits.
func (s *session) classOf(c fault.Code, called bool) *goja.Object {
	e, _ := fault.Lookup(c)
	class := e.Class
	if called && class == fault.ClassBase {
		class = fault.ClassCall
	}
	return s.base.classes.Get(class).(*goja.Object).Get("prototype").(*goja.Object)
}
