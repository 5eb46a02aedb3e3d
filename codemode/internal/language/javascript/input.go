package javascript

import (
	"math/big"
	"strconv"

	"github.com/dop251/goja"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/exact"
	"github.com/koan-go/koan/framework/fault"
)

// inputs writes what a script passes to calls as JSON.
type inputs struct {
	js       *engine
	job      *assignment
	faults   *faults
	partials *partials

	scratch []byte // the buffer for the input of one call
	// check is the state of replacer for the input that is being encoded.
	check    inputCheck
	replacer goja.Value
}

// input builds the JSON object of one call. Members are encoded one by one, so that a changed
// prototype does not affect the object itself.
type input struct {
	of   *inputs
	keys []string
	out  []byte
	// without is a member that addOptions leaves out.
	without string
}

func (ns *inputs) newInput() *input {
	return &input{of: ns, out: append(ns.takeScratch(), '{')}
}

// takeScratch returns the buffer for the input of one call and clears ns.scratch, since a getter
// or a toJSON in the input may make calls itself. The call puts the buffer back.
func (ns *inputs) takeScratch() []byte {
	out := ns.scratch[:0]
	ns.scratch = nil
	return out
}

// add adds a member unless it is undefined.
func (in *input) add(key string, v goja.Value) {
	if v == nil || goja.IsUndefined(v) {
		return
	}
	for _, k := range in.keys {
		if k == key {
			in.of.faults.throw(fault.Invalid(fault.Detail{Path: "/" + key, Message: "`" + key + "` is given twice: as an argument and among the options"}))
		}
	}
	from := len(in.out)
	if len(in.keys) > 0 {
		in.out = append(in.out, ',')
	}
	in.out = append(appendString(in.out, key), ':')
	encoded, ok := in.of.encode(in.out, v, place{"/" + key, true})
	if !ok {
		in.out = in.out[:from]
		return
	}
	in.out = encoded
	in.keys = append(in.keys, key)
	if most := in.of.job.Limits.MaxCallBytes; len(in.out) > most {
		in.of.tooLarge("/"+key, most)
	}
}

// addOptions adds the last argument of a call: an object's own members, or a string, which
// names the set.
func (in *input) addOptions(v goja.Value) {
	switch o := v.(type) {
	case nil:
		return
	case goja.String:
		in.add("set", o)
		return
	case *goja.Object:
		if why, hint := in.of.js.lossReason(o); why != "" {
			in.of.faults.throw(fault.Invalid(fault.Detail{Message: why, Expected: "object or string", Received: kindOf(v)}).WithHint("%s", hint))
		}
		if o.ClassName() == "Object" {
			for _, k := range o.Keys() {
				if k != in.without || k == "" {
					in.add(k, o.Get(k))
				}
			}
			return
		}
	default:
		if goja.IsUndefined(v) || goja.IsNull(v) {
			return
		}
	}
	in.of.faults.throw(fault.Invalid(fault.Detail{
		Message: "the options are neither an object nor the name of a set", Expected: "object or string", Received: kindOf(v),
	}))
}

func (in *input) json() []byte {
	in.of.scratch = in.out[:0]
	return append(in.out, '}')
}

// functionInput appends the input of a function. The arguments are an object, or, if
// the first one is a string, the members named in leading by position.
func (ns *inputs) functionInput(out []byte, leading []string, args []goja.Value, where place) []byte {
	var first goja.Value = goja.Undefined()
	if len(args) > 0 {
		first = args[0]
	}
	if _, ok := first.(goja.String); !ok || len(leading) == 0 {
		in, ok := ns.encode(out, first, where)
		if !ok {
			in = append(in, "{}"...)
		}
		return in
	}
	in := &input{of: ns, out: append(out, '{')}
	for i, name := range leading[:min(len(leading), len(args))] {
		in.add(name, args[i])
	}
	return in.json()
}

// encode appends the JSON of a value in a call's input; ok is false for undefined. A value that
// JSON would change is thrown back as a fault (inputCheck).
func (ns *inputs) encode(out []byte, v goja.Value, where place) (encoded []byte, ok bool) {
	switch x := v.(type) {
	case goja.String:
		if most := ns.job.Limits.MaxCallBytes; x.Length() > most {
			ns.tooLarge(where.at, most)
		}
		text := x.String()
		if hasSurrogate(x, text) {
			ns.throwNotText(where.at)
		}
		return appendString(out, text), true
	case *goja.Object, *goja.Symbol:
	default:
		switch n := v.Export().(type) {
		case int64:
			return appendInteger(out, n), true
		case *big.Int:
			return n.Append(out, 10), true
		case bool:
			return strconv.AppendBool(out, n), true
		case nil:
			if goja.IsUndefined(v) {
				return out, false
			}
			return append(out, "null"...), true
		}
	}
	text, err := ns.jsonOf(v, where)
	if err != nil {
		panic(err)
	}
	str, ok := text.(goja.String)
	if !ok {
		return out, false
	}
	if most := ns.job.Limits.MaxCallBytes; str.Length() > most {
		ns.tooLarge(where.at, most)
	}
	raw := writeBigInts(markInexact([]byte(str.String())), false)
	if path, found := malformed(raw); found {
		ns.throwNotText(where.at + path)
	}
	return append(out, raw...), true
}

// throwNotText throws the fault of a string in a call's input that no JSON text can have.
func (ns *inputs) throwNotText(path string) {
	ns.faults.throw(fault.Invalid(fault.Detail{Path: path, Message: exact.NotText, Expected: "string of Unicode characters"}).
		WithHint("Cut texts between characters: [...text].slice(0, n).join(\"\"). text.toWellFormed() replaces what is cut apart."))
}

// tooLarge throws the fault of arguments that are too long; at is which of them, if it is known.
func (ns *inputs) tooLarge(at string, most int) {
	ns.faults.throw(fault.Newf(fault.CallTooLarge, "the arguments of this call are larger than %d bytes", most).WithPath(at).
		WithHint("Send less in one call: fewer rows, or less in each."))
}

// appendString appends a JSON string.
func appendString(out []byte, s string) []byte {
	plain := true
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x80 {
			plain = false
			break
		}
	}
	if plain {
		return append(append(append(out, '"'), s...), '"')
	}
	b, _ := wire.Marshal(s) // a string cannot fail
	return append(out, b...)
}
