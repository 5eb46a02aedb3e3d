package javascript

import (
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/dop251/goja"
)

// kindOf names a value's type for a message.
func kindOf(v goja.Value) string {
	switch x := v.(type) {
	case goja.String:
		return "string"
	case *goja.Symbol:
		return "symbol"
	case *goja.Object:
		if _, ok := goja.AssertFunction(x); ok {
			return "function"
		}
		return x.ClassName()
	}
	switch v.Export().(type) {
	case int64, float64:
		return "number"
	case bool:
		return "boolean"
	}
	return v.String()
}

// The types as which the engine exports a Map, a Set (or an Array), and a Proxy.
var (
	mapType   = reflect.TypeFor[[][2]any]()
	setType   = reflect.TypeFor[[]any]()
	proxyType = reflect.TypeFor[goja.Proxy]()

	bufferType = reflect.TypeFor[goja.ArrayBuffer]()
)

// lossReason returns why JSON cannot represent a value, and what to write instead; "" if it can.
func (js *engine) lossReason(v goja.Value) (why, hint string) {
	o, ok := v.(*goja.Object)
	if !ok {
		if _, symbol := v.(*goja.Symbol); symbol {
			return "a symbol is not data", "Give a string."
		}
		if _, text := v.(goja.String); text {
			return "", ""
		}
		switch n := v.Export().(type) {
		case float64:
			if math.IsNaN(n) || math.IsInf(n, 0) {
				return v.String() + " is not a JSON number", checkSource
			}
		}
		return "", ""
	}
	if _, ok := goja.AssertFunction(o); ok {
		return "a function is not data", "Give the value; in a filter use operators, such as {name: {$icontains: \"milk\"}}."
	}
	if o.ExportType() == proxyType {
		return "a Proxy is not data", "Give the object behind it, or spread it into a plain one: {...x}."
	}
	switch o.ClassName() {
	case "Array", "String", "Boolean":
		return "", ""
	case "Number":
		if n := o.ToNumber().ToFloat(); math.IsNaN(n) || math.IsInf(n, 0) {
			return "a Number object whose value is not a JSON number", checkSource
		}
		return "", ""
	case "RegExp":
		return "a regular expression is not data", "Filter texts with $contains, $icontains, $startsWith or $endsWith."
	}
	if what, hint := js.emptied(o); what != "" {
		return what + " is not data", hint
	}
	return js.hiddenMembers(o)
}

// emptied names an object whose JSON is {} although it has content, and returns what to use
// instead; "" for any other object.
func (js *engine) emptied(o *goja.Object) (what, hint string) {
	switch o.ClassName() {
	case "Error":
		return "an Error", "Give its message: error.message."
	case "Object":
	default:
		return "", ""
	}
	switch o.ExportType() {
	case promiseType:
		return "a promise", "Await it first."
	case mapType:
		return "a Map", "Give Object.fromEntries(map)."
	case setType:
		return "a Set", "Give [...set]."
	case bufferType:
		return "an ArrayBuffer", "Give Array.from(new Uint8Array(buffer))."
	case proxyType:
		return "", ""
	}
	switch o.Prototype() {
	case js.base.weakMap, js.base.weakSet:
		return "a WeakMap or a WeakSet", "Its content cannot be listed: keep it in a Map or a Set."
	case js.base.object:
		for _, name := range o.Symbols() { // as async generators are compiled
			if strings.HasSuffix(name.String(), asyncIterator) {
				return "an async iterator", "Collect it in an array: for await (const one of x) list.push(one)."
			}
		}
		return "", ""
	}
	for p, n := o.Prototype(), 0; p != nil && n < maxPrototypes && p.ExportType() != proxyType; p, n = p.Prototype(), n+1 {
		if p == js.base.iterator {
			return "an iterator", "Spread it into an array: [...x]."
		}
	}
	return "", ""
}

const (
	checkSource   = "Check what it was computed from; null says that there is no value."
	spreadIt      = "Spread it into a plain object, {...x}, and add what a spread leaves out: members of its class or prototype."
	asyncIterator = "Symbol.asyncIterator"
	// maxPrototypes bounds the search for a prototype.
	maxPrototypes = 8
)

// hiddenMembers returns why an object may have members that its JSON lacks: on a prototype,
// named by a symbol, or not enumerable; "" if it has none. A filter with only such members
// would become {} and match everything.
func (js *engine) hiddenMembers(o *goja.Object) (why, hint string) {
	proto := o.Prototype()
	if proto != nil && proto != js.base.object && proto != js.page {
		if proto.Prototype() == js.base.typedArray {
			return "the JSON of a typed array is not an array", "Give Array.from(x)."
		}
		return "only plain objects and arrays are data, not an instance of a class or an object with a prototype of its own", spreadIt
	}
	if own, shown := o.GetOwnPropertyNames(), o.Keys(); len(own) > len(shown) {
		for _, name := range own {
			if !slices.Contains(shown, name) {
				return "the member " + quote(name) + " is not enumerable, so it is not in the JSON", spreadIt
			}
		}
	}
	if len(o.Symbols()) > 0 {
		return "a member named by a symbol is not in the JSON", "Name members by strings."
	}
	return "", ""
}
