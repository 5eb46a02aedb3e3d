package shim

import (
	"database/sql/driver"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"time"

	"github.com/google/uuid"
)

// The converters take what the engine's decoder returns (string, int64, uint64,
// float64, bool, time.Time, []byte, json.RawMessage), or a value that was of the
// field's own type before, and hand it to a typed setter. Their errors are about
// the value and are shown to callers.

// integer is every Go type that ent keeps as an integer.
type integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

// Text sets strings, enums and types based on them.
func Text[T ~string](v any, set func(T)) error {
	switch v := v.(type) {
	case string:
		set(T(v))
	case T:
		set(v)
	default:
		return typeError(v, "a string")
	}
	return nil
}

// Bool sets booleans.
func Bool[T ~bool](v any, set func(T)) error {
	switch v := v.(type) {
	case bool:
		set(T(v))
	case T:
		set(v)
	default:
		return typeError(v, "a boolean")
	}
	return nil
}

// Int sets integers and refuses what does not fit the type.
func Int[T integer](v any, set func(T)) error {
	switch v := v.(type) {
	case T:
		set(v)
	case int64:
		n := T(v)
		if int64(n) != v || (n < 0) != (v < 0) {
			return outOfRange(strconv.FormatInt(v, 10), reflect.TypeFor[T]())
		}
		set(n)
	case uint64:
		n := T(v)
		if n < 0 || uint64(n) != v {
			return outOfRange(strconv.FormatUint(v, 10), reflect.TypeFor[T]())
		}
		set(n)
	default:
		return typeError(v, "an integer")
	}
	return nil
}

// Float sets floating-point numbers.
func Float[T ~float32 | ~float64](v any, set func(T)) error {
	switch v := v.(type) {
	case T:
		set(v)
	case float64:
		set(T(v))
	case int64:
		set(T(v))
	default:
		return typeError(v, "a number")
	}
	return nil
}

// Time sets times.
func Time(v any, set func(time.Time)) error {
	t, ok := v.(time.Time)
	if !ok {
		return typeError(v, "a time")
	}
	set(t)
	return nil
}

// Bytes sets byte strings.
func Bytes[T ~[]byte](v any, set func(T)) error {
	switch v := v.(type) {
	case []byte:
		set(T(v))
	case T:
		set(v)
	default:
		return typeError(v, "bytes")
	}
	return nil
}

// UUID sets UUIDs.
func UUID(v any, set func(uuid.UUID)) error {
	switch v := v.(type) {
	case uuid.UUID:
		set(v)
	case string:
		id, err := uuid.Parse(v)
		if err != nil {
			return fmt.Errorf("%q is not a UUID", v)
		}
		set(id)
	default:
		return typeError(v, "a UUID")
	}
	return nil
}

func typeError(v any, want string) error {
	if v == nil {
		return fmt.Errorf("want %s, got null", want)
	}
	return fmt.Errorf("want %s, got %T", want, v)
}

// outOfRange is the error of an integer that its type does not hold.
func outOfRange(n string, t reflect.Type) error {
	least, most := rangeOf(t)
	return fmt.Errorf("%s is out of range: want an integer from %s to %s", n, least, most)
}

// rangeOf returns the least and the greatest integer of a type.
func rangeOf(t reflect.Type) (least, most string) {
	bits := t.Bits()
	switch t.Kind() {
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "0", strconv.FormatUint(math.MaxUint64>>(64-bits), 10)
	}
	return strconv.FormatInt(math.MinInt64>>(64-bits), 10), strconv.FormatInt(math.MaxInt64>>(64-bits), 10)
}

// Bound is a value in the form in which its column has it, of a column that callers see in
// another one. Entities without generated code have it where others have a value of the app's type.
type Bound struct{ V any }

var _ driver.Valuer = Bound{}

// Value implements driver.Valuer.
func (b Bound) Value() (driver.Value, error) { return b.V, nil }
