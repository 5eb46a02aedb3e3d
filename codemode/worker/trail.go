package worker

import "github.com/dop251/goja"

// trail remembers where values were thrown that keep no stack themselves: what is
// not an Error, and what the engine throws where no line of the script runs.
type trail struct {
	thrown []thrown          // the last ones
	origin []goja.StackFrame // of the timer or the promise job under way
	left   []goja.StackFrame // of the job before: its promise is settled behind it
}

type thrown struct {
	value goja.Value
	stack []goja.StackFrame
}

const (
	// maxTrail is how many throws are remembered.
	maxTrail = 16
	// trailDepth is how many frames are looked at for one of the script's.
	trailDepth = 6
)

// here gives the stack of the script at this moment, else where the job under way
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
	stack := s.here()
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

// thrownAt gives the stack that was noted for a value.
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
func (j jobs) Resumed(origin any) { j.s.trail.origin, _ = origin.([]goja.StackFrame) }

// Exited implements goja.AsyncContextTracker.
func (j jobs) Exited() { j.s.trail.left, j.s.trail.origin = j.s.trail.origin, nil }
