package javascript

import (
	"encoding/json"
	"errors"
	"strconv"
	"unicode/utf8"

	"github.com/dop251/goja"

	"github.com/koan-go/koan/framework/exact"
	"github.com/koan-go/koan/framework/fault"
)

// maxDepth bounds the nesting of JSON that the host sends to a script. What is stored may be nested
// deeper than values that are written now (exact.MaxDepth).
const maxDepth = 2000

var (
	errJSON = errors.New("worker: the host sent invalid JSON")
	errDeep = errors.New("worker: the host sent JSON that is nested too deeply")
)

// undecodable returns the fault of a call whose output cannot be decoded. Output that is
// nested too deeply is not an internal error: a tool may return what the script sent.
func undecodable(err error) *fault.Fault {
	if errors.Is(err, errDeep) {
		return fault.Newf(fault.CallTooLarge, "the result of this call is nested deeper than %d levels", maxDepth).
			WithHint("Leave the field that is nested so deeply out of `fields`.")
	}
	return fault.New(fault.Internal, "the call returned something that is not JSON").Because(err)
}

// decoder builds engine values directly from JSON. It defines properties instead of assigning
// them, so that setters which a script put on a prototype are not called.
type decoder struct {
	vm *goja.Runtime
	in []byte
	at int
}

func decode(vm *goja.Runtime, in []byte) (goja.Value, error) {
	d := &decoder{vm: vm, in: in}
	v, err := d.value(0)
	if err != nil {
		return nil, err
	}
	if d.skipSpace(); d.at != len(d.in) {
		return nil, errJSON
	}
	return v, nil
}

func (d *decoder) skipSpace() {
	for d.at < len(d.in) {
		switch d.in[d.at] {
		case ' ', '\t', '\n', '\r':
			d.at++
		default:
			return
		}
	}
}

func (d *decoder) peek() byte {
	d.skipSpace()
	if d.at < len(d.in) {
		return d.in[d.at]
	}
	return 0
}

// accept consumes c if it is the next byte after white space.
func (d *decoder) accept(c byte) bool {
	if d.peek() != c {
		return false
	}
	d.at++
	return true
}

func (d *decoder) value(depth int) (goja.Value, error) {
	if depth > maxDepth {
		return nil, errDeep
	}
	switch c := d.peek(); c {
	case '{':
		return d.object(depth)
	case '[':
		return d.array(depth)
	case '"':
		s, err := d.text()
		if err != nil {
			return nil, err
		}
		return d.vm.ToValue(s), nil
	case 't':
		return d.vm.ToValue(true), d.literal("true")
	case 'f':
		return d.vm.ToValue(false), d.literal("false")
	case 'n':
		return goja.Null(), d.literal("null")
	default:
		return d.number()
	}
}

func (d *decoder) literal(w string) error {
	if len(d.in)-d.at < len(w) || string(d.in[d.at:d.at+len(w)]) != w {
		return errJSON
	}
	d.at += len(w)
	return nil
}

func (d *decoder) object(depth int) (goja.Value, error) {
	d.at++
	o := d.vm.NewObject()
	if d.accept('}') {
		return o, nil
	}
	for {
		if d.peek() != '"' {
			return nil, errJSON
		}
		key, err := d.text()
		if err != nil {
			return nil, err
		}
		if !d.accept(':') {
			return nil, errJSON
		}
		v, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		if err := o.DefineDataProperty(key, v, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_TRUE); err != nil {
			return nil, err
		}
		if d.accept('}') {
			return o, nil
		}
		if !d.accept(',') {
			return nil, errJSON
		}
	}
}

func (d *decoder) array(depth int) (goja.Value, error) {
	d.at++
	var items []any
	if d.accept(']') {
		return d.vm.NewArray(), nil
	}
	for {
		v, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		items = append(items, v)
		if d.accept(']') {
			return d.vm.NewArray(items...), nil
		}
		if !d.accept(',') {
			return nil, errJSON
		}
	}
}

func (d *decoder) number() (goja.Value, error) {
	from := d.at
	integer := true
	for d.at < len(d.in) {
		c := d.in[d.at]
		if c == '.' || c == 'e' || c == 'E' || c == '+' {
			integer = false
		} else if c != '-' && (c < '0' || c > '9') {
			break
		}
		d.at++
	}
	text := string(d.in[from:d.at])
	if integer {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && (n != 0 || text == "0") && n >= -maxSafe && n <= maxSafe {
			return d.vm.ToValue(n), nil
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return nil, errJSON
	}
	if integer && exact.BeyondDouble([]byte(text)) { // which a number of JavaScript would round
		return d.vm.ToValue(text), nil
	}
	return d.vm.ToValue(f), nil
}

func (d *decoder) text() (string, error) {
	from := d.at
	d.at++
	plain := true
	for ; d.at < len(d.in); d.at++ {
		switch c := d.in[d.at]; {
		case c == '\\':
			plain = false
			d.at++
		case c == '"':
			d.at++
			if raw := d.in[from+1 : d.at-1]; plain && utf8.Valid(raw) {
				return string(raw), nil
			}
			var s string
			if json.Unmarshal(d.in[from:d.at], &s) != nil {
				return "", errJSON
			}
			return s, nil
		case c < ' ':
			return "", errJSON
		}
	}
	return "", errJSON
}
