package javascript

import (
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/dop251/goja"

	"github.com/koan-go/koan/framework/fault"
)

// inputCheck is the state of the replacer of JSON.stringify that checks every value of an
// input. The replacer rejects what JSON would silently change: NaN becomes null, a function or
// an undefined condition disappears, members of a class or a prototype are left out, and a
// filter that lost its condition matches everything. The result of a toJSON is checked instead
// of its object.
type inputCheck struct {
	place
	path []step
	on   map[*goja.Object]bool // the values of path
}

// place is the position of a value in a call's input.
type place struct {
	at     string // JSON Pointer
	entity bool   // the call is one of an entity, so that filters can be recognised
}

// step is a member on the path to the value being checked.
type step struct {
	key   string
	value goja.Value
}

// jsonOf returns the JSON text of a value in a call's input.
func (s *session) jsonOf(v goja.Value, where place) (goja.Value, error) {
	outer := s.check // this call may come from a toJSON in the input of another
	defer func() { s.check = outer }()
	s.check = inputCheck{place: where, path: outer.path[len(outer.path):], on: map[*goja.Object]bool{}}
	if s.replacer == nil {
		s.replacer = s.function("", 2, s.checkMember)
	}
	return s.stringify(goja.Undefined(), v, s.replacer)
}

// checkMember is the replacer: it returns the value unchanged, or throws a fault.
func (s *session) checkMember(c goja.FunctionCall) goja.Value {
	holder, key, v := c.This, c.Arguments[0], c.Arguments[1]
	l := &s.check
	l.leaveTo(holder)
	why, hint := s.lossReason(v)
	switch {
	case why != "":
	case goja.IsUndefined(v) && l.inFilter():
		why, hint = "undefined is not a condition", "Leave the member out to ask for nothing, or compare with null."
	case goja.IsNull(v) && s.invalidDate(holder, key):
		why, hint = "an invalid Date has no time", "Check what the Date was made of: RFC 3339, such as 2026-01-31T08:00:00Z."
	case l.within(v):
		why, hint = "an object inside itself cannot be written as JSON", "Leave it out; refer to an entity by its id."
	default:
		why, hint = s.unlinks(holder, key.String(), v)
	}
	if why != "" {
		detail := fault.Detail{Path: l.pointer(key.String()), Message: why, Expected: "JSON data", Received: s.kindOf(v)}
		s.throw(fault.Invalid(detail).WithHint("%s", hint))
	}
	if o, ok := v.(*goja.Object); ok {
		l.path = append(l.path, step{key.String(), o})
		l.on[o] = true
		return v
	}
	return asBigText(v)
}

// leaveTo drops from the path what does not lead to a holder of members.
func (l *inputCheck) leaveTo(holder goja.Value) {
	for n := len(l.path); n > 0 && !l.path[n-1].value.SameAs(holder); n-- {
		o, _ := l.path[n-1].value.(*goja.Object)
		delete(l.on, o)
		l.path = l.path[:n-1]
	}
}

// within reports whether a value is one of the objects that lead to it.
func (l *inputCheck) within(v goja.Value) bool {
	o, ok := v.(*goja.Object)
	return ok && l.on[o]
}

// inFilter reports whether the member being checked is a condition.
func (l *inputCheck) inFilter() bool {
	at := l.holder() + "/"
	return l.entity && (strings.HasPrefix(at, "/filter/") || strings.HasPrefix(at, "/with/") && strings.Contains(at, "/filter/"))
}

// part returns the name of the member of the call's input that is being checked, or has what is.
func (l *inputCheck) part() string {
	switch {
	case l.at != "":
		return l.at[1:]
	case len(l.path) > 1: // the first step is the whole input
		return l.path[1].key
	}
	return ""
}

// holder returns the JSON Pointer of the object whose member is being checked.
func (l *inputCheck) holder() string {
	var b strings.Builder
	b.WriteString(l.at)
	for i, p := range l.path {
		if i > 0 { // the first step is the whole value
			b.WriteString("/" + pointerEscapes.Replace(fault.Clip(p.key, 100)))
		}
	}
	return b.String()
}

// pointer returns the JSON Pointer of a member of that object.
func (l *inputCheck) pointer(key string) string {
	if len(l.path) == 0 {
		return l.at
	}
	return l.holder() + "/" + pointerEscapes.Replace(fault.Clip(key, 100))
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// The types as which the engine exports a Map, a Set (or an Array), and a Proxy.
var (
	mapType   = reflect.TypeFor[[][2]any]()
	setType   = reflect.TypeFor[[]any]()
	proxyType = reflect.TypeFor[goja.Proxy]()

	bufferType = reflect.TypeFor[goja.ArrayBuffer]()
)

// lossReason returns why JSON cannot represent a value, and what to write instead; "" if it can.
func (s *session) lossReason(v goja.Value) (why, hint string) {
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
	if what, hint := s.emptied(o); what != "" {
		return what + " is not data", hint
	}
	return s.hiddenMembers(o)
}

// emptied names an object whose JSON is {} although it has content, and returns what to use
// instead; "" for any other object.
func (s *session) emptied(o *goja.Object) (what, hint string) {
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
	case s.base.weakMap, s.base.weakSet:
		return "a WeakMap or a WeakSet", "Its content cannot be listed: keep it in a Map or a Set."
	case s.base.object:
		for _, name := range o.Symbols() { // as async generators are compiled
			if strings.HasSuffix(name.String(), asyncIterator) {
				return "an async iterator", "Collect it in an array: for await (const one of x) list.push(one)."
			}
		}
		return "", ""
	}
	for p, n := o.Prototype(), 0; p != nil && n < maxPrototypes && p.ExportType() != proxyType; p, n = p.Prototype(), n+1 {
		if p == s.base.iterator {
			return "an iterator", "Spread it into an array: [...x]."
		}
	}
	return "", ""
}

const (
	checkSource   = "Check what it was computed from; null says that there is no value."
	spreadIt      = "Spread it into a plain object, {...x}, and add what a spread leaves out: members of its class or prototype."
	asyncIterator = "Symbol.asyncIterator"
	// maxPrototypes bounds the search for %IteratorPrototype%.
	maxPrototypes = 8
)

// hiddenMembers returns why an object may have members that its JSON lacks: on a prototype,
// named by a symbol, or not enumerable; "" if it has none. A filter with only such members
// would become {} and match everything.
func (s *session) hiddenMembers(o *goja.Object) (why, hint string) {
	proto := o.Prototype()
	if proto != nil && proto != s.base.object && proto != s.base.page {
		if proto.Prototype() == s.base.typedArray {
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

// invalidDate reports whether a null in the JSON stands for an invalid Date.
func (s *session) invalidDate(holder, key goja.Value) bool {
	h, ok := holder.(*goja.Object)
	if !ok {
		return false
	}
	o, ok := h.Get(key.String()).(*goja.Object)
	return ok && o.ClassName() == "Date"
}
