package worker

import (
	"math"
	"math/big"
	"reflect"
	"strings"

	"github.com/dop251/goja"

	"github.com/koan-go/koan/framework/fault"
)

// lossless looks at every value of an input on its way into JSON, as the replacer
// of JSON.stringify. What JSON would change in silence it refuses: a number that
// is none becomes null, a function or an undefined condition disappears, and a
// filter that lost its condition matches everything.
type lossless struct {
	place
	path []step
}

// place is where a value stands.
type place struct {
	at     string // JSON Pointer in the call's input
	entity bool   // the call is to an entity, whose filters are known
}

// step is a member on the way to the value that is looked at.
type step struct {
	key   string
	value goja.Value
}

// jsonOf gives the JSON text of a value in a call's input.
func (s *session) jsonOf(v goja.Value, where place) (goja.Value, error) {
	outer := s.lossless // a toJSON may make calls of its own
	defer func() { s.lossless = outer }()
	s.lossless = lossless{place: where, path: outer.path[len(outer.path):]}
	if s.refuseLosses == nil {
		s.refuseLosses = s.function("", 2, s.lookAt)
	}
	return s.stringify(goja.Undefined(), v, s.refuseLosses)
}

// lookAt is the replacer: it gives the value back, or throws.
func (s *session) lookAt(c goja.FunctionCall) goja.Value {
	holder, key, v := c.This, c.Arguments[0], c.Arguments[1]
	l := &s.lossless
	for n := len(l.path); n > 0 && !l.path[n-1].value.SameAs(holder); n-- {
		l.path = l.path[:n-1]
	}
	why, hint := s.loss(v)
	switch {
	case why != "":
	case goja.IsUndefined(v) && l.inFilter():
		why, hint = "undefined is no condition", "Leave the member out to ask for nothing, or compare with null."
	case goja.IsNull(v) && s.invalidDate(holder, key):
		why, hint = "an invalid Date has no time", "Check what the Date was made of: RFC 3339, such as 2026-01-31T08:00:00Z."
	}
	if why != "" {
		detail := fault.Detail{Path: l.pointer(key.String()), Message: why, Expected: "data of JSON", Received: s.kindOf(v)}
		s.throw(fault.Invalid(detail).WithHint("%s", hint))
	}
	if o, ok := v.(*goja.Object); ok {
		l.path = append(l.path, step{key.String(), o})
	}
	return v
}

// inFilter tells whether the member that is looked at is a condition.
func (l *lossless) inFilter() bool {
	at := l.pointer("") + "/"
	return l.entity && (strings.HasPrefix(at, "/filter/") || strings.HasPrefix(at, "/with/") && strings.Contains(at, "/filter/"))
}

// pointer gives the JSON Pointer of a member of the value that is looked at.
func (l *lossless) pointer(key string) string {
	var b strings.Builder
	b.WriteString(l.at)
	for i, p := range l.path {
		if i > 0 { // the first is the whole value
			b.WriteString("/" + pointerEscapes.Replace(clip(p.key, 100)))
		}
	}
	if len(l.path) > 0 && key != "" {
		b.WriteString("/" + pointerEscapes.Replace(clip(key, 100)))
	}
	return b.String()
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// As what the engine exports a Map and, but for an Array, a Set.
var (
	mapType = reflect.TypeFor[[][2]any]()
	setType = reflect.TypeFor[[]any]()
)

// loss says why a value cannot be said in JSON, and what to write instead; ""
// for one that can.
func (s *session) loss(v goja.Value) (why, hint string) {
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
				return v.String() + " is not a number of JSON", "Check what it was computed from; null says that there is no value."
			}
		case *big.Int:
			return "a BigInt is not JSON", "Give Number(x), or String(x) beyond 2^53."
		}
		return "", ""
	}
	if _, ok := goja.AssertFunction(o); ok {
		return "a function is not data", "Give the value; in a filter use operators, such as {name: {$icontains: \"milk\"}}."
	}
	if o.ClassName() == "RegExp" {
		return "a regular expression is not data", "Filter texts with $contains, $icontains, $startsWith or $endsWith."
	}
	if o.ClassName() != "Object" {
		return "", ""
	}
	switch o.ExportType() {
	case promiseType:
		return "a promise is not data", "Await it first."
	case mapType:
		return "a Map has no JSON", "Give Object.fromEntries(map)."
	case setType:
		return "a Set has no JSON", "Give [...set]."
	}
	return "", ""
}

// invalidDate tells whether a null was a Date without a time.
func (s *session) invalidDate(holder, key goja.Value) bool {
	h, ok := holder.(*goja.Object)
	if !ok {
		return false
	}
	o, ok := h.Get(key.String()).(*goja.Object)
	return ok && o.ClassName() == "Date"
}
