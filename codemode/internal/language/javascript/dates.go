package javascript

import (
	"strings"

	"github.com/dop251/goja"
)

// fixDates makes toISOString, and with it the JSON of a Date, write years of more than four
// digits with six, as ECMAScript requires: the engine writes five.
func (js *engine) fixDates() error {
	proto := js.vm.Get("Date").(*goja.Object).Get("prototype").(*goja.Object)
	whole, _ := goja.AssertFunction(proto.Get("toISOString"))
	fixed := js.function("toISOString", 0, func(c goja.FunctionCall) goja.Value {
		v, err := whole(c.This)
		if err != nil {
			panic(err)
		}
		text := v.String()
		if text[0] != '+' && text[0] != '-' {
			return v
		}
		year, rest, _ := strings.Cut(text[1:], "-")
		return js.vm.ToValue(text[:1] + strings.Repeat("0", max(6-len(year), 0)) + year + "-" + rest)
	})
	return proto.DefineDataProperty("toISOString", fixed, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
}
