package worker

import (
	"slices"

	"github.com/dop251/goja"

	"github.com/koan-go/koan/codemode/internal/script"
)

// trail remembers where values were thrown that keep no stack themselves: what is
// not an Error, and what the engine throws where no line of the script runs.
type trail struct {
	thrown []thrown          // the last ones
	origin []goja.StackFrame // of the timer or the promise job under way
	left   []goja.StackFrame // of the job before: its promise is settled behind it
	// awaited are the last promises for which the script waits or waited.
	awaited []awaited
	turns   int // promise jobs that were begun
}

type awaited struct {
	promise *goja.Promise
	stack   []goja.StackFrame
	turn    int
}

type thrown struct {
	value goja.Value
	stack []goja.StackFrame
}

const (
	// maxTrail is how many throws, and how many waits, are remembered.
	maxTrail = 16
	// trailDepth is how many frames are looked at for one of the script's.
	trailDepth = 6
)

// here returns the stack of the script at this moment, else where the job under way
// was made.
func (s *session) here() []goja.StackFrame {
	stack := s.vm.CaptureCallStack(trailDepth, nil)
	if s.userFrame(stack) {
		return stack
	}
	return s.trail.origin
}

// remember notes where a value is thrown. A throw of the script's replaces what
// was noted before for the same value; a rejection passes it on.
func (s *session) remember(v goja.Value, replace bool) {
	if o, ok := v.(*goja.Object); ok && o.ClassName() == "Error" && s.userFrame(s.madeAt(o)) {
		return
	}
	stack := s.here()
	replace = replace && !s.added(stack)
	list := s.trail.thrown
	for i := range list {
		if list[i].value.SameAs(v) {
			if !replace {
				return
			}
			list = append(list[:i], list[i+1:]...)
			break
		}
	}
	if !s.userFrame(stack) {
		stack = s.trail.left
	}
	if !s.userFrame(stack) {
		return
	}
	if len(list) == maxTrail {
		list = append(list[:0], list[1:]...)
	}
	s.trail.thrown = append(list, thrown{v, stack})
}

// added reports whether what the compiler added to the script does something: it throws
// again what a `using` let through.
func (s *session) added(stack []goja.StackFrame) bool {
	for i := range stack {
		if stack[i].SrcName() == script.Name {
			at := stack[i].Position()
			_, _, ok := s.program.Position(at.Line, at.Column)
			return !ok
		}
	}
	return false
}

// awaits notes where the script begins to wait for a promise.
func (s *session) awaits(v goja.Value) {
	o, ok := v.(*goja.Object)
	if !ok || o.ExportType() != promiseType {
		return
	}
	p := o.Export().(*goja.Promise)
	if p.State() != goja.PromiseStatePending {
		return
	}
	list := s.trail.awaited
	if len(list) == maxTrail {
		list = slices.DeleteFunc(list, func(a awaited) bool { return a.promise.State() != goja.PromiseStatePending })
	}
	if len(list) == maxTrail {
		list = append(list[:0], list[1:]...)
	}
	s.trail.awaited = append(list, awaited{p, s.here(), s.trail.turns})
}

// stuck returns where the script waits for what is not settled yet: where functions
// wait for each other, the innermost. That one began to wait last, but for those
// around it that did in the same turn.
func (t *trail) stuck() (stack []goja.StackFrame) {
	turn := -1
	for _, a := range t.awaited {
		if a.turn > turn && a.promise.State() == goja.PromiseStatePending {
			stack, turn = a.stack, a.turn
		}
	}
	return stack
}

// thrownAt returns the stack that was noted for a value.
func (s *session) thrownAt(v goja.Value) []goja.StackFrame {
	for i := len(s.trail.thrown) - 1; i >= 0; i-- {
		if t := s.trail.thrown[i]; t.value.SameAs(v) {
			return t.stack
		}
	}
	return nil
}

// jobs keeps in which line a promise job was made while it runs
// (goja.AsyncContextTracker).
type jobs struct{ s *session }

var _ goja.AsyncContextTracker = jobs{}

// Grab implements goja.AsyncContextTracker.
func (j jobs) Grab() any { return j.s.here() }

// Resumed implements goja.AsyncContextTracker.
func (j jobs) Resumed(origin any) {
	j.s.trail.origin, _ = origin.([]goja.StackFrame)
	j.s.trail.turns++
}

// Exited implements goja.AsyncContextTracker.
func (j jobs) Exited() { j.s.trail.left, j.s.trail.origin = j.s.trail.origin, nil }
