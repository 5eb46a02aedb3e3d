package javascript

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/dop251/goja"

	"github.com/koan-go/koan/framework/fault"
)

// console writes to the run's logs.
type console struct {
	js   *engine
	job  *assignment
	host *connection
}

// bind defines console, whose functions write to the run's logs (CONTRACT section 3).
func (cs *console) bind() {
	o := cs.js.vm.NewObject()
	for name, level := range map[string]string{
		"log": "info", "info": "info", "debug": "debug", "trace": "debug", "warn": "warn", "error": "error",
		"dir": "info", "dirxml": "info", "table": "info",
	} {
		cs.js.method(o, name, 0, cs.logger(level))
	}
	info := cs.logger("info")
	labelled := func(c goja.FunctionCall) goja.Value {
		if len(c.Arguments) == 0 {
			return goja.Undefined()
		}
		return info(c)
	}
	cs.js.method(o, "group", 0, labelled)
	cs.js.method(o, "groupCollapsed", 0, labelled)
	cs.js.method(o, "groupEnd", 0, func(goja.FunctionCall) goja.Value { return goja.Undefined() })
	logError := cs.logger("error")
	cs.js.method(o, "assert", 0, func(c goja.FunctionCall) goja.Value {
		if c.Argument(0).ToBoolean() {
			return goja.Undefined()
		}
		parts := []goja.Value{cs.js.vm.ToValue("Assertion failed")}
		if len(c.Arguments) > 1 {
			parts = append([]goja.Value{cs.js.vm.ToValue("Assertion failed:")}, c.Arguments[1:]...)
		}
		return logError(goja.FunctionCall{Arguments: parts})
	})
	cs.counters(o)
	cs.js.define(cs.js.vm.GlobalObject(), "console", o)
}

// counters adds count and countReset, and time, timeLog and timeEnd by the script's clock.
func (cs *console) counters(o *goja.Object) {
	counts, begins := map[string]int{}, map[string]int64{}
	label := func(c goja.FunctionCall) string {
		if v := c.Argument(0); !goja.IsUndefined(v) {
			return fault.Clip(cs.display(v), 100)
		}
		return "default"
	}
	method := func(name string, f func(label string, c goja.FunctionCall)) {
		cs.js.method(o, name, 0, func(c goja.FunctionCall) goja.Value {
			if f(label(c), c); len(counts)+len(begins) > maxLabels {
				clear(counts)
				clear(begins)
			}
			return goja.Undefined()
		})
	}
	method("count", func(l string, _ goja.FunctionCall) {
		counts[l]++
		cs.host.log("info", l+": "+strconv.Itoa(counts[l]))
	})
	method("countReset", func(l string, _ goja.FunctionCall) { delete(counts, l) })
	method("time", func(l string, _ goja.FunctionCall) { begins[l] = cs.host.clock.sinceStartMs() })
	elapsed := func(l string, _ goja.FunctionCall) {
		if at, ok := begins[l]; ok {
			cs.host.log("info", l+": "+strconv.FormatInt(cs.host.clock.sinceStartMs()-at, 10)+" ms")
		}
	}
	method("timeLog", elapsed)
	method("timeEnd", func(l string, c goja.FunctionCall) {
		elapsed(l, c)
		delete(begins, l)
	})
}

// maxLabels bounds the labels that console.count and console.time keep.
const maxLabels = 1000

func (cs *console) logger(level string) native {
	return func(c goja.FunctionCall) goja.Value {
		if cs.host.LogsFull() {
			return goja.Undefined() // formatting is expensive, and the entry would be dropped
		}
		parts := make([]string, len(c.Arguments))
		for i, a := range c.Arguments {
			parts[i] = cs.display(a)
		}
		cs.host.log(level, strings.Join(parts, " "))
		return goja.Undefined()
	}
}

// unserializable is the text in logs of an object that has no JSON (codemode-run-spec
// section 3.3.1).
const unserializable = "[Unserializable Object]"

// display returns the text of a value for a log: a string as it is, an object as JSON with the
// content of Maps and Sets, anything else by its own conversion to a string.
func (cs *console) display(v goja.Value) string {
	o, ok := v.(*goja.Object)
	if !ok {
		switch x := v.(type) {
		case goja.String:
			return clipped(x, cs.job.Limits.MaxLogMessageBytes+1)
		case *goja.Symbol:
			return "Symbol(" + fault.Clip(x.String(), 100) + ")"
		}
		return v.String()
	}
	if text, ok := opaque(o); ok {
		return text
	}
	if o.ClassName() != "Error" && o.ClassName() != "Function" {
		var size jsonSize
		most := cs.job.Limits.MaxLogMessageBytes + 1
		text, err := cs.js.base.stringify(goja.Undefined(), o, cs.js.function("", 2, func(c goja.FunctionCall) goja.Value {
			return size.shorten(c.Argument(0), cs.visible(c), most)
		}))
		if uncatchable(err) {
			panic(err)
		}
		if str, ok := text.(goja.String); ok && err == nil {
			return clipped(str, most)
		}
		if err != nil {
			return unserializable
		}
	}
	if name, ok := cs.js.callable(o); ok {
		return "[function " + name + "]"
	}
	text := "[" + o.ClassName() + "]"
	cs.js.vm.Try(func() {
		if str, ok := o.ToString().(goja.String); ok {
			text = clipped(str, cs.job.Limits.MaxLogMessageBytes+1)
		}
	})
	return text
}

// visible is the replacer of the JSON in logs. It returns the content of what is {} in JSON, since
// who looks for an error would take a Map for an empty one: of a Map its entries, of a Set its
// elements, the text of an error and of a regular expression; and that a member is a function, or it
// would look as if an object of functions, such as SDK.Servers.x, had none.
func (cs *console) visible(c goja.FunctionCall) goja.Value {
	o, ok := c.Argument(1).(*goja.Object)
	if !ok {
		return c.Argument(1)
	}
	switch o.ClassName() {
	case "Error", "RegExp":
		return o.ToString()
	case "Function":
		if name, ok := cs.js.callable(o); ok && name != c.Argument(0).String() {
			return cs.js.vm.ToValue("[function " + name + "]")
		}
		return cs.js.vm.ToValue("[function]")
	}
	if text, ok := opaque(o); ok {
		return cs.js.vm.ToValue(text)
	}
	if t := o.ExportType(); t != mapType && t != setType {
		return o
	}
	var content []any
	cs.js.vm.ForOf(o, func(v goja.Value) bool {
		content = append(content, v)
		return true
	})
	return cs.js.vm.NewArray(content...)
}

var dynamicServerType = reflect.TypeFor[*dynamicServer]()

// opaque returns the text in logs of an object that has no members to show, and is not empty.
func opaque(o *goja.Object) (text string, ok bool) {
	switch o.ExportType() {
	case promiseType:
		return "[a promise: await it first]", true
	case dynamicServerType:
		return "[a server whose tools are not known yet: call them by their names]", true
	}
	return "", false
}

// clipped returns at most the first UTF-16 code units of a string, without converting the rest.
func clipped(s goja.String, most int) string {
	if s.Length() > most {
		return s.Substring(0, most).String() + "…"
	}
	return s.String()
}
