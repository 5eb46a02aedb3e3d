package gotype

import (
	"bytes"
	"encoding"
	"encoding/json"
	"math/big"
	"reflect"
	"regexp"
	"strings"
)

var integer = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)

// withIntegers returns a JSON text with numbers in place of the strings of digits that a Go type has integers for:
// integers beyond 2^53 are written as such strings. ok is false where there is none.
func withIntegers(raw json.RawMessage, t reflect.Type) (text json.RawMessage, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return nil, false
	}
	c := integers{}
	v = c.in(t, v)
	if c.found == 0 {
		return nil, false
	}
	text, err := json.Marshal(v)
	return text, err == nil
}

// integers counts the strings that it replaces.
type integers struct{ found int }

var (
	bigInt          = reflect.TypeFor[big.Int]()
	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// in returns a value that is decoded into a type.
func (c *integers) in(t reflect.Type, v any) any {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if p := reflect.PointerTo(t); t != bigInt && (p.Implements(jsonUnmarshaler) || p.Implements(textUnmarshaler)) {
		return v
	}
	switch v := v.(type) {
	case string:
		if (t == bigInt || reflect.Int <= t.Kind() && t.Kind() <= reflect.Uintptr) && integer.MatchString(v) {
			c.found++
			return json.Number(v)
		}
	case []any:
		if t.Kind() == reflect.Slice || t.Kind() == reflect.Array {
			for i := range v {
				v[i] = c.in(t.Elem(), v[i])
			}
		}
	case map[string]any:
		for name, one := range v {
			if of := member(t, name); of != nil {
				v[name] = c.in(of, one)
			}
		}
	}
	return v
}

// member returns the type into which a member of an object is decoded, nil for none.
func member(t reflect.Type, name string) reflect.Type {
	switch t.Kind() {
	case reflect.Map:
		return t.Elem()
	case reflect.Struct:
		for _, f := range reflect.VisibleFields(t) {
			tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.IsExported() && (tag == name || tag == "" && strings.EqualFold(f.Name, name)) && options != "string" {
				return f.Type
			}
		}
	}
	return nil
}
