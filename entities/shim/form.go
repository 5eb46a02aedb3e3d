package shim

import (
	"database/sql"
	"database/sql/driver"
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"

	"entgo.io/ent/schema/field"

	"github.com/koan-go/koan/entities/descriptor"
)

// Seen is what callers see of a Go type of the app's own.
type Seen int

// The ways of being seen.
const (
	AsKept Seen = iota // what the database keeps
	AsText             // what MarshalText gives
	AsIs               // the value of its kind: a string, number, boolean or bytes
	AsJSON             // what encoding/json gives
)

// Form is how values of a Go type of the app's own meet callers and the database:
// the type's Valuer and Scanner, or the field's ValueScanner, decide what is kept.
// It is immutable and safe for concurrent use.
type Form[T any] struct {
	seen  Seen
	keeps *field.TypeValueScanner[T] // nil where the type keeps itself
}

var _ descriptor.Form = (*Form[string])(nil)

// NewForm makes the form of what a setter takes. keeps is where ent puts the
// field's ValueScanner at start, nil where the type has Value and Scan itself.
func NewForm[M, T any](_ func(M, T), seen Seen, keeps *field.TypeValueScanner[T]) *Form[T] {
	return &Form[T]{seen, keeps}
}

// Set passes a value to a typed setter: one of the type, or as callers write it.
func (f *Form[T]) Set(v any, set func(T)) error {
	t, err := f.parse(v)
	if err == nil {
		set(t)
	}
	return err
}

// Show implements descriptor.Form.
func (f *Form[T]) Show(src any) (any, error) {
	t, err := f.scan(src)
	if err != nil {
		return nil, err
	}
	return f.show(t)
}

// Bind implements descriptor.Form.
func (f *Form[T]) Bind(v any) (any, error) {
	t, err := f.parse(v)
	if err != nil {
		return nil, err
	}
	return f.value(t)
}

// Canonical implements descriptor.Form.
func (f *Form[T]) Canonical(v any) (any, error) {
	t, err := f.parse(v)
	if err != nil {
		return nil, err
	}
	return f.show(t)
}

// parse reads a value as callers write it, or takes one of the type.
func (f *Form[T]) parse(v any) (T, error) {
	if t, ok := v.(T); ok {
		return t, nil
	}
	if v == nil {
		var zero T
		return zero, fmt.Errorf("want a value, got null")
	}
	switch f.seen {
	case AsText:
		s, ok := v.(string)
		if !ok {
			var zero T
			return zero, typeError(v, "a string")
		}
		return fill[T](func(p any) error { return unmarshalText(p, s) })
	case AsJSON:
		raw, ok := v.(json.RawMessage)
		if !ok {
			var zero T
			return zero, typeError(v, "JSON")
		}
		return fill[T](func(p any) error { return decodeStrict(raw, p) })
	case AsIs:
		return convert[T](v)
	case AsKept:
	}
	if raw, ok := v.(json.RawMessage); ok {
		v = []byte(raw)
	}
	return f.scan(v)
}

func unmarshalText(p any, s string) error {
	u, ok := p.(encoding.TextUnmarshaler)
	if !ok {
		return fmt.Errorf("%T has no UnmarshalText", p)
	}
	if err := u.UnmarshalText([]byte(s)); err != nil {
		return fmt.Errorf("%q does not fit: %w", s, err)
	}
	return nil
}

func (f *Form[T]) show(t T) (any, error) {
	switch f.seen {
	case AsText:
		m, ok := role[encoding.TextMarshaler](&t)
		if !ok {
			return nil, fmt.Errorf("%T has no MarshalText", t)
		}
		b, err := m.MarshalText()
		return string(b), err
	case AsJSON:
		b, err := json.Marshal(t)
		return json.RawMessage(b), err
	case AsIs:
		return plain(reflect.ValueOf(t))
	case AsKept:
	}
	v, err := f.value(t)
	if b, ok := v.([]byte); ok { // what has a form to be shown with is kept as text
		v = string(b)
	}
	return v, err
}

// scan reads what the database keeps.
func (f *Form[T]) scan(src any) (T, error) {
	if f.keeps != nil {
		s := *f.keeps
		v := s.ScanValue()
		if err := scanInto(v, src); err != nil {
			var zero T
			return zero, err
		}
		return s.FromValue(v)
	}
	return fill[T](func(p any) error {
		s, ok := p.(sql.Scanner)
		if !ok {
			return fmt.Errorf("%T has no Scan", p)
		}
		return scanInto(s, src)
	})
}

// scanInto hands a value to a Scanner. Drivers differ in whether texts are string
// or []byte, so a Scanner may know only one of them.
func scanInto(s sql.Scanner, src any) error {
	err := s.Scan(src)
	if err == nil {
		return nil
	}
	switch v := src.(type) {
	case string:
		if s.Scan([]byte(v)) == nil {
			return nil
		}
	case []byte:
		if s.Scan(string(v)) == nil {
			return nil
		}
	}
	return err
}

// value returns what the database keeps.
func (f *Form[T]) value(t T) (any, error) {
	var v driver.Value
	var err error
	if f.keeps != nil {
		v, err = (*f.keeps).Value(t)
	} else if valuer, ok := role[driver.Valuer](&t); ok {
		v, err = valuer.Value()
	} else {
		return nil, fmt.Errorf("%T has no Value", t)
	}
	if err != nil {
		return nil, err
	}
	return driver.DefaultParameterConverter.ConvertValue(v)
}

// role finds an interface on a type or on a pointer to it.
func role[I, T any](t *T) (I, bool) {
	if i, ok := any(*t).(I); ok {
		return i, true
	}
	i, ok := any(t).(I)
	return i, ok
}

// fill makes a T by filling what points to it; T may be a pointer itself.
func fill[T any](with func(pointer any) error) (T, error) {
	var t T
	typ := reflect.TypeFor[T]()
	if typ.Kind() == reflect.Pointer {
		p := reflect.New(typ.Elem()).Interface()
		err := with(p)
		return p.(T), err
	}
	err := with(&t)
	return t, err
}

// convert returns a value as type T, which is of the same kind, and refuses what does not
// fit.
func convert[T any](v any) (T, error) {
	var t T
	to := reflect.ValueOf(&t).Elem()
	switch v := v.(type) {
	case string:
		if to.Kind() == reflect.String {
			to.SetString(v)
			return t, nil
		}
	case bool:
		if to.Kind() == reflect.Bool {
			to.SetBool(v)
			return t, nil
		}
	case int64:
		switch {
		case to.CanInt() && !to.OverflowInt(v):
			to.SetInt(v)
			return t, nil
		case to.CanUint() && v >= 0 && !to.OverflowUint(uint64(v)):
			to.SetUint(uint64(v))
			return t, nil
		case to.CanFloat():
			to.SetFloat(float64(v))
			return t, nil
		case to.CanInt() || to.CanUint():
			return t, outOfRange(strconv.FormatInt(v, 10), to.Type())
		}
	case float64:
		if to.CanFloat() {
			to.SetFloat(v)
			return t, nil
		}
	case []byte:
		if to.Kind() == reflect.Slice && to.Type().Elem().Kind() == reflect.Uint8 {
			to.SetBytes(v)
			return t, nil
		}
	}
	return t, typeError(v, "a value of the kind "+to.Kind().String())
}

// plain takes the type from a value and leaves its kind.
func plain(v reflect.Value) (any, error) {
	switch {
	case v.Kind() == reflect.String:
		return v.String(), nil
	case v.Kind() == reflect.Bool:
		return v.Bool(), nil
	case v.CanInt():
		return v.Int(), nil
	case v.CanUint() && v.Uint() <= math.MaxInt64:
		return int64(v.Uint()), nil
	case v.CanFloat():
		return v.Float(), nil
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8:
		return v.Bytes(), nil
	}
	return nil, fmt.Errorf("a %s is not a plain value", v.Type())
}
