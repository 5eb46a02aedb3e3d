package shim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/koan-go/koan/entities/internal/filter"
)

// StoredJSON is JSON that a column held before. It is taken as it is: what a caller
// could not send exactly may stand in it.
type StoredJSON json.RawMessage

// JSONError is what is wrong with one place of a JSON value. Its message is about the
// value and is shown to callers.
type JSONError struct {
	Path    string // JSON Pointer into the value, "" for the value as a whole
	Message string
	Hint    string // "" for that of its code
}

// Error implements error.
func (e *JSONError) Error() string { return e.Message }

// JSON sets fields that are kept as JSON.
func JSON[T any](v any, set func(T)) error {
	var t T
	switch sent := v.(type) {
	case json.RawMessage:
		if asIs, ok := v.(T); ok { // a field of any JSON, or of json.RawMessage: all digits are kept
			if err := checkKept(sent); err != nil {
				return err
			}
			t = asIs
		} else if err := decodeStrict(sent, &t); err != nil {
			return err
		}
	case StoredJSON:
		if asIs, ok := any(json.RawMessage(sent)).(T); ok {
			t = asIs
		} else if err := unmarshalStrict(json.RawMessage(sent), &t); err != nil {
			return fmt.Errorf("what is kept does not match the field's type: %w", err)
		}
	case T:
		t = sent
	default:
		return typeError(v, "JSON")
	}
	set(t)
	return nil
}

// decodeStrict reads JSON into a Go value, and refuses what would be lost: members that
// it has no place for, and digits of large numbers at places of no type. Integers beyond
// 2^53 may be strings, as reads return them.
func decodeStrict(raw json.RawMessage, to any) error {
	err := unmarshalStrict(raw, to)
	if err == nil && !filter.HasInexact(raw) {
		return nil
	}
	v, problem := filter.Decode(raw)
	if problem != nil {
		return errors.New("it is not valid JSON")
	}
	f := fitting{}
	target := reflect.ValueOf(to).Elem()
	v = f.fit(v, target.Type(), "")
	switch {
	case f.inexact != nil:
		return f.inexact
	case err == nil:
		return nil
	case f.mismatch != nil:
		return f.mismatch
	}
	if raw, err = json.Marshal(v); err == nil {
		target.SetZero()
		err = unmarshalStrict(raw, to)
	}
	if err != nil {
		return errors.New("the JSON does not match the field's type")
	}
	return nil
}

func unmarshalStrict(raw json.RawMessage, to any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	return d.Decode(to)
}

// checkKept checks JSON that is kept with all its digits.
func checkKept(raw json.RawMessage) error {
	if !filter.HasInexact(raw) {
		return nil
	}
	v, err := filter.Decode(raw)
	if err != nil {
		return errors.New("it is not valid JSON")
	}
	f := fitting{}
	f.untyped(v, "", true)
	return f.inexact
}
