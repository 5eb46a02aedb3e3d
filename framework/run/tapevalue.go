package run

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

// kept is a value of a tape in a form that leaves the process. Its type is known
// only to who generates it: a thawed tape asks the generator for another one.
type kept struct {
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
	// valued begins the kinds of what a driver.Valuer gave.
	valued = "value:"
)

var errLossy = errors.New("its written form does not give it back")

// keep writes a value, in the first of the forms that gives all of it back.
func keep(v any) (*kept, error) {
	k := &kept{}
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
		err = k.gives(v)
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
	k.Kind = valued + reflect.TypeOf(inner).String()
	if err := k.write(inner); err != nil {
		return nil, err
	}
	return k, k.gives(v)
}

func (k *kept) write(v any) (err error) {
	k.JSON, err = written(v)
	return err
}

// written is JSON with the characters that it was given.
func written(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// gives reports whether what is written gives the value back.
func (k *kept) gives(v any) error {
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
func (k *kept) plain() (v any, ok bool, err error) {
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
func (k *kept) like(other any) (any, error) {
	typ := reflect.TypeOf(other)
	if typ == nil || typ.String() != k.Type {
		return nil, fmt.Errorf("run: the tape holds a %s where a %T is generated now", k.Type, other)
	}
	out := reflect.New(typ)
	if k.Kind == kindJSON {
		if err := json.Unmarshal(k.JSON, out.Interface()); err != nil {
			return nil, fmt.Errorf("run: the tape's %s: %w", k.Type, err)
		}
		return out.Elem().Interface(), nil
	}
	inner, err := k.inner()
	if err != nil {
		return nil, fmt.Errorf("run: the tape's %s: %w", k.Type, err)
	}
	target := out.Interface()
	if typ.Kind() == reflect.Pointer { // a pointer type scans itself
		out.Elem().Set(reflect.New(typ.Elem()))
		target = out.Elem().Interface()
	}
	scanner, ok := target.(sql.Scanner)
	if !ok {
		return nil, fmt.Errorf("run: a %s has no Scan", k.Type)
	}
	if err := scanner.Scan(inner); err != nil {
		return nil, fmt.Errorf("run: the tape's %s: %w", k.Type, err)
	}
	return out.Elem().Interface(), nil
}

// inner is what a driver.Valuer gave.
func (k *kept) inner() (driver.Value, error) {
	switch k.Kind {
	case valued + "int64":
		return read[int64](k.JSON)
	case valued + "float64":
		return read[float64](k.JSON)
	case valued + "bool":
		return read[bool](k.JSON)
	case valued + "string":
		return read[string](k.JSON)
	case valued + "[]uint8":
		return read[[]byte](k.JSON)
	case valued + "time.Time":
		return read[time.Time](k.JSON)
	}
	return nil, fmt.Errorf("its kind is %q", k.Kind)
}
