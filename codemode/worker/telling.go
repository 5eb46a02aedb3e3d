package worker

import (
	"fmt"
	"strings"

	"github.com/dop251/goja"

	"github.com/koan-go/koan/codemode/internal/script"
	"github.com/koan-go/koan/framework/fault"
)

const (
	// maxCauses and maxErrors bound how many causes, and errors of an AggregateError,
	// a failure tells.
	maxCauses = 5
	maxErrors = 10
	// maxInner is the longest message of one of them, in UTF-16 units.
	maxInner = 500
	// maxSource is the longest line of the script that is quoted, in characters.
	maxSource = 200
)

// inner is an error behind the one that ended the script.
type inner struct {
	Code    fault.Code `json:"code,omitempty"` // of a fault
	Message string     `json:"message"`
	Line    int        `json:"line,omitempty"`
	Column  int        `json:"column,omitempty"`
}

// tell adds what stands behind an uncaught value: the calls that led to it, its
// causes, the errors in it. It asks the value, which may run the script's code.
func (s *session) tell(f *fault.Fault, v goja.Value, stack []goja.StackFrame) {
	if f.Details != nil {
		return
	}
	details := map[string]any{}
	if frames := s.frames(stack); len(frames) > 0 {
		details["stack"] = frames
	}
	if o, ok := v.(*goja.Object); ok && o.ClassName() == "Error" {
		if causes := s.causes(o); len(causes) > 0 {
			details["causes"] = causes
		}
		if errors := s.errors(o); len(errors) > 0 {
			details["errors"] = errors
		}
	}
	if len(details) > 0 {
		f.Details = details
	}
}

// frames names the calls of the script that led somewhere, innermost first. The
// last entry says how many are left out, if any are.
func (s *session) frames(stack []goja.StackFrame) []string {
	var out []string
	left := 0
	for i := range stack {
		if stack[i].SrcName() != script.Name || s.program == nil {
			continue
		}
		at := stack[i].Position()
		line, column, ok := s.program.Position(at.Line, at.Column)
		if !ok {
			continue
		}
		if len(out) == s.job.Limits.MaxStackFrames {
			left++
			continue
		}
		name := stack[i].FuncName()
		switch {
		case name != "" && name != "<anonymous>":
		case s.userFrame(stack[i+1:]):
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

// causes follows `cause`.
func (s *session) causes(o *goja.Object) []inner {
	var out []inner
	for seen := map[*goja.Object]bool{o: true}; ; {
		next := s.ask(o, "cause")
		if next == nil || goja.IsUndefined(next) {
			return out
		}
		if len(out) == maxCauses {
			return append(out, inner{Message: "…"})
		}
		out = append(out, s.inner(next))
		cause, ok := next.(*goja.Object)
		if !ok || seen[cause] || cause.ClassName() != "Error" {
			return out
		}
		seen[cause], o = true, cause
	}
}

// errors are those of an AggregateError.
func (s *session) errors(o *goja.Object) []inner {
	list, ok := s.ask(o, "errors").(*goja.Object)
	if !ok || list.ClassName() != "Array" {
		return nil
	}
	var out []inner
	for _, key := range list.GetOwnPropertyNames() {
		if key == "length" {
			continue
		}
		if len(out) == maxErrors {
			return append(out, inner{Message: "…"})
		}
		out = append(out, s.inner(s.ask(list, key)))
	}
	return out
}

// ask returns a member of a value, nil where asking fails.
func (s *session) ask(o *goja.Object, name string) (v goja.Value) {
	if s.guard(func() { v = o.Get(name) }) != nil {
		return nil
	}
	return v
}

func (s *session) inner(v goja.Value) inner {
	if v == nil {
		return inner{Message: "something whose text cannot be read"}
	}
	var in inner
	if s.guard(func() { in.Message = fault.Clip(s.describe(v), maxInner) }) != nil {
		in.Message = "something whose text cannot be read"
	}
	o, ok := v.(*goja.Object)
	if !ok {
		return in
	}
	if f, ok := s.faults[o]; ok {
		in.Code = f.Code
	}
	at := s.place(&fault.Fault{}, s.madeAt(o))
	in.Line, in.Column = at.Line, at.Column
	return in
}

// quoted returns a copy of a fault with the line it names, and nothing in it longer
// than a failure may be: a message may have a name in it that the script made up.
func quoted(f *fault.Fault, code string) *fault.Fault {
	q := *f
	q.Source = sourceLine(code, f.Line)
	q.Message, q.Hint, q.Path = fault.Clip(f.Message, 2*maxMessage), fault.Clip(f.Hint, maxMessage), fault.Clip(f.Path, maxMessage)
	return &q
}

// sourceLine quotes a line of the user's code, from 1.
func sourceLine(code string, line int) string {
	n := 0
	for text := range strings.Lines(code) {
		if n++; n == line {
			runes := []rune(strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD")))
			if len(runes) > maxSource {
				return string(runes[:maxSource]) + "…"
			}
			return string(runes)
		}
	}
	return ""
}
