package validate

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/dop251/goja/ast"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// Ask lets an operation check the input of a call; nil means that it is valid.
type Ask func(id string, input []byte) *fault.Fault

// Bounds on the inputs that are checked for one script.
const (
	maxAsked      = 200
	maxAskedBytes = 64 << 10 // of one input
)

// inputs lets operations check the inputs of calls as far as these are literals.
type inputs struct {
	*findings
	*literals
	ask   Ask
	asked int // how many inputs were checked
}

// check lets the operation of a call check the known parts of the input, and reports
// their problems. Problems that may be caused by unknown parts are not reported.
func (in *inputs) check(s *scope, callee value, e *ast.CallExpression) {
	if in.ask == nil || in.asked >= maxAsked || slices.ContainsFunc(e.ArgumentList, isSpread) {
		return
	}
	root, id := in.inputOf(s, callee, e)
	if root == nil {
		return
	}
	if callee.entity != nil && callee.kind != tool && in.reportUndefined(root, "") {
		return
	}
	input := root.appendJSON(nil)
	if len(input) > maxAskedBytes {
		return
	}
	in.asked++
	f := in.ask(id, input)
	if f == nil || f.Code != fault.InvalidPayload && f.Code != fault.UnknownSet {
		return
	}
	for _, d := range Details(f) {
		at, depth, exact := root.at(d.Path)
		switch {
		case f.Code == fault.UnknownSet && !exact: // the default set, which a run may change
		case !at.known, !root.known && dependent(callee, d.Path, at, depth, exact):
		case exact && at != root && in.foundIn(at): // the finding about the name is more specific
		default:
			in.invalid(callee, at, exact, d, f)
		}
	}
}

// dependent reports whether a problem may be caused by an unknown member of the input:
// computed columns, a permission, another condition.
func dependent(callee value, path string, at *inputValue, depth int, exact bool) bool {
	if !exact || depth == 0 || depth == 1 && at.json == nil {
		return true
	}
	first := fault.Steps(path)[0]
	return first == having || callee.method == "aggregate" && first == "sort"
}

// invalid reports an operation's fault about an input.
func (in *inputs) invalid(callee value, at *inputValue, exact bool, d fault.Detail, f *fault.Fault) {
	code, hint := wire.DiagnosticInvalidArgument, f.Hint
	if f.Code == fault.UnknownSet {
		code = wire.DiagnosticUnknownSet
	}
	if e, _ := fault.Lookup(f.Code); hint == e.Hint {
		problem := d
		if !exact { // what is expected is inside the value
			problem.Expected = ""
		}
		if callee.entity != nil && callee.kind != tool {
			hint = CallHint(callee.entity.Name, callee.method, problem)
		}
	}
	in.failAt(at.from, d.Path, code, d.Message, hint)
}

// CallHint returns the hint for a problem of an input of an entity's method, whose fault has none of
// its own: what the value may be; how the method is called, if an argument is wrong or an option
// unknown; else where to correct the input.
func CallHint(entity, method string, d fault.Detail) string {
	steps := fault.Steps(d.Path)
	op, _, _ := catalog.EntityMethod(method)
	switch {
	case strings.Contains(d.Expected, " ") && !strings.Contains(d.Message, d.Expected): // more than a type
		return "Expected: " + d.Expected + "."
	case len(steps) > 1:
		return "Correct the value at " + d.Path + "; the declaration of " + entity + " says what its fields take."
	case len(steps) == 0, !slices.Contains(op.Options, steps[0]):
		return "Call it as " + catalog.MethodUsage(method) + "."
	case steps[0] == "pageSize" && strings.HasPrefix(d.Received, "number "):
		return "Give a pageSize in that range; each goes through all pages by itself, and all returns an array."
	}
	return "Correct the value of " + steps[0] + "."
}

// Details returns the problems of a fault, one by one.
func Details(f *fault.Fault) []fault.Detail {
	var out []fault.Detail
	if raw, err := json.Marshal(f.Details); err == nil && json.Unmarshal(raw, &out) == nil && len(out) > 0 {
		return out
	}
	return []fault.Detail{{Path: f.Path, Message: f.Message}}
}

// inputOf returns the known input of a call, and its operation; nil if nothing is known.
func (in *inputs) inputOf(s *scope, callee value, e *ast.CallExpression) (root *inputValue, id string) {
	arg := func(i int) term {
		if i >= len(e.ArgumentList) {
			return term{nil, s}
		}
		return term{e.ArgumentList[i], s}
	}
	from, to := e.Callee.Idx0(), e.Idx1()
	if callee.entity == nil || callee.kind == tool {
		if isUndefined(arg(0)) {
			return object(from, to), callee.id
		}
		if len(callee.leading) > 0 && in.isText(arg(0)) {
			root = object(from, to)
			for i, name := range callee.leading {
				in.addArgument(root, name, arg(i))
			}
			return root, callee.id
		}
		return in.fold(arg(0), 0), callee.id
	}
	op, _, ok := catalog.EntityMethod(callee.method)
	sig, _ := signatureOf(callee.method)
	if !ok {
		return nil, ""
	}
	root = object(from, to)
	names, options := sig.names, sig.options()
	switch {
	case callee.method == "count" && len(e.ArgumentList) == 1 && in.isText(arg(0)): // the set
		names, options = nil, 0
	case len(sig.leading) > 0:
		options = in.leading(root, sig, arg)
	}
	for i, name := range names {
		in.addArgument(root, name, arg(i))
	}
	if !in.addOptions(root, arg(options)) {
		return nil, ""
	}
	if walks := callee.method == "all" || callee.method == "each"; walks && root.members["page"] != nil && root.known && root.members["cursor"] == nil {
		in.reportDuplicate("page", root.members["page"])
		return nil, ""
	}
	return root, catalog.EntityID(callee.entity.Name, op.Name).String()
}

// leading reads the numbers of firstPage(n, ...) and page(i, n, ...); the size is
// optional. It returns the position of the options.
func (in *inputs) leading(root *inputValue, sig signature, arg func(int) term) int {
	last := len(sig.leading) - 1
	if last == 0 { // firstPage
		root.put("page", &inputValue{from: root.from, to: root.from, json: []byte("1"), known: true})
	}
	for i := range sig.leading {
		name := sig.leading[i]
		if i == last && !isUndefined(arg(i)) && isUndefined(arg(i+1)) {
			v := in.fold(arg(i), 0)
			if v == nil { // a size or options
				root.known = false
				return i + 1
			}
			if v.members != nil {
				return i
			}
		}
		in.addArgument(root, name, arg(i))
	}
	return last + 1
}

func (l *literals) isText(t term) bool {
	for one := range l.look(t) {
		if _, ok := plainText(one.Expression); ok {
			return true
		}
	}
	return false
}

func (in *inputs) addArgument(root *inputValue, name string, t term) {
	if isUndefined(t) {
		return
	}
	v := in.fold(t, 0)
	if v == nil {
		root.drop(name)
		return
	}
	root.known = root.known && v.known
	root.put(name, v)
}

// addOptions reads the last argument of a call: an object, or the name of a set. ok is
// false if the call is rejected because of it.
func (in *inputs) addOptions(root *inputValue, t term) (ok bool) {
	if _, null := t.Expression.(*ast.NullLiteral); null || isUndefined(t) {
		return true
	}
	v := in.fold(t, 0)
	switch {
	case v == nil:
		root.known = false
	case v.members != nil:
		root.known = root.known && v.known
		for _, name := range v.names {
			if root.members[name] != nil {
				return in.reportDuplicate(name, v.members[name])
			}
			root.put(name, v.members[name])
		}
	case v.json != nil && v.json[0] == '"':
		root.put("set", v)
	case v.json != nil || v.list:
		in.fail(v.from, "", wire.DiagnosticInvalidArgument, "the options are neither an object nor the name of a set", "Write {name: value}, or the set's name as a string.")
		return false
	default:
		root.known = false
	}
	return true
}

// reportUndefined reports conditions that are undefined, for which a call is rejected before
// anything else is checked. path is that of the value in the input.
func (in *inputs) reportUndefined(v *inputValue, path string) (found bool) {
	if at := path + "/"; strings.HasPrefix(at, "/filter/") || strings.HasPrefix(at, "/with/") && strings.Contains(at, "/filter/") {
		for _, name := range slices.Sorted(maps.Keys(v.undefined)) {
			in.failAt(v.undefined[name], path+"/"+pointerEscapes.Replace(name), wire.DiagnosticInvalidArgument, "undefined is not a condition", "Leave the member out to ask for nothing, or compare with null.")
			found = true
		}
	}
	for _, name := range v.names {
		found = in.reportUndefined(v.members[name], path+"/"+pointerEscapes.Replace(name)) || found
	}
	for i, one := range v.items {
		if one != nil {
			found = in.reportUndefined(one, path+"/"+strconv.Itoa(i)) || found
		}
	}
	return found
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// reportDuplicate reports an option that is also a positional argument, for which a call is rejected
// before anything else is checked.
func (in *inputs) reportDuplicate(name string, at *inputValue) bool {
	in.failAt(at.from, "/"+name, wire.DiagnosticInvalidArgument, quote(name)+" is given twice: as an argument and among the options", "Leave it out of the options.")
	return false
}
