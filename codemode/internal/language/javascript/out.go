package javascript

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/dop251/goja"

	"github.com/koan-go/koan/codemode/internal/language/javascript/script"
	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/exact"
	"github.com/koan-go/koan/framework/fault"
)

// out is SDK.Out, and the result of the script.
type out struct {
	js      *engine
	job     *assignment
	host    *connection
	faults  *faults
	console *console
	calls   *calls

	result  *wire.Result
	emitted emitted
}

// object returns SDK.Out.
func (ou *out) object() *goja.Object {
	o := ou.js.vm.NewObject()
	ou.js.method(o, "answer", 1, ou.answer)
	for _, level := range []string{"info", "warn", "error"} {
		ou.js.method(o, level, 1, ou.console.logger(level))
	}
	ou.js.method(o, "emit", 1, ou.emit)
	ou.js.method(o, "file", 1, ou.attach)
	ou.js.method(o, "progress", 3, func(c goja.FunctionCall) goja.Value {
		message := ""
		if v := c.Argument(2); !goja.IsUndefined(v) {
			message = fault.Clip(ou.console.display(v), maxMessage)
		}
		done, total := c.Argument(0).ToFloat(), c.Argument(1).ToFloat()
		if !finite(done) {
			return goja.Undefined()
		}
		if !finite(total) { // usually omitted
			total = 0
		}
		ou.host.Progress(wire.Progress{Done: done, Total: total, Message: message})
		return goja.Undefined()
	})
	return o
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// passed returns the JSON of what a script passes on, as it is at that moment. If there is none,
// or it exceeds the limit, the run ends (CONTRACT section 3: a limit ends it even when caught),
// and ok is false. An exception that the script's own code throws meanwhile is passed on
// unchanged.
func (ou *out) passed(v goja.Value, what string) (raw []byte, ok bool) {
	raw, err := ou.serialise(v, what)
	var f *fault.Fault
	switch {
	case err == nil:
	case isFault(err, &f):
		ou.host.end(f)
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
func (ou *out) answer(c goja.FunctionCall) goja.Value {
	if raw, ok := ou.passed(c.Argument(0), "the answer"); ok {
		ou.result.Answer = raw
	}
	return goja.Undefined()
}

// emitted are how many values the script has emitted, and their bytes.
type emitted struct{ count, bytes int }

// emit passes on its argument while the script goes on.
func (ou *out) emit(c goja.FunctionCall) goja.Value {
	if ou.job.Action {
		ou.faults.throw(fault.New(fault.CapabilityUnsupported, "an action cannot emit values").WithHint("Return all that its caller needs as the action's output, or log it."))
	}
	raw, ok := ou.passed(c.Argument(0), "the emitted value")
	if !ok {
		return goja.Undefined()
	}
	ou.emitted.count++
	ou.emitted.bytes += len(raw)
	switch most := ou.job.Limits.MaxResultBytes; {
	case ou.emitted.count > wire.MaxEmitted:
		ou.host.end(fault.Newf(fault.ResultTooLarge, "the script emits more than %d values", wire.MaxEmitted).WithHint("Emit a summary of several steps at a time."))
	case ou.emitted.bytes > most:
		ou.host.end(fault.Newf(fault.ResultTooLarge, "the emitted values are larger than %d bytes together", most).WithHint("Emit less: ids and counts instead of whole rows."))
	default:
		ou.host.Emit(raw)
	}
	return goja.Undefined()
}

// attach puts a file into the result, by its id or as SDK.Files.create returned it. What it
// returns is the file.
func (ou *out) attach(c goja.FunctionCall) goja.Value {
	if ou.job.Action {
		ou.faults.throw(fault.New(fault.CapabilityUnsupported, "an action cannot put files into the result").WithHint("Return the file's id in the action's output."))
	}
	id := c.Argument(0)
	if o, ok := id.(*goja.Object); ok {
		id = o.Get("id")
	}
	if len(ou.result.Files) == wire.MaxFiles {
		ou.faults.throw(fault.Newf(fault.ResultTooLarge, "the result has %d files, and cannot have more", wire.MaxFiles).WithHint("Return the ids of further files in the answer."))
	}
	in, err := json.Marshal(map[string]any{"id": id.Export()})
	if err != nil {
		ou.faults.throw(fault.Invalid(fault.Detail{Path: "/id", Message: "must be a file's id", Expected: "string"}))
	}
	f := ou.calls.call(wire.FilesGet, in)
	ou.result.Files = append(ou.result.Files, id.String())
	return f
}

// serialise returns the JSON of a value within the limits, nil if it has none (undefined). The
// error is a fault, or what the script's own code threw meanwhile.
func (ou *out) serialise(v goja.Value, what string) ([]byte, error) {
	most := ou.job.Limits.MaxResultBytes
	tooLarge := fault.Newf(fault.ResultTooLarge, "%s is larger than %d bytes", what, most)
	outside := len(ou.js.vm.CaptureCallStack(0, nil))
	var warnings []string
	var l inputCheck
	var last step // the member that is being written
	var size jsonSize
	text, err := ou.js.base.stringify(goja.Undefined(), v, ou.js.function("", 2, func(c goja.FunctionCall) goja.Value {
		if w := ou.emptiedAs(what, c.Arguments[0], c.Arguments[1]); w != "" && len(warnings) < maxWarnings {
			warnings = append(warnings, w)
		}
		if _, ok := last.value.(*goja.Object); ok {
			l.path = append(l.path, last)
		}
		l.leaveTo(c.This)
		last = step{c.Arguments[0].String(), c.Arguments[1]}
		if size.add(c.Arguments[0], last.value); int(size) > most {
			panic(ou.js.vm.NewTypeError(tooLarge.Message))
		}
		return asBigText(last.value)
	}))
	if int(size) > most {
		return nil, tooLarge
	}
	if err != nil {
		if uncatchable(err) {
			panic(err)
		}
		if thrown, ok := err.(*goja.Exception); ok && ou.thrownInside(thrown, outside) {
			return nil, err
		}
		return nil, fault.Newf(fault.JavaScriptError, "%s is not JSON%s: %s", what, atPath(l.pointer(last.key)), ou.faults.safeFaultOf(err).Message).
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
				ou.host.log("warn", w)
			}
			return raw, nil
		}
	}
	return nil, tooLarge
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
func (ou *out) emptiedAs(what string, key, v goja.Value) string {
	o, ok := v.(*goja.Object)
	if !ok {
		return ""
	}
	thing, hint := ou.js.emptied(o)
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
func (ou *out) thrownInside(ex *goja.Exception, outside int) bool {
	o, ok := ex.Value().(*goja.Object)
	if !ok || o.ClassName() != "Error" {
		return true
	}
	stack := ex.Stack()
	return hasUserFrame(stack[:max(len(stack)-outside, 0)]) || len(stack) > 0 && stack[0].SrcName() == script.Name
}
