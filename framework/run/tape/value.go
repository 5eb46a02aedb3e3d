package tape

import (
	"bytes"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"time"
)

// keptValue is a value of a tape in a form that leaves the process. Its type is known
// only to who generates it: a thawed tape asks the generator for another one.
type keptValue struct {
	// Kind is how the value is written: "string", "bool", "int64" are those of Go;
	// "json" is the type's own JSON; the other kinds begin with "value:" and are what a
	// driver.Valuer gave, by its Go type.
	Kind string          `json:"kind"`
	Type string          `json:"type,omitempty"` // Go's name of it, of kinds that are not plain
	JSON json.RawMessage `json:"value"`
}

const (
	kindString = "string"
	kindBool   = "bool"
	kindInt    = "int64"
	kindJSON   = "json"
	// valuerPrefix begins the kinds of what a driver.Valuer gave.
	valuerPrefix = "value:"
)

var errLossy = errors.New("it cannot be restored from its written form")

// encodeValue encodes a value in the first of the forms from which all of it can be restored.
func encodeValue(v any) (*keptValue, error) {
	k := &keptValue{}
	switch v := v.(type) {
	case string:
		k.Kind = kindString
		return k, k.write(v)
	case bool:
		k.Kind = kindBool
		return k, k.write(v)
	case int64:
		k.Kind = kindInt
		return k, k.write(strconv.FormatInt(v, 10))
	case nil:
		return nil, errors.New("it is nil")
	}
	k.Kind, k.Type = kindJSON, reflect.TypeOf(v).String()
	err := k.write(v)
	if err == nil {
		err = k.roundTrips(v)
	}
	if err == nil {
		return k, nil
	}
	valuer, ok := v.(driver.Valuer)
	if !ok {
		return nil, err
	}
	inner, err := valuer.Value()
	if err != nil {
		return nil, err
	}
	if inner == nil || !driver.IsValue(inner) {
		return nil, errLossy
	}
	k.Kind = valuerPrefix + reflect.TypeOf(inner).String()
	if err := k.write(inner); err != nil {
		return nil, err
	}
	return k, k.roundTrips(v)
}

func (k *keptValue) write(v any) (err error) {
	k.JSON, err = Marshal(v)
	return err
}

// Marshal is JSON with the characters that it was given.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// roundTrips returns an error unless the written form restores the value.
func (k *keptValue) roundTrips(v any) error {
	back, err := k.like(v)
	switch {
	case err != nil:
		return err
	case reflect.DeepEqual(back, v):
		return nil
	}
	// Times differ in what they remember of the process's clock and zone.
	equal := reflect.ValueOf(v).MethodByName("Equal")
	if equal.IsValid() && equal.Type().NumIn() == 1 && equal.Type().In(0) == reflect.TypeOf(v) && equal.Type().NumOut() == 1 && equal.Type().Out(0).Kind() == reflect.Bool {
		if equal.Call([]reflect.Value{reflect.ValueOf(back)})[0].Bool() {
			return nil
		}
	}
	return errLossy
}

// plain reads a value whose type is known without its generator; ok is false for
// others.
func (k *keptValue) plain() (v any, ok bool, err error) {
	switch k.Kind {
	case kindString:
		v, err := read[string](k.JSON)
		return v, true, err
	case kindBool:
		v, err := read[bool](k.JSON)
		return v, true, err
	case kindInt:
		s, err := read[string](k.JSON)
		if err != nil {
			return nil, true, err
		}
		n, err := strconv.ParseInt(s, 10, 64)
		return n, true, err
	}
	if k.Type == "" || len(k.JSON) == 0 {
		return nil, false, fmt.Errorf("its kind is %q", k.Kind)
	}
	return nil, false, nil
}

func read[T any](raw json.RawMessage) (T, error) {
	var v *T
	err := json.Unmarshal(raw, &v)
	if err == nil && v == nil {
		err = errors.New("it is null")
	}
	if err != nil {
		var zero T
		return zero, err
	}
	return *v, nil
}

// like reads a value of the same type as another.
func (k *keptValue) like(other any) (any, error) {
	typ := reflect.TypeOf(other)
	if typ == nil || typ.String() != k.Type {
		return nil, fmt.Errorf("tape: the tape holds a %s where a %T is generated now", k.Type, other)
	}
	out := reflect.New(typ)
	if k.Kind == kindJSON {
		if err := json.Unmarshal(k.JSON, out.Interface()); err != nil {
			return nil, fmt.Errorf("tape: the tape's %s: %w", k.Type, err)
		}
		return out.Elem().Interface(), nil
	}
	inner, err := k.valuerOutput()
	if err != nil {
		return nil, fmt.Errorf("tape: the tape's %s: %w", k.Type, err)
	}
	target := out.Interface()
	if typ.Kind() == reflect.Pointer { // a pointer type scans itself
		out.Elem().Set(reflect.New(typ.Elem()))
		target = out.Elem().Interface()
	}
	scanner, ok := target.(sql.Scanner)
	if !ok {
		return nil, fmt.Errorf("tape: a %s has no Scan", k.Type)
	}
	if err := scanner.Scan(inner); err != nil {
		return nil, fmt.Errorf("tape: the tape's %s: %w", k.Type, err)
	}
	return out.Elem().Interface(), nil
}

// valuerOutput is what a driver.Valuer gave.
func (k *keptValue) valuerOutput() (driver.Value, error) {
	switch k.Kind {
	case valuerPrefix + "int64":
		return read[int64](k.JSON)
	case valuerPrefix + "float64":
		return read[float64](k.JSON)
	case valuerPrefix + "bool":
		return read[bool](k.JSON)
	case valuerPrefix + "string":
		return read[string](k.JSON)
	case valuerPrefix + "[]uint8":
		return read[[]byte](k.JSON)
	case valuerPrefix + "time.Time":
		return read[time.Time](k.JSON)
	}
	return nil, fmt.Errorf("its kind is %q", k.Kind)
}
