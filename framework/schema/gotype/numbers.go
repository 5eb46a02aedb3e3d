package gotype

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"

	"github.com/koan-go/koan/framework/exact"
	"github.com/koan-go/koan/framework/fault"
)

// Unmarshal is json.Unmarshal, except that integers of any size arrive: one beyond 2^53 is a json.Number where the
// Go type is any, since a float64 would be another integer, and a string of digits is an integer where the Go type
// is one.
func Unmarshal(raw json.RawMessage, into any) error {
	err := decode(raw, into, false)
	if err == nil || reflect.TypeOf(into) == nil {
		return err
	}
	if text, ok := withIntegers(raw, reflect.TypeOf(into)); ok {
		return decode(text, into, false)
	}
	return err
}

func decode(raw json.RawMessage, into any, closed bool) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if closed {
		dec.DisallowUnknownFields()
	}
	large := hasLarge(raw)
	if large {
		dec.UseNumber()
	}
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return fault.Invalid(fault.Detail{Message: "there is more than one JSON value"})
	}
	if large {
		w := walker{}
		w.useDoubles(reflect.ValueOf(into))
	}
	return nil
}

// hasLarge reports whether a text has an integer beyond 2^53.
func hasLarge(raw json.RawMessage) (found bool) {
	if !json.Valid(raw) {
		return false
	}
	exact.MapNumbers(raw, func(number []byte) []byte {
		found = found || exact.BeyondDouble(number)
		return nil
	})
	return found
}

// walker has the pointers that it has followed: what a value is decoded into may go in circles.
type walker map[uintptr]bool

// useDoubles puts a float64 in the place of each json.Number that encoding/json has put into an any,
// unless it is an integer beyond 2^53.
func (w walker) useDoubles(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() && !w[v.Pointer()] {
			w[v.Pointer()] = true
			w.useDoubles(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() || f.Anonymous {
				w.useDoubles(v.Field(i))
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			w.useDoubles(v.Index(i))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			if !v.MapIndex(key).CanInterface() { // of a field that encoding/json does not set
				return
			}
			of := reflect.New(v.Type().Elem()).Elem()
			of.Set(v.MapIndex(key))
			w.useDoubles(of)
			v.SetMapIndex(key, of)
		}
	case reflect.Interface:
		if number, ok := anyNumber(v); !ok {
			w.useDoubles(v.Elem())
		} else if x, err := number.Float64(); err == nil && !exact.BeyondDouble([]byte(number)) {
			v.Set(reflect.ValueOf(x))
		}
	}
}

// anyNumber returns the number that encoding/json has put into a value of type any.
func anyNumber(v reflect.Value) (n json.Number, ok bool) {
	if !v.CanSet() || v.IsNil() || v.NumMethod() > 0 {
		return "", false
	}
	n, ok = v.Interface().(json.Number)
	return n, ok
}
