package javascript

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"

	"github.com/dop251/goja"

	"github.com/koan-go/koan/codemode/internal/language/javascript/script"
	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/exact"
	"github.com/koan-go/koan/framework/fault"
)

// outObject returns SDK.Out.
func (s *session) outObject() *goja.Object {
	o := s.vm.NewObject()
	s.method(o, "answer", 1, s.answer)
	for _, level := range []string{"info", "warn", "error"} {
		s.method(o, level, 1, s.logger(level))
	}
	s.method(o, "emit", 1, s.emit)
	s.method(o, "file", 1, s.attach)
	s.method(o, "progress", 3, func(c goja.FunctionCall) goja.Value {
		message := ""
		if v := c.Argument(2); !goja.IsUndefined(v) {
			message = fault.Clip(s.display(v), maxMessage)
		}
		done, total := c.Argument(0).ToFloat(), c.Argument(1).ToFloat()
		if !finite(done) {
			return goja.Undefined()
		}
		if !finite(total) { // usually omitted
			total = 0
		}
		s.host.Progress(wire.Progress{Done: done, Total: total, Message: message})
		return goja.Undefined()
	})
	return o
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// passed returns the JSON of what a script passes on, as it is at that moment. If there is none,
// or it exceeds the limit, the run ends (CONTRACT section 3: a limit ends it even when caught),
// and ok is false. An exception that the script's own code throws meanwhile is passed on
// unchanged.
func (s *session) passed(v goja.Value, what string) (raw []byte, ok bool) {
	raw, err := s.serialise(v, what)
	var f *fault.Fault
	switch {
	case err == nil:
	case isFault(err, &f):
		s.end(f)
		return nil, false
	default:
		panic(err)
	}
	if raw == nil {
		raw = []byte("null")
	}
	return raw, true
}

// answer keeps its argument as the answer.
func (s *session) answer(c goja.FunctionCall) goja.Value {
	if raw, ok := s.passed(c.Argument(0), "the answer"); ok {
		s.result.Answer = raw
	}
	return goja.Undefined()
}

// emitted are how many values the script has emitted, and their bytes.
type emitted struct{ count, bytes int }

// emit passes on its argument while the script goes on.
func (s *session) emit(c goja.FunctionCall) goja.Value {
	if s.job.Action {
		s.throw(fault.New(fault.CapabilityUnsupported, "an action cannot emit values").WithHint("Return all that its caller needs as the action's output, or log it."))
	}
	raw, ok := s.passed(c.Argument(0), "the emitted value")
	if !ok {
		return goja.Undefined()
	}
	s.emitted.count++
	s.emitted.bytes += len(raw)
	switch most := s.job.Limits.MaxResultBytes; {
	case s.emitted.count > wire.MaxEmitted:
		s.end(fault.Newf(fault.ResultTooLarge, "the script emits more than %d values", wire.MaxEmitted).WithHint("Emit a summary of several steps at a time."))
	case s.emitted.bytes > most:
		s.end(fault.Newf(fault.ResultTooLarge, "the emitted values are larger than %d bytes together", most).WithHint("Emit less: ids and counts instead of whole rows."))
	default:
		s.host.Emit(raw)
	}
	return goja.Undefined()
}

// attach puts a file into the result, by its id or as SDK.Files.create returned it. What it
// returns is the file.
func (s *session) attach(c goja.FunctionCall) goja.Value {
	if s.job.Action {
		s.throw(fault.New(fault.CapabilityUnsupported, "an action cannot put files into the result").WithHint("Return the file's id in the action's output."))
	}
	id := c.Argument(0)
	if o, ok := id.(*goja.Object); ok {
		id = o.Get("id")
	}
	if len(s.result.Files) == wire.MaxFiles {
		s.throw(fault.Newf(fault.ResultTooLarge, "the result has %d files, and cannot have more", wire.MaxFiles).WithHint("Return the ids of further files in the answer."))
	}
	in, err := json.Marshal(map[string]any{"id": id.Export()})
	if err != nil {
		s.throw(fault.Invalid(fault.Detail{Path: "/id", Message: "must be a file's id", Expected: "string"}))
	}
	f := s.call(wire.FilesGet, in)
	s.result.Files = append(s.result.Files, id.String())
	return f
}

// serialise returns the JSON of a value within the limits, nil if it has none (undefined). The
// error is a fault, or what the script's own code threw meanwhile.
func (s *session) serialise(v goja.Value, what string) ([]byte, error) {
	most := s.job.Limits.MaxResultBytes
	outside := len(s.vm.CaptureCallStack(0, nil))
	var warnings []string
	var l inputCheck
	var last step // the member that is being written
	text, err := s.stringify(goja.Undefined(), v, s.function("", 2, func(c goja.FunctionCall) goja.Value {
		if w := s.emptiedAs(what, c.Arguments[0], c.Arguments[1]); w != "" && len(warnings) < maxWarnings {
			warnings = append(warnings, w)
		}
		if _, ok := last.value.(*goja.Object); ok {
			l.path = append(l.path, last)
		}
		l.leaveTo(c.This)
		last = step{c.Arguments[0].String(), c.Arguments[1]}
		return asBigText(last.value)
	}))
	if err != nil {
		if uncatchable(err) {
			panic(err)
		}
		if thrown, ok := err.(*goja.Exception); ok && s.thrownInside(thrown, outside) {
			return nil, err
		}
		return nil, fault.Newf(fault.JavaScriptError, "%s is not JSON%s: %s", what, atPath(l.pointer(last.key)), s.safeFaultOf(err).Message).
			WithHint("Give plain data, and what an object refers to only once. End the script with `undefined` to return nothing.")
	}
	str, ok := text.(goja.String)
	if !ok {
		return nil, nil
	}
	if str.Length() <= most {
		raw := writeBigInts([]byte(str.String()), true)
		if path, found := malformed(raw); found {
			warnings = append(warnings, fmt.Sprintf("in %s, at %q: %s. U+FFFD takes its place.", what, path, exact.NotText))
		}
		if raw = replaceSurrogates(raw); len(raw) <= most {
			for _, w := range warnings {
				s.log("warn", w)
			}
			return raw, nil
		}
	}
	return nil, fault.Newf(fault.ResultTooLarge, "%s is larger than %d bytes", what, most)
}

// atPath says where in a value something is, "" for all of it.
func atPath(path string) string {
	if path == "" {
		return ""
	}
	return ", at " + fault.Clip(path, maxInner)
}

// emptiedAs returns a warning for a value whose JSON is {} although it has content, "" for any
// other. In a result this is not an error, since JSON.stringify does the same everywhere.
func (s *session) emptiedAs(what string, key, v goja.Value) string {
	o, ok := v.(*goja.Object)
	if !ok {
		return ""
	}
	thing, hint := s.emptied(o)
	if thing == "" {
		return ""
	}
	if name := key.String(); name != "" {
		what = "`" + fault.Clip(name, 100) + "` in " + what
	}
	return what + " is " + thing + ", whose JSON is {}. " + hint
}

// thrownInside reports whether the script's own code threw ex, in a getter or a toJSON. Else
// the engine threw it because the value is not JSON: an Error created outside of the script's
// code.
func (s *session) thrownInside(ex *goja.Exception, outside int) bool {
	o, ok := ex.Value().(*goja.Object)
	if !ok || o.ClassName() != "Error" {
		return true
	}
	stack := ex.Stack()
	return s.hasUserFrame(stack[:max(len(stack)-outside, 0)]) || len(stack) > 0 && stack[0].SrcName() == script.Name
}

func (s *session) logger(level string) native {
	return func(c goja.FunctionCall) goja.Value {
		if s.host.LogsFull() {
			return goja.Undefined() // formatting is expensive, and the entry would be dropped
		}
		parts := make([]string, len(c.Arguments))
		for i, a := range c.Arguments {
			parts[i] = s.display(a)
		}
		s.log(level, strings.Join(parts, " "))
		return goja.Undefined()
	}
}

// log adds an entry to the run's logs.
func (s *session) log(level, message string) {
	s.host.Log(wire.Log{Level: level, Message: message, TimeMs: s.clock.sinceStartMs()})
}

// unserializable is the text in logs of an object that has no JSON (codemode-run-spec
// section 3.3.1).
const unserializable = "[Unserializable Object]"

// display returns the text of a value for a log: a string as it is, an object as JSON with the
// content of Maps and Sets, anything else by its own conversion to a string.
func (s *session) display(v goja.Value) string {
	o, ok := v.(*goja.Object)
	if !ok {
		switch x := v.(type) {
		case goja.String:
			return clipped(x, s.job.Limits.MaxLogMessageBytes+1)
		case *goja.Symbol:
			return "Symbol(" + fault.Clip(x.String(), 100) + ")"
		}
		return v.String()
	}
	if text, ok := s.opaque(o); ok {
		return text
	}
	if o.ClassName() != "Error" && o.ClassName() != "Function" {
		text, err := s.stringify(goja.Undefined(), o, s.function("", 2, s.visible))
		if uncatchable(err) {
			panic(err)
		}
		if str, ok := text.(goja.String); ok && err == nil {
			return clipped(str, s.job.Limits.MaxLogMessageBytes+1)
		}
		if err != nil {
			return unserializable
		}
	}
	if name, ok := s.callable(o); ok {
		return "[function " + name + "]"
	}
	text := "[" + o.ClassName() + "]"
	s.vm.Try(func() {
		if str, ok := o.ToString().(goja.String); ok {
			text = clipped(str, s.job.Limits.MaxLogMessageBytes+1)
		}
	})
	return text
}

// visible is the replacer of the JSON in logs. It returns the content of what is {} in JSON, since
// who looks for an error would take a Map for an empty one: of a Map its entries, of a Set its
// elements, the text of an error and of a regular expression; and that a member is a function, or it
// would look as if an object of functions, such as SDK.Servers.x, had none.
func (s *session) visible(c goja.FunctionCall) goja.Value {
	o, ok := c.Argument(1).(*goja.Object)
	if !ok {
		return c.Argument(1)
	}
	switch o.ClassName() {
	case "Error", "RegExp":
		return o.ToString()
	case "Function":
		if name, ok := s.callable(o); ok && name != c.Argument(0).String() {
			return s.vm.ToValue("[function " + name + "]")
		}
		return s.vm.ToValue("[function]")
	}
	if text, ok := s.opaque(o); ok {
		return s.vm.ToValue(text)
	}
	if t := o.ExportType(); t != mapType && t != setType {
		return o
	}
	var content []any
	s.vm.ForOf(o, func(v goja.Value) bool {
		content = append(content, v)
		return true
	})
	return s.vm.NewArray(content...)
}

var dynamicServerType = reflect.TypeFor[*dynamicServer]()

// opaque returns the text in logs of an object that has no members to show, and is not empty.
func (s *session) opaque(o *goja.Object) (text string, ok bool) {
	switch o.ExportType() {
	case promiseType:
		return "[a promise: await it first]", true
	case dynamicServerType:
		return "[a server whose tools are not known yet: call them by their names]", true
	}
	return "", false
}

func (s *session) callable(o *goja.Object) (name string, ok bool) {
	if _, ok = goja.AssertFunction(o); !ok {
		return "", false
	}
	s.vm.Try(func() {
		if n, ok := o.Get("name").(goja.String); ok {
			name = clipped(n, 100)
		}
	})
	return name, true
}

// clipped returns at most the first UTF-16 code units of a string, without converting the rest.
func clipped(s goja.String, most int) string {
	if s.Length() > most {
		return s.Substring(0, most).String() + "…"
	}
	return s.String()
}
