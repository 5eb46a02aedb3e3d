package kit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/koan-go/koan/framework/fault"
)

// schemaOf gives the JSON Schema 2020-12 of a struct, without an $id, with named
// types in $defs, closed to unknown fields.
func schemaOf[T any]() (json.RawMessage, error) {
	t := reflect.TypeFor[T]()
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("%s is no struct", t)
	}
	r := jsonschema.Reflector{Anonymous: true, ExpandedStruct: true}
	raw, err := json.Marshal(r.ReflectFromType(t))
	if err != nil {
		return nil, fmt.Errorf("no schema for %s: %w", t, err)
	}
	return raw, nil
}

// decodeInput reads an input into a function's type. The host has validated it
// against the schema; this catches what a schema of the type cannot say.
func decodeInput(raw json.RawMessage, into any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	err := dec.Decode(into)
	if err == nil {
		if _, err = dec.Token(); errors.Is(err, io.EOF) {
			return nil
		}
		return fault.Invalid(fault.Detail{Message: "there is more than one JSON value"})
	}
	var typed *json.UnmarshalTypeError
	if errors.As(err, &typed) {
		return fault.Invalid(fault.Detail{
			Path: pointer(typed.Field), Message: fmt.Sprintf("want %s, got %s", typed.Type, typed.Value),
			Expected: typed.Type.String(), Received: typed.Value,
		})
	}
	return fault.Invalid(fault.Detail{Message: strings.TrimPrefix(err.Error(), "json: ")})
}

// pointer makes a JSON Pointer out of encoding/json's dotted path.
func pointer(field string) string {
	if field == "" {
		return ""
	}
	return "/" + strings.ReplaceAll(field, ".", "/")
}
