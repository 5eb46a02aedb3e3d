package javascript

import (
	"strings"

	"github.com/dop251/goja"

	"github.com/koan-go/koan/framework/fault"
)

const (
	// maxCauses and maxErrors bound how many causes, and inner errors of an AggregateError, the
	// details of a fault list.
	maxCauses = 5
	maxErrors = 10
	// maxInner is the maximum length of the message of each of them.
	maxInner = 500
	// maxSource is how much of a line of the script is quoted at most, in characters.
	maxSource = 200
)

// unreadable is the message of an inner error that cannot be converted to text.
const unreadable = "a value that cannot be converted to text"

// innerError is a cause or an inner error of the error that ended the script.
type innerError struct {
	Code    fault.Code `json:"code,omitempty"` // if it is a fault
	Message string     `json:"message"`
	Line    int        `json:"line,omitempty"`
	Column  int        `json:"column,omitempty"`
}

// addDetails adds the stack, the causes and the inner errors of an uncaught value to its fault,
// unless it has details already. Reading them may run the script's code.
func (fs *faults) addDetails(f *fault.Fault, v goja.Value, stack []goja.StackFrame) {
	if f.Details != nil {
		return
	}
	details := map[string]any{}
	if frames := fs.positions.frames(stack); len(frames) > 0 {
		details["stack"] = frames
	}
	if o, ok := v.(*goja.Object); ok && o.ClassName() == "Error" {
		if causes := fs.causes(o); len(causes) > 0 {
			details["causes"] = causes
		}
		if errors := fs.aggregatedErrors(o); len(errors) > 0 {
			details["errors"] = errors
		}
	}
	if len(details) > 0 {
		f.Details = details
	}
}

// causes returns the chain of causes of an Error.
func (fs *faults) causes(o *goja.Object) []innerError {
	var out []innerError
	for seen := map[*goja.Object]bool{o: true}; ; {
		next := fs.js.safeGet(o, "cause")
		if next == nil || goja.IsUndefined(next) {
			return out
		}
		if len(out) == maxCauses {
			return append(out, innerError{Message: "…"})
		}
		out = append(out, fs.innerErrorOf(next))
		cause, ok := next.(*goja.Object)
		if !ok || seen[cause] || cause.ClassName() != "Error" {
			return out
		}
		seen[cause], o = true, cause
	}
}

// aggregatedErrors returns the inner errors of an AggregateError.
func (fs *faults) aggregatedErrors(o *goja.Object) []innerError {
	list, ok := fs.js.safeGet(o, "errors").(*goja.Object)
	if !ok || list.ClassName() != "Array" {
		return nil
	}
	var out []innerError
	for _, key := range list.GetOwnPropertyNames() {
		if key == "length" {
			continue
		}
		if len(out) == maxErrors {
			return append(out, innerError{Message: "…"})
		}
		out = append(out, fs.innerErrorOf(fs.js.safeGet(list, key)))
	}
	return out
}

func (fs *faults) innerErrorOf(v goja.Value) innerError {
	if v == nil {
		return innerError{Message: unreadable}
	}
	var in innerError
	if fs.js.guard(func() { in.Message = fault.Clip(fs.js.describe(v), maxInner) }) != nil {
		in.Message = unreadable
	}
	o, ok := v.(*goja.Object)
	if !ok {
		return in
	}
	if f, ok := fs.known[o]; ok {
		in.Code = f.Code
	}
	at := fs.positions.locate(&fault.Fault{}, fs.js.creationStack(o))
	in.Line, in.Column = at.Line, at.Column
	return in
}

// withSource returns a copy of a fault with the source line that it names. It also clips the
// texts of the fault, since a message may contain a long name from the script.
func withSource(f *fault.Fault, code string) *fault.Fault {
	q := *f
	q.Source = sourceLine(code, f.Line)
	q.Message, q.Hint, q.Path = fault.Clip(f.Message, 2*maxMessage), fault.Clip(f.Hint, maxMessage), fault.Clip(f.Path, maxMessage)
	return &q
}

// sourceLine returns a line of the user's code, counted from 1, "" if there is none.
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
