package javascript

import (
	"strconv"

	"github.com/dop251/goja"

	"github.com/koan-go/koan/framework/fault"
)

// bindConsole defines console, whose functions write to the run's logs (CONTRACT section 3).
func (s *session) bindConsole() {
	o := s.vm.NewObject()
	for name, level := range map[string]string{
		"log": "info", "info": "info", "debug": "debug", "trace": "debug", "warn": "warn", "error": "error",
		"dir": "info", "dirxml": "info", "table": "info",
	} {
		s.method(o, name, 0, s.logger(level))
	}
	info := s.logger("info")
	labelled := func(c goja.FunctionCall) goja.Value {
		if len(c.Arguments) == 0 {
			return goja.Undefined()
		}
		return info(c)
	}
	s.method(o, "group", 0, labelled)
	s.method(o, "groupCollapsed", 0, labelled)
	s.method(o, "groupEnd", 0, func(goja.FunctionCall) goja.Value { return goja.Undefined() })
	logError := s.logger("error")
	s.method(o, "assert", 0, func(c goja.FunctionCall) goja.Value {
		if c.Argument(0).ToBoolean() {
			return goja.Undefined()
		}
		parts := []goja.Value{s.vm.ToValue("Assertion failed")}
		if len(c.Arguments) > 1 {
			parts = append([]goja.Value{s.vm.ToValue("Assertion failed:")}, c.Arguments[1:]...)
		}
		return logError(goja.FunctionCall{Arguments: parts})
	})
	s.counters(o)
	s.define(s.vm.GlobalObject(), "console", o)
}

// counters adds count and countReset, and time, timeLog and timeEnd by the script's clock.
func (s *session) counters(o *goja.Object) {
	counts, begins := map[string]int{}, map[string]int64{}
	label := func(c goja.FunctionCall) string {
		if v := c.Argument(0); !goja.IsUndefined(v) {
			return fault.Clip(s.display(v), 100)
		}
		return "default"
	}
	method := func(name string, f func(label string, c goja.FunctionCall)) {
		s.method(o, name, 0, func(c goja.FunctionCall) goja.Value {
			if f(label(c), c); len(counts)+len(begins) > maxLabels {
				clear(counts)
				clear(begins)
			}
			return goja.Undefined()
		})
	}
	method("count", func(l string, _ goja.FunctionCall) {
		counts[l]++
		s.log("info", l+": "+strconv.Itoa(counts[l]))
	})
	method("countReset", func(l string, _ goja.FunctionCall) { delete(counts, l) })
	method("time", func(l string, _ goja.FunctionCall) { begins[l] = s.clock.sinceStartMs() })
	elapsed := func(l string, _ goja.FunctionCall) {
		if at, ok := begins[l]; ok {
			s.log("info", l+": "+strconv.FormatInt(s.clock.sinceStartMs()-at, 10)+" ms")
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
