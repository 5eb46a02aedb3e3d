package javascript

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dop251/goja"

	"github.com/koan-go/koan/codemode/internal/language/javascript/script"
	"github.com/koan-go/koan/framework/fault"
)

// positions finds where in the user's text something happens. It records the stacks of throws whose values have none
// themselves (values that are not Errors, and errors that the engine throws while no line of the script runs), and of
// waits for promises.
type positions struct {
	js  *engine
	job *assignment

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
func (ps *positions) here() []goja.StackFrame {
	stack := ps.js.vm.CaptureCallStack(siteDepth, nil)
	if hasUserFrame(stack) {
		return stack
	}
	return ps.origin
}

// noteThrow records where a value is thrown. With replace, for a throw statement of the script,
// it replaces an earlier record of the same value; a rejection keeps it.
func (ps *positions) noteThrow(v goja.Value, replace bool) {
	if o, ok := v.(*goja.Object); ok && o.ClassName() == "Error" && hasUserFrame(ps.js.creationStack(o)) {
		return
	}
	stack := ps.here()
	replace = replace && !ps.inCompilerCode(stack)
	list := ps.thrown
	for i := range list {
		if list[i].value.SameAs(v) {
			if !replace {
				return
			}
			list = append(list[:i], list[i+1:]...)
			break
		}
	}
	if !hasUserFrame(stack) {
		stack = ps.previousOrigin
	}
	if !hasUserFrame(stack) {
		return
	}
	if len(list) == maxSites {
		list = append(list[:0], list[1:]...)
	}
	ps.thrown = append(list, throwSite{v, stack})
}

// inCompilerCode reports whether the innermost frame of the script is code that the compiler
// added. Such code rethrows what leaves the scope of a `using`.
func (ps *positions) inCompilerCode(stack []goja.StackFrame) bool {
	for i := range stack {
		if stack[i].SrcName() == script.Name {
			at := stack[i].Position()
			_, _, ok := ps.job.program.Position(at.Line, at.Column)
			return !ok
		}
	}
	return false
}

// noteAwait records where the script starts to wait for a promise.
func (ps *positions) noteAwait(v goja.Value) {
	o, ok := v.(*goja.Object)
	if !ok || o.ExportType() != promiseType {
		return
	}
	p := o.Export().(*goja.Promise)
	if p.State() != goja.PromiseStatePending {
		return
	}
	list := ps.awaited
	if len(list) == maxSites {
		list = slices.DeleteFunc(list, func(a awaitSite) bool { return a.promise.State() != goja.PromiseStatePending })
	}
	if len(list) == maxSites {
		list = append(list[:0], list[1:]...)
	}
	ps.awaited = append(list, awaitSite{p, ps.here(), ps.jobs})
}

// innermostAwait returns where the script waits for a pending promise; if functions wait for
// each other, the stack of the innermost one. That is the first to start waiting in the last
// promise job in which any of them did: those around it follow in the same job.
func (ps *positions) innermostAwait() (stack []goja.StackFrame) {
	turn := -1
	for _, a := range ps.awaited {
		if a.job > turn && a.promise.State() == goja.PromiseStatePending {
			stack, turn = a.stack, a.job
		}
	}
	return stack
}

// throwStack returns the stack recorded for a value, nil if there is none.
func (ps *positions) throwStack(v goja.Value) []goja.StackFrame {
	for i := len(ps.thrown) - 1; i >= 0; i-- {
		if t := ps.thrown[i]; t.value.SameAs(v) {
			return t.stack
		}
	}
	return nil
}

// promiseJobs is a goja.AsyncContextTracker that records, while a promise job runs, where it
// was created.
type promiseJobs struct{ positions *positions }

var _ goja.AsyncContextTracker = promiseJobs{}

// Grab implements goja.AsyncContextTracker.
func (j promiseJobs) Grab() any { return j.positions.here() }

// Resumed implements goja.AsyncContextTracker.
func (j promiseJobs) Resumed(origin any) {
	j.positions.origin, _ = origin.([]goja.StackFrame)
	j.positions.jobs++
}

// Exited implements goja.AsyncContextTracker.
func (j promiseJobs) Exited() {
	j.positions.previousOrigin, j.positions.origin = j.positions.origin, nil
}

// hasUserFrame reports whether any frame is in the script's text.
func hasUserFrame(stack []goja.StackFrame) bool {
	for i := range stack {
		if stack[i].SrcName() == script.Name {
			return true
		}
	}
	return false
}

// withPositions drops frames for which the engine has no position: it reports the beginning of
// the text for them.
func withPositions(stack []goja.StackFrame) []goja.StackFrame {
	var out []goja.StackFrame
	for i := range stack {
		if at := stack[i].Position(); at.Line != 1 || at.Column != 1 {
			out = append(out, stack[i])
		}
	}
	return out
}

// locate returns a copy of a fault with the innermost position of the stack that is in the
// user's text.
func (ps *positions) locate(f *fault.Fault, stack []goja.StackFrame) *fault.Fault {
	placed := *f
	if ps.job.program == nil {
		return &placed
	}
	for i := range stack {
		if stack[i].SrcName() != script.Name {
			continue
		}
		at := stack[i].Position()
		if line, column, ok := ps.job.program.Position(at.Line, at.Column); ok {
			placed.Line, placed.Column = line, column
			break
		}
	}
	return &placed
}

// frames formats the frames of a stack that are the script's, innermost first. If some are left
// out, the last entry says how many.
func (ps *positions) frames(stack []goja.StackFrame) []string {
	var out []string
	left := 0
	for i := range stack {
		if stack[i].SrcName() != script.Name || ps.job.program == nil {
			continue
		}
		at := stack[i].Position()
		line, column, ok := ps.job.program.Position(at.Line, at.Column)
		if !ok {
			continue
		}
		if len(out) == ps.job.Limits.MaxStackFrames {
			left++
			continue
		}
		name := stack[i].FuncName()
		switch {
		case name != "" && name != "<anonymous>":
		case hasUserFrame(stack[i+1:]):
			name = "anonymous"
		default:
			name = "script"
		}
		out = append(out, fmt.Sprintf("%s (%d:%d)", fault.Clip(name, 100), line, column))
	}
	if left > 0 {
		out = append(out, fmt.Sprintf("… %d more", left))
	}
	return out
}

// engineFrame is the prefix of a line of the engine's stacks:
// "\tat NAME (script:LINE:COLUMN(PC))", or without a name "\tat script:LINE:COLUMN(PC)". The
// position may be "native".
const engineFrame = "\tat "

// userLines returns the frames in the engine's text that are the script's, with the user's
// positions.
func (ps *positions) userLines(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		frame, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), engineFrame)
		if !ok {
			continue
		}
		name, place := "", frame
		if i := strings.LastIndex(frame, " ("); i >= 0 {
			name, place = frame[:i], frame[i+2:]
		}
		line, column, ok := parsePosition(place)
		if !ok {
			continue
		}
		if line, column, ok = ps.job.program.Position(line, column); !ok {
			continue
		}
		position := fmt.Sprintf("%s:%d:%d", script.Name, line, column)
		if name != "" {
			position = fault.Clip(name, 100) + " (" + position + ")"
		}
		out = append(out, position)
	}
	return out
}

// parsePosition parses "script:LINE:COLUMN(PC)"; ok is false for any other text.
func parsePosition(place string) (line, column int, ok bool) {
	place, ok = strings.CutPrefix(place, script.Name+":")
	if !ok {
		return 0, 0, false
	}
	place, _, _ = strings.Cut(place, "(")
	l, c, _ := strings.Cut(place, ":")
	line, err := strconv.Atoi(l)
	if err != nil {
		return 0, 0, false
	}
	column, err = strconv.Atoi(c)
	return line, column, err == nil
}
