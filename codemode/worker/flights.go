package worker

import (
	"errors"
	"time"

	"github.com/dop251/goja"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/fault"
)

// flights are the calls that the script started and whose end it has not got yet.
// Ends are delivered only when the script has nothing else to do, one by one, in
// the order that the host gives: that order is on the tape, so the script runs
// the same in every attempt.
type flights struct {
	last     uint32
	open     map[uint32]*flight
	parallel int // of the open ones, those that do not wait in a queue
}

type flight struct {
	callee
	resolve, reject func(any) error
	origin          []goja.StackFrame // where it was started
}

// callee is what a function of a module calls.
type callee struct {
	server *wire.Server
	tool   *wire.Tool // nil for what @codemode/discovery asks
	id     string
}

func (c callee) ordered() bool { return c.server != nil && c.server.Ordered }

// async makes a function of a module: it gives a promise of what the call gives.
func (s *session) async(name string, length int, c callee, input func(goja.FunctionCall, []byte) []byte) *goja.Object {
	return s.function(name, length, func(call goja.FunctionCall) goja.Value {
		promise, resolve, reject := s.vm.NewPromise()
		fl := &flight{callee: c, resolve: resolve, reject: reject, origin: s.here()}
		// An async function throws nothing: what goes wrong rejects its promise.
		if ex := s.vm.Try(func() { s.launch(fl, input(call, s.takeScratch())) }); ex != nil {
			why := ex.Value()
			if o, ok := why.(*goja.Object); ok && s.faults[o] != nil { // of the class that the call's end would have
				why = s.callError(c, s.faults[o])
			}
			if err := reject(why); err != nil {
				panic(err)
			}
		}
		return s.vm.ToValue(promise)
	})
}

// launch starts a call.
func (s *session) launch(fl *flight, in []byte) {
	s.scratch = in[:0]
	if s.stopped() {
		panic(s.vm.NewTypeError("the run has ended")) // replaced by why it did
	}
	if most := s.job.Limits.MaxCallBytes; len(in) > most {
		s.tooLarge(most)
	}
	if !fl.ordered() {
		if most := s.job.Limits.MaxParallelCalls; s.flights.parallel >= most {
			s.end(ParallelCallsExceeded(most))
			return
		}
		s.flights.parallel++
	}
	s.flights.last++
	s.flights.open[s.flights.last] = fl
	s.watch.Pause()
	s.port.Start(s.flights.last, fl.id, in)
	s.watch.Resume()
}

// ParallelCallsExceeded is the fault of a script that has more calls in flight
// than it may.
func ParallelCallsExceeded(most int) *fault.Fault {
	return fault.Newf(fault.ParallelCallsExceeded, "more than %d calls were in flight at once (codeMode.maxParallelCalls)", most).
		WithDetails(map[string]any{"limit": most})
}

// turn lets time pass: until the next timer, or the end of a call in flight,
// whichever comes first. more is false where there is neither.
func (s *session) turn() (more bool, err error) {
	if s.stopped() {
		return false, errStopped
	}
	if len(s.flights.open) == 0 {
		return s.fire()
	}
	most := time.Duration(-1)
	if t := s.timers.next(); t != nil {
		most = time.Duration(max(t.due-s.clock.now, 0)) * time.Microsecond
	}
	s.watch.Pause()
	ref, r := s.port.Await(most)
	s.watch.Resume()
	if ref == 0 && !r.Ends {
		return s.fire()
	}
	return true, s.land(ref, r)
}

// errStopped stands for the reason in session.ending.
var errStopped = errors.New("stopped")

// land settles the promise of a call that has ended.
func (s *session) land(ref uint32, r Reply) error {
	fl := s.flights.open[ref]
	if fl != nil {
		delete(s.flights.open, ref)
		if !fl.ordered() {
			s.flights.parallel--
		}
		s.trail.origin = fl.origin
		defer func() { s.trail.origin = nil }()
	}
	s.clock.advance(r.NowMs * 1000)
	switch {
	case r.Ends:
		s.end(r.Fault)
		return errStopped
	case fl == nil:
		return fault.New(fault.Internal, "a call ended that was not started")
	case r.Fault != nil:
		return fl.reject(s.callError(fl.callee, r.Fault))
	}
	v, err := decode(s.vm, r.Out)
	if err != nil {
		return fl.reject(s.callError(fl.callee, undecodable(err)))
	}
	if fl.ordered() {
		v = s.asPage(fl.id, v)
	}
	return fl.resolve(v)
}

// callError makes the error of a call: its class is the fault's in the registry
// (codemode-run-spec section 7), and it names the tool.
func (s *session) callError(c callee, f *fault.Fault) *goja.Object {
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

// classOf returns the prototype of the class that a code has in @codemode/errors.
// What a tool's call failed with is a ToolCallError where no other class fits.
func (s *session) classOf(c fault.Code, called bool) *goja.Object {
	e, _ := fault.Lookup(c)
	class := e.Class
	if called && class == fault.ClassBase {
		class = fault.ClassCall
	}
	return s.base.classes.Get(class).(*goja.Object).Get("prototype").(*goja.Object)
}
