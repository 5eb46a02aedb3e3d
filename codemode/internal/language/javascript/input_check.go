package javascript

import (
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
	size jsonSize
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
func (ns *inputs) jsonOf(v goja.Value, where place) (goja.Value, error) {
	outer := ns.check // this call may come from a toJSON in the input of another
	defer func() { ns.check = outer }()
	ns.check = inputCheck{place: where, path: outer.path[len(outer.path):], on: map[*goja.Object]bool{}}
	if ns.replacer == nil {
		ns.replacer = ns.js.function("", 2, ns.checkMember)
	}
	return ns.js.base.stringify(goja.Undefined(), v, ns.replacer)
}

// checkMember is the replacer: it returns the value unchanged, or throws a fault.
func (ns *inputs) checkMember(c goja.FunctionCall) goja.Value {
	holder, key, v := c.This, c.Arguments[0], c.Arguments[1]
	l := &ns.check
	l.leaveTo(holder)
	why, hint := ns.js.lossReason(v)
	switch {
	case why != "":
	case goja.IsUndefined(v) && l.inFilter():
		why, hint = "undefined is not a condition", "Leave the member out to ask for nothing, or compare with null."
	case goja.IsNull(v) && invalidDate(holder, key):
		why, hint = "an invalid Date has no time", "Check what the Date was made of: RFC 3339, such as 2026-01-31T08:00:00Z."
	case l.within(v):
		why, hint = "an object inside itself cannot be written as JSON", "Leave it out; refer to an entity by its id."
	default:
		why, hint = ns.partials.unlinks(&ns.check, holder, key.String(), v)
	}
	if why != "" {
		detail := fault.Detail{Path: l.pointer(key.String()), Message: why, Expected: "JSON data", Received: kindOf(v)}
		ns.faults.throw(fault.Invalid(detail).WithHint("%s", hint))
	}
	l.size.add(key, v)
	if most := ns.job.Limits.MaxCallBytes; int(l.size) > most {
		ns.tooLarge(l.at, most)
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

// invalidDate reports whether a null in the JSON stands for an invalid Date.
func invalidDate(holder, key goja.Value) bool {
	h, ok := holder.(*goja.Object)
	if !ok {
		return false
	}
	o, ok := h.Get(key.String()).(*goja.Object)
	return ok && o.ClassName() == "Date"
}
