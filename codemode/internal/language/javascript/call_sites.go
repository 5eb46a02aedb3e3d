package javascript

import (
	"slices"

	"github.com/dop251/goja"

	"github.com/koan-go/koan/codemode/internal/language/javascript/script"
)

// callSites records the stacks of throws whose values have none themselves (values that are
// not Errors, and errors that the engine throws while no line of the script runs), and of
// waits for promises.
type callSites struct {
	thrown         []throwSite       // the last throws, at most maxSites
	origin         []goja.StackFrame // where the running timer or promise job was created
	previousOrigin []goja.StackFrame // that of the previous promise job, whose promise is settled after it
	// awaited are the last promises that the script awaited, at most maxSites.
	awaited []awaitSite
	jobs    int // how many promise jobs have started
}

type awaitSite struct {
	promise *goja.Promise
	stack   []goja.StackFrame
	job     int
}

type throwSite struct {
	value goja.Value
	stack []goja.StackFrame
}

const (
	// maxSites is how many throws, and how many awaits, are recorded.
	maxSites = 16
	// siteDepth is how many frames of a stack are searched for one of the script.
	siteDepth = 6
)

// here returns the current stack of the script, or, if no line of the script is on it, the
// stack that created the running job.
func (s *session) here() []goja.StackFrame {
	stack := s.vm.CaptureCallStack(siteDepth, nil)
	if s.hasUserFrame(stack) {
		return stack
	}
	return s.sites.origin
}

// noteThrow records where a value is thrown. With replace, for a throw statement of the script,
// it replaces an earlier record of the same value; a rejection keeps it.
func (s *session) noteThrow(v goja.Value, replace bool) {
	if o, ok := v.(*goja.Object); ok && o.ClassName() == "Error" && s.hasUserFrame(s.creationStack(o)) {
		return
	}
	stack := s.here()
	replace = replace && !s.inCompilerCode(stack)
	list := s.sites.thrown
	for i := range list {
		if list[i].value.SameAs(v) {
			if !replace {
				return
			}
			list = append(list[:i], list[i+1:]...)
			break
		}
	}
	if !s.hasUserFrame(stack) {
		stack = s.sites.previousOrigin
	}
	if !s.hasUserFrame(stack) {
		return
	}
	if len(list) == maxSites {
		list = append(list[:0], list[1:]...)
	}
	s.sites.thrown = append(list, throwSite{v, stack})
}

// inCompilerCode reports whether the innermost frame of the script is code that the compiler
// added. Such code rethrows what leaves the scope of a `using`.
func (s *session) inCompilerCode(stack []goja.StackFrame) bool {
	for i := range stack {
		if stack[i].SrcName() == script.Name {
			at := stack[i].Position()
			_, _, ok := s.program.Position(at.Line, at.Column)
			return !ok
		}
	}
	return false
}

// noteAwait records where the script starts to wait for a promise.
func (s *session) noteAwait(v goja.Value) {
	o, ok := v.(*goja.Object)
	if !ok || o.ExportType() != promiseType {
		return
	}
	s.promises.use(o)
	p := o.Export().(*goja.Promise)
	if p.State() != goja.PromiseStatePending {
		return
	}
	list := s.sites.awaited
	if len(list) == maxSites {
		list = slices.DeleteFunc(list, func(a awaitSite) bool { return a.promise.State() != goja.PromiseStatePending })
	}
	if len(list) == maxSites {
		list = append(list[:0], list[1:]...)
	}
	s.sites.awaited = append(list, awaitSite{p, s.here(), s.sites.jobs})
}

// innermostAwait returns where the script waits for a pending promise; if functions wait for
// each other, the stack of the innermost one. That is the first to start waiting in the last
// promise job in which any of them did: those around it follow in the same job.
func (t *callSites) innermostAwait() (stack []goja.StackFrame) {
	turn := -1
	for _, a := range t.awaited {
		if a.job > turn && a.promise.State() == goja.PromiseStatePending {
			stack, turn = a.stack, a.job
		}
	}
	return stack
}

// throwStack returns the stack recorded for a value, nil if there is none.
func (s *session) throwStack(v goja.Value) []goja.StackFrame {
	for i := len(s.sites.thrown) - 1; i >= 0; i-- {
		if t := s.sites.thrown[i]; t.value.SameAs(v) {
			return t.stack
		}
	}
	return nil
}

// promiseJobs is a goja.AsyncContextTracker that records, while a promise job runs, where it
// was created.
type promiseJobs struct{ s *session }

var _ goja.AsyncContextTracker = promiseJobs{}

// Grab implements goja.AsyncContextTracker.
func (j promiseJobs) Grab() any { return j.s.here() }

// Resumed implements goja.AsyncContextTracker.
func (j promiseJobs) Resumed(origin any) {
	j.s.sites.origin, _ = origin.([]goja.StackFrame)
	j.s.sites.jobs++
}

// Exited implements goja.AsyncContextTracker.
func (j promiseJobs) Exited() { j.s.sites.previousOrigin, j.s.sites.origin = j.s.sites.origin, nil }
