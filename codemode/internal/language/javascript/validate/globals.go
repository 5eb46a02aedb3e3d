package validate

import (
	"slices"
	"strings"

	"github.com/dop251/goja/file"

	"github.com/koan-go/koan/codemode/internal/language/javascript/script"
	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/fault"
)

// forbidden are globals of other runtimes that the sandbox does not have, with what to do
// instead.
var forbidden = map[string]string{
	"eval":           "Code from strings is not evaluated; write the code itself.",
	"fetch":          noNetwork,
	"XMLHttpRequest": noNetwork,
	"WebSocket":      noNetwork,
	"require":        "Everything is below SDK; what can be imported are the modules of @codemode.",
	"importScripts":  "Everything is below SDK; what can be imported are the modules of @codemode.",
	"process":        "There is no process in the sandbox; parameters of the run are in SDK.args and SDK.run.",
	"Deno":           "There is no such runtime in the sandbox; everything is below SDK.",
	"Bun":            "There is no such runtime in the sandbox; everything is below SDK.",
	"Buffer":         "There are no buffers in the sandbox; use strings and typed arrays.",
	"setInterval":    "A script ends by itself: use a loop, or setTimeout.",
	"setImmediate":   "Use setTimeout, or Promise.resolve().then(...).",
	"window":         "There is no browser in the sandbox.",
	"document":       "There is no browser in the sandbox.",
	"localStorage":   "There is no browser in the sandbox; keep what should stay in entities.",
	"sessionStorage": "There is no browser in the sandbox; keep what should stay in entities.",
	"navigator":      "There is no browser in the sandbox.",
	"alert":          "There is no browser in the sandbox; log with console.log, answer with SDK.Out.answer.",

	"EventSource":       noNetwork,
	"Headers":           noNetwork,
	"Request":           noNetwork,
	"Response":          noNetwork,
	"FormData":          noNetwork,
	"Blob":              "There are no files in the sandbox; use strings and typed arrays.",
	"module":            "Scripts are not CommonJS: end with the value, return it, or write export default.",
	"exports":           "Scripts are not CommonJS: end with the value, return it, or write export default.",
	"global":            "The global object is globalThis.",
	"self":              "The global object is globalThis.",
	"__dirname":         "There are no files in the sandbox.",
	"__filename":        "There are no files in the sandbox.",
	"Temporal":          "Use Date.",
	"AbortController":   "Nothing takes a signal: bound a call with Promise.race and setTimeout.",
	"AbortSignal":       "Nothing takes a signal: bound a call with Promise.race and setTimeout.",
	"Event":             "There are no events in the sandbox: call the function itself.",
	"EventTarget":       "There are no events in the sandbox: call the function itself.",
	"Worker":            "A script is one thread; calls of @codemode/servers/* run at the same time.",
	"SharedArrayBuffer": "A script is one thread: use ArrayBuffer.",
	"Atomics":           "A script is one thread: nothing can interfere.",
	"WebAssembly":       "Only JavaScript and TypeScript run in the sandbox.",
	"clearInterval":     "There is no setInterval: use a loop, or setTimeout.",
}

const noNetwork = "There is no network in the sandbox; call a plugin or an upstream server through SDK."

// noCodeFromText is the hint for Function. Since Function exists, only calls of it are reported.
const noCodeFromText = "Code from strings is not evaluated; write the function itself."

// globals are the global names of every script: those of the language, those of the Web
// that the sandbox has, and its own.
var globals = strings.Fields(`
	AggregateError Array ArrayBuffer BigInt BigInt64Array BigUint64Array Boolean DOMException DataView Date Error EvalError FinalizationRegistry
	Float32Array Float64Array Function Infinity Int16Array Int32Array Int8Array Intl Iterator JSON KoanError Map Math NaN Number Object Promise Proxy
	RangeError ReferenceError Reflect RegExp SDK Set String Symbol SyntaxError TextDecoder TextEncoder TypeError URIError URL URLSearchParams
	Uint16Array Uint32Array Uint8Array Uint8ClampedArray WeakMap WeakRef WeakSet
	arguments atob btoa clearTimeout console crypto decodeURI decodeURIComponent encodeURI encodeURIComponent escape globalThis isFinite isNaN
	parseFloat parseInt performance queueMicrotask setTimeout structuredClone undefined unescape
	constructor hasOwnProperty isPrototypeOf propertyIsEnumerable toLocaleString toString valueOf
	__proto__ __defineGetter__ __defineSetter__ __lookupGetter__ __lookupSetter__`)

// suggestible are those of globals that a misspelt name may stand for: functions, classes and objects
// that scripts use by name.
var suggestible = slices.DeleteFunc(slices.Clone(globals[:slices.Index(globals, "constructor")]), func(name string) bool {
	return slices.Contains([]string{"Infinity", "NaN", "undefined", "arguments"}, name)
})

var isGlobal = func() map[string]bool {
	out := map[string]bool{script.HookName: true, wire.ResultName: true}
	for _, name := range globals {
		out[name] = true
	}
	return out
}()

// otherGlobals are names that scripts use for members of SDK or console.
var otherGlobals = map[string]string{
	"Koan": "SDK", "koan": "SDK", "sdk": "SDK", "Sdk": "SDK", "client": "SDK", "db": "SDK.Entities", "prisma": "SDK.Entities", "entities": "SDK.Entities",
	"Entities": "SDK.Entities", "Out": "SDK.Out", "args": "SDK.args", "input": "SDK.args", "params": "SDK.args", "Servers": "SDK",
	"answer": "SDK.Out.answer", "emit": "SDK.Out.emit", "progress": "SDK.Out.progress", "print": "console.log", "log": "console.log", "logger": "console",
}

// global notes the use of a global that nothing in the script declares; s is the scope
// that it is used in, nil for a member of globalThis, and member what follows it, if that is a member.
func (m *members) global(s *scope, name, member string, at file.Idx, test bool) {
	hint, absent := forbidden[name]
	switch {
	case test:
		m.tested["global "+name] = true
	case name == "process" && member == "exitCode": // how a script of the guide says that it has failed
	case absent:
		m.fail(at, "global "+name, wire.DiagnosticForbiddenGlobal, quote(name)+" does not exist in the sandbox", hint)
	case isGlobal[name] || m.names.assigned[name] || m.names.globals[name] || m.names.dynamic || name == "callTool" && m.bindings.CallTool:
	case slices.Contains(wire.ErrorClasses, name):
		m.fail(at, "global "+name, wire.DiagnosticUnknownGlobal, quote(name)+" is not declared", "Import it: import { "+name+" } from \""+wire.ModuleErrors+"\".")
	case m.reporting(): // a suggestion is expensive to find
		likely := m.below(name)
		if likely == "" {
			likely = m.nearestGlobal(s, name)
		}
		if likely == "SDK" && slices.Contains(sdkMembers, member) {
			likely += "." + member
		}
		hint := "Declare it; what the app offers is below SDK: " + m.offered() + "."
		switch likely {
		case "":
		case "SDK":
			hint = "Write SDK: SDK.Entities.<Name>, SDK.Out.answer(...), SDK.args."
		default:
			hint = "Write " + likely + "."
		}
		m.fail(at, "global "+name, wire.DiagnosticUnknownGlobal, quote(name)+" is not declared"+didYouMean(likely), hint)
	}
}

// nearestGlobal returns what a script may have meant by an undeclared name: a name that is visible
// there, or the path of one below SDK; "" if nothing is similar.
func (m *members) nearestGlobal(s *scope, name string) string {
	if other := otherGlobals[name]; other != "" {
		return other
	}
	own := s.visible()
	known := slices.Concat(own, suggestible, m.entityNames, outMembers)
	for i := range m.bindings.Domains {
		known = append(known, m.bindings.Domains[i].Name)
	}
	nearest := fault.Nearest(name, known)
	if slices.Contains(own, nearest) || isGlobal[nearest] {
		return nearest
	}
	return m.below(nearest)
}
