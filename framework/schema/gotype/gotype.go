// Package gotype makes JSON Schemas of Go types, and reads and writes values by them: for
// functions of plugins and of apps.
//
// What belongs here: what encoding/json does to a type, as a schema. Not here: what a
// function is for, or how it is called.
package gotype

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"time"
	"unicode"

	"github.com/invopop/jsonschema"

	"github.com/koan-go/koan/framework/fault"
)

// Of returns the JSON Schema 2020-12 of a struct as encoding/json writes it,
// without an $id, with named types in $defs, closed to unknown fields.
func Of[T any]() (json.RawMessage, error) { return of[T](func(*jsonschema.Schema) {}) }

// Input returns Of for the input of a function: members with a default (`jsonschema:"default=6"`) are
// not required, as WithDefaults fills them in.
func Input[T any]() (json.RawMessage, error) { return of[T](admitDefaults) }

func of[T any](change func(*jsonschema.Schema)) (json.RawMessage, error) {
	t := reflect.TypeFor[T]()
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("%s is not a struct", t)
	}
	defined := definitions{}
	r := jsonschema.Reflector{Anonymous: true, Mapper: encoded, Namer: defined.name}
	s := r.ReflectFromType(t)
	for name, def := range s.Definitions {
		admitNull(def, defined[name])
		change(def)
	}
	if s.Ref == "" { // the struct has no name
		admitNull(s, t)
		change(s)
	} else if err := expand(s, strings.TrimPrefix(s.Ref, refPrefix)); err != nil {
		return nil, fmt.Errorf("no schema for %s: %w", t, err)
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("no schema for %s: %w", t, err)
	}
	return raw, nil
}

// refPrefix precedes the name of a definition in a reference to it.
const refPrefix = "#/$defs/"

// expand copies a definition into the root that refers to it. It stays a definition if it
// refers to itself.
func expand(s *jsonschema.Schema, name string) error {
	root := *s.Definitions[name]
	root.Version, root.Definitions = s.Version, s.Definitions
	*s = root
	raw, err := json.Marshal(root)
	if err == nil && !bytes.Contains(raw, []byte(`"`+refPrefix+name+`"`)) {
		delete(s.Definitions, name)
	}
	return err
}

// definitions are the types that a schema defines, by their names there.
type definitions map[string]reflect.Type

// name names a type. Types of the same name in several packages, and those with type
// parameters, have names of their own.
func (d definitions) name(t reflect.Type) string {
	name := strings.Map(func(r rune) rune {
		if r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return '_'
	}, t.Name())
	for free, n := name, 2; ; free, n = fmt.Sprint(name, n), n+1 {
		if taken := d[free]; taken == nil || taken == t {
			d[free] = t
			return free
		}
	}
}

var (
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	ownSchema     = reflect.TypeFor[interface{ JSONSchema() *jsonschema.Schema }]()
)

// encoded returns the schema of a type that encoding/json does not write by its kind, nil
// for any other type.
func encoded(t reflect.Type) *jsonschema.Schema {
	either := func(i reflect.Type) bool { return t.Implements(i) || reflect.PointerTo(t).Implements(i) }
	switch {
	case either(ownSchema), t == reflect.TypeFor[time.Time](), t == reflect.TypeFor[json.RawMessage]():
		return nil
	case t == reflect.TypeFor[json.Number]():
		return &jsonschema.Schema{Type: "number"}
	case t == reflect.TypeFor[url.URL](), either(jsonMarshaler):
		return &jsonschema.Schema{}
	case t.Implements(textMarshaler):
		return &jsonschema.Schema{Type: "string"}
	case either(textMarshaler): // only where encoding/json has its address
		return &jsonschema.Schema{}
	}
	return nil
}

// admitNull lets pointers that are not left out be null, as encoding/json writes them.
func admitNull(s *jsonschema.Schema, t reflect.Type) {
	if t == nil || t.Kind() != reflect.Struct || s.Properties == nil || t.Implements(ownSchema) {
		return
	}
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			name = f.Name
		}
		p, ok := s.Properties.Get(name)
		if !ok || f.Type.Kind() != reflect.Pointer || strings.Contains(options, "omit") {
			continue
		}
		either := &jsonschema.Schema{AnyOf: []*jsonschema.Schema{p, {Type: "null"}}, Description: p.Description}
		p.Description = ""
		s.Properties.Set(name, either)
	}
}

// Emptied replaces null, which encoding/json writes for a nil slice or map, by an empty
// list, object or string if the schema does not admit null.
func Emptied(schema, raw json.RawMessage) (json.RawMessage, error) {
	if !bytes.Contains(raw, []byte("null")) {
		return raw, nil
	}
	var root map[string]any
	if err := json.Unmarshal(schema, &root); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		return nil, err
	}
	defs, _ := root["$defs"].(map[string]any)
	return json.Marshal(emptyIn(defs, root, value))
}

func emptyIn(defs map[string]any, schema any, value any) any {
	s, _ := schema.(map[string]any)
	if ref, ok := s["$ref"].(string); ok {
		s, _ = defs[strings.TrimPrefix(ref, refPrefix)].(map[string]any)
	}
	if either, ok := s["anyOf"].([]any); ok && value != nil { // of admitNull
		return emptyIn(defs, either[0], value)
	}
	switch v := value.(type) {
	case nil:
		switch {
		case s["type"] == "array":
			return []any{}
		case s["type"] == "object":
			return map[string]any{}
		case s["contentEncoding"] == "base64":
			return ""
		}
	case []any:
		for i := range v {
			v[i] = emptyIn(defs, s["items"], v[i])
		}
	case map[string]any:
		properties, _ := s["properties"].(map[string]any)
		patterns, _ := s["patternProperties"].(map[string]any)
		for name := range v {
			of, ok := properties[name]
			if !ok {
				of = s["additionalProperties"]
				for _, only := range patterns { // of a map with numbers as keys
					of = only
				}
			}
			v[name] = emptyIn(defs, of, v[name])
		}
	}
	return value
}

// Decode reads an input into a function's type, with the numbers of Unmarshal. Somebody has validated
// it against the schema; this finds violations that a schema cannot express.
func Decode(raw json.RawMessage, into any) error {
	err := decode(raw, into, true)
	if err == nil || fault.CodeOf(err) == fault.InvalidPayload {
		return err
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

// pointer makes a JSON Pointer of encoding/json's dotted path.
func pointer(field string) string {
	if field == "" {
		return ""
	}
	return "/" + strings.ReplaceAll(field, ".", "/")
}
