package shim

import (
	"encoding"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/framework/fault"
)

// maxShown bounds what a message repeats of a number, in bytes.
const maxShown = 64

// fitting compares a JSON value with a Go type as encoding/json would, and keeps the first
// place of each kind of problem.
type fitting struct {
	mismatch, inexact error
}

func (f *fitting) want(at, what string, got any) {
	if f.mismatch == nil {
		f.mismatch = &JSONError{Path: at, Message: "want " + what + ", got " + filter.Describe(got)}
	}
}

// fit returns a value with numbers in the place of digits in strings, where the type has an
// integer or another number.
func (f *fitting) fit(v any, t reflect.Type, at string) any {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case v == nil:
		return nil
	case t == reflect.TypeFor[json.RawMessage](), t.Kind() == reflect.Interface:
		f.untyped(v, at, t.Kind() != reflect.Interface)
		return v
	case t == reflect.TypeFor[json.Number]():
		return v
	case decodesItself(t):
		return f.custom(v, t, at)
	}
	switch t.Kind() {
	case reflect.Bool:
		if _, ok := v.(bool); !ok {
			f.want(at, "true or false", v)
		}
	case reflect.String:
		if _, ok := v.(string); !ok {
			f.want(at, "a string", v)
		}
	case reflect.Slice, reflect.Array:
		return f.list(v, t, at)
	case reflect.Map:
		return f.members(v, at, func(string) (reflect.Type, bool) { return t.Elem(), true })
	case reflect.Struct:
		return f.members(v, at, func(name string) (reflect.Type, bool) { return member(t, name) })
	default:
		return f.number(v, t, at)
	}
	return v
}

// number takes numbers, and strings of digits beyond 2^53.
func (f *fitting) number(v any, t reflect.Type, at string) any {
	if s, ok := v.(string); ok && filter.IsLargeInteger(s) {
		v = json.Number(s)
	}
	n, ok := v.(json.Number)
	if t.Kind() == reflect.Float32 || t.Kind() == reflect.Float64 {
		if _, err := strconv.ParseFloat(n.String(), t.Bits()); !ok || err != nil {
			f.want(at, "a number", v)
		}
		return v
	}
	if exact, isExact := filter.Integer(v); isExact {
		n = json.Number(strconv.FormatInt(exact, 10))
	}
	if json.Unmarshal([]byte(n), reflect.New(t).Interface()) != nil {
		least, most := rangeOf(t)
		f.want(at, "an integer from "+least+" to "+most+" (a string of digits beyond 2^53)", v)
		return v
	}
	return n
}

func (f *fitting) list(v any, t reflect.Type, at string) any {
	if s, ok := v.(string); ok && t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 {
		if _, err := base64.StdEncoding.DecodeString(s); err != nil {
			f.want(at, "a base64 string", v)
		}
		return v
	}
	list, ok := v.([]any)
	if !ok {
		f.want(at, "a list", v)
		return v
	}
	out := make([]any, len(list))
	for i, item := range list {
		out[i] = f.fit(item, t.Elem(), at+"/"+strconv.Itoa(i))
	}
	return out
}

func (f *fitting) members(v any, at string, typeOf func(name string) (reflect.Type, bool)) any {
	object, ok := v.(map[string]any)
	if !ok {
		f.want(at, "an object", v)
		return v
	}
	out := make(map[string]any, len(object))
	for _, name := range slices.Sorted(maps.Keys(object)) {
		at := at + "/" + filter.Escape(name)
		t, known := typeOf(name)
		switch {
		case known && t != nil:
			out[name] = f.fit(object[name], t, at)
			continue
		case !known && f.mismatch == nil:
			f.mismatch = &JSONError{Path: at, Message: "unknown member " + filter.Quote(name)}
		}
		out[name] = object[name]
	}
	return out
}

// member returns the type of a struct's member, nil where its tag says that it is written
// as a string.
func member(t reflect.Type, name string) (found reflect.Type, ok bool) {
	for _, field := range reflect.VisibleFields(t) {
		tag, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		own := tag
		if own == "" {
			own = field.Name
		}
		if tag == "-" && options == "" || !field.IsExported() || field.Anonymous && tag == "" || !strings.EqualFold(own, name) {
			continue
		}
		found, ok = field.Type, true
		if strings.Contains(options, "string") {
			found = nil
		}
		if own == name {
			break
		}
	}
	return found, ok
}

// decodesItself reports whether values of a type read JSON by code of their own.
func decodesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// custom tries what a type makes of a value: as it is, and with numbers in the place of
// digits.
func (f *fitting) custom(v any, t reflect.Type, at string) any {
	var first error
	for _, try := range []any{v, filter.WithNumbers(v)} {
		raw, err := json.Marshal(try)
		if err == nil {
			err = json.Unmarshal(raw, reflect.New(t).Interface())
		}
		if err == nil {
			return try
		}
		if first == nil {
			first = err
		}
	}
	var wrong *json.UnmarshalTypeError
	switch {
	case t == reflect.TypeFor[time.Time]():
		f.want(at, "an RFC 3339 time such as 2026-01-31T08:00:00Z", v)
	case f.mismatch != nil:
	case errors.As(first, &wrong):
		f.mismatch = &JSONError{Path: at, Message: filter.Describe(v) + " does not fit the type that the app has here"}
	default:
		f.mismatch = &JSONError{Path: at, Message: first.Error()}
	}
	return v
}

// untyped looks for numbers beyond 2^53 at a place of no type: floats, which round integers.
// kept says that the place keeps all digits; then only numbers with an exponent or a fraction
// are refused, which somebody has rounded before.
func (f *fitting) untyped(v any, at string, kept bool) {
	switch v := v.(type) {
	case json.Number:
		if f.inexact == nil && filter.IsInexact([]byte(v)) && !(kept && filter.IsLargeInteger(v.String())) {
			f.inexact = &JSONError{
				Path: at, Message: "the number " + fault.Clip(v.String(), maxShown) + " is beyond 2^53, where numbers are rounded",
				Hint: "Send integers beyond 2^53 as strings of digits.",
			}
		}
	case []any:
		for i, item := range v {
			f.untyped(item, at+"/"+strconv.Itoa(i), kept)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			f.untyped(v[name], at+"/"+filter.Escape(name), kept)
		}
	}
}
